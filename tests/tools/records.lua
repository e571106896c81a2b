-- records.lua - made-up results for the tests of output: every number is
-- exact in binary, so that the same text comes out everywhere
-- SPDX-License-Identifier: MIT

local M = {}

local DEVICE = {name = 'Card "X" <2>', platform = "Some|CL", type = "gpu",
  driver = "1.2", version = "OpenCL 3.0", compute_units = 8}

--- records.result(kernel, seconds, fields) -> result
--- A finished result of a GEMM of 1024^3, with any other fields.
function M.result(kernel, seconds, more)
  local r = {
    name = "gemm." .. kernel, family = "gemm", kernel = kernel,
    type = "float", title = "1024x1024x1024 float", mode = "hot",
    shape = {m = 1024, n = 1024, k = 1024}, status = "ok", device = DEVICE,
    time = "2026-01-02T03:04:05Z", version = "0.1.0", protocol = 1,
  }
  if seconds then
    r.median, r.ms = seconds, seconds * 1e3
    r.lo, r.hi = seconds * (1 - 2^-9), seconds * (1 + 2^-9)
    r.min, r.max = seconds * 0.75, seconds * 1.5
    r.q1, r.q3, r.n = r.lo, r.hi, 3
    r.samples = {r.min, r.median, r.max}
    r.flop, r.bytes = 2^31 | 0, 12 * 2^20
    r.gflops, r.gbs = r.flop / seconds / 1e9, r.bytes / seconds / 1e9
    r.ai, r.ok, r.timer = r.flop / r.bytes, true, "event"
  end
  for key, value in pairs(more or {}) do
    r[key] = value
  end
  return r
end

--- records.ladder() -> list
--- Four rungs, of which the third is refused.
function M.ladder()
  return {
    M.result("naive", 0.5, {config = "map=row", params = {map = "row"},
      options = "-cl-mad-enable", source_hash = "00ff"}),
    M.result("tiled", 0.125, {config = "tile=16 edge=guard",
      params = {tile = 16, edge = "guard"}, roof = 0.25, bound = "compute"}),
    M.result("tiled_constant", nil, {status = "refused", ok = false,
      note = "refused: A has 4194304 bytes, constant memory 65536"}),
    M.result("register", 0.03125, {config = "bm=64",
      params = {bm = 64}, err = 2^-20, flags = {"unconverged"}}),
  }
end

--- records.tiles() -> list
--- Six results over a parameter, in two series.
function M.tiles()
  local list = {}
  for pad = 0, 1 do
    for i, tile in ipairs{4, 8, 16} do
      list[#list + 1] = M.result("tiled_padded", 2^-i * (1 + pad / 4), {
        config = ("tile=%d pad=%d"):format(tile, pad),
        params = {tile = tile, pad = pad}})
    end
  end
  return list
end

return M
