-- host.lua - calculations on Arrays: the same operators and methods as on
-- Buffers, with the same results
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local names = require "clshell.arrays.names"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local double = cl.device():has "cl_khr_fp64"
local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
  "ulong", "half", "float", double and "double" or nil}
local BITS = {char = 7, uchar = 8, short = 15, ushort = 16, int = 31,
  uint = 32, long = 63, ulong = 64}
local LOSS = {half = 2e-3, float = 2e-4, double = 1e-9}
local N = 600 -- more than one run of elements

local function list(x)
  local h = cl.class(x) == "Array" and x or x:read()
  return h:reshape(#h):table()
end

-- Random numbers of a type: small ones, its ends, and any.
local function random(type)
  local values, bits = {}, BITS[type]
  for i = 1, N do
    local kind = math.random(3)
    if not bits then
      values[i] = kind == 1 and math.random(-3, 3) or math.random() * 8 - 4
    elseif kind == 1 then
      values[i] = math.random(0, 9)
    else
      local most = bits == 64 and -1 or (1 << bits) - 1
      local least = type:find "^u" and 0 or -most - 1
      values[i] = kind == 2 and (math.random(2) == 1 and most or least)
        or bits > 62 and math.random(0) or math.random(least, most)
    end
  end
  return values
end

-- A random operation on operands of one class: f(x, y, z).
local UNARY = {"abs", "unm", "isnan", "isfinite", "signbit"}
local BINARY = {"+", "-", "*", "/", "//", "%", "eq", "ne", "lt", "le", "gt",
  "ge", "fmin", "fmax", "&", "|", "~", "<<", ">>"}
local OPERATORS = {}
for _, sign in ipairs(BINARY) do
  OPERATORS[sign] = not sign:find "%a" and assert(load(
    "local x, y = ... return x " .. sign .. " y")) or nil
end

-- Where devices may differ: undefined, less exact near poles, or, as products
-- may be fused with sums, where those cancel.
local SKIP = {lgamma = true, tgamma = true, logb = true, exp10 = true,
  mad = true, mix = true}

local function operations()
  local all = {}
  for _, name in ipairs(UNARY) do
    all[#all + 1] = {name, function(x)
      return name == "unm" and -x or x[name](x)
    end}
  end
  for _, name in ipairs(BINARY) do
    all[#all + 1] = {name, OPERATORS[name] or function(x, y)
      return x[name](x, y)
    end}
  end
  all[#all + 1] = {"clamp", function(x, y, z) return x:clamp(y, z) end}
  all[#all + 1] = {"where", function(x, y, z) return x:where(y, z) end}
  for _, lists in ipairs{names.math, names.integers} do
    for n, list_of in ipairs(lists) do
      for _, name in ipairs(list_of) do
        all[#all + 1] = not SKIP[name] and {name, function(x, y, z)
          return x[name](x, n > 1 and y or nil, n > 2 and z or nil)
        end} or nil
      end
    end
  end
  for _, type in ipairs(TYPES) do
    all[#all + 1] = {"astype " .. type, function(x)
      return x:astype(type)
    end}
  end
  return all
end

local function same(got, want, type, what)
  for i = 1, N do
    local x, y = got[i], want[i]
    if LOSS[type] and x == x and y == y and math.abs(x) < math.huge
        and math.abs(y) < math.huge then
      t.near(x, y, LOSS[type], what)
    else
      t.ok(x == y or x ~= x and y ~= y, ("%s: element %d: %s, %s"):format(what,
        i, x, y))
    end
  end
end

t.test("an operation gives on the host what it gives on the device",
  function()
    local all = operations()
    t.ok(#all > 90, #all)
    local tries = tonumber(os.getenv "CLSHELL_TRIES") or 40
    for _ = 1, math.min(tries, #all) do
      local name, f = table.unpack(table.remove(all, math.random(#all)))
      local done
      for _ = 1, 20 do
        local host, device, kinds = {}, {}, {}
        for k = 1, 3 do
          kinds[k] = TYPES[math.random(#TYPES)]
          local values = random(kinds[k])
          host[k] = cl.array(kinds[k], N, values)
          device[k] = cl.buffer(kinds[k], N, host[k])
        end
        local fine, e = pcall(f, table.unpack(host))
        local ok, d = pcall(f, table.unpack(device))
        local what = ("%s of %s, seed %d"):format(name, table.concat(kinds,
          ", "), t.seed)
        t.eq(fine, ok, what)
        if fine then
          t.eq(e.type, d.type, what)
          same(list(e), list(d), d.type, what)
          done = true
          break
        end
      end
      t.ok(done, name .. ": no types found")
    end
  end)

t.test("Arrays calculate without a device", function()
  local a = cl.array("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
  local row = cl.array("int", 3, {10, 20, 30})
  local e = 2 * a + row
  t.eq({tostring(e), list(e)}, {"Expression float[2][3]",
    {12.0, 24.0, 36.0, 18.0, 30.0, 42.0}})
  a[1] = 7
  t.eq(e:eval():at(1, 1), 24.0, "calculated when it is needed")
  t.eq(a:set(a:shift(1, 1)), a)
  t.eq(list(a), {6.0, 4.0, 5.0, 3.0, 7.0, 2.0})
  a:slice({}, 2):set(0)
  a:reshape(6):set(a:reshape(6):slice(-1, 1, -1)) -- the same memory
  t.eq(list(a), {2.0, 0.0, 3.0, 5.0, 0.0, 6.0})
  a:set(2, 3, -1):axpy(2, a:clone())
  t.eq(list(a:transpose()), {6.0, 15.0, 0.0, 0.0, 9.0, -3.0})
  t.eq(list(row:tile(2)), {10, 20, 30, 10, 20, 30})
  t.eq(list(cl.stack{row, row * 2}), {10, 20, 30, 20, 40, 60})
  t.eq({list(row:set(5)), row:gt(4):where(1, 0):eval().type},
    {{5, 5, 5}, "int"})
  local into = cl.array("double", 3)
  t.eq({(row / 2):read(into), into[3]}, {into, 2.5})
  local x = cl.array("float", 6, {-1.9, 300, 0 / 0, 1e30, -1e30, 3.5})
  t.eq(list(x:astype "uchar"), {0, 255, 0, 255, 0, 3})
  t.eq(list(x:astype "long"), {-1, 300, 0, math.maxinteger, math.mininteger,
    3})
  t.eq(list(x:astype "half":astype "int"), {-1, 300, 0, (1 << 31) - 1,
    -(1 << 31), 3})
  t.eq(list(x:slice(2, 2):mix(2, 0.5):mad(2, 1)), {303.0})
  local many = cl.array("uchar", 1000):random(t.seed, 0, 9)
  local sum = many:clone()
  for _ = 1, 20 do
    sum = (sum + many):astype "uchar":eval()
  end
  t.eq(sum[777], many[777] * 21)
end)

t.test("what Arrays cannot be", function()
  local a = cl.array("int", 3, 1)
  local b <close> = cl.buffer("int", 3, 1)
  for _, f in ipairs{function() return a + b end,
      function() return b:where(1, a) end, function() b:axpy(2, a) end} do
    t.raises(f, "an Array beside a Buffer", "cl.buffer(h.type, h.shape, h)")
  end
  t.raises(function() b:set(a) end, "an Array beside a Buffer", "b:write(h)")
  t.raises(function() a:set(b) end, "an Array beside a Buffer", "b:read(h)")
  t.raises(function() a:set(0.5) end, "int take whole numbers; got 0.5")
  t.raises(function() a:set {} end, "a Buffer, an Array, an Expression or")
  t.raises(function() a:set() end, "takes 1 indexes; got 0")
  t.raises(function() return a + cl.array("float4", 3) end, 'b:as "float"')
  t.raises(function() return a < a end, "x:lt(y)")
  for x, get in pairs{[a] = "x[i], as", [b] = "x:read()", [b + 1] = "x:read()"}
  do
    t.raises(function() return x.T end, "'T'; here it is x:transpose()")
    t.raises(function() return x.get end, "'get'; here it is " .. get)
    t.raises(function() return x.summ end, "did you mean 'sum'?")
  end
  local k = cl.kernel "kernel void f(global int *x) { x[0] = 1; }"
  t.raises(function() k:range(1)(a + 1) end,
    "a launch takes Buffers; got an Expression int[3] of Arrays")
  local e = a + 1
  a:close()
  t.raises(function() e:eval() end, "the Array int[3] of the expression is")
  local A = cl.array("float", {2, 2}, {{1, 2}, {3, 4}})
  t.eq(list((gemm(2 * A, matrix.identity(2)))), {2.0, 4.0, 6.0, 8.0})
end)

t.test("calculate checks its places", function()
  local host = require "cl.host"
  local a = cl.array("int", 4)
  local function try(place)
    local at = {array = a, start = 0, strides = {1}, by = {}}
    for name, value in pairs(place) do
      at[name] = value
    end
    at.op, at.type = "leaf", "int"
    return host.calculate({4}, {array = a, start = 0, strides = {1}, by = {}},
      {at})
  end
  try{}
  for _, place in ipairs{{start = 1}, {start = -1}, {strides = {2}},
      {strides = {-1}}, {start = math.maxinteger, strides = {1}},
      {by = {{first = 4, step = 1, size = 4}}},
      {by = {{first = 0, step = 3, size = 4}}}} do
    t.raises(function() try(place) end, "outside the Array")
  end
  t.raises(function() host.calculate({4}, {}, {}) end)
  t.raises(function() host.calculate({4, 4, 4, 4, 4, 4, 4, 4, 4},
    {array = a}, {}) end, "1 to 8 dimensions")
end)

t.done()
