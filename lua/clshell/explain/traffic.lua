-- explain/traffic.lua - the traffic model: the bytes that a rung's work-items
-- read and write of global and of local memory, counted from its source, not
-- measured. Each rung's own model stands with the rung, as its `traffic`.
-- SPDX-License-Identifier: MIT

local machine = require "clshell.base.gpu_memory"

local M = {}

local PASS = 128   -- bytes that a warp moves at a time

-- The addresses that the first warp accesses.
local function addresses(a, size, lanes)
  local list, width = {}, size[1]
  for id = 0, math.min(lanes, width * (size[2] or 1)) - 1 do
    list[id + 1] = a.at(id % width, id // width)
  end
  return list
end

-- The bytes that all work-items move over a path, and the worst factor of bank
-- conflicts. Without warps every work-item counts its own bytes. In a warp an
-- address that several lanes want counts once, and accesses that banks serve
-- in turn count each turn.
local function total(list, items, size, lanes, is_local)
  local bytes, ways = 0, 1
  for _, a in ipairs(list) do
    if not lanes then
      bytes = bytes + items * a.n * a.bytes
    else
      local group = size[1] * (size[2] or 1)
      local warps = items / group * ((group + lanes - 1) // lanes)
      local passes
      local at, gpu = addresses(a, size, lanes), machine.of()
      if is_local then
        local cost = machine.locals(gpu, at, a.bytes)
        passes, ways = cost.passes, math.max(ways, cost.passes / cost.ideal)
      else
        local cost = machine.global(gpu, at, a.bytes)
        passes = math.ceil(cost.sectors * gpu.sector / PASS)
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
--- Example:
--- local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
--- local traffic = lesson.read(r).traffic -- what traffic.of gave
--- print(traffic and traffic.fetch, traffic and traffic.ways)
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
