-- runs.lua - what the session's run store knows, for the prompt and scripts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local regression = require "clshell.store.regression"

local M = {}

local function session()
  local s, reason = require "clshell.store".default()
  return s or cl.error(reason)
end

--- history([opts]) -> list
--- What became of each bench: its runs, the newest median, and all medians as
--- a line of bars, oldest first. Prints as a table; each row has the fields of
--- its newest run, and `runs`, all of them.
--- Options:
---   name    all  of a bench ("gemm.tiled"), a kernel or a family
---   device  all  part of a device's name
---   tag     all  the tag of the runs
---   since   all  "12h", "7d", "4w" or a date
---   limit   all  so many of the newest runs
function M.history(opts)
  return session():history(opts)
end

--- best([opts]) -> list
--- The fastest run kept that was right, of each bench, problem and device,
--- over all parameters. Its field `stale` says "source changed since" or
--- "driver changed since" where they are others now. Prints as a table.
--- Options as for history.
function M.best(opts)
  return session():best(opts)
end

--- prune(opts) -> count
--- Forgets runs that fit all that is given, but never the newest `keep` of
--- the same bench, problem and device. keep alone forgets all others.
--- Options:
---   older_than  -  "12h", "7d", "4w" or a date
---   keep        0  so many of each stay
---   tag         -  the tag of the runs
---   name        -  of a bench, a kernel or a family
---   device      -  part of a device's name
function M.prune(opts)
  return session():prune(opts)
end

--- runs.compare(a, b [, opts]) -> list
--- What became of runs a in runs b, which were measured at other times: each
--- is a record, the number of a run, "last", "last~1", or a tag. A difference
--- counts above the threshold, above the interquartile range of both, and if a
--- Mann-Whitney test has p < 0.01. Prints as a table: FASTER, SLOWER, SAME or
--- UNCLEAR; list:regressions(limit) has what became slower.
--- Options:
---   threshold  0.03  the part by which medians differ at least
function M.compare(a, b, opts)
  local measured = type(a) == "table" and type(b) == "table"
  return regression.compare(not measured and session(), a, b, opts)
end

return M
