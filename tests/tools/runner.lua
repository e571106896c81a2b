-- tools/runner.lua - tests/run.lua: the lines of a run, and the end of its
-- files where it is killed; what make builds
-- SPDX-License-Identifier: MIT

local t = require "t"
local scratch = require "scratch"
local create, sh = scratch.create, scratch.sh

create("fine.lua", [[
local t = require "t"
t.test("one", function() end)
t.test("two", function() t.skip "no reason" end)
t.done()]])
create("wrong.lua", [[
local t = require "t"
t.test("wrong", function() error "a fault" end)
t.done()]])
create("asleep.lua", [[
os.execute "echo $$ >inner; sleep 300; true"]])
local exe, root = t.build .. "/clshell", t.capture("pwd"):match "%C+"
create("run.sh", ("exec env CLSHELL=%s CLSHELL_JOBS=1 CLSHELL_BUILD=none %s "
  .. "%s/tests/run.lua \"$@\""):format(exe, exe, root))

t.test("a run tells the start and the end of each file", function()
  local out, _, code = sh "sh run.sh fine.lua wrong.lua"
  t.eq(code, 1)
  local at = 1
  for _, line in ipairs{"[1/2] fine.lua\n",
      "[1/2] fine.lua 0 s ok, 1 passed, 1 skipped\n", "[2/2] wrong.lua\n",
      "[2/2] wrong.lua 0 s FAIL, 0 passed, 1 failed\n", "a fault",
      "the slowest files:\n", "1 passed, 1 failed, 1 skipped\n"} do
    at = select(2, out:find((line:gsub("0 s", "1 s")), at, true))
      or select(2, out:find(line, at, true))
      or error(("no '%s' in order in\n%s"):format(line, out))
  end
end)

t.test("a run that is killed leaves no process", function()
  local out = sh [[sh run.sh asleep.lua fine.lua >log 2>&1 & run=$!
for i in $(seq 300); do [ -s inner ] && break; sleep 0.1; done
kill -9 $run
for i in $(seq 600); do
  kill -0 $(cat inner) 2>/dev/null || { echo gone; break; }; sleep 0.1
done
cat log]]
  scratch.has(out, "gone\n", "[1/2] asleep.lua\n")
  t.ok(not out:find("[2/2]", 1, true), out)
end)

t.test("an mpicc without mpi.h leaves module mpi out, and says so", function()
  create("no_mpi", "#!/bin/sh\nexit 1\n")
  local out = sh(([[chmod +x no_mpi
make -C %s -n all BUILD=%s/build MPICC=%s/no_mpi |
  grep -o 'clshell: .*mpi.h.*\|CC src/cl/arg.c\|.*mpi.so.*']]):format(root,
    scratch.dir, scratch.dir))
  scratch.has(out, "no_mpi finds no mpi.h:' 'module mpi is left out",
    "CC src/cl/arg.c\n")
  t.ok(not out:find("mpi.so", 1, true), out)
end)

scratch.done()
