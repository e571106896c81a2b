-- complete_commands.lua - completion of what is no Lua: %commands, ?topics
-- and !commands of the system's shell
-- SPDX-License-Identifier: MIT

local candidates = require "clshell.prompt.candidates"
local options = require "clshell.base.options"
local pristine = require "clshell.prompt.pristine"
local reach = require "clshell.prompt.chain"
local words = require "clshell.prompt.vocabulary"

-- Held here, as a session may change these.
local find, match, sub = string.find, string.match, string.sub
local loaded, next, pcall = package.loaded, next, pcall
local rawget, require, type = rawget, require, type

local M = {}

local CLASSES = {"Array", "Buffer", "Context", "Device", "Event", "Kernel",
  "Launch", "Program", "Queue"}
local LIBRARIES = {coroutine = coroutine, io = io, math = math, os = os,
  string = string, table = table, utf8 = utf8}

-- A table of the session's by its name, raw; the commands are defined when
-- they are first needed.
local function of_session(name)
  local session = loaded["clshell.prompt"]
  if type(session) == "table" and pristine() then
    pcall(require, "clshell.prompt.commands")
  end
  local list = type(session) == "table" and rawget(session, name)
  return type(list) == "table" and list or {}
end

-- Offers a module and its functions, by raw access: reading the help itself
-- would take longer than a key may.
local function module_topics(c, name, value)
  c:add(name, {open = type(value) == "table"})
  local from = {value = value}
  if find(c.word, name .. ".", 1, true) == 1 and type(value) == "table" then
    reach.members(from, true, {left = 1000}, function(key)
      c:add(name .. "." .. key)
    end)
    words.rungs(c, reach.family(from), name .. ".")
  end
end

--- commands.topics(c)
--- Offers what there is help on: the functions of a module once it has been
--- named.
function M.topics(c)
  if pristine() then
    for _, part in next, {"concepts", "opencl"} do
      local list = require("clshell.help." .. part).entries()
      for i = 1, #list do
        c:add(list[i].name)
      end
    end
  end
  for _, all in next, {loaded.clshell, LIBRARIES} do
    for name, value in next, all do
      module_topics(c, name, value)
    end
  end
  for i = 1, #CLASSES do
    c:add(CLASSES[i] .. ":")
    reach.members({class = CLASSES[i]}, true, {left = 1000}, function(key)
      c:add(CLASSES[i] .. ":" .. key)
    end)
  end
  c:add("tutorial")
  for name in next, of_session "commands" do
    c:add("%" .. name)
  end
end

-- The settings of a session, defined when they are first needed.
local function known_settings()
  if pristine() then
    pcall(function()
      require "clshell.prompt.settings".names()
    end)
  end
  return of_session "settinglist"
end

-- The names of settings, then the values of the one named.
local function settings(c, rest)
  local list = known_settings()
  local name = match(rest, "^([%w_]+)[%s=]+")
  local one = name and rawget(list, name)
  if not name then
    for known in next, list do
      c:add(known, {append = "="})
    end
  elseif type(one) == "table" then
    local values = rawget(one, "values")
    for i = 1, type(values) == "table" and #values or 0 do
      local value = rawget(values, i)
      c:add(type(value) == "string" and value or nil)
    end
  end
end

local function scripts(c)
  words.paths(c)
  words.paths(c, words.scripts)
end

local function names(c)
  for name in next, of_session "commands" do
    c:add(name)
  end
end

-- What follows each command; Lua where nothing is said.
local AFTER = {
  cd = words.folders, commands = false, device = words.devices,
  edit = words.paths, help = names, reload = words.modules, run = scripts,
  save = words.paths, set = settings, watch = words.paths, tb = false,
  tutorial = false, who = false,
}

-- What a command takes: all of the line, or else the last word of it.
local function operand(cursor, rest, after)
  local skip = after == settings and match(rest, "^.*[%s=]") or ""
  local c = candidates.new(cursor - #rest + #skip + 1, sub(rest, #skip + 1))
  after(c, after == settings and rest or nil)
  skip = match(rest, "^.*%s[\"']?")
  if skip and c:empty() and after ~= settings then
    c = candidates.new(cursor - #rest + #skip + 1, sub(rest, #skip + 1))
    c.quote = match(skip, "[\"']$")
    after(c)
  end
  return c
end

-- After the expression of %bench: flop= and the like.
local function bench_options(c)
  local list = options.names "bench"
  for i = 1, #list do
    c:add(list[i], {append = "="})
  end
end

local function percent(text, cursor, code)
  local _, last, name, space = find(text, "^%s*%%([%w_]*)(%s*)")
  if cursor <= last - #space then
    local c = candidates.new(last - #space - #name + 1,
      sub(name, 1, cursor - (last - #space - #name)))
    for known in next, of_session "commands" do
      c:add(known, {append = " "})
    end
    return c
  end
  local after = AFTER[name]
  if after == nil then
    local c = code(text, cursor, last)
    if c and name == "bench" and c.plain and c.word ~= "" then
      bench_options(c)
    end
    return c
  elseif not after or cursor < last then
    return nil
  end
  return operand(cursor, sub(text, last + 1, cursor), after)
end

local function topic(text, cursor)
  local _, last = find(text, "^%s*%?+%s*")
  if cursor < last then
    return nil
  end
  local c = candidates.new(last + 1, sub(text, last + 1, cursor))
  M.topics(c)
  return c
end

-- The last word of a command of the shell, as it stands for itself; where it
-- begins, and its quote.
local function shell_word(line)
  local at, first, quote, word = 1, 1, nil, ""
  while at <= #line do
    local char = sub(line, at, at)
    if quote and char == quote then
      quote = nil
    elseif quote then
      word = word .. char
    elseif char == "'" or char == '"' then
      quote, first = char, word == "" and at + 1 or first
    elseif char == "\\" then
      at = at + 1
      word = word .. sub(line, at, at)
    elseif find(char, "[%s;|&<>()]") then
      word, first = "", at + 1
    else
      word = word .. char
    end
    at = at + 1
  end
  return word, first, quote
end

local function shell(text, cursor)
  local _, last = find(text, "^%s*!%s*")
  if cursor < last then
    return nil
  end
  local word, first, quote = shell_word(sub(text, last + 1, cursor))
  local c = candidates.new(last + first, word)
  c.quote = quote or "shell"
  c.closing = quote or " "
  words.paths(c)
  return c
end

local READERS = {["%"] = percent, ["?"] = topic, ["!"] = shell}

--- commands.complete(text, cursor, code) -> candidates or nil
--- For a text that begins with %, ? or !; code(text, cursor, skip) completes
--- Lua that begins after so many bytes.
function M.complete(text, cursor, code)
  return READERS[match(text, "%S")](text, cursor, code)
end

return M
