-- base/options.lua - the options that each function takes, declared once for
-- the check of a table of options and for completion at the prompt
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local class_of = require "clshell.base.text".class

local option_names = cl.option_names

local M = {}

local DEVICE_MATRIX = {"type", "ld", "context"}
local RANDOM_MATRIX = {"type", "ld", "context", "seed", "lo", "hi"}
local DIA = {"type", "pitch", "context", "force"}
local TRIPLETS = {"type", "context"}
local RUNS = {"name", "device", "tag", "since", "limit"}
local BARS = {"y", "y_label", "limit", "limit_label", "title", "file",
  "width", "height"}
local TUNE = {"seconds", "evaluations", "strategy", "seed", "objective",
  "maximise", "samples", "cache", "type", "tag", "fresh", "quiet", "race",
  "worker", "limit", "builders", "ranks"}

-- By the name of a function in messages and help: Class:method for methods.
-- Module cl has lists of its own (cl.options of a name); those of a kernel
-- family depend on its rungs.
local NAMES = {
  access = {"as", "warp", "sector", "line", "banks", "bank_bytes", "groups"},
  ["Array:reduce"] = {"op", "identity", "dim"},
  ["Array:scan"] = {"op", "identity", "exclusive", "dim"},
  bench = {"name", "flop", "bytes", "type", "samples", "seconds", "warmup",
    "busy", "effort", "cache", "args", "check", "roof", "tag"},
  ["bench.of"] = {"flop", "bytes", "type", "tag"},
  best = RUNS,
  ["Buffer:argsort"] = {"order"},
  ["Buffer:gather"] = {"check"},
  ["Buffer:histogram"] = {"from", "to", "bins"},
  ["Buffer:normal"] = {"seed", "mean", "deviation", "offset",
    "generator"},
  ["Buffer:random"] = {"seed", "lo", "hi", "offset", "generator"},
  ["Buffer:reduce"] = {"op", "identity", "dim"},
  ["Buffer:scan"] = {"op", "identity", "exclusive", "dim"},
  ["Buffer:scatter"] = {"check"},
  ["Buffer:sort"] = {"order", "values"},
  ["Buffer:std"] = {"ddof"},
  ["Buffer:var"] = {"ddof"},
  calibrate = {"context", "again"},
  ["claims.new"] = {"n", "final"},
  ["cl.arange"] = {"type", "context"},
  ["cl.linspace"] = {"type", "context"},
  ["cl.map"] = {"shape", "context"},
  ["cl.split"] = {"shares"},
  ["cl.random"] = {"type", "seed", "lo", "hi", "mean", "deviation", "offset",
    "generator", "context"},
  ["chart:svg"] = {"style"},
  ["chart:text"] = {"width", "height", "ascii", "color"},
  check = {"size", "shrink", "params", "shapes", "operands", "type", "limit",
    "guard"},
  ["check.launch"] = {"size", "shrink", "limit", "guard"},
  ["check.rung"] = {"params", "shapes", "operands", "type", "limit", "guard"},
  compare = {"rounds", "samples", "seconds", "least", "cache", "args"},
  ["compare.runs"] = {"threshold", "cache", "args"},
  ["csr.from_coo"] = TRIPLETS,
  ["csr.load"] = TRIPLETS,
  ["Csr:save"] = {"symmetric"},
  ["cuda.translate"] = {"options", "has"},
  ["Csr:to_dia"] = DIA,
  ["dia.banded"] = {"type", "pitch", "context", "force", "cols", "m", "seed",
    "lo", "hi"},
  ["dia.from_csr"] = DIA,
  ["dia.load"] = DIA,
  ["dia.poisson2d"] = DIA,
  ["dia.poisson3d"] = DIA,
  ["Dia:to_csr"] = {"context"},
  ["family.define"] = {"name", "file", "source", "lesson", "format", "kernel",
    "params", "defines", "options", "range", "local_bytes", "accepts", "args",
    "pack", "prepare", "finish", "flop", "bytes", "input_roundoff", "guarded",
    "places", "trans", "traffic", "ptx", "half", "wide"},
  ["family.new"] = {"name", "arguments", "output", "rungs", "reference",
    "updates", "terms", "flop", "bytes", "help", "options", "types", "cache",
    "memory", "measures", "title", "make", "awkward", "hosts", "keeps_plans",
    "args", "signature", "bind", "context", "truth", "shape", "sizes", "dims",
    "ints", "adapt", "pass", "pieces", "prepare_once", "stage"},
  ["gemm.out_of_core"] = {"C", "alpha", "beta", "trans_a", "trans_b", "memory",
    "kernel", "context"},
  history = RUNS,
  html = {"title", "command", "reading", "peaks", "charts"},
  lesson = {"device", "peaks", "use", "context"},
  ["matrix.from"] = DEVICE_MATRIX,
  ["matrix.identity"] = DEVICE_MATRIX,
  ["matrix.load"] = DEVICE_MATRIX,
  ["matrix.ones"] = DEVICE_MATRIX,
  ["matrix.random"] = RANDOM_MATRIX,
  ["matrix.zeros"] = DEVICE_MATRIX,
  ["NpyFile:read"] = {"from", "size"},
  ["NpyFile:write"] = {"from", "size"},
  occupancy = {"gpu", "wg", "registers", "local_bytes"},
  ["out:part"] = {"title", "columns", "steps", "by", "best", "peak", "base"},
  peaks = {"again", "context"},
  ["plot.bar"] = BARS,
  ["plot.ladder"] = BARS,
  ["plot.line"] = {"x", "y", "by", "log_x", "log_y", "zero", "x_label",
    "y_label", "scatter", "title", "file", "width", "height"},
  ["plot.roofline"] = {"peaks", "title", "file", "width", "height"},
  prune = {"older_than", "keep", "tag", "name", "device"},
  ["ranks.gemm"] = {"C", "alpha", "beta", "depth", "kernel", "shared"},
  ["ranks.load"] = {"grid"},
  ["ranks.matrix"] = {"type", "grid"},
  ["ranks.poisson2d"] = {"type"},
  ["ranks.poisson3d"] = {"type"},
  ["ranks.vector"] = {"type"},
  ["ranks.random"] = {"type", "grid", "seed", "lo", "hi"},
  ["report.format"] = {"width", "best", "color"},
  runs = {"id", "name", "device", "tag", "since", "before", "limit"},
  ["runs.compare"] = {"threshold"},
  ["store.open"] = {"create"},
  ["Struct:buffer"] = {"context"},
  ["Struct:check"] = {"context"},
  tune = {"kernel", "params", "where", "range", "args", "check", "output",
    "tolerance", "reset", "flop", "bytes", "defines", "options",
    "local_bytes", "entry", "start", "name", "title", "context", "replay",
    table.unpack(TUNE)},
  ["tune.rung"] = {"where", table.unpack(TUNE)},
}

-- The kind of an option's value, by the names of options that have one kind
-- everywhere. A function that has a narrower rule checks that itself.
local KINDS = {
  charts = "table", command = "string", context = "Context",
  file = "string", height = "number", limit_label = "string",
  name = "string", peaks = "table", tag = "string",
  title = "string", type = "string", use = "table", width = "number",
  x_label = "string", y_label = "string",
}

--- options.values
--- The words that an option takes, by its name, for options with few.
M.values = {
  access = {"read_write", "read_only", "write_only"},
  cache = {"hot", "cold"},
  effort = {"quick", "final"},
  generator = {"philox", "threefry"},
  order = {"ascending", "descending"},
}

--- options.names(name) -> list of strings, or nil
--- The options that a function takes, by its name in help, such as "bench",
--- "cl.buffer" or "Buffer:read". Those of a kernel family's calls are
--- "kernel", the extras of the family, and the parameters of the rung.
function M.names(name)
  return NAMES[name] or option_names(name)
end

--- options.functions() -> list of strings, sorted
--- The names of the functions whose options are declared here.
function M.functions()
  local list = {}
  for name in pairs(NAMES) do
    list[#list + 1] = name
  end
  table.sort(list)
  return list
end

--- options.is_event(x) -> boolean
--- Whether x is an Event, or the span of several. In the place of options it
--- is the second result of the call that gave the argument before, as in
--- gemm(A, gemm(B, C)), and says nothing.
function M.is_event(x)
  local class = class_of(x)
  return class == "Event" or class == "Event span"
end

--- options.given(opts) -> opts, or an empty table
--- The options of a call; none for nil or an Event.
function M.given(opts)
  return (opts == nil or M.is_event(opts)) and {} or opts
end

--- options.check(opts, name [, shown]) -> opts, or an empty table
--- Raises if the table `opts` (or nil) holds an option that the function of
--- that name does not take, or a value of another kind; the message has the
--- name (or `shown`) and the nearest option. An Event counts as no options.
function M.check(opts, name, shown)
  opts, shown = M.given(opts), shown or name
  cl.options(opts, NAMES[name], shown)
  for option, value in pairs(opts) do
    if KINDS[option] then
      argument.check(shown, option, value, KINDS[option])
    end
  end
  return opts
end

return M
