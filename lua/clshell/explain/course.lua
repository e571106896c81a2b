-- explain/course.lua - five course texts on GPU kernels at the prompt: their
-- lessons, each tried by its claim, and exercises with checked answers
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local machine = require "clshell.base.gpu_memory"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local M = require "clshell.base.lazy".table(...)

local WIDTH = 61 -- columns of a lesson's words

--- course.lessons() -> string
--- The lessons of each text by number, with what to type to try each. [GPU]: a
--- CPU cannot show it; [simulator]: counted on Oclgrind, on any machine.
--- Example:
--- print(course.lessons():match "[^\n]+") --> A, a lecture on tiled products:
function M.lessons()
  local lines, claims = {}, require "clshell.explain.claims_list"
  for of in ("ABCDE"):gmatch "." do
    lines[#lines + 1] = ("\n%s, %s:\n"):format(of, claims.titles[of])
    for _, claim in ipairs(claims) do
      local head = ("  %-13s"):format(("course %q"):format(claim.id))
      lines[#lines + 1] = claim.id:sub(1, 1) == of and text.hang(head,
        claim.says .. (claim.needs and (" [%s]"):format(claim.needs) or ""),
        #head + WIDTH) or nil
    end
  end
  return table.concat(lines, "\n")
end

-- The answers of the exercises are computed by the machine that `access`
-- counts with, never written down.

local WARP = machine.of{as = "H100"}

-- The byte addresses of `n` lanes; f: from the lane to the element of 4 bytes.
local function lanes(n, f)
  local at = {}
  for i = 0, n - 1 do
    at[i + 1] = 4 * f(i)
  end
  return at
end

-- The passes that local memory takes for 32 lanes, by their elements.
local function passes(f)
  return function()
    return machine.locals(WARP, lanes(32, f), 4).passes
  end
end

-- The sectors of global memory that 32 lanes touch, by their elements.
local function sectors(f, size)
  return function()
    return machine.global(WARP, lanes(32, f), size or 4).sectors
  end
end

-- The row lengths, of 4 and 5 floats, whose columns meet no bank of 4 twice.
local function free_of_conflicts()
  local small = machine.of{warp = 4, banks = 4}
  for _, row in ipairs{4, 5} do
    local cost = machine.locals(small, lanes(4, function(i)
      return i * row
    end), 4)
    if cost.ways == 1 then
      return ("%dx4"):format(row)
    end
  end
end

-- The least pad that frees the columns of a tile of 32x32 floats.
local function least_pad()
  for pad = 0, 31 do
    if passes(function(i) return i * (32 + pad) end)() == 1 then
      return pad
    end
  end
end

-- The share, in percent, of a warp's lanes that a condition leaves active.
local function active(condition)
  return function()
    local n = 0
    for i = 0, WARP.warp - 1 do
      n = n + (condition(i) and 1 or 0)
    end
    return 100 * n / WARP.warp
  end
end

local BANKS = "Bank of an element of 4 bytes: its index modulo the banks; a "
  .. "pass serves one element of each bank."
local SECTORS = "Count the different pieces of 32 bytes, 8 floats each, that "
  .. "the 32 addresses touch."

-- Each: ask, answer() -> number or word, hint (after a wrong answer), why
-- (after the right one). 32 lanes, banks of 4 bytes, sectors of 32 bytes.
local EXERCISES = {
  {ask = "Local memory has 4 banks, and 4 lanes read a column of a tile. "
    .. "Which meets no bank twice: 4x4 or 5x4 (4 rows of 5 floats)?",
    answer = free_of_conflicts, hint = BANKS, why = "rows of 5 begin in "
      .. "banks 0, 1, 2, 3; rows of 4 all begin in bank 0."},
  {ask = "Lane i of a warp reads s[2 * i], floats in local memory of 32 "
    .. "banks. How many passes does that take? (A pass serves one element of "
    .. "each bank.)",
    answer = passes(function(i) return 2 * i end), hint = BANKS,
    why = "lanes i and i + 16 want different elements of one bank."},
  {ask = "Lane i reads s[3 * i]. How many passes?",
    answer = passes(function(i) return 3 * i end), hint = BANKS,
    why = "3 and 32 have no common divisor, so that all banks differ."},
  {ask = "Lane i reads s[i][0] of local float s[32][32], a column. How many "
    .. "passes?", answer = passes(function(i) return 32 * i end),
    hint = BANKS, why = "all elements of the column lie in one bank."},
  {ask = "How many columns must be added to that tile, at least, until its "
    .. "columns take one pass?", answer = least_pad, hint = BANKS,
    why = "rows of 33 floats begin in different banks."},
  {ask = "All lanes read s[5]. How many passes?",
    answer = passes(function() return 5 end),
    hint = "Several reads of one element count once.",
    why = "a bank gives its element to all lanes."},
  {ask = "Lane i reads s[i][i ^ 3] with rows of 32 floats. How many passes?",
    answer = passes(function(i) return 32 * i + (i ~ 3) end), hint = BANKS,
    why = "i ^ 3 takes each column once, without a pad."},
  {ask = "Lane i of a warp reads x[i], floats in global memory, x aligned. "
    .. "How many sectors of 32 bytes?",
    answer = sectors(function(i) return i end),
    hint = SECTORS, why = "32 floats are 128 bytes, side by side."},
  {ask = "Lane i reads x[i + 1]. How many sectors?",
    answer = sectors(function(i) return i + 1 end), hint = SECTORS,
    why = "the last float lies in one sector more."},
  {ask = "Lane i reads x[31 - i]. How many sectors?",
    answer = sectors(function(i) return 31 - i end), hint = SECTORS,
    why = "the order of the lanes within the sectors is free."},
  {ask = "Lane i reads x[16 * i], a column of 16 columns. How many sectors?",
    answer = sectors(function(i) return 16 * i end), hint = SECTORS,
    why = "each lane has a sector of its own, of which it uses 4 bytes."},
  {ask = "Points of 3 floats lie one after the other; lane i reads the first "
    .. "float of point i. How many sectors?",
    answer = sectors(function(i) return 3 * i end), hint = SECTORS,
    why = "the lanes touch all 384 bytes; three arrays would take a third."},
  {ask = "Lane i reads the float4 v[i]. How many sectors?",
    answer = sectors(function(i) return 4 * i end, 16), hint = SECTORS,
    why = "32 times 16 bytes, side by side: four times as many as of x[i]."},
  {ask = "n = 1000 elements, work-groups of 64, one work-item for each "
    .. "element. What is the least global size?",
    answer = function() return tiling.roundup(1000, 64) end,
    hint = "The local size must divide it.",
    why = "16 groups of 64; the kernel tests i < n."},
  {ask = "Work-groups of 48 and warps of 32 lanes. How many percent of the "
    .. "lanes have a work-item?",
    answer = function() return 100 * 48 / tiling.roundup(48, WARP.warp) end,
    hint = "A group takes whole warps.",
    why = "a group takes two warps, 64 lanes."},
  {ask = "if (get_local_id(0) % 4 == 0) f(); How many percent of a warp's "
    .. "lanes run f?", answer = active(function(i) return i % 4 == 0 end),
    hint = "The warp runs f while other lanes wait.",
    why = "every fourth lane; the others wait until f is done."},
  {ask = "Lane i reads table[i % 4] in constant memory. How many passes?",
    answer = function()
      return machine.constant(WARP, lanes(32, function(i)
        return i % 4
      end)).passes
    end, hint = "Constant memory serves one address at a time, to all lanes.",
    why = "four different addresses, one after the other."},
}

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
    for i, one in ipairs(EXERCISES) do
      lines[i] = text.hang(("%3d  "):format(i), one.ask, 77)
    end
    return table.concat(lines, "\n") .. "\nType: %exercise 1 answer"
  end
  local e = EXERCISES[n]
  if not e then
    argument.refuse("course.exercise", "n", "must be a number from 1 to %d; "
      .. "got %s", #EXERCISES, text.got(n))
  elseif answer == nil then
    return ("%s\nType: %%exercise %d answer"):format(text.hang("", e.ask, 78),
      n)
  end
  return text.hang("", right(e.answer(), tostring(answer))
    and "right: " .. e.why
    or ("not %s. %s"):format(tostring(answer), e.hint), 78)
end

--- course.questions() -> integer
--- How many questions course.exercise has.
--- Example: print(course.questions()) --> 17
function M.questions()
  return #EXERCISES
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
  cl.error(("course: the lessons are A1 to E6; got %q"):format(id),
    {arg = "id", hint = "?course lists them"})
end

return require "clshell.base.lazy".callable(M, try)
