-- conv2d.lua - every rung of the convolutions, on images and filters of sizes
-- that fit no work-group; the edges, even sizes; wrong operands
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local conv2d = require "clshell.conv2d"
local ladder = require "ladder"
local matrix = require "clshell.data.matrix"
local tune = require "clshell.tune"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

-- Few filters: each is a build of its own for most rungs.
local SHAPES = {{1, 1, 3, 5}, {1, 90, 3, 5}, {90, 1, 3, 5}, {33, 70, 3, 5},
  {67, 130, 4, 12}, {5, 6, 9, 7}, {70, 300, 9, 7}}

local function verified(...)
  return ladder.verified(conv2d, ...)
end

-- Work-groups inside, at each edge, and with vectors cut by the last column.
t.test("slide: rows ahead, written out or not, inside and at the edges",
  function()
    local filters = {{3, 3}, {2, 4}, {7, 7}, {1, 9}}
    for i, p in ipairs{{height = 4, ahead = 1}, {height = 16, ahead = 3},
        {height = 8, ahead = 2, unroll = 0},
        {height = 4, ahead = 4, unroll = 0, width = 2}} do
      p.lx, p.ly = 16, 2
      for j = i, i + 1 do -- two filters each: each is a build
        local f = filters[j % #filters + 1]
        for _, cols in ipairs{256, 255, 258} do
          verified("slide", p, {70, cols, f[1], f[2]})
        end
      end
    end
  end)

for _, rung in ipairs(conv2d.list) do
  t.test(rung.name .. ": every shape", function()
    for _, shape in ipairs(SHAPES) do
      t.eq(verified(rung.name, nil, shape).bound, verify.bound("float",
        shape[3] * shape[4]))
    end
    if device:has "cl_khr_fp64" then
      verified(rung.name, nil, {33, 70, 3, 5, type = "double"})
    end
  end)

  t.test(rung.name .. ": the ends of every parameter", function()
    ladder.each_value(conv2d, rung.name, {{40, 140, 3, 5}}, true)
  end)

  t.test(rung.name .. ": rows with gaps, in all three", function()
    local A = matrix.random(30, 43, {seed = 2}):sub(1, 1, 30, 39)
    local F = matrix.random(3, 8, {seed = 3}):sub(1, 1, 3, 5)
    local B = matrix.zeros(30, 44)
    local o = {A = A, F = F, B = B:sub(1, 1, 30, 39)}
    t.skip_if(not conv2d.check(rung.name, nil, o), "refused")
    local r = conv2d.verify(rung.name, nil, o)
    t.ok(r.ok, ("%s: %s"):format(rung.name, r.err))
    t.eq(B:read():at(29, 40), 0.0)
  end)
end

t.test("the largest filters: written out or not, in constant memory or not",
  function()
    local why = select(2, conv2d.check("vector", {unroll = 1},
      {64, 64, 31, 31}))
    t.eq(why, "unroll = 1 takes filters of at most 128 elements; got 961")
    why = select(2, conv2d.check("slide", nil, {64, 64, 5, 13}))
    t.eq(why, "slide takes filters of at most 64 elements; got 65")
    why = select(2, conv2d.check("slide", {height = 64, width = 4, unroll = 1},
      {64, 64, 5, 5}))
    t.eq(why, "unroll = 1 writes out 4096 multiply-adds at most; height 64 "
      .. "and width 4 with this filter are 6400")
    local shape = {40, 50, 31, 30}
    if conv2d.check("vector", {unroll = 0}, shape) then
      verified("vector", {unroll = 0}, shape)
    end
    verified(conv2d.choice(shape).rung, nil, shape)
    local most = device.max_constant_buffer_size
    if most <= 1 << 20 then
      local side = math.floor((most / 4)^(1 / 2)) + 1
      local ok, reason = conv2d.check("constant", nil, {2, 2, side, side})
      t.eq(ok, nil)
      t.ok(reason:find("the device's constant buffer", 1, true), reason)
      t.ok(conv2d.verify("naive", nil, {2, 2, side, side}).ok)
    end
  end)

t.test("the middle of a filter, odd and even, and the edges", function()
  local A = cl.buffer("float", {3, 3}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})
  local B, event = conv2d(A, {{0, 0, 0}, {0, 1, 0}, {0, 0, 0}})
  t.eq(B:read():table(), A:read():table())
  event:wait()
  t.eq(conv2d(A, {{0, 0, 0}, {0, 0, 1}, {0, 0, 0}}):read():table(),
    {{2, 3, 0}, {5, 6, 0}, {8, 9, 0}}) -- not turned round
  t.eq(conv2d(A, {{1, 10}, {100, 1000}}):read():at(1, 1),
    1.0 + 20 + 400 + 5000)
  t.eq(conv2d(A, {{1, 10}, {100, 1000}}):read():at(3, 3), 9.0)
  t.eq(conv2d({{2}}, {{3}}):read():at(1, 1), 6.0)
end)

t.test("wrong operands are told in words", function()
  local A = matrix.ones(4, 4)
  local raises = ladder.raises(conv2d)
  raises("conv2d: F must be a Buffer, an Array or a nested table; got nothing",
    A)
  raises("conv2d: F must be a matrix; got a vector of 3 float", A, {1, 2, 3})
  raises("conv2d: A is float, but F is double", A, cl.array("double", {1, 1}))
  raises("conv2d: B must not share memory with A", A, {{1}}, {B = A})
  raises("conv2d: B is 4x3, but the result is 4x4", A, {{1}},
    {B = matrix.ones(4, 3)})
  raises("unknown option 'pad'", A, {{1}}, {pad = 1})
end)

t.test("bench, tune and lesson", function()
  local r = bench("conv2d", {40, 50, 3, 5}, nil, {seconds = 0.02})
  t.eq({r.family, r.title, r.ok, r.mode, r.bytes, r.flop}, {"conv2d",
    "40x50x3x5 float", true, "cold", 4 * (2 * 2000 + 15), 2 * 2000 * 15})
  t.eq(tune("conv2d.naive", {40, 50, 3, 5}, {evaluations = 2}).title,
    "40x50x3x5 float")
  ladder.lessons(conv2d, {"naive", "constant", "tiled", "register"},
    {lx = 16, ly = 4}, {64, 64, 5, 5}, "constant over naive")
end)

t.test("help", function()
  ladder.pages(conv2d, "vector", "conv2d(A, F [, opts]) -> B, event", "zeros")
end)

t.done()
