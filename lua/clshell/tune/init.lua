-- tune/init.lua - tune: the search for the best setting of a kernel. space.lua
-- has the points (constraint.lua, walk.lua), strategy.lua and surrogate.lua
-- their order, search.lua goes through them, race.lua says how often each is
-- measured, finals.lua tells the winners. ladder.lua and kernel.lua build,
-- check and measure one, shapes.lua does so on several shapes (settings.lua),
-- remote.lua in a process of its own; replay.lua answers from a file and
-- recall.lua from the run store; builders.lua builds the next ones ahead, and
-- crew.lua shares the points with other processes of mpirun.
-- result.lua is the end; effects.lua judges the parameters, view.lua and
-- page.lua show a search.
-- SPDX-License-Identifier: MIT

local aims = require "clshell.tune.aims"
local argument = require "clshell.base.argument"
local cl = require "cl"
local demand = require "clshell.tune.demand"
local integer = require "clshell.base.integer"
local kernel = require "clshell.tune.kernel"
local ladder = require "clshell.tune.ladder"
local options = require "clshell.base.options"
local remote = require "clshell.tune.remote"
local replay = require "clshell.tune.replay"
local search = require "clshell.tune.search"
local shapes = require "clshell.tune.shapes"
local text = require "clshell.base.text"
local workload = require "clshell.ladder.workload"

-- A search of a source, by options and their limits.
local function found(source, opts, limits)
  local aim = opts.objectives and "objectives" or opts.objective
    and "objective"
  if opts.objective and opts.objectives then
    cl.error("tune: objective and objectives exclude each other")
  elseif source.shapes and aim then
    cl.error(("tune: %s and shapes exclude each other: the mean over shapes "
      .. "is one of times"):format(aim))
  elseif not opts.ranks or cl.commandline.ranks == 1 then
    return search.run(source, opts, limits)
  end
  return require "clshell.tune.crew".run(source, limits, function(crew)
    return search.run(source, opts, limits, crew)
  end)
end

local M = require "clshell.base.lazy".table(...)

local SECONDS = 60

-- Raises unless the common options are right. Returns them with defaults.
local function checked(opts)
  local o = {}
  for _, name in ipairs{"seconds", "tolerance", "limit"} do
    if opts[name] ~= nil then
      argument.positive("tune", name, opts[name])
    end
  end
  for _, name in ipairs{"objective", "reset"} do
    if opts[name] ~= nil and type(opts[name]) ~= "function" then
      cl.error(("tune: %s must be a function; got a %s"):format(name,
        type(opts[name])))
    end
  end
  if opts.objectives ~= nil then
    aims.check(opts.objectives)
  end
  if opts.worker ~= nil and type(opts.worker) ~= "boolean" then
    cl.error(("tune: worker must be true or false; got %s"):format(
      text.got(opts.worker)))
  end
  o.limit = opts.limit
  o.evaluations = opts.evaluations
    and integer.check("tune", "evaluations", opts.evaluations, 1)
  o.seconds = opts.seconds or not o.evaluations and SECONDS or math.huge
  o.builders = opts.builders
    and integer.check("tune", "builders", opts.builders, 0)
  o.seed = opts.seed and integer.check("tune", "seed",
    opts.seed, math.mininteger) or 1
  return o
end

-- The source of a rung or a family on a shape, or on several; nil where
-- `what` is neither.
local function source_of(what, shape, opts, link)
  if type(shape) == "table" and shape.shapes ~= nil then
    cl.options(shape, {"shapes"}, "tune")
    return shapes.ladder(what, shape.shapes, opts, link)
  end
  local job = workload.ladder("tune", what, shape, opts.type)
  return job and link:wrap(ladder.source(job, opts))
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
--- Of several shapes, {shapes = {{512}, {shape = {2048, 64, 64}, weight = 3}}}
--- in place of one, the best has the least weighted geometric mean of its
--- times: the order by that mean does not depend on the best time of each
--- shape, and a large shape has no more say than a small one. A point that is
--- far behind at the first shapes does not run on the rest, and one that a
--- shape refuses still serves the others in best.table: the best settings,
--- one, two, up to four, with the loss of each shape against its best. The
--- functions of a kernel table take the shape too: range = function(p, shape).
---
--- Of several aims, objectives = {"ms", "err"}, the winners are the Pareto
--- set, best.pareto: the configurations that no other beats in all aims, by
--- the first one, with the values as row.aims. None is cut short or run in
--- turns.
---
--- Every configuration is checked before it is timed, the finalists of a rung
--- also on shapes that fit no tile. A configuration that is far from the best
--- gets two or three samples; those within 3 % are measured in turns, and the
--- winners are the ones not told apart by 1 %, the simplest first, then the
--- one with less local memory. A configuration that fails to build, to run or
--- to be right is a row with its reason; one that the device refuses costs no
--- evaluation. The default configuration comes first.
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
---   tolerance  float 1e-4, double 1e-10, half 1e-2  of the largest value
---   reset    -      reset() before each launch that is checked or timed
---   flop, bytes  -  of a run: numbers, or functions of p
---   defines, options, local_bytes  -  values, or functions of p
---   entry    the only one  the kernel's name in the file
---   start    the first values  the default configuration
---   shapes   -      a list of shapes or {shape =, weight = 1}: the functions
---            above are called as f(p, shape), reset as reset(shape), and
---            output may be function(shape) -> Buffer
---   name, title  -  strings: of the results
---   context  session's  the Context of the launches
---   replay   -      alone in the table, it searches in times measured before:
---            a file of best:save, CSV with a column "ms", a cache file of
---            Kernel Tuner
--- Options:
---   seconds  60     in all, a fifth of them for the finals; no limit where
---            evaluations are given
---   evaluations  all  configurations to measure at most
---   strategy  by the space and the budget  exhaustive, random, one_factor,
---            local, anneal, genetic, surrogate, or function(space, random) ->
---            ask, tell: ask() gives the number of a point, tell(number,
---            value) takes the result, nil for a failure; a third, ahead(k),
---            may list the next k points, for builders
---   builders  by the time of the first builds  processes that build the next
---            configurations while nothing is measured, and on a CPU, whose
---            driver compiles then, launch them once; the worker process is
---            one of them; 0 or 1: none
---   seed     1      of the strategy
---   where    none   a constraint or a list: "bx * by <= 256", or a function
---            of the parameters
---   objective  time  function(record of bench) -> number; lower is better
---   objectives  -    several aims, {"ms", "err", size = function(record) ...
---            end}: "ms", "err" (of a rung, or as check finds it), "energy"
---            (joules of a launch where nvidia-smi tells the power; takes two
---            seconds for each configuration), "bytes" (of the program's
---            binary), "local_bytes", "private_bytes", functions by name
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
---            own that is like that of rank 0; each gets the result. A point
---            that ends a rank's worker process costs that point. So does a
---            rank that ends, if mpirun lets the others go on, as Open MPI's
---            does with --enable-recovery. Rank 0 alone searches over several
---            shapes
---
--- Points are built and run in a worker process, on copies of the arguments: a
--- point that crashes it or passes the limit is a row "failed". The functions
--- run there as well, on copies of what they use; what they change is not seen
--- here. Where a value cannot be sent, as a Queue, this process serves, which
--- the result says.
---
--- The result prints as text and has ms, params and rung of the best, winners,
--- rows (all configurations in order: point, rung, config, status, reason, ms,
--- n, rel, value, record; of several shapes `at`, a row for each), table (of
--- several shapes, for 1, 2, 3 settings: loss, settings, shapes with row, ms
--- and loss), evaluations, stored, gain (over the default: ratio, lo, hi),
--- space, strategy, why, seed, seconds, sampled (the seconds of them that went
--- into samples) and ended ("budget", "space", "time", "device"). best.space
--- prints its size and the constraints; best.space:why{tile = 3} tells why a
--- point is out, #best.space counts the points. Ctrl-C is raised with
--- the result so far as `record`.
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
--- local shapes = {shapes = {{64}, {shape = {128, 16, 16}, weight = 2}}}
--- local several = tune("gemm.tiled_padded", shapes, {evaluations = 2})
--- print(several) -- the loss of each shape with one setting, and with two
--- local both = tune("gemm.tiled_padded", {64}, {evaluations = 2,
---   objectives = {"ms", "local_bytes"}})
--- print(#both.pareto >= 1) --> true
function M.tune(what, shape, opts)
  if type(what) == "table" and (what.kernel ~= nil or what.replay ~= nil
      or what.params ~= nil) and not what.lesson then
    what = options.check(demand.over(what), "tune")
    if shape ~= nil then
      cl.error("tune: a table takes no second argument")
    end
    if what.replay ~= nil and what.shapes ~= nil then
      cl.error("tune: a file of replay has one shape; leave shapes out")
    end
    local limits = checked(what)
    local link <close> = remote.new(what)
    local source = what.replay ~= nil and replay.source(what.replay)
      or what.shapes ~= nil and shapes.kernel(what, link)
      or link:wrap(kernel.source(what))
    return demand.answer(found(source, what, limits))
  end
  opts = options.check(demand.over(opts), "tune.rung", "tune")
  local limits = checked(opts)
  local link <close> = remote.new(opts)
  local source = (type(what) == "string" or type(what) == "table")
    and source_of(what, shape, opts, link)
  if not source then
    cl.error(("tune: the first argument must be a rung, a family or a table; "
      .. "got %s"):format(what == nil and "nothing" or "a " .. type(what)),
      {hint = "tune(\"gemm.tiled_padded\", {512}), or tune{kernel = "
      .. "\"my.cl\", params = {bx = {8, 16}}, range = ..., args = ...}"})
  end
  return demand.answer(found(source, opts, limits))
end

return setmetatable(M, {__call = function(_, ...)
  return M.tune(...)
end})
