-- tune/init.lua - tune: the search for the best setting of a kernel. space.lua
-- has the points (enumerate.lua finds them), strategy.lua and
-- surrogate.lua their order, search_loop.lua goes through them, evaluation.lua
-- says how often each is measured. rung_source.lua and kernel_source.lua
-- build, check and measure a point, remote_source.lua in a process of its own;
-- recorded_space.lua answers from a file and known_runs.lua from the run
-- store; builders.lua builds the next points ahead, and rank_search.lua shares
-- the points with other processes of mpirun. tune_result.lua shows a search
-- and its end.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local options = require "clshell.base.options"
local search_loop = require "clshell.tune.search_loop"

local M = require "clshell.base.lazy".table(...)

local SECONDS = 60

-- A check of an option: an integer of at least `low`, or a value of a kind.
local function at_least(low)
  return function(what, name, value)
    argument.integer(what, name, value, low)
  end
end

local function of_kind(kind)
  return function(what, name, value)
    argument.check(what, name, value, kind)
  end
end

local CHECKS = {seconds = argument.positive, tolerance = argument.positive,
  limit = argument.positive, builders = at_least(0), evaluations = at_least(1),
  seed = at_least(math.mininteger), reset = of_kind "function",
  worker = of_kind "boolean", maximise = of_kind "boolean"}

-- Raises unless the common options are right. Returns the search's limits.
local function checked(opts)
  for name, check in pairs(CHECKS) do
    if opts[name] ~= nil then
      check("tune", name, opts[name])
    end
  end
  local kind = type(opts.objective)
  if kind ~= "nil" and kind ~= "function" and kind ~= "string" then
    cl.error(("tune: objective must be a function or the name of a field; got "
      .. "a %s"):format(kind))
  elseif opts.maximise ~= nil and kind == "nil" then
    cl.error("tune: maximise needs an objective",
      {hint = "objective = \"gflops\""})
  end
  if opts.objective == "joule" then
    local dev = opts.context and opts.context.device or cl.device()
    local reason = require "clshell.measure.sensors".powerless(dev)
    if reason then
      cl.error("tune: objective \"joule\" needs the watts of the device; "
        .. reason, {hint = "objective = \"ms\", the time, goes everywhere"})
    end
    opts.fresh = true -- kept times have no watts
  end
  return {limit = opts.limit, evaluations = opts.evaluations,
    seconds = opts.seconds or not opts.evaluations and SECONDS or math.huge,
    builders = opts.builders, seed = opts.seed or 1}
end

-- The source of a rung or a family on a shape, or of a table of the user's.
local function source_of(what, shape, opts)
  if what == opts and opts.replay ~= nil then
    return require "clshell.tune.recorded_space".source(opts.replay)
  elseif what == opts then
    return require "clshell.tune.kernel_source".source(opts)
  end
  local job = (type(what) == "string" or type(what) == "table")
    and require "clshell.ladder.workload".ladder("tune", what, shape,
    opts.type)
  if not job then
    cl.error(("tune: the first argument must be a rung, a family or a table; "
      .. "got %s"):format(what == nil and "nothing" or "a " .. type(what)),
      {hint = "tune(\"gemm.tiled_padded\", {512}), or tune{kernel = "
      .. "\"my.cl\", params = {bx = {8, 16}}, range = ..., args = ...}"})
  end
  return require "clshell.tune.rung_source".source(job, opts)
end

-- Whether an argument is the table of a kernel or a file, and not a rung.
local function is_own(what)
  return type(what) == "table" and not what.lesson
    and (what.kernel ~= nil or what.replay ~= nil or what.params ~= nil)
end

--- tune(what [, shape [, opts]]) -> best
--- Searches the fastest setting of a kernel. `what` is a rung, as in
--- tune("gemm.tiled_padded", {512}), or a whole family, tune("gemm", {A = A, B
--- = B}), on a shape or operands as bench takes them: every rung that the
--- device and the shape accept, and all of their parameters.
---
--- A kernel of your own is a table of the options below: the path of a .cl
--- file or its text, and the values of its parameters, which are macros in
--- upper case there. tune{kernel = "conv.cl", params = {bx = {8, 16, 32}, tx =
--- "1..8"}, where = "tx * bx <= 128", range = function(p) return {n, m},
--- {p.bx, 4} end, args = {A, B, n}, check = reference}.
---
--- Every configuration is checked before it is timed, the finalists of a rung
--- also on shapes that fit no tile. A configuration that is far from the best
--- gets two or three samples; configurations within 3 % are measured in turns.
--- The winners are not told apart by 1 %: the simplest comes first, then the
--- winner with less local memory. A configuration that fails to build, to run
--- or to be right is a row with its reason; a configuration that the device
--- refuses costs no evaluation. The default configuration comes first.
--- Options of a kernel:
---   kernel   -      the path of a .cl file, or its text
---   params   -      {name = list or "1..8", ...}; "8..64:8" in steps of 8,
---            "1..64*2" powers of 2
---   range    -      the global size, or function(p) -> global, local
---   args     none   the arguments, or function(p) -> list
---   check    the first configuration's result  a reference (Array, Buffer),
---            or function(p) -> ok, message, err
---   output   the only Buffer argument that is not const  the result, filled
---            with NaN before each check
---   tolerance  float 1e-4, double 1e-10, half 1e-2  the error allowed at an
---            element, as a part of its reference or, where that is larger, of
---            the usual one: the lower quartile of those that are not 0; other
---            rules: check = function(p)
---   expect, inout  -  in place of check and output: the right results, see
---            bench, such as the Launch of a plain kernel
---   reset    -      reset() before each launch that is checked or timed
---   flop, bytes  -  of a run: numbers, or functions of p
---   defines, options, local_bytes  -  values, or functions of p
---   entry    the only one  the kernel's name in the file
---   start    the first values  the default configuration
---   name, title  -  strings: of the results
---   context  session's  the Context of the launches
---   replay   -      alone in the table, it searches in times measured before:
---            a file of best:save, CSV with a column "ms", a cache file of
---            Kernel Tuner
--- Options:
---   seconds  60     in all, a fifth of them for the finals; no limit where
---            evaluations are given
---   evaluations  all  configurations to measure at most
---   strategy  by the space and the budget  exhaustive, random, local,
---            surrogate, or function(space, random) -> ask, tell: ask() gives
---            the number of a point, tell(number, value) takes the result, nil
---            for a failure; a third, ahead(k), may list the next k points,
---            for builders
---   builders  by the time of the first builds  processes that build the next
---            configurations while nothing is measured, and on a CPU, whose
---            driver compiles then, launch them once; the worker process is
---            one of them; 0 or 1: none
---   seed     1      of the strategy
---   where    none   a constraint or a list: "bx * by <= 256", or a function
---            of the parameters
---   objective  time  a number of each row: a field of the record of bench, as
---            "gflops" or "err", or function(record) -> number; "joule":
---            the energy of a run, measured for 1.6 s, where the device tells
---            its watts
---   maximise  of a rate true, else false  the objective is best where it is
---            greatest
---   race     true   false: takes all samples of slow configurations too
---   samples  -      as for bench
---   cache    -      as for bench
---   type     -      as for bench
---   tag      -      as for bench
---   fresh    false  true: measures anew what the run store has from the same
---            source, driver, device, shape and options
---   worker   true   false: builds and runs in this process; see below
---   limit    30     seconds that a point may take to build, to be checked or
---            to be measured
---   quiet    false  true: shows no progress
---   ranks    false  true: all processes of mpirun call tune, with the same
---            arguments, and measure points in turn, each on a device of its
---            own that is like rank 0's device; each gets the result. A point
---            that ends a rank's worker process costs that point. So does a
---            rank that ends, if mpirun lets the others go on, as Open MPI's
---            does with --enable-recovery
---
--- Points are built and run in a worker process, on copies of the arguments: a
--- point that crashes it or passes the limit is a row "failed". The functions
--- run there as well, on copies of the values that they use; their changes are
--- not seen here. Where a value cannot be sent, as a Queue, this process
--- serves, and the result says so.
---
--- The result prints as text and has ms, params and rung of the best, winners,
--- rows (all configurations in order: point, rung, config, status, reason, ms,
--- n, rel, value, record), evaluations, stored, gain (over the default: ratio,
--- lo, hi), space, strategy, why, seed, seconds, sampled (the part of the
--- seconds in samples) and ended ("budget", "space", "time", "device").
--- best.space prints its size and the constraints; best.space:why{tile = 3}
--- tells why a point is out, #best.space counts the points. Ctrl-C is raised
--- with the result so far as `record`. html(best:records(), "best.html") draws
--- it.
--- Example:
--- local best = tune("gemm.tiled_padded", {64}, {evaluations = 3})
--- print(best.evaluations) --> 3
--- print(best) -- the winner, its gain over the default, failures by reason
--- local n = 4096
--- local x, y = cl.buffer("float", n, 3), cl.buffer("float", n)
--- local scale = tune{kernel = [[
--- kernel void scale(global const float *x, global float *y) {
---   for (int k = 0; k < PER; k++)
---     y[get_global_id(0) * PER + k] = 2 * x[get_global_id(0) * PER + k];
--- }]], params = {per = {1, 2, 4}, group = "16..64*2"},
---   where = "per * group <= 128", args = {x, y}, evaluations = 3,
---   range = function(p) return n // p.per, p.group end,
---   check = cl.array("float", n, 6), bytes = 8 * n, seconds = 20}
--- print(#scale.space) --> 8
--- print(scale.space:why{per = 4, group = 64})
--- --> where 'per * group <= 128' is false
---
--- local exact = tune("gemm.tiled_padded", {64}, {evaluations = 2,
---   objective = "err"})
--- print(exact.value == exact.winners[1].record.err) --> true
function M.tune(what, shape, opts)
  if is_own(what) then
    opts = options.check(what, "tune")
    what = opts
    if shape ~= nil then
      cl.error("tune: a table takes no second argument")
    end
  else
    opts = options.check(opts, "tune.rung", "tune")
  end
  local limits = checked(opts)
  local source = source_of(what, shape, opts)
  local remote <close> = opts.worker ~= false and source.again
    and require "clshell.tune.remote_source".new(source, opts.limit) or nil
  source = remote or source
  if not opts.ranks or cl.commandline.ranks == 1 then
    return search_loop.run(source, opts, limits)
  end
  return require "clshell.tune.rank_search".run(source, limits,
    function(ranks)
      return search_loop.run(source, opts, limits, ranks)
    end)
end

return require "clshell.base.lazy".callable(M, "tune")
