-- aa.lua - a manual benchmark of compare: the same launch against itself,
-- many times over. Of 200 comparisons at most 5 may see a difference.
-- Usage: build/clshell tests/measure/aa.lua [TRIALS]
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local compare = require "clshell.measure.compare"
local gemm = require "clshell.gemm"
local matrix = require "clshell.data.matrix"

local trials = math.tointeger(tonumber(arg[1])) or 200
local counts = {FASTER = 0, SLOWER = 0, SAME = 0, UNCLEAR = 0}
local begin = cl.now()
local A, B = matrix.random(192), matrix.random(192)
local plan = gemm.plan(A, B)

for i = 1, trials do
  local r = compare(plan, plan)
  counts[r.verdict] = counts[r.verdict] + 1
  if r.verdict == "FASTER" or r.verdict == "SLOWER" then
    print(("trial %d: %s %.4f [%.4f, %.4f] after %d rounds, batches %d, %d")
      :format(i, r.verdict, r.ratio, r.lo, r.hi, r.rounds, r.batch_a,
        r.batch_b))
  end
end
local wrong = counts.FASTER + counts.SLOWER
print(("%d trials in %.0f s: %d SAME, %d UNCLEAR, %d FASTER, %d SLOWER")
  :format(trials, cl.now() - begin, counts.SAME, counts.UNCLEAR,
    counts.FASTER, counts.SLOWER))
os.exit(wrong <= trials * 5 / 200, true)
