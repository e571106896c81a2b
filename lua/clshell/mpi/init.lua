-- mpi/init.lua - module mpi, for scripts that mpirun starts: loads mpi.so,
-- which is built where mpicc is, or says what is missing
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local loadlib = package.loadlib

local INSTALL = "module mpi is not built: install MPI (Debian, Ubuntu: apt "
  .. "install libopenmpi-dev openmpi-bin; Fedora: openmpi-devel; Arch: "
  .. "openmpi; macOS: brew install open-mpi) and make clshell again"

-- The library, beside the program or where it was installed.
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
  cl.error(INSTALL)
end

local path = find()
-- For all to see: Open MPI loads parts of its own that look for it.
local fine, message = loadlib(path, "*")
if not fine then
  cl.error("module mpi does not load: " .. message, {hint = "the MPI that it "
    .. "was built with must be there: on a cluster its module"})
end
return assert(loadlib(path, "luaopen_mpi"))()
