-- shell/commands/tune_command.lua - the command `clshell tune`: searches the
-- fastest kernels of the ladders on this device, compares each in turns with
-- the kernel that calls take today, and keeps it where it is faster
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local compare = require "clshell.measure.compare"
local dia = require "clshell.data.dia"
local evaluation = require "clshell.tune.evaluation"
local family_list = require "clshell.ladder.families"
local output = require "clshell.results.output"
local quantity = require "clshell.base.quantity"
local rungs = require "clshell.ladder.rung"
local script = require "clshell.base.script"
local text = require "clshell.base.text"

local SECONDS = 60 -- seconds of the search for a size
local WORTH = 1.02 -- times as fast as today's choice, to be kept
local FAMILIES = family_list.own()

-- A size of vectors or of sparse matrices, as a list.
local function one_size(word)
  local n, message = script.size(word)
  return n and {n}, message
end

-- A shape, of which tune and compare make operands.
local function shape(sizes, type)
  return {type = type, table.unpack(sizes)}
end

-- Reductions, scans and sorts of a vector.
local VECTOR = {cpu = {"1m"}, other = {"64m"}, sizes = one_size,
  elements = function(n)
    return 2.0 * n
  end}

-- The ladder of a matrix of two sizes; memory holds `times` its elements, and
-- the further fields are in `more`.
local function of_matrix(cpu, other, times, more)
  more = more or {}
  more.cpu, more.other, more.sizes = {cpu}, {other}, script.matrix_shape
  function more.elements(m, n)
    return 1.0 * times * m * n
  end
  return more
end

-- A matrix of about n rows and the vector of spmv.
local function sparse(sizes, type, make)
  local M = make(sizes[1], {type = type})
  local h <close> = cl.array(type, M.cols)
  return {M = M, x = cl.buffer(type, M.cols, h:random(3))}
end

local function poisson2d(n, opts)
  local side = math.ceil(n^(1 / 2))
  return dia.poisson2d(side, side, opts)
end

local function poisson3d(n, opts)
  local side = math.ceil(n^(1 / 3))
  return dia.poisson3d(side, side, side, opts)
end

local function banded(n, opts)
  return dia.banded(n, {-4, -3, -2, -1, 0, 1, 2, 3, 4}, opts)
end

-- The ladders by family: default sizes, on a CPU and on other devices; the
-- sizes of a word of the command line; the elements in memory; the variants of
-- a size; and the operands of sizes, a type and a variant, else a shape.
local LADDERS = {
  gemm = {cpu = {"256", "512"}, other = {"1024", "2048", "4096", "8192"},
    sizes = script.gemm_shape,
    elements = function(m, n, k)
      return 1.0 * m * k + 1.0 * k * n + 1.0 * m * n
    end},
  transpose = of_matrix("2048", "8192", 2),
  reduce = VECTOR, scan = VECTOR, sort = VECTOR,
  gemv = of_matrix("2048", "8192", 1, {variants = {false, true},
    operands = function(s, type, trans)
      return {s[1], s[2], type = type, trans = trans}
    end}),
  conv2d = of_matrix("1024", "4096", 2, {variants = {3, 7, 15},
    operands = function(s, type, side)
      return {s[1], s[2], side, side, type = type}
    end}),
  stencil = of_matrix("2048", "8192", 2),
  spmv = {cpu = {"1m"}, other = {"16m"}, sizes = one_size,
    variants = {poisson2d, poisson3d, banded}, operands = sparse,
    elements = function(n)
      return 11.0 * n -- nine diagonals, two vectors
    end},
}

-- Converters of argparse: the value, or nil and a message.

local function positive(word)
  local x = tonumber(word)
  if not x or not (x > 0 and x < math.huge) then
    return nil, ("must be a number > 0; got '%s'"):format(word)
  end
  return x
end

local function at_least(least)
  return function(word)
    local n = math.tointeger(tonumber(word))
    if not n or n < least then
      return nil, ("must be a whole number >= %d; got '%s'"):format(least,
        word)
    end
    return n
  end
end

-- The sizes for a family, each a list of numbers. A mistake ends the command.
local function sizes_of(name, o, parser)
  local ladder, list = LADDERS[name], {}
  local words = ladder[cl.device().type] or ladder.other
  if o.sizes then
    words = {}
    for word in (o.sizes .. ","):gmatch "(.-)," do
      words[#words + 1] = word
    end
  end
  for i, word in ipairs(words) do
    local sizes, message = ladder.sizes(word)
    if not sizes then
      parser:error(("--sizes for %s: %s"):format(name, message))
    end
    script.fits(parser, ("the operands of %s %s"):format(name, word),
      ladder.elements(table.unpack(sizes)) * (o.type == "float" and 4 or 8))
    list[i] = sizes
  end
  return list
end

-- "simd mr=6 nt=12": a rung with the parameters that are not its defaults.
local function words_of(rung, params)
  local list = {rung.name}
  for _, param in ipairs(rung.params) do
    local v = params[param.name]
    list[#list + 1] = v ~= param.default and ("%s=%s"):format(param.name,
      tostring(v)) or nil
  end
  return table.concat(list, " ")
end

-- Judges the best of a search against today's choice, and keeps it if the gain
-- is large enough. The bench result of the search gets the cells of its row.
local function judge(family, today, r, operands, keep)
  local name = family.name .. "."
  local rung = family.rung(r.kernel)
  r.today, r.found = words_of(today.definition, today.params),
    words_of(rung, r.params)
  if rungs.tostring(today.definition, today.params) == r.config
      and today.rung == r.kernel then
    r.found, r.outcome = "the same", ""
    return
  end
  local compared, c = pcall(compare, {name .. today.rung, operands,
    today.params}, {name .. r.kernel, operands, r.params}, {cache = r.mode})
  if not compared then
    r.outcome = "not compared: " .. evaluation.reason(c)
    return
  end
  r.gain = ("%sx"):format(quantity.number(1 / c.ratio, 3))
  if c.verdict ~= "FASTER" then
    r.outcome = c.verdict
  elseif 1 / c.ratio < WORTH then
    r.outcome = "not worth it"
  elseif keep then
    family.keep(r, r.gain .. " the choice before")
    r.outcome = "kept"
  else
    r.outcome = "better"
  end
end

-- The columns of the table: sizes, today's choice, the best found, the
-- measured configurations of all, the gain.
local COLUMNS = {
  {key = "title", title = "size", wrap = true},
  {key = "today", title = "today's choice", wrap = true},
  {key = "found", title = "best found", wrap = true},
  {key = "tried", title = "tried", wrap = true},
  "ms",
  {key = "gain", title = "gain", align = "right"},
  {key = "outcome", title = "outcome", wrap = true},
}

-- Tunes a family on problems of {sizes, type, variant} into a table of `out`.
-- Returns the number of kept choices, and of searches that their time ended.
local function tune_family(out, family, problems, o)
  local count, hurried = 0, 0
  local part <close> = out:part{title = "\n" .. family.name, best = "none",
    whole = true, columns = COLUMNS}
  for _, problem in ipairs(problems) do
    local make = LADDERS[family.name].operands or shape
    local operands = make(table.unpack(problem, 1, 3))
    local today = family.choice(operands)
    local found = require("clshell.tune")(family.name, operands, {
      seconds = o.seconds, evaluations = o.evaluations, fresh = o.fresh,
      strategy = o.strategy, seed = o.seed, limit = o.limit,
      builders = o.builders, worker = not o.no_worker, ranks = o.ranks})
    local best = found.winners[1]
    if best and not o.serves then -- rank 0 judges
      local r = best.record
      judge(family, today, r, operands, not o.no_keep)
      r.tried = ("%d of %d"):format(found.evaluations, #found.space)
      part:add(r)
      count = count + (r.outcome == "kept" and 1 or 0)
      hurried = hurried + (found.ended == "time" and 1 or 0)
    elseif not best then
      out:say(tostring(found))
    end
    collectgarbage()
  end
  return count, hurried
end

-- The words at the end: what has changed, how to change it back, and whether
-- more time would help.
local function closing(count, hurried, o)
  local words = "\nNothing is kept: no kernel found is more than 2 % faster "
    .. "than today's choice."
  if o.no_keep then
    words = "\nNothing is kept, as --no-keep asks."
  elseif count > 0 then
    words = ("\n%d kept: calls that name no kernel now take %s on this device,"
      .. " at these\nsizes and near them. `clshell tune --kept` lists what is "
      .. "kept, and\n`clshell tune --forget` goes back."):format(count,
      count == 1 and "it" or "them")
  end
  return hurried == 0 and words or ("%s\nTime ended %s: --seconds %g looks "
    .. "further."):format(words, hurried == 1 and "a search"
    or hurried .. " searches", 4 * o.seconds)
end

-- The element types, without the types that the device lacks.
local function types_of(o, out)
  local types = o.type == "both" and {"float", "double"} or {o.type}
  if o.type ~= "float" and not cl.device():has "cl_khr_fp64" then
    out:say(("double: %s has no cl_khr_fp64"):format(cl.device().name))
    types[#types] = nil
  end
  return types
end

local function families_of(o, parser)
  local list = {}
  for i, name in ipairs(#o.family > 0 and o.family or FAMILIES) do
    if not LADDERS[name] then
      parser:error(text.unknown("family", name, FAMILIES))
    end
    list[i] = family_list.get(name)
  end
  return list
end

-- Prints or forgets the rows kept. Returns the exit code.
local function kept(families, forget)
  for _, family in ipairs(families) do
    if forget then
      print(("%s: %d forgotten"):format(family.name, family.forget()))
    elseif #family.kept() > 0 then
      print(("%s\n%s"):format(family.name, tostring(family.kept())))
    else
      print(family.name .. ": no kept choices")
    end
  end
  return 0
end

local function run(o, parser)
  if o.resume and o.fresh then
    parser:error("--resume and --fresh exclude each other")
  end
  o.ranks = cl.commandline.ranks > 1
  o.serves = cl.commandline.rank > 0
  if o.ranks then
    require "mpi" -- or raises before any work
  end
  local families = families_of(o, parser)
  if o.kept or o.forget then
    return o.serves and 0 or kept(families, o.forget)
  end
  local sizes, problems, total = {}, {}, 0
  o.seconds, o.type = o.seconds or SECONDS, o.type or "float"
  for i, family in ipairs(families) do
    sizes[i] = sizes_of(family.name, o, parser)
  end
  local out <close> = output.open(parser, o)
  out:mute(o.serves)
  local types = types_of(o, out)
  for i, family in ipairs(families) do
    problems[i] = {}
    for _, type in ipairs(types) do
      for _, s in ipairs(sizes[i]) do
        for _, variant in ipairs(LADDERS[family.name].variants or {false}) do
          table.insert(problems[i], {s, type, variant})
        end
      end
    end
    total = total + #problems[i]
  end
  out:heading(("The fastest kernels: %s, a search of %g s at most for each; "
    .. "what it\nfinds then runs in turns with the kernel that calls take now")
    :format(text.count(total, "size"), o.seconds))
  local count, hurried = 0, 0
  for i, family in ipairs(families) do
    local more, late = tune_family(out, family, problems[i], o)
    count, hurried = count + more, hurried + late
  end
  out:say(closing(count, hurried, o))
  return 0
end

return {"Searches the fastest kernel of each family and size on this device, "
  .. "compares it in turns with the kernel that calls take today, and keeps "
  .. "it for calls where it is better by more than 2 %.",
  epilog = "Under mpirun all processes measure, each on a device of its own. "
    .. "Kept kernels lie in clshell/choices of $XDG_CONFIG_HOME (~/.config); "
    .. "help gemm.keep says more. Ctrl-C ends the search; kernels kept "
    .. "before it stay. Help tune tells of searches of your own kernels.",
  arguments = {{"family", table.concat(FAMILIES, ", ") .. "; all if left out",
    args = "*", values = FAMILIES}},
  options = {
    {"--sizes", "sizes with commas between them: 512,1kx64x32 for gemm, 2k,"
      .. "512x2k for transpose, rows for spmv; otherwise the sizes of the "
      .. "bench scripts", "SIZES"},
    {"--type", "float, double or both; float if left out",
      choices = {"float", "double", "both"}},
    {"--seconds", "of each search, 60 if left out", "SECONDS", positive},
    {"--evaluations", "configurations measured in a search at most", "N",
      at_least(1)},
    function()
      local names = require("clshell.tune.strategy").names
      return {"--strategy", ("of each search: %s; by its space and its budget "
        .. "if left out"):format(table.concat(names, ", ")), "STRATEGY",
        choices = names}
    end,
    {"--seed", "of the strategy, 1 if left out", "N", script.integer},
    {"--resume", "go on from the samples in the run store (the default)",
      flag = true},
    {"--fresh", "measure anew, without samples of the run store", flag = true},
    {"--limit", "that a configuration may take to build, to be checked or to "
      .. "be measured, 30 if left out", "SECONDS", positive},
    {"--builders", "processes that build the next configurations while "
      .. "nothing is measured, by the time of the first builds if left out; "
      .. "0: none",
      "N", at_least(0)},
    {"--no-worker", "build and run in this process: a configuration that "
      .. "crashes ends the search", flag = true},
    {"--no-keep", "keep nothing", flag = true},
    {"--kept", "print the kept kernels, and end", flag = true},
    {"--forget", "forget the kept kernels, and end", flag = true},
    table.unpack(output.rows),
  },
  run = run}
