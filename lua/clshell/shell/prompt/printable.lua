-- shell/prompt/printable.lua - any bytes as text that is safe for a terminal:
-- quoted, cleaned, measured and cut; any value but a table on one line
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"
local base_text = require "clshell.base.text"
local interrupt = require "clshell.base.interrupt"

local M = {}

local find, format = string.find, string.format

local NAMED = {["\n"] = "\\n", ["\t"] = "\\t", ['"'] = '\\"',
  ["\\"] = "\\\\"}

--- printable.ellipsis() -> string
--- The mark for omitted text: one character, or three points where the
--- terminal may lack it.
function M.ellipsis()
  return style.glyphs() and "…" or "..."
end

--- printable.clean(s) -> string
--- Text of one or several lines that cannot steer the terminal: line ends and
--- tabs stay; other control characters, bytes outside UTF-8, marks that turn
--- the direction of text, and characters that the locale lacks become escapes.
function M.clean(s)
  s = base_text.visible((s:gsub("\r", "\\r")))
  return style.utf8() and s or (s:gsub("[\xc2-\xf4][\x80-\xbf]+", function(c)
    return format("\\u{%x}", utf8.codepoint(c))
  end))
end

-- Escaped text cut to so many columns; each escape stays whole.
local function cut_escaped(s, room)
  local head = find(s, "[\x80-\xff]") and base_text.cut(s, room)
    or s:sub(1, room)
  local at = head:gsub("\\\\", "  "):match "^.*()\\"
  local stop = at and (s:match("^\\u%b{}()", at) or s:match("^\\x..()", at)
    or s:match("^\\%d%d?%d?()", at) or at + 2)
  return stop and stop > #head + 1 and head:sub(1, at - 1) or head
end

--- printable.quote(s [, room]) -> text, cut
--- A string as Lua source in double quotes, every byte visible: control
--- characters and bytes outside UTF-8 are escapes. A string wider than `room`
--- (80) is cut, with its length behind it: "abc…" (4096 bytes); cut is true
--- then.
function M.quote(s, room)
  room = math.max(room or 80, 4)
  local head = #s > 4 * room and s:sub(1, 4 * room) or s
  local text = M.clean((head:gsub('[\n\t"\\]', NAMED)))
  if #head == #s and M.width(text) <= room - 2 then
    return '"' .. text .. '"', false
  end
  local mark, note = M.ellipsis(), format(" (%d bytes)", #s)
  note = room < 2 * #note and "" or note
  text = cut_escaped(text, math.max(room - 2 - #note - M.width(mark), 1))
  return '"' .. text .. mark .. '"' .. note, true
end

--- printable.coloured(s) -> string
--- printable.clean(s) for a program's own text: colours and weights stay too.
function M.coloured(s)
  local parts, at = {}, 1
  for first, code, next_at in s:gmatch "()(\27%[[%d;]*m)()" do
    parts[#parts + 1] = M.clean(s:sub(at, first - 1))
    parts[#parts + 1] = code
    at = next_at
  end
  return table.concat(parts) .. M.clean(s:sub(at))
end

--- printable.width(s) -> columns
--- The columns that printable text takes on a terminal.
M.width = base_text.width

--- printable.cut(s, room) -> string
--- One line of printable text, cut to so many columns; colours end there.
function M.cut(s, room)
  return base_text.cut(s, room, M.ellipsis())
end

--- printable.join(words, width, indent) -> list of strings
--- Words side by side on lines of at most `width` columns; later lines are
--- indented.
function M.join(words, width, indent)
  local lines = {}
  for _, word in ipairs(words) do
    local last = lines[#lines]
    if last and M.width(last) + 2 + M.width(word) <= width then
      lines[#lines] = last .. "  " .. word
    else
      local lead = last and indent or ""
      lines[#lines + 1] = lead .. M.cut(word, width - #lead)
    end
  end
  return lines
end

--- printable.NUMBER
--- The colour of numbers, which stand right in columns.
M.NUMBER = "cyan"

--- printable.digits
--- The digits of printed floats that `%set precision` wants; nil: as many as a
--- float takes.
M.digits = nil

--- printable.number(x) -> string
--- An integer, or a float with the fewest digits that tell it from other
--- floats, or with printable.digits.
function M.number(x)
  if math.type(x) == "integer" then
    return format("%d", x)
  elseif x ~= x then
    return "nan"
  elseif x == math.huge or x == -math.huge then
    return x > 0 and "inf" or "-inf"
  end
  local s = M.digits and format("%." .. M.digits .. "g", x):gsub(",", ".")
  return s and (find(s, "[.e]") and s or s .. ".0") or base_text.shortest(x)
end

-- A function in a few words: the place of its definition.
local function where(f)
  local info = debug.getinfo(f, "S")
  if info.what == "C" then
    return "function (C)"
  end
  local source = info.short_src
  if info.source:sub(1, 1) == "@" or info.source:sub(1, 1) == "=" then
    source = info.source:sub(2):match "([^/]*/?[^/]*)$"
  end
  return ("function (%s:%d)"):format(M.clean(source), info.linedefined)
end

--- printable.told(value) -> text; nil, error
--- The text that a value's __tostring gives, or nil and the error in it.
function M.told(value)
  local mt = debug.getmetatable(value)
  if type(mt) ~= "table" or rawget(mt, "__tostring") == nil then
    return nil
  end
  local fine, text = interrupt.pcall(tostring, value)
  if fine then
    return ("%s"):format(text)
  end
  fine, text = pcall(tostring, text)
  return nil, ("error in __tostring: %s"):format(fine
    and text:gsub("\n.*", "") or "?")
end

--- printable.line(text, room) -> string
--- The first line of a text, cut in the middle.
function M.line(text, room)
  return base_text.middle(M.clean((text:gsub("\n.*", ""))), room,
    M.ellipsis())
end

--- printable.leaf(text, colour) -> {text=, width=, colour=}
function M.leaf(text, colour)
  return {text = text, width = M.width(text), colour = colour}
end

--- printable.scalar(value, room) -> {text=, width=, colour=}
--- A value other than a table, on one line. Strings, functions and objects
--- take at most `room` columns (math.huge: all of them).
function M.scalar(value, room)
  local kind = type(value)
  if kind == "string" then
    return M.leaf(M.quote(value, room), "green")
  elseif kind == "number" then
    return M.leaf(M.number(value), M.NUMBER)
  elseif kind == "nil" or kind == "boolean" then
    return M.leaf(tostring(value), "yellow")
  elseif kind == "function" then
    return M.leaf(M.cut(where(value), math.max(room, 8)), "dim")
  elseif kind == "thread" then
    return M.leaf("thread (" .. coroutine.status(value) .. ")", "dim")
  end
  local text, wrong = M.told(value)
  return M.leaf(M.line(text or wrong or tostring(value), math.max(room, 8)))
end

return M
