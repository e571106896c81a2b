#!/usr/bin/env clshell
-- bench_split.lua - what several devices gain: a matrix product and a sparse
-- product on one device, and in parts on all of its kind.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local report = require "clshell.report"
local script = require "clshell.script"

local parser = script.parser("bench_split.lua",
  "Products of dense matrices and by diagonals, on one device and on several.",
  "A CPU device alone is cut into two parts. Times are the host's.")
parser:option("-n --size", "rows of the matrices; 256 on a CPU, 16384 on a "
  .. "GPU if left out"):convert(script.size)
parser:option("-g --grid", "side of the grid whose Laplacian is the sparse "
  .. "matrix; 256 on a CPU, 8192 on a GPU if left out"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local out <close> = output.open(parser, args)

-- The devices of the session's kind, or two parts of a CPU.
local function all_devices()
  local list = cl.each(function(d) return d end)
  local fine, parts = pcall(function()
    return cl.device():partition{equally = 1}
  end)
  if #list == 1 and fine and #parts > 1 then
    list = {parts[1], parts[2]}
  end
  return list
end

local function number(x)
  return report.number(x)
end

local devices = all_devices()
local first = devices[1]
cl.use(first)
local cpu = first.type == "cpu"
local n = args.size or cpu and 256 or 16384
local side = args.grid or cpu and 256 or 8192

-- A part of the output, whose rows are compared with the first row.
local function ladder(title, flop, cases)
  local part <close> = out:part{title = title, steps = #cases, by = "gflops",
    columns = {{key = "name", title = "way"}, {key = "wall_ms", title = "ms",
      format = number}, "gflops", {key = "gain", title = "gain",
      format = number}}}
  local base
  for _, case in ipairs(cases) do
    part:step(case[1])
    local r = bench(case[2], {name = case[1], flop = flop, roof = false,
      effort = "quick"})
    base = base or r.wall
    r.gain = r.wall and base and base / r.wall
    part:add(r)
  end
end

-- Raises unless a Split has the elements of a Buffer, but for roundings.
local function check(s, b, what)
  local whole <close> = s:join()
  local off = (whole - b):abs():max() / b:abs():max()
  assert(off < 1e-4, ("%s: off by %g of the largest element"):format(what,
    off))
end

local words = ("on %d x %s"):format(#devices, first.name)

do
  local A, B = cl.random({n, n}, {seed = 1}), cl.random({n, n}, {seed = 2})
  local C = gemm(A, B)
  local S, D = cl.split(A, devices), cl.split(C, devices)
  local copies, rows = cl.split(B, devices, "copies"), cl.split(B, devices)
  check(gemm(S, copies, {C = D}), C, "copies of B")
  check(gemm(S, rows, {C = D}), C, "rows of B")
  ladder(("C = A B, N = %d, float, %s"):format(n, words), 2.0 * n ^ 3, {
    {"one device", function()
      gemm(A, B, {C = C})
      C.context.queue:finish()
    end},
    {"A in rows, B in copies", function()
      gemm(S, copies, {C = D}):finish()
    end},
    {"A and B in rows", function()
      gemm(S, rows, {C = D}):finish()
    end},
  })
  for _, object in ipairs{A, B, C, S, D, copies, rows} do
    object:close()
  end
end

do
  local M = dia.poisson2d(side, side)
  local x = cl.random(M.cols, {seed = 3})
  local y = spmv(M, x)
  local S, p = cl.split(M, devices), cl.split(x, devices)
  local q = cl.split(y, devices)
  check(spmv(S, p, {y = q:fill(0)}), y, "sparse product")
  local TIMES = 20
  ladder(("\n%d products y = M x, 5 diagonals of %d rows, %s"):format(TIMES,
    M.rows, words), 2.0 * M.nnz * TIMES, {
    {"one device", function()
      for _ = 1, TIMES do
        spmv(M, x, {y = y})
      end
      y.context.queue:finish()
    end},
    {"M, x and y in rows", function()
      for _ = 1, TIMES do
        spmv(S, p, {y = q})
      end
      q:finish()
    end},
  })
end
