-- spmv/packing.lua - what the kernel of a packed matrix is built for: its first
-- pattern, the places of its diagonals, the type of the stored ones
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"

local M = {}

-- The unsigned integers with the bits of a type.
M.bits = {half = "ushort", float = "uint", double = "ulong"}

-- Raises unless the parts of a packed matrix are as large as its sizes say;
-- check_part(A, name, n, type) looks at one of them.
function M.check(A, rows, ndiags, check_part)
  argument.check("spmv", "M.host.patterns", A.host.patterns, "Array")
  argument.list("spmv", "M.places", A.places, "number")
  local stored = 0
  for d = 1, ndiags do
    stored = math.max(stored, (A.places[d] or ndiags) + 1)
  end
  check_part(A, "codes", rows, "uchar")
  check_part(A, "patterns", ndiags)
  check_part(A, "stored", stored * #A.codes, A.stored_type)
  if #A.host.patterns ~= #A.patterns or #A.places ~= ndiags then
    cl.error(("spmv: M.host.patterns must have %d elements, M.places %d; got "
      .. "%d and %d"):format(#A.patterns, ndiags, #A.host.patterns,
      #A.places), {arg = "M"})
  end
end

-- packing.of(A) -> {patterns, main, places, narrow, bytes}
-- How a packed matrix is packed: how many patterns, the bits of the first one,
-- the places of the diagonals, the type of the stored ones, and the bytes that
-- a product reads of the values.
function M.of(A)
  local main = {}
  local bits = A.host.patterns:as(M.bits[A.patterns.type])
  for d = 1, A.ndiags do
    main[d] = ("0x%x"):format(bits[d])
  end
  return {patterns = #A.patterns // A.ndiags, main = main, places = A.places,
    narrow = A.stored_type, bytes = A.value_bytes}
end

-- The same of a shape given by hand: constant diagonals of zeros.
function M.plain(type, ndiags)
  local main, places = {}, {}
  for d = 1, ndiags do
    main[d], places[d] = "0x0", -1
  end
  return {patterns = 1, main = main, places = places, narrow = type,
    bytes = 0}
end

return M
