-- shell/commands/doctor/packages.lua - the packages of each program, and how
-- each system installs them
-- SPDX-License-Identifier: MIT

local machine = require "clshell.shell.commands.doctor.machine"

local M = {}

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
  local names = (" %s %s "):format(machine.macos() and "macos"
    or machine.release "ID" or "", machine.release "ID_LIKE" or "")
  for i, system in ipairs(SYSTEMS) do
    for k = 2, #system do
      if names:find(" " .. system[k] .. " ", 1, true) then
        return i
      end
    end
  end
end

--- packages.advice(name) -> string
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
