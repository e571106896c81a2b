-- shell/prompt/variables.lua - %who and %history: the variables and the inputs
-- of the session
-- SPDX-License-Identifier: MIT

local lazy = require "clshell.base.lazy"
local options = require "clshell.base.options"
local printable = require "clshell.shell.prompt.printable"
local reference = require "clshell.shell.help.reference"
local session = require "clshell.shell.prompt.session"
local text = require "clshell.base.text"

local M = {}

local NAME = 30 -- columns of a name

-- The globals that the user did not make: Lua's and clshell's.
local function given()
  local set = {arg = _G.arg, _G = _G, _VERSION = _VERSION}
  for _, entry in ipairs(reference.lua) do
    local name = entry.name:match "^[%w_]+"
    set[name] = rawget(_G, name)
  end
  return options.with(set, lazy.session)
end

-- A value in a few words, of at most `room` columns; no user code runs.
local function brief(value, room)
  local kind = type(value)
  local expression = package.loaded["clshell.arrays.expression"]
  if expression and expression.is(value) then
    return tostring(value)
  elseif kind == "table" then
    local n = 0
    for _ in next, value do
      n = n + 1
    end
    return ("%d entr%s"):format(n, n == 1 and "y" or "ies")
  elseif kind == "userdata" then
    return require "cl".members(value) and tostring(value):match("^[^\n]*")
      or text.class(value) or "userdata"
  end
  return printable.scalar(value, room).text
end

--- variables.text([width]) -> string
--- A line for each of the session's own globals: name, type and value.
function M.text(width)
  width = width or require "clshell.system".winsize(1) or 80
  local old, rows, widest = given(), {}, 0
  for name, value in next, _G do
    if type(name) == "string" and not rawequal(old[name], value)
        and not name:find("^_%d?$") then
      local shown = printable.cut(printable.clean((name:gsub("\n", "\\n")
        :gsub("\t", "\\t"))), NAME)
      rows[#rows + 1] = {shown, type(value), brief(value, width), name}
      widest = math.max(widest, printable.width(shown))
    end
  end
  if #rows == 0 then
    return "no variables so far"
  end
  table.sort(rows, function(a, b)
    return a[4] < b[4]
  end)
  for i, row in ipairs(rows) do
    rows[i] = printable.cut(("%s  %-8s  %s"):format(text.fill(row[1], widest),
      row[2], (printable.clean(row[3]))), width)
  end
  return table.concat(rows, "\n")
end

-- Documented as commands.history.
function M.history(n, words)
  local lines = {}
  for i = #session.inputs, 1, -1 do
    local input = session.inputs[i]
    if input ~= session.input and (not words
        or input.text:find(words, 1, true)) then
      table.insert(lines, 1, ("%4d  %s"):format(i,
        printable.clean(input.text)
        :gsub("\n", "\n      ")))
      if #lines == n then
        break
      end
    end
  end
  if #lines == 0 then
    session.say(words and ("no input has '%s'"):format(words)
      or "no inputs so far")
    return
  end
  session.page(table.concat(lines, "\n"))
end

return M
