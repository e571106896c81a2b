-- signals.lua - Ctrl-C is the shell's alone: a driver's threads, and the
-- compilers and linkers that they start, do not get it
-- SPDX-License-Identifier: MIT
local t = require "t"

local system = require "clshell.system"

local device = t.device()

local SIGINT = 1 << 1 -- in a mask of signals

-- The signals that each thread of this process blocks, but for the first.
local function blocked()
  local masks = {}
  local f <close> = assert(io.open "/proc/self/stat")
  local first = tostring(f:read "n")
  for _, thread in ipairs((system.folder "/proc/self/task")) do
    thread = thread:gsub("/", "")
    local status <close> = io.open("/proc/self/task/" .. thread .. "/status")
    local mask = status and status:read("a"):match "SigBlk:%s*(%x+)"
    if mask and thread ~= first then
      masks[#masks + 1] = tonumber(mask, 16)
    end
  end
  return masks
end

-- ux.md, section 4: "Ctrl-C kills the session". PoCL links a kernel at its
-- first launch, and ends the process if its linker is interrupted.
t.test("a driver's threads block Ctrl-C", function()
  if not system.folder "/proc/self/task" then
    t.skip "no /proc"
  elseif device.platform ~= "Portable Computing Language" then
    t.skip "another driver may start threads whenever it likes"
  end
  local masks = blocked()
  t.ok(#masks > 0)
  for _, mask in ipairs(masks) do
    t.ok(mask & SIGINT ~= 0, ("%016x"):format(mask))
  end
end)

t.done()
