-- results/runs.lua - history, best, prune and runs.compare: the run store of
-- the session, for the prompt and scripts
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local history = require "clshell.results.history"

local M = {}

local function session()
  local s, reason = require "clshell.results.store".default()
  return s or cl.error(reason)
end

--- history([opts]) -> list
--- The kept runs, one row for runs of the same name, parameters, shape, cache
--- mode and device: their count, the newest median and its change since the
--- run before, and all medians as a line of bars, oldest first. Prints as a
--- table; each row has the fields of its newest run, and `runs`, all its runs.
--- With a name, the steps of each row are told below the table: the runs from
--- which on its median is another, with the 95 % interval of the ratio and the
--- version of the source, the driver and the tag that are new there.
--- Options:
---   name    all  a name such as "gemm.tiled", a kernel or a family
---   device  all  part of a device's name
---   tag     all  a tag of the runs
---   since   all  "12h", "7d", "4w" or a date
---   limit   all  only so many of the newest runs
---   file    -    a path: writes a page with a curve over the runs there
--- Example:
--- print(history{name = "gemm", since = "7d", limit = 20})
--- bench.of("mine", {0.01, 0.011}) -- is kept, too
--- history{name = "mine", file = "trend.html"}
function M.history(opts)
  return session():history(opts)
end

--- best([opts]) -> list
--- The fastest kept run with a right result, over all parameters, for each
--- name, shape, element type, cache mode and device. Its field `stale` says
--- "source changed since" or "driver changed since" where the kernel's source
--- or the driver differs now. Prints as a table. Options as for history.
--- Example: print(best{name = "gemm"})
function M.best(opts)
  return session():best(opts)
end

--- prune(opts) -> count
--- Forgets runs that fit all given options, but never the newest `keep` runs
--- of the same name, parameters, shape, cache mode and device. keep alone
--- forgets all other runs.
--- Options:
---   older_than  -  "12h", "7d", "4w" or a date
---   keep        0  so many runs of each stay
---   tag         -  a tag of the runs
---   name        -  a name such as "gemm.tiled", a kernel or a family
---   device      -  part of a device's name
--- Example: prune{older_than = "52w", keep = 3}
function M.prune(opts)
  return session():prune(opts)
end

--- runs.compare(a, b [, opts]) -> list
--- Compares kept runs b with kept runs a: each is a record, the number of a
--- run, "last", "last~1", or a tag. Two single runs are compared as they are;
--- of tags, the newest runs of the same name, parameters, shape, cache mode
--- and device. A difference counts above the threshold and above the
--- interquartile range of both, if a Mann-Whitney test has p < 0.01. Prints as
--- a table: B is FASTER, SLOWER, SAME or UNCLEAR; list:regressions(limit) has
--- the rows that became slower.
--- Options:
---   threshold  0.03  the least difference of medians, as a part
--- Example:
--- local runs = require "clshell.runs"
--- local function result(seconds)
---   return bench.of("mine", {seconds, 1.01 * seconds, 0.99 * seconds,
---     seconds, 1.005 * seconds, 0.995 * seconds, seconds, seconds})
--- end
--- print(runs.compare(result(0.010), result(0.012), {threshold = 0.05}))
function M.compare(a, b, opts)
  for name, side in pairs{a = a, b = b} do
    if type(side) == "table" then
      argument.list("runs.compare", name, side, "table")
    end
  end
  local measured = type(a) == "table" and type(b) == "table"
  return history.compare(not measured and session(), a, b, opts)
end

return M
