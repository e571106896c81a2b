-- simulate/oclgrind.lua - the simulator Oclgrind: where it is, and a job run
-- on it in a child process
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local job_file = require "clshell.simulate.job"
local text = require "clshell.base.text"

local M = {}

--- oclgrind.PACKAGES
--- The commands that install the simulator.
M.PACKAGES = "make check-tools, or Debian, Ubuntu: sudo apt install oclgrind"

-- The folders of the driver, by the packages of systems and by hand.
local FOLDERS = {"/usr/lib/oclgrind", "/usr/lib", "/usr/lib64",
  "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
  "/usr/local/lib", "/usr/local/lib/oclgrind", "/opt/oclgrind/lib",
  "/opt/homebrew/lib", "/usr/local/opt/oclgrind/lib"}
local NAMES = {"liboclgrind-rt-icd.so", "liboclgrind-rt-icd.dylib"}

--- oclgrind.ERRORS
--- The findings that are told of a process; a defect repeats for each of its
--- work-items.
M.ERRORS = 20000

local function exists(path)
  local f <close> = io.open(path, "rb")
  return f ~= nil
end

--- oclgrind.driver() -> path or nil
--- The simulator's driver: the file that CLSHELL_OCLGRIND names ("none": no
--- driver), or the first in the folders of packages.
function M.driver()
  local own = os.getenv "CLSHELL_OCLGRIND"
  if own and own ~= "" then
    return own ~= "none" and own or nil
  end
  for _, folder in ipairs(FOLDERS) do
    for _, name in ipairs(NAMES) do
      if exists(folder .. "/" .. name) then
        return folder .. "/" .. name
      end
    end
  end
end

--- oclgrind.environment(log) -> table
--- Variables for a process whose only driver is the simulator, which writes
--- what it finds to the file `log`. It compiles without optimization: what a
--- compiler drops or moves it cannot see. It has one thread: its findings come
--- in the same order each time.
function M.environment(log)
  return {OCL_ICD_VENDORS = M.driver(), OCL_ICD_FILENAMES = "",
    OCLGRIND_LOG = log, OCLGRIND_BUILD_OPTIONS = "-cl-opt-disable",
    OCLGRIND_DATA_RACES = "1", OCLGRIND_UNINITIALIZED = "1",
    OCLGRIND_MAX_ERRORS = tostring(M.ERRORS), OCLGRIND_NUM_THREADS = "1",
    CLSHELL_DEVICE = "", CLSHELL_STORE = "none"}
end

--- oclgrind.words(environment) -> string
--- The variables in front of a command of the system's shell.
function M.words(environment)
  local words = {"env"}
  for name, value in pairs(environment) do
    words[#words + 1] = name .. "=" .. text.quote(value)
  end
  return table.concat(words, " ")
end

local function contents(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a"
end

-- Variables for a process on a device of this one, by its number.
local function device_variables(device)
  for i, known in ipairs(cl.devices()) do
    if known == device then
      return {CLSHELL_DEVICE = tostring(i), CLSHELL_STORE = "none"}
    end
  end
  return {CLSHELL_STORE = "none"} -- a part of a device
end

--- oclgrind.run(job, limit [, opts]) -> list; nil, reason
--- Runs a job in a child process, for so many seconds at most. For each launch
--- the list has {seconds, addresses, log, bands}, or {error}; the reason is
--- "time", or what the child said before it ended.
--- Options:
---   environment  none   further variables for the child
---   device       none   a Device of this process, in place of the simulator
function M.run(job, limit, opts)
  opts = opts or {}
  local path <const>, _ <close> = file.temporary ".job"
  local _ <close> = setmetatable({}, {__close = function()
    for _, ending in ipairs{".data", ".out", ".log", ".said"} do
      os.remove(path .. ending)
    end
  end})
  job_file.write(job, path)
  local variables = opts.device and device_variables(opts.device)
    or M.environment(path .. ".log")
  for name, value in pairs(opts.environment or {}) do
    variables[name] = value
  end
  local code = ("local parent <close> = require('clshell.child').parent() "
    .. "require('clshell.simulate.replay').run(%q)"):format(path)
  local output <close> = assert(io.open(path .. ".said", "wb"))
  local child <close> = assert(require "clshell.child".start(
    cl.commandline.program, {"-q", "-n", "-e", code},
    {env = variables, output = output}))
  local _, what, how, status = child:receive(limit)
  local results = contents(path .. ".out")
  if what == "time" then
    return nil, "time"
  elseif not results or how == "signal" then
    local said = contents(path .. ".said") or ""
    return nil, how == "signal" and ("it ended by signal %d"):format(status)
      or said:match "clshell: ([^\n]+)" or said
  end
  local log = contents(path .. ".log") or ""
  local list = assert(load(results, "=results", "t", {}))()
  for _, result in ipairs(list) do
    result.log = log:sub(result.from + 1, result.to)
  end
  return list
end

return M
