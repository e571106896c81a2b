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

-- Two functions: the count of a whole result of access, and the count of one
-- of its rows.
local function space(name, key)
  return function(a) return a.total[name][key] end, function(row)
    return row.space == name and row[key] or 0
  end
end

local MEASURES = {
  {"sectors of global memory", "rows", true, space("global", "sectors")},
  {"passes of local memory", "rows", true, space("local", "passes")},
  {"passes of constant memory", "rows", true, space("constant", "passes")},
  {"bytes of global memory", "rows", false, space("global", "bytes")},
  {"bytes of local memory", "rows", false, space("local", "bytes")},
  {"instructions", "branches", false, function(a) return a.instructions end,
    function(branch) return branch.times end},
}

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

-- The result of access for a rung's result on these operands.
local function look(family, r, o, opts)
  return access(family.rung(r.kernel), o, r.params, opts)
end

-- The counts of source lines by their place and code, with one of the rows.
local function by_line(a, part, count)
  local list = {}
  for _, row in ipairs(a[part]) do
    local key = ("%s %s"):format(row.kind or "", row.code)
    local known = list[key]
    list[key] = {count = count(row) * a.groups / a.looked
      + (known and known.count or 0), row = row}
  end
  return list
end

local function precedes(row, other)
  return row.line < other.line
    or row.line == other.line and row.column < other.column
end

-- The lines that one list has and the other lacks: for each kind a list, the
-- highest count first.
local function lacking(list, other)
  local kinds = {}
  for key, entry in pairs(list) do
    if not other[key] then
      local kind = entry.row.kind or ""
      kinds[kind] = kinds[kind] or {}
      table.insert(kinds[kind], entry)
    end
  end
  for _, entries in pairs(kinds) do
    table.sort(entries, function(x, y)
      return x.count > y.count
        or x.count == y.count and precedes(x.row, y.row)
    end)
  end
  return kinds
end

-- The changes of the lines between two lists, as entries {row, x, y, change}.
-- A line with different text in the two rungs is in one list only. Such lines
-- of one kind are paired in the order of their counts, and the line with the
-- higher count has the change.
local function changes(old, new)
  local list = {}
  for key, entry in pairs(old) do
    if new[key] then
      local x, y = entry.count, new[key].count
      list[#list + 1] = {row = entry.row, x = x, y = y, change = y - x}
    end
  end
  local gone, come = lacking(old, new), lacking(new, old)
  for _, side in ipairs{{gone, come, -1}, {come, gone, 1}} do
    local mine, theirs, sign = table.unpack(side)
    for kind, entries in pairs(mine) do
      for i, entry in ipairs(entries) do
        local other = theirs[kind] and theirs[kind][i]
        local n = entry.count
        list[#list + 1] = {row = entry.row, x = sign < 0 and n or 0,
          y = sign < 0 and 0 or n,
          change = sign * math.max(0, n - (other and other.count or 0))}
      end
    end
  end
  return list
end

-- The line whose count changes most between two results, in the direction of
-- the whole, `sign`.
local function line_of(a, b, part, count, sign)
  local found
  for _, c in ipairs(changes(by_line(a, part, count),
      by_line(b, part, count))) do
    c.change = c.change * sign
    if c.row.line > 0 and c.change > 0 and (not found
        or c.change > found.change
        or c.change == found.change and precedes(c.row, found.row)) then
      found = c
    end
  end
  return found
end

local function name_of(r)
  local rung = reading.rung(r)
  return (rung.path or rung.name):match "[^/]*$"
end

-- The line of a difference in words.
local function line_words(found, part, a, b)
  local row, r = found.row, found.x > found.y and a or b
  local code = text.cut(row.code, 40, "...")
  return (" (%s:%d, %s `%s`: %.0f, %s %.0f)"):format(name_of(r), row.line,
    part == "branches" and "branches at" or row.kind, code,
    found.x, "then", found.y)
end

-- The count that differs most between the results of access, in words.
local function words_of(x, y, a, b, warps)
  local best
  for _, m in ipairs(MEASURES) do
    local what, part, wants_warps, whole, count = table.unpack(m)
    local old, new = whole(x) * x.groups / x.looked,
      whole(y) * y.groups / y.looked
    if (warps or not wants_warps) and old > 0 and new > 0 then
      local far = math.max(old / new, new / old)
      if far >= DIFFERS and (not best or far > best.far) then
        local found = line_of(x, y, part, count, new > old and 1 or -1)
        best = {far = far, words = ("%s %s%.2f%s"):format(what,
          new < old and "1/" or "x", far,
          found and line_words(found, part, a, b) or "")}
      end
    end
  end
  return best and best.words
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
      return look(family, a, o, {warp = warp}), look(family, b, o,
        {warp = warp}), words
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
