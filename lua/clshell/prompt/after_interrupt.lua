-- prompt/running.lua - after a Ctrl-C: what still runs on the devices, and
-- whether to wait for it, let it run on or quit
-- OpenCL cannot cancel a command. So the prompt is there at once, says what
-- runs, and takes the next input as the answer if it is one of the letters.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local format, gsub, match = string.format, string.gsub, string.match
local lower, concat = string.lower, table.concat

--- running.label(device) -> string
--- A short name of a device: "pocl:1", the platform and the index.
function M.label(device)
  local platform = device.platform
  if match(platform, "^Portable") then
    platform = "pocl"
  end
  return format("%s:%d", lower(match(platform, "^%w+") or "device"),
    device.index)
end

local function count(n, noun)
  return format("%d %s%s", n, noun, n == 1 and "" or "s")
end

--- running.text() -> string, or nil
--- What still runs: "1 kernel still running on pocl:1"; nil where nothing
--- does.
function M.text()
  local words = {}
  for i, u in ipairs(cl.unfinished()) do
    local what = u.commands == u.kernels and count(u.kernels, "kernel")
      or count(u.commands, "command")
    words[i] = format("%s still running on %s", what, M.label(u.device))
  end
  return words[1] and concat(words, ", ")
end

--- running.note() -> true, or nil
--- Says what still runs and what can be typed about it; nil where all is
--- done.
function M.note()
  local text = M.text()
  if text == nil then
    return nil
  end
  io.stderr:write(text, "\n",
    "type w to wait for it, q to quit, d or anything else to go on\n")
  return true
end

--- running.wait()
--- Waits for all that runs on the devices, and says so. Ctrl-C ends the
--- wait.
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

--- running.answer(text) -> function, or nil
--- What to do for an input that answers the note: the letter w, d or q alone.
function M.answer(text)
  return answers[gsub(text, "%s", "")]
end

return M
