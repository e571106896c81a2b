-- nomemory.lua - the program without memory, at each point from its start to
-- the report of an error: one message and exit code 1. See memlayer.c.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local build = os.getenv "CLSHELL_BUILD" or "build"
if build:sub(1, 1) ~= "/" then
  build = cl.home .. "/" .. build
end

-- Runs clshell, whose allocations n to n + length - 1 fail; the output and
-- how the process ended.
local function run(n, length)
  local p <close> = assert(io.popen(("MEMFAIL=%d:%d LD_PRELOAD=%s/tests/"
    .. "memlayer.so %s -e 'error \"my words\"' 2>&1 </dev/null")
    :format(n, length, build, t.exe)))
  local out = p:read "a"
  local _, how, code = p:close()
  return out, how, code
end

t.test("no memory from some point on", function()
  t.skip_if(build:find("asan", 1, true),
    "the sanitizer has an allocator of its own")
  local report, n = run(0, 0):match "^(.*)memlayer: (%d+)\n$"
  n = tonumber(n)
  t.skip_if(n == nil or n < 100,
    "liblua does not call the realloc of LD_PRELOAD")
  local seed = t.seed
  for i = 1, 60 do
    -- a place by the seed in each sixtieth of the run
    seed = seed * 6364136223846793005 + 1442695040888963407
    local at = 1 + (i - 1) * n // 60 + (seed >> 33) % (n // 60)
    for _, length in ipairs{1 << 40, 2} do
      local text, how, code = run(at, length)
      local case = ("allocation %d of %d: "):format(at, n) .. text
      t.eq(how, "exit", case)
      t.eq(code, 1, case)
      -- an allocation after the report, as the state closes, changes nothing
      t.ok(text:find("not enough memory", 1, true) or text == report
        or length == 2 and text:find("my words", 1, true), case)
      t.ok(text:find("^clshell: "), case)
    end
  end
end)

t.done()
