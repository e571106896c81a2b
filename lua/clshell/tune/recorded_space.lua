-- tune/recorded_space.lua - spaces that were measured before, as files that a
-- search replays: CSV and Kernel Tuner's cache files, to read and to write
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local file = require "clshell.base.file"
local json = require "clshell.base.json"
local space = require "clshell.tune.space"
local text = require "clshell.base.text"

local M = {}

local TIME = {ms = 1, ["time"] = 1, time_ms = 1, runtime = 1}
local OTHER = {status = true, reason = true, rung = false}

local function fail(path, message, ...)
  cl.error(("tune: %s: %s"):format(path, message:format(...)))
end

-- The cells of a line of CSV.
local function cells(line)
  local list, at = {}, 1
  repeat
    local cell, quoted = line:match("^([^,]*)", at), line:find('^"', at)
    if quoted then
      local parts = {}
      repeat -- a quote in a quoted cell is written twice
        parts[#parts + 1], at = line:match('^"([^"]*)"?()', at)
      until not line:find('^"', at)
      cell = table.concat(parts, '"')
    end
    list[#list + 1] = cell
    at = (line:find(",", at, true) or #line + 1) + 1
  until at > #line + 1
  return list
end

-- A value of a parameter from text.
local function value(s)
  if s == "true" or s == "false" then
    return s == "true"
  end
  return math.tointeger(tonumber(s)) or tonumber(s) or s
end

local function from_csv(content, path)
  local names, time, rows, number = nil, nil, {}, 0
  for line in content:gmatch "[^\r\n]+" do
    local list = cells(line)
    number = number + 1
    if not names then
      names = list
      for i, name in ipairs(list) do
        time = time or TIME[name:lower()] and i
      end
      if not time then
        fail(path, "no column is called ms or time; there are: %s",
          table.concat(list, ", "))
      end
    elseif #list ~= #names then
      fail(path, "line %d has %d cells, the head %d", number, #list, #names)
    else
      local row = {point = {}}
      for i, name in ipairs(names) do
        if i == time then
          row.ms = tonumber(list[i])
        elseif OTHER[name] then
          row[name] = list[i] ~= "" and list[i] or nil
        else
          row.point[name] = value(list[i])
        end
      end
      rows[#rows + 1] = row
    end
  end
  local order = {}
  for i, name in ipairs(names or {}) do
    if i ~= time and not OTHER[name] then
      order[#order + 1] = name
    end
  end
  return rows, order
end

-- The rows of Kernel Tuner's cache, a table whose keys are the values' texts.
local function from_cache(data, path)
  local names = data.tune_params_keys
  if type(names) ~= "table" then
    fail(path, "tune_params_keys is missing")
  end
  local rows = {}
  for _, key in ipairs(text.keys(data.cache)) do
    local entry, row = data.cache[key], {point = {}}
    for _, name in ipairs(names) do
      row.point[name] = entry[name]
    end
    row.ms = type(entry.time) == "number" and entry.time or nil
    row.reason = type(entry.time) == "string" and entry.time or nil
    rows[#rows + 1] = row
  end
  return rows, names
end

-- The rows of a text that is JSON.
local function from_json(content, path)
  local data, why = json.decode(content)
  if data == nil then -- Kernel Tuner leaves an unfinished cache open
    data = json.decode((content:gsub(",%s*$", "")) .. "}}")
  end
  if type(data) ~= "table" or type(data.cache) ~= "table" then
    fail(path, "%s", why or "is no cache file of Kernel Tuner")
  end
  return from_cache(data, path)
end

local function content_of(path)
  if type(path) ~= "string" then
    cl.error(("tune: replay must be the path of a file; got a %s"):format(
      type(path)))
  end
  local f, message = file.open(path)
  local content = f and f:read "a"
  if not content then
    cl.error("tune: cannot read " .. (message or path))
  end
  f:close()
  return (content:gsub("^\xef\xbb\xbf", "")) -- a byte order mark
end

--- recorded_space.read(path) -> rows, names
--- The rows of a file, {point, ms, status, reason}, and the names of its
--- parameters: a cache file of Kernel Tuner, or CSV with a column of each
--- parameter and a column "ms" or "time", in ms. An empty cell or a word there
--- says that the configuration failed.
function M.read(path)
  local content = content_of(path)
  local rows, names = (content:find "^%s*{" and from_json or from_csv)(content,
    path)
  if #rows == 0 then
    fail(path, "no configuration is in it")
  elseif #names == 0 then
    fail(path, "no parameter is in it")
  end
  for i, row in ipairs(rows) do
    if row.ms and not (row.ms > 0 and row.ms < math.huge) then
      row.ms, row.reason = nil, row.reason or "time " .. row.ms
    end
    row.status = row.status or row.ms and "ok" or "failed"
    for _, name in ipairs(names) do
      if type(row.point[name]) == "table" or row.point[name] == nil then
        fail(path, "configuration %d has no value of %s", i, name)
      end
    end
  end
  return rows, names
end

-- Numbers by their size before other values.
local function before(a, b)
  local x, y = math.type(a), math.type(b)
  if x and y then
    return a < b
  elseif x or y then
    return x ~= nil
  end
  return tostring(a) < tostring(b)
end

-- The parameters of rows by their names: {name, values} each.
local function parameters(rows, names)
  local params = {}
  for i, name in ipairs(names) do
    local values, seen = {}, {}
    for _, row in ipairs(rows) do
      local v = row.point[name]
      values[#values + 1] = not seen[v] and v or nil
      seen[v] = true
    end
    table.sort(values, before)
    params[i] = {name, values}
  end
  return params
end

--- recorded_space.source(path) -> source
--- The configurations of a file; each measurement answers with its row. A
--- point that is there twice has its last row.
function M.source(path)
  local rows, names = M.read(path)
  local points, by_number = {}, {}
  for i, row in ipairs(rows) do
    points[i] = row.point
  end
  local src = {space = space.of(parameters(rows, names), points),
    name = path:match "([^/]*)$", title = "recorded", out = {},
    recorded = true, first = {}}
  for _, row in ipairs(rows) do
    by_number[src.space:number(row.point)] = row
  end
  function src:split(p) -- luacheck: ignore 212
    return p
  end
  function src:refusal() end -- luacheck: ignore 212
  function src:measure(p)
    local row = by_number[self.space:number(p)]
    return {status = row.status, reason = row.reason, ms = row.ms, n = 1}
  end
  return src
end

-- The names of the parameters of a result, the rung first.
local function names_of(result)
  local names = {}
  for i, param in ipairs(result.space.params) do
    names[i] = param.name
  end
  return names
end

local parameter = evaluation.parameter

local function as_csv(result)
  local export, columns = require "clshell.results.export", {}
  for i, name in ipairs(names_of(result)) do
    columns[i] = {name, function(row)
      return parameter(row, name)
    end}
  end
  for _, name in ipairs{"ms", "status", "reason"} do
    columns[#columns + 1] = {name, name}
  end
  return export.csv(columns, result.rows)
end

local function as_cache(result)
  local names, entries, lists = names_of(result), {}, {}
  local seen = {}
  for i, name in ipairs(names) do
    seen[i], lists[i] = {}, {name, json.list{}}
  end
  for i, row in ipairs(result.rows) do
    local members, key = {}, {}
    for k, name in ipairs(names) do
      local v = parameter(row, name)
      v = v == nil and "" or v
      if not seen[k][v] then
        seen[k][v] = true
        table.insert(lists[k][2], v)
      end
      members[k], key[k] = {name, v}, tostring(v)
    end
    members[#members + 1] = {"time", row.ms or "InvalidConfig"}
    entries[i] = {table.concat(key, ","), json.object(members)}
  end
  return json.encode(json.object{{"kernel_name", result.name},
    {"tune_params_keys", json.list(names)},
    {"tune_params", json.object(lists)},
    {"cache", json.object(entries)}}, true) .. "\n"
end

--- recorded_space.save(result, path)
--- Writes the rows of a result: as a cache file of Kernel Tuner to a name that
--- ends in .json, else as CSV.
function M.save(result, path)
  local write = path:find "%.json$" and as_cache or as_csv
  file.write(path, write(result), "the configurations")
end

return M
