-- shell/prompt/after_interrupt.lua - the choice after a Ctrl-C: wait for
-- commands that still run on the devices, let them run on, or quit
-- OpenCL cannot cancel a command. So the prompt returns at once, names the
-- work that runs on, and takes a next input of one letter as the answer.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local count = require "clshell.base.text".count
local devices = require "clshell.shell.prompt.device_list"

local M = {}

local format, lower, match = string.format, string.lower, string.match

--- after_interrupt.label(device) -> string
--- A short name of a device: "pocl:1", the platform and the index.
function M.label(device)
  return format("%s:%d", lower(match(devices.platform(device), "^%w+")
    or "device"), device.index)
end

--- after_interrupt.text() -> string, or nil
--- The work under way: "1 kernel still running on pocl:1"; nil without work.
function M.text()
  local words = {}
  for i, u in ipairs(cl.unfinished()) do
    local what = u.commands == u.kernels and count(u.kernels, "kernel")
      or count(u.commands, "command")
    words[i] = format("%s still running on %s", what, M.label(u.device))
  end
  return words[1] and table.concat(words, ", ")
end

--- after_interrupt.note() -> true, or nil
--- Names the work under way and the answers that the prompt takes; nil where
--- all work has ended.
function M.note()
  local text = M.text()
  if text == nil then
    return nil
  end
  io.stderr:write(text,
    "\ntype w to wait for it, q to quit, d or anything else to go on\n")
  return true
end

--- after_interrupt.wait()
--- Waits for all work on the devices, and says so. Ctrl-C ends the wait.
function M.wait()
  io.stderr:write("waiting ... ")
  for _, u in ipairs(cl.unfinished()) do
    u.queue:finish()
  end
  io.stderr:write("done\n")
end

local answers = {
  w = M.wait,
  d = function() end,
  q = function()
    os.exit(0, true)
  end,
}

--- after_interrupt.answer(text) -> function, or nil
--- The action for an input that answers the note: the letter w, d or q alone.
function M.answer(text)
  return answers[string.gsub(text, "%s", "")]
end

return M
