-- base/json.lua - Lua values as JSON text and back, without a loss: integers
-- keep their 64 bits, floats their last digit, strings any byte
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local text = require "clshell.base.text"

local M = {}

local DEEPEST = 32 -- levels of tables

local NAMES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n",
  ["\r"] = "\\r", ["\t"] = "\\t", ["\b"] = "\\b", ["\f"] = "\\f"}
local CHARS = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/"}

local function escape(c)
  return NAMES[c] or ("\\u%04x"):format(c:byte())
end

-- JSON cannot hold bytes that are not UTF-8: they become lone surrogates, as
-- in Python's surrogateescape.
local function surrogate(byte)
  return ("\\udc%02x"):format(byte)
end

local function quoted(s)
  return '"' .. text.utf8(s:gsub('[%c"\\\127]', escape), surrogate) .. '"'
end

-- A float as text that reads back as the float. Infinity becomes a number too
-- large for a double, which reads back as infinity; JSON has no NaN.
local function real(x)
  if x ~= x then
    return '{"$number":"nan"}'
  elseif x == math.huge or x == -math.huge then
    return x > 0 and "1e999" or "-1e999"
  end
  return text.shortest(x)
end

-- The metatables of values with a form of their own.
local Raw, List, Object = {}, {}, {}

--- json.raw(text) -> value
--- A value that encode writes as this text.
--- Example: print(json.encode{json.raw "0.10"}) --> [0.10]
function M.raw(s)
  return setmetatable({s}, Raw)
end

--- json.list(t) -> t
--- Makes encode write t as a list, even when t is empty.
--- Example: print(json.encode{flags = json.list{}}) --> {"flags":[]}
function M.list(t)
  return setmetatable(t, List)
end

--- json.object(members) -> members
--- Makes encode write a list of {name, value} as an object in that order.
--- Members without a value are left out.
--- Example:
--- print(json.encode(json.object{{"n", 64}, {"k", 8}})) --> {"n":64,"k":8}
function M.object(members)
  return setmetatable(members, Object)
end

--- json.null
--- Stands for null where a value is encoded; decode gives nil for null.
--- Example: print(json.encode{1, json.null, 3}) --> [1,null,3]
M.null = M.raw "null"

-- The members of a table in the order of their names.
local function sorted(t)
  local members = {}
  for k, v in pairs(t) do
    if type(k) == "string" or math.type(k) ~= nil then
      members[#members + 1] = {tostring(k), v}
    end
  end
  table.sort(members, function(a, b)
    return a[1] < b[1]
  end)
  return members
end

local function is_list(t)
  local count = 0
  for k in pairs(t) do
    if math.type(k) ~= "integer" then
      return false
    end
    count = count + 1
  end
  return count == #t and count > 0
end

local encode
local open -- the tables that are being written: a cycle ends at them

local function encode_list(t, depth, indented)
  local parts = {}
  for i, v in ipairs(t) do
    parts[i] = encode(v, depth, indented) or "null"
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function encode_object(t, depth, indented)
  local parts = {}
  local newline = indented and "\n" .. ("  "):rep(depth) or ""
  for _, member in ipairs(getmetatable(t) == Object and t or sorted(t)) do
    local value = encode(member[2], depth, indented)
    if value then
      parts[#parts + 1] = newline .. quoted(member[1]) .. ":" .. value
    end
  end
  return "{" .. table.concat(parts, ",") .. newline:sub(1, -3) .. "}"
end

function encode(v, depth, indented)
  local kind = type(v)
  if kind == "string" then
    return quoted(v)
  elseif kind == "number" then
    return math.type(v) == "integer" and ("%d"):format(v) or real(v)
  elseif kind == "boolean" then
    return tostring(v)
  elseif kind ~= "table" or depth >= DEEPEST or open[v] then
    return nil
  end
  local form = getmetatable(v)
  if form == Raw then
    return v[1]
  end
  local is_a_list = form == List or form ~= Object and is_list(v)
  open[v] = true
  local s = (is_a_list and encode_list or encode_object)(v, depth + 1,
    indented)
  open[v] = nil
  return s
end

--- json.encode(value [, indented]) -> string
--- A value as JSON, object keys in order, each member of an object on a line
--- of its own where `indented` is true. A table is a list if its keys are
--- 1 to n, else an object (the empty table is an object). Values that JSON
--- cannot hold, such as functions, objects of C and a table inside itself, are
--- left out. nil is null.
--- Example:
--- print(json.encode{name = "tiled", sizes = {8, 16}})
--- --> {"name":"tiled","sizes":[8,16]}
function M.encode(v, indented)
  open = {}
  return encode(v, 0, indented) or "null"
end

-- A parser is a function(text, at) -> value, place after it; it raises a
-- table {message, at}.
local function wrong(message, at)
  error({message = message, at = at}, 0)
end

local function blank(s, at)
  return s:match("^[ \t\r\n]*()", at)
end

-- The character of an escape \uXXXX at `at`; a pair of surrogates is one.
local function unicode(s, at)
  local code = tonumber(s:match("^u(%x%x%x%x)", at) or "", 16)
  if not code then
    wrong("a bad escape in a string", at)
  end
  local low = s:match("^\\u([dD][c-fC-F]%x%x)", at + 5)
  if code >= 0xd800 and code < 0xdc00 and low then
    code = 0x10000 + (code - 0xd800) * 0x400 + tonumber(low, 16) - 0xdc00
    return utf8.char(code), at + 11
  elseif code >= 0xdc80 and code <= 0xdcff then
    return string.char(code - 0xdc00), at + 5
  end
  return utf8.char(code), at + 5
end

local function read_string(s, at)
  local parts = {}
  at = at + 1
  while true do
    local chars, stop = s:match('^([^"\\\0-\31]*)()', at)
    parts[#parts + 1] = chars
    local c, name = s:match("^(.)(.?)", stop)
    if c == '"' then
      return table.concat(parts), stop + 1
    elseif c ~= "\\" then
      wrong(c and "a control character in a string" or "a string without end",
        stop)
    elseif CHARS[name] then
      parts[#parts + 1], at = CHARS[name], stop + 2
    else
      parts[#parts + 1], at = unicode(s, stop + 1)
    end
  end
end

local function number(s, at)
  local stop = s:match("^%-?[%d]+%.?%d*[eE]?[+-]?%d*()", at)
  local word = stop and s:sub(at, stop - 1)
  if not word or word:find("^%-?0%d") or word:find("%.$")
      or not tonumber(word) then
    wrong("not a value", at)
  end
  return word == "-0" and -0.0 or tonumber(word), stop
end

local value

-- The members of a list or an object, up to the character `close`.
local function members(s, at, close, member)
  at = blank(s, at + 1)
  if s:sub(at, at) == close then
    return at + 1
  end
  while true do
    at = blank(s, member(at))
    local c = s:sub(at, at)
    if c == close then
      return at + 1
    elseif c ~= "," then
      wrong(("',' or '%s' expected"):format(close), at)
    end
    at = blank(s, at + 1)
  end
end

local function array(s, at, depth)
  local t, n = {}, 0
  return t, members(s, at, "]", function(from)
    n = n + 1
    local stop
    t[n], stop = value(s, from, depth)
    return stop
  end)
end

local function map(s, at, depth)
  local t = {}
  local stop = members(s, at, "}", function(from)
    if s:sub(from, from) ~= '"' then
      wrong("a name in quotes expected", from)
    end
    local name, colon = read_string(s, from)
    colon = blank(s, colon)
    if s:sub(colon, colon) ~= ":" then
      wrong("':' expected", colon)
    end
    local after
    t[name], after = value(s, blank(s, colon + 1), depth)
    return after
  end)
  if t["$number"] == "nan" then
    return 0 / 0, stop
  end
  return t, stop
end

local WORDS = {["true"] = true, ["false"] = false}

function value(s, at, depth)
  if depth > 2 * DEEPEST then
    wrong("nested too deep", at)
  end
  local c = s:sub(at, at)
  if c == "{" then
    return map(s, at, depth + 1)
  elseif c == "[" then
    return array(s, at, depth + 1)
  elseif c == '"' then
    return read_string(s, at)
  end
  local word = s:match("^%a+", at)
  if word == "null" or WORDS[word] ~= nil then
    return WORDS[word], at + #word
  end
  return number(s, at)
end

--- json.decode(text) -> value, or nil and a message
--- The value of a JSON text. Objects and lists are tables, null is nil;
--- numbers without point and exponent are integers where they fit.
--- Example: print(json.decode('{"sizes": [8, 16]}').sizes[2]) --> 16
function M.decode(s)
  argument.check("json.decode", "the text", s, "string")
  local ok, v, at = pcall(function()
    local first = s:match "^\xef\xbb\xbf()" or 1 -- a byte order mark
    local v, at = value(s, blank(s, first), 0)
    at = blank(s, at)
    if at <= #s then
      wrong("text after the value", at)
    end
    return v, at
  end)
  if ok and at then
    return v
  elseif type(v) ~= "table" or not v.at then
    error(v, 0)
  end
  return nil, ("no JSON: %s at byte %d"):format(v.message, v.at)
end

return M
