-- cli/doctor/packages.lua - the packages of each program, and how each system
-- installs them
-- SPDX-License-Identifier: MIT

local machine = require "clshell.cli.doctor.machine"

local M = {}

local COMMANDS = {debian = "sudo apt install ", fedora = "sudo dnf install ",
  arch = "sudo pacman -S ", macos = "brew install "}
local ORDER = {"debian", "fedora", "arch", "macos"}

-- The use of each, then its packages by system.
local PACKAGES = {
  pocl = {"An OpenCL driver for the CPU", debian = "pocl-opencl-icd",
    fedora = "pocl", arch = "pocl"},
  nvidia = {"NVIDIA's OpenCL driver", debian = "nvidia-opencl-icd",
    fedora = "xorg-x11-drv-nvidia-cuda", arch = "opencl-nvidia"},
  amd = {"AMD's OpenCL driver", debian = "mesa-opencl-icd",
    fedora = "rocm-opencl", arch = "rocm-opencl-runtime"},
  intel = {"Intel's OpenCL driver", debian = "intel-opencl-icd",
    fedora = "intel-compute-runtime", arch = "intel-compute-runtime"},
  rsvg = {"Charts as PNG", debian = "librsvg2-bin",
    fedora = "librsvg2-tools", arch = "librsvg", macos = "librsvg"},
  argparse = {"Scripts and their options", debian = "lua-argparse",
    fedora = "lua-argparse", arch = "lua54-argparse"},
  dbi = {"The store of runs", debian = "lua-dbi-sqlite3", fedora = "lua-dbi",
    arch = "lua54-dbi"},
  openblas = {"The CPU's own products", debian = "libopenblas0",
    fedora = "openblas", arch = "openblas", macos = "openblas"},
}

local ROCKS = {argparse = "argparse", dbi = "luadbi-sqlite3"}

--- packages.advice(name) -> string
--- The command that installs a program: on this system, or, where that is not
--- known, on each.
function M.advice(name)
  local what = PACKAGES[name]
  local system = machine.family()
  local rock = ROCKS[name] and "luarocks install " .. ROCKS[name]
  local words
  if what[system] then
    words = COMMANDS[system] .. what[system]
  elseif system == "macos" and rock then
    words = rock
  else
    local all = {}
    for _, s in ipairs(ORDER) do
      all[#all + 1] = what[s] and COMMANDS[s] .. what[s]
    end
    words = table.concat(all, ", or ")
  end
  return ("%s: %s"):format(what[1], words)
end

return M
