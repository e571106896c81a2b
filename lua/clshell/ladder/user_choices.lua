-- ladder/user_choices.lua - the configurations that users keep for their
-- devices, as rows above the rows of choices.lua: files in clshell/choices of
-- $XDG_CONFIG_HOME, read at the first choice of a session
-- SPDX-License-Identifier: MIT
--
-- Each row is a file of its own: processes that keep rows at the same time
-- lose none, and a damaged file spoils no other.

local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local program = require "clshell.ladder.program"
local rungs = require "clshell.ladder.rung"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local FORMAT = 1 -- of a file
local NEAR = 2   -- the largest factor between a size and the measured size

local FIELDS = {family = "string", rung = "string", params = "table",
  config = "string", device = "string", driver = "string", type = "string",
  shape = "table", title = "string", time = "string"}

local rows       -- all rows of the user; nil: not read yet
local noted = {} -- files whose fault was reported

local function place()
  local config = file.folder "CONFIG"
  return config and config .. "/choices/"
end

-- The rule that a decoded file breaks, or nil.
local function fault(row)
  if type(row) ~= "table" or row.format ~= FORMAT then
    return "it is no kept choice of this version"
  end
  for name, kind in pairs(FIELDS) do
    if type(row[name]) ~= kind then
      return ("%s must be a %s; got a %s"):format(name, kind, type(row[name]))
    end
  end
  if row.note ~= nil and type(row.note) ~= "string" then
    return "note must be a string; got a " .. type(row.note)
  end
  for name, size in pairs(row.shape) do
    if type(name) ~= "string" or math.type(size) == nil
        and type(size) ~= "string" then
      return "the sizes of its shape must be numbers or words"
    end
  end
end

-- The row of a file, or nil and the reason.
local function read(path)
  local content, message = file.read(path or "")
  if not content then
    return nil, message
  end
  local row, reason = json.decode(content)
  reason = reason or fault(row)
  return not reason and row or nil, reason
end

local row_meta = {
  __tostring = function(row)
    return ("%s.%s for %s and shapes near it, on %s\n  in %s"):format(
      row.family, (row.rung .. " " .. row.config):gsub(" $", ""), row.title,
      row.device, row.path)
  end,
}

-- All rows, in the order of their files. A damaged file is reported once.
local function all()
  if rows then
    return rows
  end
  rows = {}
  local dir = place()
  local names = dir and system.folder(dir) or {}
  table.sort(names)
  for i = 1, #names do
    local path = names[i]:find "%.json$" and dir .. names[i]
    local row, reason = read(path)
    if row then
      row.path = path
      rows[#rows + 1] = setmetatable(row, row_meta)
    elseif path and not noted[path] then
      noted[path] = true
      io.stderr:write(text.message(("clshell: %s is not used: %s\n"):format(
        path, reason)))
    end
  end
  return rows
end

-- The distance of two shapes, 0 for equal sizes. nil where sizes differ by
-- more than a factor of 2, where only one shape has a size, or where words
-- differ, such as the op of reduce: words are compiled into the kernel.
local function distance(a, b)
  local sum = 0
  for name, x in pairs(a) do
    local y = b[name]
    if x ~= y then
      if not (math.type(x) and math.type(y)) or NEAR * x < y
          or NEAR * y < x then
        return nil
      end
      sum = sum + math.abs(math.log(x / y, 2))
    end
  end
  for name in pairs(b) do
    if a[name] == nil then
      return nil
    end
  end
  return sum
end

-- The rows of a family for a device, nearest shape first.
function M.near(family, s, dev)
  local list, apart, sizes = {}, {}, nil
  for _, row in ipairs(all()) do
    if row.family == family.name and row.device == dev.name
        and row.type == s.type then
      sizes = sizes or family.spec.sizes(s)
      apart[row] = distance(row.shape, sizes)
      list[#list + 1] = apart[row] and row or nil
    end
  end
  table.sort(list, function(a, b)
    return apart[a] < apart[b] or apart[a] == apart[b] and a.path < b.path
  end)
  return list
end

-- The reason against a row that was kept under other circumstances, or nil.
function M.against(family, row, dev)
  local ok, rung = interrupt.pcall(function()
    local rung = family.rung(row.rung)
    rungs.configured(rung, row.params, family.name)
    return rung
  end)
  if not ok then
    return tostring(rung.message or rung)
  elseif row.driver ~= dev.driver_version then
    return ("the driver was %s, it is %s now; tune anew"):format(row.driver,
      tostring(dev.driver_version))
  elseif row.source_hash ~= select(2, program.source(rung)) then
    return ("its kernel file changed after %s; tune anew"):format(
      row.time:sub(1, 10))
  end
end

-- Keeps a row {rung, params, config, device, driver, type, shape, title, ms,
-- source_hash, note}, which replaces an older row of the same device, type and
-- shape. Returns the row, complete.
function M.keep(family, row)
  row.format, row.family, row.version = FORMAT, family.name, cl.version
  row.time = os.date("!%Y-%m-%dT%H:%M:%SZ")
  local reason = fault(row)
  if reason then
    cl.error(("%s.keep: the result cannot be kept: %s"):format(family.name,
      reason))
  end
  local dir, ok = place(), nil
  reason = "neither XDG_CONFIG_HOME nor HOME is set"
  if dir then
    ok, reason = system.private(dir)
  end
  local words = ("%s-%s"):format(row.family, row.title):gsub("%W+", "-")
    :sub(1, 60)
  local path = dir and ("%s%s-%s.json"):format(dir, words, cachefile.hash(
    json.encode{row.device, row.type, row.shape}):sub(1, 8))
  if ok then
    ok, reason = file.replace(path, json.encode(row, true) .. "\n", "a choice")
  end
  if not ok then
    cl.error(("%s.keep: the choice is not kept: %s"):format(family.name,
      reason))
  end
  rows, row.path = nil, path
  return setmetatable(row, row_meta)
end

local listing = {
  __tostring = function(list)
    if #list == 0 then
      return "no kept choices"
    end
    return require("clshell.base.text_table").format(list, {
      {key = "title", title = "shape"}, {key = "rung", title = "kernel"},
      {key = "config", title = "parameters", wrap = true},
      {key = function(row) return row.time:sub(1, 10) end, title = "kept"},
      {key = function(row)
        return (row.note and row.note .. "; on " or "on ") .. row.device
      end, below = true},
    })
  end,
}

-- The rows of a family on all devices, as a list that prints as a table.
function M.list(family)
  local list = {}
  for _, row in ipairs(all()) do
    list[#list + 1] = row.family == family.name and row or nil
  end
  return setmetatable(list, listing)
end

-- Removes the files of rows. Returns their number.
function M.forget(list)
  for i, row in ipairs(list) do
    local ok, reason = os.remove(row.path)
    if not ok and system.kind(row.path) then
      rows = nil
      cl.error(("the choice is not forgotten: %s"):format(reason), {
        hint = ("%d of %d are"):format(i - 1, #list)})
    end
  end
  rows = nil
  return #list
end

return M
