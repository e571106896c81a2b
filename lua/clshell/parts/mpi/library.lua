-- parts/mpi/library.lua - the library mpi.so, which is built where mpicc is:
-- its functions, and the version of MPI that it was built with
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local loadlib = package.loadlib

local M = {}

local INSTALL = "module mpi is not built: install MPI (Debian, Ubuntu: apt "
  .. "install openmpi-bin libopenmpi-dev; Fedora: openmpi-devel; Arch: "
  .. "openmpi; macOS: brew install open-mpi) and make clshell again"

-- The path of the library, beside the program or where it was installed.
local function find()
  for _, folder in ipairs{cl.commandline.program:match "^(.*)/[^/]*$" or ".",
      cl.home} do
    local path = folder .. "/mpi.so"
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
end

--- library.open(name) -> C function, or nil and a reason
--- Function `name` of mpi.so. The symbols of the library are global: Open MPI
--- loads parts of its own that look for the symbols of MPI.
function M.open(name)
  local path = find()
  if not path then
    return nil, INSTALL
  end
  local fine, reason = loadlib(path, "*")
  if not fine then
    return nil, "module mpi does not load: " .. reason .. "; the MPI that it "
      .. "was built with must be there, on a cluster by its module"
  end
  return assert(loadlib(path, name))
end

--- library.version() -> string, or nil and a reason
--- The name and the version of MPI in short form. MPI is not started.
function M.version()
  local text, reason = M.open "clsh_mpi_version"
  return text and text():match "^[^,\n]*", reason
end

return M
