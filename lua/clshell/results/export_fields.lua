-- results/export_fields.lua - the fields of exported results: their names with
-- base units, their columns, and the device and date of the measurement
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local csv = require "clshell.results.csv"
local text = require "clshell.base.text"

local M = {}

local function scaled(key, factor)
  return function(r)
    return r[key] and r[key] * factor
  end
end

local function flags(r)
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
  return table.concat(text.fields(r.defines), " ")
end

local function version(r)
  return r.version or cl.version
end

-- The exported fields in their order: the name with its unit, and the key of
-- the result or a function of it. Shape and parameters are tables; the third
-- value is the prefix of their columns.
M.list = {
  {"name", "name"}, {"family", "family"}, {"kernel", "kernel"},
  {"config", "config"}, {"type", "type"}, {"status", "status"},
  {"shape", "shape", "shape."}, {"params", "params", "param."},
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
  {"flags", flags}, {"note", "note"}, {"failure", "error"},
  {"device", device "name"}, {"platform", device "platform"},
  {"driver", device "driver"}, {"opencl_version", device "version"},
  {"build_options", "options"}, {"defines", defines},
  {"source_hash", "source_hash"}, {"seed", "seed"}, {"tag", "tag"},
  {"date", "time"}, {"protocol", "protocol"}, {"clshell_version", version},
}

-- export_fields.plain_keys(parts) -> list of strings, sorted
-- The keys of several tables whose values are numbers, strings or booleans:
-- a shape may also hold tables.
function M.plain_keys(parts)
  local keys, seen = {}, {}
  for _, part in ipairs(parts) do
    for key, value in pairs(part) do
      local kind = type(value)
      if not seen[key] and (kind == "number" or kind == "string"
          or kind == "boolean") then
        keys[#keys + 1], seen[key] = tostring(key), true
      end
    end
  end
  table.sort(keys)
  return keys
end

-- export_fields.flagged(result) -> result
-- A result whose flags also name its numbers that are not finite, as those
-- are written as null: "error=inf".
function M.flagged(r)
  local more = {}
  for _, field in ipairs(M.list) do
    local x = csv.value(r, field[2])
    if type(x) == "number" and not text.finite(x) then
      more[#more + 1] = field[1] .. "=" .. (x ~= x and "nan" or tostring(x))
    end
  end
  if #more == 0 then
    return r
  end
  local all = {table.unpack(r.flags or {})}
  table.move(more, 1, #more, #all + 1, all)
  return setmetatable({flags = all}, {__index = r})
end

-- export_fields.columns(results) -> list of {name, from}
-- The columns of a table of the results, without those that are empty.
function M.columns(results)
  local columns = {}
  for _, field in ipairs(M.list) do
    local from, prefix = field[2], field[3]
    local values = {}
    for _, r in ipairs(results) do
      values[#values + 1] = csv.value(r, from)
    end
    for _, key in ipairs(prefix and M.plain_keys(values) or {}) do
      columns[#columns + 1] = {prefix .. key, function(r)
        return r[from] and r[from][key]
      end}
    end
    if not prefix and #values > 0 then
      columns[#columns + 1] = field
    end
  end
  return columns
end

local META = {device = true, platform = true, driver = true,
  opencl_version = true, build_options = true, source_hash = true,
  date = true, clshell_version = true}

-- export_fields.meta(results) -> list of {name =, value =}
-- The device, the versions and the date of the results: a value that all
-- share, "several" where they differ, and the earliest date.
function M.meta(results)
  local list = {}
  for _, field in ipairs(M.list) do
    local common, several
    for _, r in ipairs(META[field[1]] and results or {}) do
      local value = csv.value(r, field[2])
      value = value ~= nil and tostring(value) or common
      if field[1] == "date" then
        common = common and value > common and common or value
      else
        several = several or common ~= nil and common ~= value
        common = value
      end
    end
    if common ~= nil then
      list[#list + 1] = {name = field[1],
        value = several and "several" or common}
    end
  end
  return list
end

return M
