-- ranks.lua - runs scripts in several processes of mpirun, for tests: on this
-- host alone, as a user or root, in a container without a network
-- SPDX-License-Identifier: MIT
local scratch = require "scratch"
local t = require "t"

local ranks = {}

-- More ranks than cores, messages by shared memory that every container
-- allows, and no look at other hosts. The sanitizer's look for leaks is off:
-- Open MPI keeps what it has until its processes end.
local ENVIRONMENT = "env OMPI_ALLOW_RUN_AS_ROOT=1 "
  .. "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 "
  .. "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 "
  .. "OMPI_MCA_plm=isolated OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader "
  .. "OMPI_MCA_btl_vader_single_copy_mechanism=none "
  .. "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" "

--- ranks.need()
-- Skips the test where there is no MPI.
function ranks.need()
  t.skip_if(t.capture "command -v mpirun" == "", "there is no mpirun")
  local so = io.open(t.build .. "/mpi.so")
  t.skip_if(not so, "mpi.so is not built: there is no mpicc")
  so:close()
end

--- ranks.command(n, words) -> string
-- The command that starts clshell with these words n times.
function ranks.command(n, words)
  return ("%smpirun -n %d $clshell %s"):format(ENVIRONMENT, n, words)
end

-- What the code of ranks.run has: mpi, rank and size; whole(type, shape,
-- seed), an Array of whole numbers, whose sums are exact; check(condition,
-- ...), which raises with the rest as text; fails(text, f, ...), which raises
-- unless f does, with that text.
local PRELUDE = ([[
local mpi = require "mpi"
local rank, size = mpi.rank(), mpi.size()
local function whole(type, shape, seed)
  return cl.array("int", shape):random(%d + seed, -8, 8):convert(type)
end
local function check(fine, ...)
  if not fine then
    error(("rank %%d of %%d: "):format(rank, size)
      .. table.concat({...}, " "))
  end
end
local function fails(text, f, ...)
  local fine, e = pcall(f, ...)
  check(not fine and tostring(e):find(text, 1, true), text, tostring(e))
end
]]):format(t.seed)

--- ranks.run(n, code [, words [, before]]) -> output, error output, exit code
-- Runs Lua code behind PRELUDE in n processes; `words`: options of clshell,
-- `before`: variables of the environment.
function ranks.run(n, code, words, before)
  ranks.need()
  local path = scratch.create("ranks.lua", PRELUDE .. code)
  return scratch.sh(("env %s %s"):format(before or "", ranks.command(n,
    ("%s %s"):format(words or "", path))))
end

--- ranks.fine(n, code [, words [, before]]) -> standard output
-- The same; fails unless it ends well.
function ranks.fine(n, code, words, before)
  local out, err, status = ranks.run(n, code, words, before)
  t.eq(status, 0, ("%d ranks: %s%s"):format(n, out, err))
  return out
end

return ranks
