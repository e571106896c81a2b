-- messages.lua - send, recv and requests of module mpi: values, order, what
-- does not fit, and what is under way when nobody asks for it any more
-- SPDX-License-Identifier: MIT
local ranks = require "ranks"
local scratch = require "scratch"
local t = require "t"

t.test("values of every type arrive as they were sent", function()
  local out = ranks.fine(2, ("local seed = %d"):format(t.seed) .. [[

local function filled(type, n, seed)
  local h = cl.array(type, n)
  h:as(type:gsub("%d+$", "")):random(seed, 1, 100)
  return h
end
for i, type in ipairs{"char", "uchar", "short", "ushort", "int", "uint",
    "long", "ulong", "half", "float", "double", "float4", "uchar3"} do
  for _, n in ipairs{1, 7, 1000, 33333} do
    local h = filled(type, n, seed + i)
    if rank == 0 then
      mpi.send(h, 1, i)
    else
      local other = cl.array(type, n)
      local x, from, tag = mpi.recv(other, 0, i)
      assert(rawequal(x, other) and from == 0 and tag == i)
      assert(x:tobytes() == h:tobytes(), type)
    end
  end
end
local values = {0, -1, math.maxinteger, 0.5, -1 / 0, "", "text",
  ("a\0"):rep(50000)}
for _, v in ipairs(values) do
  if rank == 0 then
    mpi.send(v, 1)
  else
    local x = mpi.recv(type(v) == "string" and "string" or 0)
    assert(x == v and math.type(x) == math.type(v))
  end
end
local b = cl.buffer("int", {3, 4}, rank == 0 and 7 or 0, {ld = 6})
if rank == 0 then
  mpi.send(b, 1)
  mpi.isend(b, 1):wait()
else
  assert(mpi.recv(b, 0) == b and b:read()[12] == 7)
  b:fill(0)
  local r = mpi.irecv(b, 0)
  assert(r:wait() == b and r:wait() == b and b:read():at(3, 4) == 7)
  print "fine"
end]])
  t.eq(out, "fine\n")
end)

t.test("three ranks in a ring, and whom a message is from", function()
  local out = ranks.fine(3, [[
local x, y = cl.array("double", 5):fill(rank), cl.array("double", 5)
local z, from, tag = mpi.sendrecv(x, (rank + 1) % 3, y, (rank + 2) % 3, 4)
assert(rawequal(z, y) and y[5] == (rank + 2) % 3 and from == y[5] and tag == 4)
if rank > 0 then
  mpi.send(rank, 0, rank)
else
  local sum = 0
  for _ = 1, 2 do
    local at, number, bytes = mpi.probe()
    assert(at == number and bytes == 8)
    local v, who = mpi.recv(0, at, number)
    assert(v == who and v == at)
    sum = sum + v
  end
  assert(sum == 3)
  print "fine"
end]])
  t.eq(out, "fine\n")
end)

t.test("requests take messages in the order in which they began", function()
  local out = ranks.fine(2, [[
local N = 40
if rank == 0 then
  local list = {}
  for i = 1, N do
    list[i] = mpi.isend(cl.array("int", i % 5 * 5000 + 1):fill(i), 1, i % 3)
  end
  local values = mpi.wait_all(list)
  assert(#values == N and values[2][1] == 2)
else
  local list = {}
  for i = 1, N do -- some from anyone, some with any tag: all fit message i
    list[i] = mpi.irecv(cl.array("int", i % 5 * 5000 + 1),
      i % 2 == 0 and 0 or nil, i % 3)
  end
  for _, i in ipairs{N, 1, 17, 2} do
    local x = list[i]:wait()
    assert(x[1] == i and x[#x] == i)
  end
  while not list[5]:test() do end
  for i, x in ipairs(mpi.wait_all(list)) do
    assert(x[1] == i and x[#x] == i)
  end
  assert(tostring(list[1]) == "Request: through")
end
mpi.barrier()
for i = 1, N do
  if rank == 0 then
    mpi.send(i, 1, i % 3)
  else
    assert(mpi.irecv(0, nil, nil):wait() == i)
  end
end
local s = rank == 0 and mpi.isend("text", 1) or mpi.irecv("string", 0)
assert(s:wait() == "text")
if rank == 0 then print "fine" end]])
  t.eq(out, "fine\n")
end)

t.test("what does not fit raises on the receiver, and is gone", function()
  local out = ranks.fine(2, [[
local sent = {cl.array("float", 5), cl.array("int", 4), cl.array("int", 6),
  "text", 3, cl.array("int", 100000), cl.array("int", {5, 1})}
local told = {"5 x float", "4 x int", "6 x int", "a string of 4 bytes",
  "a number", "100000 x int"}
for _, call in ipairs{"recv", "irecv"} do
  for i, x in ipairs(sent) do
    if rank == 0 then
      mpi.send(x, 1)
    elseif told[i] then
      fails("rank 0 sent " .. told[i] .. "; this takes 5 x int", function()
        local r = mpi[call](cl.array("int", 5), 0)
        r = call == "irecv" and r:wait()
      end)
    else
      mpi[call](cl.array("int", 5), 0) -- another shape fits
    end
  end
  if rank == 0 then
    mpi.send(cl.array("int", 1), 1)
  else
    fails("this takes a string", mpi.recv, "string", 0)
  end
end
if rank == 1 then
  local r = mpi.irecv(cl.array("int", 5), 0)
  fails("rank 0 sent 1 x int", r.wait, r)
  fails("has failed before", r.wait, r)
else
  mpi.send(cl.array("int", 1), 1)
  fails("to must be a rank, 0 to 1; got 2", mpi.send, 1, 2)
  fails("to must be a rank, 0 to 1; got nil", mpi.send, 1)
  fails("send: bad argument #2: to must be a rank", mpi.send, 1, 2)
  fails("send: bad argument #2: to must be a rank", function()
    mpi.world:send(1, 2)
  end)
  fails("tag must be a whole number, 0 to", mpi.send, 1, 1, -1)
  fails("got the string 'text'", mpi.recv, "text", 1)
  fails("got table", mpi.send, {}, 1)
  local closed = cl.array("int", 1)
  closed:close()
  fails("this Array is closed", mpi.send, closed, 1)
  local b = cl.buffer("int", 4, 0)
  local mapped <close> = b:map()
  fails("pass h:copy()", mpi.isend, mapped, 1)
  print "fine"
end]])
  t.eq(out, "fine\n")
end)

t.test("a request that nobody has any more keeps its memory", function()
  local out = ranks.fine(2, [[
local N = 300000
if rank == 0 then
  for i = 1, 8 do -- closed and collected before rank 1 receives
    local h = cl.array("int", N):fill(i)
    mpi.isend(h, 1)
    h:close()
  end
  local r <close> = mpi.isend(cl.array("int", N):fill(9), 1)
  for _ = 1, 4 do collectgarbage() end
  mpi.send("go", 1, 5)
else
  for _ = 1, 3 do
    mpi.irecv(cl.array("int", 5), 0, 77) -- nothing comes
  end
  collectgarbage()
  assert(mpi.recv("string", 0, 5) == "go")
  local h = cl.array("int", N)
  for i = 1, 9 do
    mpi.recv(h, 0, 0)
    assert(h[1] == i and h[N] == i)
  end
end
mpi.barrier()
-- What is under way at the end holds nobody up.
Left = {mpi.irecv(cl.array("int", 5), 1 - rank, 78),
  mpi.isend(cl.array("int", 5), 1 - rank, 79)}
if rank == 0 then print "fine" end]])
  t.eq(out, "fine\n")
end)

t.test("Ctrl-C ends a wait, and the next message is not its", function()
  local out = ranks.fine(1, [[
local pid = math.tointeger(io.open "/proc/self/stat":read "n")
os.execute(("(sleep 0.2; kill -INT %d) &"):format(pid))
local fine, e = pcall(mpi.recv, 0, 0)
cl.undisturbed(function()
  assert(not fine and tostring(e):find "interrupted", e)
  local sent = mpi.isend(5, 0)
  assert(mpi.recv(0, 0) == 5)
  sent:wait()
  print "fine"
end)
os.exit(0)]])
  t.eq(out, "fine\n")
end)

scratch.done()
