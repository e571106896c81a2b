#!/usr/bin/env clshell
-- bench_out_of_core.lua - a product whose matrices stay on the host, or in
-- files, beside a product whose matrices are on the device.
-- SPDX-License-Identifier: MIT

local npy = require "clshell.npy"
local quantity = require "clshell.quantity"
local script = require "clshell.script"

local parser = script.parser("bench_out_of_core.lua",
  "C = A B by tiles and panels, N x N or MxNxK, in part of the device's "
  .. "memory.")
parser:argument("shape", "N or MxNxK; 1024 on a CPU, 32768 on a GPU"):args "?"
  :convert(script.gemm_shape)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:option("-m --memory", "MiB of the device's memory to use; a third of "
  .. "the matrices if left out"):convert(script.size)
parser:option("-n --in-core", "size of the product on the device; as above, "
  .. "or the largest that fits"):convert(script.size)
parser:option("-d --files", "A, B and C are .npy files in this folder")
local args = script.parse(parser)

local device = cl.device()
local size = device.type == "cpu" and 1024 or 32768
local m, n, k = table.unpack(args.shape or {size, size, size})
local esize = cl.typesize(args.type)
local bytes = (m * k + k * n + m * n) * esize
local memory = args.memory and args.memory << 20 or bytes // 3

-- A matrix of random numbers on the host, made on the device in pieces.
local function random(rows, cols, seed)
  local h = cl.array(args.type, {rows, cols})
  local step = math.max(1, math.min(rows, (256 << 20) // (cols * esize)))
  for row = 0, rows - 1, step do
    local count = math.min(step, rows - row) * cols
    local b <close> = cl.random(count, {type = args.type, seed = seed,
      lo = -1, hi = 1, offset = row * cols})
    b:read(h, {at = row * cols + 1})
  end
  return h
end

-- The operands and the result: Arrays, or paths of files.
local function operands()
  local A, B = random(m, k, 1), random(k, n, 2)
  if not args.files then
    return A, B, cl.array(args.type, {m, n}):fill(0)
  end
  local paths = {}
  for i, name in ipairs{"A", "B", "C"} do
    paths[i] = ("%s/out_of_core_%s.npy"):format(args.files, name)
  end
  npy.save(paths[1], A)
  npy.save(paths[2], B)
  A:close()
  B:close()
  return table.unpack(paths)
end

-- A product on the device, verified and measured.
local function in_core(side)
  local opts = {type = args.type, lo = -1, hi = 1}
  local A <close> = cl.random({side, side}, opts)
  local B <close> = cl.random({side, side}, opts)
  return gemm.bench(gemm.choice{A = A, B = B}.rung, nil, {A = A, B = B},
    {roof = false})
end

-- The largest product whose matrices, and the copies that kernels pack, fit.
local function largest(side)
  while 6 * side^2 * esize > 0.9 * device.global_mem_size do
    side = side // 2
  end
  return side
end

print(("%dx%dx%d %s, %s of matrices, in %s of %s"):format(m, n, k, args.type,
  quantity.format(bytes, "B", 3), quantity.format(memory, "B", 3),
  device.name))
local A, B, C = operands()
local _, run = gemm.out_of_core(A, B, {C = C, memory = memory})
print(run)
if args.files then
  os.remove(A)
  os.remove(B)
  os.remove(C)
end
if not run.ok then
  cl.error("the product is wrong")
end
A, B, C = nil, nil, nil -- luacheck: ignore 311
collectgarbage()
local r = in_core(args.in_core or largest(math.max(m, n, k)))
if not r.gflops then
  cl.error(("the product on the device: %s"):format(r.note))
end
print(("on the device, %s: %s, error %.1e\nout of core %.2f of it"):format(
  r.title, quantity.format(r.gflops * 1e9, "FLOPS"), r.err,
  run.gflops / r.gflops))
