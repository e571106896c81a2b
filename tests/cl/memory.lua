-- memory.lua - host memory that is not there: limits of the machine, of
-- cgroups and of the address space, each one clear error.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

local MIB = 1 << 20

local write = t.write

local function output(command)
  return t.capture(command .. " 2>&1 </dev/null")
end

-- What a script prints in a mount namespace where the files of cgroups tell
-- that 300 MiB of a limit are in use, 200 of them as a cache.
local function grouped(version, code)
  local folder, script = t.tmp "cgroup", t.tmp "code.lua"
  local at = folder .. (version == 1 and "/memory" or "")
  local names = version == 1 and {"limit_in_bytes", "usage_in_bytes",
    "total_inactive_file"} or {"max", "current", "inactive_file"}
  output(("rm -rf %s; mkdir -p %s"):format(folder, at))
  write(at .. "/memory." .. names[1], 612 * MIB .. "\n")
  write(at .. "/memory." .. names[2], 300 * MIB .. "\n")
  write(at .. "/memory.stat", ("cache 1\n%s %d\nactive_file 5\n"):format(
    names[3], 200 * MIB))
  write(script, code)
  local out = output(("unshare -rm sh -c 'mount --bind %s /sys/fs/cgroup && "
    .. "exec %s %s'"):format(folder, t.exe, script))
  os.execute("rm -rf " .. folder)
  return out
end

for version, line in ipairs{":memory:", "0::"} do
  t.test("the limit of a cgroup, version " .. version, function()
    local f <close> = io.open "/proc/self/cgroup"
    if f == nil or not f:read("a"):find(line, 1, true) then
      t.skip("this system has no such cgroups")
    elseif output "unshare -rm sh -c 'mount --bind /tmp /sys/fs/cgroup'" ~= ""
    then
      t.skip("no mount namespaces (unshare -rm)")
    end
    local out = grouped(version, [[
      local MIB = 1 << 20
      print(pcall(cl.array, "char", 500 * MIB))
      print(pcall(cl.array, "char", 400 * MIB))
      local d = cl.device()
      if d.host_unified_memory and d.max_mem_alloc_size >= 500 * MIB then
        local ok, e = pcall(cl.buffer, "char", 500 * MIB)
        print("buffer", ok, e.code, e)
      end]])
    t.ok(out:find("^false\t[^\n]*no host memory for an array of 524288000 "
      .. "bytes[^\n]*: %d+ are left; close"), out)
    t.ok(out:find("\ntrue\tArray char[419430400]\n", 1, true), out)
    t.ok(not out:find "buffer" or out:find("buffer\tfalse\t%-4\t[^\n]*host "
      .. "memory, of which %d+ are left"), out)
  end)
end

t.test("buffers that no command has touched count", function()
  t.skip_if(not device.host_unified_memory, "the device has memory of its own")
  local out = grouped(2, [[
    local n, keep = 0, {}
    for i = 1, 100 do
      local ok, b = pcall(cl.buffer, "char", 32 << 20)
      if not ok then
        print(i, b)
        break
      end
      keep[i] = b
    end
    keep = nil
    print(cl.buffer("char", 32 << 20))]])
  t.skip_if(out:find("unshare", 1, true) or not out:find "^%d",
    "no cgroups of version 2 to stand in for")
  t.ok(tonumber(out:match "^%d+") < 20, out)
  t.ok(out:find("\nBuffer char[33554432]\n", 1, true), "collected: " .. out)
end)

t.test("larger than the machine", function()
  t.raises(function() cl.array("char", 1 << 46) end, "no host memory",
    "are left")
end)

t.test("larger than the address space", function()
  if t.exe:find("asan", 1, true) then
    t.skip "the sanitizer takes more address space than that"
  elseif output "ulimit -v 1000000 && echo fine" ~= "fine\n" then
    t.skip "no ulimit -v"
  end
  local out = output(("ulimit -v 1000000; %s -e 'print(pcall(cl.array, "
    .. "\"char\", 1 << 30))'"):format(t.exe))
  t.ok(out:find("no host memory for an array of 1073741824 bytes[^\n]*: "
    .. "%d+ are left"), out)
end)

t.done()
