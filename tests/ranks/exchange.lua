-- ranks/exchange.lua - panels from rank to rank: tasks in turns, and the
-- ways of panels over groups of ranks that share memory, as on several hosts
-- SPDX-License-Identifier: MIT

local t = require "t"
local exchange = require "clshell.parts.ranks.exchange"
local ranks = require "ranks"
local tasks = require "clshell.parts.ranks.tasks"

t.device()

t.test("tasks take turns, and an error of one ends all", function()
  local log, there = {}, false
  local function note(x) log[#log + 1] = x end
  tasks.run{function()
    tasks.wait(function() return there end)
    note "last"
  end, function()
    note "first"
    coroutine.yield()
    there = true
  end}
  t.eq(log, {"first", "last"})
  local e = {}
  local fine, got = pcall(tasks.run, {function()
      coroutine.yield()
      note "x"
    end,
    function() error(e) end})
  t.ok(not fine and got == e)
  t.eq(#log, 2)
  tasks.run{}
end)

t.test("strips cover a panel once, none larger than a message", function()
  local before = exchange.message
  for _, message in ipairs{1, 100, 4096, before} do
    exchange.message = message
    for _, s in ipairs{{1, 1}, {7, 3}, {100, 9}, {1, 2000}, {64, 64}} do
      local first = 1
      for _, strip in ipairs(exchange.strips("float", s[1], s[2])) do
        t.eq({strip.first, strip.cols}, {first, s[2]})
        t.ok(strip.rows == 1 or strip.rows * s[2] * 4 <= message)
        first = first + strip.rows * s[2]
      end
      t.eq(first, s[1] * s[2] + 1)
    end
  end
  exchange.message = before
end)

for n = 2, 4 do
  t.test(n .. " ranks in groups, each rank in turn the owner", function()
    ranks.fine(n, [[
local exchange = require "clshell.parts.ranks.exchange"
local tasks = require "clshell.parts.ranks.tasks"
exchange.message = 64
for _, group in ipairs{1, 2, 3, math.huge} do
  exchange.group = group
  for _, shared in ipairs{true, false} do
    local channel <close> = exchange.new(mpi.world, "int", 5, shared)
    local got, list = {}, {}
    for owner = 0, size - 1 do
      local panel = cl.buffer("int", {37, 5}, -1)
      list[#list + 1] = function()
        for round = 1, 3 do
          if owner == rank then
            panel:fill(10 * owner + round)
            channel:send(panel)
          else
            local event = channel:receive(owner, panel)
            tasks.event(event)
            local s = panel:read():summary()
            assert(s.min == 10 * owner + round and s.max == s.min,
              ("group %s, rank %d of owner %d: %s"):format(group, rank, owner,
                s.min))
          end
        end
        got[owner] = true
      end
    end
    tasks.run(list)
    channel:finish()
    mpi.barrier()
    for owner = 0, size - 1 do
      assert(got[owner])
    end
  end
end]])
  end)
end

t.test("Ctrl-C ends a product that waits for another rank", function()
  t.eq(ranks.fine(2, [[
local ranks = require "clshell.ranks"
local A, B = ranks.matrix(50, 60, 1), ranks.matrix(60, 40, 1)
if rank == 1 then
  require "clshell.parts.ranks.tasks".run = function() cl.sleep(60) end
else
  local tasks = require "clshell.parts.ranks.tasks"
  local run = tasks.run
  function tasks.run(list)
    os.execute(("(sleep 0.2; kill -INT %d) &"):format(
      math.tointeger(io.open "/proc/self/stat":read "n")))
    run(list)
  end
end
local fine, e = pcall(ranks.gemm, A, B)
cl.undisturbed(function()
  assert(not fine and tostring(e):find "interrupted", e)
  print "fine"
  io.stdout:flush()
  mpi.abort(0)
end)]]), "fine\n")
end)

t.done()
