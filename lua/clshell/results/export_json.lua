-- results/export_json.lua - results as JSON, as NDJSON, and as the T4 file of
-- Kernel Tuner
-- SPDX-License-Identifier: MIT

local csv = require "clshell.results.csv"
local export_fields = require "clshell.results.export_fields"
local json = require "clshell.base.json"
local record_fields = require "clshell.measure.record_fields"
local text = require "clshell.base.text"

local M = {}

-- A value of a result: floats keep all their digits, numbers that are not
-- finite are null.
local function exact(value)
  if type(value) == "number" then
    return text.finite(value) and json.raw(text.exact(value)) or json.null
  elseif value == nil or type(value) == "boolean" then
    return value
  end
  return text.utf8(tostring(value))
end

-- Numbers in one line.
local function number_list(list)
  local texts = {}
  for i, x in ipairs(list) do
    texts[i] = exact(x)[1]
  end
  return json.raw("[" .. table.concat(texts, ", ") .. "]")
end

local function plain_part(part)
  local members = {}
  for i, key in ipairs(export_fields.plain_keys{part}) do
    members[i] = {key, exact(part[key])}
  end
  return json.object(members)
end

-- A result as an object with its samples; flags are a list, and fields that
-- are not known are left out.
local function result_object(r)
  local members = {}
  for i, field in ipairs(export_fields.list) do
    local name, value = field[1], csv.value(r, field[2])
    if name == "flags" then
      value = json.list{table.unpack(r.flags or {})}
    elseif field[3] then
      value = value and plain_part(value)
    else
      value = exact(value)
    end
    members[i] = {name, value}
  end
  members[#members + 1] = {"samples_s", r.samples and number_list(r.samples)}
  return json.object(members)
end

local function list_of(results, convert)
  local list = json.list{}
  for i, r in ipairs(results) do
    list[i] = convert(r)
  end
  return list
end

-- export_json.json(results) -> string
function M.json(results)
  local meta = {}
  for i, entry in ipairs(export_fields.meta(results)) do
    meta[i] = {entry.name, text.utf8(entry.value)}
  end
  return json.encode(json.object{
    {"format", "clshell results"}, {"format_version", 1},
    {"meta", json.object(meta)},
    {"results", list_of(results, result_object)},
  }, true) .. "\n"
end

-- export_json.ndjson(results) -> string
function M.ndjson(results)
  local lines = {}
  for i, r in ipairs(results) do
    lines[i] = json.encode(result_object(r)) .. "\n"
  end
  return table.concat(lines)
end

-- Kernel Tuner's word for the end of a configuration.
local INVALIDITY = {ok = "correct", refused = "constraints",
  wrong = "correctness", failed = "runtime", interrupted = "timeout"}

local function t4_measurements(r)
  local list = json.list{}
  local function add(name, value, unit)
    if type(value) == "number" and text.finite(value) then
      list[#list + 1] = json.object{{"name", name}, {"value", exact(value)},
        {"unit", unit}}
    end
  end
  add("time", r.median and r.median * 1e3, "ms")
  add("time_min", r.min and r.min * 1e3, "ms")
  add("GFLOP/s", r.gflops, "GFLOP/s")
  add("GB/s", r.gbs, "GB/s")
  add("error", r.err, "")
  return list
end

local function t4_result(r, several_kernels)
  local runtimes = {}
  for i, x in ipairs(r.samples or {}) do
    runtimes[i] = x * 1e3
  end
  local status = r.status or r.ok == false and "wrong" or "ok"
  if record_fields.flagged(r, "IMPOSSIBLE?") then
    status = "wrong"
  end
  local configuration = plain_part(r.params or {})
  if several_kernels then
    table.insert(configuration, 1, {"kernel", text.utf8(tostring(r.name))})
  end
  return json.object{
    {"timestamp", r.time or ""}, {"configuration", configuration},
    {"objectives", {"time"}},
    {"times", json.object{{"runtimes", number_list(runtimes)}}},
    {"invalidity", INVALIDITY[status] or "runtime"},
    {"correctness", status == "ok" and 1 or 0},
    {"measurements", t4_measurements(r)},
  }
end

-- export_json.t4(results) -> string
-- The T4 results file, version 1.0.0, that Kernel Tuner and its dashboard
-- read. Times are in ms there.
function M.t4(results)
  local several_kernels = false
  for _, r in ipairs(results) do
    several_kernels = several_kernels or r.name ~= results[1].name
  end
  return json.encode(json.object{{"schema_version", "1.0.0"},
    {"results", list_of(results, function(r)
      return t4_result(r, several_kernels)
    end)}}, true) .. "\n"
end

return M
