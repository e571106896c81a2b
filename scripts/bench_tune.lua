#!/usr/bin/env clshell
-- bench_tune.lua - the strategies of tune on spaces that were measured before:
-- how near each comes to the best setting after so many evaluations, and its
-- own time for one. Or the race of tune beside a search with all samples.
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.quantity"
local script = require "clshell.script"
local stats = require "clshell.stats"
local strategy = require "clshell.tune.strategy"

local parser = script.parser("bench_tune.lua",
  "Strategies on recorded spaces: the best time of all over the best found.",
  "A file comes from best:save or Kernel Tuner, or is CSV with a column ms.")
parser:argument("file", "a recorded space"):args("*")
  :convert(script.readable)
parser:option("--race", "a rung and a size, such as gemm.register 256: "
  .. "the seconds of all samples, with and without the race"):args(2)
parser:option("--seeds", "searches of each, of which the median counts",
  "9"):convert(script.size)
parser:option("--evaluations", "numbers of evaluations", {25, 50, 100})
  :args("+"):convert(script.size)
parser:option("--strategy", "only these",
  {table.unpack(strategy.names, 2)}):args("+")
local args = script.parse(parser)
local n = args.race and math.tointeger(tonumber(args.race[2]))
if args.race and not n then
  parser:error("--race: the size must be a whole number; got "
    .. args.race[2])
elseif not args.race and #args.file == 0 then
  parser:error "a recorded space is missing, or --race"
end

-- The best time over the best time found, and the ms that an evaluation costs.
local function search(file, name, count, seed, least)
  local r = tune{replay = file, strategy = name, evaluations = count,
    seed = seed, quiet = true}
  return r.ms and least / r.ms or 0, r.seconds / r.evaluations * 1e3
end

-- The same points with the race and with all samples, and their winners.
local function race(rung, size)
  local spent = {}
  for i, raced in ipairs{true, false} do
    local r = tune(rung, {size}, {race = raced, strategy = "random",
      evaluations = math.max(table.unpack(args.evaluations)), fresh = true,
      quiet = true})
    spent[i] = r.sampled
    print(("%s %3d points, %.3g s of samples; the best:"):format(
      raced and "race       " or "all samples", r.evaluations, r.sampled))
    for _, row in ipairs(r.winners) do
      print("  " .. row.config)
    end
  end
  print(("the race saves %.3gx"):format(spent[2] / spent[1]))
end

if args.race then
  race(args.race[1], n)
end
for _, file in ipairs(args.file) do
  local all = tune{replay = file, strategy = "exhaustive", quiet = true}
  print(("%s: %d points, the best %s ms"):format(file, #all.space,
    quantity.number(all.ms or 0 / 0)))
  local line = ("%-12s"):format "strategy"
  for _, count in ipairs(args.evaluations) do
    line = line .. (" %8d"):format(count)
  end
  print(line .. "  ms per evaluation")
  for _, name in ipairs(args.strategy) do
    local cells, cost = {}, {}
    for i, count in ipairs(args.evaluations) do
      local reached = {}
      for seed = 1, args.seeds do
        reached[seed], cost[#cost + 1] = search(file, name, count, seed,
          all.ms)
      end
      cells[i] = (" %8.3f"):format(stats.median(reached))
    end
    print(("%-12s%s  %.3g"):format(name, table.concat(cells),
      stats.median(cost)))
  end
end
