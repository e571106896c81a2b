-- plot/axis.lua - axes of charts: linear, logarithmic or of names; where a
-- value lies on them, their ticks and the texts of those
-- SPDX-License-Identifier: MIT

local quantity = require "clshell.base.quantity"

local M = {}
local Axis = {}
Axis.__index = Axis

local function log10(x)
  return math.log(x, 10)
end

-- The next larger step among 1, 2, 5, 10, 20 ...
local function nice(step)
  local power = 10.0 ^ math.floor(log10(step) + 1e-9)
  for _, m in ipairs{1, 2, 5} do
    if m * power >= step * (1 - 1e-9) then
      return m * power
    end
  end
  return 10 * power
end

local function is_power_of_2(x)
  local mantissa = math.log(x, 2)
  return math.abs(mantissa - math.floor(mantissa + 0.5)) < 1e-9
end

-- Whether values spread so evenly over orders that a log axis suits them.
local function geometric(values)
  local least, most, powers = math.huge, 0, true
  for _, x in ipairs(values) do
    least, most = math.min(least, x), math.max(most, x)
    powers = powers and x > 0 and is_power_of_2(x)
  end
  return #values > 1 and least > 0
    and (most / least >= 64 or powers and most / least >= 4), powers
end

-- The ends of the values; a log axis has no place for those up to 0.
local function range(values, log)
  local lo, hi = math.huge, -math.huge
  for _, x in ipairs(values) do
    if x > 0 or not log then
      lo, hi = math.min(lo, x), math.max(hi, x)
    end
  end
  if lo > hi then
    lo, hi = log and 1 or 0, log and 10 or 1
  end
  return lo, hi
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

--- axis.new(values, opts) -> axis
--- An axis that holds the values. Options: label, unit (base unit), log (true,
--- false, or nil: where it suits the values), zero (a linear one begins at
--- 0), names (one per place: the values are 1, 2, 3 ...), lo, hi (its ends).
function M.new(values, opts)
  local axis = setmetatable({label = opts.label, unit = opts.unit,
    names = opts.names}, Axis)
  if opts.names then
    axis.lo, axis.hi = 0.5, #opts.names + 0.5
    return axis
  end
  local suits, powers = geometric(values)
  axis.log = opts.log
  if axis.log == nil then
    axis.log = suits
  end
  axis.base = axis.log and powers and suits and not opts.unit and 2 or 10
  local lo, hi = range(values, axis.log)
  if opts.zero and not axis.log then
    lo, hi = math.min(lo, 0), math.max(hi, 0)
  end
  axis.lo, axis.hi = widen(opts.lo or lo, opts.hi or hi, axis.log)
  axis.fixed = opts.lo ~= nil
  axis.factor, axis.unit_text = 1, axis.unit
  if axis.unit and axis.unit ~= "%" and not axis.log then
    axis.factor, axis.unit_text = quantity.prefix(
      math.max(math.abs(axis.lo), math.abs(axis.hi)), axis.unit)
  end
  return axis
end

--- axis:shows(value) -> boolean
--- Whether a value has a place on the axis.
function Axis:shows(v)
  return v == v and math.abs(v) < math.huge and (not self.log or v > 0)
end

--- axis:at(value) -> number
--- Where a value lies: 0 is the low end, 1 the high one.
function Axis:at(v)
  if self.log then
    return log10(v / self.lo) / log10(self.hi / self.lo)
  end
  return (v - self.lo) / (self.hi - self.lo)
end

--- axis:title() -> string
--- The label with the unit.
function Axis:title()
  local unit = self.unit_text
  local label = self.label or ""
  return label .. (unit and label ~= "" and ", " or "") .. (unit or "")
end

-- A tick's number without needless zeros.
local function plain(x)
  local s = ("%.10g"):format(x)
  return s:find("e") and ("%.3g"):format(x) or s
end

--- axis:text(value) -> string
--- A value in the axis' unit, as a tick shows it.
function Axis:text(v)
  if self.log and self.unit and self.unit ~= "%" then
    local factor, name = quantity.prefix(v, self.unit)
    return plain(v / factor)
      .. name:sub(1, #name - #self.unit)
  end
  return plain(v / self.factor)
end

--- axis:words(value) -> string
--- A value with its unit, or the name at its place.
function Axis:words(v)
  if self.names then
    return self.names[v]
  elseif self.unit and self.unit ~= "%" then
    return quantity.format(v, self.unit)
  end
  return plain(v) .. (self.unit and " " .. self.unit or "")
end

function Axis:linear_ticks(most)
  local lo, hi = self.lo / self.factor, self.hi / self.factor
  local step = nice((hi - lo) / most)
  local ticks = {}
  for i = math.ceil(lo / step - 1e-9), math.floor(hi / step + 1e-9) do
    ticks[#ticks + 1] = i * step * self.factor
  end
  return ticks
end

-- The values m * base^i in range, for each m.
function Axis:log_series(base, multiples, every)
  local ticks = {}
  local first = math.floor(math.log(self.lo) / math.log(base) - 1e-9)
  local last = math.ceil(math.log(self.hi) / math.log(base) + 1e-9)
  for i = first, last do
    for _, m in ipairs(multiples) do
      local v = m * base ^ i
      if i % every == 0 and v >= self.lo * (1 - 1e-9)
          and v <= self.hi * (1 + 1e-9) then
        ticks[#ticks + 1] = v
      end
    end
  end
  return ticks
end

function Axis:log_ticks(most)
  local tries = {}
  if self.base == 10 then
    tries = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1, 3}}
  end
  for _, multiples in ipairs(tries) do
    local ticks = self:log_series(10, multiples, 1)
    if #ticks <= most then
      return ticks
    end
  end
  for every = 1, 64 do
    local ticks = self:log_series(self.base, {1}, every)
    if #ticks <= most or every == 64 then
      return ticks
    end
  end
end

--- axis:ticks(most) -> list of {at =, text =, value =}
--- At most about so many ticks, at round values.
function Axis:ticks(most)
  local ticks = {}
  if self.names then
    local every = math.ceil(#self.names / most)
    for i = 1, #self.names, every do
      ticks[#ticks + 1] = {at = self:at(i), text = self.names[i], value = i}
    end
    return ticks
  end
  local values = self.log and self:log_ticks(most) or self:linear_ticks(most)
  for i, v in ipairs(values) do
    ticks[i] = {at = self:at(v), text = self:text(v), value = v}
  end
  return ticks
end

--- axis:round()
--- Moves the ends outwards to round values, where they were not given.
function Axis:round(most)
  if self.names or self.fixed then
    return
  elseif self.log then
    local margin = (self.hi / self.lo) ^ 0.04
    self.lo, self.hi = self.lo / margin, self.hi * margin
    return
  end
  local step = nice((self.hi - self.lo) / self.factor / most) * self.factor
  self.lo = math.floor(self.lo / step + 1e-9) * step
  self.hi = math.ceil(self.hi / step - 1e-9) * step
end

return M
