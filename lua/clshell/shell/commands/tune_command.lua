-- shell/commands/tune_command.lua - the command `clshell tune`: searches the
-- fastest kernels of the ladders on this device, compares each in turns with
-- the one that calls take today, and keeps it where it is better
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local compare = require "clshell.measure.compare"
local dia = require "clshell.data.dia"
local evaluation = require "clshell.tune.evaluation"
local family_list = require "clshell.ladder.families"
local matrix = require "clshell.data.matrix"
local output = require "clshell.results.output"
local quantity = require "clshell.base.quantity"
local rungs = require "clshell.ladder.rung"
local script = require "clshell.base.script"
local text = require "clshell.base.text"

local SECONDS = 60 -- seconds of the search for a size
local WORTH = 1.02 -- times as fast as today's choice, to be kept
local FAMILIES = family_list.own()

local function random(rows, cols, type, seed)
  return matrix.random(rows, cols, {type = type, seed = seed})
end

-- A size of vectors or of sparse matrices, as a list.
local function one_size(word)
  local n, message = script.size(word)
  return n and {n}, message
end

-- Reductions, scans and sorts of a vector.
local VECTOR = {cpu = {"1m"}, other = {"64m"}, sizes = one_size,
  elements = function(s)
    return 2.0 * s[1]
  end,
  operands = function(s, type)
    return {function()
      local h <close> = cl.array(type, s[1])
      return {x = cl.buffer(type, s[1], h:random(1))}
    end}
  end}

-- The ladders by family: default sizes, on a CPU and on other devices; the
-- sizes of a word of the command line; the elements in memory; and functions
-- for the operands of some sizes, or for their shape.
local LADDERS = {
  gemm = {cpu = {"256", "512"}, other = {"1024", "2048", "4096", "8192"},
    sizes = script.gemm_shape,
    elements = function(s)
      return 1.0 * s[1] * s[3] + 1.0 * s[3] * s[2] + 1.0 * s[1] * s[2]
    end,
    operands = function(s, type)
      return {function()
        return {A = random(s[1], s[3], type, 1), B = random(s[3], s[2], type,
          2)}
      end}
    end},
  transpose = {cpu = {"2048"}, other = {"8192"}, sizes = script.matrix_shape,
    elements = function(s)
      return 2.0 * s[1] * s[2]
    end,
    operands = function(s, type)
      return {function()
        return {A = random(s[1], s[2], type, 1)}
      end}
    end},
  reduce = VECTOR, scan = VECTOR, sort = VECTOR,
  gemv = {cpu = {"2048"}, other = {"8192"}, sizes = script.matrix_shape,
    elements = function(s)
      return 1.0 * s[1] * s[2]
    end,
    operands = function(s, type)
      local function shape(trans)
        return function()
          return {s[1], s[2], type = type, trans = trans}
        end
      end
      return {shape(false), shape(true)}
    end},
  conv2d = {cpu = {"1024"}, other = {"4096"}, sizes = script.matrix_shape,
    elements = function(s)
      return 2.0 * s[1] * s[2]
    end,
    operands = function(s, type)
      local function filter(side)
        return function()
          return {s[1], s[2], side, side, type = type}
        end
      end
      return {filter(3), filter(7), filter(15)}
    end},
  stencil = {cpu = {"2048"}, other = {"8192"}, sizes = script.matrix_shape,
    elements = function(s)
      return 2.0 * s[1] * s[2]
    end,
    operands = function(s, type)
      return {function()
        return {s[1], s[2], type = type}
      end}
    end},
  spmv = {cpu = {"1m"}, other = {"16m"},
    sizes = one_size,
    elements = function(s)
      return 11.0 * s[1] -- nine diagonals, two vectors
    end,
    operands = function(s, type)
      local opts = {type = type}
      local side2, side3 = math.ceil(s[1]^(1 / 2)), math.ceil(s[1]^(1 / 3))
      local function with_vector(make, ...)
        local args = table.pack(...)
        return function()
          local M = make(table.unpack(args, 1, args.n))
          local x = random(M.cols, 1, type, 3)
          return {M = M, x = cl.buffer(type, M.cols,
            x:read():reshape(M.cols))}
        end
      end
      return {with_vector(dia.poisson2d, side2, side2, opts),
        with_vector(dia.poisson3d, side3, side3, side3, opts),
        with_vector(dia.banded, s[1], {-4, -3, -2, -1, 0, 1, 2, 3, 4}, opts)}
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
      ladder.elements(sizes) * (o.type == "float" and 4 or 8))
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

-- Judges the best of a search against today's choice, and keeps it if it is
-- worth that. The bench result of the search gets the cells of its row.
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

-- Tunes a family on the operands of some functions into a table of `out`.
-- Returns the number of kept choices, and of searches that their time ended.
local function tune_family(out, family, makers, o)
  local count, hurried = 0, 0
  local part <close> = out:part{title = "\n" .. family.name, best = "none",
    columns = COLUMNS}
  for _, make in ipairs(makers) do
    local operands = make()
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
  local sizes, makers, count_of = {}, {}, 0
  o.seconds, o.type = o.seconds or SECONDS, o.type or "float"
  for i, family in ipairs(families) do
    sizes[i] = sizes_of(family.name, o, parser)
  end
  local out <close> = output.open(parser, o)
  out:mute(o.serves)
  local types = types_of(o, out)
  for i, family in ipairs(families) do
    makers[i] = {}
    for _, type in ipairs(types) do
      for _, s in ipairs(sizes[i]) do
        for _, make in ipairs(LADDERS[family.name].operands(s, type)) do
          table.insert(makers[i], make)
        end
      end
    end
    count_of = count_of + #makers[i]
  end
  out:heading(("The fastest kernels: %s, a search of %g s at most for each; "
    .. "what it\nfinds then runs in turns with the kernel that calls take now")
    :format(text.count(count_of, "size"), o.seconds))
  local count, hurried = 0, 0
  for i, family in ipairs(families) do
    local more, late = tune_family(out, family, makers[i], o)
    count, hurried = count + more, hurried + late
  end
  out:say(closing(count, hurried, o))
  return 0
end

return {"Searches the fastest kernel of each family and size on this device, "
  .. "compares it in turns with the kernel that calls take today, and keeps "
  .. "it for calls where it is better by more than 2 %.",
  epilog = "Under mpirun all processes measure, each on a device of its own. "
    .. "What is kept lies in clshell/choices of $XDG_CONFIG_HOME (~/.config); "
    .. "help gemm.keep says more. Ctrl-C ends the search; what was kept "
    .. "before stays. Help tune tells of searches of your own kernels.",
  arguments = {{"family", table.concat(FAMILIES, ", ") .. "; all if left out",
    args = "*", values = FAMILIES}},
  options = {
    {"--sizes", "sizes with commas between them: 512,1kx64x32 for gemm, 2k,"
      .. "512x2k for transpose, rows for spmv; otherwise those of the bench "
      .. "scripts", "SIZES"},
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
    {"--resume", "go on with what the run store has; that is the default",
      flag = true},
    {"--fresh", "measure anew what the run store has", flag = true},
    {"--limit", "that a configuration may take to build, to be checked or to "
      .. "be measured, 30 if left out", "SECONDS", positive},
    {"--builders", "processes that build the next configurations while "
      .. "nothing is measured, by the time of the first builds if left out; "
      .. "0: none",
      "N", at_least(0)},
    {"--no-worker", "build and run in this process: a configuration that "
      .. "crashes ends the search", flag = true},
    {"--no-keep", "keep nothing", flag = true},
    {"--kept", "print what is kept, and end", flag = true},
    {"--forget", "forget what is kept, and end", flag = true},
    table.unpack(output.rows),
  },
  run = run}
