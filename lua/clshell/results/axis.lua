-- results/axis.lua - axes of charts: linear, logarithmic or of names; the
-- places of values, and ticks with their texts
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.base.quantity"
local text = require "clshell.base.text"

local M = {}
local Axis = {}
Axis.__index = Axis

-- The next larger step among 1, 2, 5, 10, 20 ...
local function nice(step)
  local power = 10.0 ^ math.floor(math.log(step, 10) + 1e-9)
  for _, m in ipairs{1, 2, 5, 10} do
    if m * power >= step * (1 - 1e-9) then
      return m * power
    end
  end
end

local function is_power_of_2(x)
  return x > 0 and math.abs((math.log(x, 2) + 0.5) % 1 - 0.5) < 1e-9
end

-- The least value (for a log axis the least value above 0); the greatest
-- value; whether the axis is logarithmic, by `log` or where powers of 2 or
-- values over many orders suit; and whether the values are powers of 2.
local function ends(values, log)
  local least, lo, hi, powers = math.huge, math.huge, -math.huge, true
  for _, x in ipairs(values) do
    least, hi = math.min(least, x), math.max(hi, x)
    lo = x > 0 and math.min(lo, x) or lo
    powers = powers and is_power_of_2(x)
  end
  local suits = least > 0 and hi > least
    and (hi / least >= 64 or powers and hi / least >= 4)
  if log == nil then
    log = suits
  end
  lo = log and lo or least
  if lo > hi then
    lo, hi = log and 1 or 0, log and 10 or 1
  end
  return lo, hi, log, suits and powers
end

-- A range that has a width.
local function widen(lo, hi, log)
  if lo < hi then
    return lo, hi
  elseif log then
    return lo / 2, hi * 2
  end
  local more = lo == 0 and 1 or math.abs(lo) / 2
  return lo - more, hi + more
end

-- axis.new(values, opts) -> axis
-- An axis that holds the values. Options: label, unit (base unit), log (true,
-- false, or nil: where a log axis suits the values), base (of a log axis),
-- zero (a linear axis begins at 0), names (a list; the values are its places).
function M.new(values, opts)
  local axis = setmetatable({label = opts.label,
    unit = opts.unit,
    names = opts.names, factor = 1}, Axis)
  if opts.names then
    axis.lo, axis.hi = 0.5, #opts.names + 0.5
    return axis
  end
  local lo, hi, log, powers = ends(values, opts.log)
  if opts.zero and not log then
    lo, hi = math.min(lo, 0), math.max(hi, 0)
  end
  axis.lo, axis.hi = widen(lo, hi, log)
  axis.log, axis.unit_text = log, axis.unit
  axis.base = opts.base or log and powers and not opts.unit and 2 or 10
  if axis.unit and axis.unit ~= "%" and not log then
    axis.factor, axis.unit_text = quantity.prefix(
      math.max(math.abs(axis.lo), math.abs(axis.hi)), axis.unit)
  end
  return axis
end

-- axis:shows(value) -> boolean
-- Whether a value has a place on the axis.
function Axis:shows(v)
  return text.finite(v) and (not self.log or v > 0)
end

-- axis:at(value) -> number
-- The place of a value: 0 is the low end, 1 the high end.
function Axis:at(v)
  if self.log then
    return math.log(v / self.lo, 10) / math.log(self.hi / self.lo, 10)
  end
  return (v - self.lo) / (self.hi - self.lo)
end

-- axis:title() -> string
-- The label with the unit.
function Axis:title()
  local unit, label = self.unit_text or "", self.label or ""
  return label .. (unit ~= "" and label ~= "" and ", " or "") .. unit
end

-- A number without needless zeros.
local function plain(x)
  local s = ("%.10g"):format(x)
  return s:find("e") and ("%.3g"):format(x) or s
end

-- A value in the axis' unit, as a tick shows it.
function Axis:text(v)
  if self.log and self.unit and self.unit ~= "%" then
    local factor, name = quantity.prefix(v, self.unit)
    return plain(v / factor) .. name:sub(1, #name - #self.unit)
  end
  return plain(v / self.factor)
end

-- axis:words(value) -> string
-- A value with its unit, or the name at its place.
function Axis:words(v)
  if self.names then
    return self.names[v]
  elseif self.unit and self.unit ~= "%" then
    return quantity.format(v, self.unit)
  end
  return plain(v) .. (self.unit and " " .. self.unit or "")
end

function Axis:linear_values(most)
  local lo, hi = self.lo / self.factor, self.hi / self.factor
  local step = nice((hi - lo) / most)
  local values = {}
  for i = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9) do
    values[#values + 1] = i * step * self.factor
  end
  return values
end

-- The multiples of each power of the base, or of every n-th power, that have
-- ticks on a log axis: the densest first. A base of 2 has no multiples.
local DENSITIES = {{1, {1, 2, 3, 4, 5, 6, 7, 8, 9}}, {1, {1, 2, 5}},
  {1, {1, 3}}}
for every = 1, 64 do
  table.insert(DENSITIES, {every, {1}})
end

function Axis:log_values(most)
  local values, base = nil, self.base
  local first = math.floor(math.log(self.lo) / math.log(base) - 1e-9)
  local last = math.ceil(math.log(self.hi) / math.log(base) + 1e-9)
  for density = base == 2 and 4 or 1, #DENSITIES do
    local every, multiples = table.unpack(DENSITIES[density])
    values = {}
    for i = first + -first % every, last, every do
      for _, m in ipairs(multiples) do
        local v = m * base ^ i
        if v >= self.lo * (1 - 1e-9) and v <= self.hi * (1 + 1e-9) then
          values[#values + 1] = v
        end
      end
    end
    if #values <= most then
      break
    end
  end
  return values
end

-- axis:ticks(most) -> list of {at =, text =, value =}
-- About `most` ticks, at round values.
function Axis:ticks(most)
  local ticks, values = {}, {}
  if self.names then
    for i = 1, #self.names, math.ceil(#self.names / most) do
      values[#values + 1] = i
    end
  else
    values = self.log and self:log_values(most) or self:linear_values(most)
  end
  for i, v in ipairs(values) do
    ticks[i] = {at = self:at(v), value = v,
      text = self.names and self.names[v] or self:text(v)}
  end
  return ticks
end

-- axis:round(most)
-- Moves the ends outwards to round values.
function Axis:round(most)
  if self.log then
    local margin = (self.hi / self.lo) ^ 0.04
    self.lo, self.hi = self.lo / margin, self.hi * margin
    return
  end
  local step = nice((self.hi - self.lo) / self.factor / most) * self.factor
  self.lo = math.floor(self.lo / step + 1e-9) * step
  self.hi = math.ceil(self.hi / step - 1e-9) * step
end

return M
