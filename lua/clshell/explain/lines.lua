-- explain/lines.lua - the lines that tell two rungs apart where the traffic
-- model sees no difference: both run at a small size on the simulator
-- SPDX-License-Identifier: MIT

local bench = require "clshell.measure.bench"
local cl = require "cl"
local access = require "clshell.explain.access"
local reading = require "clshell.explain.reading"
local text = require "clshell.base.text"
local trace = require "clshell.explain.trace"
local workload = require "clshell.ladder.workload"

local M = {}

local LEAST = 64     -- a side of the matrices at a small size
local ROWS = 256     -- rows of a matrix by diagonals
local DIFFERS = 1.05 -- the least factor of a count that is told

-- The counts to compare: the words; of accesses the memory and the field, else
-- of branches; and whether only a device with warps has the count.
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

-- A small matrix with as many diagonals, side by side, and its words; or nil.
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
local function words_of(x, y, a, b, warps)
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

--- lines.difference(a, b [, opts]) -> words or nil, remedy or nil
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
  return ("simulated at %s, %s"):format(size, words_of(x, y, a, b, warp)
    or "its accesses, branches and instructions are as many")
end

return M
