-- parts/mpi/init.lua - module mpi, for scripts that mpirun starts. The
-- functions are in the library mpi.so, which is built from src/mpi where mpicc
-- is; parts/mpi/library.lua finds it.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local library = require "clshell.parts.mpi.library"

local open, reason = library.open "luaopen_mpi"
if not open then
  cl.error(reason)
end
local mpi = open()

-- The type of this rank's device.
local function kind()
  local fine, device = pcall(cl.device)
  return fine and device.type or "none"
end

-- Prints a note on rank 0 where the ranks have devices of several kinds: their
-- times do not describe one kind of machine.
local function note_kinds()
  local own = kind()
  if mpi.rank() > 0 then
    mpi.send(own, 0)
    return
  end
  local counts, names = {[own] = 1}, {own}
  for rank = 1, mpi.size() - 1 do
    local other = mpi.recv("string", rank)
    names[#names + 1] = not counts[other] and other or nil
    counts[other] = (counts[other] or 0) + 1
  end
  for i, name in ipairs(names) do
    names[i] = ("%d %s"):format(counts[name], name)
  end
  if #names > 1 then
    io.stderr:write(("clshell: note: the ranks have devices of several kinds: "
      .. "%s\n"):format(table.concat(names, ", ")))
  end
end

if mpi.size() > 1 then
  note_kinds()
end

return mpi
