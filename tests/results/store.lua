-- store.lua - the run store: what is kept comes back, many write at once,
-- processes die, files and disks are bad.
-- SPDX-License-Identifier: MIT
local t = require "t"

if (os.getenv "CLSHELL_BUILD" or ""):find("asan", 1, true) then
  t.test("the run store", function()
    t.skip "lua-dbi is unloaded before the leak check, which then blames it"
  end)
  t.done()
  return
end
local cl = require "cl"
local database = require "clshell.results.database"
local json = require "clshell.base.json"
local scratch = require "scratch"
local store = require "clshell.store"

local here = arg[0]:match "^(.*)/[^/]*$" or "."

local function sh(command)
  local p = assert(io.popen(command))
  local out = p:read "a"
  local ok, _, code = p:close()
  return out, ok, code
end

local folder = scratch.dir

local function path_of(name)
  sh(("rm -rf '%s/%s'*"):format(folder, name))
  return folder .. "/" .. name
end

local function fresh(name)
  local path = path_of(name or "runs.db")
  return assert(store.open(path)), path
end

local function writer(path, tag, count, often)
  return ("'%s' '%s/store_writer.lua' '%s' %s %d %s"):format(t.exe, here, path,
    tag, count, often or "")
end

local function strange()
  return {
    name = "gemm.tiled", family = "gemm", kernel = "tiled", tag = "v1 \u{e9}",
    config = "tile=16 edge=guard", params = {tile = 16, edge = "guard"},
    shape = {m = 3, n = 1 << 40, k = math.maxinteger}, title = "3x3",
    type = "float", ["local"] = "16x16", mode = "cold",
    cache = "rotation x4", timer = "event", tick_ns = 32, batch = 4, n = 7,
    discarded = 2, outliers = 0, median = 0.1, lo = 1 / 3, hi = 5e-324,
    min = -0.0, max = math.huge, q1 = 1.7976931348623157e308, wall = 0 / 0,
    samples = {0.1, 2^53, 1e-9, 0 / 0, -math.huge, 3}, flop = 2^63,
    bytes = math.mininteger, ok = false, flags = {"clock!", "IMPOSSIBLE?"},
    note = "quotes ' \" \\ , a\nline, \0, \127, no UTF-8 \xff\xc3",
    status = "ok", time = "2026-01-02T03:04:05Z", protocol = 1, seed = 42,
    device = {name = "Device \u{1F600}", platform = "p", driver = "1.2",
      compute_units = 132}, defines = {TILE = 16, REAL = "float"},
    source_hash = "00ff", options = "-cl-mad-enable -DX='a b'",
  }
end

t.test("JSON keeps every value of Lua that it has a word for", function()
  for _, v in ipairs{0, -1, math.mininteger, math.maxinteger, 0.1, 1 / 3, 1.0,
    -0.0, 5e-324, 1e308, 2^53, math.huge, -math.huge, "", "\0\xff\u{20ac}",
    "\xed\xa0\x80\xf4\x90", true, false} do
    local back = json.decode(json.encode(v))
    t.eq(back, v)
    t.eq(math.type(back), math.type(v))
  end
  t.eq(json.decode(json.encode{0 / 0})[1], 0 / 0)
  t.eq(json.encode{b = {1, 2.0, "x"}, a = print, c = {}},
    '{"b":[1,2.0,"x"],"c":{}}')
  t.eq(json.decode ' {"a" : [1, null, "\\u20ac\\ud83d\\ude00"], "b":true} ',
    {a = {1, nil, "\u{20ac}\u{1F600}"}, b = true})
  local circle = {}
  circle.self = circle
  t.ok(#json.encode(circle) < 1000)
  for _, bad in ipairs{"", "{", "[1,", '{"a":}', '"abc', "01", "1.", "nul",
    "[1]x", '{"a" 1}', '"\\q"', '"a\nb"', ("["):rep(1000), "{1:2}"} do
    local v, message = json.decode(bad)
    t.ok(v == nil and message:find "^no JSON", bad)
  end
end)

t.test("JSON leaves a table inside itself out, however often", function()
  local wide = {}
  for i = 1, 9 do
    wide["k" .. i] = wide
  end
  t.eq(json.encode{a = wide, b = {1}, c = {1}}, '{"a":{},"b":[1],"c":[1]}')
end)

local probe, reason = store.open(path_of "probe.db")
if not probe then
  t.test("the store", function()
    t.skip(reason)
  end)
  scratch.done()
end
probe:close()

t.test("a record comes back as it was", function()
  local s <close> = fresh()
  local r = strange()
  local id = s:keep(r)
  t.eq({id, r.id}, {1, 1})
  local back = s:get(1)
  t.eq(#back.uid, 32)
  local expected = strange()
  expected.id, expected.uid = 1, back.uid
  t.eq(back, expected)
  t.eq(math.type(back.shape.n), "integer")
  t.eq(math.type(back.samples[2]), "float")
  t.eq(s:get(2), nil)
  t.eq(s:keep{name = "bare", run = print, nested = {io.stdout}}, 2)
  local bare = s:get(2)
  t.ok(bare.time:find "^%d+%-%d%d%-%d%dT%d%d:%d%d:%d%dZ$")
  t.eq(bare.samples, nil)
end)

-- Records whose fields have types of their own, and the fault in words.
local WRONG = {
  {'"median":"x"', "median must be a number; got a string"},
  {'"tag":{}', "tag must be a string; got a table"},
  {'"name":true', "name must be a string; got a boolean"},
  {'"samples":["x"]', "samples[1] must be a number; got a string"},
  {'"flags":[{}]', "flags[1] must be a string; got a table"},
  {'"device":{"name":[]}', "device[name] must be a string; got a table"},
  {'"shape":3', "shape must be a table; got a number"},
  {'"lo":{}', "lo must be a number; got a table"},
}

t.test("import and keep refuse records with wrong types", function()
  local s <close> = fresh()
  for _, case in ipairs(WRONG) do
    local line = '{"kernel":"k",' .. case[1] .. "}"
    scratch.create("wrong.jsonl", '{"name":"fine"}\n' .. line .. "\n")
    local file <close> = assert(io.open(folder .. "/wrong.jsonl"))
    t.raises(function() s:import(file) end, "line 2: " .. case[2])
    local id, why = s:keep(json.decode(line))
    t.ok(id == nil and why:find(case[2], 1, true), why)
  end
  local tag = {}
  tag.t = tag
  t.ok(select(2, s:keep{name = "x", tag = tag}):find "tag must be a string")
  t.eq(#s:list(), 0)
end)

t.test("damaged runs in the store are left out, with a note", function()
  local path
  do
    local s <close>, file = fresh()
    path = file
    for i = 1, 3 do
      s:keep{name = "fine", median = i, samples = {i}, tag = "v"}
    end
    s.db:run "UPDATE run SET median = 'x' WHERE id = 1"
    s.db:run([[UPDATE run SET record = '{"name":"fine","lo":"x"}'
      WHERE id = 3]])
    t.raises(function() s:get(3) end, "run 3 is damaged: lo must be a number")
  end
  for command, shown in pairs{history = "fine", best = "fine",
      ["history --format csv"] = "fine", ["export"] = "fine",
      ["compare 2 2"] = "SAME", ["compare v v"] = "SAME"} do
    local out, err, code = scratch.sh(("$clshell %s --store '%s'"):format(
      command, path))
    t.eq(code, 0, err)
    scratch.has(out, shown)
    if command ~= "compare 2 2" then
      scratch.has(err, "damaged runs are left out; run 1: median must be a "
        .. "number; got a string")
    end
  end
end)

t.test("filters", function()
  local s <close> = fresh()
  for i = 1, 10 do
    s:keep{name = "gemm.n" .. i % 2, kernel = "n" .. i % 2, family = "gemm",
      tag = i > 5 and "new" or nil, device = {name = "Big GPU"},
      time = ("2026-01-%02dT00:00:00Z"):format(i)}
  end
  local function ids(filter)
    local list = {}
    for r in s:runs(filter) do
      list[#list + 1] = r.id
    end
    return list
  end
  t.eq(#ids(), 10)
  t.eq(ids{name = "gemm.n1"}, {1, 3, 5, 7, 9})
  t.eq(ids{name = "n1", limit = 2}, {7, 9})
  t.eq(#ids{name = "gemm", device = "big"}, 10)
  t.eq(ids{device = "small"}, {})
  t.eq(ids{tag = "new", since = "2026-01-09"}, {9, 10})
  t.eq(ids{before = "2026-01-02T00:00:00Z"}, {1})
  t.eq(ids{since = "1h"}, {})
  t.eq(ids{tag = "' OR 1 --"}, {})
  t.raises(function() ids{nam = "x"} end, "did you mean")
  t.raises(function() ids{since = "soon"} end, "a time must be")
  t.raises(function() ids{limit = "x"} end, '>= 0; got "x"')
  t.raises(function() ids{limit = -1} end, "must be an integer >= 0; got -1")
end)

t.test("export and import keep everything, once", function()
  local a <close> = fresh "a.db"
  a:keep(strange())
  a:keep{name = "second", samples = {1.5}}
  local file <close> = assert(io.tmpfile())
  t.eq(a:export(file), 2)
  local b <close> = fresh "b.db"
  file:seek "set"
  t.eq({b:import(file)}, {2, 0})
  file:seek "set"
  t.eq({b:import(file)}, {0, 2})
  t.eq(b:get(1), a:get(1))
  local bad <close> = assert(io.tmpfile())
  bad:write('{"name":"third"}\n{"name":\n')
  bad:seek "set"
  t.raises(function() b:import(bad) end, "line 2 must be a run")
  t.eq(#b:list(), 2)
end)

-- Several processes write to one store at once.
local function write_at_once(processes, each, often)
  local path, pipes = path_of "many.db", {}
  for i = 1, processes do
    pipes[i] = assert(io.popen(writer(path, "p" .. i, each, often)
      .. " 2>&1"))
  end
  local said = {}
  for i, pipe in ipairs(pipes) do
    for line in pipe:lines() do
      local id, config = line:match "^(%d+) (%S+)$"
      t.ok(id, line)
      said[math.tointeger(tonumber(id))] = config
    end
    t.ok(pipe:close(), "writer " .. i)
  end
  local s <close> = assert(store.open(path))
  local rows = s:list()
  t.eq(#rows, processes * each)
  for _, row in ipairs(rows) do
    t.eq(said[row.id], row.config)
  end
  t.eq(s.db:run("PRAGMA integrity_check")[1].integrity_check, "ok")
  t.eq(s.db:run("PRAGMA journal_mode")[1].journal_mode, "wal")
end

t.test("many processes write at once and nothing is lost", function()
  write_at_once(6, 100)
end)

t.test("many processes open and close at once and nothing is lost", function()
  write_at_once(4, 50, "often")
end)

-- What a killed writer said it had kept is there; what it was at is whole or
-- not there at all.
local function check_killed(path, said, round)
  local db, why = database.open(path, {create = false})
  if not db then
    t.ok(#said == 0 and why == "there is none yet", why)
    return 0
  end
  t.eq(db:run("PRAGMA integrity_check")[1].integrity_check, "ok")
  local have = {}
  local rows = db:run("SELECT config, samples FROM run WHERE tag = ?", round)
  for _, row in ipairs(rows) do
    have[row.config] = true
    t.eq(#json.decode(row.samples), 300)
  end
  db:close()
  for _, config in ipairs(said) do
    t.ok(have[config], "lost: " .. config)
  end
  t.ok(#rows <= #said + 1, "more than one run unheard of")
  return #said
end

t.test("a store whose maker was killed before its first commit", function()
  local path = path_of "half.db"
  local db = assert(require("DBI").Connect("SQLite3", path))
  db:autocommit(true)
  local function run(sql)
    local statement = assert(db:prepare(sql))
    assert(statement:execute())
    statement:close()
  end
  run "PRAGMA cache_size = 1" -- so that the journal is written early
  run "BEGIN IMMEDIATE"
  run(("PRAGMA application_id = %d"):format(0x434c5348))
  run "PRAGMA user_version = 1"
  run "CREATE TABLE run (record TEXT)"
  for _ = 1, 200 do
    run "INSERT INTO run VALUES (hex(randomblob(2000)))"
  end
  sh(("cp %s-journal %s.kept"):format(path, path))
  run "COMMIT"
  db:close()
  t.ok(#scratch.read "half.db.kept" > 0)
  local killed = path_of "killed_half.db"
  local function leave() -- what a process leaves that dies in the commit
    sh(("cp %s %s; cp %s.kept %s-journal"):format(path, killed, path, killed))
  end
  leave()
  t.eq({database.open(killed, {create = false})}, {nil, "there is none yet"})
  leave()
  local s <close> = assert(store.open(killed))
  t.ok(s:keep{name = "first", samples = {1}})
  t.eq(#s:list(), 1)
end)

t.test("kill -9, 100 times, loses at most the run under way", function()
  local kept, rounds = 0, 100
  local begin = cl.now()
  sh(writer(path_of "killed.db", "first", 1))
  local start = cl.now() - begin -- the kills fall before and after it
  for round = 1, rounds do
    local path = folder .. "/killed.db"
    if round % 10 == 1 then
      path = path_of "killed.db"
    end
    local tag = "r" .. round
    local delay = start * (0.3 + 1.5 * math.random())
    local out = sh(("exec 2>&-; %s & sleep %.3f; kill -9 $!; wait"):format(
      writer(path, tag, 100000), delay))
    local said = {}
    for config in out:gmatch "%d+ (%S+)\n" do
      said[#said + 1] = config
    end
    kept = kept + check_killed(path, said, tag)
    start = start * (#said == 0 and 1.1 or 0.97) -- the machine's load varies
  end
  t.ok(kept > 0, "the writers were killed before they wrote")
end)

-- A closed store with a few hundred kilobytes in it, as bytes.
local function image()
  local s = fresh "image.db"
  for i = 1, 100 do
    s:keep{name = "run" .. i, note = ("x"):rep(2000), samples = {1, 2, 3}}
  end
  s:close()
  return scratch.read "image.db"
end

t.test("bad files are named and left as they are, byte for byte", function()
  local whole = image()
  local function poke(at, bytes)
    return whole:sub(1, at - 1) .. bytes .. whole:sub(at + #bytes)
  end
  local foreign = path_of "foreign.db"
  local db = assert(require("DBI").Connect("SQLite3", foreign))
  db:autocommit(true)
  local statement = assert(db:prepare "CREATE TABLE mine (x)")
  statement:execute()
  statement:close()
  db:close()
  for _, case in ipairs{
    {"text", "not a database\n", "not an SQLite file"},
    {"one byte", "S", "not an SQLite file"},
    {"foreign", scratch.read "foreign.db", "of another program"},
    {"older", poke(61, "\0\0\0\0"), "no schema"},
    {"truncated", whole:sub(1, #whole // 2), "damaged"},
    {"torn", whole:sub(1, -1000), "damaged"},
    {"zeros", poke(4097, ("\0"):rep(20480)), "damaged"},
    {"noise", poke(8193, ("\x5a"):rep(4096)), "damaged"},
    {"header", poke(1, "SQLITE"), "not an SQLite file"},
  } do
    local name, bytes, why = table.unpack(case)
    local path = path_of "bad.db"
    scratch.create("bad.db", bytes)
    local s, said = store.open(path)
    t.ok(not s, name)
    t.ok(said:find(why, 1, true), name .. ": " .. said)
    t.ok(said:find(path, 1, true), said)
    t.ok(scratch.read "bad.db" == bytes, name .. " was changed")
  end
end)

-- Makes a file of the statements of tests/results/older_store.sql, each
-- changed by edit(sql), and of further statements.
local function older(name, edit, ...)
  local path = path_of(name)
  local db = assert(require("DBI").Connect("SQLite3", path))
  db:autocommit(true)
  local file <close> = assert(io.open(here .. "/older_store.sql"))
  local list = {...}
  for sql in file:read("a"):gsub("%-%-[^\n]*\n", ""):gmatch "(.-);\n" do
    table.insert(list, #list - select("#", ...) + 1, edit(sql))
  end
  for _, sql in ipairs(list) do
    local statement = assert(db:prepare(sql))
    assert(statement:execute())
    statement:close()
  end
  db:close()
  return path
end

local function same(sql)
  return sql
end

t.test("a store of the version before opens with every run", function()
  local s <close> = assert(store.open(older("older.db", same)))
  local r = s:get(1)
  t.eq({r.uid, r.median, r.params.tile, r.device.name, #r.samples},
    {"0123456789abcdef0123456789abcdef", 0.002, 16, "Some GPU", 3})
  local rows = s:list{tag = "v1"}
  t.eq({#rows, rows[1].options, rows[1].driver, rows[1].uid, rows[1].protocol},
    {1, "-cl-mad-enable", "1.2"})
  t.eq(s:settings "gemm"[1].setting, "5e77")
  t.eq(s:remembered "a search", "words")
  t.eq(s:keep(strange()), 3)
end)

t.test("an older store gets the columns that it lacks", function()
  local path = older("lacking.db", function(sql)
    return (sql:gsub(" options TEXT, protocol INTEGER,", "")
      :gsub("'%-cl%-mad%-enable',1,", ""):gsub("NULL,NULL,NULL,'{", "NULL,'{"))
  end)
  for _ = 1, 2 do -- the second time nothing is left to do
    local s <close> = assert(store.open(path))
    t.eq(s:list{name = "tiled"}[1].options, "-cl-mad-enable")
    t.eq(s.db:run("SELECT protocol FROM run ORDER BY id"),
      {{protocol = 1}, {}})
    t.eq(s:get(2).note, "it's refused")
  end
end)

t.test("a new field of results is a column of new and older stores", function()
  local code = [[
    local fields = require "clshell.results.fields"
    table.insert(fields.list, {"colour", "string", stored = "TEXT"})
    for _, path in ipairs{...} do
      local s = assert(require "clshell.store".open(path))
      s:keep{name = "sky", colour = "blue"}
      local rows = s:list()
      print(#rows, rows[1].colour, rows[#rows].colour)
      s:close()
    end]]
  scratch.create("colour.lua", code)
  local path = older("colour.db", function(sql)
    return (sql:gsub("'{\"bytes\"", "'{\"colour\":\"red\",\"bytes\""))
  end)
  t.eq(scratch.sh(("$clshell colour.lua '%s' '%s'"):format(path,
    path_of "young.db")), "3\tred\tblue\n1\tblue\tblue\n")
  local s <close> = assert(store.open(path)) -- a program without that column
  t.eq({#s:list(), s:keep{name = "grey"}}, {3, 4})
end)

t.test("a store of a later version is read, and stays as it is", function()
  local path = older("newer.db", function(sql)
    return (sql:gsub("user_version = 1", "user_version = 2"))
  end, "ALTER TABLE run DROP COLUMN options", "ALTER TABLE run ADD COLUMN "
    .. "more TEXT NOT NULL DEFAULT 'x'")
  local before = scratch.read "newer.db"
  do
    local s <close> = assert(store.open(path))
    t.eq({#s:list(), s:list()[1].options, s:get(1).options},
      {2, nil, "-cl-mad-enable"})
    local id, why = s:keep{name = "x"}
    t.ok(not id and why:find("a newer clshell wrote it", 1, true), why)
    t.raises(function() s:prune{keep = 0} end, "readonly")
  end
  t.ok(scratch.read "newer.db" == before)
end)

t.test("places where no store can be", function()
  scratch.create("file", "x")
  for _, path in ipairs{folder .. "/file/runs.db", folder,
    "/proc/no/runs.db", "/dev/full", "/dev/null"} do
    local s, why = store.open(path)
    t.ok(not s and why:find(path, 1, true), path)
  end
  local s, why = store.open(folder .. "/none.db", {create = false})
  t.ok(not s and why:find "none yet")
  t.raises(function() store.open "" end, "path")
  t.raises(function() store.open("x", {creat = true}) end, "did you mean")
end)

t.test("a store in place of which there is a pipe or a device", function()
  sh(("mkfifo '%s/pipe.db'"):format(folder))
  for path, kind in pairs{[folder .. "/pipe.db"] = "pipe", [folder] = "folder",
    ["/dev/null"] = "device"} do
    local _, err, code = scratch.sh(("CLSHELL_STORE='%s' timeout 60 $clshell "
      .. "history"):format(path))
    t.eq(code, 1, err)
    scratch.has(err, ("run store %s: the store must be a file; this is a %s")
      :format(path, kind))
  end
end)

-- The permissions of a path, as ls shows them.
local function mode(path)
  return sh(("ls -ld '%s/%s'"):format(folder, path)):sub(1, 10)
end

t.test("only this user may read a store, an older one from now on", function()
  local keep = " $clshell -e 'require [[clshell.store]].keep{name = [[x]]}'"
  local state = ("umask 022; unset CLSHELL_STORE; export XDG_DATA_HOME='%s/"
    .. "data';"):format(folder)
  for _, before in ipairs{"", "chmod 644 data/clshell/runs.db; "
      .. "chmod 755 data/clshell; "} do
    local _, err = scratch.sh(state .. before .. keep)
    t.eq({mode "data/clshell", mode "data/clshell/runs.db"},
      {"drwx------", "-rw-------"}, err)
  end
  scratch.sh(("umask 022; mkdir open; CLSHELL_STORE='%s/open/a.db'"):format(
    folder) .. keep)
  t.eq({mode "open", mode "open/a.db"}, {"drwxr-xr-x", "-rw-------"})
  scratch.create("photo", "no store")
  scratch.sh("chmod 644 photo; CLSHELL_STORE=photo" .. keep)
  t.eq(mode "photo", "-rw-r--r--")
end)

t.test("the folder is made for this user only", function()
  sh(("rm -rf '%s/new'"):format(folder))
  local s <close> = assert(store.open(folder .. "/new/deep/runs.db"))
  t.ok(s:keep{name = "x"})
  t.ok(sh(("ls -ld '%s/new'"):format(folder)):find "^drwx%-%-%-%-%-%-")
end)

-- Runs f(folder) on a small file system of its own.
local function with_disk(kilobytes, f)
  local disk = path_of "disk"
  local _, ok = sh(("mkdir '%s' && mount -t tmpfs -o size=%dk none '%s' 2>&1")
    :format(disk, kilobytes, disk))
  t.skip_if(not ok, "only root can mount a small disk")
  local fine, err = pcall(f, disk)
  sh(("umount '%s'"):format(disk))
  if not fine then
    error(err, 0)
  end
end

t.test("a full disk costs the run that does not fit, no other", function()
  with_disk(400, function(disk)
    local s <close> = assert(store.open(disk .. "/runs.db"))
    local count, why = 0, nil
    while not why and count < 100 do
      local _, wrong = s:keep{name = "big", note = ("x"):rep(20000)}
      count, why = count + (wrong and 0 or 1), wrong
    end
    t.ok(why and why:find "full", why)
    t.ok(count > 3)
    t.eq(#s:list(), count)
    t.eq(s.db:run("PRAGMA integrity_check")[1].integrity_check, "ok")
    t.ok(not s:keep{name = "big", note = ("x"):rep(20000)})
    sh(("mount -o remount,size=4m '%s'"):format(disk))
    t.ok(s:keep{name = "big", note = ("x"):rep(20000)})
  end)
end)

t.test("a store on a read-only disk is read, and says so", function()
  with_disk(1000, function(disk)
    local path = disk .. "/a #?%.db"
    local s = assert(store.open(path))
    s:keep{name = "old", samples = {1}}
    s:close()
    sh(("mount -o remount,ro '%s'"):format(disk))
    local ro <close> = assert(store.open(path))
    t.eq(ro:get(1).name, "old")
    local id, why = ro:keep{name = "new"}
    t.ok(not id and why:find "read%-only", why)
    t.raises(function() ro:prune{keep = 0} end, "readonly")
    local none, why_not = store.open(disk .. "/other.db")
    t.ok(not none and why_not:find(disk, 1, true), why_not)
  end)
end)

t.test("a locked store is given up after a while, and works again", function()
  local s <close>, path = fresh()
  local other = assert(database.open(path))
  other:run "BEGIN IMMEDIATE"
  s.db:run "PRAGMA busy_timeout = 1"
  local id, why = s:keep{name = "x"}
  t.ok(not id and why:find "another process keeps it locked", why)
  other:run "ROLLBACK"
  other:close()
  t.ok(s:keep{name = "x"})
  s:close()
  s:close()
  t.ok(not s:keep{name = "x"})
end)

-- Runs Lua code in a process with its own environment.
local function child(environment, code)
  return sh(("env %s '%s' -e '%s' 2>&1"):format(environment, t.exe, code))
end

t.test("a session without a store says why, once", function()
  local twice = [[local s = require "clshell.store"
    s.keep{name = "a"} print(s.keep{name = "b"}) print "on"]]
  local cases = {
    {"CLSHELL_STORE=/dev/full", "the store must be a file"},
    {"-u CLSHELL_STORE -u XDG_DATA_HOME -u HOME", "neither"},
    {"LUA_CPATH_5_4=/no/?.so CLSHELL_STORE=" .. folder .. "/d.db",
      "lua%-dbi%-sqlite3"},
  }
  for _, case in ipairs(cases) do
    local out = child(case[1], twice)
    local _, notes = out:gsub("results are not kept", "")
    t.eq(notes, 1, out)
    t.ok(out:find(case[2]) and out:find "\non\n$", out)
  end
  t.eq(child("CLSHELL_STORE=none", twice),
    "nil\tthe run store is switched off\non\n")
  local out = child(("-u CLSHELL_STORE XDG_DATA_HOME='%s/xdg'"):format(folder),
    twice)
  t.eq(out, "2\non\n")
  t.ok(sh(("ls '%s'/xdg/clshell"):format(folder)):find "^runs%.db")
end)

scratch.done()
