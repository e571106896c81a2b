-- doctor.lua - clshell --doctor: what it finds with drivers that are there,
-- missing, broken, or that crash
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local facts = require "clshell.shell.commands.doctor.facts"
local scratch = require "scratch"

t.keeps("Device")

local build = t.build
local create, dir, has = scratch.create, scratch.dir, scratch.has

-- The report, its lines unwrapped, and the exit code.
local function doctor(environment)
  local out, how, code = facts.capture(("exec env %s COLUMNS=400 " ..
    "%s/clshell --doctor 2>&1 </dev/null"):format(environment or "", build))
  t.eq(how, "exit", out)
  return out, code
end

-- A folder of .icd files, each a line.
local function vendors(name, files)
  local folder = dir .. "/" .. name
  assert(os.execute("mkdir -p " .. folder))
  for file, line in pairs(files) do
    create(name .. "/" .. file, line)
  end
  return "OCL_ICD_VENDORS=" .. folder .. " OCL_ICD_FILENAMES="
end

t.test("a device that works", function()
  local out, code = doctor()
  has(out, "OpenCL loader", "Drivers", "Platforms and devices",
    "permissions", "your groups: ", "Programs and libraries", "OpenBLAS")
  local devices = cl.devices()
  if #devices == 0 then
    t.eq(code, 3)
    t.skip("no OpenCL device")
  end
  t.eq(code, 0, out)
  for i, d in ipairs(devices) do
    has(out, ("ok  device %d: %s (%s) runs a kernel"):format(i, d.name,
      d.type))
  end
  has(out, "A device is usable")
  t.ok(not out:find("\27", 1, true), "no colour without a terminal")
end)

t.test("no OpenCL platform: not a cryptic -1001, but what to do", function()
  t.nodevices()
  local out, code = doctor("OCL_ICD_VENDORS=" .. dir .. "/nothing")
  t.eq(code, 3, out)
  has(out, "!!  no driver is registered", dir .. "/nothing",
    "the loader finds no OpenCL platform", "Unset OCL_ICD_VENDORS",
    "No device is usable")
  out = facts.capture(("OCL_ICD_VENDORS=%s/nothing %s/clshell -p " ..
    "'cl.device()' 2>&1"):format(dir, build))
  has(out, "no OpenCL device", "install PoCL", "clshell --doctor")
  out = facts.capture(("OCL_ICD_VENDORS=%s/nothing %s/clshell -e " ..
    "'pcall(cl.device) print(1 + 1)' 2>&1"):format(dir, build))
  t.eq(out, "2\n")
end)

t.test("drivers that are not what they should be", function()
  t.nodevices()
  create("text.so", "not a library\n")
  local out, code = doctor(vendors("broken", {["a.icd"] = "libnone.so.7\n",
    ["b.icd"] = "", ["c.icd"] = dir .. "/text.so"}))
  t.eq(code, 3, out)
  has(out, "a.icd: libnone.so.7: libnone.so.7: cannot open shared object",
    "b.icd: empty", "c.icd: " .. dir .. "/text.so",
    "Install the package of libnone.so.7 again")
end)

t.test("a driver that crashes", function()
  t.nodevices()
  local library = build .. "/tests/crashlayer.so"
  local out, code = doctor(vendors("crash", {["x.icd"] = library .. "\n"}))
  t.eq(code, 3, out)
  has(out, "x.icd: " .. library .. ": its library crashed with signal",
    "listing the devices crashed with signal", "Take " .. dir
      .. "/crash/x.icd away", "Programs and libraries")
end)

t.test("a driver that hangs as it is loaded", function()
  t.nodevices()
  local environment = vendors("hang", {["x.icd"] = build
    .. "/tests/crashlayer.so\n"}) .. " CRASHLAYER=hang"
  local out = facts.capture(("exec 2>&1; export %s; "
    .. "%s/clshell --timeout 0.1 --devices; echo $?; "
    .. "timeout -k 60 2 %s/clshell --devices; echo $?"):format(environment,
    build, build))
  t.ok(out:find "%-%-timeout.-\n124\n", out)
  t.ok(out:find "124\n$", out) -- timeout's own: SIGTERM was enough
end)

-- The loader's cache as a text; drivers of a machine may be registered or not.
t.test("installed drivers that no .icd file names are found", function()
  local capture <const> = facts.capture
  local _ <close> = setmetatable({}, {__close = function()
    facts.capture = capture
  end})
  function facts.capture()
    return "\tlibc.so.6 (libc6) => /lib/libc.so.6\n"
      .. "\tlibpocl.so.2 (libc6) => /lib/libpocl.so.2\n"
      .. "\tlibnvidia-opencl.so.1 (libc6) => /lib/libnvidia-opencl.so.1\n"
  end
  t.eq(facts.forgotten({}), {"libnvidia-opencl.so.1", "libpocl.so.2"})
  t.eq(facts.forgotten{{library = "/opt/libpocl.so.2.9"}},
    {"libnvidia-opencl.so.1"})
  t.eq(facts.forgotten{{library = "libpocl.so"},
    {library = "libnvidia-opencl.so.1"}}, {})
  function facts.capture()
    return ""
  end
  t.eq(facts.forgotten({}), {})
end)

t.test("PoCL's cache in a folder that cannot be written", function()
  t.skip_if(not facts.registered "pocl", "no PoCL")
  local out = doctor("OCL_ICD_VENDORS= POCL_CACHE_DIR=/proc/none/kcache")
  has(out, "!!  /proc/none/kcache cannot be written", "POCL_CACHE_DIR to a")
  t.ok(facts.writable(dir .. "/deep/down"))
  t.ok(not facts.writable(dir .. "/text.so/x"))
end)

t.test("packages for every system", function()
  for _, name in ipairs{"pocl", "nvidia", "amd", "intel", "rsvg",
    "argparse", "dbi", "openblas"} do
    local advice = facts.advice(name)
    t.ok(advice:find("install ", 1, true) or advice:find("pacman", 1, true),
      advice)
  end
  t.ok(#facts.system() > 0)
  for _, gpu in ipairs(facts.gpus()) do
    t.ok(facts.advice(gpu.driver))
  end
end)

scratch.done()
