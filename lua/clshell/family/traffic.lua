-- family/traffic.lua - the traffic model: the bytes that a rung's work-items
-- read and write of global and of local memory, counted from its source, not
-- measured. Each rung's own model stands with the rung, as its `traffic`.
-- SPDX-License-Identifier: MIT

local M = {}

local BANKS = 32   -- of local memory, 4 bytes wide: NVIDIA, AMD
local SECTOR = 32  -- bytes that global memory moves at least
local PASS = 128   -- bytes that a warp moves at a time

-- The different pieces of `unit` bytes that the first work-items touch, and
-- the most of them that lie in one bank.
local function pieces(a, size, lanes, unit)
  local width = size[1]
  local items = math.min(lanes, width * (size[2] or 1))
  local seen, banks, count, most = {}, {}, 0, 0
  for id = 0, items - 1 do
    local first = a.at(id % width, id // width)
    for piece = first // unit, (first + a.bytes - 1) // unit do
      if not seen[piece] then
        local bank = piece % BANKS
        seen[piece], count = true, count + 1
        banks[bank] = (banks[bank] or 0) + 1
        most = math.max(most, banks[bank])
      end
    end
  end
  return count, most
end

-- Bytes that the accesses of all work-items take of a path, and the worst
-- factor that bank conflicts bring. Without warps every work-item counts
-- its own bytes; in a warp an address that several want counts once, and
-- what banks serve one after another counts as often.
local function total(list, items, size, lanes, is_local)
  local bytes, ways = 0, 1
  for _, a in ipairs(list) do
    if not lanes then
      bytes = bytes + items * a.n * a.bytes
    else
      local group = size[1] * (size[2] or 1)
      local warps = items / group * ((group + lanes - 1) // lanes)
      local passes
      if is_local then
        local words, most = pieces(a, size, lanes, 4)
        passes = most
        ways = math.max(ways, most / math.ceil(words / BANKS))
      else
        passes = math.ceil(pieces(a, size, lanes, SECTOR) * SECTOR / PASS)
      end
      bytes = bytes + warps * a.n * passes * PASS
    end
  end
  return bytes, ways
end

--- traffic.of(r, rung, dev, s, p) -> table; nil
--- The traffic of a result r of a rung (its family, kernel and defines count)
--- with shape s and all parameters p, in bytes of a run: global (what its
--- work-items load and store through the caches), fetch (what its work-groups
--- take from the last cache, each its tiles once), locals (of local memory),
--- ways (the worst bank conflict of its local accesses: 1 is none), from_local
--- (whether it uses local memory). On a device with warps an address that a
--- whole warp wants counts once; elsewhere each work-item counts for itself. A
--- rung's own `traffic(s, p, defines)` may give {global =, locals =} as lists
--- of {n =, bytes =, at = function(x, y)}, moved (bytes instead of `global`)
--- and fetch. nil: there is no model, as for batches and for products of
--- transposed operands.
function M.of(r, rung, dev, s, p)
  if s.trans_a or s.trans_b or (s.batch or 1) > 1 then
    return nil
  end
  local model = rung.traffic and rung.traffic(s, p, r.defines)
  if not model then
    return nil
  end
  local all, size = rung.range(s, p)
  local items = 1
  for _, n in ipairs(all) do
    items = items * n
  end
  local lanes = dev.nv_warp_size or dev.amd_wavefront_width
  size = size or {lanes or 1}
  local result = {fetch = model.fetch, warps = lanes ~= nil, ways = 1,
    from_local = model.locals and true or false, global = model.moved}
  if model.global then
    result.global = total(model.global, items, size, lanes, false)
  end
  if model.locals then
    result.locals, result.ways = total(model.locals, items, size, lanes, true)
  end
  return result
end

return M
