-- parts/halo.lua - rows of a sparse matrix on a device that has a part of x,
-- for split/ and ranks/. The device multiplies its rows by its own elements of
-- x alone. Meanwhile it gets the halo, elements of x from other devices or
-- processes, and then calculates the edges again: the few rows at the ends of
-- its part that need these elements.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local options = require "clshell.base.options"
local rows_of = require "clshell.data.sparse"

local M = {}

local ALIGN = 1024 -- elements: where an edge may begin in y

-- The plans of a matrix end with the Buffer of their y.
local WEAK = {__mode = "k"}

--- halo.edge(make, m, first, row, rows, col, cols, context) -> edge
--- An edge of the part that begins at row `first` of m: rows of the part, from
--- `row` on, with the columns from `col` on, and two vectors that get the
--- elements of x for these columns in turn. make: rows_of.dia_rows, csr_rows.
function M.edge(make, m, first, row, rows, col, cols, context)
  local x = {}
  for k = 1, 2 do
    x[k] = cl.buffer(m.values.type, cols, 0, {context = context})
  end
  return {
    matrix = make(m, first + row - 1, rows, col, cols, context),
    row = row, rows = rows, col = col, cols = cols, x = x, last = {},
    turn = 1,
    kept = {setmetatable({}, WEAK), setmetatable({}, WEAK)},
  }
end

--- halo.part(m, first, rows, own, context) -> part
--- `rows` rows of a matrix by diagonals, from row `first` on, on a device that
--- has as many elements of x, from element `own` on, or no elements (nil).
--- Fields: inner, the matrix for these elements, or nil, and edges.
function M.part(m, first, rows, own, context)
  local shift, last = own and own - first or 0, first + rows - 1
  local low = math.max(0, shift - m.host.offsets[1])
  local high = math.max(0, m.host.offsets[m.ndiags] - shift)
  local part = {edges = {}, kept = setmetatable({}, WEAK)}
  local function add(from, to)
    local c = math.max(1, from + shift - low)
    local d = math.min(m.cols, to + shift + high)
    if c <= d then
      table.insert(part.edges, M.edge(rows_of.dia_rows, m, first,
        from - first + 1, to - from + 1, c, d - c + 1, context))
    end
  end
  local above = own and own > 1 and math.min(low, rows) or 0
  local below = last + shift < m.cols and math.min(high, rows) or 0
  local begin = (rows - below) // ALIGN * ALIGN
  below = below > 0 and rows - begin or 0
  if not own or 2 * (above + below) > rows then
    add(first, last)
    return part
  end
  part.inner = rows_of.dia_rows(m, first, rows, own, rows, context)
  if above > 0 then
    add(first, first + above - 1)
  end
  if below > 0 then
    add(first + begin, last)
  end
  return part
end

--- halo.launch(spmv, matrix, x, y, opts, kept [, rows_of_y]) -> Event
--- Launches the product of `matrix` and x into y, or into rows_of_y(y). A call
--- without options leaves its plan in `kept`; the next call with the same
--- Buffers launches this plan, until the family's kept plans change.
function M.launch(spmv, matrix, x, y, opts, kept, rows_of_y)
  local plain, last = next(opts) == nil, kept[y]
  if not (plain and last and last.x == x and last.rows == spmv.kept_plans) then
    last = {x = x, rows = spmv.kept_plans, plan = spmv.plan(matrix, x,
      options.with(opts, {y = rows_of_y and rows_of_y(y) or y}))}
    kept[y] = plain and last or nil
  end
  local event = last.plan()
  y.context.queue:flush()
  return event
end

--- halo.calculate(spmv, e, y, opts, fill) -> Event
--- Calculates an edge, into its rows of y. fill(to) copies elements e.col to
--- e.col + e.cols - 1 of x into a Buffer. The next call but one closes the
--- Event, unless e.open.
function M.calculate(spmv, e, y, opts, fill)
  local turn = e.turn
  local to, last = e.x[turn], e.last[turn]
  if last then
    last:wait() -- the product has read `to`
    e.last[turn] = not e.open and last:close() or nil
  end
  fill(to)
  e.last[turn] = M.launch(spmv, e.matrix, to, y, opts, e.kept[turn],
    function()
      return y:view(e.row, e.row + e.rows - 1)
    end)
  e.turn = 3 - turn
  return e.last[turn]
end

--- halo.close(part)
--- Closes the matrices and vectors of a part.
function M.close(part)
  if part.inner then
    part.inner:close()
  end
  for _, e in ipairs(part.edges) do
    e.matrix:close()
    e.x[1]:close()
    e.x[2]:close()
  end
end

return M
