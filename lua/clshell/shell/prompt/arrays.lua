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
local SMALL = 256 -- elements of a buffer that is read as a whole
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
  local is_real = kind:find "float" or kind == "double" or kind == "half"
  local lo, hi = 0, 10^10
  if stats then
    lo, hi = stats.min, stats.max
  end
  local f = {form = "%.0f", unsigned = kind == "ulong", width = 3}
  if is_real and not stats then
    f = {form = "%.3e", width = 10}
  elseif is_real and lo and not (stats.whole and math.max(-lo, hi) < 1e7) then
    f = real(lo, hi)
  elseif lo then
    f.width = math.max(#number(lo, f), #number(hi, f))
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
    return "(" .. text.values(x, ", ", function(lane)
      return element(lane, f)
    end) .. ")"
  end
  return text.fill(x and number(x, f) or style.glyphs() and "·" or ".",
    f.width, true)
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

-- Rows of elements from place `at` of a list on, each `step` behind the row
-- before.
local function rows_of(list, at, step, rows, cols)
  local parts = {}
  for i = 1, rows do
    parts[i] = table.move(list, at, at + cols - 1, 1, {})
    at = at + step
  end
  return parts
end

-- A vector as a matrix of the lines that fill the window.
local function folded(src, width, o)
  local n = src.cols
  local cols = math.min(n, math.max(1, o.width // (width + #GAP)))
  return {rows = (n + cols - 1) // cols, cols = cols, lanes = src.lanes,
    most = LINES, fetch = function(_, _, r, rows)
      local first = (r - 1) * cols + 1
      local all = src:fetch(1, 1, 1, first, math.min(rows * cols,
        n + 1 - first))[1]
      return rows_of(all, 1, cols, rows, cols)
    end}
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
  local high = src.rows <= room and src.rows
    or math.min(room, src.most or ROWS) - 1
  return math.max(high, 1), math.max(wide, 1)
end

-- The lines of a slice of a matrix, or of a vector, and whether elements are
-- left out.
local function grid_lines(src, f, o, room, slice)
  local lines, cut, mark = {}, false, printable.ellipsis()
  local width = f.width
  if src.lanes > 1 then
    width = src.lanes * (width + 2)
  end
  src = #src.shape == 1 and folded(src, width, o) or src
  local high, wide = fitting(src, width, o, room)
  for i, r in ipairs(ends(src.rows, high)) do
    local texts = rows_of({""}, 1, 0, r[2], 1)
    for j, c in ipairs(ends(src.cols, wide)) do
      for k, row in ipairs(src:fetch(slice, r[1], r[2], c[1], c[2])) do
        for _, x in ipairs(row) do
          table.insert(texts[k], element(x, f))
        end
        if j == 1 and wide < src.cols then
          table.insert(texts[k], mark)
        end
      end
    end
    for k = 1, r[2] do
      local line = table.concat(texts[k], GAP)
      lines[#lines + 1] = o.all and line or printable.cut(line, o.width)
      cut = cut or lines[#lines] ~= line
    end
    if i == 1 and high < src.rows then
      lines[#lines + 1] = GAP .. text.fill(mark, src.most and 0
        or math.min(width, 8), true)
    end
  end
  return lines, cut or high < src.rows or wide < src.cols
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
    local more, less = grid_lines(src, f, o, math.max(1, room // shown - 1),
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

-- The shape of a value in its last dimensions, and the words of its summary.
local function measured(src, o)
  local n = #src.shape
  src.scalar, src.lanes = text.lanes(src.type)
  src.rows, src.cols = n > 1 and src.shape[n - 1] or 1, src.shape[n]
  src.slices = 1
  for d = 1, n - 2 do
    src.slices = src.slices * src.shape[d]
  end
  local words = {o.name ~= "_" and src.class .. " " .. o.name or src.class}
  words[#words + 1] = src.kind or nil
  words[#words + 1] = src.type .. " " .. table.concat(src.shape, times())
  table.move(src.more or {}, 1, 2, #words + 1, words)
  words[#words + 1] = quantity.format(src.bytes, "B")
  words[#words + 1] = "on " .. (src.device and printable.clean(
    (src.device:gsub("%(%a+%)", ""))) or "the host") -- no trade marks
  return words
end

-- Elements of an Array that holds all of them.
local function fetch_held(src, slice, r, rows, c, cols)
  return rows_of(src.held, ((slice - 1) * src.rows + r - 1) * src.cols + c,
    src.cols, rows, cols)
end

-- The summary, then the elements, or the reason why none are shown. src has
-- class, type, shape, bytes, device (nil: the host), kind (a word before the
-- type), more (words behind the shape), and either `held`, an Array of all
-- elements, or stats() and fetch(src, slice, first row, rows, first column,
-- columns) -> the elements of a corner as a list of rows.
local function compose(src, o)
  local lines = printable.join(measured(src, o), o.width, "  ")
  lines[1] = style.paint(lines[1], "bold", o.color)
  src.fetch = src.held and fetch_held or src.fetch
  local stats, why = try(src.stats or src.held.summary, src.held)
  local f = format_of(src.scalar, stats)
  local about = stats and stats_words(stats, f) or {}
  about[#about + 1] = why and "min, mean, max: " .. why
  local footer = printable.join(about, o.width - 2, "")
  local room = math.max(2, o.height - #lines - #footer - 2)
  if src.rows * src.cols * src.slices == 0 then
    return lines, false
  end
  local shown, cut = try(src.slices > 1 and block_lines or grid_lines, src, f,
    o, room, 1)
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

--- arrays.Buffer(b, o [, class]) -> lines
--- A buffer: type, shape, size, device; then its corners, least, mean and
--- largest element. A small buffer is read as a whole; of another one only the
--- shown rectangles are read, and the device finds least, mean and largest.
function M.Buffer(b, o, class)
  local info = b:info()
  local all <close> = #b <= SMALL and try(b.read, b) or nil
  local gap = b.rows and b.ld > b.cols
  return compose({class = class or "Buffer", type = b.type, shape = b.shape,
    bytes = b.bytes, device = info.device, kind = info.view and "view",
    more = {gap and ("ld %d"):format(b.ld) or nil}, held = all,
    stats = not all and function()
      return summary.of(b)
    end, fetch = function(src, slice, r, rows, c, cols)
      local view <close> = not b.rows and b:matrix((slice - 1) * src.rows
        * src.cols + 1, src.rows, src.cols) or nil
      local h <close> = (view or b):read{from = {r, c}, size = {rows, cols}}
      return rows_of(h, 1, cols, rows, cols)
    end}, o)
end

--- arrays.Expression(e, o) -> lines
--- An expression: its elements, which the prompt calculates first.
function M.Expression(e, o)
  local b <close> = e:eval()
  return M.Buffer(b, o, "Expression")
end

local function nothing()
end

--- arrays.Array(h, o) -> lines
--- A host array: the summary and the elements of arrays.Buffer.
function M.Array(h, o)
  return compose({class = "Array", type = h.type, shape = h.shape,
    bytes = h.bytes, held = h, stats = #h > HOST and nothing}, o)
end

--- arrays.Image(img, o) -> lines
--- An image: kind, format, shape, size, device; then its corners. Of a large
--- image no other pixel is read: least, mean and largest are missing.
function M.Image(img, o)
  local info = img:info()
  local all <close> = #img <= PIXELS and try(img.read, img) or nil
  return compose({class = "Image", type = img.type, shape = img.shape,
    bytes = img.bytes, device = info.device, held = all,
    kind = info.kind .. " " .. info.format, stats = not all and nothing,
    fetch = function(src, slice, r, rows, c, cols)
      local n = #src.shape
      local h <close> = img:read{
        origin = {table.unpack({c - 1, r - 1, slice - 1}, 1, n)},
        region = {table.unpack({cols, rows, 1}, 1, n)}}
      return rows_of(h, 1, cols, rows, cols)
    end}, o)
end

-- For places of a matrix that are not stored.
local FALSE = setmetatable({}, {__index = function()
  return false
end})

-- The corner of a DIA matrix, read from each diagonal that crosses it.
local function read_dia(m, r, rows, c, cols)
  local list = rows_of(FALSE, 1, 0, rows, cols)
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
  local list = rows_of(FALSE, 1, 0, rows, cols)
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

-- The description of a sparse matrix; words(m): the words of this class alone.
local function sparse(class, m, o, words, stats, fetch)
  if m.values.closed then
    return {tostring(m) .. " (closed)"}
  end
  local entries = ("%d entries"):format(m.nnz)
  return compose({class = class, type = m.type, shape = {m.rows, m.cols},
    bytes = m:info().bytes, device = m.values.context.device.name,
    more = words and {words(m), entries} or {entries}, stats = function()
      return stats(m)
    end, fetch = function(_, _, ...)
      return fetch(m, ...)
    end}, o)
end

M["DIA matrix"] = function(m, o)
  return sparse("DIA matrix", m, o, offsets_words, dia_stats, read_dia)
end

M["CSR matrix"] = function(m, o)
  return sparse("CSR matrix", m, o, nil, function()
    return m.nnz > 0 and summary.of(m.values) or nil
  end, read_csr)
end

return M
