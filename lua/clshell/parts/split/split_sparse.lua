-- parts/split/split_sparse.lua - sparse matrices in rows on several devices,
-- and spmv over them. With a matrix by diagonals, each device multiplies its
-- rows by its own part of x alone. Meanwhile it gets elements of x from other
-- devices, and then calculates the edges again: the few rows at the ends of
-- its part that need these elements.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local class = require "clshell.parts.split.split_class"
local cl = require "cl"
local queues = require "clshell.parts.split.queues"
local rows_of = require "clshell.data.sparse"
local text = require "clshell.base.text"

local M = {}

local methods = {}
-- A part has `inner`, the matrix for the part's own elements of x, and
-- `edges`. The plans that both keep end with the Buffer of their y.
local WEAK = {__mode = "k"}
local meta = {__name = "Split matrix", __metatable = false, __index = methods}

local ALIGN = 1024 -- elements: where an edge may begin in y

-- An edge: rows of a part, from `row` on, with the columns from `col` on, and
-- two vectors that get the elements of x for these columns in turn.
local function edge(make, m, first, row, rows, col, cols, context)
  local x, type = {}, m.values.type
  for k = 1, 2 do
    x[k] = cl.buffer(type, cols, 0, {context = context})
  end
  return {
    matrix = make(m, first + row - 1, rows, col, cols, context),
    row = row, rows = rows, col = col, cols = cols, x = x, last = {},
    turn = 1,
    kept = {setmetatable({}, WEAK), setmetatable({}, WEAK)},
  }
end

-- The part of a matrix by diagonals.
local function dia_part(m, first, rows, context)
  local offsets = m.host.offsets
  local low = math.max(0, -offsets[1])
  local high = math.max(0, offsets[m.ndiags])
  local last = first + rows - 1
  local function columns(from, to) -- that these rows have
    return math.max(1, from - low), math.min(m.cols, to + high)
  end
  local function add(list, from, to)
    local c, d = columns(from, to)
    if c <= d then
      list[#list + 1] = edge(rows_of.dia_rows, m, first, from - first + 1,
        to - from + 1, c, d - c + 1, context)
    end
  end
  local above = first > 1 and math.min(low, rows) or 0
  local below = last < m.rows and math.min(high, rows) or 0
  local begin = (rows - below) // ALIGN * ALIGN
  below = below > 0 and rows - begin or 0
  local part = {edges = {}, kept = setmetatable({}, WEAK)}
  if m.rows ~= m.cols or 2 * (above + below) > rows then
    add(part.edges, first, last)
    return part
  end
  part.inner = rows_of.dia_rows(m, first, rows, first, rows, context)
  if above > 0 then
    add(part.edges, first, first + above - 1)
  end
  if below > 0 then
    add(part.edges, first + begin, last)
  end
  return part
end

-- The part of a matrix by compressed rows.
local function csr_part(m, first, rows, context)
  local ptr = m.row_ptr:read{first = first, count = rows + 1}
  local from, count = ptr[1], ptr[rows + 1] - ptr[1]
  local low, high = 0, 0
  if count > 0 then
    local columns = m.col_ind:slice(from + 1, from + count)
    low, high = columns:min(), columns:max()
  end
  return {edges = {edge(rows_of.csr_rows, m, first, 1, rows, low + 1,
    high - low + 1, context)}}
end

--- split_sparse.new(m, list, axis, sizes) -> Split matrix
function M.new(m, list, axis, sizes)
  if axis ~= "rows" then
    cl.error('cl.split: a sparse matrix is split in "rows"', {arg = "axis"})
  end
  local make = m.offsets and dia_part or csr_part
  local parts, first, at = {}, {}, 1
  for i, device in ipairs(list) do
    first[i] = at
    parts[i] = sizes[i] > 0 and make(m, at, sizes[i], cl.context(device))
    at = at + sizes[i]
  end
  return setmetatable({devices = list, parts = parts, sizes = sizes,
    first = first, axis = "rows", rows = m.rows, cols = m.cols, nnz = m.nnz,
    type = m.values.type, format = m.format}, meta)
end

-- Copies elements col .. col + #to - 1 of x, a Split or a Buffer, into `to`.
local function gather(x, col, to, ready)
  if not class.is(x) then
    queues.fetch(x, to, {first = col, count = #to}, ready)
    return
  end
  local context = to.context
  for i, part in ipairs(x.parts) do
    local first = x.first[i]
    local from = math.max(col, first)
    local last = math.min(col + #to, first + x.sizes[i]) - 1
    local near = part and (x.axis == "rows" or part.context == context)
    if near and from <= last then
      queues.fetch(part, to, {first = from - first + 1,
        count = last - from + 1, to = from - col + 1}, ready)
      if x.axis == "copies" then
        return
      end
    end
  end
end

-- The elements of x for the inner matrix of part i, on its device.
local function own(m, x, i, ready)
  if class.is(x) and x.axis == "rows" and x.sizes[i] == m.sizes[i]
      and x.first[i] == m.first[i] then
    return x.parts[i]
  end
  local b = cl.buffer(m.type, m.sizes[i], nil,
    {context = cl.context(m.devices[i])})
  gather(x, m.first[i], b, ready)
  return b
end

-- Launches the product of `matrix` and x into y, or into rows_of_y(y). A call
-- without options leaves its plan in `kept`; the next call with the same
-- Buffers launches this plan, until the family's kept plans change.
local function launch(spmv, matrix, x, y, opts, kept, rows_of_y)
  local plain, last = next(opts) == nil, kept[y]
  if not (plain and last and last.x == x and last.rows == spmv.kept_plans) then
    local given = {y = rows_of_y and rows_of_y(y) or y}
    for key, value in pairs(opts) do
      given[key] = value
    end
    last = {x = x, plan = spmv.plan(matrix, x, given), rows = spmv.kept_plans}
    kept[y] = plain and last or nil
  end
  local event = last.plan()
  y.context.queue:flush()
  return event
end

-- Calculates an edge, into its rows of y.
local function calculate(spmv, e, x, y, opts, ready)
  local to = e.x[e.turn]
  if e.last[e.turn] then
    e.last[e.turn]:wait():close() -- the product has read it
    e.last[e.turn] = nil
  end
  gather(x, e.col, to, ready)
  e.last[e.turn] = launch(spmv, e.matrix, to, y, opts, e.kept[e.turn],
    function()
      return y:view(e.row, e.row + e.rows - 1)
    end)
  e.turn = 3 - e.turn
end

-- The vectors of a call: x as a Split or a Buffer, and y in the rows of m.
local function vectors(m, x, y)
  if class.is(x) then
    class.fits("spmv", {devices = m.devices, axis = "copies"},
      class.live("spmv", x))
    x:eval()
  else
    x = class.given("spmv", x)
    x = text.class(x) == "Array"
      and class.spread("spmv", x, m.devices, "copies", {}) or x
  end
  if #x.shape ~= 1 or x.shape[1] ~= m.cols or x.type ~= m.type then
    cl.error(("spmv: x must be a vector of %d %s; got %s"):format(m.cols,
      m.type, tostring(x)), {arg = "x"})
  elseif y ~= nil and not (class.is(y) and y.axis == "rows"
      and #y.shape == 1) then
    cl.error("spmv: y must be a Split, as M is; got " .. text.got(y),
      {arg = "y"})
  elseif y ~= nil then
    class.fits("spmv", m, class.live("spmv", y))
    return x, y
  end
  local parts = {}
  for i, rows in ipairs(m.sizes) do
    parts[i] = rows > 0 and cl.buffer(m.type, rows, nil,
      {context = cl.context(m.devices[i])})
  end
  return x, class.new{devices = m.devices, parts = parts, axis = "rows",
    sizes = table.move(m.sizes, 1, #m.sizes, 1, {}), type = m.type,
    shape = {m.rows}}
end

-- spmv(M, x) with M in rows; y is a Split.
function meta.__family(spmv, m, x, opts)
  if spmv.name ~= "spmv" or text.class(m) ~= meta.__name then
    cl.error(("%s: takes no sparse matrix in this place"):format(spmv.name))
  end
  local given = {}
  for key, value in pairs(opts or {}) do
    given[key] = value
  end
  if given.queue or given.after then
    cl.error("spmv: a Split matrix takes no queue and no after")
  end
  local y
  x, y = vectors(m, x, given.y)
  given.y = nil
  local ready = queues.ready(m.devices)
  for _, b in ipairs(class.is(x) and {} or {x}) do
    ready[b.context] = ready[b.context] or b.context.queue:marker()
  end
  for i, part in ipairs(m.parts) do
    if part and not part.inner and #part.edges == 0 then
      y.parts[i]:fill(0, {async = true}) -- no diagonal reaches these rows
    elseif part and part.inner then
      launch(spmv, part.inner, own(m, x, i, ready), y.parts[i], given,
        part.kept):close()
    end
  end
  for i, part in ipairs(m.parts) do
    for _, e in ipairs(part and part.edges or {}) do
      calculate(spmv, e, x, y.parts[i], given, ready)
    end
  end
  queues.close(ready)
  return y
end

-- Closes the parts; closing twice is fine.
function methods.close(m)
  for _, part in ipairs(m.parts) do
    if part and part.inner then
      part.inner:close()
    end
    for _, e in ipairs(part and part.edges or {}) do
      e.matrix:close()
      e.x[1]:close()
      e.x[2]:close()
    end
  end
end

function meta.__close(m)
  methods.close(m)
end

function meta.__tostring(m)
  local rows = {}
  for i, n in ipairs(m.sizes) do
    rows[i] = tostring(n)
  end
  return ("Split %s matrix %d x %d of %s in rows %s"):format(
    m.format:upper(), m.rows, m.cols, m.type, table.concat(rows, " + "))
end

argument.methods("Split matrix", methods, meta.__name)

return M
