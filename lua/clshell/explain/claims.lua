-- explain/claims.lua - tries claims: compares two kernels in turns, and gives
-- the verdict; claims_list.lua has the claims, trials.lua their experiments
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local compare = require "clshell.measure.compare"
local families = require "clshell.ladder.families"
local ladder = require "clshell.explain.ladder"
local options = require "clshell.base.options"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"
local trials = require "clshell.base.lazy".module "clshell.explain.trials"
local workload = require "clshell.ladder.workload"

local M = {}
local List = {}
List.__index = List

local SAME = 1.05 -- smaller gains do not count

M.titles = require "clshell.explain.claims_list".titles
M.HOLDS, M.NOT = "holds here", "does not hold here"
M.CANNOT, M.UNCLEAR = "cannot be tried here", "unclear here"

--- claims.cannot(reason)
--- Ends the trial of a claim: it cannot be tried here.
--- Example: print(pcall(claims.cannot, "no local memory")) -- a trial gives it
function M.cannot(reason)
  cl.error("refused: " .. reason)
end

--- claims.new(opts) -> list
--- The claims, for square matrices. list:select(names) -> the claims of these
--- names ("A2") or texts ("D"); list:try(claim) -> result, see claims.text.
--- Options:
---   n      by device  side of the matrices: 256 on a CPU, 2048 on a GPU,
---                  twice that if final
---   final  false  true: measures for longer
--- Example:
--- local list = claims.new{n = 64}
--- print(list:select({"A"})[1].id)
function M.new(opts)
  options.check(opts, "claims.new")
  local n = opts.n or (cl.device().type == "cpu" and 256 or 2048)
    * (opts.final and 2 or 1)
  return setmetatable({n = n, final = opts.final,
    claims = require "clshell.explain.claims_list"}, List)
end

-- Methods for the trials in trials.lua, which does not know this module.
List.cannot = function(_, reason)
  M.cannot(reason)
end

List.limit = function(_, reading)
  return M.limit(reading)
end

function List:select(names)
  local list = {}
  for _, claim in ipairs(self.claims) do
    local found = #names == 0
    for _, name in ipairs(names) do
      found = found or claim.id == name:upper()
        or claim.id:sub(1, 1) == name:upper()
    end
    list[#list + 1] = found and claim or nil
  end
  return list
end

-- A side of a comparison, {rung, params =, shape =, type =}, as a result with
-- these samples.
local function side(s, samples, how)
  local name, kernel = s[1]:match("^(%w+)%.([%w_]+)$")
  local family = families.get(name)
  local full = options.with({type = s.type or "float"}, s.shape)
  local shape = family.spec.shape(full)
  local r = bench.of(s[1], samples, {flop = family.spec.flop(shape),
    bytes = family.spec.bytes(shape), type = full.type})
  r.family, r.kernel, r.params, r.shape = name, kernel, s.params or {},
    s.shape
  r.mode, r.timer, r.ok = how.mode:match("^%a+"), how.timer, true
  return r
end

-- Words for a side: "gemm.tiled tile=8"
local function words_of(s)
  local words = text.fields(s.params or {})
  table.insert(words, 1, s[1])
  if s.type and s.type ~= "float" then
    words[#words + 1] = s.type
  end
  return table.concat(words, " ")
end

-- The kernel files of two sides, in words.
local function listings(a, b)
  local files, seen = {}, {}
  for _, s in ipairs{a, b} do
    local family, name = s[1]:match("^(%w+)%.([%w_]+)$")
    name = name:gsub("_by_rows.*", ""):gsub("_driver_local", "")
    local known, rung = pcall(families.get(family).rung, name)
    local file = known and rung.path and rung.path:match "kernels/.*"
    files[#files + 1] = file and not seen[file] and file or nil
    seen[file or ""] = true
  end
  return table.concat(files, ", ")
end

-- Compares two sides; again for twice as long after an unclear verdict.
function List:compare(a, b, cache)
  if self.final then
    return compare(a, b, {cache = cache})
  end
  local c
  for times = 1, 2 do
    c = compare(a, b, {cache = cache, rounds = 12 * times, samples = 6,
      seconds = times, least = 0.002 * times})
    if c.verdict ~= "UNCLEAR" then
      break
    end
  end
  return c
end

-- An outcome from a comparison.
local function outcome(c, detail)
  return {factor = 1 / c.ratio, said = c.verdict, lo = c.hi and 1 / c.hi,
    hi = c.lo and 1 / c.lo, detail = ("%s, %d rounds, %s timer"):format(
      detail, c.rounds, c.timer)}
end

--- list:pair(a, b [, opts]) -> outcome
--- Compares rung b with rung a: each {"gemm.tiled", params =, shape =, type
--- =}, verified, on the same operands, in ABBA rounds. The outcome: factor
--- (a's time over b's) with lo and hi, said (the verdict of compare), a and b
--- (results), detail.
--- Options:
---   operands  random   to run on, such as {A = A, B = B}
---   cache     as bench  "hot" or "cold"
--- Example:
--- local list = claims.new{n = 64}
--- local shape = {m = 64, n = 64, k = 64}
--- local outcome = list:pair({"gemm.naive", shape = shape},
---   {"gemm.tiled", params = {tile = 8}, shape = shape})
--- print(outcome.factor, outcome.said)
function List:pair(a, b, opts)
  opts = opts or {}
  local function given(s)
    return {s[1], opts.operands or s.shape, s.params, {type = s.type}}
  end
  local c = self:compare(given(a), given(b), opts.cache)
  local o = outcome(c, ("%s against %s, %s"):format(words_of(b), words_of(a),
    table.concat(text.fields(b.shape), " ")))
  o.a, o.b = side(a, c.a, c), side(b, c.b, c)
  local files = listings(a, b)
  o.detail = files ~= "" and ("%s; %s"):format(o.detail, files) or o.detail
  return o
end

--- list:launches(what, a, b) -> outcome
--- Compares two launches as list:pair does, each {launch, argument, ...},
--- unverified: for kernels that do the same work in other places.
--- Example:
--- local list = claims.new{n = 64}
--- local k = cl.kernel "kernel void f(global int *x) { *x = 1; }"
--- local x = cl.buffer("int", 1)
--- local outcome = list:launches("two sizes", {k:range(1), x},
---   {k:range(64), x})
--- print(outcome.factor)
function List:launches(what, a, b)
  local function call(s)
    return function() return s[1](table.unpack(s, 2)) end
  end
  local c = self:compare(call(a), call(b))
  local o = outcome(c, what)
  o.b = bench.of(what, c.b)
  return o
end

-- Operands of square matrices, kept for the claims that follow.
function List:square(type)
  self.made = self.made or {}
  if not self.made[type] then
    local matrix = require "clshell.data.matrix"
    local n = self.n
    self.made[type] = {
      A = matrix.random(n, n, {type = type, seed = workload.SEED}),
      B = matrix.random(n, n, {type = type, seed = workload.SEED + 1})}
  end
  return self.made[type]
end

--- list:gemm(a, pa, b, pb [, opts]) -> outcome
--- list:pair of two rungs of gemm on the square matrices. Options as for
--- list:pair.
--- Example:
--- local list = claims.new{n = 64}
--- print(list:gemm("naive", nil, "tiled", {tile = 8}).factor)
function List:gemm(a, pa, b, pb, opts)
  local shape = {m = self.n, n = self.n, k = self.n}
  opts = opts or {}
  return self:pair({"gemm." .. a, params = pa, shape = shape},
    {"gemm." .. b, params = pb, shape = shape},
    {operands = opts.operands or self:square("float"), cache = opts.cache})
end

-- The reason for an outcome of two rungs, or nil.
local function reason_of(o, paid)
  local found, words = pcall(function()
    return o.a.family and ladder.why(o.a, o.b, paid)
  end)
  return found and words or nil
end

-- The words of a trial, if it has any, in front of others.
local function after(words, others)
  return words and others and words .. "; " .. others or words or others
end

-- The verdict on "no gain".
local function judge_none(o)
  if o.said == "UNCLEAR" and o.lo and o.hi >= SAME then
    return M.UNCLEAR, ("between x%.2f and x%.2f"):format(o.lo, o.hi)
  elseif o.said ~= "FASTER" or o.factor < SAME then
    return M.HOLDS, o.reason
  end
  return M.NOT, after(o.reason, reason_of(o, true) or "there is a gain here")
end

-- The verdict on an outcome, and the reason. The verdict is the trial's own
-- (holds), or follows from the gain that the claim states (a factor; true:
-- any; 1: no gain). The reason is the trial's; its function `why` looks for a
-- reason where the claim does not hold. Without a reason the cause is open.
local function judge(claim, o)
  if o.holds ~= nil then
    return o.holds and M.HOLDS or M.NOT, o.reason
  elseif claim.gain == 1 then
    return judge_none(o)
  end
  local wanted = claim.gain == true and SAME or 1 + (claim.gain - 1) / 2
  if o.said == "FASTER" and o.factor >= wanted then
    return M.HOLDS, o.reason
  elseif o.said == "FASTER" then
    return M.NOT, after(claim.gain == true and "hardly a gain"
      or ("a gain, but less than half of the claimed x%.3g"):format(
        claim.gain), o.reason)
  elseif o.said == "UNCLEAR" and o.hi and o.hi >= wanted then
    return M.UNCLEAR, ("between x%.2f and x%.2f, --final takes longer")
      :format(o.lo, o.hi)
  end
  return M.NOT, after(o.reason, o.why and o.why() or reason_of(o, false))
    or "the cause is open"
end

-- The result of a trial that had an outcome.
local function result(claim, o)
  local r = o.b or {status = "ok", ok = true, flags = {}}
  r.claim, r.says = claim.id, claim.says
  r.name = "claim " .. claim.id
  r.factor, r.detail = o.factor, o.detail
  r.verdict, r.reason = judge(claim, o)
  r.note = ("%s%s%s"):format(r.verdict, o.factor and (": x%.3g"):format(
    o.factor) or "", r.reason and "; " .. r.reason or "")
  return r
end

--- list:try(claim) -> result
--- Tries a claim. The result is the result of the side claimed to be faster,
--- with claim, says, verdict ("holds here", "does not hold here", "cannot be
--- tried here", or "unclear here" where noise hides the answer), factor,
--- detail and reason. Ctrl-C is raised.
--- Example:
--- local list = claims.new{n = 64}
--- local result = list:try(list:select({})[1])
--- print(result.claim, result.verdict)
function List:try(claim)
  local ok, o = pcall(function()
    local name = claim.trial[1]
    return result(claim, trials[name](self, table.unpack(claim.trial, 2)))
  end)
  if ok then
    return o
  end
  local reason = tostring(o):match("refused: ([^\n]*)")
  if bench.interrupted(o) or not reason and type(o) == "string" then
    error(o, 0)
  end
  reason = reason or tostring(o):match("^[^\n]*")
  return {name = "claim " .. claim.id, claim = claim.id, says = claim.says,
    verdict = M.CANNOT, reason = reason, status = "refused", ok = false,
    note = M.CANNOT .. ": " .. reason, flags = {}}
end

--- claims.text(result) -> string
--- A tried claim in a few lines: the claim, the verdict with its factor and
--- reason, and the measurement.
--- Example:
--- local list = claims.new{n = 64}
--- local claim = list:select({})[1]
--- print(claims.text(list:try(claim)))
function M.text(r)
  local width = report.width()
  local title = M.titles[r.claim:sub(1, 1)]
  local lines = {text.hang(("%-6s"):format(r.claim), r.says
    .. (title and (" (%s)"):format(title) or ""), width),
    text.hang("      ", ("%s%s%s"):format(r.verdict:upper(), r.factor
      and (": x%.3g"):format(r.factor) or "", r.reason and "; " .. r.reason
      or ""), width)}
  lines[3] = r.detail and text.hang("      ", ("(%s)"):format(r.detail),
    width)
  return table.concat(lines, "\n")
end

--- claims.limit(reading) -> string
--- A reading of lesson.read as the reason of a verdict.
--- Example:
--- local r = bench("gemm.tiled", {64, 64, 64}, nil, {effort = "quick"})
--- print(claims.limit(lesson.read(r)))
function M.limit(reading)
  return (reading.text:gsub("%.$", ""):gsub("^%u", string.lower))
end

return M
