-- tune_result.lua - the progress of a search, on a terminal and in a log,
-- and the charts of its rows
-- SPDX-License-Identifier: MIT

local t = require "t"
local spaces = require "clshell.tune.space"
local tune_result = require "clshell.tune.tune_result"

local TIMES = {8, 4, false, 6, 2, 3, 2, 5, 4, 1, 7, 6}

local function rows_of(times)
  local space, rows = spaces.new{x = {1, 2, 3, 4}, y = {1, 2, 3}}, {}
  for i, ms in ipairs(times) do
    rows[i] = {point = space:point(i), config = space:tostring(space:point(i)),
      status = ms and "ok" or "failed", value = ms or nil, ms = ms or nil,
      cost = ms or nil}
  end
  return space, rows
end

-- All that a search of these times writes, at so many seconds a row.
local function run(times, seconds, opts)
  local out, time = {}, 0
  opts.now = function() return time end
  opts.write = function(s) out[#out + 1] = s end
  opts.quiet, opts.glyphs, opts.width = opts.quiet or false, false, 80
  opts.total = opts.total or #times
  local _, rows = rows_of(times)
  do
    local v <close> = tune_result.progress(opts)
    for _, row in ipairs(rows) do
      v:step(row.config)
      time = time + seconds
      v:add(row)
    end
  end
  return out
end

t.test("a terminal: the best, its gain, failures; at the end a chart",
  function()
    local out = run(TIMES, 1, {tty = true})
    t.eq(out[1], "\r\27[K[#-------------------] 2/12  x=1 y=2  best 8.000 ms")
    t.eq(out[4], "\r\27[K[######--------------] 5/12  x=2 y=2  "
      .. "best 4.000 ms, 2.00x, 1 failed  eta 0:08")
    t.eq(out[#out - 1], "\r\27[K", "the line is erased")
    t.ok(out[#out]:find("^best time, ms\n") and out[#out]:find("evaluations"))
    for line in out[#out]:gmatch "[^\n]+" do
      t.ok(utf8.len(line) <= 80, line)
    end
    t.eq(run(TIMES, 0.01, {tty = true}), {}, "nothing of a short search")
    t.eq(run(TIMES, 1, {tty = true, quiet = true}), {})
    local few = run({3, 2}, 1, {tty = true})
    t.eq(few[#few], "\r\27[K", "two evaluations are no chart")
    local same = run({1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 1, {tty = true})
    t.eq(same[#same], "\r\27[K", "the first was the best")
    local bad = run({false, false, false}, 1, {tty = true})
    t.ok(bad[2]:find("no result yet, 2 failed", 1, true), bad[2])
  end)

t.test("a log: plain lines and no chart", function()
  local text = table.concat(run(TIMES, 20, {tty = false}))
  t.ok(text:find("4.000 ms, 2.00x", 1, true), text)
  t.ok(not text:find("[\r\27]") and not text:find("evaluations"), text)
end)

t.test("a search that time ends: the evaluations that it allows", function()
  local out = run(TIMES, 1, {tty = true, seconds = 20, total = 1000})
  t.ok(out[6]:find(" 7/20 ", 1, true), out[6])
  out = run(TIMES, 1, {tty = true, seconds = 20, total = 12})
  t.ok(out[6]:find(" 7/12 ", 1, true), out[6])
  out = run(TIMES, 1, {tty = true, seconds = 4, total = 1000})
  t.ok(out[11]:find(" 12/12 ", 1, true), "time is up: " .. out[11])
end)

local function points(chart, i)
  local list = {}
  for k, p in ipairs(chart.series[i].points) do
    list[k] = {p.x, p.y}
  end
  return list
end

t.test("charts: the best over the evaluations, and a parameter", function()
  local space, rows = rows_of(TIMES)
  local best = {space = space, rows = rows, name = "search"}
  local chart = tune_result.new(best):plot()
  t.eq(chart.title, "search")
  t.eq(points(chart, 1), {{1, 0.008}, {2, 0.004}, {4, 0.004}, {5, 0.002},
    {9, 0.002}, {10, 0.001}, {12, 0.001}})
  chart = tune_result.new(best):plot("x", {title = "mine"})
  t.eq(chart.title, "mine")
  local all = points(chart, 1)
  t.eq(#all, 11, "a point for each row with a time")
  t.eq({all[1][1], all[11][1]}, {1, 4})
  t.ok(chart:svg():find("<svg", 1, true))
  t.ok(tune_result.new(best):plot({title = "other"}).title == "other")
  t.raises(function() tune_result.new(best):plot("tile") end,
    "no parameter 'tile'")
  t.raises(function() tune_result.new{space = space, rows = {}}:plot() end,
    "no evaluation")
  for _, row in ipairs(rows) do
    row.cost = row.cost and -row.cost
    row.value = row.cost
  end
  t.eq(tune_result.new(best):plot().y.label, "best objective")
  t.eq(points(tune_result.new(best):plot(), 1)[1], {1, -8})
end)

t.test("a result of tune draws itself, also as a report page", function()
  local path, lines = t.tmp("space.csv"), {"tile,pad,ms"}
  for _, tile in ipairs{4, 8, 16} do
    for pad = 0, 1 do
      lines[#lines + 1] = ("%d,%d,%d"):format(tile, pad, 64 // tile + pad)
    end
  end
  t.write(path, table.concat(lines, "\n"), "\n")
  local best = require "clshell.tune"{replay = path}
  t.eq(#points(best:plot("tile"), 1), 6)
  t.eq(#best:records(), 6)
  t.eq(best:plot().y.label, "best time")
  local html = t.tmp("space.html")
  best:save(html)
  local page <close> = assert(io.open(html))
  local words = page:read "a"
  t.ok(words:find("^<!DOCTYPE html>"))
  t.ok(words:find("tile=16 pad=0", 1, true), words)
end)

t.done()
