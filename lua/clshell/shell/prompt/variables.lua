-- shell/prompt/variables.lua - %who: the variables of the session
-- SPDX-License-Identifier: MIT

local lazy = require "clshell.base.lazy"
local layout = require "clshell.shell.prompt.value_layout"
local printable = require "clshell.shell.prompt.printable"
local text = require "clshell.base.text"

local M = {}

local LUA = {"_G", "_VERSION", "arg", "assert", "collectgarbage", "coroutine",
  "debug", "dofile", "error", "getmetatable", "io", "ipairs", "load",
  "loadfile", "math", "next", "os", "package", "pairs", "pcall", "print",
  "rawequal", "rawget", "rawlen", "rawset", "require", "select",
  "setmetatable", "string", "table", "tonumber", "tostring", "type", "utf8",
  "warn", "xpcall"}

local NAME = 30 -- columns of a name

-- The names that the user did not make: Lua's and clshell's.
local function given()
  local set = {}
  for _, name in ipairs(LUA) do
    set[name] = _G[name]
  end
  for name, value in pairs(lazy.session) do
    set[name] = value
  end
  return set
end

-- A value in a few words, of at most `room` columns; no user code runs.
local function words(value, room)
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
  return layout.scalar(value, room).text
end

--- variables.text([width]) -> string
--- A line for each of the session's own globals: name, type and value.
function M.text(width)
  width = width or require "clshell.system".winsize(1) or 80
  local old, rows, widest = given(), {}, 0
  for name, value in next, _G do
    if type(name) == "string" and not rawequal(old[name], value)
        and not name:find("^_%d?$") then
      local shown = printable.cut(printable.clean(name:gsub("[\n\t]", {
        ["\n"] = "\\n", ["\t"] = "\\t"})), NAME)
      rows[#rows + 1] = {shown, type(value), words(value, width), name}
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

return M
