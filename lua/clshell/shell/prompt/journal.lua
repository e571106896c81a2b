-- shell/prompt/journal.lua - the inputs as the script that %save writes, kept
-- on disk while the session runs: what is left of a session that a kernel, a
-- signal or a closed terminal ends. src/shell/journal.c removes it at a normal
-- end. An input stands there as a comment until it and its kernels have ended,
-- so that the script does not repeat the crash.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local folder = require "clshell.base.folder"
local journal = require "clshell.journal"
local session = require "clshell.shell.prompt.session"
local system = require "clshell.system"

local M = {}

local KEPT = 20 -- journals of ended sessions
local OPEN = "-- under way when the session ended:\n"
local CRASH = "-- clshell: ended " -- by src/shell/crash.c
local OFFERED = "-- offered to a later session\n"

local ready = false -- to begin the journal at the first input
local at            -- bytes that stay as they are; nil: there is no journal
local settled = 0   -- inputs in them
local seen = 0      -- inputs whose references to results are known
local most          -- the deepest result that one refers to
local head

local function path_of(name)
  return folder.of "STATE" .. "/sessions/" .. name
end

-- The names of journals whose sessions have ended, the oldest first.
local function left()
  local names = {}
  for _, name in ipairs(folder.of "STATE" and system.folder(path_of "") or {})
  do
    if name:find "%.lua$" and journal.left(path_of(name)) then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

local function read(name)
  local file <close> = io.open(path_of(name), "rb")
  return file and file:read "a" or ""
end

-- Whether a script has more than comments.
local function has_code(text)
  return text:find "\n[^%-\n]" or text:find "\n%-[^%-]"
end

--- journal.start() -> string or nil
--- Has the journal begin with the first input. The string tells of a session
--- that ended without its exit; each is told once.
function M.start()
  ready = folder.of "STATE" ~= nil
  local names = left()
  for i = 1, #names - KEPT do
    os.remove(path_of(names[i]))
  end
  local name = names[#names]
  local text = name and read(name)
  if not name or text:sub(-#OFFERED) == OFFERED or not has_code(text) then
    return nil
  end
  local file <close> = io.open(path_of(name), "ab")
  if file then
    file:write(OFFERED)
  end
  local kernel = text:match "\n%-%-   under way: kernel ([%w_]+)"
  return ("an earlier session ended %s%s; %%restore runs its inputs again")
    :format(text:match("\n" .. CRASH:gsub("%-", "%%-") .. "([^\n]*)")
      or "without its exit", kernel and " in kernel " .. kernel or "")
end

-- Begins the file.
local function begin()
  ready = false
  if not system.private(path_of "") then
    return
  end
  local name = os.date "%Y-%m-%d-%H%M%S"
  for i = 1, 99 do
    if journal.open(path_of(("%s-%02d.lua"):format(name, i))) then
      head = require "clshell.shell.prompt.save".head() .. "\n"
      at = journal.write(0, head) and #head
      return
    end
  end
end

-- The number of commands on the devices.
local function commands()
  local n = 0
  for _, queue in ipairs(cl.unfinished()) do
    n = n + queue.commands
  end
  return n
end

-- Where an ended input refers to older results than the others did, all are
-- written anew, to keep these.
local function look(save)
  local inputs = session.inputs
  while inputs[seen + 1] and inputs[seen + 1] ~= session.input do
    seen = seen + 1
    local depth = save.depth{inputs[seen]}
    if depth and depth > (most or -1) then
      most, settled, at = depth, 0, #head
    end
  end
end

--- journal.update()
--- Writes the inputs since the last call. To be called when an input begins
--- and when it has ended.
function M.update()
  if ready then
    begin()
  end
  if not at then
    return
  end
  local save, now = require "clshell.shell.prompt.save", commands()
  look(save)
  local parts, from, whole = {}, at, true
  for i = settled + 1, #session.inputs do
    local input = session.inputs[i]
    input.before = input.before or now -- commands when it began
    local open = input == session.input or now > input.before
    local part = (open and OPEN .. save.commented(input.text)
      or save.piece(input, most)) .. "\n"
    parts[#parts + 1] = part
    whole = whole and not open
    if whole then
      settled, at = i, at + #part
    end
  end
  if not journal.write(from, table.concat(parts)) then
    at = nil -- a full disk: what is there stays
  end
end

-- The comments at the end of a script: what was under way, and the crash.
local function remarks(text)
  local lines = {}
  local from = text:find(OPEN, 1, true) or text:find(CRASH, 1, true)
  for line in text:sub(from or #text + 1):gmatch "%f[^\n\0]%-%- ([^\n]*)" do
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n")
end

--- journal.newest() -> path, script and remarks, or nil
--- The newest journal of a session that ended without its exit: the script
--- below its first line, and its last comments in words.
function M.newest()
  local names = left()
  for i = #names, 1, -1 do
    local text = read(names[i])
    if has_code(text) then
      text = text:sub(-#OFFERED) == OFFERED and text:sub(1, -#OFFERED - 1)
        or text
      return path_of(names[i]), text:gsub("^#![^\n]*\n", ""):match "^(.-)\n?$",
        remarks(text)
    end
  end
end

return M
