-- launch.lua - clshell under mpirun: how a rank ends all of them, whole lines,
-- devices in turn, and what is for one process alone
-- SPDX-License-Identifier: MIT
local cl = require "cl"
local ranks = require "ranks"
local scratch = require "scratch"
local t = require "t"

t.keeps "Device"

-- Lua code that leaves the number of each rank's process in a file.
local PID = ([[
do
  local f = assert(io.open(("%s/pid%%d"):format(rank), "w"))
  f:write((io.open "/proc/self/stat":read "n"))
  f:close()
end
mpi.barrier()
]]):format(scratch.dir)

local function pid(rank)
  return math.tointeger(tonumber(scratch.read("pid" .. rank)))
end

-- Fails unless the processes of all ranks end, soon.
local function all_gone(n)
  for rank = 0, n - 1 do
    local left = true
    for _ = 1, 1000 do
      left = t.capture(("ps -o stat= -p %d"):format(pid(rank)))
        :find "^%s*[^Z%s]"
      if not left then
        break
      end
      cl.sleep(0.01)
    end
    t.ok(not left, ("rank %d is left"):format(rank))
    os.remove(("%s/pid%d"):format(scratch.dir, rank))
  end
end

-- As each launcher tells a process which of how many it is.
local function as(rank, size)
  return ("env OMPI_COMM_WORLD_RANK=%d OMPI_COMM_WORLD_SIZE=%d "
    .. "OMPI_COMM_WORLD_LOCAL_RANK=%d OMPI_COMM_WORLD_LOCAL_SIZE=%d $clshell ")
    :format(rank, size, rank, size)
end

t.test("an error in one rank ends all, with its message and code", function()
  local _, err, status = ranks.run(3, PID .. [[
if rank == 1 then error "out of luck" end
mpi.recv(0, 1)]])
  t.eq(status, 1)
  scratch.has(err, "clshell: rank 1: ", "out of luck")
  all_gone(3)
  _, err, status = ranks.run(2, PID .. [[
if rank == 1 then os.exit(7) end
mpi.recv(0, 1)]])
  t.eq(status, 7, err)
  all_gone(2)
end)

t.test("--timeout ends all", function()
  for _, seconds in ipairs{1.5, 6, 24, 96} do
    local _, err, status = ranks.run(2, PID .. "mpi.recv(0, 1 - rank)",
      "--timeout " .. seconds)
    t.eq(status, 124, err)
    local started = pcall(pid, 0) and pcall(pid, 1) and pid(0) and pid(1)
    if started then -- a busy machine may need more time for that
      scratch.has(err, "--timeout is over")
      return all_gone(2)
    end
  end
  t.ok(false, "the ranks do not start")
end)

-- Starts ranks that wait for ever, and has `act(pid of mpirun)` end them.
local function waiting(act)
  ranks.need()
  local path = scratch.create("wait.lua", "local mpi = require 'mpi'\n"
    .. "local rank = mpi.rank()\n" .. PID .. "mpi.recv(0, 1 - rank)")
  local out = scratch.sh(ranks.command(2, path)
    .. " >wait.log 2>&1 & launcher=$!\n"
    .. "for i in $(seq 600); do [ -s pid0 ] && [ -s pid1 ] && break\n"
    .. "sleep 0.1; done\n" .. act .. "\nwait $launcher; echo $?")
  all_gone(2)
  return tonumber(out)
end

t.test("a rank that is killed takes all with it", function()
  t.ok(waiting "kill -9 $(cat pid1)" ~= 0)
end)

t.test("Ctrl-C ends all", function()
  -- A shell's background jobs ignore SIGINT: mpirun sets a handler anyway.
  t.ok(waiting "kill -INT $launcher" ~= 0)
end)

t.test("a rank that ends early waits for the others", function()
  t.eq(ranks.fine(2, [[
if rank == 0 then os.exit(0) end
cl.sleep(0.2)
print "last"]]), "last\n")
end)

t.test("waits for a rank that has ended raise, and name it", function()
  local out, err, status = ranks.run(2, [[
if rank == 1 then
  mpi.barrier()
  return
end
mpi.barrier()
local function try(f, ...)
  print(select(2, pcall(f, ...)).message)
end
try(mpi.barrier)
try(mpi.recv, 1, 1)
try(mpi.recv, "string")
try(mpi.send, cl.array("float", 1 << 20), 1)
try(mpi.probe)
local coming = mpi.irecv(1, 1)
try(coming.wait, coming)]])
  t.eq(out, ([[
rank 1 has ended: it takes no part in this call, which all ranks must make
rank 1 has ended: no message of it can come
all other ranks have ended: no message can come
rank 1 has ended: it takes no message
all other ranks have ended: no message can come
rank 1 has ended: no message of it can come
]]), err)
  t.eq(status, 0, err)
  out, err, status = ranks.run(4, [[
local part = mpi.split(rank % 2)
if rank == 1 then os.exit(true) end
if rank == 2 then cl.sleep(0.3) end
if rank % 2 == 0 then
  print(part:allreduce(1)) -- all of this part go on
else
  print(select(2, pcall(part.barrier, part)).message:match "^(rank 0 .-):")
end]])
  local lines = {}
  for line in out:gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  table.sort(lines)
  t.eq(lines, {"2", "2", "rank 0 has ended"}, err)
  t.eq(status, 0, err)
  out, err, status = ranks.run(2, "if rank == 0 then mpi.recv(1) end")
  t.eq({out, status}, {"", 1}, err)
  scratch.has(err, "clshell: rank 0: ", "all other ranks have ended")
end)

t.test("ranks of scripts without mpi end all by an error as well", function()
  ranks.need()
  local path = scratch.create("plain.lua",
    "if cl.commandline.rank == 1 then error 'here' end cl.sleep(60)")
  local _, err, status = scratch.sh(ranks.command(2, path))
  t.eq(status, 1)
  scratch.has(err, "clshell: rank 1: ", "here")
end)

-- The lines that three ranks write at once, and how often each came.
local function written()
  local lines = {}
  local out = ranks.fine(3, [[
for i = 1, 60 do
  io.write(("%d"):format(rank):rep(90))
  io.flush() -- ends no line
  io.write("x\n", ("table %d\n"):format(rank):rep(3))
end
print(("%d"):format(rank):rep(3000))
io.write("end ", rank)]])
  for line in out:gmatch "[^\n]+" do
    lines[line] = (lines[line] or 0) + 1
  end
  return lines
end

-- A rank waits a limited time for mpirun to pass on another's line: on a
-- machine that stops mpirun for longer a line is torn, in one try of some.
t.test("lines of several ranks stay whole", function()
  local torn
  for _ = 1, 5 do
    local lines = written()
    torn = nil
    for rank = 0, 2 do
      for line, count in pairs{[("%d"):format(rank):rep(90) .. "x"] = 60,
          ["table " .. rank] = 180, [("%d"):format(rank):rep(3000)] = 1,
          ["end " .. rank] = 1} do
        torn = torn or lines[line] ~= count and ("%s: %s, not %d"):format(line,
          lines[line], count) or nil
      end
    end
    if not torn then
      return
    end
  end
  error(torn)
end)

t.test("the prompt is for one process", function()
  for _, words in ipairs{"", "-i", "-", "-q -e 1 -i"} do
    local out, err, status = scratch.sh(as(0, 4) .. words)
    t.eq({out, status}, {"", 2}, words)
    scratch.has(err, "are for one process", "has started 4")
    t.eq(select(2, scratch.sh(as(1, 4) .. words)), "", "said once")
  end
  t.eq(scratch.sh(as(0, 1) .. "- <<E\nprint(1)\nE"), "1\n")
end)

t.test("each launcher's variables", function()
  local code = "-p 'cl.commandline.rank, cl.commandline.ranks'"
  for _, case in ipairs{
    {"PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0 MPI_LOCALNRANKS=1", "2\t3"},
    {"MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2", "1\t2"},
    {"SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=8 SLURM_LOCALID=1 "
      .. "SLURM_STEP_TASKS_PER_NODE='4(x2)'", "3\t8"},
    {"SLURM_PROCID=0 SLURM_NTASKS=8", "0\t1"}, -- a batch script
    {"PMI_RANK=x PMI_SIZE=3", "0\t1"}, {"", "0\t1"}} do
    local out = scratch.sh(("env %s $clshell %s"):format(case[1], code))
    t.eq(out:gsub(" +", "\t"), case[2] .. "\n", case[1])
  end
end)

t.test("what a rank starts is no rank", function()
  local out = scratch.sh(as(1, 2) .. [[-e 'os.execute(cl.commandline.program
    .. " -p cl.commandline.ranks")']])
  t.eq(out, "1\n")
end)

t.test("an MPI other than that of the launcher", function()
  ranks.need()
  local _, err, status = scratch.sh("env PMI_RANK=0 PMI_SIZE=4 "
    .. "OMPI_ALLOW_RUN_AS_ROOT=1 ASAN_OPTIONS=\"$ASAN_OPTIONS:"
    .. "detect_leaks=0\" $clshell -e 'require \"mpi\"'")
  t.ok(status ~= 0)
  scratch.has(err, "MPICH's mpirun has started 4 processes", "sees one")
end)

t.test("where mpi.so is missing or broken", function()
  local function try()
    return scratch.sh(("cp $clshell program; CLSHELL_HOME=%s ./program -e "
      .. "'require \"mpi\"'"):format(t.here))
  end
  local _, err, status = try()
  t.eq(status, 1)
  scratch.has(err, "module mpi is not built", "libopenmpi-dev")
  scratch.create("mpi.so", "")
  _, err, status = try()
  t.eq(status, 1)
  scratch.has(err, "module mpi does not load: ")
end)

-- The number of the device that each of `size` ranks takes.
local function taken(size, before, words)
  local list, notes = {}, ""
  for rank = 0, size - 1 do
    local out, err = scratch.sh(("export %s\n%s%s -p 'cl.device().index'")
      :format(before, as(rank, size), words))
    list[rank + 1] = tonumber(out) or err
    notes = notes .. err
  end
  return list, notes
end

t.test("ranks take the devices of a host in turn", function()
  local two = "POCL_DEVICES='pthread basic' CLSHELL_DEVICE="
  local names = scratch.sh("export " .. two
    .. "\n$clshell -p '#cl.devices(), cl.devices()[1].platform'")
  t.skip_if(not names:find "^2%s+Portable", "PoCL is not the only platform")
  local list, notes = taken(3, two, "-q")
  t.eq(list, {1, 2, 1})
  t.eq(notes, "clshell: note: the 3 processes of this host share 2 devices\n")
  t.eq({taken(2, two, "-d cpu")}, {{1, 2}, ""})
  t.eq((taken(2, two, "-d 2")), {2, 2}, "a number is one device")
  t.eq((taken(3, two, "-d portable")), {1, 2, 1}, "all that a name fits")
  t.eq((taken(2, two, "-d pthread")), {2, 2})
  list, notes = taken(1, two, "-d portable")
  t.eq(list[1]:match "more than one device matches",
    "more than one device matches", notes)
  t.eq((scratch.sh(("export %s\n%s-p 'cl.use \"cpu\".index'"):format(two,
    as(1, 2)))), "2\n")
end)

t.test("ranks with devices of several kinds", function()
  ranks.need()
  t.skip_if(#cl.devices() == 0, "no device")
  local path = scratch.create("kinds.lua", "require 'mpi'")
  local _, err, status = scratch.sh(ranks.command(2, path)
    .. (" : -n 1 env OCL_ICD_VENDORS=/nonexistent $clshell %s"):format(path))
  t.eq(status, 0, err)
  t.eq(select(2, err:gsub("the ranks have devices of several kinds: 2 %a+, 1 "
    .. "none", "")), 1, err)
end)

t.test("rank 0 alone keeps runs and writes files", function()
  for rank = 0, 1 do
    local out = scratch.sh(("CLSHELL_STORE=$PWD/s%d.db %s -o f%d.txt -p "
      .. "'require(\"clshell.store\").location()'; ls"):format(rank,
      as(rank, 2), rank))
    t.eq(out:find("f" .. rank .. ".txt", 1, true) ~= nil, rank == 0, out)
  end
  scratch.has(scratch.read "f0.txt", "/s0.db")
end)

scratch.done()
