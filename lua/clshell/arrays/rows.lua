-- arrays/rows.lua - the rows that reductions and scans go along: all elements
-- are one, or those along a dimension
-- A shape g is {outer, many, inner}, see layout.part. Element i of row r is
-- number (r // inner * many + i) * inner + r % inner.
-- SPDX-License-Identifier: MIT

local M = {}

--- rows.CHAIN
--- Elements that a work-item of a GPU takes one after another, at most.
M.CHAIN = 64

local NARROW = 16 -- columns: fewer are taken by a work-group each

--- rows.way(g) -> "columns", "short" or "long"
--- Whether rows are columns, whose elements have neighbours in other rows, or
--- else short enough for a work-item each.
function M.way(g)
  return g.inner >= NARROW and "columns" or g.many <= M.CHAIN and "short"
    or "long"
end

--- rows.words(g) -> start, at
--- As OpenCL C, for kernels with an argument n and a number inner_: where row
--- `row` starts, and the number of element `i` of the row from `start` on.
function M.words(g)
  if g.inner == 1 then
    return "((row) * n)", "((start) + (i))"
  end
  return "((row) / inner_ * n * inner_ + (row) % inner_)",
    "((start) + (i) * inner_)"
end

return M
