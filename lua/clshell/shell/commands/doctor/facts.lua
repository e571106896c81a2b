-- shell/commands/doctor/facts.lua - facts about the machine for the doctor,
-- without OpenCL, and the packages of programs
-- SPDX-License-Identifier: MIT

local file = require "clshell.base.file"
local host = require "cl.host"
local library = require "clshell.parts.mpi.library"
local oclgrind = require "clshell.explain.oclgrind"
local search = require "clshell.base.search"
local text = require "clshell.base.text"

local M = setmetatable({}, {__index = require "clshell.base.machine"})

--- facts.VENDORS
--- The folder where drivers are registered.
M.VENDORS = "/etc/OpenCL/vendors"

local NODES = "/dev/dri/render* /dev/nvidia[0-9]* /dev/nvidiactl "
  .. "/dev/nvidia-uvm /dev/kfd"

-- The names of vendors by their PCI numbers.
local GPUS = {["0x10de"] = "NVIDIA", ["0x1002"] = "AMD", ["0x8086"] = "Intel"}

--- facts.capture(command) -> output, how it ended ("exit", "signal"), code
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

local function variable(name)
  local value = os.getenv(name)
  return value ~= "" and value or nil
end

local kernel
--- facts.macos() -> boolean
function M.macos()
  kernel = kernel or M.capture("uname -s"):match("%S+")
  return kernel == "Darwin"
end

--- facts.library(part) -> path or nil
--- The library loaded into this process with `part` in its file name.
function M.library(part)
  if M.macos() then
    return "/System/Library/Frameworks/OpenCL.framework"
  end
  for line in (file.read "/proc/self/maps" or ""):gmatch("[^\n]+") do
    local path = line:match("(/.*)$")
    if path and path:match("[^/]*$"):find(part, 1, true) then
      return path
    end
  end
end

-- The driver of an .icd file, or a library of its own.
local function icd(path)
  return path:find "%.icd$" and {file = path,
    library = (file.read(path) or ""):match "%S+" or ""} or {library = path}
end

local function icds(folder)
  local list = lines(("ls -d %s/*.icd 2>/dev/null"):format(
    text.quote(folder)))
  for i, path in ipairs(list) do
    list[i] = icd(path)
  end
  return list
end

--- facts.drivers() -> list of {file, library}, where
--- The drivers that the loader loads: by the .icd files of a folder, and by
--- OCL_ICD_VENDORS and OCL_ICD_FILENAMES, which also name libraries.
function M.drivers()
  local where = variable "OCL_ICD_VENDORS" or M.VENDORS
  local list
  if where:find "%.icd$" then
    list = {file.read(where) and icd(where) or nil}
  else
    list = where:find "%.so" and {icd(where)} or icds(where)
  end
  for path in (os.getenv "OCL_ICD_FILENAMES" or ""):gmatch "[^:]+" do
    list[#list + 1] = icd(path)
  end
  return list, where
end

-- Libraries of drivers that are installed without being registered, as in
-- containers that get a GPU from outside.
local DRIVERS = {"libnvidia-opencl.so.1", "libamdocl64.so", "libigdrcl.so",
  "libpocl.so.2"}

--- facts.forgotten(list) -> list of names
--- Drivers that the dynamic linker knows and that the list, of
--- facts.drivers, lacks.
function M.forgotten(list)
  local cached = M.capture("PATH=$PATH:/sbin:/usr/sbin ldconfig -p "
    .. "2>/dev/null")
  local names, known = {}, text.values(list, "\n", "library")
  for _, name in ipairs(DRIVERS) do
    if not known:find(name:match "^[%w-]+", 1, true)
        and cached:find("\t" .. name .. " ", 1, true) then
      names[#names + 1] = name
    end
  end
  return names
end

--- facts.registered(word) -> boolean
--- Whether a driver is registered whose library has `word` in its name.
function M.registered(word)
  for _, driver in ipairs(icds(M.VENDORS)) do
    if driver.library:find(word, 1, true) then
      return true
    end
  end
  return false
end

--- facts.gpus() -> list of {name, slot, driver}
--- The display controllers and accelerators on the PCI bus, of vendors that
--- have OpenCL drivers. driver: part of its OpenCL name, and the package.
function M.gpus()
  local list = {}
  for _, folder in ipairs(lines "ls -d /sys/bus/pci/devices/* 2>/dev/null")
  do
    local class = file.read(folder .. "/class") or ""
    local name = GPUS[(file.read(folder .. "/vendor") or ""):match("%S+")]
    if name and (class:find("^0x03") or class:find("^0x12")
        and name ~= "Intel") then
      list[#list + 1] = {name = name, driver = name:lower(),
        slot = folder:match("[^/]*$")}
    end
  end
  return list
end

-- Whether a command of the shell about the path $1 succeeds.
local function holds(command, path)
  return select(3, M.capture(("set -- %s; %s"):format(text.quote(path),
    command))) == 0
end

--- facts.nodes() -> list of {path, mode, owner, group, usable}
--- The device files of GPUs.
function M.nodes()
  local list = {}
  for _, line in ipairs(lines("ls -l -d " .. NODES .. " 2>/dev/null")) do
    local mode, owner, group = line:match("^(%S+)%s+%d+%s+(%S+)%s+(%S+)")
    local path = line:match("(/dev/%S+)")
    if mode and path then
      list[#list + 1] = {path = path, mode = mode, owner = owner,
        group = group, usable = holds('[ -r "$1" ] && [ -w "$1" ]', path)}
    end
  end
  return list
end

--- facts.groups() -> string
function M.groups()
  return M.capture("id -Gn 2>/dev/null"):match("[^\n]*")
end

--- facts.pocl_cache() -> path
--- The folder of PoCL's compiled kernels.
function M.pocl_cache()
  local home = variable "HOME"
  local base = variable "XDG_CACHE_HOME" or home and home .. "/.cache"
  return variable "POCL_CACHE_DIR" or (base or "/tmp") .. "/pocl/kcache"
end

--- facts.writable(path) -> boolean
--- Whether a folder can be written, or made if it is missing: it tries with a
--- file, as permissions tell root nothing.
function M.writable(path)
  return holds('while [ ! -e "$1" ]; do set -- "$(dirname -- "$1")"; done; '
    .. 'f=$(mktemp "$1/clshell.XXXXXX" 2>/dev/null) && rm -f "$f"', path)
end

--- facts.programs() -> list of {name, package, found, use}
--- The programs and libraries that clshell uses if they are installed.
function M.programs()
  local blas, list = host.blas(), {}
  for i, row in ipairs{
    {"argparse", "argparse", search.library "argparse",
      "the options of scripts and commands"},
    {"SQLite through DBI", "dbi", search.library "dbd.sqlite3",
      "the store of runs"},
    {"OpenBLAS", "openblas", blas and ("%s %s"):format(blas.name,
      blas.core or ""), "comparisons with the CPU's own products"},
    {"rsvg-convert", "rsvg", M.capture("command -v rsvg-convert"):match
      "[^\n]+", "charts as PNG"},
    {"Oclgrind", "oclgrind", oclgrind.driver(),
      "check, access and --memcheck: defects and accesses"},
    {"MPI", "mpi", library.version(),
      "module mpi: scripts in several processes, on several hosts"},
  } do
    local found = row[3]
    list[i] = {name = row[1], package = row[2], use = row[4],
      found = found and (type(found) == "string" and found or "found")}
  end
  return list
end

-- The command that installs a package, and names in /etc/os-release.
local SYSTEMS = {
  {"sudo apt install ", "debian", "ubuntu"},
  {"sudo dnf install ", "fedora", "rhel"}, {"sudo pacman -S ", "arch"},
  {"brew install ", "macos"},
}

-- Each program's use, then its package in each of the systems, or a command.
local PACKAGES = {
  pocl = {"An OpenCL driver for the CPU", "pocl-opencl-icd", "pocl", "pocl"},
  nvidia = {"NVIDIA's OpenCL driver", "nvidia-opencl-icd",
    "xorg-x11-drv-nvidia-cuda", "opencl-nvidia"},
  amd = {"AMD's OpenCL driver", "mesa-opencl-icd", "rocm-opencl",
    "rocm-opencl-runtime"},
  intel = {"Intel's OpenCL driver", "intel-opencl-icd",
    "intel-compute-runtime", "intel-compute-runtime"},
  rsvg = {"Charts as PNG", "librsvg2-bin", "librsvg2-tools", "librsvg",
    "librsvg"},
  argparse = {"Scripts and their options", "lua-argparse", "lua-argparse",
    "lua54-argparse", "luarocks install argparse"},
  dbi = {"The store of runs", "lua-dbi-sqlite3", "lua-dbi", "lua54-dbi",
    "luarocks install luadbi-sqlite3"},
  oclgrind = {"The simulator of check and access", "oclgrind", nil, nil,
    "oclgrind"},
  mpi = {"Several processes and hosts, once clshell is built again",
    "openmpi-bin libopenmpi-dev", "openmpi-devel", "openmpi", "open-mpi"},
  openblas = {"The CPU's own products", "libopenblas0", "openblas",
    "openblas", "openblas"},
}

-- The place of this system in SYSTEMS, or nil.
local function place()
  local names = (" %s %s "):format(M.macos() and "macos"
    or M.release "ID" or "", M.release "ID_LIKE" or "")
  for i, system in ipairs(SYSTEMS) do
    for k = 2, #system do
      if names:find(" " .. system[k] .. " ", 1, true) then
        return i
      end
    end
  end
end

--- facts.advice(name) -> string
--- The command that installs a program: on this system, or, on an unknown
--- system, the commands of all systems.
function M.advice(name)
  local packages, own, words = PACKAGES[name], place(), {}
  for i, system in ipairs(SYSTEMS) do
    local package = packages[i + 1]
    if package and (i == own or not (own and packages[own + 1])) then
      words[#words + 1] = (package:find("^luarocks ") and "" or system[1])
        .. package
    end
  end
  return ("%s: %s"):format(packages[1], table.concat(words, ", or "))
end

return M
