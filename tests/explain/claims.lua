-- claims.lua - the verdicts on claims by known outcomes, and the script as a
-- user runs it; which claims hold is the device's business
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local claims = require "clshell.explain.claims"
local gemm = require "clshell.ladders.gemm"
local json = require "clshell.base.json"
local trace = require "clshell.explain.trace"
local trials = require "clshell.explain.trials"

t.keeps("Program", "Kernel")

local device = t.device()

local function run(arguments, env)
  local errors = t.tmp("stderr")
  local pipe <close> = assert(io.popen(("COLUMNS=80 %s %s %s "
    .. "%s/scripts/claims.lua %s 2>%s </dev/null; echo $?"):format(env or "",
    t.exe, t.brief, cl.home, arguments, errors)))
  local out, code = pipe:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  local f <close> = assert(io.open(errors))
  return out, f:read("a"), tonumber(code)
end

local VERDICTS = {["holds here"] = true, ["does not hold here"] = true,
  ["cannot be tried here"] = true, ["unclear here"] = true}

local function try(list, id)
  return list:try(list:select{id}[1])
end

-- A claim whose trial is f.
local function claim_of(id, f, gain)
  trials.of_test = f
  return {id = id, says = "it pays", gain = gain, trial = {"of_test"}}
end

-- The verdict on a claim of so much gain whose trial has this outcome.
local function verdict(gain, o)
  local r = claims.new{n = 8}:try(claim_of("X1", function() return o end,
    gain))
  t.eq({r.name, r.claim, r.says}, {"claim X1", "X1", "it pays"})
  t.ok(r.note:find(r.verdict, 1, true))
  return r.verdict, r.reason
end

local function compared(said, factor, lo, hi)
  return {said = said, factor = factor, lo = lo, hi = hi}
end

t.test("a gain holds if half of it shows", function()
  t.eq(verdict(true, compared("FASTER", 1.06)), "holds here")
  t.eq({verdict(true, compared("FASTER", 1.02))}, {"does not hold here",
    "hardly a gain"})
  t.eq(verdict(10, compared("FASTER", 5.6)), "holds here")
  t.eq(verdict(1.5, compared("FASTER", 1.25)), "holds here")
  local said, reason = verdict(10, compared("FASTER", 2))
  t.eq(said, "does not hold here")
  t.ok(reason:find("less than half of the claimed x10", 1, true), reason)
  t.eq({verdict(true, compared("SLOWER", 0.7))}, {"does not hold here",
    "the cause is open"})
  t.eq(verdict(true, compared("SAME", 1.0, 0.995, 1.005)),
    "does not hold here")
end)

t.test("an experiment finds the reason if a claim does not hold", function()
  local tried = 0
  local function outcome(said, factor)
    local o = compared(said, factor, factor, factor)
    o.why = function()
      tried = tried + 1
      return "measured"
    end
    return o
  end
  t.eq({verdict(true, outcome("SLOWER", 0.7))}, {"does not hold here",
    "measured"})
  t.eq({verdict(true, outcome("FASTER", 1.5))}, {"holds here"})
  t.eq(tried, 1)
  local o = compared("FASTER", 1.5)
  o.reason = "by 4 turns"
  t.eq({verdict(true, o)}, {"holds here", "by 4 turns"})
  t.eq({verdict(1, o)}, {"does not hold here", "by 4 turns; there is a gain "
    .. "here"})
  t.eq({verdict(3, o)}, {"does not hold here", "a gain, but less than half of "
    .. "the claimed x3; by 4 turns"})
  o = outcome("SLOWER", 0.7)
  o.reason = "by 4 turns"
  t.eq({verdict(true, o)}, {"does not hold here", "by 4 turns; measured"})
end)

t.test("each claim has a trial, and states no cause", function()
  for _, claim in ipairs(claims.new{n = 8}.claims) do
    t.eq({type(trials[claim.trial[1]]), claim.otherwise}, {"function"},
      claim.id)
  end
end)

-- Claims at a small size, whose comparisons of rungs run each side once and
-- say `said`; the pairs of words are in `seen`.
local function recorded(said, factor)
  local list, seen = claims.new{n = 24}, {}
  function list.pair(_, a, b)
    for i, s in ipairs{a, b} do
      local name, kernel = s[1]:match "(%w+)%.([%w_]+)"
      local family = require("clshell." .. name)
      local v = family.verify(kernel, s.params, s.shape)
      t.ok(v.ok, ("%s: %s"):format(s[1], v.err))
      seen[#seen + 1] = {s[1], i, (s.params or {}).map}
    end
    return {said = said, factor = factor, lo = factor, hi = factor,
      detail = "N = 24"}
  end
  return list, seen
end

t.test("simple kernels and tiles run by rows, as texts print them", function()
  for id, words in pairs{
      A2 = {{"gemm.naive", 1, "row"}, {"gemm.tiled_by_rows", 2}},
      C2 = {{"gemm.naive", 1, "row"}, {"gemm.tiled_by_rows", 2}},
      D1 = {{"gemm.naive_global_by_rows", 1}, {"gemm.naive", 2, "row"}},
      D2 = {{"gemm.naive", 1, "row"}, {"gemm.transposed_b_by_rows", 2}},
      D3 = {{"gemm.naive_driver_local", 1, "row"}, {"gemm.naive", 2, "row"}},
      D6 = {{"gemm.tiled_padded_by_rows", 1},
        {"gemm.tiled_padded_by_rows", 2}}} do
    local list, seen = recorded("FASTER", 9)
    local r = try(list, id)
    t.ok(VERDICTS[r.verdict] and r.verdict ~= "cannot be tried here",
      r.reason)
    t.eq({seen[1], seen[2]}, words, id)
    if id == "A2" or id == "C2" or id == "D2" then -- and the other mapping
      t.eq({seen[3], #seen}, {{"gemm.naive", 1}, 4}, id)
      t.ok(r.reason:find("both by columns: x9.00", 1, true), r.reason)
    elseif id == "D3" then
      t.ok(r.reason:find "the driver takes [1-9]%d*x[1-9]%d*", r.reason)
    end
  end
end)

t.test("a tile that does not pay is tried with less unrolling", function()
  local list, seen = recorded("SLOWER", 0.5)
  local r = try(list, "A2")
  t.eq({r.verdict, #seen}, {"does not hold here", 8})
  t.ok(r.reason:find("4 turns of the loop unrolled, not all 8: x0.50 of these",
    1, true), r.reason)
end)

t.test("work-groups that are under way at once are counted", function()
  local r = try(claims.new{n = 8}, "B3")
  local few, bytes, many = r.reason:match("^(%d+) work%-groups at once with "
    .. "(%d+) bytes of local memory, (%d+) with 256$")
  t.ok(tonumber(few) >= 1 and tonumber(many) >= 1
    and tonumber(bytes) < device.local_mem_size, r.reason)
  t.near(r.factor, many / few)
  t.eq(r.verdict == "holds here", tonumber(many) > tonumber(few))
  t.ok(r.detail:find "^%d+ work%-groups of 64 on %d+ unit", r.detail)
end)

t.test("noise decides nothing", function()
  local said, reason = verdict(2, compared("UNCLEAR", 1.3, 0.9, 1.8))
  t.eq(said, "unclear here")
  t.ok(reason:find("between x0.90 and x1.80", 1, true), reason)
  t.eq(verdict(10, compared("UNCLEAR", 1.3, 0.9, 1.8)), "does not hold here")
  t.eq(verdict(1, compared("UNCLEAR", 1.0, 0.9, 1.2)), "unclear here")
end)

t.test("no gain, and what a trial decides itself", function()
  t.eq(verdict(1, compared("SAME", 1.0)), "holds here")
  t.eq(verdict(1, compared("SLOWER", 0.5)), "holds here")
  t.eq(verdict(1, compared("FASTER", 1.2)), "does not hold here")
  t.eq({verdict(nil, {holds = true, factor = 3, reason = "so"})},
    {"holds here", "so"})
  t.eq(verdict(nil, {holds = false}), "does not hold here")
end)

t.test("what cannot be tried, and mistakes", function()
  local list = claims.new{n = 8}
  local r = list:try(claim_of("X2", function()
    claims.cannot("no such thing")
  end))
  t.eq({r.verdict, r.reason, r.status}, {"cannot be tried here",
    "no such thing", "refused"})
  t.ok(claims.text(r):find("CANNOT BE TRIED HERE; no such thing", 1, true))
  r = list:try(claim_of("X3", function()
    cl.error("compare: gemm.simd refused: for CPU devices")
  end))
  t.eq(r.reason, "for CPU devices")
  t.raises(function()
    list:try(claim_of("X4", function() return nil + 1 end))
  end, "arithmetic")
end)

t.test("what the simulator counts is exact", function()
  local _, missing = trace.plugin()
  t.skip_if(missing, missing)
  local list = claims.new{n = 8}
  for _, c in ipairs{{"B13", 2, "50 % of the lanes active, against 100 %"},
      {"B16", 32 / 24, "32 warps in place of 24"},
      {"B17", 4, "8 requests in place of 32, for 128 and 128 sectors"},
      {"B18", 1, "128 sectors either way; one element further, 160"},
      {"A10", nil, "36 of the 64 work-items of work-group 1 reach it; with "
        .. "tests around the load and the store no finding"},
      {"A11", nil, "write outside 'y': y[100] to y[127]"},
      {"A12", 8, "8 loads of global memory for an element of C in place of "
        .. "64"}, {"A13", 2, "2 warps of 32 lanes, 1 of 64; a load of a warp "
        .. "touches 4 lines of 128 bytes, with tiles of 32x32 1"},
      {"B21", 32, "32 passes without a pad, 1 with 1, 2 with 2"},
      {"B22", 2, "32 loads of local memory for an element of C in place of "
        .. "64"}, {"B23", nil, "; rounded up, no finding"},
      {"D7", 129 / 65, "65 loads and stores of global memory"},
      {"E6", nil, "write outside 'y': y[60] to y[63]; it has 62 elements; "
        .. "padded to 64: no finding"},
      {"A8", nil, "race on local memory"},
      {"A8", nil, "with the barrier none; this device's sum of 64 ones is "}}
      do
    local r = try(list, c[1])
    t.eq({r.verdict, r.factor}, {"holds here", c[2]}, c[1])
    t.ok(r.reason:find(c[3], 1, true), r.reason)
    t.ok(r.detail:find "%d+ work%-items" or r.detail:find "%d+ floats"
      or r.detail:find "simulator" or r.detail:find "global size", r.detail)
  end
end)

t.test("claims that take time, by recorded outcomes", function()
  local list, said, ran = claims.new{n = 8}, nil, 0
  function list.launches(_, what, a, b)
    for _, s in ipairs{a, b} do
      s[1](table.unpack(s, 2)):wait()
      ran = ran + 1
    end
    return {said = said, factor = said == "FASTER" and 3 or 1, detail = what}
  end
  for id, why in pairs{B14 = "^of %d+ work%-groups %d+ run at once, of %d+ %d",
      B15 = "^of %d+ work%-groups %d+ run at once$", B19 = "the cause is open",
      B20 = "the driver may keep memory"} do
    said = "FASTER"
    local before, r = ran, try(list, id)
    if r.verdict == "cannot be tried here" then
      t.ok(r.reason:find "memory is the host's; it needs a GPU"
        or r.reason:find "one compute unit"
        or r.reason:find "one that tells spills", r.reason)
      t.eq(ran, before)
    else
      t.eq({r.verdict, r.factor, ran - before}, {"holds here", 3, 2}, id)
      said = "SAME"
      r = try(list, id)
      t.eq(r.verdict, "does not hold here", id)
      t.ok(r.reason:find(why), r.reason)
    end
  end
end)

t.test("barriers in one warp, by recorded outcomes", function()
  for said, word in pairs{SAME = "holds here",
      FASTER = "does not hold here"} do
    local list, x = claims.new{n = 8}, nil
    list.warp = 8
    function list.launches(_, what, a, b)
      a[1](table.unpack(a, 2)):wait()
      x = a[3]:read()
      t.eq({a[2] > 0, a[2] == b[2], a[3] == b[3]}, {true, true, true})
      return {said = said, factor = said == "SAME" and 1 or 2, detail = what}
    end
    local r = try(list, "A3")
    t.eq(r.verdict, word, r.reason)
    t.ok(r.detail:find "^%d+ work%-items in groups of 8, ", r.detail)
    t.near(x[1], 2) -- v / 2 + 1 ends there
  end
end)

t.test("mistakes of texts are judged by name", function()
  local list = claims.new{n = 8}
  local r = try(list, "E5")
  t.eq(r.verdict, "does not hold here")
  for _, words in ipairs{"an undeclared local array: does not compile: use of "
      .. "undeclared identifier 'near'",
      "a name declared twice: does not compile: redefinition of 'near'",
      "a store at the wrong base: y[",
      "257 diagonals in room for 256: "} do
    t.ok(r.reason:find(words, 1, true), r.reason)
  end
  if trace.plugin() then
    t.ok(r.reason:find("index 256 outside an array of 256", 1, true),
      r.reason)
  end
end)

t.test("a compiler's fault is not the text's", function()
  local r = try(claims.new{n = 8}, "A9") -- PoCL 3.1 compiles the sum wrongly
  t.eq(r.verdict, "holds here", r.reason)
  t.ok(r.reason:find "the device's sum is 64" or r.reason:find("the compiler "
    .. "of this device fails: its sum is .*, with the constant .* 64$"),
    r.reason)
  if trace.plugin() then
    t.ok(r.reason:find("^the simulator's sum is 64, and it finds no race; "),
      r.reason)
  end
end)

t.test("a name selects a claim, a letter a text", function()
  local list = claims.new{n = 8}
  t.eq({#list:select{"B1"}, list:select{"b1"}[1].id}, {1, "B1"})
  t.eq(#list:select{"E"}, #list:select{"E1", "E2", "E3", "E4", "E5", "E6"})
end)

t.test("the rungs of a call, with its parameters, are compared", function()
  local list, seen = claims.new{n = 64}, {}
  function list.pair(_, a, b)
    seen[1], seen[2] = a, b
    return {said = "FASTER", factor = 3.2, lo = 3.2, hi = 3.2, detail = ""}
  end
  if device:has "cl_khr_fp64" then
    local r = try(list, "B2")
    for i, type in ipairs{"double", "float"} do
      local c = gemm.choice(list:square(type))
      t.eq({seen[i][1], seen[i].params}, {"gemm." .. c.rung, c.params})
    end
    t.eq(r.verdict, "holds here")
  end
  local c = gemm.choice(list:square "float")
  try(list, "B7")
  t.eq({seen[2][1], seen[2].params}, {"gemm.register",
    c.rung == "register" and c.params or {}})
end)

t.test("--list needs no device", function()
  t.nodevices()
  t.eq({run("--list", "OCL_ICD_VENDORS=/nonexistent")}, {run "--list"})
end)

t.test("--list, --help, an unknown claim", function()
  local out, err, code = run("--list")
  t.eq(code, 0, err)
  for _, id in ipairs{"A1", "A7", "B12", "C5", "D6", "E5"} do
    t.ok(("\n" .. out):find("\n" .. id .. " ", 1, true), id)
  end
  out, err, code = run("--help")
  t.eq(code, 0, err)
  t.ok(out:find("--final", 1, true) and out:find("--format", 1, true), out)
  out, err, code = run("Z9")
  t.eq({out, code}, {"", 2})
  t.ok(err:find("no claim has the name Z9", 1, true), err)
end)

t.test("the planted timer mistake is caught, and said", function()
  local path = t.tmp("claims.json")
  local out, err, code = run("C5 -o " .. path)
  t.eq(code, 0, err)
  t.ok(out:find("HOLDS HERE", 1, true), out)
  t.ok(out:find("IMPOSSIBLE?", 1, true), out)
  t.ok(out:find("not credible", 1, true), out)
  local f <close> = assert(io.open(path))
  local r = json.decode(f:read("a")).results[1]
  t.eq({r.name, r.flags[1]}, {"claim C5", "IMPOSSIBLE?"})
end)

t.test("each claim has a verdict, by its figure, in 80 columns", function()
  local ids = {"A3", "A6", "B3", "B9", "B12", "C4", "D3"}
  local out, err, code = run("-n 40 " .. table.concat(ids, " "))
  t.eq(code, 0, err)
  local found, verdicts, factors, counts = {}, {}, {}, {}
  t.narrow(out)
  for line in out:gmatch("[^\n]+") do
    found[#found + 1] = line:match("^(%u%d+) ")
    local words = line:match("^      (%u[%u ]+%u)%f[:;\0]")
    words = words and words:lower()
    if VERDICTS[words] then
      local id = found[#found]
      t.eq(verdicts[id], nil, "a second verdict on " .. id)
      verdicts[id] = words
      factors[id] = tonumber(line:match(": x([%d.e+-]+)"))
      counts[words] = (counts[words] or 0) + 1
    end
  end
  t.eq(found, ids)
  for _, id in ipairs(ids) do
    t.ok(verdicts[id], id .. " has no verdict: " .. out)
  end
  local function count(words)
    return counts[words] or 0
  end
  t.ok(out:find(("\n%d hold here, %d do not, %d are unclear, %d cannot be "
    .. "tried."):format(count "holds here", count "does not hold here",
    count "unclear here", count "cannot be tried here"), 1, true), out)
  t.ok(not out:find("the compiler unrolls by itself", 1, true), out)
  t.ok(verdicts.B9 == "holds here" or verdicts.B9 == "unclear here"
    or out:gsub("%s+", " "):find("all 16 turns unrolled: x", 1, true), out)
  t.eq(verdicts.B12, factors.B12 >= 1 and "holds here"
    or "does not hold here", out)
  if device.type == "cpu" then
    t.eq(verdicts.A3, "cannot be tried here")
    t.ok(out:find("tells%s+no%s+size%s+of%s+a%s+warp"), out)
  end
  t.ok(not out:find("clBuildProgram", 1, true), out)
end)

t.done()
