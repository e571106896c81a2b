-- shell/prompt/matrix_text.lua - numbers of a matrix as text: one format for
-- all, by the least and the largest; and the corners that fit a window
-- SPDX-License-Identifier: MIT

local printable = require "clshell.shell.prompt.printable"
local style = require "clshell.base.style"
local unsigned = require "clshell.base.text".unsigned

local M = {}

local MOST = 11 -- rows of a larger matrix, with the … between
M.ALL = 100000 -- elements that "all" shows, roughly

local INDENT, GAP = 2, 2

-- The format of whole numbers from lo to hi.
local function whole(lo, hi, kind)
  local f = {form = "%.0f", unsigned = kind == "ulong"}
  f.width = math.max(#M.number(lo, f), #M.number(hi, f))
  return f
end

-- The format of reals: fixed, with enough digits for the largest number and
-- the setting precision, or scientific.
local function real(lo, hi)
  local digits = printable.digits or 4
  local most = math.max(math.abs(lo), math.abs(hi))
  local sign = lo < 0 and 1 or 0
  local exponent = most > 0 and math.floor(math.log(most, 10)) or 0
  if exponent > 5 or exponent < -4 then
    return {form = "%." .. digits - 1 .. "e", width = digits + 5 + sign
      + ((most >= 1e100 or most < 1e-99) and 1 or 0)}
  end
  local decimals = math.max(1, digits - 1 - exponent)
  return {form = "%." .. decimals .. "f", decimals = decimals,
    width = math.max(exponent, 0) + 2 + decimals + sign,
    least = 0.5 * 10.0 ^ -decimals}
end

--- matrix_text.format(kind, stats) -> format
--- The format of elements. `kind` is their scalar type, `stats` the result of
--- Array:summary or summary.of (nil: unknown).
function M.format(kind, stats)
  local is_real = kind == "float" or kind == "double" or kind == "half"
  local f
  if not stats then
    f = is_real and {form = "%.3e", width = 10} or whole(0, 10^10, kind)
  elseif not stats.min then
    f = {form = "%.0f", width = 3}
  elseif not is_real or stats.whole and math.max(-stats.min, stats.max)
      < 1e7 then
    f = whole(stats.min, stats.max, kind)
  else
    f = real(stats.min, stats.max)
  end
  if not stats or stats.nan > 0 or stats.inf > 0 then
    f.width = math.max(f.width, stats and stats.inf > 0 and 4 or 3)
  end
  return f
end

--- matrix_text.number(x, format) -> string
--- A number, or a component of a vector.
function M.number(x, f)
  if x ~= x then
    return "nan"
  elseif x == math.huge or x == -math.huge then
    return x > 0 and "inf" or "-inf"
  elseif math.type(x) == "integer" then
    return f.unsigned and unsigned(x) or ("%d"):format(x)
  elseif f.least and x ~= 0 and math.abs(x) < f.least then
    return ("%.0e"):format(x) -- not zero, whatever the others are
  end
  return (f.form:format(x):gsub("^%-(0%.?0*)$", "%1"))
end

local function right(text, width)
  return (" "):rep(width - printable.width(text)) .. text
end

--- matrix_text.text(x, format) -> string
--- An element, padded to the width of the format; a vector in parentheses;
--- a point for false, a place that a sparse matrix does not store.
function M.text(x, f)
  if not x then
    return right(style.glyphs() and "·" or ".", f.width)
  elseif type(x) ~= "table" then
    return right(M.number(x, f), f.width)
  end
  local lanes = {}
  for k, lane in ipairs(x) do
    lanes[k] = right(M.number(lane, f), f.width)
  end
  return "(" .. table.concat(lanes, ", ") .. ")"
end

--- matrix_text.width(format, lanes) -> columns
--- The width of an element.
function M.width(f, lanes)
  return lanes == 1 and f.width or lanes * (f.width + 2)
end

-- Parts {first, last} of 1..n: the first and the last numbers, `shown` in all.
local function ends(n, shown)
  if shown >= n then
    return {{1, n}}
  end
  local head = (shown + 1) // 2
  return shown == 1 and {{1, 1}}
    or {{1, head}, {n - (shown - head) + 1, n}}
end

-- The numbers of rows and of columns that fit; an element takes `width`
-- columns, and `lines` lines are left.
local function fitting(src, width, o, lines)
  if o.all then
    return math.max(2, M.ALL // math.min(src.cols, M.ALL)), M.ALL
  end
  local room = o.width - INDENT + GAP
  local wide = room // (width + GAP)
  if src.cols > wide then -- the points take some
    wide = (room - printable.width(printable.ellipsis()) - GAP)
      // (width + GAP)
  end
  local high = src.rows <= lines and src.rows or math.min(lines, MOST) - 1
  return math.max(high, 1), math.max(wide, 1)
end

--- matrix_text.lines(src, slice, format, o, room) -> lines, cut
--- The rows as text, and whether elements are left out. src has the numbers
--- rows, cols and lanes; src.fetch(slice, first row, last row, first column,
--- last column) gives the elements of a corner as a list of rows.
function M.lines(src, slice, f, o, room)
  local lines, mark = {}, printable.ellipsis()
  local gap, indent = (" "):rep(GAP), (" "):rep(INDENT)
  local width = M.width(f, src.lanes)
  local high, wide = fitting(src, width, o, room)
  for i, r in ipairs(ends(src.rows, high)) do
    local texts = {}
    for k = r[1], r[2] do
      texts[k] = {}
    end
    for j, c in ipairs(ends(src.cols, wide)) do
      local corner = src.fetch(slice, r[1], r[2], c[1], c[2])
      for k = r[1], r[2] do
        for _, x in ipairs(corner[k - r[1] + 1]) do
          table.insert(texts[k], M.text(x, f))
        end
        if j == 1 and wide < src.cols then
          table.insert(texts[k], mark)
        end
      end
    end
    for k = r[1], r[2] do
      lines[#lines + 1] = indent .. table.concat(texts[k], gap)
    end
    if i == 1 and high < src.rows then
      lines[#lines + 1] = indent .. right(mark, math.min(width, 8))
    end
  end
  return lines, high < src.rows or wide < src.cols
end

return M
