-- errors/excerpt.lua - lines of a source text, with their numbers and a
-- caret: for Lua errors and failed builds alike
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.lazy".module("clshell.base.text")

local M = {}

local CHUNKS = "clshell.chunks" -- registry: chunk name -> text, or false
local LARGEST = 1 << 24         -- bytes of a file to look into
local TAB = 4                   -- columns between tab stops
local ROOM = 160                -- columns where no window limits them

--- excerpt.remember(chunkname, text)
--- Keeps the text of a chunk that is no file ("=input:3"), for excerpts.
function M.remember(chunkname, text)
  local registry = debug.getregistry()
  local chunks = registry[CHUNKS] or {}
  registry[CHUNKS] = chunks
  chunks[chunkname] = text
end

--- excerpt.read(path) -> string or nil
--- The bytes of a regular file of moderate size.
function M.read(path)
  local file <close> = io.open(path, "rb")
  local size = file and file:seek "end"
  if size and size <= LARGEST and file:seek "set" then
    return file:read "a" -- nil for a folder
  end
end

--- excerpt.source(chunkname) -> string or nil
--- The text of a chunk by the name that debug.getinfo gives: "@path",
--- "=name", or the text itself.
function M.source(chunkname)
  local kind = chunkname:sub(1, 1)
  if kind == "@" then
    return M.read(chunkname:sub(2))
  elseif kind == "=" then
    local chunks = debug.getregistry()[CHUNKS]
    return chunks and chunks[chunkname] or nil
  end
  return chunkname
end

--- excerpt.name(chunkname, short) -> string
--- The name of a chunk in messages: the full path of a file, else Lua's short
--- name.
function M.name(chunkname, short)
  return chunkname:sub(1, 1) == "@" and chunkname:sub(2) or short
end

--- excerpt.own(chunkname) -> boolean
--- Whether a chunk is clshell's own Lua.
function M.own(chunkname)
  return chunkname:find("lua/clshell/", 1, true) ~= nil
end

--- excerpt.line(text, n) -> string or nil, first
--- Line n of a text, without its end, and where in the text it begins.
function M.line(text, n)
  local first = 1
  for _ = 2, n do
    local stop = text:find("\n", first, true)
    if not stop then
      return nil
    end
    first = stop + 1
  end
  if n < 1 or first > #text + 1 then
    return nil
  end
  return text:match("^[^\r\n]*", first), first
end

--- excerpt.alike(line, quoted) -> boolean
--- Whether a line (or nil) and a line of a log differ in spaces alone.
function M.alike(line, quoted)
  return line ~= nil and line:gsub("%s+", "") == quoted:gsub("%s+", "")
end

-- The character at byte `at` of a line: its text on the screen, its width in
-- columns, its bytes. `column` (from 0) is its place.
local function character(line, at, column)
  local c = line:sub(at, at)
  if c == "\t" then
    local n = TAB - column % TAB
    return (" "):rep(n), n, 1
  elseif c:find("[ -~]") then
    return c, 1, 1
  elseif c:byte() >= 0xC2 then
    local s = line:match("^[\xC2-\xF4][\x80-\xBF]+", at)
    local fine, code = pcall(utf8.codepoint, s or "", 1)
    if fine and code >= 0xA0 then
      s = utf8.char(code)
      return s, base_text.columns(code), #s
    end
  end
  return "?", 1, 1 -- a control character, or no UTF-8
end

-- The characters of a line as cells {s, width, column}, the column (from 0)
-- of each byte's character, and the number of columns of the line.
local function cells(line)
  local list, columns = {}, {}
  local at, column = 1, 0
  while at <= #line do
    local s, width, bytes = character(line, at, column)
    list[#list + 1] = {s = s, width = width, column = column}
    for i = at, at + bytes - 1 do
      columns[i] = column
    end
    at, column = at + bytes, column + width
  end
  columns[#line + 1] = column
  return list, columns, column
end

-- The cells between two columns as text.
local function cut(list, from, to)
  local parts = {}
  for _, cell in ipairs(list) do
    if cell.column >= from and cell.column + cell.width <= to then
      parts[#parts + 1] = cell.s
    end
  end
  return table.concat(parts)
end

-- The part of a line that fits into `room` columns, with byte `byte` in sight;
-- the column of each byte, and the number of columns cut off in front.
local function fit(line, byte, room)
  local list, columns, width = cells(line)
  if width <= room then
    return cut(list, 0, width), columns, 0
  end
  local from, focus = 0, byte and columns[byte] or 0
  if focus > room - 8 then
    from = math.min(focus - room // 2, width - room + 3)
  end
  local left = from > 0 and "..." or ""
  local to = from + room - #left
  local right = to < width and "..." or ""
  return left .. cut(list, from, to - #right) .. right, columns, from - #left
end

-- The line of marks below a shown line: '^' at byte `column`, '~' at the
-- other bytes of the list `ranges` of {first, last}.
local function marks(columns, column, ranges, off, room)
  local row = (" "):rep(room)
  local function put(at, c)
    local x = columns[at] and columns[at] - off + 1
    if x and x >= 1 and x <= room then
      row = row:sub(1, x - 1) .. c .. row:sub(x + 1)
    end
  end
  for _, r in ipairs(ranges or {}) do
    for i = r[1], r[2] do
      put(i, "~")
    end
  end
  put(column, "^")
  return (row:gsub("%s+$", ""))
end

--- excerpt.show(text, n [, opts]) -> list of strings
--- Line n of a text, to be shown below a message; an empty list where the
--- text has no such line. Options:
---   column  -  byte of the line, from 1, to put a caret under
---   ranges  -  list of {first, last} byte ranges to underline
---   before  0  lines to show before it, blank ones at the top left out
---   number  n  the number to print for line n
---   width   160  columns of the window
---   note    -  text to put behind the caret
function M.show(text, n, opts)
  opts = opts or {}
  if not M.line(text, n) then
    return {}
  end
  local first = math.max(1, n - (opts.before or 0))
  while first < n and not M.line(text, first):find("%S") do
    first = first + 1
  end
  local shift = (opts.number or n) - n
  local digits = math.max(3, #tostring(n + shift))
  local room = math.max(20, (opts.width or ROOM) - digits - 7)
  local out = {}
  local function add(mark, number, s)
    out[#out + 1] = ("%s%" .. digits .. "s | %s"):format(mark, number, s)
      :gsub("%s+$", "")
  end
  for i = first, n - 1 do
    add("   ", i + shift, (fit(M.line(text, i), nil, room)))
  end
  local line = M.line(text, n)
  local column = opts.column
    and math.max(1, math.min(opts.column, #line + 1))
  local shown, columns, off = fit(line, column, room)
  add(first < n and " > " or "   ", n + shift, shown)
  if column then
    local row = marks(columns, column, opts.ranges, off, room)
    local note = opts.note and " " .. opts.note or ""
    local fits = #row + #note <= room
    add("   ", "", row .. (fits and note or ""))
    out[#out + 1] = not fits and note ~= "" and " " .. note or nil
  end
  return out
end

return M
