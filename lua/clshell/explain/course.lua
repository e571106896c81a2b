-- explain/course.lua - five course texts on GPU kernels at the prompt: their
-- lessons, each tried by its claim, and exercises with checked answers
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local exercises = require "clshell.explain.exercises"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local TEXTS = {
  {"A", "a lecture on tiled products"}, {"B", "course notes on GPUs"},
  {"C", "homework: a product, timed"},
  {"D", "a chapter on optimising OpenCL"},
  {"E", "an exercise: transpose, products of diagonals"},
}

local WIDTH = 61 -- columns of a lesson's words

--- course.lessons() -> string
--- The lessons of each text by number, with what to type to try each. [GPU]: a
--- CPU cannot show it; [simulator]: counted on Oclgrind, on any machine.
--- Example:
--- print(course.lessons():match "[^\n]+") --> A, a lecture on tiled products:
function M.lessons()
  local lines = {}
  for _, of in ipairs(TEXTS) do
    lines[#lines + 1] = ("\n%s, %s:\n"):format(of[1], of[2])
    for _, claim in ipairs(require "clshell.explain.claims_list") do
      local head = ("  %-13s"):format(("course %q"):format(claim.id))
      lines[#lines + 1] = claim.id:sub(1, 1) == of[1] and text.hang(head,
        claim.says .. (claim.needs and (" [%s]"):format(claim.needs) or ""),
        #head + WIDTH) or nil
    end
  end
  return table.concat(lines, "\n")
end

-- Whether the typed text is the answer: a word, or a number with or without
-- its unit ("75 %", "4 sectors").
local function right(answer, typed)
  typed = typed:lower():gsub("%s", "")
  return typed == tostring(answer)
    or math.type(answer) and tonumber(typed:match "^(.-)[%%%a]*$") == answer
end

--- course.exercise([n [, answer]]) -> string
--- An exercise by its number, or whether the answer to it is right, and why;
--- without a number, all questions. Answers are numbers, with or without a
--- unit, or words.
--- Example: print(course.exercise(2, 7):match "[^.]+") --> not 7
function M.exercise(n, answer)
  if n == nil then
    local lines = {}
    for i, one in ipairs(exercises) do
      lines[i] = text.hang(("%3d  "):format(i), one.ask, 77)
    end
    lines[#lines + 1] = "Type: %exercise 1 answer"
    return table.concat(lines, "\n")
  end
  local e = exercises[n]
  if not e then
    cl.error(("course.exercise: n must be a number from 1 to %d; got %s")
      :format(#exercises, text.got(n)), {arg = "n"})
  elseif answer == nil then
    return ("%s\nType: %%exercise %d answer"):format(text.hang("", e.ask, 78),
      n)
  end
  return text.hang("", right(e.answer(), tostring(answer))
    and "right: " .. e.why
    or ("not %s. %s"):format(tostring(answer), e.hint), 78)
end

--- course(id) -> string
--- Tries a lesson of a course text on the session's device, `course "B13"`:
--- what the text claims, whether it holds here, by which factor, and why.
--- ?course lists the lessons.
--- Example: print(course "C4") -- tiles of 32x32 are beyond the device
local function try(id)
  argument.check("course", "id", id, "string", 'course "B13"')
  local claims = require "clshell.explain.claims"
  local list = claims.new{}
  for _, claim in ipairs(list.claims) do
    if claim.id == id:upper() then
      return claims.text(list:try(claim))
    end
  end
  cl.error(("course: the lessons are A1 to E5; got %q"):format(id),
    {arg = "id", hint = "?course lists them"})
end

return setmetatable(M, {__call = function(_, id)
  return try(id)
end})
