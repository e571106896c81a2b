-- shell/prompt/save.lua - %save: the inputs of a session as a script that runs
-- Every input was a chunk of its own: a block or a function keeps its locals,
-- its return and its labels apart. The journal has the inputs in the same
-- form, without those that only measured or printed.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local lexer = require "clshell.base.lexer"

local M = {}

local RESULTS = "^_%d?$"

local BLOCKS = base_text.set "function do if repeat"

-- The set of words and operators of a text; of functions only the names.
local function words(text)
  local set, functions, blocks = {}, 0, {}
  for _, token in ipairs(lexer.tokens(text)) do
    local word = token.text
    if BLOCKS[word] then
      blocks[#blocks + 1] = word
      functions = functions + (word == "function" and 1 or 0)
    elseif word == "end" or word == "until" then
      functions = functions - (table.remove(blocks) == "function" and 1 or 0)
    end
    if token.kind ~= "comment" and token.kind ~= "string"
        and (functions == 0 or token.kind == "name") then
      set[word] = true
    end
  end
  return set
end

-- A text as a comment.
function M.commented(text)
  return "-- " .. text:gsub("\n", "\n-- ")
end

-- The deepest result (_ is 0, _9 is 9) that an input refers to, or nil.
function M.depth(inputs)
  local most
  for _, input in ipairs(inputs) do
    if input.ok and input.code then
      for word in pairs(words(input.code)) do
        if word:find(RESULTS) then
          most = math.max(most or 0, tonumber(word:sub(2)) or 0)
        end
      end
    end
  end
  return most
end

-- `_2, _1, _ = _1, _, expression`
local function shift(most, expression)
  local names = {"_"}
  for i = 1, most do
    table.insert(names, 1, "_" .. i)
  end
  local to = table.concat(names, ", ")
  names[#names + 1] = expression
  return to .. " = " .. table.concat(names, ", ", 2)
end

-- Code that prints the values of an expression as the prompt did.
local function shown(code, count)
  return (count == 1 and "show(%s)" or "print(%s)"):format(code)
end

local function is_statement(text)
  return load(text, "=save", "t") ~= nil
end

-- An expression: its value is printed as before, and kept where a later input
-- refers to it.
local function expression(input, most)
  local code = input.code:match("^%s*(.-)%s*$")
  local line = code:find("%-%-") and code .. "\n" or code
  if input.values == 0 and is_statement(code) then -- a remark as well
    return code
  elseif most and input.values == 1 then
    local kept = shift(most, line)
    return input.silent and kept or kept .. "\nshow(_)"
  elseif input.silent and is_statement(code) then
    return code
  elseif input.silent then
    return ("do local _ = %s end"):format(line)
  end
  return shown(line, input.values)
end

local function statement(input, most)
  local code = input.code:gsub("^ +", "") -- a former local is a global now
  local head = input.tail and code:sub(1, -#"return " - #input.tail - 1)
  local set = words(head or code)
  if head and not (input.kept or set["::"]) then
    return head .. expression(setmetatable({code = input.tail},
      {__index = input}), most)
  elseif head or set["return"] then
    local call = ("(function(...)\n%s\nend)(...)"):format(code)
    return input.values > 0 and shown(call, input.values) or call .. ";"
  elseif input.kept or set["local"] or set["::"] then
    return ("do\n%s\nend"):format(code)
  end
  return code
end

-- An input as a piece of the script; `most` is the depth of all inputs.
function M.piece(input, most)
  if input.kind == "command" then
    local script = input.ok and input.script
    return script and input.values > 0 and not input.silent
      and shown(script, input.values) or script or M.commented(input.text)
  elseif not input.ok then
    return M.commented(input.text)
  end
  local code = input.kind == "expression" and expression(input, most)
    or statement(input, most)
  -- between two lines, `f` and `(g)()` would be one call
  return code:find("^%s*%(") and ";" .. code or code
end

-- Functions and methods that change no variable. The arguments of a
-- measurement are its workload; calls in other arguments count.
local MEASURES = base_text.set "access bench check compare judge lesson \z
  occupancy peaks traffic tune verify"
local LOOKS = base_text.set "all any argmax argmin asm bar best choice \z
  choices clock course date devices differences dot draw equal gbs getenv \z
  gflops help history html info ipairs kept kernels ladder line live max \z
  max_diff mean members min next norm now nrm2 pairs plot print rawequal \z
  rawget rawlen results roofline select show std sum summary table \z
  tonumber tostring type var who"

-- The effect of the call whose bracket or string is token i: "measures",
-- "looks" or "builds"; nil: that token begins no call.
local function effect(list, i)
  local token, before = list[i], list[i - 1] or {}
  local opens = token.text == "(" or token.text == "{"
    or token.kind == "string"
  if not opens or not (before.kind == "name" or before.kind == "string"
      or before.text == ")" or before.text == "]" or before.text == "}") then
    return nil
  elseif before.kind ~= "name" then
    return "builds" -- the called function is a value: k:range(8)(x)
  end
  local name, mark = before.text, list[i - 2] and list[i - 2].text
  local member = mark == "." or mark == ":"
  local own = not member and rawget(_G, name)
  if type(own) == "function" and debug.getinfo(own).source:find "^=input" then
    return "builds" -- a function of the user's
  end
  local library = member and not name:find "^random"
    and (string[name] or math[name])
  local first = list[i + 1] and list[i + 1].text
  local reads = name == "read" and mark == ":" -- not into an Array
    and (first == ")" or first == "{" or token.text == "{")
  return MEASURES[name] and "measures"
    or (LOOKS[name] or library or reads) and "looks" or "builds"
end

local BUILDS = base_text.set "local function goto ::"

-- Whether code does anything but measure and print. A `=` gives a value to a
-- variable, outside of tables and of loops.
local function builds(code)
  local list, braces, i = lexer.code(code), 0, 1
  while list[i] do
    local word, what = list[i].text, effect(list, i)
    if what == "builds" or BUILDS[word] or word == "=" and braces == 0
        and (list[i - 2] or {}).text ~= "for" then
      return true
    end
    local depth = 0
    repeat -- the workload of a measurement ends with its bracket
      depth = depth + (lexer.BRACKETS[list[i].text] or 0)
      i = i + 1
    until what ~= "measures" or depth <= 0 or not list[i]
    braces = what == "measures" and braces
      or braces + (word == "{" and 1 or word == "}" and -1 or 0)
  end
  return false
end

--- save.quiet(input, most) -> string, or nil
--- A successful input as a piece that prints no value; nil for an input that
--- only measured or printed.
function M.quiet(input, most)
  if input.kind == "command" then
    return input.state and builds(input.state) and input.state or nil
  end
  local value = input.kind == "expression" or input.tail
  local kept = value and most and input.values == 1
  if not kept and input.kind ~= "kernels" and not builds(input.code) then
    return nil
  end
  return M.piece(setmetatable({silent = true,
    values = value and input.values or 0},
    {__index = input}), most)
end

-- The first lines of a script.
function M.head()
  return ("#!/usr/bin/env clshell\n-- saved by clshell %s on %s"):format(
    cl.version, os.date("%Y-%m-%d %H:%M"))
end

--- save.text(inputs) -> string, count, failed
--- The script of a list of inputs (see session.inputs), their number, and the
--- number of failed inputs, which are comments.
function M.text(inputs)
  local parts, most, failed = {M.head()}, M.depth(inputs), 0
  for _, input in ipairs(inputs) do
    if not input.ok then
      failed = failed + 1
    end
    parts[#parts + 1] = M.piece(input, most)
  end
  return table.concat(parts, "\n") .. "\n", #inputs, failed
end

return M
