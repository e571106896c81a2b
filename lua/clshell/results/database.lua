-- results/database.lua - the SQLite file of the run store, through lua-dbi; it
-- is shared with other processes, and leaves a foreign file untouched
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local fields = require "clshell.results.fields"
local file = require "clshell.base.file"
local search = require "clshell.base.search"
local system = require "clshell.system"

local M = {}
local Database = {}
Database.__index = Database

local APPLICATION = 0x434c5348 -- "CLSH" in the header tells our files
local VERSION = 1              -- the tables' version; a new column keeps it
local PATIENCE = 2000 -- ms that SQLite waits for other processes
local WAIT = 10       -- s in all: at times SQLite does not wait by itself
local NONE = "there is none yet"
local NO_SQLITE = "it is not an SQLite file, or a damaged one"
local LEAST = 512              -- bytes of the smallest SQLite file
local CHECKED = 64 * 2^20      -- the largest file that is checked in full

-- Filters search the columns, which fields.lua lists; `record` holds the whole
-- record but its samples. Both are JSON text, not blobs: the sqlite3 shell and
-- its JSON functions read text, and lua-dbi returns neither bytes after a NUL
-- nor 64-bit integers.
local function schema()
  local columns = {"id INTEGER PRIMARY KEY AUTOINCREMENT"}
  for _, field in ipairs(fields.list) do
    columns[#columns + 1] = field.stored and ("%s %s"):format(field[1],
      field.stored)
  end
  columns[#columns + 1] = "record TEXT NOT NULL"
  columns[#columns + 1] = "samples TEXT"
  return {("CREATE TABLE run (%s)"):format(table.concat(columns, ", ")),
    "CREATE INDEX run_name ON run (name, device, time)",
    "CREATE INDEX run_tag ON run (tag)",
    "CREATE INDEX run_time ON run (time)",
    ("PRAGMA application_id = %d"):format(APPLICATION),
    ("PRAGMA user_version = %d"):format(VERSION)}
end

-- Makes the file and a missing folder, both private. Of folders only clshell's
-- own gets new permissions.
local function make_private(path)
  local dir = path:match("^(.+)/[^/]*$")
  if dir and (dir == file.folder "DATA" or not system.kind(dir)) then
    local made, reason = system.private(dir .. "/")
    if not made then
      return nil, "folder " .. reason
    end
  end
  local made, reason = system.private(path)
  return made, reason and reason:gsub("^.*: ", "")
end

-- The bytes in a file; 0 for a missing file.
local function size_of(path)
  local kind, size = system.kind(path)
  return kind == "file" and size or 0
end

-- A message of SQLite without the words of lua-dbi.
local function short(message)
  message = tostring(message):gsub("^.*DBI%.lua:%d+: ", "")
  for _, before in ipairs{"Execute failed ", "Fetch failed ",
    "Failed to connect to database: ", "Error preparing statement handle: ",
    "Error binding statement parameters: "} do
    message = message:gsub("^" .. before, "")
  end
  if message:find("not a database") then
    return NO_SQLITE
  elseif message:find("malformed") then
    return "the file is damaged (" .. message .. ")"
  elseif message:find("locked") then
    return "another process keeps it locked"
  end
  return message
end

local function is_busy(message)
  return message:find("is locked", 1, true) or message:find("busy", 1, true)
end

local function fetch(statement, params)
  local ok, message = statement:execute(table.unpack(params, 1, params.n))
  if not ok then
    return nil, tostring(message)
  end
  local rows = {}
  if #(statement:columns() or {}) > 0 then
    for row in statement:rows(true) do
      rows[#rows + 1] = row
    end
  end
  return rows
end

-- Runs one statement, once. lua-dbi raises a failure in the middle of a
-- result; `params` stays in this frame, as SQLite does not copy strings.
local function attempt(connection, sql, params)
  local statement, message = connection:prepare(sql)
  if not statement then
    return nil, tostring(message)
  end
  local ok, rows, reason = pcall(fetch, statement, params)
  pcall(statement.close, statement)
  if ok then
    return rows, reason
  elseif type(rows) ~= "string" or rows:find("interrupted!", 1, true) then
    error(rows, 0) -- Ctrl-C
  end
  return nil, rows
end

--- db:run(sql, ...) -> list of rows, or nil and a reason
--- Runs one statement with its parameters. Waits for other processes.
function Database:run(sql, ...)
  local params = table.pack(...)
  local rows, message
  if not self.connection then
    return nil, "it is closed"
  end
  local stop = cl.now() + WAIT
  repeat
    rows, message = attempt(self.connection, sql, params)
    local again = not rows and is_busy(message) and cl.now() < stop
    if again then
      cl.sleep(0.005)
    end
  until not again
  return rows, message and short(message)
end

--- db:transaction(f) -> result of f, or nil and a reason
--- Calls f() in a transaction and returns its first result. A nil result, or
--- an error, undoes the changes.
function Database:transaction(f)
  local begun, reason = self:run("BEGIN IMMEDIATE")
  if not begun then
    return nil, reason
  end
  local ok, result, message = pcall(f)
  local done
  if ok and result ~= nil then
    done, message = self:run("COMMIT")
  end
  if not done then
    self:run("ROLLBACK") -- fails where SQLite has done it already
  end
  if not ok then
    error(result, 0)
  end
  return done and result or nil, message
end

--- db:close()
--- Closes the file; closing twice is fine.
function Database:close()
  if self.connection then
    self.connection:close()
    self.connection = nil
  end
end

Database.__close = Database.close
Database.__gc = Database.close

-- Ends M.open with the reason why the file is no store to use.
local function refuse(reason)
  error({refused = reason}, 0)
end

-- The rows of a statement of M.open.
local function must(db, sql)
  local rows, reason = db:run(sql)
  return rows or refuse(reason)
end

-- The result of a PRAGMA, which may have an argument.
local function pragma(db, words)
  return must(db, "PRAGMA " .. words)[1][words:match "^[%w_]+"]
end

-- Calls f(db) in a transaction.
local function as_one(db, f)
  local done, reason = db:transaction(function()
    f(db)
    return true
  end)
  return done or refuse(reason)
end

-- Opens a connection, in which every statement is a transaction unless one is
-- begun, and makes it ready by prepare(db). Returns it, or nil and a reason.
local function connect(driver, path, flags, prepare)
  local ok, connection, message = pcall(driver.New, path, flags)
  if not ok or not connection then
    return nil, short(ok and message or connection)
  end
  connection:autocommit(true)
  local db = setmetatable({path = path, connection = connection}, Database)
  db:run(("PRAGMA busy_timeout = %d"):format(PATIENCE))
  local ready, e = pcall(prepare, db)
  if ready then
    return db
  end
  db:close()
  return nil, type(e) == "table" and e.refused or error(e, 0)
end

local function create_tables(db)
  if #must(db, "SELECT name FROM sqlite_master") == 0 then
    for _, sql in ipairs(schema()) do
      must(db, sql)
    end
  end -- else another process was faster
end

-- Notes the columns that the table has, as db.columns. Returns the fields
-- without a column.
local function missing(db)
  local list = {}
  db.columns = {}
  for _, row in ipairs(must(db, "PRAGMA table_info(run)")) do
    db.columns[row.name] = true
  end
  for _, field in ipairs(fields.list) do
    list[#list + 1] = field.stored and not db.columns[field[1]] and field
      or nil
  end
  return list
end

-- Gives an older store the columns that it lacks, filled from the records.
local function migrate(db)
  for _, field in ipairs(missing(db)) do -- another process may have been
    local name = field[1]                -- faster
    must(db, ("ALTER TABLE run ADD COLUMN %s %s"):format(name, field.stored))
    must(db, ("UPDATE run SET %s = json_extract(record, '$.%s') "
      .. "WHERE json_valid(record)"):format(name, name))
  end
  missing(db)
end

-- The statement that tells the kind of a file: a single statement, as another
-- process may make the tables between two.
local KIND = "SELECT application_id, user_version, "
  .. "(SELECT count(*) FROM sqlite_master) AS tables "
  .. "FROM pragma_application_id, pragma_user_version"

-- The kind of a file: "new", "store" or "newer" (a store of a later version).
-- SQLite has undone the whole content of a new file whose maker was killed
-- before the first commit was complete.
local function kind_of(db)
  local row = must(db, KIND)[1]
  if row.application_id == 0 and row.tables == 0 then
    return "new"
  elseif row.application_id ~= APPLICATION then
    refuse "it is the SQLite file of another program"
  elseif row.user_version == 0 then
    refuse "it has no schema of clshell"
  end
  return row.user_version > VERSION and "newer" or "store"
end

-- Refuses a store whose contents are damaged.
local function check(db)
  local size = size_of(db.path)
  if size % pragma(db, "page_size") > 0 and size_of(db.path .. "-wal") == 0
      and size_of(db.path .. "-journal") == 0
  then -- SQLite completes a file only from the log of a process that died
    refuse "the file is damaged (cut off within a page)"
  end
  local found = size <= CHECKED and pragma(db, "quick_check(1)") or "ok"
  if found ~= "ok" then
    refuse("the file is damaged (" .. found .. ")")
  end
  must(db, "SELECT id FROM run ORDER BY id DESC LIMIT 1")
end

-- Makes an open store ready: private, with all tables and columns, in the mode
-- for several writers. `create` allows a new or empty file; a newer store, or
-- a file that cannot be written for the reason `readonly`, is read only.
local function make_ready(db, create, readonly)
  local kind = kind_of(db)
  if kind == "new" and not create then
    refuse(NONE)
  elseif kind == "new" then
    as_one(db, create_tables)
  end
  check(db)
  local lacking = missing(db)
  db.readonly = readonly or kind == "newer" and "a newer clshell wrote it"
  if db.readonly then
    db:run "PRAGMA query_only = 1"
    return
  end
  make_private(db.path)
  if #lacking > 0 then
    as_one(db, migrate)
  end
  -- On some network disks there can be no WAL: SQLite keeps its journal.
  must(db, "PRAGMA journal_mode = WAL")
end

-- Opens a file on a read-only disk as a file that nobody changes: SQLite
-- cannot keep its shared memory beside it.
local function open_fixed(driver, path)
  if size_of(path .. "-wal") > 0 then
    return nil, "the disk is read-only, and the last runs are not yet in the "
      .. "main file"
  end
  local uri = "file:" .. path:gsub("[%%?#]", function(c)
    return ("%%%02x"):format(c:byte())
  end) .. "?immutable=1"
  return connect(driver, uri, driver.SQLITE_OPEN_READONLY
    | driver.SQLITE_OPEN_URI, function(db)
      db.path = path
      make_ready(db, false, "the file or its disk is read-only")
    end)
end

--- database.open(path [, opts]) -> db, or nil and a reason
--- Opens a run store, which this user alone may read from then on. A missing
--- file is made, with its folder; {create = false} refuses instead. An older
--- store gets the columns that it lacks. A damaged or foreign file stays as it
--- is, byte for byte. A store of a newer version, or on a read-only disk, can
--- be read, and db.readonly gives the reason.
function M.open(path, opts)
  local driver = search.library "dbd.sqlite3"
  if not driver then
    return nil, "SQLite for Lua is missing (Debian, Ubuntu: apt-get install "
      .. "lua-dbi-sqlite3; else: luarocks install luadbi-sqlite3)"
  end
  local create = not opts or opts.create ~= false
  path = path:find("^:") and "./" .. path or path:gsub("^file:", "./%0")
  local kind, size = system.kind(path), size_of(path)
  if kind and kind ~= "file" then
    return nil, ("the store must be a file; this is a %s"):format(kind)
  elseif size > 0 and size < LEAST then
    return nil, NO_SQLITE
  elseif size == 0 and not create then
    return nil, NONE
  elseif size == 0 then
    local made, reason = make_private(path)
    if not made then
      return nil, reason
    end
  end
  local db, reason = connect(driver, path, driver.SQLITE_OPEN_READWRITE
    | (create and driver.SQLITE_OPEN_CREATE or 0), function(db)
      make_ready(db, create)
    end)
  if not db and size > 0 and (reason:find("readonly")
      or reason:find("unable to open")) then
    return open_fixed(driver, path)
  end
  return db, reason
end

return M
