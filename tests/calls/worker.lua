-- worker.lua - calls in a process of its own: results, errors, losses
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local parcel = require "clshell.calls.parcel"
local progress = require "clshell.base.progress"
local scratch = require "scratch"
local worker = require "clshell.calls"

t.device()

-- The functions below run in the process by way of this one.
local function run(w, f, ...)
  return w:call("clshell.base.interrupt", "pcall", f, ...)
end

local function started(opts)
  return assert(worker.start(opts))
end

t.test("a call works on copies and gives results", function()
  local w <close> = started{device = cl.device().index}
  t.eq({w:call("string", "rep", "ab", 2)}, {true, "abab"})
  local b <close> = cl.buffer("int", 5, 2)
  local got = {run(w, function()
    b:fill(7)
    return b, cl.device().index
  end)}
  t.eq({got[1], got[2], got[4]}, {true, true, cl.device().index})
  t.eq({b:read()[5], got[3]:read()[5]}, {2, 7})
  got[3]:close()
  t.eq({w:call("string", "rep", "", 3)}, {true, ""}, "nothing else in between")
end)

t.test("processes work at once: send and answer", function()
  local a <close> = started{wait = false}
  local b <close> = started{wait = false}
  t.eq({a:answer()}, {true})
  t.eq({b:answer()}, {true})
  t.eq(a:send(parcel.pack("string", "rep", "a", 2)), true)
  t.eq(b:send(parcel.pack("os", "exit", 3)), true)
  t.eq({a:send(parcel.pack("string", "rep", "a", 1))},
    {nil, "the process was lost in an earlier call"})
  t.eq({b:answer()}, {nil, "the process ended with exit code 3"})
  t.eq({a:answer()}, {true, "aa"})
  local ok, reason = a:send(parcel.pack(coroutine.create(print)))
  t.eq(ok, nil)
  scratch.has(reason, "coroutine")
end)

t.test("whether a call is over, without waiting for it", function()
  scratch.create("go", "")
  local go = scratch.dir .. "/go"
  local w <close> = started{limit = 60}
  local function wait() -- until the file is gone
    progress.phase "waited"
    while io.open(go) do
      cl.sleep(0.01)
    end
    return "gone"
  end
  t.eq(w:send(parcel.pack("clshell.base.interrupt", "pcall", wait)), true)
  t.eq({w:ready(0), w:ready(0.1)}, {false, false})
  os.remove(go)
  t.eq({w:ready(), w:ready(0)}, {true, true})
  t.eq({w:answer()}, {true, true, "gone"})
  scratch.create("go", "")
  w.opts.limit = 0.2
  t.eq(w:send(parcel.pack("clshell.base.interrupt", "pcall", wait)), true)
  t.eq(w:ready(60), true) -- its time is over long before
  t.eq({w:answer()}, {nil, "took more than 0.2 s while it waited"})
end)

t.test("errors are raised here as they were there", function()
  local w <close> = started()
  local e = t.raises(function()
    w:call("cl", "error", "wrong", {hint = "do it right"})
  end, "wrong", "do it right")
  t.eq(e.hint, "do it right")
  t.raises(function() w:call("none.such", "f") end, "none.such")
  local ok, good, message = run(w, function() error "mine" end)
  t.eq({ok, good}, {true, false})
  t.ok(message:find "worker.lua:%d+: mine")
end)

t.test("what cannot be sent costs nothing", function()
  local w <close> = started()
  local ok, reason = w:call("string", "rep", coroutine.create(print))
  t.eq(ok, nil)
  scratch.has(reason, "coroutine", "cannot go to another process")
  t.eq({w:call("string", "rep", "a", 1)}, {true, "a"})
  t.raises(function()
    w:call("coroutine", "create", print)
  end, "cannot go to another process")
  t.eq({w:call("string", "rep", "a", 1)}, {true, "a"})
end)

t.test("a process that ends is lost, with the reason, until its restart",
  function()
    local w <close> = started()
    local ok, reason = w:call("os", "exit", 3)
    t.eq({ok, reason}, {nil, "the process ended with exit code 3"})
    t.eq(w.lost, "ended")
    t.eq({w:call("string", "rep", "a", 1)},
      {nil, "the process was lost in an earlier call"})
    t.eq(w:restart(), true)
    t.eq({w:call("string", "rep", "a", 1)}, {true, "a"})
    ok, reason = run(w, function()
      progress.phase "checked"
      os.execute "kill -KILL $PPID"
      while true do end
    end)
    t.eq({ok, reason}, {nil,
      "the process ended by signal 9 (SIGKILL) while it checked"})
  end)

t.test("each phase has the time limit, and one may have none", function()
  local w <close> = started{limit = 2}
  local ok, reason = run(w, function()
    progress.phase "measured"
    while true do end
  end)
  t.eq({ok, reason}, {nil, "took more than 2 s while it measured"})
  t.eq(w.lost, "time")
  w:restart()
  t.eq({run(w, function()
    progress.phase("prepared", true)
    cl.sleep(2.2)
    return "done"
  end)}, {true, true, "done"})
end)

t.test("the start of a process is no phase, however short those are",
  function()
    local w <close> = started{limit = 1e-6}
    t.eq(w:restart(), true)
  end)

t.test("modules are found as here", function()
  scratch.create("mine.lua", "return {twice = function(x) return 2 * x end}")
  scratch.create("main.lua", "local w <close> = require 'clshell.calls'"
    .. ".start() print(w:call('mine', 'twice', 4))")
  t.eq(scratch.sh "$clshell main.lua", "true\t8\n")
  t.eq(scratch.sh "cd / && $clshell $OLDPWD/main.lua", "true\t8\n")
end)

t.test("stock Lua has no workers", function()
  local line = cl.commandline
  cl.commandline = nil
  local w, reason = worker.start()
  cl.commandline = line
  t.eq({w, reason}, {nil, "only the program clshell has worker processes"})
end)

scratch.done()
