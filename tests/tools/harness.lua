-- tools/harness.lua - the tests' own tools: errors by text and by pattern,
-- and the configurations of a kernel that a ladder tries
-- SPDX-License-Identifier: MIT

local t = require "t"
local ladder = require "ladder"

local function raising(text)
  return function() error(text, 0) end
end

t.test("raises compares text, raises_match a pattern", function()
  t.eq(t.raises(raising "a (b) 5%", "(b)", "5%"), "a (b) 5%")
  t.eq(t.raises_match(raising "a (b)", "^a %(%a%)$"), "a (b)")
  for _, case in ipairs{
    {t.raises, raising "a 12", "%d+", "has no text"},
    {t.raises, raising "a.c", "a.*", "has no text"},
    {t.raises_match, raising "a 12", "%d%d%d", "has no match of"},
    {t.raises, function() end, "", "no error raised"},
    {t.raises_match, function() end, "", "no error raised"},
  } do
    local fine, err = pcall(case[1], case[2], case[3])
    t.ok(not fine and err:find(case[4], 1, true), err)
  end
end)

-- A rung with so many values for each of its parameters.
local function rung(...)
  local list = {}
  for i, count in ipairs{...} do
    local values = {}
    for v = 1, count do
      values[v] = v
    end
    list[i] = {name = "p" .. i, values = values, default = count}
  end
  return {name = "fake", params = list}
end

-- How often ladder.try has each value in a configuration that is accepted.
local function tried(fake, seed, refuses)
  local counts, calls = {}, 0
  ladder.try(fake, seed, function(p)
    calls = calls + 1
    local reason = refuses and refuses(p)
    if reason then
      return reason
    end
    for name, value in pairs(p) do
      local key = name .. "=" .. value
      counts[key] = (counts[key] or 0) + 1
    end
  end)
  return counts, calls
end

t.test("a ladder tries all configurations if they are few", function()
  local counts, calls = tried(rung(3, 4), 1)
  t.eq(calls, 12)
  t.eq({counts["p1=1"], counts["p2=1"]}, {4, 3})
end)

t.test("a ladder tries each value of many, in few configurations", function()
  for seed = 1, 8 do
    local counts, calls = tried(rung(5, 5, 4), seed)
    for _, fake in ipairs(rung(5, 5, 4).params) do
      for _, value in ipairs(fake.values) do
        t.ok(counts[fake.name .. "=" .. value], fake.name)
      end
    end
    t.ok(calls >= 5 and calls <= 10, calls)
  end
end)

t.test("values that the device takes only at times are tried", function()
  local counts = tried(rung(5, 5), 3, function(p)
    return p.p1 ~= p.p2 and p.p2 ~= 5 and "they differ" or nil
  end)
  for value = 1, 5 do
    t.ok(counts["p1=" .. value], value)
  end
end)

t.test("a ladder skips where the device refuses all", function()
  local fine, skip = pcall(tried, rung(5, 5), 1, function()
    return "no such unit"
  end)
  t.eq({fine, skip.reason}, {false, "no such unit"})
end)

t.test("tests get the default action for Ctrl-C", function()
  t.skip_if(not os.execute "env --default-signal=INT true 2>/dev/null",
    "env has no option --default-signal")
  local path = t.tmp "dies.lua"
  local f <close> = assert(io.open(path, "w"))
  f:write [[
local t = require "t"
t.test("a process dies", function()
  t.eq(t.capture "sh -c 'kill -INT $$; echo alive' 2>&1", "")
end)
t.done()
]]
  f:flush()
  local out = t.capture(("trap '' INT; cd %s; CLSHELL_TEST=dies %s "
    .. "tests/run.lua %s 2>&1"):format(t.here, t.exe, path))
  t.ok(out:find("1 passed, 0 failed", 1, true), out)
end)

t.done()
