-- shell/prompt/journal.lua - the inputs that have built the session, as a
-- script on disk while the session runs: it outlives a session that a kernel,
-- a signal or a closed terminal ends. src/shell/journal.c removes the script
-- at a normal end. Each input follows a line with its number. It stands there
-- as a comment where it only measured or printed, where it failed, and until
-- it and its kernels have ended, so that the script does not repeat the crash.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local files = require "clshell.base.file"
local journal = require "clshell.journal"
local session = require "clshell.shell.prompt.session"
local system = require "clshell.system"

local M = {}

local KEPT = 20 -- journals of ended sessions
local OPEN = "under way when the session ended"
local AGAIN = "crashed when it was restored"
local LINE = "^%-%- input (%d+),? ?([^\n]*)$" -- above an input
local CRASH = "-- clshell: ended " -- by src/shell/crash.c
local OFFERED = "-- offered to a later session\n"

--- journal.PRINTED, journal.FAILED
--- The reason why an input does not run again.
M.PRINTED = "only measured or printed"
M.FAILED = "failed"

local ready = false -- the journal begins at the first input
local at            -- bytes that stay as they are; nil: there is no journal
local settled = 0   -- inputs in these bytes
local seen = 0      -- inputs whose references to results are known
local most          -- the oldest result that an input refers to
local head

local function path_of(name)
  return files.folder "STATE" .. "/sessions/" .. name
end

-- The paths of journals whose sessions have ended, the oldest first.
local function left()
  local paths, state = {}, files.folder "STATE"
  for _, name in ipairs(state and system.folder(path_of "") or {}) do
    if name:find "%.lua$" and journal.left(path_of(name)) then
      paths[#paths + 1] = path_of(name)
    end
  end
  table.sort(paths)
  return paths
end

local function read(path)
  local file <close> = io.open(path, "rb")
  return file and file:read "a" or ""
end

-- The text and the end of its inputs: behind them comes the report of a crash.
local function split(text)
  local stop = text:find("\n" .. CRASH, 1, true)
    or text:find("\n" .. OFFERED, 1, true) or #text
  return text:sub(1, stop), text:sub(stop + 1)
end

--- journal.inputs(path) -> list of {number=, text=, code=, why=}
--- The inputs of a journal, in their order. `code` is nil for an input that
--- must not run again, and `why` gives the reason.
function M.inputs(path)
  local text, list = split(read(path)), {}
  for _, token in ipairs(require "clshell.base.lexer".tokens(text)) do
    local number, why = token.text:match(LINE)
    -- a string may have such lines, so the numbers must count up
    if token.kind == "comment" and number == tostring(#list + 1) then
      list[#list + 1] = {number = #list + 1, token = token,
        why = why ~= "" and why or nil}
    end
  end
  for i, input in ipairs(list) do
    local piece = text:sub(input.token.last + 2,
      list[i + 1] and list[i + 1].token.first - 2 or -2)
    input.code = not input.why and piece or nil
    input.text = input.why and piece:gsub("%f[^\n\0]%-%- ", "") or piece
  end
  return list
end

--- journal.runs(path) -> boolean
--- Whether a journal has an input that runs again.
function M.runs(path)
  for _, input in ipairs(M.inputs(path)) do
    if input.code then
      return true
    end
  end
  return false
end

-- The lines of an input in the file; `why`: the reason not to run it again.
local function piece(number, why, text)
  return ("-- input %d%s\n%s\n"):format(number, why and ", " .. why or "",
    why and require "clshell.shell.prompt.save".commented(text) or text)
end

--- journal.leave_out(path, number) -> string or nil
--- Marks an input that crashed a restore: it runs no more. Returns its text.
function M.leave_out(path, number)
  local _, rest = split(read(path))
  local list, parts = M.inputs(path), {}
  for i, input in ipairs(list) do
    parts[i] = piece(i, i == number and AGAIN or input.why, input.text)
  end
  local before = read(path):match "^(.-\n)%-%- input 1"
  local file <close> = list[number] and before and io.open(path, "wb")
  if file then
    file:write(before, table.concat(parts), rest)
    return list[number].text
  end
end

--- journal.offered(path)
--- Notes that the user has heard of a journal: no later session offers it.
function M.offered(path)
  if read(path):sub(-#OFFERED) == OFFERED then
    return
  end
  local file <close> = io.open(path, "r+b")
  if file then
    file:seek "end"
    file:write(OFFERED)
  end
end

--- journal.start() -> string or nil
--- Lets the journal begin with the first input. The string tells of a session
--- that was cut off; each such session is told once.
function M.start()
  ready = files.folder "STATE" ~= nil
  local paths = left()
  for i = 1, #paths - KEPT do
    os.remove(paths[i])
  end
  local path = paths[#paths]
  local text = path and read(path)
  if not path or text:sub(-#OFFERED) == OFFERED or not M.runs(path) then
    return nil
  end
  M.offered(path)
  local kernel = text:match "\n%-%-   under way: kernel ([%w_]+)"
  local how = text:match("\n" .. CRASH:gsub("%-", "%%-") .. "([^\n]*)")
  return ("an earlier session %s%s; %%restore brings its variables back")
    :format(how and "ended " .. how or "was cut off (killed, or its terminal "
      .. "was closed)", kernel and " in kernel " .. kernel or "")
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

-- Writes all inputs anew where an ended input refers to older results than
-- earlier inputs do: the journal then keeps these results.
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

--- journal.update([leaves])
--- Writes the inputs since the last call, at the beginning and the end of each
--- input; `leaves`: the input under way ends the session.
function M.update(leaves)
  if ready then
    begin()
  end
  if not at then
    return
  end
  local save, now = require "clshell.shell.prompt.save", commands()
  look(save)
  local parts, from, whole = {}, at, true
  for i = settled + 1, #session.inputs - (leaves and 1 or 0) do
    local input = session.inputs[i]
    input.before = input.before or now -- the commands at the input's beginning
    local open = input == session.input or now > input.before
    local code = input.ok and not open and save.quiet(input, most)
    local part = piece(i, open and OPEN or not input.ok and M.FAILED
      or not code and M.PRINTED or nil, code or input.text)
    parts[#parts + 1] = part
    whole = whole and not open
    if whole then
      settled, at = i, at + #part
    end
  end
  if not journal.write(from, table.concat(parts)) then
    at = nil -- a full disk: the file stays as it is
  end
end

--- journal.newest() -> path or nil
--- The newest journal, with inputs that run again, of a session that was cut
--- off.
function M.newest()
  local paths = left()
  for i = #paths, 1, -1 do
    if M.runs(paths[i]) then
      return paths[i]
    end
  end
end

return M
