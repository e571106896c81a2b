-- explain/oclgrind.lua - the simulator Oclgrind: where it is, and a job run
-- on it in a child process
-- SPDX-License-Identifier: MIT

local calls = require "clshell.calls"
local cl = require "cl"
local file = require "clshell.base.file"
local jobs = require "clshell.explain.job"
local options = require "clshell.base.options"

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
--- The most findings that a process writes; a defect repeats for each of its
--- work-items.
M.ERRORS = 20000

--- oclgrind.exists(path) -> path or nil
function M.exists(path)
  local f <close> = io.open(path, "rb")
  return f and path
end

--- oclgrind.driver() -> path or nil
--- The simulator's driver: the file that CLSHELL_OCLGRIND names (no driver
--- where that file is missing, as "none" is), or the first in the folders of
--- packages.
function M.driver()
  local own = os.getenv "CLSHELL_OCLGRIND"
  if own and own ~= "" then
    return M.exists(own)
  end
  for _, folder in ipairs(FOLDERS) do
    for _, name in ipairs(NAMES) do
      local path = M.exists(folder .. "/" .. name)
      if path then
        return path
      end
    end
  end
end

--- oclgrind.plugin() -> path, or nil, a reason and a remedy
--- The plugin, where it and the simulator are installed.
function M.plugin()
  if not M.driver() then
    return nil, "the simulator Oclgrind is not installed", M.PACKAGES
  end
  local path = M.exists(cl.home .. "/build/trace.so")
    or M.exists(cl.home .. "/trace.so")
  if path then
    return path
  end
  return nil, "the plugin of the simulator, trace.so, is not built",
    "make check-tools, then make (Debian, Ubuntu: liboclgrind-dev, g++)"
end

--- oclgrind.build_options(optimized) -> string
--- Options of the simulator's compiler. They drop words that it lacks and that
--- change no result: clang's prefetches, and, without optimization, `restrict`
--- (inlining makes functions of it that the simulator lacks).
function M.build_options(optimized)
  return "-D__builtin_prefetch(...)="
    .. " -Datomic_work_item_fence(flags,order,scope)=mem_fence(flags)"
    .. (optimized and "" or " -Drestrict= -cl-opt-disable")
end

--- oclgrind.environment(log) -> table
--- Variables for a process whose only driver is the simulator, which writes
--- its findings to the file `log`. It compiles without optimization: what a
--- compiler drops or moves it cannot see. It has one thread: its findings come
--- in the same order each time. Loaders differ, so two variables name it:
--- ocl-icd reads the first, the loaders of Khronos and NVIDIA the second.
function M.environment(log)
  local driver, plugin = M.driver(), M.plugin()
  return {OCL_ICD_VENDORS = driver, OCL_ICD_FILENAMES = driver,
    OCLGRIND_LOG = log, OCLGRIND_BUILD_OPTIONS = M.build_options(),
    OCLGRIND_PLUGINS = plugin, CLSHELL_RACES = "",
    OCLGRIND_DATA_RACES = plugin and "0" or "1", OCLGRIND_UNINITIALIZED = "1",
    OCLGRIND_MAX_ERRORS = tostring(M.ERRORS), OCLGRIND_NUM_THREADS = "1",
    CLSHELL_DEVICE = "", CLSHELL_STORE = "none"}
end

-- What the simulator lacks, by words of a source that it cannot build.
local LACKS = {
  {"%f[%w_]half%d*%f[^%w_]", "half precision (cl_khr_fp16)"},
  {"sub_group", "sub-groups"}, {"%f[%w_]_*asm_*[%s(]", "inline assembly"},
}

--- oclgrind.reason(job, launch, result) -> text, hint
--- Why a launch of a job failed on the simulator, in words; `result` comes
--- from runner:run.
function M.reason(job, launch, result)
  local source, message = job.programs[launch.program].source, result.error
  local missing = result.lacks
  local named = message:find("build error", 1, true)
    or message:find("CL_INVALID_KERNEL_NAME", 1, true)
      and not (missing or ""):find "^llvm%." -- the source has no such name
  for _, entry in ipairs(named and LACKS or {}) do
    if source:find(entry[1]) then
      return ("the simulator has no %s, which %s needs"):format(entry[2],
        launch.kernel), "{guard = true} looks at the memory around Buffers, "
        .. "on the session's device"
    end
  end
  return missing and ("the simulator has no function %s, which the compiler "
    .. "made for %s"):format(missing, launch.kernel)
    or "on the simulator: " .. message
end

--- oclgrind.demand(job, result)
--- Raises where the only launch of a job failed, with the reason.
function M.demand(job, result)
  if result.error then
    local launch = job.launches[1]
    local reason, hint = M.reason(job, launch, result)
    cl.error(("%s: %s: %s"):format(job.what, launch.kernel, reason),
      {hint = hint})
  end
end

-- Limits above those of devices: the launch was made for a device, so the
-- simulator's own limits, such as 32 KiB of local memory, do not matter.
local LIMITS = {OCLGRIND_LOCAL_MEM_SIZE = "268435456",
  OCLGRIND_CONSTANT_MEM_SIZE = "268435456", OCLGRIND_MAX_WGSIZE = "65536"}

local Runner = {}
Runner.__index = Runner

--- oclgrind.start([opts]) -> runner
--- A child process for jobs; it begins with the first job, and anew after a
--- job that ended it.
--- Options:
---   environment  none   further variables for the child
---   device       none   a Device of this process, in place of the simulator
function M.start(opts)
  opts = opts or {}
  local log, said = file.temporary ".log", file.temporary ".said"
  local variables = opts.device and {} or M.environment(log)
  variables.CLSHELL_MEMCHECK = "" -- a job alone reads its log
  variables.CLSHELL_RACES = "used"
  variables = options.with(options.with(variables, LIMITS),
    opts.environment or {})
  local index = opts.device and opts.device.index -- 0: a part of a device
  return setmetatable({log = log, said = said, opts = {env = variables,
    device = index ~= 0 and index or nil}}, Runner)
end

--- runner:run(job, limit) -> list; nil, reason
--- Runs a job (see job.lua) for so many seconds at most. The list comes from
--- job.run, with `lacks`, the name of a function that the simulator lacks; the
--- reason is "time", or how the child ended and what it said.
function Runner:run(job, limit)
  self.opts.limit = limit -- the worker's, from now on
  if not self.worker or self.worker.lost then
    self:stop()
    local output <close> = assert(io.open(self.said, "wb"))
    self.opts.output = output
    self.worker = assert(calls.start(self.opts))
  end
  local ok, list = jobs.call(job, self.worker)
  if not ok and self.worker.lost == "time" then
    return nil, "time"
  end
  local said = assert(file.read(self.said))
  for _, result in ipairs(ok and list or {}) do
    result.lacks = result.error
      and said:match "Undefined external function: (%S+)"
  end
  said = said:match "^%s*(.-)%s*$"
  if ok then
    return list
  end
  return nil, said == "" and list or ("%s; it said: %s"):format(list, said)
end

--- runner:stop()
--- Ends the process; the next job begins another.
function Runner:stop()
  if self.worker then
    self.worker:close()
  end
  self.worker = nil
end

function Runner:__close()
  self:stop()
  os.remove(self.log)
  os.remove(self.said)
end

--- oclgrind.run(job, limit [, opts]) -> list; nil, reason
--- Runs one job in a child process of its own: see oclgrind.start.
function M.run(job, limit, opts)
  local runner <close> = M.start(opts)
  return runner:run(job, limit)
end

return M
