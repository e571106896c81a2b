-- builders.lua - the programs of several points are built together, ahead of
-- their measurement and never during it.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local builders = require "clshell.tune.builders"
local scratch = require "scratch"

t.keeps("Program", "Kernel", "Device")
t.device()

local SOURCE = "kernel void f(global const int *x, global int *y) "
  .. "{ int i = get_global_id(0); y[i] = x[i] * A + B; }"

-- A search of a small kernel: its result, the builders of it, and the times
-- of its launches. Another source each time, as drivers keep builds.
local made = 0
local function search(opts)
  made = made + 1
  local x <close> = cl.buffer("int", 64, 1)
  local y <close> = cl.buffer("int", 64)
  local launches, found = {}, nil
  local new = builders.new
  builders.new = function(...)
    found = new(...)
    return found
  end
  local o = {kernel = SOURCE .. ("// %d %d\n"):format(t.seed, made),
    params = {a = "1..6", b = {1, 2}}, range = 64, args = {x, y}, quiet = true,
    fresh = true, seed = t.seed, seconds = 600, worker = false,
    check = function()
      launches[#launches + 1] = cl.now()
      return true
    end, reset = function()
      launches[#launches + 1] = cl.now()
    end}
  for name, v in pairs(opts) do
    o[name] = v
  end
  local ok, r = pcall(tune, o)
  builders.new = new
  return r, found, launches, ok
end

-- Waits for the end of a process.
local function gone(pid)
  for _ = 1, 2000 do
    if not scratch.sh("ps -o stat= -p " .. pid):find "^%s*[^Z%s]" then
      return true
    end
    cl.sleep(0.01)
  end
end

for _, name in ipairs{"exhaustive", "local", "surrogate"} do
  t.test(name .. " with builders: none builds while a launch is timed",
    function()
      local r, b, launches = search{strategy = name, builders = 2}
      t.eq({r.evaluations, r.rows[1].status}, {12, "ok"})
      t.ok(b.built > 0, "nothing was built")
      t.ok(#launches > 12)
      for _, build in ipairs(b.stamps) do
        t.eq(build.ok, true)
        for _, launch in ipairs(launches) do
          t.ok(launch < build.begin or launch > build.stop)
        end
      end
      scratch.has(tostring(r), "2 helpers compiled", "in advance")
    end)
end

t.test("a build that fails is a row with its reason", function()
  local r, b = search{builders = 2, kernel = SOURCE:gsub("+ B",
    "+ B\n#if A == 3\n#error three\n#endif\n") .. ("// %d f\n"):format(t.seed)}
  local failed = 0
  for _, row in ipairs(r.rows) do
    t.eq(row.status == "build", row.point.a == 3)
    failed = failed + (row.status == "build" and 1 or 0)
  end
  t.eq(failed, 2)
  t.ok(b.built > 0)
  scratch.has(tostring(r), "2 failed builds", "three")
end)

t.test("points of the run store, and of the past, are not built", function()
  local count = 0
  local r, b = search{builders = 2, evaluations = 5, strategy = function()
    local ids = {1, 2, 2, 3, 4, 4, 5, 6, 7}
    return function()
      count = count + 1
      return ids[count]
    end, nil, function(k)
      return table.move(ids, count + 1, count + k, 1, {})
    end
  end}
  t.eq(r.evaluations, 5)
  t.ok(b.built <= 4, b.built)
end)

t.test("builders that die leave the search to itself", function()
  local new = builders.new
  local lost
  builders.new = function(...)
    local b = new(...)
    local hand_out = b.hand_out
    b.hand_out = function(self, ...)
      for _, c in ipairs(self.children) do
        os.execute("kill -9 " .. c.child:pid())
      end
      lost = lost or {table.unpack(self.children)}
      return hand_out(self, ...)
    end
    return b
  end
  local r, b = search{builders = 3}
  builders.new = new
  t.eq({r.evaluations, #b.children, b.built}, {12, 0, 0})
  t.eq(#lost, 3)
end)

t.test("Ctrl-C, an error and an exit end the builders", function()
  for _, strange in ipairs{"error 'mine'", "os.exit(3)",
      "io.popen('kill -INT $PPID'):close() cl.sleep(60)"} do
    scratch.create("script.lua", ([[
local builders = require "clshell.tune.builders"
local new, b = builders.new, nil
function builders.new(...)
  b = new(...)
  return b
end
local x <close> = cl.buffer("int", 1)
pcall(tune, {kernel = "kernel void f(global int *x) { *x = A; } // %d",
  params = {a = "1..9"}, range = 1, args = {x}, builders = 2, quiet = true,
  fresh = true, worker = false, reset = function()
    if b and #b.children == 2 then
      print(b.children[1].child:pid(), b.children[2].child:pid())
      io.stdout:flush()
      %s
    end
  end})]]):format(t.seed, strange))
    local out = scratch.sh "$clshell -q script.lua"
    local pids = {out:match "^(%d+)\t(%d+)\n$"}
    t.eq(#pids, 2, out)
    for _, pid in ipairs(pids) do
      t.ok(gone(pid), strange)
    end
  end
end)

t.test("no builders: a replay, 0, 1, and a CPU that nobody asks to", function()
  scratch.create("space.csv", "a,ms\n1,2.5\n2,1.5\n")
  local _, b
  for count = 0, 1 do
    _, b = search{builders = count, evaluations = 2}
    t.eq(b, nil)
  end
  t.eq(builders.new({}), nil)
  local r = tune{replay = scratch.dir .. "/space.csv", builders = 4}
  t.eq({r.ms, r.notes}, {1.5, {}})
  if cl.device().type == "cpu" then
    _, b = search{evaluations = 2}
    t.eq(b, nil)
  end
  for _, count in ipairs{-1, 1.5, "two"} do
    local bad, _, _, ok = search{builders = count}
    t.eq(ok, false)
    scratch.has(tostring(bad), "builders", tostring(count))
  end
end)

t.test("where the first launch compiles, builders launch; a fault is theirs",
  function()
    t.skip_if(cl.device().type ~= "cpu",
      "the device is no CPU: its builds end before a launch")
    local y = cl.buffer("int", 64)
    local function faulty(list)
      made = made + 1
      local r, b, _, ok = search{builders = 2, worker = true, args = {y},
        check = function(p)
          return y:read()[64] == p.a + p.b
        end, reset = function() end, params = {a = list, b = {1}},
        kernel = [[kernel void f(global int *y) {
          y[get_global_id(0)] = A + B;
          if (A < 0)
            *(volatile global int *)8 = 1;
        }]] .. ("// %d %d\n"):format(t.seed, made)}
      t.ok(ok, r)
      t.eq({r.evaluations, b.launches, b.number}, {8, true, 2})
      local reason
      for _, row in ipairs(r.rows) do
        t.eq(row.status == "failed", row.point.a == -1, row.reason)
        reason = row.reason or reason
      end
      return b, reason
    end
    local b, reason = faulty{1, 2, -1, 4, 5, 6, 7, 8} -- in a child
    t.eq(#b.children, 0)
    scratch.has(reason, "signal 11", "while it checked")
    b, reason = faulty{1, -1, 3, 4, 5, 6, 7, 8} -- where it is measured
    t.eq(#b.children, 1)
    t.ok(b.built > 3, b.built)
    scratch.has(reason, "signal 11", "while it ran")
  end)

t.test("builders start by themselves where builds to come take long",
  function()
    local _, b = search{builders = 2, evaluations = 1}
    b.asked = false
    b.points, b.seconds, b.building = 0, 0, 0
    b:measured(4, 1, 3)              -- the first one loads the compiler
    t.eq({b.seconds, b.building}, {0, 0})
    t.eq(b:worth(1000, 1000), false) -- too early to tell
    b:measured(2, 1, 1)
    t.eq({b.seconds, b.building}, {2, 1})
    t.eq(b:worth(100, 48), true)
    t.eq(b:worth(4, 48), false)      -- four builds of a second each
    t.eq(b:worth(100, 9), false)     -- half of nine seconds
    b.building = 0
    t.eq(b:worth(100, 48), false)
    b.launches = true                -- builds are what launches are not
    b:measured(3, 1, 0)
    t.eq(b.building, 2)
  end)

scratch.done()
