-- tune/known_runs.lua - a search in the run store: the runs of its points,
-- found by the setting that tells equal measurements, and the winners of a
-- search whose rows are all known
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local evaluation = require "clshell.tune.evaluation"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local record = require "clshell.measure.record"
local stores = require "clshell.results.store"
local text = require "clshell.base.text"

local M = {}
local KnownRuns = {}
KnownRuns.__index = KnownRuns

-- The statuses that another measurement would find again. A failure of OpenCL
-- may have been the moment's; a failure that ended a process is kept as final.
local LASTING = {ok = true, slow = true, wrong = true, build = true,
  refused = true}

-- "gemm.tiled": the name of the records of a row.
local function name_of(source, row)
  return row.rung and ("%s.%s"):format(source.name, row.rung) or source.name
end

-- The key of a point of a problem, for every setting.
local function key_of(name, config, title)
  return table.concat({name, config or "", title or ""}, "\0")
end

-- Reads the runs of a source: their numbers by setting and configuration, and
-- the newest run of each point.
local function read(known, store)
  local src = known.source
  for _, run in ipairs(store:settings(src.family and src.family.name
      or src.name)) do
    if LASTING[run.status] or run.final then
      known.ids[run.setting .. " " .. (run.config or "")] = run.id
      known.newest[key_of(run.name, run.config, run.title)] = run
    end
  end
end

--- known_runs.new(source, opts) -> known
--- The runs of a source, see evaluation.lua, in the session's run store; none
--- with opts.fresh. A store that cannot be read becomes a note.
function M.new(source, opts)
  local r = setmetatable({source = source, tag = opts.tag, ids = {},
    newest = {}, changes = {}}, KnownRuns)
  r.device = record.device(source.context)
  local store = stores.default()
  if store and not opts.fresh then
    local ok, e = interrupt.pcall(read, r, store)
    r.fault = not ok and tostring(e):match "^[^\n]*" or nil
  end
  return r
end

-- The change since a run that the search does not use.
local function change(known, run, hash)
  local device = known.device
  if run.device ~= device.name then
    return ("the last search ran on %s"):format(run.device)
  elseif run.driver ~= device.driver then
    return ("the driver changed since the last search, from %s to %s"):format(
      run.driver, device.driver)
  elseif run.source_hash ~= hash then
    return "the source changed since the last search"
  end
  return "the last search had other arguments or options"
end

-- The number of the run with a setting and a configuration, or nil.
local function run_of(known, setting, config)
  return setting and known.ids[setting .. " " .. config]
end

--- known:knows(p) -> boolean
--- Whether the store has a run of a point.
function KnownRuns:knows(p)
  local src = self.source
  return run_of(self, src:setting(p), evaluation.row(src, p).config) ~= nil
end

--- known:find(row, setting, hash) -> record, or nil and a change
--- The newest record of a row's point with a setting. `hash` is the hash of
--- its kernel file. Where the store has a run of that point with another
--- setting, the change is returned, once for each kind of change.
function KnownRuns:find(row, setting, hash)
  row.setting, row.source_hash = setting, hash
  local id = run_of(self, setting, row.config)
  local kept = id and stores.default():usable(id)
  if kept then
    return kept
  end
  local src = self.source
  local run = self.newest[key_of(name_of(src, row), row.config, src.title)]
  if run then
    local why = change(self, run, hash)
    if not self.changes[why] then
      self.changes[#self.changes + 1], self.changes[why] = why, 0
    end
    self.changes[why] = self.changes[why] + 1
    return nil, self.changes[why] == 1 and why or nil
  end
end

--- known:keep(row)
--- Keeps a row without a record of bench: a failed build, a refusal after the
--- build, a process that ended.
function KnownRuns:keep(row)
  if row.record or not row.setting then
    return
  end
  local src = self.source
  local name = name_of(src, row)
  local r = record.new(name, src.context, {tag = self.tag})
  r.family = src.family and src.family.name
  r.kernel = src.family and name:match "%.(.*)$"
  r.config, r.params, r.title, r.mode = row.config, row.point, src.title,
    src.mode
  r.setting, r.source_hash = row.setting, row.source_hash
  r.final, r.log = row.status == "failed" or nil, row.log
  record.fail(r, row.status, row.reason)
  stores.keep(r)
end

-- A hash of the rows of a search: equal hashes have equal winners.
local function ending(rows)
  local words = {}
  for _, row in ipairs(rows) do
    words[#words + 1] = ("%d %s %s %s"):format(row.id, row.setting
      or row.status, tostring(row.ms), tostring(row.cost))
  end
  table.sort(words)
  return "tune " .. cachefile.hash(table.concat(words, "\n"))
end

-- The winners of the last search; its verdicts go into this search's rows.
local function restore(last, rows)
  local by_id, winners = {}, {}
  for _, row in ipairs(rows) do
    by_id[row.id] = row
  end
  for _, found in ipairs(last.rows) do
    local row = by_id[found.id]
    row.turns, row.verdict = found.turns, found.verdict
    if found.reason then
      evaluation.reject(row, "wrong", found.reason)
    end
  end
  for i, id in ipairs(last.winners) do
    winners[i] = by_id[id]
  end
  return winners, last.gain
end

-- The end of a search in plain values. `right` has the rows that were not
-- wrong before the end.
local function plain(rows, right, winners, gain)
  local last = {rows = {}, winners = {}, gain = gain}
  for _, row in ipairs(rows) do
    local reason = right[row] and row.status == "wrong" and row.reason or nil
    if row.turns or reason then
      table.insert(last.rows, {id = row.id, turns = row.turns,
        verdict = row.verdict, reason = reason})
    end
  end
  for i, row in ipairs(winners) do
    last.winners[i] = row.id
  end
  return last
end

--- known:finals(rows, all, find, ...) -> winners, gain
--- The end of a search. Where all rows come from the store it is the end of
--- the search before; else find(...) finds it, and it is kept.
function KnownRuns:finals(rows, all, find, ...) -- luacheck: ignore 212
  local store = stores.default()
  local key = store and ending(rows)
  local words = all and key and store:remembered(key)
  if words then
    return restore(json.decode(words), rows)
  end
  local right = {}
  for _, row in ipairs(rows) do
    right[row] = row.status ~= "wrong" or nil
  end
  local winners, gain = find(...)
  if key then
    store:remember(key, json.encode(plain(rows, right, winners, gain)))
  end
  return winners, gain
end

--- known:notes() -> list
--- Lines about the rows of the store that were not used.
function KnownRuns:notes()
  local list = {}
  for i, why in ipairs(self.changes) do
    list[i] = ("%s: %s measured anew"):format(why, text.count(
      self.changes[why], "configuration"))
  end
  list[#list + 1] = self.fault and "the run store is not used: " .. self.fault
  return list
end

return M
