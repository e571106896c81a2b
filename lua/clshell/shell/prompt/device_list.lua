-- shell/prompt/device_list.lua - the session's device: %device, the line that
-- the first use of a device prints, and the work that goes on after a Ctrl-C
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local session = require "clshell.shell.prompt.session"
local text = require "clshell.base.text"

local M = {}

local TYPES = {gpu = "GPU", cpu = "CPU", accelerator = "accelerator"}

-- A device's name without the prefixes that drivers add: the rest still
-- selects the device in --device and cl.use.
local function name_of(device)
  return (device.name:gsub("^[%w_]+%-[%w_%-]+%-(%u)", "%1"))
end

--- device_list.platform(device) -> string
--- The platform's name, "pocl" for Portable Computing Language.
function M.platform(device)
  local name = tostring(device.platform)
  return name:find("^Portable Computing Language") and "pocl" or name
end

--- device_list.words(device) -> string
--- A device in a line: "device 1: pocl, AMD EPYC, 2 units, 7.7 GiB".
function M.words(device)
  return ("device %d: %s, %s, %s, %.1f GiB"):format(device.index,
    M.platform(device), name_of(device), text.count(device.max_compute_units,
    "unit"), device.global_mem_size / 2^30)
end

-- The reason why the first of all devices was taken.
local function first(device)
  local n, same = #cl.devices(), 0
  for _, other in ipairs(cl.devices()) do
    same = same + (other.type == device.type and 1 or 0)
  end
  local kind = TYPES[device.type] or device.type
  if device.type == "cpu" then
    return n == 1 and "the only device: no GPU" or "the first: no GPU"
  end
  return n == 1 and "the only device" or same == 1 and "the only " .. kind
    or ("the first of %d %ss"):format(same, kind)
end

--- device_list.choice(device, rule, sel) -> string
--- The device that was taken, and the rule behind it; see cl.onchoice.
function M.choice(device, rule, sel)
  local reason = rule == "first" and first(device)
    or rule .. (rule == "--device" and " " or " is ") .. sel
  return ("%s (%s)"):format(M.words(device), reason)
end

-- Documented as commands.device.
function M.device(sel)
  if sel then
    return session.say(M.words(cl.use(sel)))
  end
  local ours = cl.device() -- raises without one, and says what to install
  for _, device in ipairs(cl.devices()) do
    session.say((device == ours and "* " or "  ") .. M.words(device))
  end
end

--- device_list.work() -> string, or nil
--- The work under way: "1 kernel still running on pocl:1"; nil without work.
function M.work()
  local words = {}
  for i, u in ipairs(cl.unfinished()) do
    local name = M.platform(u.device):match "^%w+" or "device"
    words[i] = ("%s still running on %s:%d"):format(u.commands == u.kernels
      and text.count(u.kernels, "kernel") or text.count(u.commands, "command"),
      name:lower(), u.device.index)
  end
  return words[1] and table.concat(words, ", ")
end

--- device_list.ask() -> boolean
--- After a Ctrl-C: names the work under way and the answers that the prompt
--- takes; false where all work has ended. OpenCL cannot cancel a command.
function M.ask()
  local work = M.work()
  if work then
    io.stderr:write(work,
      "\ntype w to wait for it, q to quit, d or anything else to go on\n")
  end
  return work ~= nil
end

--- device_list.answers
--- The actions for an input that answers, by its letter. Ctrl-C ends a wait.
M.answers = {
  w = function()
    io.stderr:write("waiting ... ")
    for _, u in ipairs(cl.unfinished()) do
      u.queue:finish()
    end
    io.stderr:write("done\n")
  end,
  d = function() end,
  q = function()
    os.exit(0, true)
  end,
}

return M
