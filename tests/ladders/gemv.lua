-- gemv.lua - every rung of the products of a matrix and a vector, on shapes
-- that fit no work-group, transposed and not; views, beta, wrong operands
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local gemv = require "clshell.gemv"
local ladder = require "ladder"
local matrix = require "clshell.data.matrix"
local tiling = require "clshell.ladder.tiling"
local tune = require "clshell.tune"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local TYPES = {"float", device:has "cl_khr_fp64" and "double" or nil}
local SHAPES = {{1, 1}, {1, 300}, {300, 1}, {7, 16}, {64, 64}, {129, 67},
  {67, 1030}, {1030, 67}}
local TRANSPOSED = {columns = true, split = true, strips = true,
  nv_strips = true, simd_split = true}

-- NVIDIA's rungs on any device whose work-groups can wait for earlier ones.
t.test("the last work-group adds the parts that all have told", function()
  local why = tiling.mute(device)
  t.skip_if(why, why)
  local _ <close> = t.swap(tiling, "lacks", function() end)
  for _, type in ipairs(TYPES) do
    for _, shape in ipairs{{1, 1}, {3, 5001}, {300, 1}, {67, 1030}} do
      for _, beta in ipairs{0, -1.5} do
        ladder.verified(gemv, "nv_rows", {wg = 32, height = 2, fill = 16},
          {shape[1], shape[2], type = type, beta = beta})
        ladder.verified(gemv, "nv_strips", {lx = 4, ly = 16, fill = 16},
          {shape[2], shape[1], type = type, beta = beta, trans = true})
      end
    end
  end
  local A, x = cl.random({3, 5001}, {seed = 1}), cl.random(5001, {seed = 2})
  local opts = {kernel = "nv_rows", wg = 32, height = 2, fill = 16}
  local first = gemv(A, x, opts):read():tobytes()
  opts.y = cl.buffer("float", 3)
  for _ = 1, 5 do -- each launch has another mark, the order is the same
    t.eq(gemv(A, x, opts):read():tobytes() == first, true)
  end
end)

for _, rung in ipairs(gemv.list) do
  local trans = TRANSPOSED[rung.name] or false
  t.test(rung.name .. ": every type and shape, with alpha and beta", function()
    for _, type in ipairs(TYPES) do
      for _, shape in ipairs(SHAPES) do
        for _, beta in ipairs{0, -1.5} do
          local r = ladder.verified(gemv, rung.name, nil, {shape[1],
            shape[2], type = type, trans = trans, alpha = 0.5, beta = beta})
          t.eq(r.bound, verify.bound(type, shape[trans and 1 or 2]))
        end
      end
    end
  end)

  t.test(rung.name .. ": every value of every parameter", function()
    ladder.each_value(gemv, rung.name, {{270, 99, trans = trans},
      {5, 1029, trans = trans}})
  end)

  t.test(rung.name .. ": a view, whose rows have gaps", function()
    for _, ld in ipairs{67, 68, 80} do
      local A = matrix.random(40, ld, {seed = 3})
      local o = {A = A:sub(1, 1, 33, 66), trans = trans}
      o.x = matrix.random(1, trans and 33 or 66, {seed = 4}):reshape(
        trans and 33 or 66)
      if gemv.check(rung.name, nil, o) then
        local r = gemv.verify(rung.name, nil, o)
        t.ok(r.ok, ("%s, ld = %d: %s"):format(rung.name, ld, r.err))
      end
    end
  end)

  t.test(rung.name .. ": a wrong way round is refused in words", function()
    local ok, why = gemv.check(rung.name, nil, {4, 4, trans = not trans})
    t.eq({ok, why}, {nil, trans and "for A transposed: trans = true"
      or "for A as it stands, here it is transposed"})
  end)
end

local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})

t.test("calls without the name of a kernel", function()
  local y, event = gemv(A, {1, 1, 1})
  t.eq(y:read():table(), {6, 15})
  event:wait()
  t.eq(gemv(A, {1, 2}, {trans = true}):read():table(), {9, 12, 15})
  t.eq(gemv({{2}}, {3}):read()[1], 6.0)
  local out = cl.buffer("float", 2, {1, 2})
  t.eq(gemv(A, {1, 0, 0}, {y = out, alpha = 2, beta = 10}), out)
  t.eq(out:read():table(), {12, 28})
  gemv(A, {1, 0, 0}, {y = out, alpha = 2, beta = 10}) -- a plan that is kept
  t.eq(out:read():table(), {122, 288})
  local long = matrix.ones(3, 5000)
  t.eq(gemv(long, matrix.ones(1, 5000)):read():table(), {5000, 5000, 5000})
  t.eq(gemv(long, {1, 2, 3}, {trans = true}):read()[5000], 6.0)
end)

t.test("with beta = 0, y is not read: NaN there does not count", function()
  for _, k in ipairs(gemv.kernels()) do
    local trans = TRANSPOSED[k.name] or false
    local y = cl.buffer("float", trans and 3 or 2)
    y:fill(0 / 0)
    if gemv.check(k.name, nil, {2, 3, trans = trans}) then
      gemv(A, trans and {1, 1} or {1, 1, 1},
        {kernel = k.name, y = y, trans = trans})
      t.eq(y:read()[1], trans and 5.0 or 6.0)
    end
  end
end)

t.test("wrong operands are told in words", function()
  local raises = ladder.raises(gemv)
  raises("gemv: A must be a matrix; got a vector of 2 float", {1, 2}, {1})
  raises("gemv: x must be a Buffer, an Array or a nested table; got nothing",
    A)
  raises("gemv: x is a vector of 2 float, but its size must be 3", A,
    {1, 2})
  raises("gemv: x is a vector of 3 float, but its size must be 2", A,
    {1, 2, 3}, {trans = true})
  raises("gemv: y is missing: the result depends on its content", A,
    {1, 2, 3}, {beta = 1})
  raises("gemv: y is 3 elements, but the result is 2", A, {1, 2, 3},
    {y = cl.buffer("float", 3)})
  raises("gemv: the type must be one of float, double; got \"int\"",
    cl.buffer("int", {1, 1}), {1})
  raises('gemv: trans must be one of false, true; got "T"', A, {1, 2, 3},
    {trans = "T"})
  raises("for A transposed: trans = true", A, {1, 2, 3}, {kernel = "split"})
  local square = cl.buffer("float", {3, 3})
  raises("gemv: y must not share memory with A", square, {1, 2, 3},
    {y = square:view(1, 3)})
end)

t.test("bench, tune, lesson and the way of a choice", function()
  local r = bench("gemv", {50, 40}, nil, {seconds = 0.02})
  t.eq({r.family, r.title, r.ok, r.mode, r.bytes, r.flop}, {"gemv",
    "50x40 float", true, "cold", 4 * (2000 + 40 + 50), 4000})
  r = bench("gemv", {50, 40, trans = true, beta = 1}, nil, {seconds = 0.02})
  t.eq({r.title, r.ok, r.bytes, r.shape.trans}, {"50x40 float trans=true",
    true, 4 * (2000 + 50 + 2 * 40), 1})
  t.ok(TRANSPOSED[r.kernel], r.kernel)
  t.ok(not TRANSPOSED[gemv.choice{50, 40}.rung])
  t.eq(bench("gemv.plain_c", {50, 40}).ok, true)
  t.eq(tune("gemv.naive", {50, 40}, {evaluations = 2}).title, "50x40 float")
  ladder.lessons(gemv, {"naive", "group", "lanes", "vector"}, {wg = 32},
    {64, 64}, "group over naive")
end)

t.test("the traffic model sees neighbours that read a row apart", function()
  local traffic = require "clshell.explain.traffic"
  local warps, bytes = {nv_warp_size = 32}, {}
  for _, name in ipairs{"naive", "group", "vector"} do
    local s = gemv.spec.shape{rows = 1024, cols = 1024}
    bytes[name] = traffic.of({defines = {}}, gemv.rung(name), warps, s,
      {wg = 128, width = 4, height = 4}).global
  end
  t.ok(bytes.naive > 4 * bytes.group, bytes.naive)
  t.ok(bytes.vector < bytes.group, bytes.vector) -- x once for four rows
end)

t.test("help", function()
  ladder.pages(gemv, "vector", "gemv(A, x [, opts]) -> y, event",
    "simd_split")
end)

t.done()
