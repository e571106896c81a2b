-- complete.lua - completion at the prompt: what is offered where, what it
-- never does, and Tab on a real terminal
-- SPDX-License-Identifier: MIT
local t = require "t"

local cl = require "cl"
local options = require "clshell.options"

t.test("options are declared once, for checks and completion", function()
  local function listed(list)
    local set = {}
    for _, name in ipairs(list) do
      t.ok(not set[name], name .. " is there twice")
      t.ok(name:find("^[%a_][%w_]*$"), name)
      set[name] = true
    end
    return set
  end
  for _, name in ipairs(options.functions()) do
    listed(options.names(name))
    t.raises(function()
      options.check({no_such_option = 1}, name)
    end, "unknown option 'no_such_option'", name)
  end
  t.ok(listed(options.names "cl.buffer").access)
  t.ok(listed(options.names "Buffer:read").async)
  t.ok(listed(options.names "Launch:on").after)
  t.eq(options.names "cl.now", nil)
  local efforts = {}
  for name in pairs(require "clshell.protocol".efforts) do
    efforts[#efforts + 1] = name
  end
  table.sort(efforts, function(a, b) return a > b end)
  t.eq(efforts, options.values.effort)
end)

t.test("cl.members and cl.types tell what completion offers", function()
  local methods, fields, names = cl.members(cl.array("int", 2))
  t.ok(table.concat(methods, " "):find("max_diff", 1, true))
  t.ok(table.concat(fields, " "):find("shape", 1, true))
  t.eq(names, nil)
  t.ok(table.concat(cl.members "Buffer", " "):find("max_diff", 1, true))
  t.eq(select("#", cl.members {}), 0)
  t.eq(select("#", cl.members "no class"), 0)
  for _, name in ipairs(cl.types()) do
    t.ok(cl.typesize(name) >= 1)
  end
end)

t.done()
