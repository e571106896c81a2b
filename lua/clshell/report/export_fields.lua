-- export_fields.lua - what results are written as: names with base units,
-- numbers in any locale, and what they were measured on
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local function scaled(key, factor)
  return function(r)
    return r[key] and r[key] * factor
  end
end

local function flag_text(r)
  return r.flags and r.flags[1] and table.concat(r.flags, " ") or nil
end

local function device(key)
  return function(r)
    return r.device and r.device[key]
  end
end

local function defines(r)
  if type(r.defines) ~= "table" then
    return r.defines
  end
  local words = {}
  for name, value in pairs(r.defines) do
    words[#words + 1] = ("%s=%s"):format(name, tostring(value))
  end
  table.sort(words)
  return table.concat(words, " ")
end

-- What a result is written as, in this order: the name with its unit, and
-- where it comes from. Parameters and shape stand between the two lists.
M.before = {
  {"name", "name"}, {"family", "family"}, {"kernel", "kernel"},
  {"config", "config"}, {"type", "type"}, {"status", "status"},
}
M.after = {
  {"local_size", "local"}, {"cache_mode", "mode"}, {"cache", "cache"},
  {"timer", "timer"}, {"tick_s", scaled("tick_ns", 1e-9)},
  {"time_s", "median"}, {"time_lo_s", "lo"}, {"time_hi_s", "hi"},
  {"time_min_s", "min"}, {"time_q1_s", "q1"}, {"time_q3_s", "q3"},
  {"time_max_s", "max"}, {"wall_s", "wall"}, {"wall_gap", "gap"},
  {"floor_s", "floor"}, {"sum_s", "sum"}, {"span_s", "span"},
  {"main_s", "main"}, {"n", "n"}, {"batch", "batch"},
  {"discarded", "discarded"}, {"outliers", "outliers"},
  {"work_FLOP", "flop"}, {"traffic_B", "bytes"},
  {"throughput_FLOP_per_s", scaled("gflops", 1e9)},
  {"bandwidth_B_per_s", scaled("gbs", 1e9)}, {"intensity_FLOP_per_B", "ai"},
  {"roof_fraction", "roof"}, {"bound", "bound"}, {"verified", "ok"},
  {"verify", "verify"}, {"error", "err"}, {"error_bound", "err_bound"},
  {"flags", flag_text}, {"note", "note"}, {"failure", "error"},
  {"device", device "name"}, {"platform", device "platform"},
  {"driver", device "driver"}, {"opencl_version", device "version"},
  {"build_options", "options"}, {"defines", defines},
  {"source_hash", "source_hash"}, {"seed", "seed"}, {"tag", "tag"},
  {"date", "time"}, {"protocol", "protocol"},
  {"clshell_version", function(r) return r.version or cl.version end},
}

--- export_fields.finite(x) -> boolean
function M.finite(x)
  return x == x and x ~= math.huge and x ~= -math.huge
end

--- export_fields.plain(value) -> boolean
--- Whether a value can be written as it is: a shape may also hold tables.
function M.plain(value)
  local kind = type(value)
  return kind == "number" or kind == "string" or kind == "boolean"
end

--- export_fields.number(x) -> string
--- A finite number as every reader of C's numbers takes it, whatever the
--- locale: all digits of a float.
function M.number(x)
  if math.type(x) == "integer" then
    return ("%d"):format(x)
  end
  return (("%.17g"):format(x):gsub(",", "."))
end

--- export_fields.read(result, from) -> value
--- A field by its key, or what a function makes of the result.
function M.read(r, from)
  if type(from) == "function" then
    return from(r)
  end
  return r[from]
end

--- export_fields.sorted_keys(t) -> list of strings
function M.sorted_keys(t)
  local keys = {}
  for key in pairs(t) do
    keys[#keys + 1] = tostring(key)
  end
  table.sort(keys)
  return keys
end

--- export_fields.flagged(result) -> result
--- A result whose flags also name its numbers that are not finite, as those
--- are written as null: "error=inf".
function M.flagged(r)
  local more = {}
  for _, list in ipairs{M.before, M.after} do
    for _, entry in ipairs(list) do
      local x = M.read(r, entry[2])
      if type(x) == "number" and not M.finite(x) then
        more[#more + 1] = entry[1] .. "="
          .. (x ~= x and "nan" or tostring(x))
      end
    end
  end
  if #more == 0 then
    return r
  end
  local flags = {table.unpack(r.flags or {})}
  table.move(more, 1, #more, #flags + 1, flags)
  return setmetatable({flags = flags}, {__index = r})
end

--- export_fields.columns(results) -> list of {name, from}
--- The columns of a flat table of the results, only those that one of them
--- has.
function M.columns(results)
  local columns = {}
  local function add(name, from)
    for _, r in ipairs(results) do
      if M.read(r, from) ~= nil then
        columns[#columns + 1] = {name, from}
        return
      end
    end
  end
  for _, entry in ipairs(M.before) do
    add(entry[1], entry[2])
  end
  for _, part in ipairs{"shape", "params"} do
    local names = {}
    for _, r in ipairs(results) do
      for key, value in pairs(r[part] or {}) do
        if M.plain(value) then
          names[tostring(key)] = true
        end
      end
    end
    for _, key in ipairs(M.sorted_keys(names)) do
      add((part == "shape" and "shape." or "param.") .. key, function(r)
        return r[part] and r[part][key]
      end)
    end
  end
  for _, entry in ipairs(M.after) do
    add(entry[1], entry[2])
  end
  return columns
end

local META = {"device", "platform", "driver", "opencl_version",
  "build_options", "source_hash", "date", "clshell_version"}

local function from_of(name)
  for _, entry in ipairs(M.after) do
    if entry[1] == name then
      return entry[2]
    end
  end
end

--- export_fields.meta(results) -> list of {name =, value =}
--- On what, when and with which version the results were measured: what they
--- have in common as its value, what differs as "several". The date is the
--- earliest one.
function M.meta(results)
  local list = {}
  for _, name in ipairs(META) do
    local common, several
    for _, r in ipairs(results) do
      local value = M.read(r, from_of(name))
      if name == "date" then
        common = value and common and math.min(value, common) or common
          or value
      elseif value ~= nil then
        several = several or common ~= nil and common ~= value
        common = value
      end
    end
    if common ~= nil then
      list[#list + 1] = {name = name,
        value = several and "several" or tostring(common)}
    end
  end
  return list
end

return M
