-- rung.lua - devices that tell odd limits or none, and rungs whose
-- functions return what they should not.
-- SPDX-License-Identifier: MIT
local t = require "t"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local DEVICE = {has = function() return true end, max_work_group_size = 64,
  max_work_item_sizes = {64, 64, 64}, local_mem_size = 1024,
  max_constant_buffer_size = 64}

-- The reason against a rung on a device with other values.
local function reason(values, size, bytes)
  return rungs.refusal({"n"}, {name = "mine", range = function()
    return {64}, size
  end, local_bytes = bytes and function()
    return bytes
  end}, {}, {type = "float", n = 3}, setmetatable(values, {__index = DEVICE}))
end

t.test("a limit that the device does not tell is none", function()
  for name in pairs(DEVICE) do
    if name ~= "has" then
      t.eq(reason({[name] = false}, {16}, 512), nil, name)
    end
  end
  t.eq(reason({max_work_item_sizes = {}}, {16}), nil)
  local any = setmetatable({local_mem_size = false}, {__index = DEVICE})
  t.eq(rungs.kernel_refusal({}, {local_mem_size = 4096}, {16}, any), nil)
end)

t.test("odd limits are numbers like others", function()
  for values, part in pairs{
    [{max_work_group_size = 0}] = "device allows 0",
    [{local_mem_size = 0.5}] = "device has 0 bytes",
    [{max_work_item_sizes = {64}}] = "dimension 2 allows 1 on this device",
    [{max_work_item_sizes = {8}}] = "dimension 1 allows 8 on this device",
  } do
    local why = reason(values, {16, 2}, 512)
    t.ok(why and why:find(part, 1, true), why)
  end
  t.eq(reason({local_mem_size = math.maxinteger}, {16}, 512), nil)
  t.ok(reason({}, {16}, 1e300):find("needs 9.3%d+e%+290 GiB"))
  t.ok(reason({}, {16}, 2e12 + 0.5):find("needs 2000000000000 bytes", 1, true))
  t.eq({text.bytes(2^40), text.bytes(1024), text.bytes(1.5)},
    {"1024 GiB", "1 KiB", "2 bytes"})
end)

t.test("functions of a rung that return something else", function()
  for got, size in pairs{['got "x"'] = "x", ["got a table"] = {"16"},
    ["got a table "] = {}} do
    t.raises(function()
      rungs.checked("mine", "range", function() return 64, size end){}
    end, "mine: range must return the global size, then", (got:gsub(" $", "")))
  end
  for _, bytes in ipairs{"x", 0 / 0, {}} do
    t.raises(function()
      rungs.checked("mine", "local_bytes", function() return bytes end)()
    end, "mine: local_bytes must return a number of bytes >= 0; got")
  end
  t.ok(reason({}, {4, 4, 4, 4}):find("dimension 4 allows 1", 1, true))
end)

t.done()
