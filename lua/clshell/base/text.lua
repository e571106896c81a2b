-- base/text.lua - words and numbers in messages: nearest names, lists, shapes
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = require "clshell.base.lazy".table(...)

--- text.nearest(word, names [, most]) -> string or nil
--- See cl.nearest.
M.nearest = cl.nearest

-- The most edits of a misspelt name; 0 for a word of two letters.
function M.misspellings(word)
  return #word <= 2 and 0 or #word <= 4 and 1 or math.max(2, #word // 3)
end

-- "no kernel 'tild'; did you mean 'tiled'? There are: naive, tiled"
function M.unknown(what, word, names)
  local near = M.nearest(tostring(word), names)
  return ("no %s '%s'%s There are: %s"):format(
    what, tostring(word), near and ("; did you mean '%s'?"):format(near)
    or ".", table.concat(names, ", "))
end

-- The class of a value, as its metatable names it, or nil. No code runs.
function M.class(value)
  local class = type(value) == "userdata" and cl.class(value)
  if class then
    return class
  end
  local meta = debug.getmetatable(value)
  return type(meta) == "table" and rawget(meta, "__name") or nil
end

--- text.lanes(type) -> scalar, lanes
--- The scalar type of an element type, and its lanes, 1 of a scalar.
--- Example: print(text.lanes "float4") --> float 4
function M.lanes(type)
  if M.bits(type) then
    return type, 1
  end
  local scalar, lanes = type:match "^(%a+)(%d*)$"
  return scalar, math.tointeger(tonumber(lanes)) or 1
end

--- text.bits(type) -> string or nil
--- The type that kernels have for the elements of a type which they lack; nil
--- for other types, and for no type.
--- Example: print(text.bits "bfloat16", text.bits "float") --> ushort nil
function M.bits(type)
  return type == "bfloat16" and "ushort"
    or type and type:find "^float8_" and "uchar" or nil
end

--- text.unsigned(i) -> string
--- The 64 bits of an integer as a number from 0 to 2^64 - 1.
function M.unsigned(i)
  local tens = (i >> 1) // 5
  return i < 0 and ("%d%d"):format(tens, i - tens * 10) or ("%d"):format(i)
end

-- "a Queue", "an Event"
function M.article(noun)
  return (noun:find("^[AEIOUaeiou]") and "an " or "a ") .. noun
end

-- A value as messages tell what they got: nothing, 12, "x", a table, an Event.
function M.got(value)
  local class = M.class(value) or type(value)
  if value == nil then
    return "nothing"
  elseif class == "string" then
    return ('"%s"'):format(M.cut(value, 40, "..."))
  elseif class == "number" or class == "boolean" then
    return tostring(value)
  end
  return M.article(class)
end

-- The words of a text as the keys of a table.
function M.set(words)
  local set = {}
  for word in words:gmatch "%S+" do
    set[word] = true
  end
  return set
end

-- The keys of a table, sorted.
function M.keys(t)
  local list = {}
  for key in next, t do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

-- The fields of a table as words: {"k=64", "m=64"}, sorted.
function M.fields(t)
  local list = {}
  for name, value in next, t do
    list[#list + 1] = ("%s=%s"):format(name, tostring(value))
  end
  table.sort(list)
  return list
end

-- First and last character of the ranges that take two columns of a terminal.
local WIDE = {0x1100, 0x115f, 0x2e80, 0x303e, 0x3041, 0xa4cf, 0xac00, 0xd7a3,
  0xf900, 0xfaff, 0xfe30, 0xfe6f, 0xff00, 0xff60, 0xffe0, 0xffe6, 0x1f300,
  0x1faff, 0x20000, 0x3fffd}
-- First and last character of the ranges that take no column.
local NARROW = {0x300, 0x36f, 0x483, 0x489, 0x591, 0x5bd, 0x610, 0x61a, 0x64b,
  0x65f, 0x200b, 0x200f, 0x20d0, 0x20ff, 0xfe00, 0xfe0f, 0xfe20, 0xfe2f,
  0xfeff, 0xfeff}

-- Whether a code point lies in one of a list of ranges, {first, last, ...}.
local function within(code, ranges)
  for i = 1, #ranges, 2 do
    if code >= ranges[i] and code <= ranges[i + 1] then
      return true
    end
  end
  return false
end

-- The columns that a printable character takes on a terminal.
function M.columns(code)
  if code < 0x300 then
    return 1
  end
  return within(code, NARROW) and 0 or within(code, WIDE) and 2 or 1
end

-- "1 kernel", "2 kernels"
function M.count(n, noun)
  return string.format("%d %s%s", n, noun, n == 1 and "" or "s")
end

-- "16x16" from {16, 16}
function M.shape(sizes)
  return table.concat(sizes, "x")
end

-- The values of a list as one string: "4, 8, 16"; or with other words between
-- them, or each as f(value), or the field f of each.
function M.values(list, between, f)
  local words = {}
  for i, value in ipairs(list) do
    words[i] = type(f) == "string" and value[f] or (f or tostring)(value)
  end
  return table.concat(words, between or ", ")
end

-- "64 KiB" where that is a whole number, else "66560 bytes"
function M.bytes(n)
  if n >= 1024 and n % 1024 == 0 then
    for _, unit in ipairs{"GiB", "MiB", "KiB"} do
      local size = unit == "GiB" and 2^30 or unit == "MiB" and 2^20 or 1024
      if n % size == 0 then
        return ("%.15g %s"):format(n // size, unit)
      end
    end
  end
  return (math.type(n) == "integer" and "%d bytes" or n < 2^63 and "%.0f bytes"
    or "%g bytes"):format(n)
end

--- text.position(s, at) -> line, column
--- The line of byte `at` of a text, and the byte's place in it, from 1.
function M.position(s, at)
  local before = s:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return breaks + 1, #before - (before:match "^.*\n()" or 1) + 2
end

--- text.quote(s) -> string
--- A word of the shell, whatever is in it.
function M.quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- text.width(s) -> columns
-- The columns of a text on a terminal, or its bytes where it is not UTF-8;
-- colours take none.
function M.width(s)
  s = s:find("\27", 1, true) and s:gsub("\27%[[%d;]*m", "") or s
  if not s:find "[\x80-\xff]" or not utf8.len(s) then
    return #s
  end
  local width = 0
  for _, code in utf8.codes(s) do
    width = width + M.columns(code)
  end
  return width
end

-- text.cut(s, width [, ending]) -> string
-- A line in at most `width` columns; a line that is cut gets the ending where
-- that fits, and its colours end there.
function M.cut(s, width, ending)
  if M.width(s) <= width then
    return s
  end
  ending = ending and M.width(ending) <= width and ending or ""
  local left, at = width - M.width(ending), 1
  while at <= #s do
    local colour = s:match("^\27%[[%d;]*m", at)
    local next_at = utf8.len(s, at, at) and utf8.offset(s, 2, at) or at + 1
    local char = colour or s:sub(at, next_at - 1)
    left = left - M.width(char)
    if left < 0 then
      break
    end
    at = at + #char
  end
  return s:sub(1, at - 1) .. (s:find("\27", 1, true) and "\27[0m" or "")
    .. ending
end

-- text.middle(s, width, mark) -> string
-- A name in at most `width` columns: its middle gives way to the mark.
function M.middle(s, width, mark)
  if M.width(s) <= width then
    return s
  end
  local room = math.max(0, width - M.width(mark))
  local tail = s:sub(-4 * room - 1)
  while M.width(tail) > room // 2 do
    tail = tail:sub(utf8.len(tail) and utf8.offset(tail, 2) or 2)
  end
  return M.cut(s, room - room // 2) .. mark .. tail
end

local newest = {} -- the values of the newest sentence

-- text.say(sentence, ...) -> ...
-- Returns the values, which the prompt shows as the sentence.
function M.say(sentence, ...)
  newest = {n = select("#", ...), sentence = sentence, ...}
  return ...
end

-- The sentence of values (with their number `n`) that text.say returned last.
function M.said(values)
  for i = 1, math.max(values.n, newest.n or 0) do
    if values[i] ~= newest[i] then
      return nil
    end
  end
  return newest.sentence
end

-- text.lines(s) -> list of lines, without their ends
function M.lines(s)
  local list = {}
  for line in (s .. "\n"):gmatch "([^\n]*)\n" do
    list[#list + 1] = line
  end
  return list
end

-- text.wrap(s, width) -> list of lines
-- A text broken at spaces; a word longer than a line stays whole.
function M.wrap(s, width)
  local lines, line = {}, ""
  for word in s:gmatch("%S+") do
    if line == "" then
      line = word
    elseif M.width(line) + 1 + M.width(word) <= width then
      line = line .. " " .. word
    else
      lines[#lines + 1], line = line, word
    end
  end
  lines[#lines + 1] = line
  return lines
end

-- text.hang(head, words, width) -> string
-- Words broken at spaces behind a head; further lines begin below the words.
function M.hang(head, words, width)
  return head .. table.concat(M.wrap(words, width - #head),
    "\n" .. (" "):rep(#head))
end

-- text.fold(s, width) -> string
-- A text of several lines; a line that is too long is broken at spaces and
-- goes on two columns right of its beginning. Other lines stay.
function M.fold(s, width)
  return (s:gsub("[^\n]+", function(line)
    if M.width(line) <= width then
      return nil
    end
    local indent, rest = line:match "^(%s*)(.*)$"
    local more = #indent < width // 2 and indent .. "  " or "  "
    local lines, last = {}, indent
    for space, word in rest:gmatch "(%s*)(%S+)" do
      if last:find "%S" and M.width(last .. space .. word) > width then
        lines[#lines + 1], last = last, more .. word
      else
        last = last .. space .. word
      end
    end
    lines[#lines + 1] = last
    return table.concat(lines, "\n")
  end))
end

-- text.fill(s, width [, right]) -> string
-- A text with spaces behind it, or before it, up to `width` columns.
function M.fill(s, width, right)
  local space = (" "):rep(width - M.width(s))
  return right and space .. s or s .. space
end

-- text.align(cells)
-- Pads the texts of numbers so that their points stand in one line.
function M.align(cells)
  local before, after = 0, 0
  for _, s in ipairs(cells) do
    local whole, part = s:match("^(%-?%d+)(%.?%d*)$")
    if whole then
      before = math.max(before, #whole)
      after = math.max(after, #part)
    end
  end
  for i, s in ipairs(cells) do
    local whole, part = s:match("^(%-?%d+)(%.?%d*)$")
    if whole then
      cells[i] = (" "):rep(before - #whole) .. whole .. part
        .. (" "):rep(after - #part)
    end
  end
end

-- text.finite(x) -> boolean
-- Whether a number is neither NaN nor infinite.
function M.finite(x)
  return x == x and x ~= math.huge and x ~= -math.huge
end

-- text.shortest(x) -> string
-- A finite float with the fewest of 15 to 17 digits that read back as the same
-- float, and with a point in every locale.
function M.shortest(x)
  local s
  for digits = 15, 17 do
    s = string.format("%." .. digits .. "g", x)
    if tonumber(s) == x then
      break
    end
  end
  s = string.gsub(s, ",", ".")
  return string.find(s, "[.e]") and s or s .. ".0"
end

-- text.exact(x) -> string
-- A finite number with just the digits that read back as the same number.
function M.exact(x)
  return math.type(x) == "integer" and ("%d"):format(x)
    or (M.shortest(x):gsub("%.0$", ""))
end

local function replacement()
  return "\u{FFFD}"
end

-- text.utf8(s [, replace]) -> string
-- A string with each byte that is not UTF-8 replaced by replace(byte), or by
-- the replacement character.
function M.utf8(s, replace)
  local parts, at = {}, 1
  repeat
    local bad = select(2, utf8.len(s, at))
    parts[#parts + 1] = s:sub(at, bad and bad - 1)
    if bad then
      parts[#parts + 1] = (replace or replacement)(s:byte(bad))
      at = bad + 1
    end
  until not bad
  return table.concat(parts)
end

-- Ranges that steer a terminal or turn the direction of text.
local UNSAFE = {0x80, 0x9f, 0x2028, 0x202e, 0x2066, 0x2069, 0xd800, 0xdfff,
  0xe000, 0xf8ff, 0x10fffe, 0x7fffffff}

-- text.unsafe(code) -> boolean
-- Whether a character above ASCII can steer a terminal.
function M.unsafe(code)
  return within(code, UNSAFE)
end

local function decimal(c, digit)
  return (digit == "" and "\\%d" or "\\%03d"):format(c:byte()) .. digit
end

local function hexadecimal(byte)
  return ("\\x%02x"):format(byte)
end

local function named(c)
  local code = utf8.codepoint(c)
  return M.unsafe(code) and ("\\u{%x}"):format(code) or nil
end

--- text.visible(s) -> string
--- Text that cannot steer a terminal: line ends and tabs stay; other control
--- characters, bytes outside UTF-8 and marks that turn the direction of text
--- become escapes. All foreign text that clshell writes to a terminal goes
--- through this function.
function M.visible(s)
  if not s:find "[^\n\t\x20-\x7e]" then
    return s
  end
  s = s:gsub("\r\n", "\n"):gsub("([^\n\t\x20-\x7e\x80-\xff])(%d?)",
    decimal)
  return (M.utf8(s, hexadecimal):gsub("[\xc2-\xf4][\x80-\xbf]+", named))
end

local function nothing()
  return ""
end

local LONGEST = 640 -- bytes in a line of a message

-- text.message(s) -> string
-- A message for people: visible, its long lines cut in the middle.
function M.message(s)
  return (M.visible(s):gsub("[^\n]+", function(line)
    if #line > LONGEST then
      return ("%s ... (%d bytes) ... %s"):format(M.utf8(line:sub(1,
        LONGEST // 2), nothing), #line, M.utf8(line:sub(-LONGEST // 4),
        nothing))
    end
  end))
end

-- Characters that a source gets by copying and that look like others or like
-- nothing, and the character in their place.
local STRANGE = {
  [0xA0] = {"no-break space", "a space"}, [0xAD] = {"soft hyphen"},
  [0x200B] = {"zero width space"}, [0x200C] = {"zero width non-joiner"},
  [0x200D] = {"zero width joiner"}, [0x200E] = {"left-to-right mark"},
  [0x200F] = {"right-to-left mark"},
  [0x2028] = {"line separator", "a new line"},
  [0x2029] = {"paragraph separator", "a new line"},
  [0x202F] = {"narrow no-break space", "a space"},
  [0x205F] = {"mathematical space", "a space"}, [0x2060] = {"word joiner"},
  [0x3000] = {"ideographic space", "a space"}, [0xFEFF] = {"byte order mark"},
  [0x2018] = {"left quotation mark", "'"}, [0x2019] = {"apostrophe", "'"},
  [0x201C] = {"left quotation mark", '"'},
  [0x201D] = {"right quotation mark", '"'}, [0x2013] = {"en dash", "-"},
  [0x2014] = {"em dash", "-"}, [0x2212] = {"minus sign", "-"},
  [0xD7] = {"multiplication sign", "*"},
  [0x37E] = {"Greek question mark", ";"},
  [0xFF1B] = {"wide semicolon", ";"}, [0xFF08] = {"wide bracket", "("},
  [0xFF09] = {"wide bracket", ")"}, [0xFF0C] = {"wide comma", ","},
}
for code = 0x2000, 0x200A do
  STRANGE[code] = {"wide or narrow space", "a space"}
end
for code = 0x202A, 0x202E do
  STRANGE[code] = {"mark of the writing direction"}
end
for code = 0x2066, 0x2069 do
  STRANGE[code] = {"mark of the writing direction"}
end

--- text.strange(line) -> list of {at, words}
--- The characters of a line that look like others or like nothing, by their
--- byte, with words: "U+00A0 (no-break space); a space belongs there".
function M.strange(line)
  local list = {}
  for at, char in line:gmatch "()([\xC2-\xEF][\x80-\xBF]+)" do
    local ok, code = pcall(utf8.codepoint, char)
    local known = ok and STRANGE[code]
    if known then
      list[#list + 1] = {at = at, words = ("U+%04X (%s)%s"):format(code,
        known[1], known[2] and ("; %s belongs there"):format(known[2])
        or "; nothing belongs there")}
    end
  end
  return list
end

return M
