-- shell/commands/doctor/init.lua - clshell --doctor: why there is no device,
-- and what to install. Drivers run only in child processes, so that a crash is
-- a finding.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local facts = require "clshell.shell.commands.doctor.facts"
local report = require "clshell.results.tables"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

local OK, NODEVICE = 0, 3 -- exit codes
local PATIENCE = 60       -- seconds for a driver
local MARKS = {ok = {"ok", "green"}, bad = {"!!", "red"}, note = {"--", "dim"}}

local steps -- the steps to take, in order

local function title(words)
  io.write("\n", style.paint(words, "bold", style.color(1)), "\n")
end

-- Writes a mark and words, wrapped behind it.
local function entry(mark, words)
  io.write("  ", mark, "  ", table.concat(report.wrap(words,
    report.width() - 6), "\n      "), "\n")
  io.stdout:flush()
end

-- Prints a finding: "ok", "bad" or "note".
local function say(mark, format, ...)
  local word, color = table.unpack(MARKS[mark])
  entry(style.paint(word, color, style.color(1)), text.visible(
    format:format(...)))
end

local function advise(format, ...)
  local words = text.visible(format:format(...))
  steps[#steps + 1] = not steps[words] and words or nil
  steps[words] = true
end

-- Prints a finding, which is well or bad; a bad one has an advice.
local function judge(fine, words, advice)
  say(fine and "ok" or "bad", "%s", words)
  if not fine then
    advise("%s", advice)
  end
end

-- Runs Lua code in a child process, which may crash or hang. Returns its
-- output, and how the child ended if not well.
local function child(code, options, environment)
  local words = ("exec 2>&1; exec env %s %s -q -n --timeout %d %s -e %s")
    :format(environment or "", text.quote(cl.commandline.program), PATIENCE,
      options or "", text.quote("io.stdout:setvbuf 'line' " .. code))
  local out, how, status = facts.capture(words)
  if how == "signal" or status and status > 128 then
    return out, ("crashed with signal %d"):format(how == "signal" and status
      or status - 128)
  elseif status == 124 then
    return out, ("did not answer in %d seconds"):format(PATIENCE)
  elseif status ~= 0 then
    return out, out:match("clshell: ([^\n]+)") or "failed"
  end
  return out
end

local function loader()
  title "OpenCL loader"
  local path = facts.library("OpenCL")
  say(path and "ok" or "note", "%s", path
    or "cannot tell which library is loaded here")
  for _, name in ipairs{"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"} do
    local value = os.getenv(name)
    if value and value ~= "" then
      say("note", "%s is %s", name, value)
    end
  end
end

-- Tells whether a driver's library loads.
local function driver(icd)
  local library = icd.library
  if library == "" then
    return say("bad", "%s: empty, or cannot be read", icd.file)
  end
  local name = icd.file and ("%s: %s"):format(icd.file, library) or library
  local out, failure = child(("local f, e = package.loadlib(%q, '*') "
    .. "print(f and 'LOADED' or e)"):format(library))
  if out:find("LOADED\n", 1, true) then
    return say("ok", "%s", name)
  end
  say("bad", "%s: %s", name, failure and "its library " .. failure
    or out:match("[^\n]*"))
  if failure then
    advise("Take %s away (move it elsewhere): its library %s", icd.file
      or library, failure)
  elseif icd.file then
    advise("Install the package of %s again, or remove %s if the driver "
      .. "is gone", library, icd.file)
  end
end

local function drivers()
  title "Drivers"
  if facts.macos() then
    say("ok", "the OpenCL framework of macOS")
    return {}
  end
  local list, where = facts.drivers()
  for _, icd in ipairs(list) do
    driver(icd)
  end
  if #list == 0 then
    say("bad", "no driver is registered: there is no .icd file in %s",
      where)
    if os.getenv "OCL_ICD_VENDORS" then
      advise("Unset OCL_ICD_VENDORS: it hides the drivers of %s",
        facts.VENDORS)
    end
  end
  for _, name in ipairs(facts.forgotten(list)) do
    say("note", "%s is installed, but no .icd file of %s names it", name,
      where)
    if where == facts.VENDORS then
      advise("echo %s | sudo tee %s/%s.icd", name, where, name:match(
        "^lib(%a+)"))
    end
  end
  return list
end

local LIST = [[
for _, p in ipairs(cl.platforms()) do
  print("PLATFORM", p.devices, p.name, p.version)
end
for i, d in ipairs(cl.devices()) do
  print("DEVICE", i, d.type, d.vendor, d.name)
end]]

local KERNEL = [=[
local k = cl.kernel [[kernel void answer(global int *x) {
  x[get_global_id(0)] = 6 * 7; }]]
local b = cl.buffer("int", 4, 0)
k:range(4)(b)
print("ANSWER", b:read()[4])]=]

-- Finds the driver that crashes, where each can be loaded alone.
local function culprit(list)
  for _, icd in ipairs(list) do
    local _, failure = child(LIST, "", icd.file and "OCL_ICD_VENDORS="
      .. text.quote(icd.file))
    if icd.file and failure and failure:find("crashed", 1, true) then
      say("bad", "%s alone: %s", icd.library, failure)
      advise("Take %s away (move it elsewhere): its driver crashes", icd.file)
    end
  end
end

-- Lists platforms and devices; runs a kernel on each. Returns the vendors of
-- the devices that work, or nil.
local function devices(list)
  title "Platforms and devices"
  local out, failure = child(LIST)
  if failure then
    say("bad", "listing the devices %s", failure)
    culprit(list)
  end
  for count, name, version in out:gmatch(
    "PLATFORM\t(%d+)\t([^\t\n]*)\t([^\n]*)\n") do
    say(count ~= "0" and "ok" or "bad", "%s, %s: %s device%s", name,
      version, count, count == "1" and "" or "s")
  end
  local vendors
  for i, type, vendor, name in out:gmatch(
    "DEVICE\t(%d+)\t([^\t]*)\t([^\t]*)\t([^\n]*)\n") do
    local said, wrong = child(KERNEL, "-d " .. i)
    local fine = said:find("ANSWER\t42\n", 1, true)
    say(fine and "ok" or "bad", "device %s: %s (%s) %s", i, name, type,
      fine and "runs a kernel" or "does not run a kernel: " .. (wrong
        or said:match("[^\n]*")))
    vendors = fine and (vendors or "")
      .. vendor:lower():gsub("advanced micro", "amd") or vendors
  end
  if not vendors and not out:find("PLATFORM", 1, true) then
    say("bad", "the loader finds no OpenCL platform "
      .. "(clGetPlatformIDs: CL_PLATFORM_NOT_FOUND_KHR, -1001)")
  end
  return vendors
end

local function permissions(vendors)
  title "GPUs and permissions"
  local gpus, nodes = facts.gpus(), facts.nodes()
  for _, gpu in ipairs(gpus) do
    local fine = vendors and vendors:find(gpu.driver, 1, true)
    judge(fine, ("a GPU of %s at %s%s"):format(gpu.name, gpu.slot,
      fine and "" or ": no OpenCL device is of this vendor"), #nodes > 0
      and facts.advice(gpu.driver) or ("The GPU of %s has no device file in "
        .. "/dev: its kernel module is not loaded, or this container was "
        .. "started without the GPU"):format(gpu.name))
  end
  for _, node in ipairs(nodes) do
    judge(node.usable, ("%s  %s %s %s%s"):format(node.path, node.mode,
      node.owner, node.group, node.usable and ""
        or ": you may not read and write it"),
      ('sudo usermod -aG %s "$USER", then log in again: it gives you %s')
      :format(node.group, node.path))
  end
  if #gpus == 0 and #nodes == 0 then
    say("note", "no GPU: there is neither /dev/dri/render*, /dev/nvidia* "
      .. "nor /dev/kfd")
  end
  say("note", "your groups: %s", facts.groups())
end

local function cache(list)
  local pocl = false
  for _, icd in ipairs(list) do
    pocl = pocl or icd.library:find("pocl", 1, true)
  end
  if not pocl then
    return
  end
  title "PoCL's cache"
  local path = facts.pocl_cache()
  local fine = facts.writable(path)
  judge(fine, path .. (fine and "" or " cannot be written"), ("Make %s "
    .. "writable, or set POCL_CACHE_DIR to a folder that is"):format(path))
end

local function programs()
  title "Programs and libraries"
  for _, what in ipairs(facts.programs()) do
    say(what.found and "ok" or "note", "%s: %s", what.name, what.found
      or "missing; it is for " .. what.use)
    if not what.found then
      advise("%s", facts.advice(what.package))
    end
  end
end

--- doctor.run() -> exit code
--- Prints the findings and the steps to take. 0 when a device runs a kernel,
--- else 3.
function M.run()
  steps = {}
  io.write(("clshell %s, %s, %s\n"):format(cl.version, _VERSION,
    facts.system()))
  loader()
  local list = drivers()
  local vendors = devices(list)
  permissions(vendors)
  if not vendors and not facts.macos() and not facts.registered "pocl" then
    advise("%s", facts.advice "pocl")
  end
  cache(list)
  programs()
  title(vendors and "A device is usable" or "No device is usable")
  if #steps == 0 then
    io.write("  nothing is left to do\n")
  end
  for i, words in ipairs(steps) do
    entry(i .. ".", words)
  end
  return vendors and OK or NODEVICE
end

return M
