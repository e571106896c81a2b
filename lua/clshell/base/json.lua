-- json.lua - Lua values as JSON text and back, without a loss: integers keep
-- their 64 bits, floats their last digit, strings any byte
-- SPDX-License-Identifier: MIT

local M = {}

local DEEPEST = 32 -- levels of tables; a cycle ends there

local NAMES = {['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n",
  ["\r"] = "\\r", ["\t"] = "\\t", ["\b"] = "\\b", ["\f"] = "\\f"}
local CHARS = {b = "\b", f = "\f", n = "\n", r = "\r", t = "\t"}

local function escape(c)
  return NAMES[c] or ("\\u%04x"):format(c:byte())
end

-- Bytes that are no UTF-8, which JSON cannot hold, become lone surrogates,
-- as in Python's surrogateescape.
local function escape_bytes(s)
  local parts, at = {}, 1
  while at <= #s do
    local _, bad = utf8.len(s, at)
    parts[#parts + 1] = s:sub(at, bad and bad - 1)
    if bad then
      parts[#parts + 1] = ("\\udc%02x"):format(s:byte(bad))
    end
    at = bad and bad + 1 or #s + 1
  end
  return table.concat(parts)
end

local function quoted(s)
  s = s:gsub('[%c"\\\127]', escape)
  return '"' .. (utf8.len(s) and s or escape_bytes(s)) .. '"'
end

-- The shortest of three forms that reads back as the same float. Infinity is
-- a number too big for a double, which reads back as one; NaN is no number
-- of JSON at all.
local function real(x)
  if x ~= x then
    return '{"$number":"nan"}'
  elseif x == math.huge or x == -math.huge then
    return x > 0 and "1e999" or "-1e999"
  end
  local s
  for digits = 15, 17 do
    s = ("%." .. digits .. "g"):format(x)
    if tonumber(s) == x then
      break
    end
  end
  return s:find("[.e]") and s or s .. ".0"
end

local encode

local function list(t, depth)
  local parts = {}
  for i, v in ipairs(t) do
    parts[i] = encode(v, depth) or "null"
  end
  return "[" .. table.concat(parts, ",") .. "]"
end

local function object(t, depth)
  local keys, names = {}, {}
  for k in pairs(t) do
    if type(k) == "string" or math.type(k) ~= nil then
      local name = tostring(k)
      keys[name] = k
      names[#names + 1] = name
    end
  end
  table.sort(names)
  local parts = {}
  for _, name in ipairs(names) do
    local value = encode(t[keys[name]], depth)
    if value then
      parts[#parts + 1] = quoted(name) .. ":" .. value
    end
  end
  return "{" .. table.concat(parts, ",") .. "}"
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

--- json.null
--- Stands for null where a value is encoded; decode gives nil for it.
M.null = setmetatable({}, {__name = "json.null"})

function encode(v, depth)
  local kind = type(v)
  if v == M.null then
    return "null"
  elseif kind == "string" then
    return quoted(v)
  elseif kind == "number" then
    return math.type(v) == "integer" and ("%d"):format(v) or real(v)
  elseif kind == "boolean" then
    return tostring(v)
  elseif kind == "table" and depth < DEEPEST then
    return (is_list(v) and list or object)(v, depth + 1)
  end
end

--- json.encode(value) -> string
--- A value as JSON, object keys in order. A table is a list if its keys are
--- 1 to n, else an object (the empty table is one). What JSON has no word
--- for, functions and objects of C, is left out. nil is null.
function M.encode(v)
  return encode(v, 0) or "null"
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

local function text(s, at)
  local parts = {}
  at = at + 1
  while true do
    local stop = s:find('["\\%c]', at)
    local c = stop and s:sub(stop, stop)
    parts[#parts + 1] = s:sub(at, (stop or 1) - 1)
    if c == '"' then
      return table.concat(parts), stop + 1
    elseif c ~= "\\" and c ~= "\127" then
      wrong(c and "a control character in a string" or "a string without end",
        stop or #s + 1)
    end
    local e = s:sub(stop + 1, stop + 1)
    if c == "\127" then
      parts[#parts + 1], at = c, stop + 1
    elseif e:find('^["\\/]') or CHARS[e] then
      parts[#parts + 1], at = CHARS[e] or e, stop + 2
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
  return tonumber(word), stop
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
    local name, colon = text(s, from)
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
    return text(s, at)
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
function M.decode(s)
  local ok, v, at = pcall(function()
    local v, at = value(s, blank(s, 1), 0)
    at = blank(s, at)
    if at <= #s then
      wrong("something after the value", at)
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
