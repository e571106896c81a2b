-- explain/ladder.lua - the reading of a ladder: each rung beside the rung that
-- it builds on, whether its step paid here, and why
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local source_lines = require "clshell.explain.lines"
local reading = require "clshell.explain.reading"
local fields = require "clshell.results.fields"
local report = require "clshell.results.tables"

local M = {}

local PAID = 1.05  -- the least factor of a step that counts
local CHANGE = 1.5 -- the least factor of traffic that is a reason
local ALMOST = 0.8 -- the share of a roof that leaves nothing to gain
local STEADY = 1.1 -- the greatest factor between the quartiles of a steady run
local UNSEEN = 1.25 -- of a CPU slowed down by others, before it is "clock!"

-- The rungs that each rung builds on; the first that was measured counts.
local AFTER = {
  gemm = {
    naive = {"naive_global"}, transposed_b = {"naive"}, tiled = {"naive"},
    tiled_transposed_b = {"transposed_b", "tiled"},
    tiled_constant = {"tiled"}, tiled_padded = {"tiled"},
    tiled_swizzled = {"tiled"}, tiled_float4 = {"tiled"},
    register = {"tiled_float4", "tiled"}, simd = {"naive"},
    nv_ffma = {"register"}, nv_dmma = {"nv_ffma", "register"},
    nv_fp16x3_mma = {"nv_ffma", "register"},
    nv_fp16x3 = {"nv_fp16x3_mma", "nv_ffma", "register"},
    nv_tf32 = {"nv_ffma", "register"}, nv_wgmma = {"nv_tf32", "nv_ffma"},
    nv_hgemm = {"register"}, small = {"naive"}, small_simd = {"simd"},
  },
  spmv = {
    pitch = {"naive"}, local_offsets = {"pitch"},
    float4 = {"local_offsets"}, specialised = {"float4", "pitch"},
    simd = {"naive"}, csr_vector = {"csr_scalar"},
  },
  transpose = {
    naive_write = {"naive_read"}, tiled = {"naive_read"},
    tiled_padded = {"tiled"}, tiled_swizzled = {"tiled"},
    float4 = {"tiled_padded", "tiled"}, simd = {"naive_write"},
  },
  reduce = {
    strided = {"modulo"}, sequential = {"strided"},
    first_add = {"sequential"}, last_steps = {"first_add"},
    unrolled = {"last_steps"}, grid_stride = {"unrolled", "first_add"},
    nv_one_launch = {"grid_stride"}, simd = {"grid_stride"},
  },
  scan = {
    tree = {"doubling"}, tree_padded = {"tree"},
    registers = {"tree_padded", "doubling"}, totals = {"registers"},
    lookback = {"registers"}, nv_stream = {"lookback", "totals"},
    blocks = {"totals"},
  },
  sort = {
    bitonic_local = {"bitonic"}, split = {"bitonic_local"},
    radix = {"split"}, wide = {"radix"}, blocks = {"wide"},
  },
  gemv = {
    group = {"naive"}, lanes = {"group"}, vector = {"lanes", "group"},
    simd = {"naive"}, split = {"columns"}, strips = {"split"},
    simd_split = {"columns"},
  },
  stencil = {
    tiled = {"naive"}, rows = {"naive"}, vector = {"rows"}, simd = {"rows"},
  },
  conv2d = {
    constant = {"naive"}, tiled = {"constant"}, register = {"tiled"},
    unrolled = {"register"}, vector = {"unrolled"}, slide = {"vector"},
    simd = {"naive"},
  },
}

-- Rungs whose step is to avoid bank conflicts.
local MENDS = {tiled_padded = true, tiled_swizzled = true,
  sequential = true}

local function faster(a, b)
  return a.median < b.median
end

-- The results by rung (or label), in their order: {name, kernel, family, best,
-- rows, failed}. Results of the host are left out.
local function groups_of(rows)
  local list, index = {}, {}
  for _, r in ipairs(rows) do
    if r.device or r.status == "refused" and r.params then
      local name = r.label or r.kernel or r.name
      local g = index[name]
      if not g then
        g = {name = name, kernel = r.kernel, family = r.family, rows = {}}
        index[name], list[#list + 1] = g, g
      end
      if r.median and r.median > 0 and r.ok ~= false then
        table.insert(g.rows, r)
      else
        g.failed = g.failed or r
      end
    end
  end
  for _, g in ipairs(list) do
    table.sort(g.rows, faster)
    g.best = g.rows[1]
  end
  return list
end

-- The group to compare group i with: an earlier group of the same kernel, else
-- of the rungs that it builds on, else (of an unknown rung) the group before;
-- nil for the first.
local function before(list, i)
  local g, same, earlier = list[i], nil, nil
  local wanted = AFTER[g.family] and AFTER[g.family][g.kernel]
  for j = 1, i - 1 do
    local other = list[j].best and list[j]
    earlier = other or earlier
    same = other and other.kernel == g.kernel and other or same
  end
  for _, kernel in ipairs(wanted or {}) do
    for _, other in ipairs(list) do
      same = same or other ~= g and other.kernel == kernel and other.best
        and other or nil
    end
  end
  return same or wanted == nil and earlier or nil
end

-- The results of two groups to compare: the best of g; the result of `a` with
-- the same tile, else the best of `a`; and the words that name the tile.
local function pair(g, a)
  local b = g.best
  local tile = b.params and b.params.tile
  for _, r in ipairs(a.rows) do
    if #g.rows + #a.rows > 2 and tile and r.params
        and r.params.tile == tile then
      return r, b, (" (tile=%s)"):format(tile)
    end
  end
  return a.best, b, ""
end

-- The least and the greatest time that another run of a result may have: the
-- quartiles of a steady run, or all samples of an unsteady run; twice as far
-- apart where samples are few or something slowed the device. (The interval of
-- a median tells nothing of the next run.) nil for a single sample.
local function range(r)
  if r.n == 1 or not (r.lo or r.min) then
    return nil
  end
  local least, most = r.min or r.lo, r.max or r.hi
  if not r.lo or fields.flagged(r, "clock!") then
    return least / 2, 2 * most
  end
  local lo, hi = math.min(r.lo, r.q1 or r.lo), math.max(r.hi, r.q3 or r.hi)
  if hi > STEADY * lo then
    return least, most
  end
  return lo, hi
end

-- "paid", "level" or "lost", the factor of b over a, and its range; "noisy"
-- where the range allows several of these verdicts, or where a CPU may have
-- been that much slower in one run.
local function verdict(a, b, device)
  local factor = a.median / b.median
  local from_a, to_a = range(a)
  local from_b, to_b = range(b)
  if not (from_a and from_b) then
    return "noisy", factor
  end
  local lo, hi = from_a / to_b, to_a / from_b
  local least = device.type == "cpu" and UNSEEN or PAID
  local kind = lo >= least and "paid" or hi <= 1 / least and "lost"
    or lo > 1 / PAID and hi < PAID and "level" or "noisy"
  return kind, factor, lo, hi
end

local function times(x)
  return ("%.2g"):format(x)
end

-- What the traffic model counts: the limit, the key, and the words.
local COUNTS = {
  {"memory", "global", "through the caches go"},
  {"memory", "fetch", "work-groups fetch"},
  {"local memory", "locals", "local memory moves"},
}

-- The changes of the traffic model from a to b by half or more: a list of
-- {limit, ratio, words}.
local function changes(a, b)
  local list = {}
  for _, count in ipairs(COUNTS) do
    local limit, key, what = table.unpack(count)
    local x, y = a[key] or 0, b[key] or 0
    local ratio = x / y
    if x > 0 and y > 0 and (ratio >= CHANGE or ratio <= 1 / CHANGE) then
      list[#list + 1] = {limit = limit, ratio = ratio, words = (ratio > 1
        and "%s 1/%s of the bytes" or "%s %s times the bytes"):format(what,
        times(math.max(ratio, 1 / ratio)))}
    end
  end
  if a.ways ~= b.ways and math.max(a.ways, b.ways) >= CHANGE
      and a.from_local and b.from_local then
    list[#list + 1] = {limit = "local memory", ratio = a.ways / b.ways,
      words = ("bank conflicts go from %.0f to %.0f ways"):format(a.ways,
        b.ways)}
  end
  return list
end

-- The greatest change to the better, or to the worse; of a limit, or of any.
local function find(list, limit, better)
  local best
  for _, c in ipairs(list) do
    local ratio = better and c.ratio or 1 / c.ratio
    if (not limit or c.limit == limit) and ratio > 1
        and (not best or ratio > best.ratio) then
      best = {ratio = ratio, words = c.words, limit = c.limit}
    end
  end
  return best
end

-- Why a step did not pay.
local function why_not(b, ra, rb, list, device)
  local ta, tb = ra.traffic, rb.traffic
  local ordinary = device and device.local_mem_type == "global"
  if MENDS[b.kernel] and ta and tb and ta.from_local then
    if ordinary then
      return "local memory is ordinary memory here"
    elseif ta.warps and ta.ways < CHANGE then
      return "there are no bank conflicts to mend"
    end
  end
  if ta and tb and tb.from_local and ordinary and not ta.from_local then
    local ratio = (tb.global + tb.locals) / ta.global
    return ("local memory is ordinary memory here, and with it %s times the "
      .. "bytes are moved"):format(times(ratio))
  end
  local worse = find(list, nil, false)
  if worse then
    return worse.words
  end
  local less = find(list, nil, true)
  if less and ra.limit ~= less.limit then
    return ("%s, but the limit %s"):format(less.words, ra.limit == "unknown"
      and "is unknown" or "was " .. ra.limit)
  end
end

-- Why a step paid, and whether the reason explains less than the factor: fewer
-- bytes save at most their share of the time.
local function why_paid(ra, rb, list, factor)
  if ra.one_lane and rb.vectors then
    return ("it is faster than one lane of the device's vectors of %d can be")
      :format(rb.vectors)
  end
  local c = find(list, ra.limit, true)
  local limit = c and (", and %s was the limit"):format(ra.limit) or ""
  c = c or find(list, nil, true)
  if c and c.ratio * PAID < factor then
    return ("%s%s, which explains x%s at most"):format(c.words, limit,
      times(c.ratio)), true
  end
  return c and c.words .. limit
end

--- ladder.why(a, b, paid, opts) -> string or nil, boolean
--- Why result b is faster than a (paid) or is not, by their readings and the
--- traffic model; and whether the reason explains less than their factor.
function M.why(a, b, paid, opts)
  local ra, rb = reading.read(a, opts), reading.read(b, opts)
  local list = ra.traffic and rb.traffic and changes(ra.traffic, rb.traffic)
    or {}
  if paid then
    return why_paid(ra, rb, list, a.median / b.median)
  end
  local device = opts and opts.device or cl.device()
  local top = ra.roofs[1]
  if top and top.share >= ALMOST then
    return ("%s is at %.0f %% of its roof (%s)%s"):format(a.kernel or a.name,
      100 * top.share, top.limit, top.share > reading.ABOVE
      and ", which is impossible: a peak is too low, or the result wrong"
      or "")
  end
  return why_not(b, ra, rb, list, device)
end

local function describe(r)
  return r.config and r.config ~= "" and (" (%s)"):format(r.config) or ""
end

-- One step in words: its kind, the words, and a remedy where the simulator
-- was wanted and is missing.
local function step(g, a, opts, simulate)
  local old, new, at = pair(g, a)
  local kind, factor, lo, hi = verdict(old, new, opts.device or new.device
    or {})
  local head = ("%s over %s%s: x%.2f%s"):format(g.name, a.name, at, factor,
    lo and hi - lo >= 0.01 and (" (%.2f to %.2f)"):format(lo, hi) or "")
  if kind == "noisy" then
    return kind, ("%s, %s; compare measures in turns"):format(head,
      not lo and "of a single sample"
      or factor < PAID and factor > 1 / PAID and "level within the noise"
      or (lo >= PAID or hi <= 1 / PAID) and "and a CPU may be slower by 25 % "
      .. "in one run"
      or "which the noise leaves open")
  end
  local reason, short = M.why(old, new, kind == "paid", opts)
  local parts, missing = {head, reason or "the model sees no cause"}, nil
  if not reason or short then
    if simulate then
      parts[3], missing = source_lines.difference(old, new, opts)
    end
    local rung = g.kernel ~= a.kernel and reading.rung(new)
    parts[#parts + 1] = rung and rung.lesson ~= "" and "the step is: "
      .. rung.lesson or nil
  end
  return kind, table.concat(parts, "; "), missing
end

local function put(lines, head, words, width)
  for i, line in ipairs(report.wrap(words, width - 6)) do
    lines[#lines + 1] = (i == 1 and "%-6s" or "      %.0s"):format(head)
      .. line
  end
end

-- Adds the refused groups to the lines, by their reasons.
local function put_refused(lines, list, width)
  local names, order = {}, {}
  for _, g in ipairs(list) do
    if not g.best and g.failed then
      local reason = g.failed.error or g.failed.note or g.failed.status
      reason = (g.failed.status == "wrong" and "WRONG " or "") .. reason
      if not names[reason] then
        names[reason] = {}
        order[#order + 1] = reason
      end
      table.insert(names[reason], g.name)
    end
  end
  for _, reason in ipairs(order) do
    put(lines, "no", ("%s: %s"):format(table.concat(names[reason], ", "),
      reason), width)
  end
end

-- See lesson.ladder.
function M.text(rows, opts)
  argument.list("lesson.ladder", "the list of results", rows, "table")
  local own = {}
  opts = argument.check("lesson.ladder", "options", opts or {}, "table")
  for key, value in pairs(opts) do
    own[key] = value
  end
  local width, simulate = own.width or report.width(), own.access ~= false
  own.width, own.access = nil, nil
  local list = groups_of(rows)
  local said = {paid = {}, level = {}, lost = {}, noisy = {}}
  local best, remedy
  for i, g in ipairs(list) do
    local a = g.best and before(list, i)
    if g.best and (not best or faster(g.best, best.best)) then
      best = g
    end
    if a then
      local kind, words, missing = step(g, a, own, simulate)
      table.insert(said[kind], words)
      remedy = remedy or missing
    end
  end
  if not best then
    return "Nothing to read: no rung has a time."
  end
  local out = {"Gains of the steps here:"}
  for _, kind in ipairs{"paid", "level", "lost", "noisy"} do
    for _, words in ipairs(said[kind]) do
      put(out, kind, words, width)
    end
  end
  put_refused(out, list, width)
  put(out, "best", ("%s%s. %s"):format(best.name, describe(best.best),
    reading.read(best.best, own).text), width)
  local worst = best.rows[#best.rows]
  if worst ~= best.best then
    put(out, "tiles", ("%s: best%s, x%.2f over%s"):format(best.name,
      describe(best.best), worst.median / best.best.median, describe(worst)),
      width)
  end
  if remedy then
    put(out, "more", "where the model sees no cause, the simulator names "
      .. "lines: " .. remedy, width)
  end
  return table.concat(out, "\n")
end

return M
