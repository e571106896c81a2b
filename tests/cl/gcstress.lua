-- gcstress.lua - the tests of the classes again, with a full collection at
-- every 100 instructions of Lua: what is not anchored breaks here.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()

for _, name in ipairs{"cl/device", "cl/buffer", "cl/kernel", "cl/array",
    "cl/type", "cl/event", "cl/image", "cl/link", "cl/later", "cl/record",
    "data/npy", "data/matrix", "data/struct"} do
  t.test(name .. ".lua under collections", function()
    local p <close> = assert(io.popen(("cd %s && CLSHELL_GCSTRESS=100 %s "
      .. "tests/run.lua tests/%s.lua 2>&1 </dev/null"):format(cl.home,
      t.exe, name)))
    local out = p:read("a")
    t.ok(p:close(), out)
    t.ok(out:find "[1-9]%d* passed, 0 failed", out)
  end)
end

t.done()
