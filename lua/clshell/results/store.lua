-- results/store.lua - the run store: every result of bench with its whole
-- record, in an SQLite file (database.lua) that outlives the session. Many
-- processes may write at once, a killed process loses no run that it kept, and
-- a foreign or damaged file is never changed.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local database = require "clshell.results.database"
local files = require "clshell.base.file"
local argument = require "clshell.base.argument"
local json = require "clshell.base.json"
local options = require "clshell.base.options"
local fields = require "clshell.results.fields"
local record = require "clshell.measure.record"
local text = require "clshell.base.text"

local M = {}
local Store = {}
Store.__index = Store

-- The fields that are columns, the columns of lists of runs, and the values
-- of INSERT.
local STORED, LISTED, VALUES = {}, {"id"}, {}
for _, field in ipairs(fields.list) do
  if field.stored then
    local name = field[1]
    STORED[#STORED + 1] = name
    LISTED[#LISTED + 1] = not field.detail and name or nil
    VALUES[#VALUES + 1] = name == "uid"
      and "coalesce(?, lower(hex(randomblob(16))))" or "?"
  end
end
local INSERT = ("INSERT OR IGNORE INTO run (%s, record, samples) "
  .. "VALUES (%s, ?, ?)"):format(table.concat(STORED, ", "),
  table.concat(VALUES, ", "))

-- The runs that have a setting. A damaged record has none.
local SETTINGS = [[SELECT * FROM (SELECT id, time, name, config, title, status,
  device, driver, source_hash,
  CASE WHEN json_valid(record) THEN json_extract(record, '$.setting') END
    AS setting,
  CASE WHEN json_valid(record) THEN json_extract(record, '$.final') END
    AS final
  FROM run WHERE ? IN (name, family)) WHERE setting IS NOT NULL
  ORDER BY time, id]]

local UNITS = {m = 60, h = 3600, d = 86400, w = 7 * 86400}

local function timestamp(seconds)
  return os.date("!%Y-%m-%dT%H:%M:%SZ", seconds)
end

--- store.moment(text) -> string, or nil and a message
--- A point in time: "7d" ago (m, h, d, w), or a date "2026-01-31", also with a
--- time of day, in UTC, "2026-01-31T12:00:00Z".
--- Example:
--- print(store.moment "2026-01-31") --> 2026-01-31
--- print(store.moment "7d")
function M.moment(s)
  s = tostring(s)
  local n, unit = s:match("^(%d+)([mhdw])$")
  if n and #n < 7 then
    return timestamp(os.time() - math.tointeger(n) * UNITS[unit])
  elseif s:find("^%d%d%d%d%-%d%d%-%d%d$")
      or s:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$") then
    return s
  end
  return nil, ("a time must be 30m, 12h, 7d or 4w (ago), or a date such as "
    .. "2026-01-31; got %s"):format(s)
end

-- A value of a column: SQLite has no tables of Lua, and lua-dbi no functions.
local function plain(value)
  if type(value) == "table" then
    return json.encode(value)
  elseif type(value) == "string" then
    return (value:gsub("%z.*", "")) -- the record keeps the whole string
  elseif type(value) == "number" then
    return value
  end
end

-- The values of a record for INSERT.
local function columns_of(r)
  local rest, values, n = {time = timestamp()}, {}, #STORED
  for key, value in pairs(r) do
    if key ~= "samples" and key ~= "id" and key ~= "uid" then
      rest[key] = value
    end
  end
  local own = {uid = r.uid}
  own.device, own.driver = record.device_of(r)
  for i, name in ipairs(STORED) do
    local apart = name == "uid" or name == "device" or name == "driver"
    values[i] = plain((apart and own or rest)[name])
  end
  values[n + 1] = json.encode(rest)
  values[n + 2] = r.samples and json.encode(r.samples)
  return table.unpack(values, 1, n + 2)
end

-- The id of a new row; false if a row has its uid; or nil and a reason.
local function insert(db, r)
  local rows, reason = db:run(INSERT, columns_of(r))
  if rows then
    rows, reason = db:run("SELECT last_insert_rowid() AS id, changes() AS n")
  end
  return rows and rows[1].n > 0 and rows[1].id, reason
end

local function failure(s, reason)
  return ("run store %s: %s"):format(s.path, reason)
end

local OFF = "the run store is switched off"
local RANK = "rank 0 alone keeps runs" -- many hosts may have one home folder

--- store.location() -> path, or nil and a reason
--- The path of the session's store: the argument of store.use, else
--- CLSHELL_STORE, else clshell/runs.db in $XDG_DATA_HOME (~/.local/share).
--- "none" means no store. Of several processes that mpirun starts, rank 0
--- alone has one.
--- Example: print(store.location())
function M.location()
  if cl.commandline and cl.commandline.rank > 0 then
    return nil, RANK
  end
  local path = M.chosen or os.getenv("CLSHELL_STORE")
  if path == "none" then
    return nil, OFF
  elseif path and path ~= "" then
    return path
  end
  local data = files.folder "DATA"
  return data and data .. "/runs.db", not data
    and "no run store: neither XDG_DATA_HOME nor HOME is set" or nil
end

--- store.open(path [, opts]) -> store, or nil and a reason
--- Opens a run store. Several processes may have it open. An older store gets
--- the columns that it lacks. A file that is damaged or of another program
--- stays as it is; a store of a newer version, or on a read-only disk, can be
--- read. Close with s:close().
--- Options:
---   create  true  false: opens an existing file only
--- Example:
--- local s <close> = assert(store.open "kept.db") -- made if there is none
--- local id = s:keep(bench.of("mine", {0.011, 0.010}))
--- print(s:get(id).name) --> mine
--- for _, run in ipairs(s:list{name = "mine", limit = 5}) do
---   print(run.id, run.time, run.median)
--- end
--- for run in s:runs{name = "mine", since = "7d"} do
---   print(run.name, run.median, #run.samples)
--- end
--- local file <close> = assert(io.open("runs.jsonl", "w"))
--- print(s:export(file, {name = "mine"}) >= 1) --> true
--- print(s:remove{[id] = true}) --> 1
function M.open(path, opts)
  if type(path) ~= "string" or path == "" or path:find("%z") then
    cl.error(("store.open: path must be the path of a file; got %s"):format(
      type(path) == "string" and ("%q"):format(path) or type(path)))
  end
  options.check(opts, "store.open")
  local db, reason = database.open(path, opts)
  if not db then
    return nil, failure({path = path}, reason)
  end
  return setmetatable({db = db, path = path, readonly = db.readonly}, Store)
end

local default, why_not -- the session's store, or why there is none

--- store.default() -> store, or nil and a reason
--- The session's store, opened at first need; see store.location.
--- Example:
--- local s, why = store.default()
--- print(s ~= nil or why)
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
--- Takes another file as the session's store from now on; "none" for no store,
--- nil for the store of the environment.
--- Example:
--- store.use "mine.db"
--- print(store.location()) --> mine.db
--- store.use(nil) -- what the environment says again
function M.use(path)
  if default then
    default:close()
  end
  M.chosen, default, why_not = path, nil, nil
end

local noted = false

--- store.keep(record) -> id, or nil and a reason
--- Keeps the record of a bench in the session's store. A failure is noted on
--- stderr, once, and costs the measurement nothing.
--- Example: print(store.keep(bench.of("mine", {0.011, 0.010})))
function M.keep(r)
  local ok, id, reason = pcall(function()
    local s, missing = M.default()
    if s then
      return s:keep(r)
    end
    return nil, missing
  end)
  if not ok then
    id, reason = nil, tostring(id):gsub("\n.*", "")
  end
  if id then
    return id
  elseif reason ~= OFF and reason ~= RANK and not noted then
    noted = true
    io.stderr:write(text.message(("clshell: results are not kept: %s\n")
      :format(reason)))
  end
  return nil, reason
end

--- s:keep(record) -> id, or nil and a reason
--- Keeps a record, in a transaction of its own: the record is on the disk when
--- this returns. The record gets the field `id`.
--- Example: as for store.open
function Store:keep(r)
  if self.readonly then
    return nil, failure(self, self.readonly)
  end
  local id, reason = nil, fields.fault(r)
  if not reason then
    id, reason = insert(self.db, r)
  end
  if not id then
    return nil, failure(self, reason or "this record is in it already")
  end
  r.id = id
  return id
end

-- Rows of a query. A failure to read raises.
function Store:query(sql, ...)
  local rows, reason = self.db:run(sql, ...)
  return rows or cl.error(failure(self, reason))
end

local WHERE = {id = "id = ?", name = "? IN (name, kernel, family)",
  device = "instr(lower(device), lower(?)) > 0", tag = "tag = ?",
  since = "time >= ?", before = "time < ?"}

-- The WHERE clause of a filter, and its parameters.
local function condition(filter)
  local parts, params = {"1"}, {}
  for name, sql in pairs(WHERE) do
    local value, message = filter[name], nil
    if value ~= nil and type(value) ~= "string" and not math.type(value) then
      cl.error(("runs: %s must be a string; got a %s"):format(name,
        type(value)))
    elseif value ~= nil and (name == "since" or name == "before") then
      value, message = M.moment(value)
    end
    parts[#parts + 1] = value ~= nil and sql or nil
    params[#params + 1] = value or message and cl.error(message)
  end
  return table.concat(parts, " AND "), params
end

-- The run; nil for a run with a fault, with one note on stderr for each store.
local function sound(s, id, r, fault)
  if fault and not s.noted then
    s.noted = true
    io.stderr:write(text.message(("clshell: %s: damaged runs are left out; "
      .. "run %d: %s\n"):format(s, id, fault)))
  end
  return not fault and r or nil
end

-- The columns of a list of runs that the store's file has: an earlier or a
-- later version on a read-only disk may lack some columns.
local function listed(db)
  local names = {}
  for _, name in ipairs(LISTED) do
    names[#names + 1] = db.columns[name] and name or nil
  end
  return table.concat(names, ", ")
end

--- s:list(filter) -> list
--- The runs of a filter, oldest first, without samples and details: tables
--- with id, time, tag, name, family, kernel, config, title, type, mode,
--- status, shape (as text), device, driver (as text), source_hash, options and
--- median. Damaged runs are left out, with a note on stderr.
--- Options:
---   name    all  a name such as "gemm.tiled", a kernel or a family
---   device  all  part of a device's name
---   tag     all  a tag of the runs
---   since, before  all  moments, see store.moment
---   id      all  the number of a run
---   limit   all  only so many of the newest runs
--- Example: as for store.open
function Store:list(filter)
  options.check(filter, "s:list", "runs")
  filter = filter or {}
  local limit = filter.limit
    and argument.integer("runs", "limit", filter.limit, 0) or -1
  local where, params = condition(filter)
  params[#params + 1] = limit
  local list = {}
  for _, row in ipairs(self:query(("SELECT * FROM (SELECT %s FROM run WHERE "
      .. "%s ORDER BY time DESC, id DESC LIMIT ?) ORDER BY time, id"):format(
      listed(self.db), where), table.unpack(params))) do
    list[#list + 1] = sound(self, row.id, row, fields.fault(row))
  end
  return list
end

-- s:settings(name) -> list
-- The runs of a bench or a family that have a setting, a hash of all
-- conditions of a run, oldest first: tables with id, time, name, config,
-- title, status, device, driver, source_hash, setting and final.
function Store:settings(name)
  return self:query(SETTINGS, name)
end

-- s:remember(key, words) -> true, or nil and a reason
-- Keeps a text under a key, in place of an earlier text.
function Store:remember(key, words)
  if self.readonly then
    return nil, failure(self, self.readonly)
  end
  local done, reason = self.db:run("CREATE TABLE IF NOT EXISTS note "
    .. "(key TEXT PRIMARY KEY, words TEXT NOT NULL)")
  if done then
    done, reason = self.db:run("INSERT OR REPLACE INTO note VALUES (?, ?)",
      key, words)
  end
  return done and true, reason and failure(self, reason)
end

-- s:remembered(key) -> words, or nil
-- The text that was kept under a key.
function Store:remembered(key)
  local rows = self.db:run("SELECT words FROM note WHERE key = ?", key)
  return rows and rows[1] and rows[1].words
end

-- The record of a run by its number, or nil; nil and a fault where the record
-- is damaged.
local function read(s, id)
  local row = s:query("SELECT id, uid, record, samples FROM run "
    .. "WHERE id = ?", id)[1]
  if not row then
    return nil
  end
  local r, reason = json.decode(tostring(row.record))
  if type(r) ~= "table" then
    return nil, reason or "no record"
  end
  r.id, r.uid = row.id, row.uid
  r.samples = row.samples and json.decode(tostring(row.samples))
  local fault = fields.fault(r)
  return not fault and r or nil, fault
end

--- s:get(id) -> record, or nil
--- The record of a run by its number, as it was kept, with its id and uid.
--- Example: as for store.open
function Store:get(id)
  local r, fault = read(self, id)
  if fault then
    cl.error(failure(self, ("run %d is damaged: %s"):format(id, fault)))
  end
  return r
end

-- s:usable(id) -> record, or nil
-- The record of a run by its number; a damaged record is nil, with a note on
-- stderr.
function Store:usable(id)
  return sound(self, id, read(self, id))
end

--- s:runs(filter) -> iterator
--- The records of a filter (see s:list), oldest first:
--- for r in s:runs{tag = "v1"} do ....
--- Example: as for store.open
function Store:runs(filter)
  local rows, i = self:list(filter), 0
  return function()
    local r
    repeat -- another process may have pruned a run meanwhile
      i = i + 1
      r = rows[i] and self:usable(rows[i].id)
    until r or i > #rows
    return r
  end
end

--- s:remove(ids) -> count
--- Forgets the runs whose numbers are the keys of a table, all or none.
--- Example: as for store.open
function Store:remove(ids)
  self:query("DELETE FROM run WHERE id IN (SELECT value FROM json_each(?))",
    json.encode(json.list(text.keys(ids))))
  return self:query("SELECT changes() AS n")[1].n
end

--- s:export(file [, filter]) -> count
--- Writes whole records to an open file, one JSON object a line, for s:import.
--- Example: as for store.open
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

--- s:import(file) -> count of new runs, count of runs known before
--- Takes in a file of s:export, all of it or nothing: a line that is no record
--- raises.
--- Example:
--- local a <close> = assert(store.open "a.db")
--- a:keep(bench.of("mine", {0.25}))
--- local file <close> = assert(io.tmpfile())
--- a:export(file)
--- file:seek("set")
--- local b <close> = assert(store.open "b.db")
--- print((b:import(file)) >= 1) --> true
function Store:import(file)
  if self.readonly then
    cl.error(failure(self, self.readonly))
  end
  local added, known, number = 0, 0, 0
  local done, why = self.db:transaction(function()
    for line in file:lines() do
      number = number + 1
      local r, message = json.decode(line)
      if type(r) ~= "table" or next(r) == nil or r[1] ~= nil then
        cl.error(("line %d must be a run; got %s"):format(number,
          message or "no object"))
      end
      local fault = fields.fault(r)
      if fault then
        cl.error(("line %d: %s"):format(number, fault))
      end
      local id, reason = insert(self.db, r)
      if id == nil then
        return nil, reason
      end
      added, known = added + (id and 1 or 0), known + (id and 0 or 1)
    end
    return true
  end)
  if not done then
    cl.error(failure(self, why))
  end
  return added, known
end

--- s:close()
--- Closes the store; closing twice is fine.
--- Example:
--- local s = assert(store.open "kept.db")
--- s:close()
function Store:close()
  self.db:close()
end

Store.__close = Store.close
Store.__tostring = function(s) return "run store " .. s.path end

for _, name in ipairs{"history", "best", "prune", "compare"} do
  Store[name] = function(...)
    return require "clshell.results.history"[name](...)
  end
end

return M
