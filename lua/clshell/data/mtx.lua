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
local FIELDS = {real = true, integer = true, pattern = true}
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
  local format, field, symmetry = (text or ""):lower()
    :match("^%%%%matrixmarket%s+matrix%s+(%S+)%s+(%S+)%s+(%S+)%s*$")
  if format == nil then
    fail(path, 1, 'no Matrix Market header; needed is "%%%%MatrixMarket '
      .. 'matrix coordinate real general" or the like')
  elseif field == "complex" or symmetry == "hermitian" then
    fail(path, 1, "%s values; only real, integer and pattern matrices "
      .. "can be used, kernels have no complex type", "complex")
  elseif not (FORMATS[format] and FIELDS[field] and SYMMETRIES[symmetry])
  then
    fail(path, 1, '"%s %s %s"; readable are coordinate|array, '
      .. "real|integer|pattern, general|symmetric|skew-symmetric",
      format, field, symmetry)
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
    fail(path, head.line, "%d entries announced; the %d bytes that follow "
      .. "hold at most %d", head.count, left - 1, left // shortest)
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
      return ('%s "%s" is not a finite number'):format(name, words[k])
    elseif limit and (math.type(x) ~= "integer" or x < 1 or x > limit) then
      return ("%s %s is outside 1 to %d"):format(name, words[k], limit)
    elseif not limit and head.field == "integer" and x % 1 ~= 0 then
      return ("value %s in a file of integers"):format(words[k])
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
-- line and raises the first fault.
local function explain(f, path)
  f:seek("set")
  local head = header(f, path)
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

local function triplets(f, head)
  local is, js, vs, n = {}, {}, {}, 0
  local rows, cols, kind = head.rows, head.cols, math.type
  local array, pattern = head.format == "array", head.field == "pattern"
  local whole, general = head.field == "integer", head.symmetry == "general"
  local below = head.symmetry == "skew-symmetric" and 1 or 0
  local row, col = below, 1 -- of an array's entry, down its columns
  for _ = 1, head.count do
    local i, j, v, rest
    if array then
      row = row + 1
      if row > rows then
        col = col + 1
        row = general and 1 or col + below
      end
      i, j, v, rest = row, col, f:read("n", "l")
    elseif pattern then
      i, j, rest = f:read("n", "n", "l")
      v = j and 1
    else
      i, j, v, rest = f:read("n", "n", "n", "l")
    end
    if not v or kind(i) ~= "integer" or kind(j) ~= "integer"
      or i < 1 or i > rows or j < 1 or j > cols or v - v ~= 0
      or rest ~= "" and not blank(rest)
      or whole and v % 1 ~= 0 or not (general or stored(head, i, j)) then
      return nil
    elseif v ~= 0 or not array then
      n = n + 1
      is[n], js[n], vs[n] = i, j, v
    end
  end
  return is, js, vs
end

-- Adds the upper triangle of a symmetric or skew-symmetric matrix.
local function mirror(head, is, js, vs)
  local sign = head.symmetry == "symmetric" and 1 or -1
  local n = #is
  for k = 1, n do
    if is[k] ~= js[k] then
      n = n + 1
      is[n], js[n], vs[n] = js[k], is[k], sign * vs[k]
    end
  end
end

--- mtx.read(path) -> m; nil, message if the file cannot be opened
--- Reads a Matrix Market file into triplets: m.i, m.j (1-based) and m.v are
--- Lua tables of equal length, m.rows and m.cols the size, m.format, m.field
--- and m.symmetry the words of the header. Symmetric and skew-symmetric files
--- come back whole, a pattern has ones, an array file loses its zeros.
--- Entries given twice stay twice (from_coo and mtx.dense add them up). Any
--- fault of the file is an error that names file and line.
--- Example:
--- mtx.write_dense("d.mtx", cl.array("float", {2, 2}, {{1, 0}, {0, 5}}))
--- local m = mtx.read "d.mtx"
--- print(m.rows, m.cols, #m.v) --> 2 2 2
function M.read(path)
  argument.check("mtx.read", "the path", path, "string")
  local f <close>, message = io.open(path, "rb")
  if f == nil then
    return nil, message
  end
  local head = header(f, path)
  local is, js, vs = triplets(f, head)
  if is == nil then
    explain(f, path)
  end
  for text in f:lines() do
    if not blank(text) then
      explain(f, path)
    end
  end
  if head.symmetry ~= "general" then
    mirror(head, is, js, vs)
  end
  return {
    rows = head.rows, cols = head.cols, i = is, j = js, v = vs,
    format = head.format, field = head.field, symmetry = head.symmetry,
  }
end

--- mtx.dense(m [, type]) -> host array, m.rows x m.cols
--- The triplets of mtx.read as a dense matrix of element type `type`
--- ("float"); entries given twice add up.
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
  local h = cl.array(type or "float", {rows, cols})
  local is, js, vs = m.i, m.j, m.v
  for k = 1, #is do
    local i, j, v = is[k], js[k], vs[k]
    if math.type(i) ~= "integer" or math.type(j) ~= "integer" or i < 1
        or i > rows or j < 1 or j > cols or not math.type(v) then
      cl.error(("%s: entry %d, (%s, %s, %s), must be a row from 1 to %d, a "
        .. "column from 1 to %d and a number"):format(what, k, i, j, v, rows,
        cols))
    end
    local at = (i - 1) * cols + j
    h[at] = h[at] + v
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
