-- spmv/packing.lua - what the kernel of a packed matrix is built for: its
-- first pattern, the places of its diagonals, the type of the stored ones
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local tiling = require "clshell.family.tiling"

local M = {}

-- The integers of as many bytes as a type.
M.unsigned = {half = "ushort", float = "uint", double = "ulong"}
M.signed = {half = "short", float = "int", double = "long"}

--- packing.stride(rows) -> number
--- The elements from one stored diagonal to the next, and of the codes.
function M.stride(rows)
  return tiling.roundup(rows, 32)
end

-- Raises unless the parts of a packed matrix are as large as its sizes say;
-- check_part(A, name, n, type) looks at one of them.
function M.check(A, rows, ndiags, check_part)
  local patterns = argument.check("spmv", "M.host.patterns", A.host.patterns,
    "Array")
  argument.list("spmv", "M.places", A.places, "number")
  check_part(A, "codes", M.stride(rows), "uchar")
  check_part(A, "patterns", ndiags)
  if #A.places ~= ndiags or #patterns ~= #A.patterns then
    cl.error(("spmv: M.ndiags is %d, M.places has %d elements, M.patterns %d, "
      .. "M.host.patterns %d"):format(ndiags, #A.places, #A.patterns,
      #patterns), {arg = "M"})
  end
  local stored = math.max(-1, table.unpack(A.places)) + 1
  check_part(A, "stored", stored * M.stride(rows), A.stored_type)
end

-- packing.of(A) -> {patterns, main, places, narrow, bytes}
-- How a packed matrix is packed: how many patterns, the bits of the first one,
-- the places of the diagonals, the type of the stored ones, and the bytes that
-- a product reads of the values.
function M.of(A)
  local main = {}
  local bits = A.host.patterns:as(M.unsigned[A.patterns.type])
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
