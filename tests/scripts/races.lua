-- races.lua - races against other libraries: programs that answer
-- line by line, ratios of known times, and the script's table
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local json = require "clshell.base.json"
local peers = dofile(cl.home .. "/scripts/lib/races.lua")

local device = t.device()
t.keeps("Program", "Kernel")

-- A program for the shell, as a file.
local function file(text)
  local path = t.tmp("peer's program.sh")
  local f <close> = assert(io.open(path, "w"))
  f:write(text)
  return path
end

t.test("a program answers line by line", function()
  local path = file [[
echo "a driver says something"
echo "ok fake 1.0"
while read -r word rest; do
  case $word in
    prepare) echo "compiling"; echo "ok $rest";;
    run) echo 0.00$rest;;
    *) echo "error no such $word";;
  esac
done]]
  local program = assert(peers.program(path, "sh"))
  t.eq(program.version, "fake 1.0")
  t.eq({program:ask "prepare a thing"}, {"a thing"})
  t.eq({program:ask "nonsense"}, {[2] = "no such nonsense"})
  local subject, what = program:subject "prepare x"
  t.eq({what, subject.sample(2).event}, {"x", 0.002})
  t.eq(select(2, program:subject "bad"), "no such bad")
  program:close()
  program:close()
end)

t.test("a program that is missing, ends or refuses", function()
  t.eq({peers.program("/nonesuch/peer")}, {[2] = "there is no /nonesuch/peer"})
  local function reason(text)
    return select(2, peers.program(file(text), "sh"))
  end
  t.eq(reason "exit 1", "it ended")
  t.eq(reason "echo error no device", "no device")
  t.eq(reason "echo Traceback; echo no module", "no module")
  local program = assert(peers.program(file "echo ok; read x; exit", "sh"))
  t.eq({program:ask "x"}, {[2] = "it ended"})
  program:close()
end)

-- A subject whose launches take that long, by its own account.
local function planted(seconds)
  return {now = cl.now, sleep = function() end,
    calibration = {event = true, batch = true, tick = 1e-9},
    sample = function(n)
      return {event = n * seconds, wall = n * seconds}
    end}
end

t.test("a race gives the ratio of rates", function()
  local r = peers.measure(planted(2e-3), planted(3e-3), {timer = "event"})
  t.near(r.ratio, 1.5, 1e-9)
  t.near(r.ours, 2e-3, 1e-9)
  t.eq({r.rounds, r.samples}, {10, 2})
  r = peers.measure(planted(1), planted(1), {timer = "wall", seconds = 60})
  t.near(r.ratio, 1, 1e-9)
end)

t.test("a table of races: rates, failures, the file", function()
  local path = t.tmp("table.json")
  local silent = {step = function() end, done = function() end}
  local races = peers.races{rounds = 8, file = path, progress = silent}
  local what = races:run({work = "w", rung = "r", peer = "p", amount = 6e9,
    peer_amount = 3e9}, planted(2), planted(3), "event")
  t.near(what.ratio, 3, 1e-9) -- twice the work in 2/3 of the time
  t.near(what.rate, 3, 1e-9)
  t.near(what.peer_rate, 1, 1e-9)
  local broken = planted(1)
  function broken.sample()
    cl.error("the peer died")
  end
  what = races:run({work = "w", rung = "r", peer = "p", amount = 1,
    peer_amount = 1}, planted(1), broken, "event")
  t.ok(not what.ratio and what.note:find("the peer died", 1, true))
  local f <close> = assert(io.open(path))
  local kept = json.decode(f:read("a"))
  t.eq({#kept.rows, kept.device}, {2, cl.device().name})
  races.file = "/nonesuch/table.json"
  t.raises(function() races:row{} end, "cannot write the table")
end)

t.test("a rung that is wrong does not race", function()
  local A = matrix.random(8)
  local plan, e = peers.plan(gemm, "tiled", {A = A, B = A}, {tile = 4})
  t.ok(plan and e < 1e-5)
  gemm.define{name = "nought", source = [[
    kernel void gemm(int M, int N, int K, float alpha, global float *A,
      int lda, global float *B, int ldb, float beta, global float *C, int ldc)
    { C[get_global_id(0)] = 0; }]], range = function(s)
      return {s.m * s.n}, {1}
    end}
  plan, e = peers.plan(gemm, "nought", {A = A, B = A})
  t.ok(not plan and e:find("^WRONG: error"), e)
end)

-- The script; its output and exit code.
local function run(args)
  local pipe <close> = assert(io.popen(("COLUMNS=80 %s %s %s/scripts/"
    .. "bench_peers.lua %s 2>&1 </dev/null; echo $?"):format(t.exe, t.brief,
    cl.home, args)))
  local out, code = pipe:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  return out, tonumber(code)
end

t.test("bench_peers.lua: a small run", function()
  local path = t.tmp("o.json")
  local out, code = run("--scale 64 -r 2 --only transpose --only spmv "
    .. "--only gemm --only pyopencl -o " .. path)
  t.eq(code, 0, out)
  local f <close> = assert(io.open(path))
  local rows, measured = json.decode(f:read("a")).rows, 0
  for _, r in ipairs(rows) do
    t.ok(r.ratio and r.ratio > 0 or r.note, r.work)
    t.ok(not (r.note or ""):find("WRONG", 1, true), r.note)
    measured = measured + (r.ratio and 1 or 0)
  end
  t.ok(measured >= 5, out)
  t.narrow(out)
  path = t.tmp "curve.svg"
  out, code = run(("--curve %s --scale 32 -r 1"):format(path))
  t.eq(code, 0, out)
  t.ok(out:find("gemm(A, B) 64", 1, true), out)
  t.ok(out:find "SGEMM n x n, back to back" and io.open(path), out)
  t.narrow(out)
  path = t.tmp "curve.html"
  out, code = run(("--curve %s --scale 16 -r 1"):format(path))
  t.eq(code, 0, out)
  local page <close> = assert(io.open(path))
  local all = page:read "a"
  for _, part in ipairs{"<title>SGEMM n x n, back to back", "<polyline",
      ">gemm(A, B) 128<", ">OpenBLAS"} do
    t.ok(all:find(part, 1, true), part)
  end
  out, code = run "--curve chart.pdf"
  t.ok(code == 2 and out:find("must end with .svg", 1, true), out)
  out, code = run "--only nonesuch"
  t.ok(code == 2 and out:find("must be one of", 1, true), out)
  out, code = run("--clblast " .. path)
  t.ok(code == 2 and out:find("not the output of a tuner of CLBlast", 1, true),
    out)
  out, code = run "--only spmv --scale 1024 -o /nonesuch/x.json"
  t.ok(code == 2 and out:find("cannot write the table", 1, true), out)
end, device)

t.done()
