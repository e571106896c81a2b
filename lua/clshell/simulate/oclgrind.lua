-- simulate/oclgrind.lua - the simulator Oclgrind: where it is, and a job run
-- on it in a child process
-- SPDX-License-Identifier: MIT

local file = require "clshell.base.file"
local jobs = require "clshell.simulate.job"
local text = require "clshell.base.text"
local worker = require "clshell.worker"

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

local Runner = {}
Runner.__index = Runner

--- oclgrind.start(limit [, opts]) -> runner
--- A child process for jobs, with so many seconds for each; it begins with
--- the first job, and again after one that it did not outlive.
--- Options:
---   environment  none   further variables for the child
---   device       none   a Device of this process, in place of the simulator
function M.start(limit, opts)
  opts = opts or {}
  local log, said = file.temporary ".log", file.temporary ".said"
  local variables = opts.device and {} or M.environment(log)
  for name, value in pairs(opts.environment or {}) do
    variables[name] = value
  end
  local index = opts.device and opts.device.index -- 0: a part of a device
  return setmetatable({log = log, said = said, limit = limit,
    variables = variables, device = index ~= 0 and index or nil}, Runner)
end

-- Begins the child process.
local function begin(runner)
  runner:stop()
  local output <close> = assert(io.open(runner.said, "wb"))
  runner.worker = assert(worker.start{limit = runner.limit, output = output,
    env = runner.variables, device = runner.device})
end

local function contents(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

--- runner:run(job) -> list; nil, reason
--- Runs a job (see job.lua). The list is that of replay.run; the reason is
--- "time", or how the child ended and what it said.
function Runner:run(job)
  local sent = jobs.sent(job)
  if not self.worker or self.worker.lost then
    begin(self)
  end
  local ok, list = self.worker:call("clshell.simulate.replay", "run", sent)
  if ok then
    return list
  elseif self.worker.lost == "time" then
    return nil, "time"
  end
  local said = contents(self.said):match "^%s*(.-)%s*$"
  return nil, said == "" and list or ("%s; it said: %s"):format(list, said)
end

-- Ends the process.
function Runner:stop()
  if self.worker then
    self.worker:close()
  end
  self.worker = nil
end

--- runner:close()
function Runner:close()
  self:stop()
  os.remove(self.log)
  os.remove(self.said)
end

Runner.__close = Runner.close

--- oclgrind.run(job, limit [, opts]) -> list; nil, reason
--- Runs one job in a child process of its own: see oclgrind.start.
function M.run(job, limit, opts)
  local runner <close> = M.start(limit, opts)
  return runner:run(job)
end

return M
