-- copy_route.lua - the way of copies between devices: measured once, kept, and
-- right whatever it is
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

local device = t.device()
t.keeps("Context", "Queue")

t.test("the way between two devices is measured once and kept", function()
  local fine, parts = pcall(device.partition, device, {equally = 1})
  t.skip_if(not fine or #parts < 2, "the device has no parts")
  local code = [[
    local parts = cl.device():partition{equally = 1}
    local cachefile = require "clshell.base.cachefile"
    local saved = 0
    local save = cachefile.save
    cachefile.save = function(...) saved = saved + 1 return save(...) end
    local from, to = cl.context(parts[1]), cl.context(parts[2])
    local n = 5 << 18
    local h = cl.array("int", n):random(3)
    local a = cl.buffer("int", n, h, {context = from})
    local b = cl.buffer("int", n, 0, {context = to})
    a:copy(b, {count = 10})
    print(saved)
    a:copy(b)
    a:copy(b)
    print(saved, b:read():equal(h))
    local one, two = table.unpack(cl.contexts{parts[1], parts[2]})
    local c = cl.buffer("int", n, 0, {context = one})
    local d = cl.buffer("int", n, 0, {context = two})
    c:write(h)
    c:copy(d)
    print(saved, d:read():equal(h))
    for name, value in pairs(cachefile.load(parts[1])) do
      print(name:match "^way%.%a+", value >= 1 and value <= 3)
    end]]
  local folder = scratch.dir
  -- the driver's kernels stay where they are: their builds take long
  local kernels = [[POCL_CACHE_DIR="${POCL_CACHE_DIR:-]]
    .. [[${XDG_CACHE_HOME:-$HOME/.cache}/pocl/kcache}"]]
  local command = ("%s XDG_CACHE_HOME=%s %s -e '%s' 2>&1 "
    .. "| grep -v ^measuring"):format(kernels, folder,
      t.exe, code:gsub("'", "'\\''"))
  local first, second = t.capture(command), t.capture(command)
  for i, out in ipairs{first, second} do
    local made = i == 1 and {"0", "1\ttrue", "2\ttrue"}
      or {"0", "0\ttrue", "0\ttrue"}
    t.eq({out:match "([^\n]*)\n([^\n]*)\n([^\n]*)\n[^\n]*\n[^\n]*\n$"}, made,
      out)
    t.ok(out:find "way.apart\ttrue" and out:find "way.shared\ttrue", out)
  end
end)

scratch.done()
