-- sensor.lua - class Sampler: readings of NVML, of sysfs and of performance
-- counters, from sources that lie, fail, hang or are not there
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local file = require "clshell.base.file"
local json = require "clshell.base.json"

t.device() -- the tests run where a device is; its own sensors do not matter

local LAYER = t.build .. "/tests/sensorlayer.so"
local NVML = "CLSHELL_PCI=0000:01:00.0 CLSHELL_SYSFS=/nowhere CLSHELL_NVML="
  .. LAYER
local PRELOAD = "LD_PRELOAD=" .. LAYER
  .. " ASAN_OPTIONS=$ASAN_OPTIONS:verify_asan_link_order=0"

-- Runs Lua in another process, where `device` is the session's device. Returns
-- what it prints.
local function run(environment, code)
  local path = t.tmp "sensor.lua"
  file.write(path, "local cl, device = cl, cl.device()\n" .. code)
  return t.capture(("env %s %s --no-init %s 2>&1 </dev/null"):format(
    environment, t.exe, path))
end

-- The first and the last of the readings of so many seconds, their number, and
-- the last value of each name.
local function readings(environment, seconds)
  local out = run(environment, ([[
local s = device:sampler(0.005)
cl.sleep(%g)
local list = s and s:stop(5) or {}
local all = {}
for _, r in ipairs(list) do
  for name, value in pairs(r) do
    all[name] = value
  end
end
print(require "clshell.json".encode{list[1] or {}, list[#list] or {}, #list,
  all})
]]):format(seconds or 0.03))
  local ok, list = pcall(json.decode, out)
  t.ok(ok and type(list) == "table", out)
  return table.unpack(list)
end

local function nvml(says, seconds)
  return readings(("%s NVML_SAYS='%s'"):format(NVML, says or ""), seconds)
end

local FULL = {mhz = 1290, mhz_max = 1980, mem_mhz = 2619, mem_mhz_max = 2619,
  watts = 697, watts_over = 0.1, watts_limit = 700, celsius = 61, others = 1,
  throttle = {"power limit"}}

-- The fields of a reading that tell no time and no meter.
local function plain(r)
  local own = {}
  for name in pairs(FULL) do
    own[name] = r[name]
  end
  return own
end

t.test("NVML's clocks, power, temperature, reasons and processes", function()
  local first, last, n = nvml()
  t.eq(plain(first), FULL)
  t.eq(plain(last), FULL)
  t.ok(n >= 2 and last.ns > first.ns)
  t.near((last.joules - first.joules) / (last.ns - first.ns) * 1e9, 698,
    0.2 * 698)
end)

t.test("a time of a reading is on the clock of cl.now", function()
  local out = run(NVML, [[
local begin = cl.now()
local s = device:sampler(0.005)
cl.sleep(0.02)
local middle, live = cl.now(), s:readings()
local list = s:stop(5)
print(#list >= 2, list[1].ns > begin * 1e9, list[#list].ns < cl.now() * 1e9,
  list[#list].ns > middle * 1e9, #live <= #list, #s:stop() == #list)
s:close()
print(s.closed, select(2, pcall(s.stop, s)))]])
  t.ok(out:find("^true\ttrue\ttrue\ttrue\ttrue\ttrue\n"), out)
  t.ok(out:find "true\t.*this Sampler is closed", out)
end)

t.test("every value that fails with any code is absent alone", function()
  for name, fields in pairs{clock = {"mhz"}, memory = {"mem_mhz",
      "mem_mhz_max"}, highest = {"mhz_max"}, limit = {"watts_limit"},
      heat = {"celsius"}, reasons = {"throttle"}, processes = {"others"},
      energy = {"joules"}} do
    local code = ({1, 2, 3, 4, 6, 7, 9, 10, 13, 16, 18, 99, 999})[
      math.random(13)]
    local first = nvml(("%s=!%d"):format(name, code))
    local left = {}
    for field, value in pairs(FULL) do
      left[field] = value
    end
    for _, field in ipairs(fields) do
      left[field] = nil
      t.eq(first[field], nil, ("%s with code %d"):format(field, code))
    end
    t.eq(plain(first), left, name)
  end
end)

t.test("the mean of a second stands for the power of now", function()
  local first = nvml "instant=!3"
  t.eq({first.watts, first.watts_over}, {698, 1})
  first = nvml "instant=!3 power=!3"
  t.eq({first.watts, first.watts_over, first.mhz}, {nil, nil, 1290})
end)

t.test("values that cannot be are absent", function()
  for _, lie in ipairs{"0", "-1", "4e9"} do
    local first = nvml(("clock=%s memory=%s highest=%s instant=%s power=%s "
      .. "limit=%s heat=%s"):gsub("%%s", lie))
    t.eq(plain(first), {throttle = FULL.throttle, others = 1}, lie)
  end
  t.eq(nvml("processes=0").others, 0)
  t.eq(nvml("processes=65").others, nil, "more than are looked at")
  t.eq(nvml("reasons=0").throttle, nil)
  t.eq(nvml("reasons=1").throttle, nil, "idle holds nothing down")
  t.eq(nvml("reasons=510").throttle, {"power limit", "temperature",
    "hardware slowdown", "power brake", "clock setting", "sync boost"})
end)

t.test("GPM: parts of the time, where the driver lets the user", function()
  local PARTS = {"active", "occupancy", "tensor", "fp64", "fp32", "fp16",
    "dram"}
  local function check(says, value)
    local first, _, _, all = nvml(says, 0.4)
    for _, name in ipairs(PARTS) do
      t.eq({first[name], all[name]}, {nil, value}, says .. " " .. name)
    end
  end
  check("", 0.89)
  check("metric=nan", nil)
  check("metric=101", nil)
  check("metric=!4", nil)
  check("gpm=0", nil)
  check("gpm=!3", nil)
  check("gpmsample=!4", nil)
end)

t.test("no library, a library without functions, no start, no device",
  function()
    for _, environment in ipairs{NVML:gsub(LAYER, "/nowhere.so"),
        NVML:gsub("sensorlayer", "faultlayer"), NVML .. " NVML_SAYS=init=!9",
        NVML .. " NVML_SAYS=handle=!6"} do
      if type(environment) == "string" then
        local out = run(environment, [[
local s = device:sampler()
cl.sleep(0.02)
print(#s:stop(5), device:sampler(), device:sensors())]])
        t.eq(out, "0\tnil\tnil\n", environment)
      end
    end
  end)

t.test("a lost device ends the readings, and no more", function()
  local out = run(NVML .. " NVML_SAYS='instant=!15 power=!15'", [[
local s = device:sampler(0.005)
cl.sleep(0.02)
print(#s:stop(5))
print(cl.buffer("int", 4, 7):read()[4])]])
  t.eq(out, "0\n7\n")
end)

t.test("a driver that hangs holds nobody up", function()
  local begin = cl.now()
  local out = run(NVML .. " NVML_SAYS=slow=3000", [[
local s = device:sampler()
cl.sleep(0.02)
local begin = cl.now()
local n = #s:stop()
print(n, cl.now() - begin < 2, device:sampler()) -- none beside that thread
s:close()]])
  t.eq(out, "0\ttrue\tnil\n")
  t.ok(cl.now() - begin < 10, "the process ends")
end)

t.test("a period that is none", function()
  local dev = cl.device()
  t.raises(function() dev:sampler(0) end, "0.001 to 3600")
  t.raises(function() dev:sampler(0 / 0) end, "0.001 to 3600")
  t.raises(function() dev:sampler "x" end, "number expected")
end)

-- A tree of files under a folder that is removed with the test.
local function tree(files)
  local root = t.tmp "sys"
  for path, content in pairs(files) do
    local full = root .. "/" .. path
    os.execute(("mkdir -p '%s'"):format(full:match "^(.*)/"))
    file.write(full, content)
  end
  return root, setmetatable({}, {__close = function()
    os.execute(("rm -rf '%s'"):format(root))
  end})
end

-- The first reading of a device in a tree, below its PCI folder, or the root.
local function in_tree(vendor, files)
  local all, folder = {}, vendor and "bus/pci/devices/0000:03:00.0/" or ""
  for path, content in pairs(files) do
    all[folder .. path] = content
  end
  all[folder .. "vendor"] = vendor
  local root, gone = tree(all)
  local _ <close> = gone
  local first, last = readings(("CLSHELL_SYSFS=%s PERF_SAYS=deny %s %s")
    :format(root, PRELOAD, vendor and "CLSHELL_PCI=0000:03:00.0" or ""))
  first.ns = nil
  return first, last
end

t.test("AMD's files", function()
  local files = {["hwmon/hwmon3/freq1_input"] = "1290000000\n",
    ["hwmon/hwmon3/power1_average"] = "297000000\n",
    ["hwmon/hwmon3/power1_cap"] = "300000000\n",
    ["hwmon/hwmon3/temp1_input"] = "61000\n",
    pp_dpm_sclk = "0: 500Mhz\n1: 800Mhz *\n2: 1700Mhz\n",
    pp_dpm_mclk = "0: 400Mhz\n1: 1600Mhz *\n"}
  t.eq(in_tree("0x1002\n", files), {mhz = 1290, mhz_max = 1700,
    mem_mhz = 1600, mem_mhz_max = 1600, watts = 297, watts_over = 1,
    watts_limit = 300, celsius = 61})
  files["hwmon/hwmon3/freq1_input"] = nil
  files["hwmon/hwmon3/power1_input"] = "290000000\n"
  files["hwmon/hwmon3/power1_cap"] = "nonsense"
  files["hwmon/hwmon3/temp1_input"] = ""
  files.pp_dpm_mclk = "S: 19Mhz"
  t.eq(in_tree("0x1002\n", files), {mhz = 800, mhz_max = 1700,
    mem_mhz_max = 19, watts = 290, watts_over = 0.1})
  t.eq(in_tree("0x1002\n", {}), {})
end)

t.test("Intel's files, of i915 and xe", function()
  t.eq(in_tree("0x8086\n", {["drm/card0/gt_act_freq_mhz"] = "1100\n",
    ["drm/card0/gt_RP0_freq_mhz"] = "1300\n",
    ["drm/card0/gt/gt0/throttle_reason_pl1"] = "1\n",
    ["drm/card0/gt/gt0/throttle_reason_thermal"] = "0\n",
    ["drm/card0/gt/gt0/throttle_reason_vr_tdc"] = "1\n",
    ["hwmon/hwmon2/energy1_input"] = "5000000\n",
    ["hwmon/hwmon2/power1_max"] = "120000000\n"}), {mhz = 1100,
    mhz_max = 1300, joules = 5, watts_limit = 120,
    throttle = {"power limit", "current limit"}})
  t.eq(in_tree("0x8086\n", {["tile0/gt0/freq0/act_freq"] = "2000\n",
    ["tile0/gt1/freq0/act_freq"] = "1000\n",
    ["tile0/gt0/freq0/rp0_freq"] = "2400\n",
    ["tile0/gt0/freq0/throttle/reason_prochot"] = "1\n",
    ["hwmon/hwmon2/temp2_input"] = "55000\n"}), {mhz = 1500, mhz_max = 2400,
    celsius = 55, throttle = {"temperature"}})
end)

t.test("a processor's clock, and its counters where allowed", function()
  t.skip_if(cl.device().type ~= "cpu", "the device is no processor")
  local clocks = {}
  for i = 0, 40 do -- some stand for all
    local folder = ("devices/system/cpu/cpu%d/cpufreq/"):format(i)
    clocks[folder .. "scaling_cur_freq"] = "2400000\n"
    clocks[folder .. "cpuinfo_max_freq"] = "3600000\n"
  end
  t.eq(in_tree(nil, clocks), {mhz = 2400, mhz_max = 3600})
  local first, last = readings("CLSHELL_SYSFS=/nowhere PERF_SAYS=count "
    .. PRELOAD, 0.05)
  t.ok(last.cycles > 0 and last.instructions > 0 and last.llc_misses >= 0)
  t.ok(last.cycles >= first.cycles)
end)

t.done()
