-- run.lua - runs the test files, each in a process of its own, two at a
-- time, the longest first; a file that calls t.device() runs once for every
-- device.
-- Usage: build/clshell tests/run.lua [--quick] [FILE...]
-- --quick leaves out the files that take long, listed below.
-- Environment: CLSHELL (interpreter), CLSHELL_DEVICE (just that one),
-- CLSHELL_SEED, CLSHELL_JOBS (2), CLSHELL_TIMEOUT (seconds a file, 1800).
-- SPDX-License-Identifier: MIT

local exe = os.getenv "CLSHELL" or arg[-1]
local folder = arg[0]:match "^(.*)/[^/]*$" or "."
local seed = os.getenv "CLSHELL_SEED" or tostring(os.time())
local jobs = math.tointeger(tonumber(os.getenv "CLSHELL_JOBS")) or 2
local limit = os.getenv "CLSHELL_TIMEOUT" or "1800"
local passed, failed, skipped = 0, 0, 0

-- Files that take longer than some seconds, the longest first. With --quick
-- the rest is run: objects and launches, families, data, reports, store,
-- plots, editing, help, and the words of the prompt.
local LONG = {"gemm/gemm", "gemm/nvptx", "shell/interrupt", "cl/memfail",
  "calls/driver", "ranks/sparse", "ranks/dense", "scripts/scripts",
  "scripts/races",
  "help/examples", "explain/claims", "gemm/blas", "spmv/spmv",
  "ladders/transpose", "ladders/scan", "ladders/reduce", "ladders/gemv",
  "ladders/stencil", "ladders/conv2d", "ladders/sort", "measure/bench",
  "cl/rebuild", "commands/cli", "mpi/launch", "mpi/collectives", "mpi/tune",
  "prompt/show_device", "cl/badinput", "explain/check", "base/misuse"}

local function quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

-- The output of a shell command, and whether it succeeded.
local function capture(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "a"
  return text, pipe:close()
end

local function contents(path)
  local file = assert(io.open(path))
  local text = assert(file:read "a", path .. " is a folder; give its files")
  file:close()
  return text
end

-- The place of a file among the long ones, or nil.
local function long(path)
  for i, name in ipairs(LONG) do
    if path:sub(-#name - 5) == "/" .. name .. ".lua" then
      return i
    end
  end
end

-- Test files are those that end with t.done(): helpers do not. A long file
-- that is not there is an error: it was renamed.
local function all_files()
  local list = {}
  local all = capture("ls " .. quote(folder) .. "/*/*.lua")
  for path in all:gmatch "[^\n]+" do
    if contents(path):find "\nt%.done%(" then
      list[#list + 1] = path
    end
  end
  for _, name in ipairs(LONG) do
    assert(io.open(("%s/%s.lua"):format(folder, name))):close()
  end
  return list
end

-- The files to run, the long ones first.
local function testfiles()
  local quick = arg[1] == "--quick"
  if quick then
    table.remove(arg, 1)
  end
  local list, first = {}, {}
  for _, path in ipairs(#arg > 0 and arg or all_files()) do
    local place = long(path)
    if not place then
      list[#list + 1] = path
    elseif not quick then
      first[#first + 1] = path
    end
  end
  table.sort(first, function(a, b) return long(a) < long(b) end)
  return table.move(list, 1, #list, #first + 1, first)
end

-- {selector = name} of the devices to test on; a child asks the drivers.
local function devices()
  local chosen = os.getenv "CLSHELL_DEVICE"
  if chosen then
    return {{selector = chosen, name = chosen}}
  end
  local list = {}
  local code = [[local cl = require "cl"
for i, d in ipairs(cl.devices()) do print("DEVICE", i, d.name) end]]
  local text = capture(quote(exe) .. " -e " .. quote(code) .. " 2>&1")
  for i, name in text:gmatch "DEVICE\t(%d+)\t([^\n]*)" do
    list[#list + 1] = {selector = i, name = name}
  end
  if #list == 0 then
    print("no device: " .. text:gsub("\n.*", ""))
    list[1] = {name = "no device"}
  end
  return list
end

local path = folder .. "/?.lua;" .. folder .. "/tools/?.lua;" ..
             (os.getenv "LUA_PATH_5_4" or os.getenv "LUA_PATH" or ";")
local timeout = capture "command -v timeout" ~= "" and
                "timeout --foreground -k 10 " .. quote(limit) .. " " or ""

-- The shell command of a job.
local function command(job)
  local device = job.device and job.device.selector
  return string.format(
    "exec env CLSHELL_STORE=none XDG_CONFIG_HOME=/dev/null/none " ..
      "LUA_PATH_5_4=%s " ..
      "CLSHELL_SEED=%s CLSHELL=%s %s %s%s %s",
    quote(path), quote(seed), quote(exe),
    device and "CLSHELL_DEVICE=" .. quote(device) or "", timeout, quote(exe),
    quote(job.file))
end

-- What ended the process, if not its own will.
local function death(code, text)
  if code > 128 then
    return "killed by signal " .. code - 128
  elseif code == 124 then
    return "stopped after " .. limit .. " seconds"
  elseif not text:find "\n# %d+ passed" then
    return "ended early with exit code " .. code
  end
end

local function report(job, text, code)
  local counts = {0, 0, 0}
  for line in text:gmatch "[^\n]+" do
    local kind = line:find "^not ok %d" and 2 or
                 line:find "^ok %d.* # SKIP" and 3 or
                 line:find "^ok %d" and 1
    if kind then
      counts[kind] = counts[kind] + 1
    end
    if kind == 3 then
      job.skips[#job.skips + 1] = line:gsub("^ok %d+ %- ", "")
    end
  end
  local why = death(code, text)
  if why == nil and code ~= 0 and counts[2] == 0 then
    why = "exit code " .. code .. " after the last test"
  end
  counts[2] = counts[2] + (why and 1 or 0)
  local took = text:match "# took (%d+) s" or "?"
  print(string.format("%-4s %-32s %4d passed %3d failed %3d skipped  %ss%s",
                      counts[2] == 0 and "ok" or "FAIL", job.file, counts[1],
                      counts[2], counts[3], took,
                      job.device and "  " .. job.device.name or ""))
  if counts[2] > 0 then
    for line in text:gmatch "[^\n]+" do
      if not line:find "^ok %d" and not line:find "^# took" then
        print("     " .. line)
      end
    end
    if why then
      print("     # " .. job.file .. ": " .. why)
    end
  end
  for _, reason in ipairs(job.skips) do
    print("     skipped: " .. reason)
  end
  io.stdout:flush()
  passed = passed + counts[1]
  failed = failed + counts[2]
  skipped = skipped + counts[3]
end

-- Reports a job that has ended; once more where only the leak checker failed.
local function finish(job, text, code)
  if code ~= 0 and not text:find "\nnot ok %d"
      and text:find("LeakSanitizer has encountered a fatal error") then
    print("once more, as the leak checker failed: " .. job.file)
    -- all tests had passed, see t.lua
    text, code = capture("(" .. command(job) .. ") 2>&1; echo \"=$?\"")
      :match "^(.*)=(%d+)\n$"
    code = tonumber(code)
  end
  report(job, text, code)
end

local function plan()
  local list, all = {}, nil
  for _, file in ipairs(testfiles()) do
    if contents(file):find "t%.device%(" then
      all = all or devices()
      for _, device in ipairs(all) do
        list[#list + 1] = {file = file, device = device, skips = {}}
      end
    else
      list[#list + 1] = {file = file, skips = {}}
    end
  end
  return list
end

-- Runs the jobs, `jobs` of them at a time, and reports each as it ends: xargs
-- says the number and the exit code of a job whose output lies in a file.
local function run(list)
  local dir = capture "mktemp -d":match "[^\n]+"
  for i, job in ipairs(list) do
    local file = assert(io.open(("%s/%d.sh"):format(dir, i), "w"))
    file:write(command(job), "\n")
    file:close()
  end
  local pipe = assert(io.popen(([[seq %d | xargs -P %d -n 1 sh -c \
    'sh "$0/$1.sh" >"$0/$1.out" 2>&1; echo "$1 $?"' %s]]):format(#list, jobs,
    quote(dir))))
  local ended = 0
  for line in pipe:lines() do
    local i, code = line:match "^(%d+) (%d+)$"
    ended = ended + 1
    finish(list[tonumber(i)], contents(("%s/%d.out"):format(dir, i)),
      tonumber(code))
  end
  pipe:close()
  os.execute("rm -rf " .. quote(dir))
  if ended < #list then
    failed = failed + #list - ended
    print(("%d files were not run"):format(#list - ended))
  end
end

print("seed " .. seed)
io.stdout:flush()
run(plan())
print(string.format("%d passed, %d failed, %d skipped", passed, failed,
                    skipped))
os.exit(failed == 0 and passed > 0)
