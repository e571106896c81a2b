-- output.lua - what becomes of the results of a script: after an error, after
-- Ctrl-C, where they cannot be written, and where there are none
-- SPDX-License-Identifier: MIT

local t = require "t"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local export = require "clshell.results.export"
local json = require "clshell.base.json"
local lesson = require "clshell.explain.lesson"
local quote = require "clshell.base.text".quote
local report = require "clshell.report"

t.keeps("Program", "Kernel")
t.device()

local build = os.getenv "CLSHELL_BUILD" or "build"
if build:sub(1, 1) ~= "/" then
  build = cl.home .. "/" .. build
end

local function contents(path)
  local f <close> = io.open(path)
  return f and f:read("a")
end

local write = t.write

-- Runs a command; standard output, standard error and the exit code.
local function run(command)
  local errors = t.tmp("stderr")
  local pipe <close> = assert(io.popen(("COLUMNS=80 %s 2>%s </dev/null; "
    .. "echo $?"):format(command, errors)))
  local out, code = pipe:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  return out, contents(errors), tonumber(code)
end

-- Runs a command on a terminal, in a conversation of these lines.
local function converse(command, ...)
  local lines = write(t.tmp("conversation"), table.concat({...}, "\n") .. "\n")
  local pipe <close> = assert(io.popen(("LC_ALL=C COLUMNS=80 %s/tests/pty "
    .. "-t 300 %s <%s 2>&1"):format(build, command, lines)))
  local said = pipe:read("a")
  t.ok(pipe:close(), said)
end

-- The command of a script with options whose part of a table is `body`.
local function script(body)
  return t.exe .. " " .. write(t.tmp("s.lua"), ([[
    local output = require "clshell.results.output"
    local script = require "clshell.base.script"
    local parser = script.parser("s.lua", "A test.")
    output.options(parser)
    local out <close> = output.open(parser, script.parse(parser))
    local part <close> = out:part{steps = 3, columns = {"name", "time",
      "note"}}
    %s]]):format(body))
end

local ROW = 'part:add(bench.of("first", {1e-3, 1e-3, 1e-3}))\n'
local FAIL = 'error("no luck")'
local WAIT = 'print "ready" while true do end'
local CTRL_C = "expect ready\nsend \\x03"

local MEASURE = [[
  local opts = {name = "endless", warmup = 0, seconds = 1e9, busy = 1e9}
  local calls = 0
  part:add(bench(function()
    local begin = cl.now()
    repeat until cl.now() - begin > 0.001
    calls = calls + 1
    if calls == 300 then
      print "ready"
    end
  end, opts))]] -- the line of the call may stand below the error: no "endless"

t.test("Ctrl-C makes a row of what was under way", function()
  local path = t.tmp("a.json")
  converse(script(ROW .. MEASURE) .. " -o " .. path, "expect first", CTRL_C,
    "expect endless", "expect interrupted: by Ctrl-C",
    "expect 2 results in", "refute endless", "expect interrupted!", "exit 130")
  local r = json.decode(contents(path)).results[2]
  t.eq({r.name, r.status}, {"endless", "interrupted"})
  t.ok(r.n >= 1 and r.time_s > 0.001)
end)

t.test("an error keeps the rows before it, and stands", function()
  local path = t.tmp("a.json")
  local out, err, code = run(script(ROW .. FAIL) .. " -o " .. path)
  t.eq(code, 1)
  t.ok(out:find("first", 1, true) and err:find("no luck", 1, true), err)
  t.eq(json.decode(contents(path)).results[1].name, "first")
end)

t.test("behind a pipe a row is there while the next is measured", function()
  local go = t.tmp("go") -- the script waits for the reader of its first row
  os.remove(go)
  local out = run(("sh -c %s"):format(quote(([[%s | while read -r line; do
case $line in first*) touch %s;; ended) echo "$line";; esac; done]]):format(
    script(ROW .. ('repeat until io.open(%q) print "ended"'):format(go)),
    go))))
  t.eq(out, "ended\n")
  os.remove(go)
end)

t.test("words for people are made where people read", function()
  local say = 'out:say "plain" out:say(function() return "made" end)\n'
  local out = run(script(say .. ROW))
  t.ok(out:find("plain\nmade\n", 1, true), out)
  out = run(script(say .. ROW) .. " --format csv")
  t.ok(not out:find("plain") and not out:find("made"), out)
end)

t.test("a run without results leaves none of an earlier one", function()
  local path = t.tmp("a.csv")
  local old = path .. ".old"
  local _, err, code = run(script(FAIL) .. " -o " .. path)
  t.eq({code, contents(path), contents(old)}, {1})
  t.ok(err:find("no results; " .. path .. " is not written", 1, true), err)
  run(script(ROW) .. " -o " .. path)
  local earlier = contents(path)
  t.ok(earlier:find("first", 1, true), earlier)
  _, err, code = run(script(FAIL) .. " -o " .. path)
  t.eq({code, contents(path), contents(old)}, {1, nil, earlier})
  t.ok(err:find("no results; " .. path .. " of an earlier run is "
    .. old .. " now", 1, true), err)
  write(path, earlier)
  _, err, code = run(script("") .. " -o " .. path)
  t.eq({code, contents(path)}, {0})
  t.ok(err:find("no results", 1, true), err)
  write(path, "")
  converse(script(WAIT) .. " -o " .. path, CTRL_C, "expect no results",
    "expect interrupted!", "exit 130")
  t.eq(contents(path), "")
  os.remove(old)
end)

t.test("a mistake on the command line touches no file", function()
  local path = write(t.tmp("a.csv"), "earlier")
  local _, _, code = run(script(ROW) .. " --nonesuch -o " .. path)
  t.eq({code, contents(path)}, {2, "earlier"})
  local store = write(t.tmp("file"), "no store")
  _, _, code = run(script(ROW) .. (" --store %s -o %s"):format(store, path))
  t.eq({code, contents(path)}, {2, "earlier"})
end)

t.test("Ctrl-C and an error stand where the file cannot be written",
  function()
    t.skip_if(not io.open("/dev/full", "w"), "there is no /dev/full")
    local full = " --format csv -o /dev/full"
    converse(script(ROW .. WAIT) .. full, "expect first", CTRL_C,
      "expect cannot write the results to /dev/full: No space",
      "expect interrupted!", "exit 130")
    local out, err, code = run(script(ROW .. FAIL) .. full)
    t.eq(code, 1)
    t.ok(out:find("first", 1, true) and err:find("No space", 1, true)
      and err:find("no luck", 1, true), err)
    out, err, code = run(script(ROW) .. full)
    t.eq(code, 1)
    t.ok(out:find("first", 1, true) and err:find("No space", 1, true), err)
  end)

-- Text without the breaks that the width of a window makes.
local function unbroken(text)
  return (text:gsub("%s+", " "))
end

local WRONG = [[
  for name, value in pairs{nan = "NAN", inf = "INFINITY", zero = "0"} do
    gemm.define{name = "wrong_" .. name, source = ([=[
      kernel void f(int M, int N, int K, float alpha, global const float *A,
          int lda, global const float *B, int ldb, float beta,
          global float *C, int ldc) {
        C[get_global_id(1) * ldc + get_global_id(0)] = %s;
      }]=]):format(value), range = function(s) return {s.n, s.m} end}
  end
  part.columns = {"kernel", "ms", "gflops", "speedup", "err", "note"}
  local o = {A = matrix.random(33, 17), B = matrix.random(17, 40)}
  for _, name in ipairs{"naive", "wrong_nan", "wrong_inf", "wrong_zero",
      "tiled"} do
    local r = part:add(gemm.bench(name, nil, o, {seconds = 0.01}))
    part.base = part.base or r
  end]]

t.test("a rung that is wrong is a row with a reason, and no more", function()
  local path = t.tmp("a.json")
  local out, err, code = run(script(WRONG) .. " -o " .. path)
  t.eq(code, 0, err)
  for _, words in ipairs{"nan inf", "inf inf", "zero 1e[+]00"} do
    t.ok(unbroken(out):find(("wrong_%s WRONG err=%%S+, bound %%S+ at row 1, "
      .. "column 1"):format(words)), out)
  end
  t.ok(out:find("\n[* ]*naive +%S") and out:find("\n[* ]*tiled +%S"), out)
  local list = json.decode(contents(path)).results
  for i, status in ipairs{"ok", "wrong", "wrong", "wrong", "ok"} do
    local r = list[i]
    t.eq({r.status, r.verified}, {status, status == "ok"}, r.name)
    t.eq(r.throughput_FLOPS ~= nil, status == "ok", r.name)
  end
end)

t.test("nothing to count, and no time at all", function()
  local b <close> = cl.buffer("int", 64)
  local opts = {flop = 0, bytes = 0, seconds = 0.01, warmup = 0}
  local r = bench(function() return b:fill(1) end, opts)
  local none = bench.of("none", {0, 0, 0}, {flop = 64, bytes = 64})
  for _, x in ipairs{r, bench.of("some", {1, 2, 3}, {flop = 0, bytes = 0}),
      none} do
    t.eq({x.status, x.gflops, x.gbs, x.roof, x.ai}, {"ok"}, x.name)
  end
  t.eq(lesson(none), "Nothing to read: there is no time.")
  local list = {r, none}
  report.relate(list, {by = "gflops", peak = 1e9, base = none})
  local text = report.format(list, {"name", "ms", "gflops", "gbs", "peak",
    "speedup"})
  t.ok(text:find("\nnone +0", 1) and not text:find "nan"
    and not text:find "inf", text)
  for _, format in ipairs(export.formats) do
    t.ok(not export.text(list, format):find "[^%a]nan[^%a]", format)
  end
end)

-- Calls f(command): bench_launch of a tree whose C program is this text of a
-- shell script (nil: there is none), in a folder that a shell takes apart.
local function launches(program, f)
  local home = t.tmp("it's-$tree")
  assert(os.execute(("mkdir -p %s/build/tests && ln -s %s/lua %s/scripts "
    .. "%s/kernels %s/build/api.lua %s")
    :format(quote(home), quote(cl.home), quote(cl.home), quote(cl.home),
    quote(cl.home), quote(home))))
  local path = home .. "/build/tests/launch_cost"
  if program then
    write(path, "#!/bin/sh\n" .. program .. "\n")
    os.execute("chmod +x " .. quote(path))
  end
  local ok, e = pcall(f, ("env CLSHELL_HOME=%s %s %s/scripts/bench_launch.lua")
    :format(quote(home), t.exe, quote(home)), path)
  os.execute("rm -rf -- " .. quote(home))
  return ok or error(e, 0)
end

t.test("launches: there is a C program", function()
  launches("echo a warning of the driver; echo 1.5", function(command, path)
    local out, err, code = run(command .. " -n 20 -r 3")
    t.eq(code, 0, err)
    t.ok(out:find("\nfrom C +%S+ +3\n"), out)
    t.ok(unbroken(out):find("%d [mnµu]*s %a%a%a%a than from C from C"), out)
    t.ok(not out:find(path, 1, true), out)
  end)
end)

t.test("launches: there is none, or it fails", function()
  launches(nil, function(command, path)
    local out, err, code = run(command .. " -n 20 -r 2")
    t.eq(code, 0, err)
    t.ok(unbroken(out):find("from C: not measured, there is no " .. path
      .. ", which make test builds", 1, true), out)
    t.ok(out:find("\nfrom Lua") and not out:find("\nfrom C"), out)
  end)
  launches("echo no such card >&2; exit 1", function(command, path)
    local out = unbroken(run(command .. " -n 20 -r 2"))
    t.ok(out:find(path .. " failed: no such card", 1, true), out)
    t.ok(not out:find("not measured", 1, true), out)
  end)
end)

t.test("launches: it fails in the third round", function()
  local program = 'd=`dirname "$0"`; echo >>"$d/n"; '
    .. 'test `wc -l <"$d/n"` -lt 3 || exit 7; echo 2'
  launches(program, function(command, path)
    local out, err, code = run(command .. " -n 20 -r 5")
    t.eq(code, 0, err)
    t.ok(out:find("\nfrom Lua +%S+ +5 ")
      and out:find("\nfrom C +%S+ +2\n"), out)
    out = unbroken(out)
    t.ok(out:find("than from C in 2 of 5 rounds; from C: " .. path
      .. " failed: exit code 7", 1, true), out)
  end)
end)

t.test("launches: Ctrl-C keeps the rounds", function()
  local path = t.tmp("a.json")
  launches("echo 1.5", function(command)
    converse(command .. " -n 1 -r 2147483647 -o " .. path, "expect -] ",
      "send \\x03", "expect from Lua", "expect from C", "expect 2 results in",
      "expect interrupted!", "exit 130")
  end)
  local list = json.decode(contents(path)).results
  t.eq({#list, list[1].name, list[2].name}, {2, "from Lua", "from C"})
  t.ok(list[1].n >= 1 and list[2].n >= 1)
end)

t.done()
