-- examples.lua - runs the example in the comment of every function that help
-- documents, in a folder and an environment of its own; --> heads the expected
-- output
-- SPDX-License-Identifier: MIT

local t = require "t"
local examples = require "clshell.shell.help.examples"

-- These use the run store, see store.lua.
local STORED = {history = true, best = true, prune = true,
  ["runs.compare"] = true}
local sanitized = (os.getenv "CLSHELL_BUILD" or ""):find("asan", 1, true)

t.device()
t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event", "Device")

-- Open MPI keeps memory of parts that it has unloaded.
local KEEPS = "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\""

local exe = t.exe:find("^/") and t.exe or os.getenv "PWD" .. "/" .. t.exe

-- Runs jobs as the tests do: measurements are short.
local function run(jobs)
  examples.start(jobs, {exe = exe, prelude = t.briefly,
    environment = examples.of_mpi(jobs[1].name) and KEEPS or ""})()
end

for _, group in ipairs(examples.groups()) do
  t.test("examples of " .. group.name, function()
    if group.skip then
      t.skip("the example " .. group.skip)
    end
    local jobs = {}
    for _, job in ipairs(group) do
      jobs[#jobs + 1] = not (sanitized and STORED[job.name]) and job or nil
    end
    if jobs[1] then
      run(jobs)
    end
    for _, job in ipairs(jobs) do
      t.ok(not job.failure, ("the example of %s %s"):format(job.name,
        job.failure))
    end
  end)
end

t.test("output, charts and failures of examples", function()
  local jobs = {
    {name = "says", code = "x = 1 print(x) --> 1"},
    {name = "follows", code = "print(x, nil) --> 1 nil", follows = true},
    {name = "alone", code = "print(x) --> nil"},
    {name = "differs", code = "print(2) --> 3"},
    {name = "raises", code = "error 'no'"},
    {name = "draws", code = "print(results{bench.of('a', {1})}:bar())"},
    {name = "reads", code = "x ="},
    {name = "ends", code = "os.exit(3)"},
    {name = "never", code = "print(1)"},
  }
  run(jobs)
  local failures, charts = {}, {}
  for i, job in ipairs(jobs) do
    failures[i] = job.failure and job.failure:match "^[^\n]*" or "-"
    charts[i] = #job.charts
  end
  t.eq(table.concat(failures, "|"), "-|-|-|did not print '3' but:|failed: "
    .. "raises:1: no|-|failed: reads:1: unexpected symbol near <eof>|did not "
    .. "end|did not end")
  t.eq(table.concat(charts, " "), "0 0 0 0 0 1 0 0 0")
  t.ok(jobs[6].charts[1]:find "^<svg")
end)

t.done()
