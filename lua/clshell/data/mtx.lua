-- data/mtx.lua - Matrix Market files (coordinate and array; real, integer and
-- pattern; general, symmetric and skew-symmetric), read into triplets.
-- SPDX-License-Identifier: MIT
local cl = require "cl"
local base_text = require "clshell.base.text"
local argument = require "clshell.base.argument"
local file = require "clshell.base.file"

local M = {}

local INT_MAX = 0x7fffffff -- the kernels index with int
local FORMATS = {coordinate = true, array = true}
local FIELDS = {
  real = true, integer = true, pattern = true, ["unsigned-integer"] = true,
}
local SYMMETRIES = {
  general = true, symmetric = true, ["skew-symmetric"] = true,
}
-- The bytes of the shortest lines: "1 1\n", "1 1 1\n", "1\n".
local SHORTEST = {pattern = 4, coordinate = 6, array = 2}
local DIGITS = {double = "%.17g", float = "%.9g", half = "%.5g"}

local function fail(path, line, ...)
  cl.error(("%s:%d: "):format(path, line) .. string.format(...))
end

-- The banner's four words, checked.
local function banner(path, text)
  text = (text or ""):gsub("^\xef\xbb\xbf", "") -- a byte order mark
  local format, field, symmetry = text:lower()
    :match("^%%%%matrixmarket%s+matrix%s+(%S+)%s+(%S+)%s+(%S+)%s*$")
  if format == nil then
    fail(path, 1, 'no Matrix Market header; needed is "%%%%MatrixMarket '
      .. 'matrix coordinate real general" or the like%s',
      text:find("\0", 1, true) and ", each character in a byte" or "")
  elseif field == "complex" or symmetry == "hermitian" then
    fail(path, 1, "%s values; only real, integer and pattern matrices "
      .. "can be used, kernels have no complex type", "complex")
  elseif not (FORMATS[format] and FIELDS[field] and SYMMETRIES[symmetry])
  then
    fail(path, 1, '"%s %s %s"; readable are coordinate|array, '
      .. "real|integer|unsigned-integer|pattern, "
      .. "general|symmetric|skew-symmetric",
      format:sub(1, 60), field:sub(1, 60), symmetry:sub(1, 60))
  elseif field == "pattern"
    and (format == "array" or symmetry == "skew-symmetric") then
    fail(path, 1, "a pattern has no values, so it cannot be %s",
      format == "array" and "an array" or symmetry)
  end
  return {format = format, field = field, symmetry = symmetry}
end

-- The number of lines of data, which follows from the size line.
local function entries(head)
  local n, m = head.rows, head.cols
  if head.format == "coordinate" then
    return head.nnz
  elseif head.symmetry == "general" then
    return n * m
  end
  return n * (head.symmetry == "symmetric" and n + 1 or n - 1) // 2
end

local explain

-- Reads up to and with the size line. The result holds rows, cols, the
-- number of data lines `count`, and `line`, the number of the size line.
local function header(f, path)
  local head = banner(path, f:read("l"))
  local text
  head.line = 1
  repeat
    text, head.line = f:read("l"), head.line + 1
  until text == nil or not text:find("^%s*%%") and text:find("%S")
  local coordinate = head.format == "coordinate"
  local numbers = {}
  for word in (text or ""):gmatch("%S+") do
    if #numbers == 4 then
      break -- a line may have a million words
    end
    numbers[#numbers + 1] = word:find("^%d+$")
      and math.tointeger(tonumber(word)) or -1
  end
  local n, m, nnz = table.unpack(numbers)
  if #numbers ~= (coordinate and 3 or 2) or math.min(table.unpack(numbers)) < 0
  then
    fail(path, head.line, '%s; needed is the size line "%s"',
      text and ('"%s"'):format(text:sub(1, 60)) or "the file ends here",
      coordinate and "rows columns entries" or "rows columns")
  elseif n < 1 or m < 1 or n > INT_MAX or m > INT_MAX then
    fail(path, head.line, "a %d x %d matrix; rows and columns are 1 to %d",
      n, m, INT_MAX)
  elseif head.symmetry ~= "general" and n ~= m then
    fail(path, head.line, "a %s matrix of %d x %d; it must be square",
      head.symmetry, n, m)
  end
  head.rows, head.cols, head.nnz = n, m, nnz
  head.count = entries(head)
  -- Can the file hold so many lines? Asked before they take memory.
  local here = f:seek()
  local left = f:seek("end") - here + 1 -- the last newline may be missing
  f:seek("set", here)
  local shortest = SHORTEST[head.field] or SHORTEST[head.format]
  if head.count > left // shortest then
    explain(f, path, head)
  end
  return head
end

-- Whether (i, j) is stored in a file of this symmetry.
local function stored(head, i, j)
  return head.symmetry == "general" or i > j
    or i == j and head.symmetry == "symmetric"
end

-- The fault of one line of data as text; nil if it has none.
local function fault(head, text)
  local words, want = {}, {}
  for word in text:gmatch("%S+") do
    words[#words + 1] = word
  end
  if head.format == "coordinate" then
    want = {"row", "column"}
  end
  if head.field ~= "pattern" then
    want[#want + 1] = "value"
  end
  if #words ~= #want then
    return ('"%s"; needed is "%s"'):format(text:sub(1, 60),
      table.concat(want, " "))
  end
  local limits = {row = head.rows, column = head.cols}
  for k, name in ipairs(want) do
    local x = tonumber(words[k])
    local limit = limits[name]
    if x == nil or x - x ~= 0 then
      return ('%s "%s" is not a finite number'):format(name,
        words[k]:sub(1, 60))
    elseif limit and (math.type(x) ~= "integer" or x < 1 or x > limit) then
      return ("%s %s is outside 1 to %d"):format(name, words[k], limit)
    elseif not limit and head.field ~= "real" and x % 1 ~= 0 then
      return ("value %s in a file of integers"):format(words[k])
    elseif not limit and head.field == "unsigned-integer" and x < 0 then
      return ("value %s in a file of unsigned integers"):format(words[k])
    end
  end
  local i, j = tonumber(words[1]), tonumber(words[2])
  if head.format == "coordinate" and not stored(head, i, j) then
    return ("entry (%d, %d); a %s file holds the entries below the "
      .. "diagonal%s only"):format(i, j, head.symmetry,
      head.symmetry == "symmetric" and " and on it" or "")
  end
end

-- Called when the quick readers found a fault: goes through the data line by
-- line and raises the first fault. With `head` it begins behind the header.
function explain(f, path, head)
  if not head then
    f:seek("set")
    head = header(f, path)
  end
  local line, k = head.line, 0
  for text in f:lines() do
    line = line + 1
    if text:find("%S") then
      local wrong = fault(head, text)
      k = k + 1
      if k > head.count then
        fail(path, line, "entry %d, but the header announces %d", k,
          head.count)
      elseif wrong then
        fail(path, line, "%s", wrong)
      end
    end
  end
  if k < head.count then
    fail(path, line, "the file ends after %d of %d entries", k, head.count)
  end
  fail(path, line, "a number of more than 200 characters")
end

-- f:read("n") is twice as fast as matching lines (0.5 against 1 us for an
-- entry). It ignores line ends, so the rest of each line is looked at too;
-- the reader returns nil at the first fault, and explain words the error.

local function blank(rest)
  return rest == nil or rest == "" or not rest:find("%S")
end

-- The number of a word as Lua has it, but -0.0 for -0; of 2^63 to 2^64-1 also
-- the bits of the ulong.
local function exact(word)
  local v, digits = tonumber(word), word:match "^%+?(%d+)$"
  if digits and math.type(v) == "float" and v <= 2.0 ^ 64 then
    local bits = math.tointeger(digits:sub(1, -2)) * 10 + digits:sub(-1)
    return v, base_text.unsigned(bits) == digits:match "^0*(%d+)$" and bits
      or nil
  end
  return v == 0 and word:find "^%-" and -0.0 or v
end

-- A reader for triplets, of lines: it loses no sign and no digit of a value.
local function lines_of(f)
  return function()
    local text
    repeat
      text = f:read("l")
    until not text or text:find("%S")
    local words = {}
    for word in (text or ""):gmatch("%S+") do
      words[#words + 1] = word
    end
    return tonumber(words[1]), tonumber(words[2]), exact(words[#words])
  end
end

-- Whether "-0" stands in the rest of a file.
local function signed_zero(f)
  repeat
    local text, rest = f:read(2 ^ 16 | 0, "l")
    text = text and text .. (rest or "")
    local at = text and text:find("-0", 1, true)
    if at and text:find("%-0+%f[^%w.]", at) then
      return true
    end
  until not text
end

-- Lua tables of rows, columns and values, and the bits of values that are
-- ulong alone, by number of the entry, and whether a real value reads as a
-- whole zero. nil: a line has a fault; false: `slow`, a reader of lines, must
-- read the values.
local function triplets(f, head, slow)
  local is, js, vs, bits, n = {}, {}, {}, {}, 0
  local rows, cols, kind = head.rows, head.cols, math.type
  local array, pattern = head.format == "array", head.field == "pattern"
  local whole, general = head.field ~= "real", head.symmetry == "general"
  local unsigned, zeros = head.field == "unsigned-integer", false
  local below = head.symmetry == "skew-symmetric" and 1 or 0
  local row, col = below, 1 -- of an array's entry, down its columns
  for _ = 1, head.count do
    local i, j, v, rest, big
    if slow then
      i, j, v, big = slow()
      rest = ""
    end
    if array then
      row = row + 1
      if row > rows then
        col = col + 1
        row = general and 1 or col + below
      end
      i, j = row, col
    end
    if array and not slow then
      v, rest = f:read("n", "l")
    elseif slow then
      v = pattern and 1 or v
    elseif pattern then
      i, j, rest = f:read("n", "n", "l")
      v = j and 1
    else
      i, j, v, rest = f:read("n", "n", "n", "l")
    end
    if not v or kind(i) ~= "integer" or kind(j) ~= "integer"
      or i < 1 or i > rows or j < 1 or j > cols or v - v ~= 0
      or rest ~= "" and not blank(rest)
      or whole and (v % 1 ~= 0 or unsigned and v < 0)
      or not (general or stored(head, i, j)) then
      return nil
    elseif not slow and kind(v) == "float" and v >= 2.0 ^ 63
      and v <= 2.0 ^ 64 then
      return false
    end
    zeros = zeros or v == 0 and kind(v) == "integer"
    if v ~= 0 or not array or 1 / v < 0 then
      n = n + 1
      is[n], js[n], vs[n], bits[n] = i, j, v, big
    end
  end
  return is, js, vs, bits, zeros and not whole
end

-- Adds the upper triangle of a symmetric or skew-symmetric matrix.
local function mirror(head, is, js, vs, bits)
  local symmetric = head.symmetry == "symmetric"
  local n = #is
  for k = 1, n do
    if is[k] ~= js[k] then
      n = n + 1
      is[n], js[n], vs[n] = js[k], is[k], symmetric and vs[k]
        or -(vs[k] == math.mininteger and vs[k] + 0.0 or vs[k])
      bits[n] = symmetric and bits[k] or nil
    end
  end
end

--- mtx.read(path) -> m; nil, message if the file cannot be opened
--- Reads a Matrix Market file into triplets: m.i, m.j (1-based) and m.v are
--- Lua tables of equal length, m.rows and m.cols the size, m.format, m.field
--- and m.symmetry the words of the header, m.path the name; m.bits has whole
--- values from 2^63 on as ulong, by number of the entry. A pipe is read too.
--- Symmetric and skew-symmetric files
--- come back whole, a pattern has ones, an array file loses its zeros.
--- Entries given twice stay twice (from_coo and mtx.dense add them up). Any
--- fault of the file is an error that names file and line.
--- Example:
--- mtx.write_dense("d.mtx", cl.array("float", {2, 2}, {{1, 0}, {0, 5}}))
--- local m = mtx.read "d.mtx"
--- print(m.rows, m.cols, #m.v) --> 2 2 2
function M.read(path, opened)
  argument.check("mtx.read", "the path", path, "string")
  local f <close>, message = file.open(path, opened)
  if f == nil then
    return nil, message
  end
  local head = header(f, path)
  local data = f:seek()
  local is, js, vs, bits, zeros = triplets(f, head)
  local behind = f:seek()
  if zeros then
    f:seek("set", data)
    is = not signed_zero(f) and is
    f:seek("set", behind)
  end
  if is == false then
    f:seek("set", data)
    is, js, vs, bits = triplets(f, head, lines_of(f))
  end
  if is == nil then
    explain(f, path)
  end
  for text in f:lines() do
    if not blank(text) then
      explain(f, path)
    end
  end
  if head.symmetry ~= "general" then
    mirror(head, is, js, vs, bits)
  end
  return {
    rows = head.rows, cols = head.cols, i = is, j = js, v = vs,
    bits = bits, path = path, format = head.format,
    field = head.field, symmetry = head.symmetry,
  }
end

-- The sum of two values, as integers without overflow where both are.
function M.sum(a, b, unsigned)
  local s = a + b
  if math.type(s) ~= "integer" then
    return s
  elseif unsigned then
    return math.ult(s, a) and 2.0 ^ 64 or s
  end
  return (a ~ s) & (b ~ s) < 0 and a + 0.0 + b or s
end

-- mtx.value(m, k, type): the value of entry k for an element of a type; one of
-- ulong is an integer of its bits.
function M.value(m, k, type)
  local v = type == "ulong" and m.bits and m.bits[k]
  if v then
    return v
  end
  v = m.v[k]
  local whole = type == "ulong" and math.tointeger(v)
  return whole and whole < 0 and v + 0.0 or v
end

--- mtx.fit(path, x, v, i, j, type)
--- Raises where x, the value v of entry (i, j) as an element of `type`, has
--- become infinite.
--- Example: mtx.fit("m.mtx", 3.0, 3, 1, 1, "float")
function M.fit(path, x, v, i, j, type)
  if x - x ~= 0 and v - v == 0 then
    cl.error(("%s: entry (%d, %d), %s, does not fit %s"):format(path, i, j,
      base_text.shortest(v), type), {hint = type ~= "double"
      and 'type = "double" holds more' or nil})
  end
end

--- mtx.dense(m [, type]) -> host array, m.rows x m.cols
--- The triplets of mtx.read as a dense matrix of element type `type`
--- ("float"); entries given twice add up (in double, integers as integers). A
--- value that does not fit the type is an error.
--- Example:
--- local m = {rows = 2, cols = 2, i = {1, 2}, j = {1, 2}, v = {3, 4}}
--- print(mtx.dense(m, "float"):at(2, 2)) --> 4.0
function M.dense(m, type)
  local what = "mtx.dense"
  argument.check(what, "the triplets", m, "table",
    'm = mtx.read "m.mtx" makes them')
  for _, name in ipairs{"i", "j", "v"} do
    argument.check(what, "m." .. name, m[name], "table",
      "it has a number for each entry")
  end
  local rows = argument.integer(what, "m.rows", m.rows, 1, INT_MAX)
  local cols = argument.integer(what, "m.cols", m.cols, 1, INT_MAX)
  local kind = type or "float"
  if tostring(kind):find "%d$" then
    argument.refuse(what, "type", "must be a type of numbers, such as float; "
      .. "got %s", kind)
  end
  local h = cl.array(kind, {rows, cols})
  local is, js, vs = m.i, m.j, m.v
  local twice, none = {}, {}
  for k = 1, #is do
    local i, j, v = is[k], js[k], vs[k]
    if math.type(i) ~= "integer" or math.type(j) ~= "integer" or i < 1
        or i > rows or j < 1 or j > cols or not math.type(v) then
      cl.error(("%s: entry %d, (%s, %s, %s), must be a row from 1 to %d, a "
        .. "column from 1 to %d and a number"):format(what, k, i, j, v, rows,
        cols))
    end
    local at = (i - 1) * cols + j
    if h[at] ~= 0 then
      twice[at] = none
    else
      h[at] = 1
    end
  end
  for k = 1, #is do
    local at, v = (is[k] - 1) * cols + js[k], M.value(m, k, kind)
    if twice[at] then
      v = twice[at] == none and v or M.sum(twice[at], v, kind == "ulong")
      twice[at] = v
    else
      h[at] = v
    end
  end
  for k = 1, #is do
    local at = (is[k] - 1) * cols + js[k]
    h[at] = twice[at] or h[at]
    M.fit(m.path or what, h[at], twice[at] or vs[k], is[k], js[k], kind)
  end
  return h
end

-- Creates file `path` and lets body(write) fill it, write taking the
-- arguments of string.format.
local function create(path, body)
  file.create(path, function(f, check)
    local lines, n = {}, 0
    body(function(...)
      n = n + 1
      lines[n] = string.format(...)
      if n == 1000 then
        check(f:write(table.concat(lines)))
        n = 0
      end
    end)
    check(f:write(table.concat(lines, "", 1, n)))
  end)
end

local function same(v)
  return v
end

-- The format in which values of an element type are written, the header's word
-- for them, and the function that prepares a value for the format.
local function style(type)
  if type == "ulong" then
    return "%s", "integer", base_text.unsigned
  end
  return DIGITS[type] or "%d", DIGITS[type] and "real" or "integer", same
end

local function finite(path, i, j, v)
  if v - v ~= 0 then
    cl.error(("%s: entry (%d, %d) is %s"):format(path, i, j, v),
      {hint = "Matrix Market files hold finite numbers; save as .npy"})
  end
end

--- mtx.write(path, m, each)
--- Writes a coordinate file: m.rows, m.cols, m.nnz (the number of entries
--- that will be written), m.type (element type: double as %.17g, float as
--- %.9g, integers as they are) and m.symmetry ("general" or "symmetric").
--- each(emit) calls emit(i, j, value) for every entry, 1-based; a symmetric
--- matrix gives its lower triangle. Values that are not finite and files that
--- cannot be written are errors; they leave an unfinished file behind.
--- Example:
--- mtx.write("e.mtx", {rows = 2, cols = 2, nnz = 1, type = "float",
---   symmetry = "general"}, function(emit) emit(1, 2, 0.5) end)
--- print(mtx.read("e.mtx").v[1]) --> 0.5
function M.write(path, m, each)
  local what = "mtx.write"
  argument.check(what, "the path", path, "string")
  argument.check(what, "the matrix", m, "table",
    "it has rows, cols, nnz and type")
  for _, name in ipairs{"rows", "cols", "nnz"} do
    argument.integer(what, "m." .. name, m[name], 0, INT_MAX)
  end
  argument.check(what, "the third argument", each, "function")
  local digits, field, written = style(m.type)
  local line = "%d %d " .. digits .. "\n"
  create(path, function(write)
    write("%%%%MatrixMarket matrix coordinate %s %s\n", field,
      m.symmetry or "general")
    write("%d %d %d\n", m.rows, m.cols, m.nnz)
    each(function(i, j, v)
      finite(path, i, j, v)
      write(line, i, j, written(v))
    end)
  end)
end

--- mtx.write_dense(path, h)
--- Writes the two-dimensional host array h as an array file (column by
--- column, general). Errors as for mtx.write.
--- Example: mtx.write_dense("f.mtx", cl.array("float", {2, 2}, 1))
function M.write_dense(path, h)
  local what = "mtx.write_dense"
  argument.check(what, "the path", path, "string")
  argument.check(what, "the matrix", h, "Array")
  if not h.rows then
    cl.error(("%s: the Array must have two dimensions; got %s"):format(what,
      tostring(h)))
  end
  local digits, field, written = style(h.type)
  local line = digits .. "\n"
  local rows, cols = h.rows, h.cols
  create(path, function(write)
    write("%%%%MatrixMarket matrix array %s general\n", field)
    write("%d %d\n", rows, cols)
    for j = 1, cols do
      for i = 1, rows do
        local v = h[(i - 1) * cols + j]
        finite(path, i, j, v)
        write(line, written(v))
      end
    end
  end)
end

return M
