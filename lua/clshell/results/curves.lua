-- results/curves.lua - the values that plot(x, y) and plot.field(A) are given,
-- as curves and as a grid, with the caller's own words for them
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local excerpt = require "clshell.errors.excerpt"
local lexer = require "clshell.base.lexer"
local text = require "clshell.base.text"

local M = {}

local MOST = 4000   -- points of a curve; of more, the ends of each bin stay
local MARKS = 24    -- points of a curve that all have marks
local SPARSE = 8    -- marks of a longer curve among several
local GRID = 128    -- rows and columns of a grid
local CALL = 4000   -- bytes of a call to look into

-- curves.spoken(level, name) -> list of texts
-- The arguments of the one call of `name` in the line where the caller at a
-- level stands, as they are written there: {words =, [1] = the words of a
-- first part of a table ...}. No words for a table, nothing where the call is
-- unknown.
function M.spoken(level, name)
  local info, list = debug.getinfo(level + 1, "Sl"), {}
  local source = info and excerpt.source(info.source)
  local _, first = excerpt.line(source or "", info and info.currentline or 0)
  local code = first and source:sub(first, first + CALL) or ""
  local stop, found = code:find("\n", 1, true) or #code, nil
  local tokens = lexer.code(code)
  for i, token in ipairs(tokens) do
    local head = code:sub(token.first):match("^[%w_.]+")
    if token.first <= stop and head == name and token.kind == "name" then
      local at = i + select(2, name:gsub("%.", "")) * 2 + 1
      if found then
        return {}
      end
      found = tokens[at] and tokens[at].text == "(" and at
    end
  end
  local function words(range)
    local s = code:sub(tokens[range[1]].first, tokens[range[2]].last)
    return not s:find "^{" and text.cut(s:gsub("%s+", " "), 40, "~") or nil
  end
  for i, part in ipairs(found and lexer.parts(tokens, found) or {}) do
    list[i] = {words = words(part)}
    for j, range in ipairs(tokens[part[1]].text == "{"
        and lexer.parts(tokens, part[1]) or {}) do
      list[i][j] = words(range)
    end
  end
  return list
end

-- A value on the host: an Array of a buffer or an expression, or itself.
local function on_host(value)
  local class = text.class(value)
  if class == "Expression" then
    value, class = value:eval(), "Buffer"
  end
  if class == "Buffer" or class == "Split" then
    return value:read(), "Array"
  end
  return value, class
end

-- Numbers in a row: the list or Array, and their count; else raises.
local function row_of(what, name, value, hint)
  local list, class = on_host(value)
  if class ~= "Array" and (type(list) ~= "table" or class) then
    cl.error(("%s: %s must be a list, an Array or a Buffer; got %s"):format(
      what, name, value == nil and "nothing" or "a " .. (class
      or type(value))), {hint = hint})
  end
  local n = #list
  if n == 0 then
    cl.error(("%s: %s must hold at least one number; got none"):format(what,
      name), {hint = hint})
  end
  for i = 1, class and 1 or n do
    if type(list[i]) ~= "number" then
      cl.error(("%s: %s[%d] must be a number; got a %s"):format(what, name, i,
        class and "vector of " .. list.type or type(list[i])), {hint = hint})
    end
  end
  local shape = class and list.shape
  if shape and #shape > 1 and math.max(table.unpack(shape)) < n then
    cl.error(("%s: %s must have one dimension; got %s"):format(what, name,
      table.concat(shape, "x")), {hint = "plot.field(A) shows a matrix"})
  end
  return list, n
end

-- The numbers of the points that stay of so many: all, or of each bin the
-- first, the least, the greatest and the last.
local function kept(ys, n)
  local list = {}
  local bins = n <= MOST and n or MOST // 4
  for bin = 1, bins do
    local first, last = (bin - 1) * n // bins + 1, bin * n // bins
    local low, high, odd = first, first, nil
    for i = first, last do
      local y = ys[i]
      low = (y < ys[low] or ys[low] ~= ys[low]) and i or low
      high = (y > ys[high] or ys[high] ~= ys[high]) and i or high
      odd = odd or not text.finite(y) and i
    end
    local picked = {first, low, high, odd or last, last}
    table.sort(picked)
    for _, i in ipairs(picked) do
      list[#list + 1] = list[#list] ~= i and i or nil
    end
  end
  return list
end

-- Whether a second argument is options: names with plain values.
local function are_options(value)
  local plain = type(value) == "table" and next(value) ~= nil
    and text.class(value) == nil and value[1] == nil
  for _, part in pairs(plain and value or {}) do
    local kind = type(part)
    plain = plain and (kind == "string" or kind == "number"
      or kind == "boolean")
  end
  return plain
end

-- curves.given(spoken, x, y, opts) -> list of {name, xs, ys, n}, labels, opts
-- The curves of the arguments of plot, and the labels {x, y}.
function M.given(spoken, x, y, opts)
  if opts == nil and are_options(y) then
    y, opts = nil, y
  end
  local labels, own = {}, spoken[2]
  if y == nil then
    labels[1], x, y, own = "index", nil, x, spoken[1]
  else
    labels[1] = spoken[1] and spoken[1].words or "x"
  end
  local listed = type(y) == "table" and text.class(y) == nil
  local hint = listed and type(y[1]) == "table" and y[1].median
    and 'results have plot.line(results, {x = "tile"})' or nil
  local xs, count
  if x ~= nil then
    xs, count = row_of("plot", "x", x)
  end
  local parts, list = {{"", y}}, {}
  local several = listed and not hint and next(y) ~= nil
    and type(y[1] == nil and select(2, next(y)) or y[1]) ~= "number"
  if several then
    local named = {}
    for name in pairs(y) do
      named[#named + 1] = type(name) == "string" and name or nil
    end
    table.sort(named)
    parts = {}
    for i, part in ipairs(y) do
      parts[i] = {own and own[i] or "y" .. i, part}
    end
    for _, name in ipairs(named) do
      parts[#parts + 1] = {name, y[name]}
    end
  end
  labels[2] = several and "" or own and own.words or "y"
  for i, part in ipairs(parts) do
    local what, f, value = part[1] ~= "" and part[1] or "y", part[2], part[2]
    if type(f) == "function" and not xs then
      cl.error("plot: a function needs an x",
        {hint = "plot({0, 1, 2, 3}, math.sin)"})
    elseif type(f) == "function" then
      value = {}
      for k = 1, count do
        value[k] = f(xs[k])
      end
    end
    local ys, n = row_of("plot", what, value, hint)
    if xs and n ~= count then
      cl.error(("plot: x and %s must be equally long; got %d and %d"):format(
        what, count, n))
    end
    list[i] = {name = part[1], xs = xs, ys = ys, n = n}
  end
  return list, labels, opts
end

-- curves.points(curve, shows, several) -> list of points, count of others
-- The points of a curve that shows(x, y) has a place for. `gap`: no line leads
-- to the point; `mark`: it has a mark.
function M.points(curve, shows, several)
  local points, lost, gap = {}, 0, true
  for _, i in ipairs(kept(curve.ys, curve.n)) do
    local x, y = curve.xs and curve.xs[i] or i, curve.ys[i]
    if shows(x, y) then
      points[#points + 1], gap = {x = x, y = y, gap = gap}, false
    else
      gap = true
    end
  end
  for i = 1, curve.n do
    lost = lost + (shows(curve.xs and curve.xs[i] or i, curve.ys[i]) and 0
      or 1)
  end
  local every = #points <= MARKS and 1 or several and #points // SPARSE
  for i, p in ipairs(points) do
    local after = points[i + 1]
    p.mark = every and i % every == 0 or p.gap and (not after or after.gap)
  end
  return points, lost
end

-- curves.resampled(at, rows, cols, height, width) -> list of rows
-- A grid of fewer or more cells, each the mean of its part of at(i, j); false
-- where the part has a number that is not finite.
function M.resampled(at, rows, cols, height, width)
  local grid = {}
  for r = 1, height do
    local top, bottom = (r - 1) * rows // height, r * rows // height
    local row = {}
    for c = 1, width do
      local left, right = (c - 1) * cols // width, c * cols // width
      local sum, count = 0.0, 0
      for i = top + 1, math.max(bottom, top + 1) do
        for j = left + 1, math.max(right, left + 1) do
          local x = at(i, j)
          sum, count = sum + (x - x == 0 and x or 0 / 0), count + 1
        end
      end
      row[c] = sum == sum and sum / count
    end
    grid[r] = row
  end
  return grid
end

-- curves.grid(spoken, A) -> {rows, cols, cells, lo, hi, odd, label, of}
-- A matrix as a grid of at most GRID x GRID cells; the least and the greatest
-- finite number, and how many are not finite.
function M.grid(spoken, A)
  local list, class = on_host(A)
  local nested = not class and type(list) == "table"
    and type(list[1]) == "table" and #list[1] > 0
  local shape = class == "Array" and list.shape or nested
    and {#list, #list[1]}
  if not shape or type(list[1]) ~= "number" and not nested then
    list = row_of("plot.field", "A", list)
    shape = {#list}
  end
  if #shape > 2 then
    cl.error(("plot.field: A must have one or two dimensions; got %s"):format(
      table.concat(shape, "x")))
  end
  local rows, cols = #shape > 1 and shape[1] or 1, shape[#shape]
  local function at(i, j)
    return list[(i - 1) * cols + j]
  end
  if nested then
    function at(i, j)
      return type(list[i]) == "table" and list[i][j]
    end
  end
  local lo, hi, odd = math.huge, -math.huge, 0
  for i = 1, rows do
    for j = 1, cols do
      local x = at(i, j)
      if nested and type(x) ~= "number" then
        cl.error(("plot.field: A[%d][%d] must be a number; got %s"):format(i,
          j, x and "a " .. type(x) or "nothing"))
      elseif x - x == 0 then
        lo, hi = x < lo and x or lo, x > hi and x or hi
      else
        odd = odd + 1
      end
    end
  end
  local height, width = math.min(rows, GRID), math.min(cols, GRID)
  return {rows = rows, cols = cols, odd = odd, lo = odd < rows * cols and lo,
    hi = hi, cells = M.resampled(at, rows, cols, height, width),
    label = spoken[1] and spoken[1].words or "A",
    type = class == "Array" and list.type or nil}
end

return M
