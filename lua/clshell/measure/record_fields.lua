-- measure/record_fields.lua - the fields of results: types, units, intervals,
-- noise, labels, and the best of several results
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local families = require "clshell.ladder.families"
local quantity = require "clshell.base.quantity"

local M = {}

-- The type of each field, where it is there. Other fields may hold anything.
local TYPES = {}
for kind, names in pairs{
  string = "uid time tag name family kernel config title type mode cache "
    .. "status error note reason timer bound verify options source_hash "
    .. "version label stale local",
  number = "median ms lo hi min max q1 q3 wall wall_ms gap floor sum span "
    .. "main n batch discarded outliers flop bytes gflops gbs ai roof err "
    .. "err_bound tick_ns seed protocol id percent speedup",
  list = "samples flags", parts = "params shape device defines",
} do
  for name in names:gmatch "%S+" do
    TYPES[name] = kind
  end
end

local OF_LIST = {samples = "number", flags = "string"}
local OF_DEVICE = {name = "string", platform = "string", type = "string",
  driver = "string", version = "string"}

-- "median must be a number; got a string" where a value has another type. A
-- number may stand for a string.
local function wrong(name, value, wanted)
  local kind = type(value)
  if value ~= nil and kind ~= wanted
      and not (kind == "number" and wanted == "string") then
    return ("%s must be a %s; got a %s"):format(name, wanted, kind)
  end
end

-- The fault of a table, by the type of each part or a function of its name.
local function wrong_part(name, part, type_of)
  for key, value in pairs(part) do
    local wanted = type_of(key)
    local fault = wanted and wrong(("%s[%s]"):format(name, tostring(key)),
      value, wanted)
    if fault then
      return fault
    end
  end
end

--- record_fields.fault(result) -> string, or nil
--- The first rule that a table breaks as a result: its known fields have their
--- types. Parts such as the shape may also be text.
function M.fault(r)
  for name, value in pairs(r) do
    local wanted, fault = TYPES[name], nil
    if wanted == "list" then
      fault = wrong(name, value, "table") or wrong_part(name, value,
        function() return OF_LIST[name] end)
    elseif wanted == "parts" and type(value) ~= "string" then
      fault = wrong(name, value, "table") or name == "device"
        and wrong_part(name, value, function(key) return OF_DEVICE[key] end)
    elseif wanted and wanted ~= "parts" then
      fault = wrong(name, value, wanted)
    end
    if fault then
      return fault
    end
  end
end

--- record_fields.list(value, what) -> list of results
--- A list of results, also of a single result; other values raise, with the
--- name of the function.
function M.list(value, what)
  if type(value) ~= "table" then
    cl.error(("%s: the first argument must be a list of results; got a %s")
      :format(what, type(value)))
  end
  local list = (value.name ~= nil or value.median ~= nil) and {value} or value
  for i, r in ipairs(list) do
    local fault = type(r) == "table" and M.fault(r)
    if fault then
      cl.error(("%s: result %d: %s"):format(what, i, fault))
    elseif fault == false then
      cl.error(("%s: %s"):format(what, wrong("result " .. i, r, "table")))
    end
  end
  return list
end

-- Known fields: the name on an axis, the base unit, and the scale to it.
local KNOWN = {
  median = {title = "time", unit = "s", scale = 1},
  ms = {title = "time", unit = "s", scale = 1e-3},
  min = {title = "least time", unit = "s", scale = 1},
  max = {title = "greatest time", unit = "s", scale = 1},
  wall = {title = "wall time", unit = "s", scale = 1},
  wall_ms = {title = "wall time", unit = "s", scale = 1e-3},
  floor = {title = "empty kernel", unit = "s", scale = 1},
  gflops = {title = "throughput", unit = "FLOP/s", scale = 1e9},
  gbs = {title = "bandwidth", unit = "B/s", scale = 1e9},
  ai = {title = "arithmetic intensity", unit = "FLOP/B", scale = 1},
  roof = {title = "share of the roofline", unit = "%", scale = 100},
}

--- record_fields.about(key) -> {title, unit, scale}
--- The name, the base unit and the scale of a field: unit is nil for plain
--- numbers.
function M.about(key)
  return KNOWN[key] or {title = type(key) == "string" and key or "",
    scale = 1}
end

-- A size or a word of the shape of a result, which is text in a row of the run
-- store.
local function size(r, key)
  if type(r.shape) == "table" then
    return r.shape[key]
  elseif type(r.shape) == "string" and tostring(key):find("^[%w_]+$") then
    local value = r.shape:match(('"%s":"?([%%w_]+)'):format(key))
    return tonumber(value) or value
  end
end

--- record_fields.value(result, key) -> value
--- A size or a word of the shape of a result, or a field, or a parameter; a
--- function is called with the result. "n" is a size, where there is a shape,
--- and not the number of samples.
function M.value(r, key)
  if type(key) == "function" then
    return key(r)
  end
  local x = size(r, key)
  if x ~= nil or key == "n" and r.shape then
    return x
  elseif r[key] ~= nil then
    return r[key]
  end
  return type(r.params) == "table" and r.params[key] or nil
end

--- record_fields.base(result, key) -> number or nil
--- A field in base units: seconds, FLOP per second, bytes per second; nil
--- unless it is a finite number.
function M.base(r, key)
  local x = M.value(r, key)
  if type(x) ~= "number" or x ~= x or math.abs(x) == math.huge then
    return nil
  end
  return x * M.about(key).scale
end

--- record_fields.interval(result, key) -> lo, hi or nil
--- The 95 % interval of a field that depends on the median time, in base
--- units.
function M.interval(r, key)
  local lo, hi = r.lo, r.hi
  if not (lo and hi and lo > 0) then
    return nil
  elseif key == "median" or key == "ms" then
    return lo, hi
  elseif key == "gflops" and r.flop then
    return r.flop / hi, r.flop / lo
  elseif key == "gbs" and r.bytes then
    return r.bytes / hi, r.bytes / lo
  end
end

--- record_fields.noise(result) -> number or nil
--- The uncertainty of the median, as a fraction: half the width of its
--- interval, or, without an interval, half the range of the samples; nil for
--- a single sample.
function M.noise(r)
  if not (r.median and r.median > 0) then
    return nil
  elseif r.lo and r.hi then
    return (r.hi - r.lo) / 2 / r.median
  elseif r.n ~= 1 and r.min and r.max then
    return (r.max - r.min) / 2 / r.median
  end
end

-- Whether samples were taken, but too few for an interval.
local function few(r)
  return r.n ~= nil and r.lo == nil
end

--- record_fields.digits(result) -> integer
--- The significant digits that the times and rates of a result deserve: see
--- quantity.digits; at most 3 without an interval, and 2 for a single sample.
function M.digits(r)
  local noise = M.noise(r)
  local most = few(r) and (noise and 3 or 2) or 4
  return math.min(most, quantity.digits(noise))
end

--- record_fields.number(x, result) -> string
--- A time or a rate of a result, rounded to record_fields.digits.
function M.number(x, r)
  local digits = M.digits(r)
  return quantity.number(tonumber(("%%.%de"):format(digits - 1):format(x))
    or x, digits)
end

--- record_fields.flagged(result, flag) -> boolean
--- Whether a result carries a flag, such as "unconverged".
function M.flagged(r, flag)
  for _, f in ipairs(r.flags or {}) do
    if f == flag then
      return true
    end
  end
  return false
end

--- record_fields.device(result) -> name, driver; or nil
--- The device of a record, or of a row of the run store.
function M.device(r)
  if type(r.device) == "table" then
    return r.device.name, r.device.driver
  end
  return type(r.device) == "string" and r.device or nil, r.driver
end

--- record_fields.fails(result) -> boolean
--- Whether a result is refused, failed, wrong, or faster than possible.
function M.fails(r)
  return r.ok == false or r.status ~= nil and r.status ~= "ok"
    and r.status ~= "interrupted" or M.flagged(r, "IMPOSSIBLE?")
end

--- record_fields.best(results, key) -> index or nil
--- The best of the results: the least time, the greatest value of other
--- fields. Results that failed do not count; where the best has too few
--- samples for an interval, none is.
function M.best(results, key)
  local sign = M.about(key).unit == "s" and -1 or 1
  local best, most
  for i, r in ipairs(results) do
    local x = M.base(r, key)
    if x and not M.fails(r) and (not most or sign * x > most) then
      best, most = i, sign * x
    end
  end
  return best and not few(results[best]) and best or nil
end

--- record_fields.rate(results) -> key
--- The field to show results by: gflops, gbs or median, the first that any of
--- them has. Families that memory limits are shown by their bandwidth.
function M.rate(results)
  local sparse = false
  for _, r in ipairs(results) do
    local family = r.family and families.get(r.family)
    sparse = sparse or family and family.spec.cache == "cold"
  end
  for _, key in ipairs(sparse and {"gbs", "gflops"} or {"gflops", "gbs"}) do
    for _, r in ipairs(results) do
      if M.base(r, key) then
        return key
      end
    end
  end
  return "median"
end

-- The words that all of several lists have, as a set.
local function shared(lists)
  local count, common = {}, {}
  for _, words in ipairs(lists) do
    for _, word in ipairs(words) do
      count[word] = (count[word] or 0) + 1
      common[word] = #lists > 1 and count[word] == #lists or nil
    end
  end
  return common
end

-- "gemm." where the names of several results begin so, else "".
local function family_of(results)
  local prefix
  for _, r in ipairs(results) do
    local own = tostring(r.name):match("^[%w_]+%.") or ""
    prefix = prefix or own
    if own ~= prefix then
      return ""
    end
  end
  return #results > 1 and prefix or ""
end

--- record_fields.labels(results) -> list, common
--- A short name for each result, of the words that tell it from the others,
--- and a text of the words that they share.
function M.labels(results)
  local names, configs, titles = {}, {}, {}
  local family = family_of(results)
  for i, r in ipairs(results) do
    names[i] = {tostring(r.name or r.kernel or "?"):sub(#family + 1)}
    configs[i] = {}
    for word in tostring(r.config or ""):gmatch("%S+") do
      table.insert(configs[i], word)
    end
    titles[i] = {r.title}
  end
  local parts = {shared(names), shared(configs), shared(titles)}
  local list, common = {}, {}
  for i in ipairs(results) do
    local label = {}
    for p, words in ipairs{names[i], configs[i], titles[i]} do
      for _, word in ipairs(words) do
        if not parts[p][word] then
          label[#label + 1] = word
        elseif i == 1 then
          common[#common + 1] = (p == 1 and family or "") .. word
        end
      end
    end
    list[i] = #label > 0 and table.concat(label, " ") or names[i][1]
  end
  return list, table.concat(common, " ")
end

return M
