-- tune/recall.lua - a search and the run store: the rows that are there
-- already, by the setting that tells equal measurements, those to keep there,
-- and the end of a search whose rows are all known
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local evaluate = require "clshell.tune.evaluate"
local interrupt = require "clshell.base.interrupt"
local json = require "clshell.base.json"
local record = require "clshell.measure.record"
local stores = require "clshell.results.store"
local text = require "clshell.base.text"

local M = {}
local Recall = {}
Recall.__index = Recall

-- What another evaluation would find again. A failure of OpenCL may have been
-- the moment's; one that ended a process is kept as final.
local LASTING = {ok = true, slow = true, wrong = true, build = true,
  refused = true}

-- "gemm.tiled": the name of the records of a row.
local function name_of(source, row)
  return row.rung and ("%s.%s"):format(source.name, row.rung) or source.name
end

-- The same point of the same problem has the same key, whatever its setting.
local function key_of(name, config, title)
  return table.concat({name, config or "", title or ""}, "\0")
end

-- Reads the runs of a source: their numbers by setting and configuration, and
-- the newest of each point.
local function read(recall, store)
  local src = recall.source
  for _, run in ipairs(store:settings(src.family and src.family.name
      or src.name)) do
    if LASTING[run.status] or run.final then
      recall.ids[run.setting .. " " .. (run.config or "")] = run.id
      recall.newest[key_of(run.name, run.config, run.title)] = run
    end
  end
end

--- recall.new(source, opts) -> recall
--- The session's run store for a search of a source, see evaluate.lua. With
--- opts.fresh nothing in it is used. A store that cannot be read is a note.
function M.new(source, opts)
  local r = setmetatable({source = source, tag = opts.tag, ids = {},
    newest = {}, settings = {}, hashes = {}, changes = {}}, Recall)
  r.device = record.device(source.context)
  local store = stores.default()
  if store and not opts.fresh then
    local ok, e = pcall(read, r, store)
    if interrupt.is(e) then
      error(e, 0)
    elseif not ok then
      r.fault = tostring(e):match "^[^\n]*"
    end
  end
  return r
end

-- The change since a run that is not used.
local function change(recall, run, hash)
  local device = recall.device
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

-- The number of the run of a setting and a configuration, or nil.
local function run_of(recall, setting, config)
  return setting and recall.ids[setting .. " " .. config]
end

--- recall:knows(source, p) -> boolean
--- Whether the store has a record of a point; of several shapes, at each.
function Recall:knows(src, p)
  for _, part in ipairs(src.parts or {src}) do
    local setting = part.setting(p)
    if not run_of(self, setting, evaluate.row(part, p).config) then
      return false
    end
  end
  return true
end

--- recall:find(source, row, setting, hash) -> record, or nil
--- The newest record of a setting of a source. `hash` is that of its kernel
--- file. A second result is the change since the run of that point which is
--- not used, where it is the first of its kind.
function Recall:find(src, row, setting, hash)
  self.settings[row], self.hashes[row] = setting, hash
  local id = run_of(self, setting, row.config)
  local kept = id and stores.default():usable(id)
  if kept then
    return kept
  end
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

--- recall:keep(source, row)
--- Keeps a row that no record of bench stands for: a failed build, a refusal
--- after it, a process that ended.
function Recall:keep(src, row)
  if row.record or not self.settings[row] then
    return
  end
  local name = name_of(src, row)
  local r = record.new(name, src.context, {tag = self.tag})
  r.family = src.family and src.family.name
  r.kernel = src.family and name:match "%.(.*)$"
  r.config, r.params, r.title, r.mode = row.config, row.point, src.title,
    src.mode
  r.setting, r.source_hash = self.settings[row], self.hashes[row]
  r.final, r.log = row.status == "failed" or nil, row.log
  record.fail(r, row.status, row.reason)
  stores.keep(r)
end

-- The rows of a search as a hash: what its end depends on.
local function ending(recall, rows)
  local words = {}
  for _, row in ipairs(rows) do
    words[#words + 1] = ("%d %s %s %s"):format(row.id, recall.settings[row]
      or row.status, tostring(row.ms), table.concat(row.aims
      or {tostring(row.value)}, " "))
    for i, here in ipairs(row.at or {}) do
      words[#words + 1] = ("%d at %d: %s %s"):format(row.id, i,
        recall.settings[here] or here.status, tostring(here.ms))
    end
  end
  table.sort(words)
  return "tune " .. cachefile.hash(table.concat(words, "\n"))
end

-- A table of settings, see shapes.lua, with f(row) in place of its rows.
local function exchanged(levels, f)
  local list = {}
  for k, level in ipairs(levels) do
    local settings, shapes = {}, {}
    for i, row in ipairs(level.settings) do
      settings[i] = f(row)
    end
    for i, e in ipairs(level.shapes) do
      shapes[i] = {title = e.title, ms = e.ms, loss = e.loss,
        row = e.row and f(e.row)}
    end
    list[k] = {loss = level.loss, settings = settings, shapes = shapes}
  end
  return list
end

--- recall:finals(rows, known, find) -> winners, gain, table
--- The end of a search: that of the search before, where all rows are from the
--- store (`known`), else that of find(), which is kept.
function Recall:finals(rows, known, find)
  local store, by_id = stores.default(), {}
  local key = store and ending(self, rows)
  local words = known and key and store:remembered(key)
  local last = words and json.decode(words)
  for _, row in ipairs(rows) do
    by_id[row.id] = row
  end
  if last then
    local winners = {}
    for _, found in ipairs(last.rows) do
      local row = by_id[found.id]
      row.turns, row.verdict = found.turns, found.verdict
      if found.reason then
        row.status, row.reason, row.value = "wrong", found.reason, nil
      end
    end
    for i, id in ipairs(last.winners) do
      winners[i] = by_id[id]
    end
    return winners, last.gain, last.table
      and exchanged(last.table, function(id) return by_id[id] end)
  end
  local right = {}
  for _, row in ipairs(rows) do
    right[row] = row.status ~= "wrong" or nil
  end
  local winners, gain, settings = find()
  last = {rows = {}, winners = {}, gain = gain, table = settings
    and exchanged(settings, function(row) return row.id end)}
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
  if key then
    store:remember(key, json.encode(last))
  end
  return winners, gain, settings
end

--- recall:notes() -> list
--- Lines about the rows of the store that were not used.
function Recall:notes()
  local list = {}
  for i, why in ipairs(self.changes) do
    list[i] = ("%s: %s measured anew"):format(why, text.count(
      self.changes[why], "configuration"))
  end
  list[#list + 1] = self.fault and "the run store is not used: " .. self.fault
  return list
end

return M
