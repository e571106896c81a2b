-- explain/memcheck.lua - clshell --memcheck: a script whose only device is
-- the simulator, and the defects of each of its launches
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local excerpt = require "clshell.errors.excerpt"
local file = require "clshell.base.file"
local findings = require "clshell.explain.findings"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local text = require "clshell.base.text"

local M = {}

local FAILED, USAGE, NODEVICE = 1, 2, 3 -- exit codes
local LEVELS = 200 -- callers to look for the user's code in

local KEPT = 1 << 25 -- bytes of memory to keep from being used again

local known = {}   -- findings by place and words
local kept = {bytes = 0} -- views
local seen = setmetatable({}, {__mode = "k"}) -- Buffers with a kept view

-- The place in the script that launched: "script.lua:12".
local function place()
  for level = 3, LEVELS do
    local info = debug.getinfo(level, "Sl")
    if not info then
      return nil
    elseif info.currentline > 0 and not excerpt.own(info.source) then
      return ("%s:%d"):format(excerpt.name(info.source, info.short_src),
        info.currentline)
    end
  end
end

-- The launch as findings takes it, without arguments where the job refuses the
-- launch; and the addresses of its arguments.
local function described(launch, args)
  local ok, added = pcall(jobs.add, jobs.new "memcheck", launch, args)
  if not ok then
    added = {kernel = launch.kernel.name, global = launch.global, args = {},
      unsure = jobs.unsure(launch.kernel)}
  end
  local addresses = {}
  for i, a in ipairs(added.args) do
    addresses[i] = a.memory and jobs.address(args[i]) or nil
  end
  added.localsize = launch.localsize
  return added, addresses
end

-- Adds a line to the file that the parent counts.
local function count(path, word)
  local f <close> = assert(io.open(path, "a"))
  f:write(word, "\n")
end

-- Keeps the memory of Buffers, by views, when they are closed. Where a larger
-- Buffer takes the memory of a smaller one, as in x:sum() in a loop, the
-- simulator forgets which bytes behind the smaller Buffer's end are written.
local function keep(...)
  for _, value in ipairs{...} do
    local b = text.class(value) == "Any" and value.buffer or value
    if text.class(b) == "Buffer" and not seen[b] then
      seen[b] = true
      local ok, view = pcall(b.view, b, 1, 1)
      if kept.bytes + b.bytes > KEPT then
        kept = {bytes = 0}
      end
      kept[#kept + 1] = ok and view or nil
      kept.bytes = kept.bytes + b.bytes
    end
  end
end

-- Looks at the log after a launch and tells its new findings.
local function look(counts, launch, ...)
  count(counts, "launch")
  keep(...)
  local log = jobs.news()
  if not log:find "%S" then
    return
  end
  local added, addresses = described(launch, table.pack(...))
  jobs.news() -- of the kernel that tells an address
  local fresh = {}
  for _, f in ipairs(findings.of(added, {log = log, addresses = addresses}))
      do
    local key = ("%s|%s|%s|%s|%s"):format(added.kernel, f.kind, f.file,
      f.line, f.argument and f.argument.name)
    if not known[key] then
      known[key], fresh[#fresh + 1] = true, f
      count(counts, "finding")
    end
  end
  if #fresh > 0 then
    local at = place()
    io.stdout:flush()
    io.stderr:write(tostring(findings.check_of(launch, added, fresh, at
      and ", launched at " .. at or "")), "\n")
  end
end

--- memcheck.begin()
--- Checks each launch of this process, which the simulator runs. Measurements
--- are cut short: timers and peaks of the simulator mean nothing.
function M.begin()
  local counts = os.getenv "CLSHELL_MEMCHECK"
  cl.launched(function(...)
    look(counts, ...)
  end)
  for _, effort in pairs(require "clshell.measure.protocol".efforts) do
    effort.warmup, effort.busy, effort.seconds = 0, 0, 0.02
  end
  require "clshell.measure.roofline".place = function() end
  require "clshell.measure.calibrate".device = function()
    return {floor_wall = 1e-6, canary = 1e-6, iterations = 1, bad = 1}
  end
end

-- The command line without --memcheck and the device, with the variables.
local function command(arg, variables)
  local words, first = {"env"}, 0
  for name, value in pairs(variables) do
    words[#words + 1] = name .. "=" .. text.quote(value)
  end
  words[#words + 1] = text.quote(cl.commandline.program)
  while arg[first - 1] do
    first = first - 1
  end
  local i = first + 1
  while arg[i] do
    local word = arg[i]
    if i < 0 and (word == "-d" or word == "--device") then
      i = i + 1
    elseif i >= 0 or not (word:find "^%-%-mem" or word:find "^%-d."
        or word:find "^%-%-device=") then
      words[#words + 1] = text.quote(word)
    end
    i = i + 1
  end
  return table.concat(words, " ")
end

--- memcheck.run(arg) -> exit code
--- --memcheck: runs the command line `arg` in a child process, on the
--- simulator, and sums up. 1: there are findings; else the script's own code.
function M.run(arg)
  if not oclgrind.driver() then
    io.stderr:write("clshell: --memcheck needs the simulator Oclgrind: ",
      oclgrind.PACKAGES, "\n")
    return NODEVICE
  elseif not arg[-1] then -- the program is at 0
    io.stderr:write("clshell: --memcheck needs a script\n")
    return USAGE
  end
  local log <const>, _ <close> = file.temporary ".log"
  local counts <const>, _ <close> = file.temporary ".counts"
  local variables = oclgrind.environment(log)
  variables.CLSHELL_MEMCHECK = counts
  local _, how, code = os.execute(command(arg, variables))
  local sums = {launch = 0, finding = 0}
  for line in io.lines(counts) do
    sums[line] = sums[line] + 1
  end
  io.stderr:write(("memcheck: %s in %d launch%s\n"):format(sums.finding == 0
    and "no finding" or text.count(sums.finding, "finding"), sums.launch,
    sums.launch == 1 and "" or "es"))
  if how == "signal" then
    return 128 + code
  end
  return code ~= 0 and code or sums.finding > 0 and FAILED or 0
end

return M
