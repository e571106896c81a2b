-- results/database.lua - the SQLite file of the run store, through lua-dbi:
-- shared with other processes, a file of anything else is left untouched
-- SPDX-License-Identifier: MIT

local folder = require "clshell.base.folder"
local search = require "clshell.base.search"
local system = require "clshell.system"

local M = {}
local Database = {}
Database.__index = Database

local MAGIC = "SQLite format 3\0"
local APPLICATION = 0x434c5348 -- "CLSH" in the header tells our files
local VERSION = 1              -- of the schema
local TRIES, PATIENCE = 5, 2000 -- waits for other processes, each in ms
local NONE = "there is none yet"
local CHECKED = 64 * 2^20      -- the largest file that is checked in full

-- Filters search the columns; `record` holds the whole record but its samples.
-- Both are JSON text, not blobs: the sqlite3 shell and its JSON functions read
-- text, and lua-dbi returns neither bytes after a NUL nor 64-bit integers.
local SCHEMA = {[[
CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  uid TEXT NOT NULL UNIQUE DEFAULT (lower(hex(randomblob(16)))),
  time TEXT NOT NULL,
  tag TEXT, name TEXT, family TEXT, kernel TEXT, config TEXT, title TEXT,
  type TEXT, mode TEXT, status TEXT, params TEXT, shape TEXT,
  device TEXT, driver TEXT, source_hash TEXT, options TEXT, protocol INTEGER,
  median REAL,
  record TEXT NOT NULL,
  samples TEXT)]],
  "CREATE INDEX run_name ON run (name, device, time)",
  "CREATE INDEX run_tag ON run (tag)",
  "CREATE INDEX run_time ON run (time)",
  ("PRAGMA application_id = %d"):format(APPLICATION),
  ("PRAGMA user_version = %d"):format(VERSION),
}

-- Makes the file, its folder if that is missing, and both private. A folder of
-- another name than clshell's own stays as it is.
local function make_private(path)
  local dir = path:match("^(.+)/[^/]*$")
  if dir and (dir == folder.of "DATA" or not system.kind(dir)) then
    local made, reason = system.private(dir .. "/")
    if not made then
      return nil, "folder " .. reason
    end
  end
  local made, reason = system.private(path)
  return made, reason and reason:gsub("^.*: ", "")
end

-- The bytes in a file. Never of one that SQLite has open in this process: to
-- close a file takes away all locks that the process has on it, and two
-- processes that hold none damage it.
local function size_of(path)
  local file <close> = io.open(path, "rb")
  return file and file:seek("end") or 0
end

local open = setmetatable({}, {__mode = "k"}) -- databases, true each

-- Whether SQLite may have a file open in this process, by whatever name.
local function is_open(path)
  for db in pairs(open) do
    if db.connection and system.same(db.path, path) then
      return true
    end
  end
  return false
end

-- The state of the file at a path, from its first bytes and without SQLite,
-- which would change the file: "new", "store" and its bytes, or nil and the
-- fault. One that is open here is a store, of unknown size.
local function state_of(path)
  if is_open(path) then
    return "store", math.huge
  end
  local kind = system.kind(path)
  if kind and kind ~= "file" then
    return nil, ("the store must be a file; this is a %s"):format(kind)
  end
  local file, message, code = io.open(path, "rb")
  if not file then
    if code == 2 then -- ENOENT
      return "new"
    end
    return nil, (message:gsub("^.*: ", ""))
  end
  local head, fault = file:read(100)
  file:close()
  if fault then
    return nil, fault
  elseif not head then
    return "new"
  elseif #head < 100 or head:sub(1, #MAGIC) ~= MAGIC then
    return nil, "it is not an SQLite file, or a damaged one"
  end
  local page, version, application = (">I2"):unpack(head, 17),
    (">I4"):unpack(head, 61), (">I4"):unpack(head, 69)
  if application ~= APPLICATION then
    return nil, "it is the SQLite file of another program"
  elseif version > VERSION then
    return nil, ("a newer clshell wrote it (schema %d, this one knows %d)")
      :format(version, VERSION)
  end
  local size = size_of(path)
  if size % (page == 1 and 65536 or math.max(page, 1)) > 0
      and size_of(path .. "-wal") == 0 and size_of(path .. "-journal") == 0
  then -- SQLite completes a file only from the log of a process that died
    return nil, "the file is damaged (cut off within a page)"
  end
  return "store", size
end

-- A message of SQLite without the words of lua-dbi.
local function short(message)
  message = tostring(message):gsub("^.*DBI%.lua:%d+: ", "")
  for _, before in ipairs{"Execute failed ", "Fetch failed ",
    "Failed to connect to database: ", "Error preparing statement handle: ",
    "Error binding statement parameters: "} do
    message = message:gsub("^" .. before, "")
  end
  if message:find("malformed") or message:find("not a database") then
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
  local params, rows, message = table.pack(...), nil, nil
  if not self.connection then
    return nil, "it is closed"
  end
  for _ = 1, TRIES do
    rows, message = attempt(self.connection, sql, params)
    if rows or not is_busy(message) then
      break
    end
  end
  return rows, message and short(message)
end

--- db:transaction(f) -> result of f, or nil and a reason
--- Calls f() in a transaction and returns its first result. A result of nil,
--- or an error, undoes the changes.
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

-- A connection in which every statement is a transaction unless one is begun.
local function connect(driver, path, flags)
  local ok, connection, message = pcall(driver.New, path, flags)
  if not ok or not connection then
    return nil, short(ok and message or connection)
  end
  connection:autocommit(true)
  local db = setmetatable({path = path, connection = connection}, Database)
  open[db] = true
  db:run(("PRAGMA busy_timeout = %d"):format(PATIENCE))
  return db
end

local function create_tables(db)
  return db:transaction(function()
    local rows, reason = db:run("SELECT name FROM sqlite_master")
    for _, sql in ipairs(rows and #rows == 0 and SCHEMA or {}) do
      rows, reason = db:run(sql)
      if not rows then
        break
      end
    end -- where there were rows, another process was faster
    return rows and true, reason
  end)
end

-- The first fault in the contents of a file, or nil.
local function damage(db, size)
  local rows, reason = db:run("PRAGMA user_version")
  if not rows then
    return reason
  elseif rows[1].user_version ~= VERSION then
    return "it has no schema of clshell"
  elseif size <= CHECKED then
    rows, reason = db:run("PRAGMA quick_check(1)")
    if not rows or rows[1].quick_check ~= "ok" then
      return rows and "the file is damaged (" .. rows[1].quick_check .. ")"
        or reason
    end
  end
  rows, reason = db:run("SELECT id FROM run ORDER BY id DESC LIMIT 1")
  return not rows and reason or nil
end

-- Opens a file on a read-only disk as one that nobody changes: SQLite cannot
-- keep its shared memory beside the file there.
local function open_fixed(driver, path, size)
  if size_of(path .. "-wal") > 0 then
    return nil, "the disk is read-only, and the last runs are not yet in the "
      .. "main file"
  end
  local uri = "file:" .. path:gsub("[%%?#]", function(c)
    return ("%%%02x"):format(c:byte())
  end) .. "?immutable=1"
  local db, reason = connect(driver, uri,
    driver.SQLITE_OPEN_READONLY | driver.SQLITE_OPEN_URI)
  reason = db and damage(db, size) or reason
  if reason then
    return nil, reason
  end
  db.readonly, db.path = "the file or its disk is read-only", path
  return db
end

-- Whether a file is new, or SQLite has undone its whole content: its maker was
-- killed before the first commit was complete.
local function is_empty(db)
  local rows = db:run("SELECT name FROM sqlite_master")
  return rows and #rows == 0
    and db:run("PRAGMA user_version")[1].user_version == 0
end

-- Opens a file of so many bytes for writing; `create` allows a new or empty
-- one.
local function open_shared(driver, path, size, create)
  local db, reason = connect(driver, path, driver.SQLITE_OPEN_READWRITE
    | (create and driver.SQLITE_OPEN_CREATE or 0))
  if not db then
    return nil, reason
  end
  local ok = true
  if is_empty(db) then
    ok, reason = create, NONE
    if create then
      ok, reason = create_tables(db)
    end
  end
  reason = not ok and reason or damage(db, size)
  if not reason then
    -- On some network disks there can be no WAL: SQLite keeps its journal.
    ok, reason = db:run("PRAGMA journal_mode = WAL")
    if ok then
      return db
    end
  end
  db:close()
  return nil, reason
end

--- database.open(path [, opts]) -> db, or nil and a reason
--- Opens a run store, which this user alone may read from then on. A missing
--- file is made, with its folder; {create = false} refuses instead. A damaged,
--- foreign or newer file stays as it is, byte for byte. On a read-only disk
--- db.readonly gives the reason, and reading works.
function M.open(path, opts)
  local driver = search.library "dbd.sqlite3"
  if not driver then
    return nil, "SQLite for Lua is missing (Debian, Ubuntu: apt-get install "
      .. "lua-dbi-sqlite3; else: luarocks install luadbi-sqlite3)"
  end
  local create = not opts or opts.create ~= false
  path = path:find("^:") and "./" .. path or path:gsub("^file:", "./%0")
  local state, size = state_of(path)
  if not state or state == "new" and not create then
    return nil, size or NONE -- or the reason
  end
  local made, reason = make_private(path)
  if not made and state == "new" then
    return nil, reason
  end
  local db
  db, reason = open_shared(driver, path, size or 0, create)
  if not db and state == "store" and (reason:find("readonly")
      or reason:find("unable to open")) then
    return open_fixed(driver, path, size)
  end
  return db, reason
end

return M
