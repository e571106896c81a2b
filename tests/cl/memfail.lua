-- memfail.lua - no memory: every allocation that Lua makes in a small script
-- fails in turn, see memfail.c. Nothing may crash or leak.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local build = os.getenv "CLSHELL_BUILD" or "build"
local sanitized = build:find("asan", 1, true) ~= nil

t.test("every allocation of a script fails in turn", function()
  local stride = sanitized and 4 or 1
  local p <close> = assert(io.popen(("OPENCL_LAYERS=%s/tests/faultlayer.so "
    .. "%s/tests/memfail %s/tests/cl/memfail_scenario.lua %d 2>&1")
    :format(build, build, cl.home, stride)))
  local out = p:read("a")
  t.ok(out:find("at the end: well", 1, true), out)
  t.ok(tonumber(out:match("twice: (%d+) runs")) > 50, out)
  local open = out:match("open: ([^\n]*)")
  if open then -- the OpenCL loader takes layers
    t.ok(not open:find("[1-9]"), out)
  end
  t.ok(p:close(), out)
end)

t.done()
