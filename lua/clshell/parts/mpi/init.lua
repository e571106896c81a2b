-- parts/mpi/init.lua - module mpi, for scripts that mpirun starts. The
-- functions are those of src/mpi, built where mpicc is; the room offers
-- parts/mpi/library.lua beside, which finds them.
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

-- Rank 0 notes once that devices of several kinds are at work: their times
-- are no times of one machine.
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
