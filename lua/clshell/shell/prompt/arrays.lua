-- shell/prompt/arrays.lua - buffers, host arrays, images, sparse matrices at
-- the prompt: a summary, then the corners of a grid that fit the window. All
-- elements have one format, by the least and the largest; only the elements of
-- the corners are read back.
-- SPDX-License-Identifier: MIT

local interrupt = require "clshell.base.interrupt"
local printable = require "clshell.shell.prompt.printable"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"
local summary = require "clshell.data.summary"
local text = require "clshell.base.text"

local M = {}

--- arrays.most
--- The elements that "all" shows, roughly.
M.most = 100000

local ROWS = 11 -- of a larger matrix, with the … between
local LINES = 7 -- of a larger vector
local GAP = "  " -- between two elements, and before the first
local LONGEST = {char = 4, uchar = 3, short = 6, ushort = 5, long = 20,
  ulong = 20} -- columns of a number; 11 of other types
local PIXELS = 1 << 20 -- pixels of an image that is read as a whole
local HOST = 1 << 28 -- elements of a host array that are
local DIAGONALS = 64 -- diagonals that are summed up one by one

local function times()
  return style.glyphs() and "×" or "x"
end

-- A number, or a component of a vector.
local function number(x, f)
  if not text.finite(x) then
    return printable.number(x)
  elseif math.type(x) == "integer" then
    return f.unsigned and text.unsigned(x) or ("%d"):format(x)
  elseif f.least and x ~= 0 and math.abs(x) < f.least then
    return ("%.0e"):format(x) -- not zero, whatever the others are
  end
  return (f.form:format(x):gsub("^%-(0%.?0*)$", "%1"))
end

-- The format of whole numbers from lo to hi.
local function whole(lo, hi, kind)
  local f = {form = "%.0f", unsigned = kind == "ulong"}
  f.width = math.max(#number(lo, f), #number(hi, f))
  return f
end

-- The format of reals: fixed, with enough digits for the largest number and
-- the setting precision, or scientific.
local function real(lo, hi)
  local digits = printable.digits or 4
  local most = math.max(math.abs(lo), math.abs(hi))
  local sign = lo < 0 and 1 or 0
  local exponent = most > 0 and math.floor(math.log(most, 10)) or 0
  if exponent > 5 or exponent < -4 then
    return {form = "%." .. digits - 1 .. "e", width = digits + 5 + sign
      + ((most >= 1e100 or most < 1e-99) and 1 or 0)}
  end
  local decimals = math.max(1, digits - 1 - exponent)
  return {form = "%." .. decimals .. "f", least = 0.5 * 10.0 ^ -decimals,
    width = math.max(exponent, 0) + 2 + decimals + sign}
end

-- The format of elements of a scalar type; `stats` are the result of
-- Array:summary or summary.of (nil: unknown).
local function format_of(kind, stats)
  local is_real = kind == "float" or kind == "double" or kind == "half"
  local f
  if not stats then
    f = is_real and {form = "%.3e", width = 10} or whole(0, 10^10, kind)
  elseif not stats.min then
    f = {form = "%.0f", width = 3}
  elseif not is_real or stats.whole and math.max(-stats.min, stats.max)
      < 1e7 then
    f = whole(stats.min, stats.max, kind)
  else
    f = real(stats.min, stats.max)
  end
  if not stats or stats.nan > 0 or stats.inf > 0 then
    f.width = math.max(f.width, stats and stats.inf > 0 and 4 or 3)
  end
  return f
end

-- An element, padded to the width of the format; a vector in parentheses; a
-- point for false, a place that a sparse matrix does not store.
local function element(x, f)
  if type(x) == "table" then
    local lanes = {}
    for k, lane in ipairs(x) do
      lanes[k] = element(lane, f)
    end
    return "(" .. table.concat(lanes, ", ") .. ")"
  end
  return text.fill(x and number(x, f) or style.glyphs() and "·" or ".",
    f.width, true)
end

-- The columns of an element.
local function columns_of(f, lanes)
  return lanes == 1 and f.width or lanes * (f.width + 2)
end

-- Parts {first, count} of 1..n: the first and the last numbers, `shown` in
-- all.
local function ends(n, shown)
  if shown >= n then
    return {{1, n}}
  end
  local head = (shown + 1) // 2
  return {{1, head}, shown > 1 and {n - (shown - head) + 1, shown - head}
    or nil}
end

-- The numbers of rows and of columns that fit; an element takes `width`
-- columns, and `room` lines are left.
local function fitting(src, width, o, room)
  if o.all then
    return math.max(2, M.most // math.min(src.cols, M.most)), M.most
  end
  local wide = o.width // (width + #GAP)
  if src.cols > wide then -- the points take some
    wide = (o.width - printable.width(printable.ellipsis()) - #GAP)
      // (width + #GAP)
  end
  local high = src.rows <= room and src.rows or math.min(room, ROWS) - 1
  return math.max(high, 1), math.max(wide, 1)
end

-- The lines of a slice of a matrix, and whether elements are left out.
local function matrix_lines(src, f, o, room, slice)
  local lines, mark = {}, printable.ellipsis()
  local width = columns_of(f, src.lanes)
  local high, wide = fitting(src, width, o, room)
  for i, r in ipairs(ends(src.rows, high)) do
    local texts = {}
    for k = 1, r[2] do
      texts[k] = {""}
    end
    for j, c in ipairs(ends(src.cols, wide)) do
      for k, row in ipairs(src.fetch(slice, r[1], r[2], c[1], c[2])) do
        for _, x in ipairs(row) do
          table.insert(texts[k], element(x, f))
        end
        if j == 1 and wide < src.cols then
          table.insert(texts[k], mark)
        end
      end
    end
    for k = 1, r[2] do
      lines[#lines + 1] = table.concat(texts[k], GAP)
    end
    if i == 1 and high < src.rows then
      lines[#lines + 1] = GAP .. text.fill(mark, math.min(width, 8), true)
    end
  end
  return lines, high < src.rows or wide < src.cols
end

-- The lines of a vector: all of it, or its beginning and its end.
local function vector_lines(src, f, o, room)
  local n, width = src.cols, columns_of(f, src.lanes)
  local a_line = math.min(n, math.max(1, o.width // (width + #GAP)))
  local count = (n + a_line - 1) // a_line
  local high = o.all and M.most // a_line or room
  local head = o.all and high // 2 or math.max(1, math.min(room, LINES) // 2)
  local lines, parts = {}, {{1, n}}
  if count > high then
    parts = {{1, head * a_line}, {n - head * a_line + 1, head * a_line}}
  end
  for i, part in ipairs(parts) do
    lines[#lines + 1] = i == 2 and GAP .. printable.ellipsis() or nil
    local row = src.fetch(1, 1, 1, table.unpack(part))[1]
    for first = 1, #row, a_line do
      local texts = {""}
      for k = first, math.min(first + a_line - 1, #row) do
        texts[#texts + 1] = element(row[k], f)
      end
      lines[#lines + 1] = table.concat(texts, GAP)
    end
  end
  return lines, count > high
end

-- "[2, 3]" for the number of a slice.
local function slice_name(slice, shape)
  local at, rest = {}, slice - 1
  for d = #shape - 2, 1, -1 do
    at[d] = tostring(rest % shape[d] + 1)
    rest = rest // shape[d]
  end
  return "[" .. table.concat(at, ", ") .. "]"
end

-- Slices of arrays of more than two dimensions, each below its index, as many
-- as fit.
local function block_lines(src, f, o, room)
  local each = math.min(src.rows, 5)
  local most = math.max(1, o.all and M.most // (src.rows * src.cols)
    or room // (each + 1))
  local shown = math.min(src.slices, most)
  local lines, cut = {}, shown < src.slices
  room = cut and room - 1 or room
  for slice = 1, shown do
    lines[#lines + 1] = slice_name(slice, src.shape)
    local more, less = matrix_lines(src, f, o, math.max(1, room // shown - 1),
      slice)
    table.move(more, 1, #more, #lines + 1, lines)
    cut = cut or less
  end
  if shown < src.slices then
    lines[#lines + 1] = ("%s %d more of %s"):format(printable.ellipsis(),
      src.slices - shown, src.rows .. times() .. src.cols)
  end
  return lines, cut
end

-- A real in few digits, an integer in all of its digits.
local function brief(x, f)
  if math.type(x) == "integer" then
    return number(x, f)
  end
  return x == math.floor(x) and math.abs(x) < 1e7 and ("%d"):format(x)
    or ("%%.%dg"):format(printable.digits or 4):format(x)
end

local function stats_words(s, f)
  local words = s.min and {"min " .. brief(s.min, f),
    "mean " .. brief(s.mean, f), "max " .. brief(s.max, f)} or {}
  for _, name in ipairs{"nan", "inf"} do
    if s[name] > 0 then
      words[#words + 1] = s[name] == s.count and "all " .. name
        or ("%d %s"):format(s[name], name)
    end
  end
  return words
end

-- Calls fn. A failure gives nil and the first line of the error; Ctrl-C is
-- raised.
local function try(fn, ...)
  local fine, result, more = interrupt.pcall(fn, ...)
  if fine then
    return result, more
  end
  local message = type(result) == "table" and rawget(result, "message")
    or result
  return nil, printable.clean((tostring(message):gsub("\n.*", "")))
end

-- The summary, then the elements, or the reason why none are shown. src has
-- the words of the summary, a shape, its numbers of slices, rows, cols and
-- lanes, the scalar type, stats() and fetch(slice, first row, rows, first
-- column, columns) -> the elements of a corner as a list of rows.
local function compose(src, o)
  local lines = printable.join(src.words, o.width, "  ")
  lines[1] = style.paint(lines[1], "bold", o.color)
  local stats, why = try(src.stats)
  local f = format_of(src.scalar, stats)
  local about = stats and stats_words(stats, f) or {}
  about[#about + 1] = why and "min, mean, max: " .. why
  local footer = printable.join(about, o.width - 2, "")
  local room = math.max(2, o.height - #lines - #footer - 2)
  local shown, cut = try(src.slices > 1 and block_lines
    or #src.shape == 1 and vector_lines or matrix_lines, src, f, o, room, 1)
  if not shown then
    footer = printable.join({"not read: " .. cut}, o.width - 2, "")
  elseif cut then
    about[#about + 1] = o.all and ("no more than %d elements are shown")
      :format(M.most) or ('show(%s, "all")'):format(o.name)
    local longer = printable.join(about, o.width - 2, "")
    footer = (#longer == #footer or #footer == 0) and longer or footer
  end
  table.move(shown or {}, 1, shown and #shown or 0, #lines + 1, lines)
  for _, line in ipairs(footer) do
    lines[#lines + 1] = "  " .. style.paint(line, "dim", o.color)
  end
  return lines
end

-- What is known of a value before its elements are looked at.
local function source(class, kind, shape, bytes, o)
  local scalar, lanes = kind:match "^(%a+)(%d*)$"
  local n = #shape
  local src = {shape = shape, scalar = scalar, slices = 1,
    lanes = math.tointeger(tonumber(lanes)) or 1,
    rows = n > 1 and shape[n - 1] or 1, cols = shape[n]}
  for d = 1, n - 2 do
    src.slices = src.slices * shape[d]
  end
  src.words = {o.name ~= "_" and class .. " " .. o.name or class,
    kind .. " " .. table.concat(shape, times()), quantity.format(bytes, "B")}
  return src
end

-- "on" and the device's name without trade marks.
local function on(device)
  return "on " .. printable.clean((device:gsub("%(%a+%)", "")))
end

-- Rows of elements of an Array from place `at` on, each `step` behind the row
-- before.
local function rows_of(h, at, step, rows, cols)
  local list = {}
  for i = 1, rows do
    list[i] = table.move(h, at, at + cols - 1, 1, {})
    at = at + step
  end
  return list
end

-- A fetch of corners of an Array that holds all elements.
local function host_fetch(h, src)
  return function(slice, r, rows, c, cols)
    return rows_of(h, ((slice - 1) * src.rows + r - 1) * src.cols + c,
      src.cols, rows, cols)
  end
end

-- Completes src for a value whose elements are all in the Array h.
local function held(src, h, o)
  src.fetch = host_fetch(h, src)
  function src.stats()
    return h:summary()
  end
  return compose(src, o)
end

-- Whether a whole matrix or vector fits the window with numbers of any length.
local function small(src, o)
  local width = columns_of({width = LONGEST[src.scalar] or 11}, src.lanes)
  return src.slices == 1 and src.rows <= 5
    and src.cols * (width + #GAP) <= o.width
end

--- arrays.Buffer(b, o [, class]) -> lines
--- A buffer: type, shape, size, device; then its corners, least, mean and
--- largest element. Only the shown rectangles are read; the device finds the
--- least, mean and largest element, or the host where all elements are shown.
function M.Buffer(b, o, class)
  local src = source(class or "Buffer", b.type, b.shape, b.bytes, o)
  local info = b:info()
  if b.rows and b.ld > b.cols then
    table.insert(src.words, 3, ("ld %d"):format(b.ld))
  end
  if info.view then
    table.insert(src.words, 2, "view")
  end
  src.words[#src.words + 1] = on(info.device)
  local all <close> = small(src, o) and try(b.read, b) or nil
  if all then
    return held(src, all, o)
  end
  function src.stats()
    return summary.of(b)
  end
  function src.fetch(slice, r, rows, c, cols)
    local view <close> = not b.rows and b:matrix((slice - 1) * src.rows
      * src.cols + 1, src.rows, src.cols) or nil
    local h <close> = (view or b):read{from = {r, c}, size = {rows, cols}}
    return rows_of(h, 1, cols, rows, cols)
  end
  return compose(src, o)
end

--- arrays.Expression(e, o) -> lines
--- An expression: its elements, which the prompt calculates first.
function M.Expression(e, o)
  local b <close> = e:eval()
  return M.Buffer(b, o, "Expression")
end

--- arrays.Array(h, o) -> lines
--- A host array: the summary and the elements of arrays.Buffer.
function M.Array(h, o)
  local src = source("Array", h.type, h.shape, h.bytes, o)
  src.words[#src.words + 1] = "on the host"
  if #h <= HOST then
    return held(src, h, o)
  end
  src.stats, src.fetch = function() end, host_fetch(h, src)
  return compose(src, o)
end

--- arrays.Image(img, o) -> lines
--- An image: kind, format, shape, size, device; then its corners. Of a large
--- image no other pixel is read: least, mean and largest are missing.
function M.Image(img, o)
  local src = source("Image", img.type, img.shape, img.bytes, o)
  local info = img:info()
  table.insert(src.words, 2, info.kind .. " " .. info.format)
  src.words[#src.words + 1] = on(info.device)
  local all <close> = #img <= PIXELS and try(img.read, img) or nil
  if all then
    return held(src, all, o)
  end
  src.stats = function() end
  function src.fetch(slice, r, rows, c, cols)
    local n = #src.shape
    local h <close> = img:read{
      origin = {table.unpack({c - 1, r - 1, slice - 1}, 1, n)},
      region = {table.unpack({cols, rows, 1}, 1, n)}}
    return rows_of(h, 1, cols, rows, cols)
  end
  return compose(src, o)
end

-- Rows of false, for places that are not stored.
local function empty_rows(rows, cols)
  local list = {}
  for i = 1, rows do
    list[i] = {}
    for j = 1, cols do
      list[i][j] = false
    end
  end
  return list
end

-- The corner of a DIA matrix, read from each diagonal that crosses it.
local function read_dia(m, r, rows, c, cols)
  local list = empty_rows(rows, cols)
  for d = 1, m.ndiags do
    local offset = m.host.offsets[d]
    local first = math.max(r, c - offset)
    local count = math.min(r + rows, c + cols - offset) - first
    if count > 0 then
      local h <close> = m.values:read{from = {d, first}, size = {1, count}}
      for k = 1, count do
        local i = first + k - 1
        list[i - r + 1][i + offset - c + 1] = h[k]
      end
    end
  end
  return list
end

-- The elements of all diagonals, without the places outside the matrix.
local function dia_stats(m)
  if m.ndiags > DIAGONALS then
    return summary.of(m.values)
  end
  local all = {count = 0, nan = 0, inf = 0, whole = true}
  local sum = 0
  for d = 1, m.ndiags do
    local offset = m.host.offsets[d]
    local first = math.max(1, 1 - offset)
    local last = math.min(m.rows, m.cols - offset)
    local view <close> = m.values:matrix((d - 1) * m.pitch + first, 1,
      last - first + 1)
    local s = summary.of(view)
    for _, name in ipairs{"count", "nan", "inf"} do
      all[name] = all[name] + s[name]
    end
    if s.min then
      all.min = math.min(all.min or s.min, s.min)
      all.max = math.max(all.max or s.max, s.max)
      sum = sum + s.mean * (s.count - s.nan - s.inf)
    end
    all.whole = all.whole and s.whole
  end
  all.mean = sum / (all.count - all.nan - all.inf)
  return all
end

-- The offsets of the first diagonals and of the last.
local function offsets_words(m)
  local n, list = m.ndiags, m.host.offsets
  local words = {table.unpack(list, 1, n > 9 and 8 or n)}
  if n > 9 then
    words[9], words[10] = printable.ellipsis(), list[n]
  end
  return ("%d diagonals (%s)"):format(n, table.concat(words, " "))
end

-- The corner of a CSR matrix; the columns of a row ascend.
local function read_csr(m, r, rows, c, cols)
  local list = empty_rows(rows, cols)
  local ptr, col = m.host.row_ptr, m.host.col_ind
  for i = r, r + rows - 1 do
    local first, behind = ptr[i] + 1, ptr[i + 1] + 1
    while first < behind and col[first] < c - 1 do
      first = first + 1
    end
    local stop = first
    while stop < behind and col[stop] < c + cols - 1 do
      stop = stop + 1
    end
    local h <close> = first < stop and m.values:read{first = first,
      count = stop - first} or nil
    for k = first, stop - 1 do
      list[i - r + 1][col[k] + 2 - c] = h[k - first + 1]
    end
  end
  return list
end

local function csr_stats(m)
  return m.nnz > 0 and summary.of(m.values) or nil
end

-- Defines the description of a sparse class; words(m): the words of this class
-- alone.
local function define(class, words, stats, fetch)
  M[class] = function(m, o)
    if m.values.closed then
      return {tostring(m) .. " (closed)"}
    end
    local src = source(class, m.type, {m.rows, m.cols}, m:info().bytes, o)
    table.insert(src.words, 3, ("%d entries"):format(m.nnz))
    if words then
      table.insert(src.words, 3, words(m))
    end
    src.words[#src.words + 1] = on(m.values.context.device.name)
    function src.stats()
      return stats(m)
    end
    function src.fetch(_, ...)
      return fetch(m, ...)
    end
    return compose(src, o)
  end
end

define("DIA matrix", offsets_words, dia_stats, read_dia)
define("CSR matrix", nil, csr_stats, read_csr)

return M
