-- hostscans.lua - scans and reductions of Arrays by operators of one's own,
-- and the OpenCL C in which they are said: against the device
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local formula = require "clshell.arrays.formula"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local function list(x)
  local h = cl.class(x) == "Array" and x or x:read()
  return h:reshape(#h):table()
end

local BINARY = {"+", "-", "*", "|", "^", "&", "==", "!=", "<", "<=", ">",
  ">=", "&&", "||", "/ 3 +", "% 4 -", "<< 2 ^", ">> 1 |"}
local UNARY = {"-", "~", "!", "+", "- -"}

-- A random text, without what C leaves undefined for small integers.
local function random(depth)
  local kind = depth > 0 and math.random(9) or math.random(7, 9)
  if kind < 4 then
    return ("%s %s %s"):format(random(depth - 1), BINARY[math.random(#BINARY)],
      random(depth - 1))
  elseif kind < 6 then
    return ("%s(%s)"):format(({"", "-", "(int)", "~", "(short)"})[
      math.random(5)], random(depth - 1))
  elseif kind == 6 then
    return math.random(2) == 1 and ("(%s ? %s : %s)"):format(random(depth - 1),
      random(depth - 1), random(depth - 1))
      or ("%s(%s, %s)"):format(math.random(2) == 1 and "min" or "max",
      random(0), random(0))
  elseif kind == 7 then
    return tostring(math.random(0, 9))
  end
  return (math.random(3) == 1 and UNARY[math.random(#UNARY)] or "")
    .. (kind == 8 and "a" or "b")
end

t.test("a text gives on the host what it gives on the device", function()
  local a = cl.array("int", 300):random(t.seed, -9, 9)
  local b = cl.array("int", 300):random(t.seed + 1, -9, 9)
  local A <close> = cl.buffer("int", 300, a)
  local B <close> = cl.buffer("int", 300, b)
  local texts, lines = {}, {}
  for k = 1, 25 do
    repeat
      texts[k] = random(3)
    until texts[k]:find "a" and texts[k]:find "b"
    lines[k] = ("int z%d = %s;"):format(k, texts[k])
  end
  local found = {cl.map(table.concat(lines, "\n"), {a = A, b = B})}
  for k, source in ipairs(texts) do
    local h = formula("test", source, {a = true, b = true}){a = a, b = b}
    t.eq(list(h:astype "int"), list(found[k]), ("%s, seed %d"):format(source,
      t.seed))
  end
end)

t.test("reals, constants and numbers", function()
  local x = cl.array("float", 3, {0.25, -4, 9})
  for source, want in pairs{
    ["x * 2"] = {0.5, -8.0, 18.0}, ["x / 2.0f"] = {0.125, -2.0, 4.5},
    ["fabs(x) + .5"] = {0.75, 4.5, 9.5}, ["sqrt(fmax(x, 0x4))"] = {2, 2, 3},
    ["x > 1e0 ? INFINITY : -x"] = {-0.25, 4.0, math.huge},
    ["isnan(x) ? 1 : x < FLT_MAX"] = {1, 1, 1},
    ["clamp(x, -1.0f, +1.0f)"] = {0.25, -1.0, 1.0},
    ["(int)x % 3"] = {0, -1, 0}, ["(uchar)(int)x / 2u"] = {0, 126, 4},
    ["!x"] = {0, 0, 0}, ["x && !0"] = {1, 1, 1},
    ["-7 / 2 + (int)x"] = {-3, -7, 6}, ["mad(x, 2, 1)"] = {1.5, -7, 19},
  } do
    local got = formula("test", source, {x = true}){x = x}
    t.eq(list(got), want, source)
  end
  t.eq(formula("test", " - 1.5e1f ", {}){}, -15.0)
  t.eq(formula("test", "LONG_MIN", {}){}, math.mininteger)
end)

local OPERATORS = {{"a + b", 0}, {"max(a, b)", "-100"}, {"min(a, b)", 100},
  {"b != 0 ? b : a", 0}, {"a ^ b", "0x0"}}

t.test("scans and reductions of every type", function()
  local TYPES = {"char", "uchar", "short", "ushort", "int", "uint", "long",
    "ulong"}
  local type = TYPES[math.random(#TYPES)]
  for _, n in ipairs{1, 2, 3, 700} do
    local h <close> = cl.array(type, n):random(t.seed, 0, 9)
    local x <close> = cl.buffer(type, n, h)
    for k, pair in ipairs(OPERATORS) do
      local what = ("%s of %d %s, seed %d"):format(pair[1], n, type, t.seed)
      for _, exclusive in ipairs{false, true} do
        local opts = {op = pair[1], identity = pair[2], exclusive = exclusive}
        if not (type:find "^u" and k == 2) then
          local got, want = h:scan(opts), x:scan(opts)
          t.eq({got.type, list(got)}, {want.type, list(want)}, what)
        end
      end
    end
  end
  local h = cl.array("int", {2, 3, 5}):random(t.seed, 1, 4)
  local x <close> = cl.buffer("int", h.shape, h)
  for dim = 1, 3 do
    local opts = {op = "a * b", identity = 1, dim = dim}
    local got, want = h:reduce(opts), x:reduce(opts)
    t.eq({got.shape, list(got)}, {want.shape, list(want)}, dim)
    for _, exclusive in ipairs{false, true} do
      opts.exclusive = exclusive
      got, want = h:scan(opts), x:scan(opts)
      t.eq({got.shape, list(got)}, {want.shape, list(want)}, dim)
    end
    opts.exclusive = nil
  end
  t.eq((h * 2):reduce{op = "max(a, b)", identity = 0}, (h * 2):max())
  t.eq(h:reduce{op = "a * b", identity = 1},
    x:reduce{op = "a * b", identity = 1})
  local half = cl.array("half", {2, 2}, {{1, 2}, {3, 4}})
  local sums = (half * 30000):scan{op = "a + b", identity = 0}
  t.eq({sums.type, sums.shape, list(sums)}, {"float", {2, 2},
    {30000.0, 90000.0, 180000.0, 300000.0}})
  t.eq(list(half), {1.0, 2.0, 3.0, 4.0}, "nothing is set")
end)

t.test("what is no text", function()
  local h = cl.array("int", 3, 1)
  for source, message in pairs{["a +"] = "an operand is missing at the end",
    ["a + c"] = "an operand is missing instead of 'c'; there are: a, b",
    ["a ++ b"] = "unexpected '++'",
    ["a ** b"] = "missing instead of '*'", ["a b"] = "unexpected 'b'",
    ["foo(a)"] = "no function 'foo' for Arrays", ["max(a)"] = "max takes 2",
    ["(a + b"] = "a ')' is missing at the end", ["a + b)"] = "unexpected ')'",
    ["a ? b"] = "a ':' is missing", [""] = "an operand is missing at the end",
    ["(a + b) * 1.0"] = false} do
    if message then
      t.raises(function() h:scan{op = source, identity = 0} end,
        "Array:scan", message, source)
    else
      t.eq(list(h:scan{op = source, identity = 0}), {1, 2, 3}, "cut, as in C")
    end
  end
  t.raises(function() h:reduce{op = "foo(a, b)", identity = 0} end,
    "all of OpenCL C runs on a Buffer")
  t.raises(function() h:scan{op = "a % b", identity = "x"} end, "'x'")
  t.raises(function() cl.array("float", 2):reduce{op = "a % b", identity = 1}
  end, "x % y takes integers; fmod(x, y) takes reals")
  t.raises(function() h:reduce{op = "a + b", identity = 0, dim = 2} end,
    "dim must be an integer from 1 to 1")
  t.raises(function() h:scan{op = "a + b"} end, "identity must be")
  t.raises(function() h:scan{identity = 0} end, "op must be a string")
  t.raises(function() h:scan{op = "a", identity = 0, dim = 2} end,
    "Array:scan: dim must be an integer from 1 to 1")
end)

t.done()
