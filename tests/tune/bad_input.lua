-- bad_input.lua - searches of what cannot be: constraints that are none, lists
-- that are too long, kernels that never build, references that are wrong, a
-- device that fails in the middle
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local scratch = require "scratch"
local store = require "clshell.store"
local tune = require "clshell.tune"

t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event")
t.device()
load(t.briefly)()
store.use "none"

local N = 64
local SOURCE = [[
kernel void scale(global const float *x, global float *y) {
  for (int k = 0; k < PER; k++)
    y[get_global_id(0) * PER + k] = 2 * x[get_global_id(0) * PER + k];
}]]

local function scale(changes)
  local what = {kernel = SOURCE, params = {per = {1, 2, 4}},
    quiet = true, evaluations = 9,
    range = function(p) return N // p.per end, check = cl.array("float", N, 6),
    args = {cl.buffer("float", N, 3), cl.buffer("float", N, 0)}}
  for name, value in pairs(changes or {}) do
    what[name] = value
  end
  return tune(what)
end

local function bad(changes, ...)
  return t.raises(function() scale(changes) end, ...)
end

t.test("constraints that are none", function()
  bad({where = "per % 2"}, "where 'per % 2' must be true or false; got 1")
  bad({where = function(p) return p.per - 1 end}, "constraint 1 (",
    "must be true or false; got ")
  bad({where = "per > nil"}, "where 'per > nil' raises: attempt to compare")
  bad({where = function() error "mine" end}, "bad_input.lua:", "mine")
  bad({where = function(p) return p.pre > 1 end}, "no parameter 'pre'",
    "did you mean 'per'")
  bad({where = function() end}, "no point meets the constraints")
  bad({where = "per > 9"}, "no point meets the constraints", "0 points, of 3 "
    .. "combinations of 1 parameter", "per > 9 refuses 100 %")
  bad({params = {per = {}}}, "params.per has no value")
end)

t.test("lists of ten million values raise at once", function()
  local list = {}
  for i = 1, 10000000 do
    list[i] = i
  end
  bad({params = {per = list}}, "params.per: a parameter has at most 1000000 "
    .. "values; got 10000000")
  bad({params = {per = "1..10000000"}}, "at most 1000000 values; got "
    .. "\"1..10000000\"")
end)

t.test("limits that are none", function()
  for _, name in ipairs{"seconds", "tolerance"} do
    for _, x in ipairs{0, -1, 0 / 0, "3", true} do
      bad({[name] = x}, name .. " must be a number > 0; got ")
    end
  end
  bad({seconds = "3"}, 'got "3"')
  for _, x in ipairs{0, -1, 1.5, 0 / 0, 1e300} do
    bad({evaluations = x}, "evaluations must be an integer >= 1; got ")
  end
  local best = scale{seconds = 1e-9}
  t.eq({best.evaluations, best.ended, best.ms}, {0, "time", nil})
  t.eq(#scale{seconds = 1e300}.rows, 3)
end)

t.test("a kernel that never builds: its first log, once", function()
  local best = scale{kernel = SOURCE .. "\nthis is no C;", params =
    {per = "1..8"}}
  local shown = tostring(best)
  t.eq(#best.winners, 0)
  t.ok(shown:find("8 failed builds: per=1: ", 1, true), shown)
  t.eq(select(2, shown:gsub("with%s+options", "")), 1, shown)
  t.ok(not shown:find "\n%d", shown) -- no line of a number alone
  t.narrow(shown)
end)

t.test("a wrong reference is doubted, a closed one refused", function()
  local best = scale{check = cl.array("float", N, 7)}
  t.eq({#best.winners, best.notes}, {0, {"all 3 results are wrong in the same "
    .. "way: the reference may be wrong"}})
  bad({check = cl.array("float", N, 0 / 0)}, "check has 64 NaNs")
  bad({check = cl.array("float", 3, 6)}, "check has 3 elements, the output 64")
  local closed = cl.array("float", N, 6)
  closed:close()
  bad({check = closed}, "check must be an open Array; it is closed")
  bad({check = function() return (nil).x end}, "bad_input.lua:",
    "attempt to index a nil value")
end)

t.test("functions that return nonsense", function()
  for _, x in ipairs{false, "x", -3, 0, 2.5, {}, {1, 1, 1, 1}, 1 << 62} do
    local best = scale{range = function() return x or nil end}
    t.eq({best.evaluations, #best.rows}, {0, 3})
    t.eq(best.rows[1].status, "refused")
    t.ok(best.rows[1].reason:find("^range: global"), best.rows[1].reason)
  end
  local most = cl.device().max_work_group_size
  local best = scale{range = function() return 64 * most, 64 * most end}
  t.eq({best.evaluations, best.rows[1].status}, {0, "refused"})
  bad({range = function() error "mine" end}, "bad_input.lua:", "mine")
  bad({defines = function() return 3 end},
    "defines must be a table of macros; got 3")
  bad({args = function() return 3 end}, "args(p) must return a list")
end)

t.test("a closed argument: rows with the reason", function()
  local x, y = cl.buffer("float", N, 3), cl.buffer("float", N, 0)
  x:close()
  local best = scale{args = {x, y}}
  t.eq({#best.winners, best.rows[1].status}, {0, "failed"})
  t.ok(best.rows[1].reason:find("this Buffer is closed", 1, true))
end)

t.test("names and values of any kind", function()
  bad({params = {per = {1}, PER = {2}}}, "PER and per are both the macro PER")
  bad({params = {per = {1}, ["a b"] = {2}}}, "a name has letters, digits")
  local best = scale{params = {per = {1}, ["local"] = {"a b", '"', "(x)",
    "two\nlines", "\\", ""}}, kernel = SOURCE .. "\n#define TEXT LOCAL\n"}
  local by = {}
  for _, row in ipairs(best.rows) do
    by[row.config:match "^local=(.-) per"] = row.status
  end
  t.eq(by['"two\\nlines"'], "build")
  for _, name in ipairs{'"a b"', '"\\""', "(x)", "\\", '""'} do
    t.ok(by[name] and by[name] ~= "build", name)
  end
end)

t.test("a device that fails in the middle leaves the rows before", function()
  local function run(fault)
    return (scratch.sh(("export CLSHELL_STORE=lost.db CLFAULT='%s'\n"
      .. "OPENCL_LAYERS=%s/tests/faultlayer.so $clshell search.lua 2>&1")
      :format(fault, t.build)))
  end
  scratch.create("search.lua", t.briefly .. [[

local y = cl.buffer("float", 16, 0)
local best = tune{kernel = "kernel void f(global float *y) { "
  .. "y[get_global_id(0)] = A - A + 1; }", params = {a = "1..9"}, range = 16,
  args = {y}, quiet = true, check = cl.array("float", 16, 1), worker = false,
  evaluations = 9}
print(#best.rows, best.ended, best.stored, best.ms ~= nil)
print(tostring(best):find("the device failed", 1, true) ~= nil)
]])
  local out = run "cl:1:0"
  t.skip_if(not out:find("faultlayer:", 1, true),
    "the OpenCL loader takes no layers")
  scratch.sh "rm -f lost.db*"
  out = run "clEnqueueReadBuffer:4:-5:sticky"
  t.eq(out:match "^[^\n]*\n[^\n]*", "4\tdevice\t0\ttrue\ntrue")
  out = run "cl:1:0"
  t.eq(out:match "^[^\n]*", "9\tspace\t3\ttrue", "the failed row is not kept")
end)

scratch.done()

t.test("a huge element does not excuse the others", function()
  local values = cl.array("float", N, 6)
  values[1] = 6e6
  local x = cl.array("float", N, 3)
  x[1] = 3e6
  local best = tune(scale{params = {cheat = {0, 1}}, kernel = [[
    kernel void f(global const float *x, global float *y) {
      int i = get_global_id(0);
      y[i] = i == 0 || !CHEAT ? 2 * x[i] : 0;
    }]], range = N, check = values,
    args = {cl.buffer("float", N, x), cl.buffer("float", N)}})
  t.eq(best.params, {cheat = 0})
  local wrong = 0
  for _, row in ipairs(best.rows) do
    wrong = wrong + (row.status == "wrong" and row.reason:find(
      "the output[1] = 0, expected 6", 1, true) and 1 or 0)
  end
  t.eq(wrong, 1)
  -- zeros, and a spread that every result has, are no reason against one
  local spread = cl.array("float", N, function(i)
    return i % 4 == 0 and 0 or 10.0 ^ (i % 8)
  end)
  best = tune(scale{kernel = [[
    kernel void f(global const float *x, global float *y) {
      int i = get_global_id(0);
      y[i] = x[i] * (1 + PER * 1e-5f);
    }]], range = N, check = spread,
    args = {cl.buffer("float", N, spread), cl.buffer("float", N)}})
  t.eq(best.params ~= nil, true)
end)

t.test("a file with several kernels needs entry, told once", function()
  local source = SOURCE .. "\nkernel void other(global float *x) { *x = 1; }"
  t.raises(function() tune(scale{kernel = source}) end,
    "the file has 2 kernels: scale, other; say which with 'entry'")
  t.raises(function() tune(scale{kernel = source, entry = "scal"}) end,
    "no kernel 'scal'; did you mean 'scale'")
  t.ok(tune(scale{kernel = source, entry = "scale"}).params)
end)

t.test("a constraint in C gets its Lua", function()
  for c, lua in pairs{["per != 2"] = "per ~= 2",
    ["per > 1 && per < 4"] = "per > 1 and per < 4",
    ["!(per == 1) || per == 2"] = "not (per == 1) or per == 2",
    ["per = 1"] = "per == 1", ["per => 2"] = "per >= 2"} do
    local ok, e = pcall(tune, scale{where = c})
    t.eq({ok, e.hint}, {false, ('in Lua: where = "%s"'):format(lua)})
  end
end)

scratch.done()
