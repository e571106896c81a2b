-- run.lua - runs the test files, each in a process of its own, two at a
-- time, the longest first; a file that calls t.device() runs once for every
-- device. A line tells the start of each file, another its end and seconds,
-- and the last lines the slowest files. The processor seconds of each file are
-- kept beside the build, for the order of the next run. Where the runner is
-- killed, its files end within seconds.
-- Usage: build/clshell tests/run.lua [--quick] [FILE...]
-- --quick leaves out the files that take long, listed below.
-- Environment: CLSHELL (interpreter), CLSHELL_DEVICE (just that one),
-- CLSHELL_SEED (the date: random sizes are parts of kernels, and the kernels
-- of one day are built once), CLSHELL_JOBS (2), CLSHELL_TIMEOUT (1800: the
-- processor seconds of a process, and the seconds in which no test of a file
-- ends, fewer where more processes run than the machine has cores),
-- CLSHELL_TIMES (the output of a test file by itself then has the
-- processor seconds of each test).
-- SPDX-License-Identifier: MIT

local exe = os.getenv "CLSHELL" or arg[-1]
local folder = arg[0]:match "^(.*)/[^/]*$" or "."
local seed = os.getenv "CLSHELL_SEED" or os.date "%Y%m%d"
local jobs = math.tointeger(tonumber(os.getenv "CLSHELL_JOBS")) or 2
local limit = math.tointeger(tonumber(os.getenv "CLSHELL_TIMEOUT")) or 1800
local times_path = (os.getenv "CLSHELL_BUILD" or "build") .. "/tests/times"
local passed, failed, skipped = 0, 0, 0
local SLOWEST = 5 -- files, told at the end

-- Files of more than about five processor seconds where no kernel is built
-- yet: the ladders, array work, simulations, tuning, processes by the dozen.
-- With --quick the rest is run.
local LONG = {
  "arrays/array", "arrays/gather", "arrays/hold", "arrays/map",
  "arrays/random", "arrays/scans", "arrays/sorting", "arrays/totals",
  "arrays/variance", "arrays/views", "base/misuse", "cl/badinput",
  "cl/gcstress", "cl/lifetime", "cl/memfail", "cl/rebuild", "commands/cli",
  "commands/tune", "cuda/kernels", "explain/access", "explain/check",
  "explain/claims", "explain/course", "explain/lesson", "explain/planted",
  "explain/sizes", "gemm/blas", "gemm/gemm", "gemm/half", "gemm/nvptx",
  "gemm/pack", "gemm/small", "help/examples", "ladder/family",
  "ladder/fitting", "ladder/new", "ladders/conv2d", "ladders/gemv",
  "ladders/reduce", "ladders/scan", "ladders/sort", "ladders/stencil",
  "ladders/transpose", "measure/bench", "measure/peaks", "measure/protocol",
  "mpi/collectives", "mpi/launch", "mpi/tune", "parts/out_of_core",
  "prompt/commands", "prompt/show_device", "prompt/tutorial", "ranks/dense",
  "ranks/model", "ranks/sparse", "results/output", "scripts/races",
  "scripts/scripts", "shell/interrupt", "split/families", "split/split",
  "spmv/pack", "spmv/spmv", "tune/tune"}

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

-- Whether --quick leaves a file out.
local function is_long(path)
  for _, name in ipairs(LONG) do
    if path:sub(-#name - 5) == "/" .. name .. ".lua" then
      return true
    end
  end
end

-- {file = processor seconds} of earlier runs.
local function read_times()
  local list, file = {}, io.open(times_path)
  for line in file and file:lines() or function() end do
    local seconds, path = line:match "^(%S+) (.+)$"
    if path then
      list[path] = tonumber(seconds)
    end
  end
  if file then
    file:close()
  end
  return list
end

local function write_times(list)
  local file, lines = io.open(times_path, "w"), {}
  for path, seconds in pairs(list) do
    lines[#lines + 1] = ("%.1f %s\n"):format(seconds, path)
  end
  table.sort(lines)
  if file then
    file:write(table.concat(lines)):close()
  end
end

-- Test files call t.done() or scratch.done(): helpers do not. A long file
-- that is not there is an error: it was renamed.
local function all_files()
  local list = {}
  local all = capture("ls " .. quote(folder) .. "/*/*.lua")
  for path in all:gmatch "[^\n]+" do
    if contents(path):find "\n%a+%.done%(%)" then
      list[#list + 1] = path
    end
  end
  for _, name in ipairs(LONG) do
    assert(io.open(("%s/%s.lua"):format(folder, name))):close()
  end
  return list
end

-- The files to run, those of the most processor time first; a file that was
-- never run is one of them.
local function testfiles()
  local quick = arg[1] == "--quick"
  if quick then
    table.remove(arg, 1)
  end
  local list, times = {}, read_times()
  for _, path in ipairs(#arg > 0 and arg or all_files()) do
    list[#list + 1] = not (quick and is_long(path)) and path or nil
  end
  local function time(path)
    return times[path] or is_long(path) and 2 * limit or limit
  end
  table.sort(list, function(a, b)
    return time(a) > time(b) or time(a) == time(b) and a < b
  end)
  return list
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
-- Words of `env` that give a job the default action for Ctrl-C, which a shell
-- has its background jobs ignore, and no shell can undo; none where `env` has
-- no such option.
local DEFAULT = "--default-signal=INT"
DEFAULT = os.execute("env " .. DEFAULT .. " true 2>/dev/null") and DEFAULT
  or ""

-- The shell command of a job.
local function command(job)
  local device = job.device and job.device.selector
  return string.format(
    "ulimit -t %d; exec env %s CLSHELL_STORE=none " ..
      "XDG_CONFIG_HOME=/dev/null/none " ..
      "LUA_PATH_5_4=%s " ..
      "CLSHELL_SEED=%s CLSHELL=%s %s %s %s",
    limit, DEFAULT, quote(path), quote(seed), quote(exe),
    device and "CLSHELL_DEVICE=" .. quote(device) or "", quote(exe),
    quote(job.file))
end

local XCPU = 128 + 24 -- the exit code after the limit of processor time
local STOPPED = "# stopped by run.lua"

-- Runs job $1 of folder $0, and says its number at the start, and with its
-- exit code at the end; the times of its processes go to a file. A loop beside
-- it ends a job whose runner is gone, or whose output no longer grows: `idle`
-- are hundredths of a second, fewer where more processes run than there are
-- cores.
local WORKER = ([[
out="$0/$1.out" idle=0 last= cores=$(getconf _NPROCESSORS_ONLN || echo 1)
kill -0 $RUNNER 2>/dev/null || { rm -rf "$0"; exit 255; }
tree() { for child in $(pgrep -P $2); do tree $1 $child; done; kill $1 $2; }
end() { pid=$(cat "$0/$1.pid"); tree -TERM $pid; sleep 10; tree -KILL $pid; }
while sleep 2; do
  kill -0 $RUNNER || { end "$1"; rm -rf "$0"; exit; }
  size=$(wc -c <"$out") load=0
  if [ "$size" != "$last" ]; then idle=0 last=$size; fi
  read -r load rest </proc/loadavg
  load=${load%.*} load=${load:-0}
  idle=$((idle + 200 * cores / (load > cores ? load : cores)))
  if [ $idle -gt LIMIT00 ]; then
    printf '\nSTOPPED\n' >>"$out"
    end "$1"; exit
  fi
done >/dev/null 2>&1 &
watch=$!
echo "$1"
sh "$0/$1.sh" >>"$out" 2>&1
code=$?
kill $watch 2>/dev/null
times >"$0/$1.times"
echo "$1 $code"
]]):gsub("LIMIT", limit):gsub("STOPPED", STOPPED)

-- The seconds that the shell's `times` tells, such as "0m1.5s 0m0.2s".
local function processor_seconds(text)
  local sum = 0
  for minutes, seconds in text:gmatch "(%d+)m([%d.]+)s" do
    sum = sum + 60 * minutes + seconds
  end
  return sum
end

-- What ended the process, if not its own will.
local function death(code, text)
  if text:find("\n" .. STOPPED, 1, true) then
    return ("stopped, as no test ended for %d seconds"):format(limit)
  elseif code == XCPU then
    return ("stopped after %d processor seconds"):format(limit)
  elseif code > 128 then
    return "killed by signal " .. code - 128
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
  print(("%s %.0f s %s, %d passed%s%s"):format(job.title, job.wall,
    counts[2] == 0 and "ok" or "FAIL", counts[1],
    counts[2] > 0 and (", %d failed"):format(counts[2]) or "",
    counts[3] > 0 and (", %d skipped"):format(counts[3]) or ""))
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

-- "gemm/gemm.lua" of a path.
local function short(file)
  return file:match "([^/]+/[^/]+)$" or file
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
  for i, job in ipairs(list) do
    job.title = ("[%d/%d] %s%s"):format(i, #list, short(job.file),
      all and #all > 1 and job.device and " on " .. job.device.name or "")
  end
  return list
end

-- Runs the jobs, `jobs` of them at a time, and reports each as it ends.
local function run(list)
  local dir = capture "mktemp -d":match "[^\n]+"
  for i, job in ipairs(list) do
    local base = ("%s/%d"):format(dir, i)
    local file = assert(io.open(base .. ".sh", "w"))
    file:write(("echo $$ >%s.pid\n"):format(base), command(job), "\n")
    file:close()
    assert(io.open(base .. ".out", "w")):close()
  end
  -- the parent of popen's shell is this process
  local pipe = assert(io.popen(("export RUNNER=$PPID; seq %d | xargs -P %d "
    .. "-n 1 sh -c %s %s"):format(#list, jobs, quote(WORKER), quote(dir))))
  local ended = 0
  for line in pipe:lines() do
    local i, code = line:match "^(%d+) ?(%d*)$"
    local base, job = ("%s/%d"):format(dir, i), list[tonumber(i)]
    if code == "" then
      job.began = cl.now()
      print(job.title)
    else
      job.seconds = processor_seconds(contents(base .. ".times"))
      job.wall = cl.now() - job.began
      ended = ended + 1
      finish(job, contents(base .. ".out"), tonumber(code))
    end
    io.stdout:flush()
  end
  pipe:close()
  os.execute("rm -rf " .. quote(dir))
  if ended < #list then
    failed = failed + #list - ended
    print(("%d files were not run"):format(#list - ended))
  end
end

-- Keeps the processor seconds of the files, and tells the slowest files.
local function tell_times(list)
  local times, sum, all, slowest = read_times(), {}, 0, {}
  for _, job in ipairs(list) do
    if job.wall then
      sum[job.file] = (sum[job.file] or 0) + job.seconds
      all = all + job.seconds
      slowest[#slowest + 1] = job
    end
  end
  if not os.getenv "CLSHELL_TEST" then
    for file, seconds in pairs(sum) do
      times[file] = seconds
    end
    write_times(times)
  end
  table.sort(slowest, function(a, b) return a.wall > b.wall end)
  print(("%.0f processor seconds%s"):format(all, #slowest > 1
    and "; the slowest files:" or ""))
  for i = 1, #slowest > 1 and math.min(#slowest, SLOWEST) or 0 do
    local job = slowest[i]
    print(("%6.0f s, %.0f of a processor: %s"):format(job.wall, job.seconds,
      short(job.file)))
  end
end

print("seed " .. seed)
io.stdout:flush()
local list = plan()
run(list)
tell_times(list)
print(string.format("%d passed, %d failed, %d skipped", passed, failed,
                    skipped))
os.exit(failed == 0 and passed > 0)
