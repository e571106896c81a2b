-- explain/ladder.lua - the reading of a ladder: each rung beside the rung that
-- it builds on, whether its step paid here, and why; where the traffic model
-- sees no difference, both run at a small size on the simulator
-- SPDX-License-Identifier: MIT

local access = require "clshell.base.lazy".module "clshell.explain.access"
local argument = require "clshell.base.argument"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local reading = require "clshell.explain.reading"
local options = require "clshell.base.options"
local protocol = require "clshell.measure.protocol"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"
local trace = require "clshell.explain.trace"
local workload = require "clshell.ladder.workload"

local M = {}

local PAID = 1.05  -- the least factor of a step that counts
local CHANGE = 1.5 -- the least factor of traffic that is a reason
local ALMOST = 0.8 -- the share of a roof that leaves nothing to gain
local STEADY = 1.1 -- the greatest factor between the quartiles of a steady run
local UNSEEN = 1.25 -- of a CPU slowed down by others, before it is "clock!"

-- The rungs that each rung builds on, "rung: rung rung"; the first that was
-- measured counts.
local STEPS = {
  gemm = [[
    naive: naive_global; transposed_b: naive; tiled: naive;
    tiled_transposed_b: transposed_b tiled; tiled_constant: tiled;
    tiled_padded: tiled; tiled_swizzled: tiled; tiled_float4: tiled;
    register: tiled_float4 tiled; simd: naive; nv_ffma: register;
    nv_dmma: nv_ffma register; nv_fp16x3_mma: nv_ffma register;
    nv_fp16x3: nv_fp16x3_mma nv_ffma register; nv_tf32: nv_ffma register;
    nv_wgmma: nv_tf32 nv_ffma; nv_hgemm: register; dot: tiled naive;
    nv_igemm: dot; small: naive; small_simd: simd;
    ozaki: tiled_transposed_b; nv_ozaki: ozaki nv_dmma]],
  spmv = [[
    pitch: naive; local_offsets: pitch; float4: local_offsets;
    specialised: float4 pitch; simd: naive; csr_vector: csr_scalar;
    csr_balanced: csr_vector csr_scalar; csr_packed: csr_balanced]],
  transpose = [[
    naive_write: naive_read; tiled: naive_read; tiled_padded: tiled;
    tiled_swizzled: tiled; float4: tiled_padded tiled; simd: naive_write]],
  reduce = [[
    strided: modulo; sequential: strided; first_add: sequential;
    last_steps: first_add; unrolled: last_steps;
    grid_stride: unrolled first_add; nv_one_launch: grid_stride;
    simd: grid_stride]],
  scan = [[
    tree: doubling; tree_padded: tree; registers: tree_padded doubling;
    totals: registers; lookback: registers; nv_registers: lookback;
    nv_stream: lookback totals; blocks: totals]],
  sort = [[
    bitonic_local: bitonic; split: bitonic_local; radix: split; wide: radix;
    blocks: wide]],
  gemv = [[
    group: naive; lanes: group; vector: lanes group; simd: naive;
    split: columns; strips: split; simd_split: columns;
    nv_rows: vector; nv_strips: strips]],
  stencil = "tiled: naive; rows: naive; vector: rows; simd: rows",
  conv2d = [[
    constant: naive; tiled: constant; register: tiled; unrolled: register;
    vector: unrolled; slide: vector; simd: naive]],
}

local AFTER = {}
for family, steps in pairs(STEPS) do
  AFTER[family] = {}
  for rung, list in steps:gmatch "([%w_]+): ([%w_ ]+)" do
    AFTER[family][rung] = list
  end
end

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
  for kernel in (wanted or ""):gmatch "%S+" do
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
  if not r.lo or protocol.flagged(r, "clock!") then
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
local function why_not(a, b, ra, rb, list, device)
  local ta, tb = ra.traffic, rb.traffic
  local ordinary = device and device.local_mem_type == "global"
  if MENDS[b.kernel] and ta and tb and ta.from_local then
    if ordinary then
      return "the driver tells that local memory is ordinary memory"
    elseif ta.warps and ta.ways < CHANGE then
      return "there are no bank conflicts to mend"
    end
  end
  if ta and tb and tb.from_local and ordinary and not ta.from_local then
    local ratio = (tb.global + tb.locals) / ta.global
    local loss = b.median / a.median
    local words = "the driver tells that local memory is ordinary memory"
    if ratio >= PAID then
      words = ("%s, and its use moves %s times the bytes"):format(words,
        times(ratio))
    end
    return loss > PAID * math.max(ratio, 1) and ("%s; the cause of %s is open")
      :format(words, ratio < PAID and "the loss" or "the rest of the loss")
      or words
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
    return ("its rate is above 1/%d of the peak, so it uses the device's "
      .. "vectors"):format(rb.vectors)
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
  return why_not(a, b, ra, rb, list, device)
end

-- The line that tells two rungs apart, on the simulator ----------------------

local LEAST = 64     -- a side of the matrices at a small size
local ROWS = 256     -- rows of a matrix by diagonals
local DIFFERS = 1.05 -- the least factor of a count that is told

-- The counts to compare: the words; the memory and the field of its accesses,
-- unless it counts instructions; and whether only a device with warps has it.
local MEASURES = {
  {"sectors of global memory", "global", "sectors", true},
  {"passes of local memory", "local", "passes", true},
  {"passes of constant memory", "constant", "passes", true},
  {"bytes of global memory", "global", "bytes"},
  {"bytes of local memory", "local", "bytes"},
  {"instructions"},
}

-- A measure of a whole result of access.
local function whole(a, measure)
  local _, space, field = table.unpack(measure)
  return (space and a.total[space][field] or a.instructions) * a.groups
    / a.looked
end

-- A small shape like a dense result's, with sides of at most `least`, and its
-- words; nil where the result has no such shape.
local function dense(dims, shape, least)
  local small, sizes = {}, {}
  for i, name in ipairs(dims) do
    if math.type(shape[name]) ~= "integer" then
      return nil
    end
    small[name] = math.min(shape[name], least)
    sizes[i] = small[name]
  end
  return small, text.shape(sizes)
end

-- A small matrix with so many diagonals, side by side, and its words; or nil.
local function diagonals(shape)
  local count, offsets = shape.ndiags, {}
  if math.type(count) ~= "integer" or count < 1 or count > ROWS // 4 then
    return nil
  end
  for d = 1, count do
    offsets[d] = d - 1 - count // 2
  end
  return {rows = ROWS, offsets = offsets}, ("%d rows of %s side by side")
    :format(ROWS, text.count(count, "diagonal"))
end

-- The operands of a result's family at a small size, and the shape in words;
-- nil where the result has no small shape.
local function operands(family, a, b)
  local least = LEAST
  for _, r in ipairs{a, b} do
    for _, value in pairs(r.params or {}) do
      while math.type(value) == "integer" and least < value do
        least = 2 * least
      end
    end
  end
  local shape, words
  if family.spec.dims then
    shape, words = dense(family.spec.dims, a.shape, least)
  else
    shape, words = diagonals(a.shape)
  end
  if shape then
    return workload.operands(family, shape, a.type, "lesson"), words
  end
end

local function precedes(row, other)
  return row.line < other.line
    or row.line == other.line and row.column < other.column
end

-- The lines of a result with their counts of a measure, the highest first, and
-- by kind and code: {key, kind, count, row}, with one of the rows.
local function by_line(a, measure)
  local list, _, space, field = {}, table.unpack(measure)
  for _, row in ipairs(space and a.rows or a.branches) do
    local key = ("%s %s"):format(row.kind or "", row.code)
    local line = list[key] or {key = key, kind = row.kind or "", count = 0}
    if not list[key] then
      list[key], list[#list + 1] = line, line
    end
    local n = not space and row.times or row.space == space and row[field]
      or 0
    line.count, line.row = line.count + n * a.groups / a.looked, row
  end
  table.sort(list, function(x, y)
    return x.count > y.count
      or x.count == y.count and precedes(x.row, y.row)
  end)
  return list
end

-- The line whose count in the result `more` is most above its count in `less`:
-- {row, count, other}. A line that `less` lacks may have another text there:
-- such lines of one kind are paired in the order of their counts, and come
-- before lines of the same text.
local function line_of(more, less, measure)
  local mine, theirs = by_line(more, measure), by_line(less, measure)
  local spare, found = {}, nil
  for _, line in ipairs(theirs) do
    if not mine[line.key] then
      spare[line.kind] = spare[line.kind] or {}
      table.insert(spare[line.kind], line.count)
    end
  end
  for _, line in ipairs(mine) do
    local same = theirs[line.key]
    local other = same and same.count
      or table.remove(spare[line.kind] or {}, 1) or 0
    local excess = line.count - other
    if line.row.line > 0 and excess > 0 and (not found
        or excess > found.excess or excess == found.excess and not same
        and (found.same or precedes(line.row, found.row))) then
      found = {row = line.row, excess = excess, count = line.count,
        same = same, other = same and same.count or 0}
    end
  end
  return found
end

-- The count that differs most between the results of access x and y of rungs'
-- results a and b, in words.
local function counted(x, y, a, b, warps)
  local best
  for _, m in ipairs(MEASURES) do
    local old, new = whole(x, m), whole(y, m)
    if (warps or not m[4]) and old > 0 and new > 0 then
      local far = math.max(old / new, new / old)
      if far >= DIFFERS and (not best or far > best.far) then
        best = {measure = m, far = far, less = new < old}
      end
    end
  end
  if not best then
    return nil
  end
  local words = ("%s %s%.2f"):format(best.measure[1], best.less and "1/"
    or "x", best.far)
  local more, less, r = y, x, b
  if best.less then
    more, less, r = x, y, a
  end
  local found = line_of(more, less, best.measure)
  if not found then
    return words
  end
  local rung = reading.rung(r)
  return ("%s (%s:%d, %s `%s`: %.0f, then %.0f)"):format(words,
    (rung.path or rung.name):match "[^/]*$", found.row.line,
    found.row.kind or "branches at", text.cut(found.row.code, 40, "..."),
    best.less and found.count or found.other,
    best.less and found.other or found.count)
end

--- ladder.difference(a, b [, opts]) -> words or nil, remedy or nil
--- What `access` counts at a small size for the rungs of two results, old and
--- new: the count that differs most, with the source line where it does. nil
--- where they cannot run on the simulator, with a remedy where it is missing.
--- On a device without warps no sectors and banks are told. Options as for
--- lesson.
function M.difference(a, b, opts)
  opts = opts or {}
  local rung, family = reading.rung(a)
  if not (rung and reading.rung(b)) or a.family ~= b.family
      or type(a.shape) ~= "table" then
    return nil
  end
  local plugin, _, remedy = trace.plugin()
  if not plugin then
    return nil, remedy
  end
  local dev = opts.device or (opts.context or cl.context()).device
  local warp = dev.nv_warp_size or dev.amd_wavefront_width
  local ok, x, y, size = pcall(function()
    local o, words = operands(family, a, b)
    if o then
      return access(family.rung(a.kernel), o, a.params, {warp = warp}),
        access(family.rung(b.kernel), o, b.params, {warp = warp}), words
    end
  end)
  if not ok and bench.interrupted(x) then
    error(x, 0)
  elseif not (ok and x) then
    return nil
  end
  return ("simulated at %s, %s"):format(size, counted(x, y, a, b, warp)
    or "both have equal accesses, branches, instructions")
end

-- The words -----------------------------------------------------------------

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
      or "and the noise hides which is faster")
  end
  local reason, short = M.why(old, new, kind == "paid", opts)
  local parts, missing = {head, reason or "the model sees no cause"}, nil
  if not reason or short then
    if simulate then
      parts[3], missing = M.difference(old, new, opts)
    end
    local rung = g.kernel ~= a.kernel and reading.rung(new)
    parts[#parts + 1] = rung and rung.lesson ~= "" and "the step is: "
      .. rung.lesson or nil
  end
  return kind, table.concat(parts, "; "), missing
end

local function put(lines, head, words, width)
  lines[#lines + 1] = text.hang(("%-6s"):format(head), words, width)
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
  local own = options.with(argument.check("lesson.ladder", "options",
    opts or {}, "table"), {})
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
