-- transpose.lua - the transpose ladder: every rung over shapes, parameters
-- and types, bit for bit
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local t = require "t"
local cl = require "cl"
local ladder = require "ladder"
local transpose = require "clshell.transpose"

t.keeps("Program", "Kernel")
local device = t.device()

local SHAPES = {{1, 1}, {7, 7}, {16, 16}, {17, 17}, {33, 33}, {64, 64},
  {100, 100}, {127, 65}, {1, 90}, {90, 1}, {131, 1030}}

local function case(type, rows, cols, gap)
  local A = cl.array(type, {rows, cols}):random(t.seed, -1, 1)
  local exact = cl.array(type, {cols, rows}, function(i, j)
    return A:at(j, i)
  end)
  local B = cl.array(type, {cols, rows})
  return {
    name = ("%s %dx%d%s"):format(type, rows, cols, gap > 0 and " ld" or ""),
    A = ladder.matrix(A, gap), B = ladder.matrix(B, gap > 0 and gap + 1 or 0),
    exact = exact,
  }
end

local cases = {}
for _, type in ipairs(ladder.types(device)) do
  cases[type] = {}
  for _, shape in ipairs(SHAPES) do
    table.insert(cases[type], case(type, shape[1], shape[2], 0))
  end
  table.insert(cases[type], case(type, 127, 65, 3))
  table.insert(cases[type], case(type, 64, 64, 4))
end

-- One configuration on one matrix. Returns the reason where the device
-- refuses, which the call has to raise as well.
local function try(rung, p, c)
  local what = ("%s %s"):format(rung.name, c.name)
  for name, value in pairs(p) do
    what = ("%s %s=%s"):format(what, name, value)
  end
  local opts = {kernel = rung.name, B = c.B}
  for name, value in pairs(p) do
    opts[name] = value
  end
  local fine, reason = transpose.check(rung.name, p, {A = c.A})
  if not fine then
    t.raises(function() transpose(c.A, opts) end, "refused: " .. reason)
    return reason
  end
  c.B:fill(0 / 0)
  transpose(c.A, opts)
  local got <close> = c.B:read()
  local same, at = got:equal(c.exact)
  t.ok(same, not same and ("%s: element %d is %s, not %s"):format(what, at,
    got[at], c.exact[at]))
  t.ok(ladder.gaps_kept(c.B), what .. ": wrote beside the matrix")
end

for _, item in ipairs(transpose.kernels()) do
  local types = ladder.types(device)
  for part, type in ipairs(types) do
    t.test(item.name .. " " .. type, function()
      ladder.try(item.rung, t.seed, function(p)
        local reason
        for _, c in ipairs(cases[type]) do
          reason = try(item.rung, p, c) or reason
        end
        return reason
      end, part, #types)
    end)
  end
end

t.test("without options, from host data", function()
  local B = transpose{{1, 2, 3}, {4, 5, 6}}
  t.eq(B:read():table(), {{1, 4}, {2, 5}, {3, 6}})
end)

t.test("one wrong bit is found", function()
  local verify = require "clshell.ladder.verify"
  local A = cl.array("float", {30, 20}):random(t.seed)
  local B = host.transpose_loop(A)
  local truth = verify.transpose(A)
  t.ok(verify.judge(B, truth).ok)
  B:set(20, 30, B:at(20, 30) * (1 + 2^-23))
  local r = verify.judge(B, truth)
  t.ok(not r.ok)
  t.eq({r.err, r.row, r.col}, {1, 20, 30})
end)

t.test("misuse is refused in words", function()
  local A = cl.buffer("float", {3, 4}, 1)
  t.raises(function() transpose(A, {B = cl.buffer("float", {3, 4})}) end,
    "B is 3x4", "4x3")
  t.raises(function() transpose(A, {B = A}) end, "B is 3x4")
  local S = cl.buffer("float", {4, 4}, 1)
  t.raises(function() transpose(S, {B = S}) end, "share memory")
  t.raises(function() transpose(cl.buffer("float", 5)) end, "vector")
  t.raises(function() transpose(cl.buffer("int", {2, 2})) end,
    "one of float, double, half")
  t.raises(function() transpose() end, "A must be a Buffer", "got nothing")
  t.raises(function() transpose(A, 5) end, "table")
end)

t.done()
