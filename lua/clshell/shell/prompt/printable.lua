-- shell/prompt/printable.lua - any bytes as text that is safe for a terminal:
-- quoted, cleaned, measured and cut
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"
local base_text = require "clshell.base.text"

local M = {}

local columns, unsafe = base_text.columns, base_text.unsafe

local byte, find, format, sub = string.byte, string.find, string.format,
  string.sub

local QUOTED = '[^%c"\\\x7f-\xff]' -- characters sent as they are in quotes
local TEXT = "[\n\t\x20-\x7e]" -- and outside quotes

local NAMED = {["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r",
  ['"'] = '\\"', ["\\"] = "\\\\"}

-- The next character in its printed form, its width, and the place behind it.
local function step(s, at, keep, utf8_ok)
  local c = sub(s, at, at)
  if find(c, keep) then
    return c, 1, at + 1
  elseif NAMED[c] then
    return NAMED[c], 2, at + 1
  elseif byte(c) < 0x80 then
    local after = find(s, "^%d", at + 1)
    local text = format(after and "\\%03d" or "\\%d", byte(c))
    return text, #text, at + 1
  end
  if not utf8.len(s, at, at, true) then
    return format("\\x%02x", byte(c)), 4, at + 1
  end
  local code = utf8.codepoint(s, at, at, true)
  local char, text = utf8.char(code), format("\\u{%x}", code)
  if utf8_ok and not unsafe(code) then
    return char, columns(code), at + #char
  end
  return text, #text, at + #char
end

--- printable.ellipsis() -> string
--- The mark for omitted text: one character, or three points where the
--- terminal may lack it.
function M.ellipsis()
  return style.glyphs() and "…" or "..."
end

-- The part of a string that fits `room` columns, and the place of the cut
-- (nil: none). Bytes beyond the room are not looked at.
local function take(s, room, keep)
  local head = #s > room and sub(s, 1, room) or s
  if find(head, "^" .. keep .. "*$") then -- as it is, and quickly
    return head, #head, #s > room and room + 1 or nil
  end
  local utf8_ok, parts, used, at = style.utf8(), {}, 0, 1
  while at <= #s do
    local text, width, next_at = step(s, at, keep, utf8_ok)
    if used + width > room then
      return table.concat(parts), used, at
    end
    parts[#parts + 1] = text
    used, at = used + width, next_at
  end
  return table.concat(parts), used
end

--- printable.quote(s [, room]) -> text, columns, cut
--- A string as Lua source in double quotes, every byte visible: control
--- characters and bytes outside UTF-8 are escapes. A string wider than `room`
--- (80) is cut, with its length behind it: "abc…" (4096 bytes); cut is true
--- then.
function M.quote(s, room)
  room = math.max(room or 80, 4)
  local text, used, cut = take(s, room - 2, QUOTED)
  if not cut then
    return '"' .. text .. '"', used + 2, false
  end
  local mark, note = M.ellipsis(), (" (%d bytes)"):format(#s)
  if room < 2 * #note then
    note = ""
  end
  text = take(s, math.max(room - 2 - #note - M.width(mark), 1), QUOTED)
  text = '"' .. text .. mark .. '"' .. note
  return text, M.width(text), true
end

--- printable.clean(s) -> string
--- Text of one or several lines that cannot steer the terminal: line ends and
--- tabs stay; other control characters, bytes outside UTF-8 and marks that
--- turn the direction of text become escapes.
function M.clean(s)
  return find(s, "[^\n\t\x20-\x7e]") and take(s, math.huge, TEXT) or s
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

return M
