-- cli/doctor/machine.lua - facts about the machine for the doctor,
-- without OpenCL
-- SPDX-License-Identifier: MIT

local host = require "cl.host"
local text = require "clshell.base.text"

local M = {}

--- machine.VENDORS
--- Where drivers are registered.
M.VENDORS = "/etc/OpenCL/vendors"

local NODES = "/dev/dri/render* /dev/nvidia[0-9]* /dev/nvidiactl "
  .. "/dev/nvidia-uvm /dev/kfd"

-- By PCI vendor: the name, words of its OpenCL name, and its package.
local GPUS = {
  ["0x10de"] = {name = "NVIDIA", words = {"nvidia"}, driver = "nvidia"},
  ["0x1002"] = {name = "AMD", words = {"advanced micro", "amd"},
    driver = "amd"},
  ["0x8086"] = {name = "Intel", words = {"intel"}, driver = "intel"},
}

--- machine.capture(command) -> output, how it ended ("exit", "signal"), code
function M.capture(command)
  local p = assert(io.popen(command))
  local out = p:read("a")
  local _, how, code = p:close()
  return out, how, code
end

local function lines(command)
  local list = {}
  for line in M.capture(command):gmatch("[^\n]+") do
    list[#list + 1] = line
  end
  return list
end

local function contents(path)
  local f = io.open(path)
  if not f then
    return nil
  end
  local s = f:read("a")
  f:close()
  return s
end

local kernel
--- machine.macos() -> boolean
function M.macos()
  kernel = kernel or M.capture("uname -s"):match("%S+")
  return kernel == "Darwin"
end

local function release(name)
  local s = contents("/etc/os-release") or ""
  return ("\n" .. s):match("\n" .. name .. '="?([^"\n]*)')
end

--- machine.system() -> string
--- The name of the operating system.
function M.system()
  return release "PRETTY_NAME" or M.capture("uname -sr"):match("[^\n]*")
end

--- machine.family() -> "debian", "fedora", "arch", "macos" or nil
--- Whose packages the system takes.
function M.family()
  if M.macos() then
    return "macos"
  end
  local names = (" %s %s "):format(release "ID" or "", release "ID_LIKE"
    or "")
  for _, pair in ipairs{{"debian", "debian"}, {"ubuntu", "debian"},
    {"fedora", "fedora"}, {"rhel", "fedora"}, {"arch", "arch"}} do
    if names:find(" " .. pair[1] .. " ", 1, true) then
      return pair[2]
    end
  end
end

--- machine.library(part) -> path or nil
--- The library loaded into this process that has this in its file name.
function M.library(part)
  if M.macos() then
    return "/System/Library/Frameworks/OpenCL.framework"
  end
  for line in (contents "/proc/self/maps" or ""):gmatch("[^\n]+") do
    local path = line:match("(/.*)$")
    if path and path:match("[^/]*$"):find(part, 1, true) then
      return path
    end
  end
end

local function icd(file)
  return {file = file, library = (contents(file) or ""):match("%S+") or ""}
end

--- machine.drivers() -> list of {file, library}, where
--- The drivers that the loader loads: by the .icd files of a folder, and by
--- OCL_ICD_VENDORS and OCL_ICD_FILENAMES, which also name libraries.
function M.drivers()
  local where = os.getenv "OCL_ICD_VENDORS"
  where = where ~= "" and where or M.VENDORS
  local list = {}
  if where:find("%.icd$") then
    list[1] = contents(where) and icd(where) or nil
  elseif where:find("%.so") then
    list[1] = {library = where}
  else
    for _, file in ipairs(lines(("ls -d %s/*.icd 2>/dev/null"):format(
      text.quote(where)))) do
      list[#list + 1] = icd(file)
    end
  end
  for path in (os.getenv "OCL_ICD_FILENAMES" or ""):gmatch("[^:]+") do
    list[#list + 1] = path:find("%.icd$") and icd(path) or {library = path}
  end
  return list, where
end

-- Libraries of drivers that are installed without being registered, as in
-- containers that get a GPU from outside.
local DRIVERS = {"libnvidia-opencl.so.1", "libamdocl64.so", "libigdrcl.so",
  "libpocl.so.2"}

--- machine.forgotten(list) -> list of names
--- Drivers that the dynamic linker knows and that are not in the list, of
--- machine.drivers.
function M.forgotten(list)
  local cached = M.capture("PATH=$PATH:/sbin:/usr/sbin ldconfig -p "
    .. "2>/dev/null")
  local names = {}
  for _, name in ipairs(DRIVERS) do
    local stem, known = name:match("^[%w-]+"), false
    for _, driver in ipairs(list) do
      known = known or driver.library:find(stem, 1, true) ~= nil
    end
    if not known and cached:find("\t" .. name .. " ", 1, true) then
      names[#names + 1] = name
    end
  end
  return names
end

--- machine.registered(word) -> boolean
--- Whether a driver is registered whose library has this in its name.
function M.registered(word)
  for _, file in ipairs(lines("ls -d " .. M.VENDORS .. "/*.icd 2>/dev/null"))
  do
    if icd(file).library:find(word, 1, true) then
      return true
    end
  end
  return false
end

--- machine.gpus() -> list of {name, slot, words, driver}
--- The display controllers and accelerators on the PCI bus, of vendors that
--- have OpenCL drivers.
function M.gpus()
  local list = {}
  for _, folder in ipairs(lines "ls -d /sys/bus/pci/devices/* 2>/dev/null")
  do
    local class = contents(folder .. "/class") or ""
    local vendor = (contents(folder .. "/vendor") or ""):match("%S+")
    local known = GPUS[vendor]
    local display = class:find("^0x03")
      or class:find("^0x12") and vendor ~= "0x8086"
    if known and display then
      list[#list + 1] = {name = known.name, words = known.words,
        driver = known.driver, slot = folder:match("[^/]*$")}
    end
  end
  return list
end

local function test(flags, path)
  local words = {}
  for i, flag in ipairs(flags) do
    words[i] = ("[ %s %s ]"):format(flag, text.quote(path))
  end
  return select(3, M.capture(table.concat(words, " && "))) == 0
end

--- machine.nodes() -> list of {path, mode, owner, group, usable}
--- The device files of GPUs.
function M.nodes()
  local list = {}
  for _, line in ipairs(lines("ls -l -d " .. NODES .. " 2>/dev/null")) do
    local mode, owner, group = line:match("^(%S+)%s+%d+%s+(%S+)%s+(%S+)")
    local path = line:match("(/dev/%S+)")
    if mode and path then
      list[#list + 1] = {path = path, mode = mode, owner = owner,
        group = group, usable = test({"-r", "-w"}, path)}
    end
  end
  return list
end

--- machine.groups() -> string
function M.groups()
  return M.capture("id -Gn 2>/dev/null"):match("[^\n]*")
end

--- machine.pocl_cache() -> path
--- The folder of PoCL's compiled kernels.
function M.pocl_cache()
  local given = os.getenv "POCL_CACHE_DIR"
  if given and given ~= "" then
    return given
  end
  local base = os.getenv "XDG_CACHE_HOME"
  if not base or base == "" then
    base = (os.getenv "HOME" or "") .. "/.cache"
  end
  return base .. "/pocl/kcache"
end

--- machine.writable(path) -> boolean
--- Whether a folder can be written, or made if it is missing: tried with a
--- file, as permissions tell root nothing.
function M.writable(path)
  while path ~= "" and not test({"-e"}, path) do
    path = path:match("^(.*)/[^/]*$") or ""
  end
  return select(3, M.capture(("f=$(mktemp %s/clshell.XXXXXX 2>/dev/null) && "
    .. 'rm -f "$f"'):format(text.quote(path)))) == 0
end

local function module(...)
  for _, name in ipairs{...} do
    local ok = pcall(require, name)
    if not ok then
      return nil
    end
  end
  return "found"
end

--- machine.programs() -> list of {name, found, use, package}
--- The programs and libraries that clshell uses if they are installed.
function M.programs()
  local blas = host.blas()
  local path = M.capture("command -v rsvg-convert"):match("[^\n]+")
  return {
    {name = "argparse", package = "argparse", found = module "argparse",
      use = "the options of scripts and commands"},
    {name = "SQLite through DBI", package = "dbi",
      found = module("DBI", "dbd.sqlite3"), use = "the store of runs"},
    {name = "OpenBLAS", package = "openblas", found = blas
      and ("%s %s"):format(blas.name, blas.core or ""),
      use = "comparisons with the CPU's own products"},
    {name = "rsvg-convert", package = "rsvg", found = path,
      use = "charts as PNG"},
  }
end

return M
