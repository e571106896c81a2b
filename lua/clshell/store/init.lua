-- store/init.lua - the run store: every bench, with all that is known of it,
-- in an SQLite file that outlives the session
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local database = require "clshell.store.database"
local json = require "clshell.base.json"
local options = require "clshell.base.options"

local M = {}
local Store = {}
Store.__index = Store

-- Columns that are fields of the record, and those made from it.
local FIELDS = {"time", "tag", "name", "family", "kernel", "config", "title",
  "type", "mode", "status", "source_hash", "options", "protocol", "median"}
local LIGHT = "id, time, tag, name, family, kernel, config, title, type, "
  .. "mode, status, shape, device, driver, source_hash, options, median"

local UNITS = {m = 60, h = 3600, d = 86400, w = 7 * 86400}

local function timestamp(seconds)
  return os.date("!%Y-%m-%dT%H:%M:%SZ", seconds)
end

--- store.moment(text) -> string, or nil and a message
--- A point in time: "7d" ago (m, h, d, w), or a date "2026-01-31", or that
--- with a time of day, in UTC, "2026-01-31T12:00:00Z".
function M.moment(s)
  s = tostring(s)
  local n, unit = s:match("^(%d+)([mhdw])$")
  if n and #n < 7 then
    return timestamp(os.time() - math.tointeger(n) * UNITS[unit])
  elseif s:find("^%d%d%d%d%-%d%d%-%d%d$")
      or s:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$") then
    return s
  end
  return nil, ("'%s' is no time: 30m, 12h, 7d, 4w ago, or 2026-01-31")
    :format(s)
end

local function moment(s)
  local at, message = M.moment(s)
  return at or cl.error(message)
end

local function device_of(r)
  local d = r.device
  if type(d) == "table" then
    return d.name, d.driver
  end
  return type(d) == "string" and d or nil, nil
end

-- What a column takes: SQLite has no tables of Lua, and lua-dbi no functions.
local function plain(value)
  if type(value) == "table" then
    return json.encode(value)
  elseif type(value) == "string" then
    return (value:gsub("%z.*", "")) -- the whole of it is in the record
  elseif type(value) == "number" then
    return value
  end
end

local NAMES, MARKS = {"uid", table.unpack(FIELDS)}, {}
for _, name in ipairs{"params", "shape", "device", "driver", "record",
  "samples"} do
  NAMES[#NAMES + 1] = name
end
for i in ipairs(NAMES) do
  MARKS[i] = "?"
end
local INSERT = ("INSERT OR IGNORE INTO run (%s) VALUES "
  .. "(coalesce(?, lower(hex(randomblob(16)))), %s)"):format(
  table.concat(NAMES, ", "), table.concat(MARKS, ", ", 2))

-- The values of a record's columns, in the order of NAMES.
local function columns_of(r)
  local rest = {}
  for key, value in pairs(r) do
    if key ~= "samples" and key ~= "id" and key ~= "uid" then
      rest[key] = value
    end
  end
  rest.time = rest.time or timestamp()
  local values = {plain(r.uid)}
  for i, name in ipairs(FIELDS) do
    values[i + 1] = plain(rest[name])
  end
  local n = #FIELDS + 1
  values[n + 1], values[n + 2] = plain(r.params), plain(r.shape)
  local name, driver = device_of(r)
  values[n + 3], values[n + 4] = plain(name), plain(driver)
  values[n + 5] = json.encode(rest)
  values[n + 6] = r.samples and json.encode(r.samples)
  return table.unpack(values, 1, n + 6)
end

-- The id of a new row, false for one that was there, or nil and a reason.
local function insert(db, r)
  local ok, reason = db:run(INSERT, columns_of(r))
  if not ok then
    return nil, reason
  end
  local rows
  rows, reason = db:run("SELECT last_insert_rowid() AS id, changes() AS n")
  if not rows then
    return nil, reason
  end
  return rows[1].n > 0 and rows[1].id
end

local OFF = "the run store is switched off"

--- store.location() -> path, or nil and a reason
--- Where the session's store lies: what store.use said, else CLSHELL_STORE,
--- else clshell/runs.db in $XDG_DATA_HOME (~/.local/share). "none" is none.
function M.location()
  local path = M.chosen or os.getenv("CLSHELL_STORE")
  if path == "none" then
    return nil, OFF
  elseif path and path ~= "" then
    return path
  end
  local base = os.getenv("XDG_DATA_HOME")
  if not base or base:sub(1, 1) ~= "/" then
    local home = os.getenv("HOME")
    if not home or home == "" then
      return nil, "no run store: neither XDG_DATA_HOME nor HOME is set"
    end
    base = home .. "/.local/share"
  end
  return base .. "/clshell/runs.db"
end

--- store.open(path [, opts]) -> store, or nil and a reason
--- Opens a run store. Several processes may have it open. A file that is
--- damaged, of another program or of a newer version is left as it is; one
--- on a read-only disk can be read. Close with s:close().
--- Options:
---   create  true  false: only if there is one
function M.open(path, opts)
  if type(path) ~= "string" or path == "" or path:find("%z") then
    cl.error("store.open: the path of a file expected")
  end
  options.check(opts, "store.open")
  local db, reason = database.open(path, opts)
  if not db then
    return nil, ("run store %s: %s"):format(path, reason)
  end
  return setmetatable({db = db, path = path, readonly = db.readonly}, Store)
end

local default, why_not -- the session's store, or why there is none

--- store.default() -> store, or nil and a reason
--- The session's store, opened at first need; see store.location.
function M.default()
  if not default and not why_not then
    local path, reason = M.location()
    if path then
      default, reason = M.open(path)
    end
    why_not = reason
  end
  return default, why_not
end

--- store.use(path)
--- Takes another file as the session's store from now on; "none" for none,
--- nil for the one that the environment says.
function M.use(path)
  if default then
    default:close()
  end
  M.chosen, default, why_not = path, nil, nil
end

local noted = false

local function note(reason)
  if not noted then
    noted = true
    io.stderr:write("clshell: results are not kept: ", reason, "\n")
  end
end

--- store.keep(record) -> id, or nil and a reason
--- Keeps the record of a bench in the session's store. A failure is noted on
--- stderr, once, and costs the measurement nothing.
function M.keep(r)
  local s, reason = M.default()
  if not s then
    if reason ~= OFF then
      note(reason)
    end
    return nil, reason
  end
  local id
  id, reason = s:keep(r)
  if not id then
    note(reason)
    return nil, reason
  end
  return id
end

--- s:keep(record) -> id, or nil and a reason
--- Keeps a record, in a transaction of its own: when this returns it is on
--- the disk. The record gets the field `id`.
function Store:keep(r)
  if self.readonly then
    return nil, ("run store %s: %s"):format(self.path, self.readonly)
  end
  local id, reason = insert(self.db, r)
  if not id then
    return nil, ("run store %s: %s"):format(self.path,
      reason or "this record is in it already")
  end
  r.id = id
  return id
end

-- Rows of a query; what fails in reading is raised.
function Store:query(sql, ...)
  local rows, reason = self.db:run(sql, ...)
  return rows or cl.error(("run store %s: %s"):format(self.path, reason))
end

-- WHERE of a filter, and its parameters.
local function condition(filter)
  local parts, params = {"1"}, {}
  local function add(sql, ...)
    parts[#parts + 1] = sql
    for _, value in ipairs{...} do
      params[#params + 1] = value
    end
  end
  if filter.id then
    add("id = ?", filter.id)
  end
  if filter.name then
    add("(name = ? OR kernel = ? OR family = ?)", filter.name, filter.name,
      filter.name)
  end
  if filter.device then
    add("instr(lower(device), lower(?)) > 0", filter.device)
  end
  if filter.tag then
    add("tag = ?", filter.tag)
  end
  if filter.since then
    add("time >= ?", moment(filter.since))
  end
  if filter.before then
    add("time < ?", moment(filter.before))
  end
  return table.concat(parts, " AND "), params
end

--- s:list(filter) -> list
--- What there is, oldest first, without samples and details: tables with id,
--- time, tag, name, family, kernel, config, title, type, mode, status, shape
--- (as text), device, driver (as text), source_hash, options and median.
--- Filter: name (of a bench, a kernel or a family), device (part of its
--- name), tag, since and before (see store.moment), id, and limit, so many of
--- the newest.
function Store:list(filter)
  options.check(filter, "runs")
  filter = filter or {}
  local limit = filter.limit or -1
  if math.type(limit) ~= "integer" then
    cl.error(("runs: limit is a whole number, not %s"):format(
      tostring(limit)))
  end
  local where, params = condition(filter)
  params[#params + 1] = limit
  return self:query(("SELECT * FROM (SELECT %s FROM run WHERE %s ORDER BY "
    .. "time DESC, id DESC LIMIT ?) ORDER BY time, id"):format(LIGHT, where),
    table.unpack(params))
end

--- s:get(id) -> record, or nil
--- The record that was kept under a number, as it was, and its id and uid.
function Store:get(id)
  local row = self:query("SELECT id, uid, record, samples FROM run "
    .. "WHERE id = ?", id)[1]
  if not row then
    return nil
  end
  local r, reason = json.decode(row.record)
  if type(r) ~= "table" then
    cl.error(("run store %s: run %d is damaged: %s"):format(self.path, row.id,
      reason or "no record"))
  end
  r.id, r.uid = row.id, row.uid
  r.samples = row.samples and json.decode(row.samples)
  return r
end

--- s:runs(filter) -> iterator
--- The records kept, oldest first: for r in s:runs{tag = "v1"} do .... For
--- the filter see s:list.
function Store:runs(filter)
  local rows, i = self:list(filter), 0
  return function()
    local r
    repeat -- one may have been pruned meanwhile
      i = i + 1
      r = rows[i] and self:get(rows[i].id)
    until r or i > #rows
    return r
  end
end

--- s:remove(ids) -> count
--- Forgets the runs whose numbers are the keys of a table, all or none.
function Store:remove(ids)
  local count = 0
  local ok, reason = self.db:transaction(function()
    for id in pairs(ids) do
      local done, why = self.db:run("DELETE FROM run WHERE id = ?", id)
      if not done then
        return nil, why
      end
      count = count + 1
    end
    return true
  end)
  if not ok then
    cl.error(("run store %s: %s"):format(self.path, reason))
  end
  return count
end

--- s:export(file [, filter]) -> count
--- Writes records with everything in them to an open file, one JSON object a
--- line; s:import reads them.
function Store:export(file, filter)
  local count = 0
  for r in self:runs(filter) do
    r.id = nil
    local ok, message = file:write(json.encode(r), "\n")
    if not ok then
      cl.error("cannot write the runs: " .. message)
    end
    count = count + 1
  end
  return count
end

--- s:import(file) -> count, count of those that were there already
--- Takes in what s:export has written, all or nothing: a line that is no
--- record is an error.
function Store:import(file)
  if self.readonly then
    cl.error(("run store %s: %s"):format(self.path, self.readonly))
  end
  local added, known, number = 0, 0, 0
  local ok, reason = self.db:transaction(function()
    for line in file:lines() do
      number = number + 1
      local r, message = json.decode(line)
      if type(r) ~= "table" or next(r) == nil or r[1] ~= nil then
        cl.error(("line %d is no run: %s"):format(number,
          message or "no object"))
      end
      local id, why = insert(self.db, r)
      if id == nil then
        return nil, why
      end
      added, known = added + (id and 1 or 0), known + (id and 0 or 1)
    end
    return true
  end)
  if not ok then
    cl.error(("run store %s: %s"):format(self.path, reason))
  end
  return added, known
end

--- s:close()
--- Closes the store; closing twice is fine.
function Store:close()
  self.db:close()
end

Store.__close = Store.close
Store.__tostring = function(s) return "run store " .. s.path end

-- What is read out of a store has files of its own.
for name, module in pairs{history = "history", best = "history",
  prune = "history", compare = "regression"} do
  Store[name] = function(self, ...)
    return require("clshell.store." .. module)[name](self, ...)
  end
end

return M
