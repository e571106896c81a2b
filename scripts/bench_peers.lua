#!/usr/bin/env clshell
-- bench_peers.lua - races clshell's fastest kernels against other libraries:
-- OpenBLAS, CLBlast, cuBLAS, cuSPARSE, and the device's own copy bandwidth;
-- and puts its figures beside the figures of clpeak and PyOpenCL. `make peers`
-- builds the peers.
-- SPDX-License-Identifier: MIT

local file = require "clshell.base.file"
local json = require "clshell.json"
local output = require "clshell.output"
local peak = require "clshell.peaks"
local peers = require "lib.races"
local script = require "clshell.script"
local text = require "clshell.base.text"
local timer = require "clshell.timer"

local STEP = 64 -- between two sizes of the curve
local PARTS = {"gemm", "clblast", "spmv", "transpose", "peaks", "pyopencl"}

-- The output of a tuner of CLBlast, or nil and a message.
local function tuned(path)
  local f, message = io.open(path)
  if not f then
    return nil, message
  end
  local ok, t = pcall(json.decode, f:read("a"))
  f:close()
  if not (ok and type(t) == "table" and t.best_kernel and t.best_parameters
      and math.tointeger(tonumber(t.precision))) then
    return nil, path .. ": not the output of a tuner of CLBlast"
  end
  return t
end

-- The path of a chart that can be written, or nil and a message.
local function chart(path)
  if not text.set "svg png txt html" [path:match "%.(%w+)$" or ""] then
    return nil, "the name of a chart must end with .svg, .png, .txt or .html"
  end
  return script.writable(path)
end

local parser = script.parser("bench_peers.lua",
  "How fast kernels are beside other libraries: ratios of rates, in turns.",
  "Both sides run A B B A; ratio: median over the rounds, with its 95 % "
    .. "interval. On GPUs both call products back to back, without events: "
    .. "SGEMM 1 tells the time of a bare launch of each, and of a launch with "
    .. "an event of ours. Every result of ours was compared with float64.")
parser:option("--only", "one part; may be repeated"):count("*"):choices(PARTS)
parser:option("-r --rounds", "of each comparison", "10"):convert(script.size)
parser:option("-o --output", "write the table to a JSON file")
  :argname("FILE")
parser:option("--curve", "gemm(A, B) as it is called, at 64, 128 ... 2048: "
  .. "rows of the table, and a chart, in the file too: .svg, .png, .txt, or "
  .. "a report, .html; nothing else, unless --only says so")
  :argname("FILE"):convert(chart)
parser:option("--clblast", "parameters for CLBlast: the output of a tuner, "
  .. "such as clblast_xgemm_1_32.json; may be repeated"):count("*")
  :argname("FILE"):convert(tuned)
parser:option("--scale", "divide all sizes, for a trial", "1")
  :convert(script.size)
local args = script.parse(parser)
output.said(args)
if args.output then
  local ok, message = script.writable(args.output)
  if not ok then
    parser:error("cannot write the table: " .. message)
  end
end

require("clshell.store").use "none" -- points of a curve are no runs
local device = cl.device()
local gpu = device.type ~= "cpu"
local tests = cl.home .. "/build/tests/peers/"

local function wanted(part)
  if part == "curve" then
    return args.curve
  elseif args.curve and #args.only == 0 then
    return false
  end
  for _, name in ipairs(args.only) do
    if name == part then
      return true
    end
  end
  return #args.only == 0
end

local function scaled(n)
  return math.max(1, n // args.scale)
end

local total = 0
for name, count in pairs{gemm = gpu and 33 or 8, clblast = 3, peaks = 1,
    curve = math.max(1, scaled(2048) // STEP), spmv = gpu and 67 or 9,
    transpose = gpu and 4 or 2, pyopencl = 1} do
  total = total + (wanted(name) and count or 0)
end
print(("Beside other libraries, on %s\n"):format(device.name))
local races <close> = peers.races{rounds = args.rounds, file = args.output,
  progress = script.progress(total)}

local cuda, no_cuda
if gpu and device.vendor:lower():find("nvidia", 1, true) then
  cuda, no_cuda = peers.program(tests .. "cuda")
  no_cuda = no_cuda and ("not measured: %s; make peers builds it where "
    .. "CUDA's nvcc is"):format(no_cuda)
else
  no_cuda = "not measured: it runs on NVIDIA GPUs"
end

-- The row of a product, or of a batch of so many.
local function product(work, rung, name, goal, m, n, k, batch)
  local flop = 2.0 * m * n * k * (batch or 1)
  return {work = work, rung = rung, peer = name, goal = goal,
    unit = "GFLOPS", amount = flop, peer_amount = flop}
end

-- Adds a row without a ratio.
local function unmeasured(row, note)
  row.note = note
  return races:row(row)
end

local TYPES = {dgemm = "double", hgemm = "half"}

-- A random matrix, or a batch of so many.
local function random(type, rows, cols, batch, seed)
  if not batch then
    return matrix.random(rows, cols, {type = type, seed = seed})
  end
  local h <close> = cl.array(type, {batch, rows, cols})
  return cl.buffer(type, h.shape, h:random(seed))
end

-- The operands of a product, B packed beforehand where `once`.
local function operands_of(name, type, m, n, k, batch, once)
  local A, B = random(type, m, k, batch, 1), random(type, k, n, batch, 2)
  if once then
    local ok, packed = pcall(gemm.pack, B, {kernel = name, m = m})
    return ok and {A = A, B = packed} or nil, tostring(packed)
  end
  return {A = A, B = B}
end

-- A product, or a batch of so many, beside a request to the CUDA program;
-- `once`: with B packed beforehand; `events`: each call has its Event.
local function gemm_cuda(name, kind, m, n, k, goal, batch, once, events)
  local type = TYPES[kind] or "float"
  local row = product(("%s %s%s"):format(kind == "tf32" and "SGEMM"
    or kind:upper(), m == n and n == k and m or ("%dx%dx%d"):format(m, n, k),
    events and ", with events" or batch and " x " .. batch or ""), name,
    kind == "tf32" and "cuBLAS TF32"
    or "cuBLAS", goal, m, n, k, batch)
  if not cuda then
    return unmeasured(row, no_cuda)
  end
  local operands, plan, e
  operands, e = operands_of(name, type, m, n, k, batch, once)
  if operands then
    plan, e = peers.plan(gemm, name, operands)
  end
  if not plan then
    return unmeasured(row, e)
  end
  row.error, row.note = e, once and "B packed once" or nil
  local other, reason = cuda:subject(("%s %d %d %d %d"):format(kind, m, n, k,
    batch or 1))
  if not other then
    return unmeasured(row, reason)
  end
  local opts = {kernel = name, C = plan.output}
  local function call()
    return gemm(operands.A, operands.B, opts)
  end
  races:run(row, events and timer.new(cl.context(), {call})
    or peers.back_to_back(call), other, "event")
  if row.amount < 1e9 and row.ms then -- where launches set the pace
    row.note = ("both back to back, %.3g and %.3g us; inside our commands %s")
      :format(1e3 * row.ms, 1e3 * row.peer_ms,
      peers.inside(timer.new(cl.context(), {plan})))
  end
end

local function gemm_gpu()
  gemm_cuda("naive", "sgemm", 1, 1, 1) -- a bare launch of either side
  gemm_cuda("naive", "sgemm", 1, 1, 1, nil, nil, nil, true)
  for _, n in ipairs{127, 512, 1024, 2048} do
    gemm_cuda("nv_ffma", "sgemm", scaled(n), scaled(n), scaled(n), 1)
  end
  for _, n in ipairs{1000, 1024, 1536} do
    gemm_cuda("nv_fp16x3", "sgemm", scaled(n), scaled(n), scaled(n), 1)
  end
  gemm_cuda("nv_ffma", "sgemm", scaled(8192), 64, scaled(8192), 1)
  gemm_cuda("nv_ffma", "sgemm", 64, scaled(8192), scaled(8192), 1)
  for i, size in ipairs{2048, 4096, 8192} do
    local n = scaled(size)
    gemm_cuda("nv_fp16x3", "sgemm", n, n, n, ({2, 2.8, 3.3})[i])
    gemm_cuda("nv_wgmma", "tf32", n, n, n, ({1, 0.9, 0.95})[i])
    gemm_cuda("nv_hgemm", "hgemm", n, n, n, 0.95)
  end
  local n4096 = scaled(4096)
  gemm_cuda("nv_fp16x3", "sgemm", n4096, n4096, n4096, 3, nil, true)
  for _, n in ipairs{1024, 2048, 4096, 8192} do
    gemm_cuda("nv_dmma", "dgemm", scaled(n), scaled(n), scaled(n), 1)
  end
  gemm_cuda("nv_ozaki", "dgemm", scaled(8192), scaled(8192), scaled(8192),
    1.15)
  for _, n in ipairs{8, 16, 32, 64} do
    gemm_cuda("small", "sgemm", n, n, n, 1, scaled(10000))
  end
  for _, n in ipairs{scaled(4096), scaled(8192)} do
    gemm_cuda("nv_ffma", "sgemm", n, n, n, 0.95)
    gemm_cuda("nv_tf32", "tf32", n, n, n, 0.5)
  end
end

-- OpenBLAS as a subject: the seconds of so many products. Its threads spin
-- for 0.13 s after a product, which would be in the way of ours.
local function blas_subject(A, B)
  return timer.host(function(count)
    local sum = 0
    for _ = 1, count do
      local C, seconds = require "cl.host".gemm_blas(A, B)
      C:close()
      sum = sum + seconds
    end
    cl.sleep(0.15)
    return sum
  end)
end

-- Products on the CPU beside OpenBLAS, both by the host's clock.
local function gemm_cpu()
  local blas, missing = require "cl.host".blas()
  for _, type in ipairs{"float", "double"} do
    for _, n in ipairs{scaled(512), scaled(1024), scaled(2048),
        scaled(4096)} do
      local operands = {A = matrix.random(n, n, {type = type, seed = 1}),
        B = matrix.random(n, n, {type = type, seed = 2})}
      local chosen = gemm.plan(operands.A, operands.B)
      local row = product(("%s %d"):format(type == "float" and "SGEMM"
        or "DGEMM", n), chosen.rung.name, blas and ("%s %s"):format(blas.name,
        blas.core or "") or "OpenBLAS", 1, n, n, n)
      local plan, e = peers.plan(gemm, chosen.rung.name, operands,
        chosen.params)
      if not blas or not plan then
        unmeasured(row, plan and missing or e)
      else
        local A, B = operands.A:read(), operands.B:read()
        row.error = e
        races:run(row, timer.new(cl.context(), {plan}), blas_subject(A, B),
          "wall")
      end
    end
  end
end

-- The chart of the size curve, shown and written: alone, or in a report with
-- all its results.
local function draw(points)
  local title = "SGEMM n x n, back to back, " .. device.name
  local page = args.curve:find "%.html$"
  local line = plot.line(points, {x = "k", y = "gflops", log_x = true,
    by = function(r) return r.name:match "^(.*) %d+$" end, x_label = "n",
    title = title, file = not page and args.curve or nil})
  print(line)
  if page then
    require "clshell.html".write(points, args.curve, {title = title,
      charts = {line}})
  end
end

-- gemm(A, B) as it is called, beside cuBLAS or OpenBLAS, by size. A rung is
-- compared with float64 at the first size that it serves.
local function curve()
  local blas, missing = require "cl.host".blas()
  local points, errors = {}, {}
  for n = STEP, math.max(STEP, scaled(2048)), STEP do
    local A, B = matrix.random(n), matrix.random(n, n, {seed = 2})
    local chosen = gemm.plan(A, B)
    local rung, other, reason = chosen.rung.name, nil, nil
    local row = product("gemm(A, B) " .. n, rung, gpu and "cuBLAS"
      or "OpenBLAS", gpu and (n > 512 and 1 or 0.8) or nil, n, n, n)
    if not errors[rung] then
      local plan, e = peers.plan(gemm, rung, {A = A, B = B}, chosen.params)
      errors[rung] = plan and e or nil
      reason = not plan and e or nil
    end
    row.error = errors[rung]
    if not gpu then
      other = blas and blas_subject(A:read(), B:read())
      reason = reason or not blas and missing
    elseif cuda then
      local asked
      other, asked = cuda:subject(("sgemm %d %d %d"):format(n, n, n))
      reason = reason or not other and asked
    end
    if reason or not other then
      unmeasured(row, reason or no_cuda)
    else
      local _, r = races:run(row, peers.back_to_back(function()
        return gemm(A, B)
      end), other, gpu and "event" or "wall")
      for i, seconds in ipairs(r and {r.a, r.b} or {}) do
        local point = bench.of(("%s %d"):format(i == 1 and "gemm(A, B)"
          or row.peer, n), seconds, {flop = row.amount})
        point.shape, point.title = {m = n, n = n, k = n}, "SGEMM"
        point.timer, point.err = row.timer, i == 1 and row.error or nil
        point.verify = i == 2 and "unchecked" or nil
        points[#points + 1] = point
      end
    end
    A:close()
    B:close()
  end
  if points[1] then
    draw(points)
  end
end

-- Gives CLBlast the parameters that its tuners found.
local function tune(lib)
  for _, t in ipairs(args.clblast) do
    local parameters = {}
    for name, value in t.best_parameters:gmatch("(%w+)=(%d+)") do
      parameters[name] = name ~= "PRECISION" and math.tointeger(value) or nil
    end
    lib.override(cl.context(), t.best_kernel, math.tointeger(t.precision),
      parameters)
  end
end

-- The time of gemm(A, B) beside CLBlast, on one queue, by the host's clock.
local function clblast()
  package.cpath = tests .. "?.so;" .. package.cpath
  local found, lib = pcall(require, "clblast")
  if found then
    tune(lib)
  end
  for _, size in ipairs(gpu and {1024, 2048, 4096} or {512, 1024, 2048}) do
    local n = scaled(size)
    local A, B = matrix.random(n), matrix.random(n, n, {seed = 2})
    local C = cl.buffer("float", {n, n}, 0)
    local chosen = gemm.plan(A, B, {C = C})
    local rung = chosen.rung.name
    local row = product("SGEMM " .. n, rung, #args.clblast > 0
      and "CLBlast, tuned" or "CLBlast", 1, n, n, n)
    local ours, e = peers.plan(gemm, rung, {A = A, B = B}, chosen.params)
    if not found or not ours then
      unmeasured(row, ours and "not measured: make peers builds it where "
        .. "libclblast-dev is" or e)
    else
      local queue = cl.context().queue
      row.error = e
      races:run(row, timer.new(cl.context(), {ours}), timer.new(cl.context(),
        {function() lib.gemm(queue, A, B, C, n, n, n) end}), "wall")
    end
  end
end

-- The neighbours of a 5-, 7- or 27-point stencil, {x, y, z} each.
local function neighbours(points)
  local list, depth = {}, points == 5 and 0 or 1
  for z = -depth, depth do
    for y = -1, 1 do
      for x = -1, 1 do
        if points == 27 or math.abs(x) + math.abs(y) + math.abs(z) <= 1 then
          list[#list + 1] = {x, y, z}
        end
      end
    end
  end
  return list
end

-- A matrix of a stencil on a grid with random diagonals.
local function varied(points, nx, ny, nz)
  local offsets = {}
  for d, n in ipairs(neighbours(points)) do
    offsets[d] = (n[3] * ny + n[2]) * nx + n[1]
  end
  return dia.banded(nx * ny * nz, offsets)
end

-- A symmetric matrix of a stencil: each diagonal below the main one has the
-- values of its mirror above.
local function symmetric(points, nx, ny, nz)
  local M = varied(points, nx, ny, nz)
  for below = 1, points // 2 do
    local above = points + 1 - below
    local k = M.host.offsets[above]
    M.values:copy(M.values, {from = {above, 1}, size = {1, M.rows - k},
      to = {below, k + 1}})
  end
  return M
end

-- A matrix of a stencil with points - 1 on the diagonal, -1 for a neighbour.
local function constant(points, nx, ny, nz)
  local M, sizes = varied(points, nx, ny, nz), {nx, ny, nz}
  local values = M.host.values
  M.nnz = 0
  for d, n in ipairs(neighbours(points)) do
    local start, stride, count = (d - 1) * M.pitch, 1, 1
    values:fill(M.host.offsets[d] == 0 and points - 1 or -1, start + 1,
      start + M.rows)
    for axis, size in ipairs(sizes) do
      if n[axis] ~= 0 then -- 0 where the neighbour is beyond the grid
        local at = n[axis] < 0 and 0 or size - 1
        for k = 1, stride == 1 and 1 or M.rows // (stride * size) do
          local first = start + ((k - 1) * size + at) * stride
          if stride == 1 then
            values:fill(0, first + 1, start + M.rows, size)
          else
            values:fill(0, first + 1, first + stride)
          end
        end
      end
      stride, count = stride * size, count * (size - math.abs(n[axis]))
    end
    M.nnz = M.nnz + count
  end
  M.values:write(values)
  return M
end

-- A product with M, a subject, beside cuSPARSE's answer to a request.
local function cusparse(row, M, ours, request)
  local other, kind = cuda:subject(request)
  row.unit, row.amount, row.peer_amount = "GFLOPS", 2.0 * M.nnz, 2.0 * M.nnz
  row.peer = "cuSPARSE"
  if not other then
    return unmeasured(row, kind)
  end
  local way, others = kind:match "([^;]*);? ?(.*)"
  row.peer = "cuSPARSE " .. way
  row.note = row.note or others ~= "" and others or nil
  races:run(row, ours, other, "event")
end

-- A matrix times a vector beside the copy, and beside cuSPARSE. A packed
-- matrix has fewer bytes than the copy moves: that race has no goal. The
-- adjective and the note describe the matrix.
local function sparse_race(M, points, nx, ny, nz, goal, adjective, note)
  local packed = M.format == "packed"
  local x = cl.buffer("float", M.cols, cl.array("float", M.cols):random(3))
  local operands = {M = M, x = x}
  local chosen = spmv.plan(M, x)
  local name = chosen.rung.name
  local plan, e = peers.plan(spmv, name, operands, chosen.params)
  local work = ("SpMV %d-point %s%.3gM"):format(points, adjective or "",
    M.rows / 1e6)
  if not plan then
    return unmeasured({work = work, rung = name, peer = "copy"}, e)
  end
  local ours = peers.rotated(spmv, name, operands, chosen.params)
  local copy, moved = peers.copier()
  races:run({work = work, rung = name, peer = "copy", unit = "GB/s",
    goal = not packed and (gpu and 0.95 or 0.9) or nil, peer_amount = moved,
    error = e, note = note,
    amount = spmv.bytes(plan.rung, plan.shape, plan.params)}, ours, copy,
    gpu and "event" or "wall")
  for _, format in ipairs(cuda and {"csr", "sell"} or {}) do
    cusparse({work = work, rung = name, goal = goal, error = e, note = note},
      M, ours, ("%s %d %d %d %d"):format(format, points, nx, ny, nz))
  end
  if not cuda then
    unmeasured({work = work, rung = name, peer = "cuSPARSE"}, no_cuda)
  end
end

-- The kernel of a plain call, in CSR and packed, of each of ten patterns
-- beside cuSPARSE, which reads the matrix from a file; both back to back.
local function patterns()
  if not cuda then
    return unmeasured({work = "SpMV of ten patterns", rung = "csr_packed",
      peer = "cuSPARSE"}, no_cuda)
  end
  for _, type in ipairs{"float", "double"} do
    local entries = scaled((1 << 26) // cl.typesize(type))
    for pattern, _, make in require "lib.patterns"(entries, type) do
      local M <close> = make()
      local P <close> = M:pack()
      local x <close> = cl.buffer(type, M.cols, cl.array(type, M.cols)
        :random(3))
      local path, _ <close> = file.temporary()
      local f <close> = assert(io.open(path, "wb"))
      for _, part in ipairs{"row_ptr", "col_ind", "values"} do
        M.host[part]:writefile(f)
      end
      f:close()
      for _, form in ipairs{M, P} do
        local chosen = spmv.plan(form, x)
        local name = chosen.rung.name
        local operands = {M = form, x = x}
        local plan, e = peers.plan(spmv, name, operands, chosen.params)
        local row = {work = ("SpMV %s %s"):format(pattern, type), rung = name,
          goal = form == P and 1 or nil, error = plan and e}
        if plan then
          cusparse(row, M, timer.new(cl.context(), {function()
            return plan()
          end}), ("csr %d %d %d %s"):format(cl.typesize(type), M.rows, M.nnz,
            path))
        else
          unmeasured(row, e)
        end
      end
      collectgarbage()
    end
  end
end

local function sparse()
  local count = scaled(gpu and 1 << 24 or 1 << 22)
  for _, points in ipairs{5, 7, 27} do
    local side = math.floor((points == 5 and count^(1 / 2) or count^(1 / 3))
      + 0.999)
    local nx, ny, nz = side, side, points == 5 and 1 or side
    local function race(M, ...)
      local matrix <close> = M
      sparse_race(matrix, points, nx, ny, nz, ...)
      collectgarbage()
    end
    local function packed(make)
      local M <close> = make(points, nx, ny, nz)
      return M:pack()
    end
    race(varied(points, nx, ny, nz), 2.3)
    race(packed(symmetric), 2.3, "sym. ",
      "symmetric, of variable coefficients")
    race(packed(constant), 4, nil, "of constant diagonals")
  end
  patterns()
end

local function transposes()
  for _, type in ipairs{"float", "double"} do
    for _, size in ipairs(gpu and {8192, 16384} or {4096}) do
      local n = scaled(size)
      local A <close> = matrix.random(n, n, {type = type, seed = 1})
      local chosen = transpose.plan(A)
      local name = chosen.rung.name
      local row = {work = ("transpose %d %s"):format(n, type), rung = name,
        peer = "copy", unit = "GB/s", goal = gpu and 0.95 or 0.8,
        amount = 2 * n * n * (type == "float" and 4 or 8)}
      local plan, e = peers.plan(transpose, name, {A = A}, chosen.params)
      if plan then
        local copy, moved = peers.copier()
        row.error, row.peer_amount = e, moved
        races:run(row, peers.rotated(transpose, name, {A = A},
          chosen.params), copy, gpu and "event" or "wall")
      else
        unmeasured(row, e)
      end
      collectgarbage()
    end
  end
end

-- peaks() beside clpeak, which runs before and after it.
local function peaks()
  races.progress:step("peaks beside clpeak")
  local names, ours = {"fma_float", "fma_double", "read"}, {}
  local theirs, missing = peers.clpeak(device)
  for _, name in ipairs(theirs and names or {}) do
    ours[name] = peak.get(name, nil, true)
  end
  local again = theirs and peers.clpeak(device) or {}
  for _, name in ipairs(names) do
    local row = {work = "peak " .. name, rung = "peaks()", peer = "clpeak",
      goal = 0.95, unit = name == "read" and "GB/s" or "GFLOPS",
      note = not theirs and "not measured: " .. missing or nil}
    if ours[name] and theirs[name] then
      local other = math.max(theirs[name], again[name] or 0)
      row.rate, row.peer_rate = ours[name] / 1e9, other / 1e9
      row.ratio = ours[name] / other
    end
    races:row(row)
  end
end

-- One kernel file by our event timers and by PyOpenCL's.
local function pyopencl()
  local n, tile = scaled(gpu and 2048 or 512), 16
  local row = product(("GEMM tiled %d"):format(n), "tiled", "PyOpenCL", 1,
    n, n, n)
  local program, reason = peers.program(cl.home
    .. "/tests/peers/pyopencl_peer.py", os.getenv("PYTHON") or "python3")
  local other
  if program then
    row.peer = program.version
    other, reason = program:subject(("gemm %s %d %d %s"):format(cl.home
      .. "/kernels/gemm/tiled.cl", n, tile, device.name))
  end
  if not other then
    return unmeasured(row, ("not measured: %s; PYTHON=... chooses another "
      .. "Python"):format(reason))
  end
  local plan, e = peers.plan(gemm, "tiled", {A = matrix.random(n),
    B = matrix.random(n, n, {seed = 2})}, {tile = tile})
  if plan then
    row.error = e
    races:run(row, timer.new(cl.context(), {plan}), other, "event")
  else
    unmeasured(row, e)
  end
  program:close()
end

local run = {curve = curve, gemm = gpu and gemm_gpu or gemm_cpu,
  clblast = clblast, spmv = sparse, transpose = transposes, peaks = peaks,
  pyopencl = pyopencl}
for _, name in ipairs{"curve", table.unpack(PARTS)} do
  if wanted(name) then
    run[name]()
  end
end
