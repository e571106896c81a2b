-- shell/prompt/line_history.lua - the history of statements: a text file to
-- which all sessions append. An entry is a line with the time, "#1700000000",
-- and the lines of the statement, with a backslash before a line that looks
-- like a time. Entries that cannot be read are skipped.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local system = require "clshell.system"

local M = {}

local KEPT = 10000  -- entries that are left by a cut
local TOOMANY = 500 -- entries more than KEPT, for a cut

local list -- the entries, the oldest first; nil: not read yet
local path -- of the file; nil: there is none

-- The entries of a file's text. Each line before the first time is an entry.
local function parse(text)
  local found = {}
  local function add(entry)
    if entry:find "[^\n]" and not entry:find("\0", 1, true) then
      found[#found + 1] = entry
    end
  end
  text = "\n" .. text:gsub("\n$", "")
  local first = text:find("\n#%d+%f[\n\0]") or #text + 1
  for line in text:sub(1, first - 1):gmatch "[^\n]+" do
    add(line)
  end
  local from -- the line break behind a time
  for at, behind in (text .. "\n#0"):gmatch "()\n#%d+%f[\n\0]()" do
    local entry = from and text:sub(from, at - 1) or ""
    if entry:find("\n\\", 1, true) then
      entry = entry:gsub("\n\\(\\*#%d+%f[\n\0])", "\n%1")
    end
    add(entry:sub(2))
    from = behind
  end
  return found
end

-- Appends a text in one write; nil and a message where that fails.
local function append(text)
  file.make_folder "STATE" -- a failure shows at the file
  local made, message = system.private(path)
  local f <close> = made and io.open(path, "ab") or nil
  if f then
    f:setvbuf("full", #text + 1)
    made, message = f:write(text)
  end
  return f and made and f:close(), message or path
end

-- Leaves the newest entries in the open file, whose text is given. What other
-- sessions have appended to it meanwhile goes to the new file.
local function cut(f, text)
  local real = system.file(f)
  local times = {}
  for at in ("\n" .. text):gmatch "()\n#%d+%f[\n]" do
    times[#times + 1] = at
  end
  local first = times[#times - KEPT + 1]
  if first and file.replace(real ~= "?" and real or path, text:sub(first),
    "the history") then
    local rest = f:read "a"
    if rest ~= "" then
      append(rest)
    end
  end
end

--- line_history.entries() -> list
--- The entries of the history, the oldest first. The file is read at the first
--- call.
function M.entries()
  if list then
    return list
  end
  list = {}
  path = not (cl.commandline or {}).noinit and file.folder "STATE" or nil
  path = path and path .. "/history"
  local there = path and system.kind(path) == "file"
  local f <close> = there and io.open(path, "rb") or nil
  local text = f and f:read "a"
  if text then
    list = parse(text)
  end
  if #list > KEPT + TOOMANY then
    cut(f, text)
  end
  return list
end

-- Whether the file's last line has no end, as after a crash.
local function is_torn()
  local f <close> = io.open(path, "rb")
  return f and f:seek("end", -1) and f:read(1) ~= "\n"
end

--- line_history.add(text)
--- Adds a statement, unless it is blank or equal to the last statement. A note
--- says once that the file cannot be written.
function M.add(text)
  local entries = M.entries()
  if not text:find "[^ \t\n]" or entries[#entries] == text then
    return
  end
  entries[#entries + 1] = text
  if not path then
    return
  end
  local lines = ("\n" .. text):gsub("\n(\\*#%d+%f[\n\0])", "\n\\%1")
  local ok, message = append(("%s#%d%s\n"):format(is_torn() and "\n" or "",
    os.time(), lines))
  if not ok then
    io.stderr:write("note: history is not kept: ", message, "\n")
    path = nil
  end
end

return M
