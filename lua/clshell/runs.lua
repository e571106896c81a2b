-- runs.lua - what the session's run store knows, for the prompt and scripts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local regression = require "clshell.regression"

local M = {}

local function session()
  local s, reason = require "clshell.store".default()
  return s or cl.error(reason)
end

--- history([{name=, device=, tag=, since=, limit=}]) -> list
--- What became of each bench: its runs, the newest median, and all medians as
--- a line of bars, oldest first. name is that of a bench ("gemm.tiled"), a
--- kernel or a family; device a part of its name; since "12h", "7d", "4w" or
--- a date; limit so many of the newest runs. Prints as a table; each row has
--- the fields of its newest run, and `runs`, all of them.
function M.history(opts)
  return session():history(opts)
end

--- best([{name=, device=, tag=, since=, limit=}]) -> list
--- The fastest run kept that was right, of each bench, problem and device,
--- over all parameters. Its field `stale` says "source changed since" or
--- "driver changed since" where they are others now. Prints as a table.
function M.best(opts)
  return session():best(opts)
end

--- prune{older_than=, keep=, tag=, name=, device=} -> count
--- Forgets runs that fit all that is given, but never the newest `keep` of
--- the same bench, problem and device. keep alone forgets all others.
function M.prune(opts)
  return session():prune(opts)
end

--- runs.compare(a, b [, {threshold = 0.03}]) -> list
--- What became of runs a in runs b, which were measured at other times: each
--- is a record, the number of a run, "last", "last~1", or a tag. A difference
--- counts above 3 %, above the interquartile range of both, and if a
--- Mann-Whitney test has p < 0.01. Prints as a table: FASTER, SLOWER, SAME or
--- UNCLEAR; list:regressions(limit) has what became slower.
function M.compare(a, b, opts)
  local measured = type(a) == "table" and type(b) == "table"
  return regression.compare(not measured and session(), a, b, opts)
end

return M
