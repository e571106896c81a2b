-- each.lua - cl.each: turns, results, errors, and the session's device after
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue", "Device", "Event", "Program", "Kernel", "Launch")

local fine, parts = pcall(device.partition, device, {equally = 1})
local list = fine and #parts > 1 and {parts[1], parts[2]} or {device, device}

t.test("each device has its turn, and all work is done at the end", function()
  local seen = {}
  local buffers = cl.each(function(d, i)
    seen[i] = d
    t.eq(cl.device(), d)
    local b = cl.buffer("int", 1000, i)
    b:set(2 * b)
    return b
  end, list)
  t.eq({buffers.n, seen[1] == list[1], seen[2] == list[2]}, {2, true, true})
  t.eq(cl.device(), device)
  for i, b in ipairs(buffers) do
    t.eq({b.context.device == list[i], b:read()[1000]}, {true, 2 * i})
    b:close()
  end
  t.eq(cl.each(function() end, list), {n = 2})
  t.eq(cl.each(function(_, i)
    return i == 2 and "two" or nil, "more"
  end, list), {n = 2, [2] = "two"})
end)

t.test("without a list these are the devices of the session's kind", function()
  local kinds = cl.each(function(d)
    return d.type .. d.platform
  end)
  t.ok(kinds.n >= 1)
  for _, kind in ipairs(kinds) do
    t.eq(kind, device.type .. device.platform)
  end
  cl.use(list[1])
  local only = cl.each(function(d) return d end)
  cl.use(device)
  local found = 0
  for _, d in ipairs(only) do
    found = found + (d == list[1] and 1 or 0)
  end
  t.eq({only.n, found}, {list[1] == device and kinds.n or 1, 1})
end)

t.test("an error names the device, and the session has its own again",
  function()
    local err = t.raises(function()
      cl.each(function(_, i)
        if i == 2 then
          cl.buffer("int", 4):read{first = 5}
        end
      end, list)
    end, "device 2, " .. list[2].name, "leave the buffer's 1..4")
    t.ok(err.message)
    t.eq(cl.device(), device)
    t.raises(function()
      cl.each(function() error("boom", 0) end, list)
    end, "device 1, ", "boom")
    local own = {}
    local ok, value = pcall(cl.each, function() error(own) end, list)
    t.eq({ok, value == own, cl.device() == device}, {false, true, true})
  end)

t.test("what cl.each refuses", function()
  t.raises(function() cl.each(3) end, "f must be a function; got 3",
    "cl.each(function(device, i)")
  t.raises(function() cl.each(print, {}) end, "the list of devices is empty")
  t.raises(function() cl.each(print, {device, 2}) end, "element 2 of devices",
    "a Device; got 2")
  t.raises(function() cl.contexts() end, "must be a list of Devices; got")
  t.raises(function() cl.contexts{} end, "1 to 64 Devices; got 0")
  t.raises(function() cl.split(cl.buffer("int", 0)) end, "has no elements")
end)

t.done()
