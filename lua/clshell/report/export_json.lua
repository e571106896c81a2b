-- export_json.lua - results as JSON, one line each as NDJSON, and as the T4
-- file of Kernel Tuner
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local f = require "clshell.report.export_fields"
local fields = require "clshell.measure.record_fields"
local shapes = require "clshell.plot.shapes"

local M = {}

local function dkjson()
  local ok, json = pcall(require, "dkjson")
  if not ok then
    cl.error("JSON is written with dkjson, which is missing",
      {hint = "Debian, Ubuntu: apt-get install lua-dkjson; else: luarocks "
        .. "install dkjson"})
  end
  return json
end

local Float = {__tojson = function(box)
  return f.number(box[1])
end}

local Line = {__tojson = function(box)
  return "[" .. table.concat(box, ", ") .. "]"
end}

-- A value as dkjson is to see it: floats keep all their digits, what is not
-- finite is null, lists of numbers take one line, objects keep an order.
local function boxed(value, json)
  if type(value) == "number" then
    return not f.finite(value) and json.null
      or math.type(value) == "integer" and value
      or setmetatable({value}, Float)
  elseif type(value) == "string" then
    return shapes.valid(value)
  elseif value ~= nil and type(value) ~= "boolean" then
    return shapes.valid(tostring(value))
  end
  return value
end

local function number_list(list)
  local texts = {}
  for i, x in ipairs(list) do
    texts[i] = f.finite(x) and f.number(x) or "null"
  end
  return setmetatable(texts, Line)
end

local function object(order, t)
  return setmetatable(t, {__jsontype = "object", __jsonorder = order})
end

local function plain_part(part, json)
  local t, order = {}, {}
  for _, key in ipairs(f.sorted_keys(part)) do
    if f.plain(part[key]) then
      t[key] = boxed(part[key], json)
      order[#order + 1] = key
    end
  end
  return object(order, t)
end

-- A result as an object: fields that are not known are left out, the flags
-- are a list, and all samples are there.
local function result_object(r, json)
  local t, order = {}, {}
  local function put(key, value)
    if value ~= nil then
      t[key] = value
      order[#order + 1] = key
    end
  end
  for _, entry in ipairs(f.before) do
    put(entry[1], boxed(f.read(r, entry[2]), json))
  end
  put("shape", r.shape and plain_part(r.shape, json))
  put("params", r.params and plain_part(r.params, json))
  for _, entry in ipairs(f.after) do
    if entry[1] == "flags" then
      put("flags", setmetatable({table.unpack(r.flags or {})},
        {__jsontype = "array"}))
    else
      put(entry[1], boxed(f.read(r, entry[2]), json))
    end
  end
  put("samples_s", r.samples and number_list(r.samples))
  return object(order, t)
end

--- export_json.json(results) -> string
function M.json(results)
  local json = dkjson()
  local meta, order = {}, {}
  for i, entry in ipairs(f.meta(results)) do
    meta[entry.name], order[i] = shapes.valid(entry.value), entry.name
  end
  local list = setmetatable({}, {__jsontype = "array"})
  for i, r in ipairs(results) do
    list[i] = result_object(r, json)
  end
  return json.encode(object({"format", "format_version", "meta", "results"},
    {format = "clshell results", format_version = 1,
      meta = object(order, meta), results = list}), {indent = true}) .. "\n"
end

--- export_json.ndjson(results) -> string
function M.ndjson(results)
  local json, lines = dkjson(), {}
  for i, r in ipairs(results) do
    lines[i] = json.encode(result_object(r, json)) .. "\n"
  end
  return table.concat(lines)
end

-- Kernel Tuner's word for how a configuration ended.
local INVALIDITY = {ok = "correct", refused = "constraints",
  wrong = "correctness", failed = "runtime", interrupted = "timeout"}

local function t4_measurements(r, json)
  local list = setmetatable({}, {__jsontype = "array"})
  local function add(name, value, unit)
    if type(value) == "number" and f.finite(value) then
      list[#list + 1] = object({"name", "value", "unit"},
        {name = name, value = boxed(value, json), unit = unit})
    end
  end
  add("time", r.median and r.median * 1e3, "ms")
  add("time_min", r.min and r.min * 1e3, "ms")
  add("GFLOP/s", r.gflops, "GFLOP/s")
  add("GB/s", r.gbs, "GB/s")
  add("error", r.err, "")
  return list
end

-- The parameters; with kernels of several names also which one it is.
local function t4_configuration(r, json, kernels)
  local config = plain_part(r.params or {}, json)
  if kernels then
    config.kernel = shapes.valid(tostring(r.name))
    table.insert(getmetatable(config).__jsonorder, 1, "kernel")
  end
  return config
end

local function t4_result(r, json, kernels)
  local runtimes = {}
  for i, x in ipairs(r.samples or {}) do
    runtimes[i] = x * 1e3
  end
  local status = r.status or r.ok == false and "wrong" or "ok"
  if fields.flagged(r, "IMPOSSIBLE?") then
    status = "wrong"
  end
  return object({"timestamp", "configuration", "objectives", "times",
    "invalidity", "correctness", "measurements"}, {
    timestamp = r.time or "",
    configuration = t4_configuration(r, json, kernels),
    objectives = {"time"},
    times = {runtimes = number_list(runtimes)},
    invalidity = INVALIDITY[status] or "runtime",
    correctness = status == "ok" and 1 or 0,
    measurements = t4_measurements(r, json),
  })
end

--- export_json.t4(results) -> string
--- The T4 results file, version 1.0.0, that Kernel Tuner and its dashboard
--- read. Times are in ms there.
function M.t4(results)
  local json = dkjson()
  local list, kernels = setmetatable({}, {__jsontype = "array"}), false
  for _, r in ipairs(results) do
    kernels = kernels or r.name ~= results[1].name
  end
  for i, r in ipairs(results) do
    list[i] = t4_result(r, json, kernels)
  end
  return json.encode(object({"schema_version", "results"},
    {schema_version = "1.0.0", results = list}), {indent = true}) .. "\n"
end

return M
