-- ladders/spmv/packed_diagonals.lua - the facts for which the kernel of a
-- packed matrix is built: its first pattern, the places of its diagonals, the
-- mirrored diagonals, the type of stored diagonals
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local sparse = require "clshell.data.sparse"
local tiling = require "clshell.ladder.tiling"

local M = {}

-- The integers of as many bytes as a type.
M.unsigned = {half = "ushort", float = "uint", double = "ulong"}
M.signed = {half = "short", float = "int", double = "long"}

--- packing.stride(rows) -> number
--- The elements from one stored diagonal to the next, and the number of codes.
function M.stride(rows)
  return tiling.roundup(rows, 32)
end

-- Raises unless the parts of a packed matrix are as large as its sizes say;
-- check_part(A, name, n, type) looks at one part.
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

-- For each diagonal 1 if it is read from its mirror, which has the same place,
-- else 0; and the number of diagonals that are.
local function mirrored(A, offsets)
  local place, list, count = {}, {}, 0
  for d, offset in ipairs(offsets) do
    place[offset] = A.places[d]
  end
  for d, offset in ipairs(offsets) do
    list[d] = place[offset] >= 0 and place[-offset] == place[offset]
      and sparse.is_mirrored(A, offset) and 1 or 0
    count = count + list[d]
  end
  return list, count
end

-- packing.of(A, offsets) -> {patterns, main, places, mirrored, narrow, bytes,
--   again}
-- The packing of a packed matrix: the number of patterns, the bits of the
-- first pattern, the places of the diagonals, whether each diagonal is read
-- from its mirror, the type of stored diagonals, the bytes of the values that
-- a product reads, and the bytes of the mirrors that it reads again.
function M.of(A, offsets)
  local main = {}
  local bits = A.host.patterns:as(M.unsigned[A.patterns.type])
  for d = 1, A.ndiags do
    main[d] = ("0x%x"):format(bits[d])
  end
  local list, count = mirrored(A, offsets)
  return {patterns = #A.patterns // A.ndiags, main = main, places = A.places,
    mirrored = list, narrow = A.stored_type, bytes = A.value_bytes,
    again = count * A.rows * cl.typesize(A.stored.type)}
end

-- The packing of a shape given by hand: constant diagonals of zeros.
function M.plain(type, ndiags)
  local main, places, list = {}, {}, {}
  for d = 1, ndiags do
    main[d], places[d], list[d] = "0x0", -1, 0
  end
  return {patterns = 1, main = main, places = places, mirrored = list,
    narrow = type, bytes = 0, again = 0}
end

return M
