#!/usr/bin/env clshell
-- bench_spmv.lua - sparse matrix times vector: the DIA ladder against CSR on
-- Poisson matrices of a 2-D and a 3-D grid, a banded matrix, your own, and
-- matrices of general patterns, beside CSR with indexes of 16 bits.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_spmv.lua",
  "y = M x for matrices stored by diagonals (DIA), packed, and by rows (CSR).",
  "GB/s counts each value, index and vector element once; GFLOPS is 2 nnz.")
parser:argument("file", "Matrix Market files (.mtx) to measure as well")
  :args("*"):convert(script.readable)
parser:option("-r --rows", "rows of the built-in matrices, about; 1m on a "
  .. "CPU, 16m on a GPU"):convert(script.size)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:flag("-p --patterns", "ten general patterns instead of grids and "
  .. "bands, of as many entries as rows: graphs (rmat), roads, meshes (fem), "
  .. "rows of very different lengths (zipf)")
output.options(parser)
local args = script.parse(parser)
if args.rows then -- nine diagonals, twice if none is packed, two vectors
  script.fits(parser, ("matrices of %d rows"):format(args.rows),
    20.0 * args.rows * (args.type == "double" and 8 or 4))
end
local out <close> = output.open(parser, args)

local rows = args.rows or (cl.device().type == "cpu" and 2^20 or 2^24)
local side2, side3 = math.ceil(rows^(1 / 2)), math.ceil(rows^(1 / 3))
local opts = {type = args.type}

-- Each entry makes its matrix when its turn comes: one at a time in memory.
local matrices = {
  {("2-D Poisson %dx%d, 5 diagonals"):format(side2, side2), function()
    return dia.poisson2d(side2, side2, opts)
  end},
  {("3-D Poisson %dx%dx%d, 7 diagonals"):format(side3, side3, side3),
    function()
      return dia.poisson3d(side3, side3, side3, opts)
    end},
  {("banded, %d rows, 9 diagonals"):format(math.tointeger(rows // 1)),
    function()
      return dia.banded(math.tointeger(rows // 1),
        {-4, -3, -2, -1, 0, 1, 2, 3, 4}, opts)
    end},
}
if args.patterns then
  matrices = {}
  for _, text, make in require "lib.patterns"(rows, args.type) do
    matrices[#matrices + 1] = {text, function() return nil, make() end}
  end
end
for i, file in ipairs(args.file) do -- first: what is wrong is said soon
  table.insert(matrices, i, {file, function()
    local M = assert(csr.load(file, opts))
    local ok, D = pcall(M.to_dia, M)
    return ok and D or nil, M, not ok and tostring(D)
  end})
end

-- The measured bandwidth, which a result may raise.
local function copy()
  return peaks().copy
end

local function measure(title, make)
  local M, S, reason = make()
  S = S or M:to_csr()
  local P, R = M and M:pack(), S:pack()
  local x = matrix.random(S.cols, 1, {type = args.type, seed = 3})
  local vector = cl.buffer(args.type, S.cols, x:read():reshape(S.cols))
  local ladder = spmv.kernels()
  local part <close> = out:part{steps = #ladder + 1, by = "gbs",
    best = "gflops", peak = copy, base = "first",
    title = ("\n%s, %s: %d entries%s\npacked CSR: %s"):format(title, args.type,
      S.nnz, reason and "\nDIA: " .. reason or P and "\npacked: "
        .. tostring(P):match("diagonals: (.*)"):gsub("; ", ",\n  ") or "",
      tostring(R):match "entries: (.*)"),
    columns = {"kernel", "local", "ms", "gflops", "gbs",
      {key = "percent", title = "% copy", format = "%.1f"}, "speedup", "err",
      "note"}}
  local function row(name, form, label)
    part:step(name)
    local operands = {M = form, x = vector}
    local r = spmv.bench(name, nil, operands)
    r.label = label
    part:add(r)
  end
  for _, k in ipairs(ladder) do
    local form = ({csr = S, dia = M, packed = P, packed_csr = R})[
      k.rung.format]
    if form then
      row(k.name, form)
    end
  end
  row("plain_c", S, "plain_c (CSR)")
end

out:heading(("SpMV; copy bandwidth %.4g GB/s"):format(
  copy() / 1e9))
for _, entry in ipairs(matrices) do
  measure(entry[1], entry[2])
  collectgarbage()
end
