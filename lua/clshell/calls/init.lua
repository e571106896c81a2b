-- calls/init.lua - calls that run in a process of their own, which may hang or
-- crash without harm to this one, and the loop there. parcel.lua carries
-- values both ways, base/progress.lua tells the phase of a call.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local parcel = require "clshell.calls.parcel"
local progress = require "clshell.base.progress"

local M = {}
local Worker = {}
Worker.__index = Worker

local START = 60 -- seconds for a process to start
local LIMIT = 30 -- seconds of a phase
local SIGNALS = {[4] = "SIGILL", [6] = "SIGABRT", [7] = "SIGBUS",
  [8] = "SIGFPE", [9] = "SIGKILL", [11] = "SIGSEGV", [15] = "SIGTERM"}

-- Starts the process of a worker anew, and its first call. Returns true, or
-- nil and a reason.
local function launch(w)
  w:close()
  local program, opts = cl.commandline and cl.commandline.program, w.opts
  if not program then
    return nil, "only the program clshell has worker processes"
  end
  local child, reason = require "clshell.child".start(program, {"-q", "-n",
    "--store", "none", "--calls"}, {env = opts.env, output = opts.output})
  if not child then
    return nil, reason
  end
  w.child = child
  local message = parcel.pack("clshell.calls", "prepare", {
    path = package.path, cpath = package.cpath, device = opts.device})
  return w:send(message, nil, START)
end

-- The reason why the process is lost, by the answer of its channel.
local function loss(doing, limit, word, how, number)
  doing = doing and " while it " .. doing or ""
  if word == "time" then
    return ("took more than %g s%s"):format(limit, doing)
  elseif how == "signal" then
    return ("the process ended by signal %d%s%s"):format(number,
      SIGNALS[number] and (" (%s)"):format(SIGNALS[number]) or "", doing)
  end
  return ("the process ended with exit code %s%s"):format(number, doing)
end

--- calls.start([opts]) -> worker, or nil and a reason
--- A process of clshell for calls. It finds modules as this one does, has its
--- environment, keeps no runs, and has used no driver yet. It ends when the
--- worker is closed or collected, and with this process.
--- Options:
---   limit   30    seconds that each phase of a call may take
---   device  none  the session's device there, by its index; given where this
---           process has the same drivers
---   env     none  changes of the environment: {NAME = "value" or false}
---   output  ours  an open file for its standard output and error
---   wait    true  false: returns at once; w:answer() waits for the start
function M.start(opts)
  local w = setmetatable({opts = opts or {}}, Worker)
  local ok, reason = launch(w)
  if ok and w.opts.wait ~= false then
    ok, reason = w:answer()
  end
  return ok and w or nil, reason
end

--- w:restart() -> true, or nil and a reason
--- Ends the process and starts another, which knows nothing of earlier calls.
function Worker:restart()
  local ok, reason = launch(self)
  if not ok then
    return nil, reason
  end
  return self:answer()
end

--- w:call(module, name, ...) -> true and results, or nil and a reason
--- Calls require(module)[name](...) in the process, on copies of the values.
--- An error of the function is raised here. A process is lost when it ends,
--- when a phase takes more seconds than the limit, or when Ctrl-C ends its
--- call: until w:restart() w.lost is "ended", "time" or true. Values that
--- cannot be sent give a reason as well, and cost nothing. A third result is
--- the value that the last phase was about, see base/progress.lua.
function Worker:call(module, name, ...)
  local ok, reason = self:send(parcel.pack(module, name, ...))
  if not ok then
    return nil, reason
  end
  return self:answer()
end

--- w:send(message) -> true, or nil and a reason
--- Begins a call, w:send(parcel.pack(module, name, ...)), so that several
--- processes work at once; the time of its first phase begins. w:answer()
--- waits for the end, and returns the same as w:call.
function Worker:send(message, reason, limit)
  if self.lost then
    return nil, "the process was lost in an earlier call"
  elseif not message then
    return nil, reason
  end
  self.lost, self.limit = true, limit or self.opts.limit or LIMIT
  local sent, word, how, number = self.child:send(message, self.limit)
  self.under_way = {over = not sent, failure = {word, how, number},
    stop = cl.now() + self.limit}
  return true
end

--- w:ready([seconds]) -> boolean
--- Whether the present call is over, so that w:answer() returns at once. Waits
--- for its end, at most `seconds`; nil: without a limit.
function Worker:ready(seconds)
  local call, stop = self.under_way, cl.now() + (seconds or math.huge)
  while not call.over do
    local least = math.min(stop, call.stop or math.huge)
    local message, word, how, number = self.child:receive(least < math.huge
      and math.max(0, least - cl.now()) or nil)
    if message and message:sub(1, 1) == "P" then
      local doing, unlimited, about = parcel.unpack(message:sub(2))
      call.phase, call.about = doing, about or call.about
      call.stop = not unlimited and cl.now() + self.limit or nil
    elseif not message and word == "time" and least ~= call.stop then
      return false
    else
      call.over, call.message = true, message
      call.failure = {word, how, number}
    end
  end
  return true
end

function Worker:answer()
  self:ready()
  local call = self.under_way
  local message = call.message
  if message then
    self.lost = false
    if message:sub(1, 1) == "R" then
      return true, parcel.unpack(message:sub(2))
    end
    error((parcel.unpack(message:sub(2))), 0)
  end
  self.lost = call.failure[1]
  self.child:kill()
  return nil, loss(call.phase, self.limit, table.unpack(call.failure, 1, 3)),
    call.about
end

--- w:close()
--- Ends the process in any phase; closing twice is fine.
function Worker:close()
  if self.child then
    self.child:kill()
  end
  self.child, self.lost = nil, nil
end

Worker.__close = Worker.close

--- calls.prepare(setup)
--- In a worker process, its first call: finds modules as the parent does, and
--- takes its device.
function M.prepare(setup)
  package.path, package.cpath = setup.path, setup.cpath
  if setup.device then
    cl.use(setup.device)
  end
end

-- The answer to a call: the results, or the error.
local function answer(message)
  local results = table.pack(pcall(function()
    local call = table.pack(parcel.unpack(message))
    return require(call[1])[call[2]](table.unpack(call, 3, call.n))
  end))
  local packed, reason = parcel.pack(table.unpack(results, 2, results.n))
  if results[1] and packed then
    return "R" .. packed
  elseif results[1] then
    packed = parcel.pack(reason)
  end
  return "E" .. (packed or parcel.pack(tostring(results[2])))
end

--- calls.serve() -> exit code
--- The loop of a worker process: runs the calls of the parent until it ends.
function M.serve()
  local parent = require "clshell.child".parent()
  function progress.tell(...)
    parent:send("P" .. parcel.pack(...))
  end
  local message = parent:receive()
  while message do
    parent:send(answer(message))
    message = parent:receive()
  end
  return 0
end

return M
