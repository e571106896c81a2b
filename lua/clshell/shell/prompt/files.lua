-- shell/prompt/files.lua - %run, %reload, %edit, %cd and !command
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local public = require("clshell.base.lazy").public
local quote = require "clshell.base.text".quote
local script = require "clshell.base.script"
local session = require "clshell.shell.prompt.session"
local system = require "clshell.system"

local M = {}

-- Editors that take +LINE.
local GOES = {vi = true, vim = true, nvim = true, nano = true, emacs = true,
  emacsclient = true, micro = true, kak = true, joe = true, ne = true}

local function exists(path)
  local f <close> = io.open(path)
  return f ~= nil
end

-- Calls f(...) as a script, with os.exit ending the script alone.
local function as_script(path, f, left, ...)
  local os = package.loaded.os -- the session's
  local exit = os.exit
  local _ <close> = setmetatable({}, {__close = function()
    os.exit = exit
  end})
  os.exit = function(code)
    left(code)
    error("os.exit ends the script", 0)
  end
  return script.call(path, f, ...)
end

-- Documented as commands.run.
function M.run(path, ...)
  local found, missing = script.find(path)
  if not found then
    cl.error("%run: cannot open " .. missing)
  end
  local f, message = loadfile(found)
  if not f then
    error(message, 0)
  end
  return as_script(found, f, function(code)
    local fine = code == nil or code == true or code == 0
    session.leaving = fine and "" or ("%s ended with exit code %s"):format(
      found, code == false and 1 or tostring(code))
  end, ...)
end

-- A path and its arguments: words, or quoted text as one word. A line that is
-- as a whole the name of a file is one path.
function M.arguments(text)
  if exists(text) then
    return {text}
  end
  local list, at = {}, 1
  while true do
    at = text:find("%S", at)
    if not at then
      return list
    end
    local _, word, stop = text:match("^([\"'])(.-)%1()", at)
    if not stop then
      word, stop = text:match("^(%S+)()", at)
    end
    list[#list + 1], at = word, stop
  end
end

-- The name that package.loaded has for a module, or its global.
local function module_name(name)
  local known = public.module(name)
  if not known and package.loaded[name] == nil
      and package.loaded["clshell." .. name] ~= nil then
    known = "clshell." .. name
  end
  return known or name
end

-- Gives table `old` the content of `new`, so that its holders see the change.
local function become(old, new)
  for key in next, old do
    if rawget(new, key) == nil then
      rawset(old, key, nil)
    end
  end
  for key, value in next, new do
    rawset(old, key, value)
  end
  debug.setmetatable(old, debug.getmetatable(new))
end

-- Documented as commands.reload.
function M.reload(name)
  name = module_name(name)
  local old = require "clshell.base.lazy".load(package.loaded[name])
  if old == nil and not package.preload[name]
      and not package.searchpath(name, package.path)
      and not package.searchpath(name, package.cpath) then
    cl.error(("%%reload: no module '%s' on package.path"):format(name))
  end
  package.loaded[name] = nil
  local done = false
  local _ <close> = setmetatable({}, {__close = function()
    if not done then
      package.loaded[name] = old
    end
  end})
  local new = require(name)
  done = true
  if type(old) ~= "table" or type(new) ~= "table" then
    return new
  end
  become(old, new)
  package.loaded[name] = old
  return old
end

local function editor()
  for _, name in ipairs{"VISUAL", "EDITOR"} do
    local value = os.getenv(name)
    if value and value ~= "" then
      return value
    end
  end
  return "vi"
end

-- Runs the user's editor on a file, at a line.
local function open_editor(path, line)
  local command = editor()
  local program = command:match("([^/%s]+)%s*$") or command:match("[^/%s]+")
  local at = line and GOES[program] and (" +%d"):format(line) or ""
  io.stdout:flush()
  local ok, how, code = os.execute(command .. at .. " " .. quote(path))
  if not ok then
    cl.error(("the editor failed: %s (%s %d)"):format(command, how, code),
      {hint = "%edit runs what VISUAL or EDITOR names, or vi"})
  end
end

local function edit_text(text)
  local path, _ <close> = file.temporary(".lua")
  file.write(path, text .. "\n", "the text to edit")
  open_editor(path)
  return (assert(file.read(path)):gsub("%s+$", ""))
end

-- The newest input that is Lua.
local function last_input()
  for i = #session.inputs, 1, -1 do
    if session.inputs[i].kind ~= "command" then
      return session.inputs[i].text
    end
  end
  return ""
end

-- The object of %edit: a file and a line, or nil and the text of an input.
local function subject(what)
  if what == "" then
    return nil, last_input()
  end
  local value = require "clshell.shell.prompt.resolve".path(what)
  if type(value) ~= "function" then
    return what
  end
  local info = debug.getinfo(value, "S")
  local input = info.source:match("^=input:(%d+)$")
  if input and session.inputs[tonumber(input)] then
    return nil, session.inputs[tonumber(input)].text
  elseif info.source:sub(1, 1) == "@" then
    return info.source:sub(2), info.linedefined
  end
  cl.error(("%%edit: %s has no source to edit: it is %s"):format(what,
    info.what == "C" and "C code" or info.short_src))
end

-- Documented as commands.edit.
function M.edit(what)
  local path, text = subject(what or "")
  if path then
    open_editor(path, text)
    session.draft = path:find("%.lua$") and "%run " .. path or nil
    return
  end
  session.draft = edit_text(text)
end

local before -- the folder that the newest %cd left

-- Documented as commands.cd.
function M.cd(folder)
  if folder == "-" then
    folder = before or cl.error "%cd -: no %cd has left a folder so far"
  elseif folder == nil or folder == "" then
    folder = "~"
  end
  local left = system.cwd()
  local home = os.getenv "HOME"
  if home then
    folder = folder:gsub("^~%f[/\0]", (home:gsub("%%", "%%%%")))
  end
  local ok, message = system.chdir(folder)
  if not ok then
    cl.error("%cd: " .. message)
  end
  before = left
  return (system.cwd())
end

-- Documented as commands.shell.
function M.shell(command)
  if command:find("^cd%f[%s\0]") then
    cl.error("!cd changes the folder of a shell that ends at once",
      {hint = "%cd changes the folder of this session"})
  end
  io.stdout:flush()
  local ok, how, code = os.execute(command)
  if not ok then
    session.note(("%s: %s %d"):format(command, how == "signal"
      and "ended by signal" or "exit code", code))
  end
end

return M
