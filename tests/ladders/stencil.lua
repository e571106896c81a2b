-- stencil.lua - every rung of the 5-point stencils, on shapes that fit no
-- work-group, with gaps between rows; the edges; weights; wrong operands
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local ladder = require "ladder"
local matrix = require "clshell.data.matrix"
local stencil = require "clshell.stencil"
local tune = require "clshell.tune"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel", "Launch")
local device = t.device()

local TYPES = {"float", device:has "cl_khr_fp64" and "double" or nil}
local SHAPES = {{1, 1}, {1, 70}, {70, 1}, {2, 2}, {3, 3}, {17, 33}, {64, 64},
  {35, 132}, {130, 67}}
local WEIGHTS = {centre = -3, left = 0.5, right = 2, up = -1, down = 1.25}

local function weighted(rows, cols, type)
  local s = {rows, cols, type = type}
  for key, value in pairs(WEIGHTS) do
    s[key] = value
  end
  return s
end

for _, rung in ipairs(stencil.list) do
  t.test(rung.name .. ": every type and shape, five weights", function()
    for _, type in ipairs(TYPES) do
      for _, shape in ipairs(SHAPES) do
        t.eq(ladder.verified(stencil, rung.name, nil, weighted(shape[1],
          shape[2], type)).bound, verify.bound(type, 9))
      end
    end
  end)

  t.test(rung.name .. ": every value of every parameter", function()
    ladder.each_value(stencil, rung.name, {weighted(75, 140)})
  end)

  t.test(rung.name .. ": rows with gaps, in A and in B", function()
    for _, ld in ipairs{41, 44} do
      local A = matrix.random(30, ld, {seed = 2}):sub(1, 1, 30, 39)
      local B = matrix.zeros(30, ld + 8)
      local o = {A = A, B = B:sub(1, 1, 30, 39)}
      t.skip_if(not stencil.check(rung.name, nil, o), "refused")
      local r = stencil.verify(rung.name, nil, o)
      t.ok(r.ok, ("%s, ld = %d: %s"):format(rung.name, ld, r.err))
      t.eq(B:read():at(1, 40), 0.0)
      t.eq(B:read():at(29, ld + 8), 0.0)
    end
  end)
end

t.test("the edges are those of A, an element inside is its sum", function()
  local A = cl.buffer("float", {3, 4}, {{1, 2, 3, 4}, {5, 60, 70, 8},
    {9, 10, 11, 12}})
  local B, event = stencil(A, {centre = 1, left = 10, right = 100, up = 1000,
    down = 10000})
  t.eq(B:read():table(), {{1, 2, 3, 4}, {5, 60 + 50 + 7000 + 2000 + 100000,
    70 + 600 + 800 + 3000 + 110000, 8}, {9, 10, 11, 12}})
  event:wait()
  t.eq(stencil{{1, 2}, {3, 4}}:read():table(), {{1, 2}, {3, 4}})
  local out = cl.buffer("float", {3, 4})
  t.eq(stencil(A, {B = out}), out)
  t.eq(out:read():at(2, 2), (2 + 5 + 70 + 10) / 4)
end)

t.test("NaN and infinity stay where they are at the edge", function()
  local A = matrix.ones(20, 20)
  A:write(cl.array("float", {20, 20}, function(i, j)
    return i == 1 and j == 1 and 0 / 0 or 1
  end))
  for _, k in ipairs(stencil.kernels()) do
    if stencil.check(k.name, nil, {20, 20}) then
      local B = stencil(A, {kernel = k.name}):read()
      t.ok(B:at(1, 1) ~= B:at(1, 1), k.name)
      t.eq({B:at(1, 2), B:at(2, 1), B:at(2, 2)}, {1.0, 1.0, 1.0}, k.name)
    end
  end
end)

t.test("wrong operands are told in words", function()
  local A = matrix.ones(4, 4)
  local raises = ladder.raises(stencil)
  raises "stencil: A must be a Buffer, an Array or a nested table; got nothing"
  raises("stencil: A must be a matrix; got a vector of 3 float", {1, 2, 3})
  raises("stencil: B must not share memory with A", A, {B = A})
  raises("stencil: B is 4x3, but the result is 4x4", A,
    {B = matrix.ones(4, 3)})
  raises('stencil: the type must be one of float, double; got "int"',
    cl.buffer("int", {2, 2}))
  raises("stencil: left must be a number; got much", A, {left = "much"})
  raises("unknown option 'middle'", A, {middle = 1})
end)

t.test("bench, tune and lesson", function()
  local r = bench("stencil", {40, 50}, nil, {seconds = 0.02})
  t.eq({r.family, r.title, r.ok, r.mode, r.bytes, r.flop}, {"stencil",
    "40x50 float", true, "cold", 2 * 4 * 2000, 9 * 38 * 48})
  t.eq(bench("stencil", {1, 1}, nil, {seconds = 0.02}).ok, true)
  t.eq(tune("stencil.rows", {40, 50}, {evaluations = 2}).title, "40x50 float")
  ladder.lessons(stencil, {"naive", "tiled", "rows", "vector"}, {lx = 32},
    {64, 64}, "vector over rows")
end)

t.test("help", function()
  ladder.pages(stencil, "vector", "stencil(A [, opts]) -> B, event",
    "Dirichlet")
end)

t.done()
