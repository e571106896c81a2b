-- results/fields.lua - the table of the fields of a result: types, units,
-- titles, exported names, columns of the store; and the values that follow
-- from them: intervals, noise, labels, the best of several results
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local families = require "clshell.ladder.families"
local quantity = require "clshell.base.quantity"
local record = require "clshell.measure.record"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

-- A measured number has as many digits as its result's noise leaves sure.
local function measured(x, r)
  return M.number(x, r)
end

local function percent(x, r)
  return M.number(100 * x, r)
end

-- A function that gives the first of these fields that a result has.
local function first_of(...)
  local keys = {...}
  return function(r)
    for _, key in ipairs(keys) do
      if r[key] then
        return r[key]
      end
    end
  end
end

-- Half the width of the interval of the median, in per cent.
local function spread(r)
  return r.lo and 100 * M.noise(r) or nil
end

-- A function that joins the flags of a result, and "unchecked" for the rate of
-- a launch that nothing was compared with.
local function flags(between)
  return function(r)
    local list = table.move(r.flags or {}, 1, #(r.flags or {}), 1, {})
    list[#list + 1] = r.verify == "unchecked" and r.median and r.verify or nil
    return list[1] and table.concat(list, between) or nil
  end
end

local function verified(r)
  return r.ok and r.verify ~= "unchecked"
end

-- A function that gives a field of a table of a result, such as its device.
local function part(name, key)
  return function(r)
    return r[name] and r[name][key]
  end
end

local function defines(r)
  return type(r.defines) == "table" and table.concat(text.fields(r.defines),
    " ") or r.defines
end

local OF_DEVICE = {name = "string", platform = "string", type = "string",
  driver = "string", version = "string"}
local OF_HOST = {name = "string", os = "string", cpu = "string",
  cores = "number"}
local UID = "TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16))))"

-- fields.list: a line for each field of a result, in the order of exports:
--   1        its key in the result; a line with `from` or `shown` may also
--            name a value that is worked out from other fields
--   2        its type, if the field is there; nil: any. of: the type of each
--            element of a list, the types of some parts of a table. Parts
--            such as the shape may also be text
--   unit     its base unit; scale: the factor of its number to that unit
--   axis     its title on a chart, which then shows base units
--   export   its exported name, which ends with the base unit; from(result):
--            the exported value, if it differs; prefix: the head of the names
--            of columns for a table's parts; meta: it describes a whole
--            export; md: Markdown has it
--   stored   its type in the store's table, in which it is a column; detail:
--            the lists of runs leave it out
--   title    its title in tables of results; column: its name there, if it
--            differs; shown(result): the value there; format, align, drop,
--            wrap, cut, once: see report.format. Without a format, a number
--            with a unit gets the prefix that suits
M.list = {
  {"uid", "string", stored = UID, detail = true},
  {"name", "string", export = "name", md = true, stored = "TEXT",
    title = "kernel", shown = first_of("label", "name"), cut = 20},
  {"family", "string", export = "family", stored = "TEXT"},
  {"kernel", "string", export = "kernel", stored = "TEXT",
    title = "kernel", shown = first_of("label", "kernel", "name"), cut = 20},
  {"config", "string", export = "config", md = true, stored = "TEXT",
    title = "parameters", wrap = 28},
  {"type", "string", export = "type", md = true, stored = "TEXT",
    title = "type", drop = 4, once = "%s"},
  {"status", "string", export = "status", stored = "TEXT"},
  {"shape", "parts", export = "shape", prefix = "shape.", stored = "TEXT"},
  {"params", "parts", export = "params", prefix = "param.", stored = "TEXT",
    detail = true},
  {"tile", title = "tile", shown = part("params", "tile"), align = "right"},
  {"local", "string", export = "local_size", title = "local",
    align = "right", drop = 6},
  {"mode", "string", export = "cache_mode", md = true, stored = "TEXT",
    title = "cache", drop = 7, once = "%s cache"},
  {"cache", "string", export = "cache"},
  {"timer", "string", export = "timer", title = "timer", drop = 9,
    once = "%s timer"},
  {"tick_ns", "number", unit = "s", scale = 1e-9, export = "tick_s"},
  {"title", "string", md = true, stored = "TEXT", title = "shape",
    cut = 20, once = "%s"},
  {"median", "number", unit = "s", axis = "time", export = "time_s",
    md = true, stored = "REAL", column = "time", title = "time"},
  {"ms", "number", unit = "s", scale = 1e-3, axis = "time", title = "ms",
    format = measured},
  {"spread", title = style.utf8() and "±%" or "+-%", shown = spread,
    md = true, format = "%.1f", drop = 7},
  {"lo", "number", unit = "s", export = "time_lo_s"},
  {"hi", "number", unit = "s", export = "time_hi_s"},
  {"min", "number", unit = "s", axis = "least time", export = "time_min_s"},
  {"q1", "number", unit = "s", export = "time_q1_s"},
  {"q3", "number", unit = "s", export = "time_q3_s"},
  {"max", "number", unit = "s", axis = "greatest time",
    export = "time_max_s"},
  {"wall", "number", unit = "s", axis = "wall time", export = "wall_s"},
  {"wall_ms", "number", unit = "s", scale = 1e-3, axis = "wall time",
    column = "wall", title = "host ms", format = measured, drop = 8},
  {"gap", "number", export = "wall_gap"},
  {"floor", "number", unit = "s", axis = "empty kernel", export = "floor_s"},
  {"sum", "number", unit = "s", export = "sum_s"},
  {"span", "number", unit = "s", export = "span_s"},
  {"main", "number", unit = "s", export = "main_s"},
  {"n", "number", export = "n", md = true, title = "n", align = "right",
    drop = 9},
  {"batch", "number", export = "batch"},
  {"discarded", "number", export = "discarded"},
  {"outliers", "number", export = "outliers"},
  {"flop", "number", unit = "FLOP", export = "work_FLOP"},
  {"bytes", "number", unit = "B", export = "traffic_B"},
  {"gflops", "number", unit = "FLOPS", scale = 1e9, axis = "throughput",
    export = "throughput_FLOPS", md = true, title = "GFLOPS",
    format = measured},
  {"gbs", "number", unit = "B/s", scale = 1e9, axis = "bandwidth",
    export = "bandwidth_B_per_s", md = true, title = "GB/s",
    format = measured, drop = 3},
  {"ai", "number", unit = "FLOP/B", axis = "arithmetic intensity",
    export = "intensity_FLOP_per_B", title = "FLOP/B",
    format = function(x) return quantity.number(x) end, drop = 8},
  {"roof", "number", unit = "%", scale = 100, axis = "share of the roofline",
    export = "roof_fraction", from = function(r) return r.roof end, md = true,
    title = "% roof", format = percent, drop = 2},
  {"percent", "number", column = "peak", title = "% peak", format = "%.1f",
    drop = 2},
  {"speedup", "number", title = "speed-up", format = "%.2f", drop = 1},
  {"roof_clock", "number", unit = "%", scale = 100,
    axis = "share of the roofline at the clock of the run",
    export = "roof_at_clock_fraction",
    from = function(r) return r.roof_clock end, title = "% at clock",
    format = percent, drop = 6},
  {"mhz", "number", unit = "Hz", scale = 1e6, axis = "clock",
    export = "clock_Hz", title = "MHz", format = "%.0f", drop = 8},
  {"mhz_max", "number", unit = "Hz", scale = 1e6, export = "clock_max_Hz"},
  {"mem_mhz", "number", unit = "Hz", scale = 1e6, export = "memory_clock_Hz"},
  {"throttle", "string", export = "throttle", title = "held by", drop = 9,
    wrap = true},
  {"watts", "number", unit = "W", axis = "power", export = "power_W",
    title = "W", format = "%.0f", drop = 8},
  {"watts_limit", "number", unit = "W", export = "power_limit_W"},
  {"joule", "number", unit = "J", axis = "energy of a run",
    export = "energy_J", title = "J"},
  {"celsius", "number", export = "temperature_C", title = "C",
    format = "%.0f", drop = 9},
  {"others", "number", export = "other_processes"},
  {"counters", "parts", export = "counters", prefix = "counter."},
  {"bound", "string", export = "bound", title = "bound", drop = 6},
  {"ok", export = "verified", from = verified},
  {"verify", "string", export = "verify"},
  {"err", "number", export = "error", md = true, title = "error",
    format = "%.0e", align = "right", drop = 1},
  {"err_bound", "number", export = "error_bound"},
  {"flags", "list", of = "string", export = "flags", from = flags " ",
    md = true, title = "flags", shown = flags ", ", wrap = true},
  {"note", "string", export = "note", md = true, title = "note",
    wrap = true},
  {"error", "string", export = "failure"},
  {"device", "parts", of = OF_DEVICE, export = "device",
    from = part("device", "name"), meta = true, stored = "TEXT"},
  {"platform", export = "platform", from = part("device", "platform"),
    meta = true},
  {"driver", export = "driver", from = part("device", "driver"), meta = true,
    stored = "TEXT"},
  {"opencl_version", export = "opencl_version",
    from = part("device", "version"), meta = true},
  {"host", "parts", of = OF_HOST, export = "host", from = part("host", "name"),
    meta = true},
  {"cpu", export = "cpu", from = part("host", "cpu"), meta = true},
  {"cores", export = "cores", from = part("host", "cores"), meta = true},
  {"os", export = "os", from = part("host", "os"), meta = true},
  {"options", "string", export = "build_options", meta = true,
    stored = "TEXT"},
  {"defines", "parts", export = "defines", from = defines},
  {"source_hash", "string", export = "source_hash", meta = true,
    stored = "TEXT"},
  {"seed", "number", export = "seed"},
  {"tag", "string", export = "tag", stored = "TEXT"},
  {"time", "string", export = "date", meta = true, stored = "TEXT NOT NULL"},
  {"protocol", "number", export = "protocol", stored = "INTEGER",
    detail = true},
  {"version", "string", export = "clshell_version",
    from = function(r) return r.version or cl.version end, meta = true},
  {"samples", "list", of = "number"}, {"id", "number"}, {"reason", "string"},
  {"label", "string"}, {"stale", "string"}, {"input_roundoff", "number"},
}

-- The lines of fields.list by key.
local BY_KEY = {}

--- fields.columns
--- The columns of tables of results by their names, as report.format takes
--- them.
M.columns = {}

for _, field in ipairs(M.list) do
  BY_KEY[field[1]] = field
  if field.title then
    M.columns[field.column or field[1]] = {key = field.shown or field[1],
      title = field.title, unit = not field.format and field.unit or nil,
      format = field.format, align = field.align, drop = field.drop,
      wrap = field.wrap, cut = field.cut, once = field.once}
  end
end

-- fields.exported(field, result) -> value
-- The value of a line of fields.list in an export: a number in its base unit.
function M.exported(field, r)
  if field.from then
    return field.from(r)
  end
  local value = r[field[1]]
  return value and field.scale and value * field.scale or value
end

-- "median must be a number; got a string" where a value has another type. A
-- number may stand for a string.
local function wrong(name, value, wanted)
  local kind = type(value)
  local whole = wanted == "list" or wanted == "parts"
  if wanted and kind ~= (whole and "table" or wanted)
      and not (kind == "number" and wanted == "string")
      and not (kind == "string" and wanted == "parts") then
    return ("%s must be a %s; got a %s"):format(name,
      whole and "table" or wanted, kind)
  end
end

--- fields.fault(result) -> string, or nil
--- The first rule that a table breaks as a result: its known fields have their
--- types.
function M.fault(r)
  for name, value in pairs(r) do
    local field = BY_KEY[name] or {}
    local of, fault = field.of, wrong(name, value, field[2])
    for key, x in pairs(of and type(value) == "table" and value or {}) do
      fault = fault or wrong(("%s[%s]"):format(name, tostring(key)), x,
        type(of) == "string" and of or of[key])
    end
    if fault then
      return fault
    end
  end
end

--- fields.list_of(value, what) -> list of results
--- A list of results, also of a single result; other values raise, with the
--- name of the function.
function M.list_of(value, what)
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

--- fields.about(key) -> {title, unit, scale}
--- The title of a field on a chart, its base unit, and the factor to that
--- unit. A field without a title of its own is a plain number there.
function M.about(key)
  local field = BY_KEY[key]
  if field and field.axis then
    return {title = field.axis, unit = field.unit, scale = field.scale or 1}
  end
  return {title = type(key) == "string" and key or "", scale = 1}
end

-- A size or a word of the shape of a result, which is text in a row of the run
-- store.
local function size_of(r, key)
  if type(r.shape) == "table" then
    return r.shape[key]
  elseif type(r.shape) == "string" and tostring(key):find("^[%w_]+$") then
    local value = r.shape:match(('"%s":"?([%%w_]+)'):format(key))
    return tonumber(value) or value
  end
end

--- fields.value(result, key) -> value
--- A size or a word of the shape of a result, or a field, or a parameter; a
--- function is called with the result. "n" is a size, where there is a shape,
--- and not the number of samples.
function M.value(r, key)
  if type(key) == "function" then
    return key(r)
  end
  local x = size_of(r, key)
  if x ~= nil or key == "n" and r.shape then
    return x
  elseif r[key] ~= nil then
    return r[key]
  end
  return type(r.params) == "table" and r.params[key] or nil
end

--- fields.base(result, key) -> number or nil
--- A field in base units: seconds, FLOP per second, bytes per second; nil
--- unless it is a finite number.
function M.base(r, key)
  local x = M.value(r, key)
  return type(x) == "number" and text.finite(x) and x * M.about(key).scale
    or nil
end

--- fields.interval(result, key) -> lo, hi or nil
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

--- fields.noise(result) -> number or nil
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

--- fields.unchecked(result) -> boolean
--- Whether a time was taken and its result compared with nothing.
function M.unchecked(r)
  return r.verify == "unchecked" and (r.median or r.gflops or r.gbs or r.ms)
    and true or false
end

local UNSURE = text.set "unconverged clock! IMPOSSIBLE?"

--- fields.unsure(result) -> string or nil
--- Why the time of a result is uncertain: it has too few samples for an
--- interval, or a flag of the protocol.
function M.unsure(r)
  local words = {few(r) and "few samples" or nil}
  for _, flag in ipairs(r.flags or {}) do
    words[#words + 1] = UNSURE[flag] and flag or nil
  end
  return words[1] and table.concat(words, ", ") or nil
end

--- fields.digits(result) -> integer
--- The significant digits that the times and rates of a result deserve: see
--- quantity.digits; at most 3 without an interval, and 2 for a single sample.
function M.digits(r)
  local noise = M.noise(r)
  local most = few(r) and (noise and 3 or 2) or 4
  return math.min(most, quantity.digits(noise))
end

--- fields.number(x, result) -> string
--- A time or a rate of a result, rounded to fields.digits.
function M.number(x, r)
  local digits = M.digits(r)
  return quantity.number(tonumber(("%%.%de"):format(digits - 1):format(x))
    or x, digits)
end

-- fields.falls(key) -> boolean
-- Whether a field is best where it is least: times, energy and power.
function M.falls(key)
  local unit = M.about(key).unit
  return unit == "s" or unit == "J" or unit == "W"
end

--- fields.best(results, key) -> index or nil
--- The best of the results: the least time or energy, the greatest value of
--- other fields. Failed results do not count, nor do rungs that round their
--- operands, as those of TF32 do; where the best has too few samples for an
--- interval, the answer is nil.
function M.best(results, key)
  local sign = M.falls(key) and -1 or 1
  local best, most
  for i, r in ipairs(results) do
    local x = M.base(r, key)
    if x and not record.fails(r) and not r.input_roundoff
        and (not most or sign * x > most) then
      best, most = i, sign * x
    end
  end
  return best and not few(results[best]) and best or nil
end

--- fields.rate(results) -> key
--- The field to show results by: gflops, gbs or median, the first that some
--- result has. Families that memory limits are shown by their bandwidth.
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

-- "gemm." where the names of all results begin with it, else "".
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

--- fields.labels(results) -> list, common
--- A short name for each result, of the words that tell it from other results,
--- and a text of the words that all results share.
function M.labels(results)
  local family, all, count = family_of(results), {}, {}
  for i, r in ipairs(results) do
    local words = {}
    local function add(kind, word)
      local key = kind .. " " .. word
      words[#words + 1], count[key] = {key, word}, (count[key] or 0) + 1
    end
    add("name", tostring(r.name or r.kernel or "?"):sub(#family + 1))
    for word in tostring(r.config or ""):gmatch("%S+") do
      add("config", word)
    end
    if r.title then
      add("title", r.title)
    end
    all[i] = words
  end
  local list, common = {}, {}
  for i, words in ipairs(all) do
    local label = {}
    for j, word in ipairs(words) do
      if #results == 1 or count[word[1]] < #results then
        label[#label + 1] = word[2]
      elseif i == 1 then
        common[#common + 1] = (j == 1 and family or "") .. word[2]
      end
    end
    list[i] = #label > 0 and table.concat(label, " ") or words[1][2]
  end
  return list, table.concat(common, " ")
end

return M
