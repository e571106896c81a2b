-- widths.lua - tables in windows of several widths: no line is longer than the
-- window, each parameter is there, and behind a pipe nothing is cut
-- SPDX-License-Identifier: MIT

local t = require "t"
local quote = require "clshell.base.text".quote
local text_table = require "clshell.base.text_table"
local store = require "clshell.store"

t.keeps("Context", "Device", "Queue")

local WIDTHS = {60, 80, 100, 200}
local XEON = "cpu-cascadelake-Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"
local LONG = "mine.a_kernel_with_a_name_that_no_window_of_60_columns_holds"
local SETTINGS = {"vector=64 mr=14 nv=2 nt=16 kc=256 pack_a=1 ahead=32",
  "tile=16 edge=guard", "bm=64 bn=64 bk=16 rm=4 rn=4"}

-- Fails unless all lines fit and the text has each word of the parts.
local function fits(out, width, parts)
  for line in out:gmatch "[^\r\n]+" do
    t.ok((utf8.len(line) or #line) <= width, width .. ": " .. line)
  end
  for _, part in ipairs(parts) do
    for word in part:gmatch "%S+" do
      t.ok(out:find(word, 1, true), ("no %s at %s in\n%s"):format(word, width,
        out))
    end
  end
  return out
end

-- What a command prints on a terminal of so many columns.
local function on_terminal(command, width)
  t.skip_if(t.capture "command -v script stty" == "",
    "no script(1) and stty(1), which make a terminal")
  return (t.capture(("env -u COLUMNS TERM=dumb LC_ALL=C.UTF-8 script -qec %s "
    .. "/dev/null </dev/null 2>&1"):format(quote(("stty cols %d; %s"):format(
    width, command)))):gsub("\27%[[%d;]*%a", ""))
end

-- A file of a run store, with a script that prints its tables.
local function kept(devices)
  local path, day = t.tmp "runs.db", 0
  local s <close> = store.open(path)
  t.skip_if(not s, "no SQLite")
  for i = 1, 6 do
    day = day + 1
    s:keep{name = i == 4 and LONG or "gemm.tiled_transposed_b", type = "float",
      config = SETTINGS[i % 3 + 1], title = "1024x1024x1024 float",
      shape = {m = 1024, n = i}, mode = i < 5 and "hot" or "cold",
      status = "ok", ok = true, median = i * 1e-3, ms = i, n = i, gflops = 5.5,
      gbs = 123.4 * i, err = 1e-7, tag = i > 3 and "before" or nil,
      device = {name = devices[i % #devices + 1], driver = "1"},
      samples = {1e-3 * i}, protocol = 1,
      note = "n=" .. i .. ", as the 0.5 s were over",
      time = ("2026-01-%02dT03:04:05Z"):format(day)}
  end
  return path
end

local SCRIPT = 'list = {} for i = 1, 6 do list[i] = best()[i] end '
  .. 'print(history()) print(best()) print(results(list)) '
  .. 'print(require "clshell.runs".compare(1, "last"))'

for title, devices in pairs{["one device"] = {XEON},
  ["two devices"] = {XEON, "NVIDIA H100 80GB HBM3"}} do
  t.test("the tables of kept runs fit the window: " .. title, function()
    local clshell = ("%s --store %s"):format(t.exe, kept(devices))
    for _, width in ipairs(WIDTHS) do
      for _, command in ipairs{"history", "best", "-e " .. quote(SCRIPT)} do
        local out = fits(on_terminal(clshell .. " " .. command, width), width,
          SETTINGS)
        t.ok(#devices == 1 or out:find "NVIDIA" and out:find "cpu%-casca", out)
        t.ok(#devices == 2 or not out:find "device", out)
      end
    end
    local file = t.tmp "table"
    on_terminal(("%s -o %s history"):format(clshell, file), 60)
    for _, command in ipairs{clshell .. " history", clshell .. " best",
        "cat " .. file} do
      local out = t.capture("env -u COLUMNS " .. command)
      fits(out, math.huge, {XEON, LONG, "1024x1024x1024", table.unpack(
        SETTINGS)})
      t.ok(not out:find "left out" and not out:find "…", out)
    end
  end)
end

t.test("the lists of devices fit the window", function()
  t.device()
  for _, width in ipairs(WIDTHS) do
    for _, command in ipairs{"--devices", "devices.lua", "devices.lua 1"} do
      fits(on_terminal(t.exe .. " " .. command, width), width, {"cpu"})
    end
    fits(on_terminal(t.exe .. " -e 'bench()'", width), width, {"workload"})
  end
end)

t.test("a note of several rows is one footnote", function()
  local report = require "clshell.report"
  local rows = {{name = "a", note = "n=3, as the 0.5 s were over"},
    {name = "b", note = "slow; n=1, as the 0.5 s were over"}, {name = "c"}}
  t.eq(report.format(rows, {"name", "note"}, {width = 60}), [[
kernel  note
a       n=3
b       slow; n=1
c
n=1 to n=3: no more samples, as the 0.5 s were over]])
  t.eq(report.format({rows[1]}, {"name", "note"}, {width = 60}),
    "kernel  note\na       n=3, as the 0.5 s were over")
end)

t.test("sentences at the prompt, values in a script; lists have times",
  function()
    t.device()
    local begin = 'local e = {effort = "quick"} '
      .. 'r = bench("gemm.naive", {32}, nil, e) '
    local inputs = t.tmp "inputs"
    local f <close> = io.open(inputs, "w")
    f:write(begin, "\nroofline(r)\nlesson(r)\n{r, r}\n{first = r}\n",
      "{r, 1}\nroofline{name = 'a', median = 1}\nnil\n")
    f:flush()
    local said = t.capture(("COLUMNS=60 %s --store none -q -i <%s 2>&1")
      :format(t.exe, inputs))
    for _, part in ipairs{"gemm.naive 32x32x32 float reaches [%d.e-]+ %% of "
        .. "what this device can compute: [%d.]+ GFLOPS at [%d.]+ FLOP/B%.",
        "a has no place on the roofline: neither its FLOP nor its bytes are "
        .. "known; give one run's, as in bench%(f, {flop = 2e9, bytes = 8e6}%)"
        .. "%. nil",
    "32x32x32 float, hot cache %*? ?kernel time ms", "first = gemm%.naive",
        "{ ?gemm%.naive "} do
      local words = said:gsub("%s+", " ")
      t.ok(words:find(part), part .. " in\n" .. said)
    end
    t.ok(not said:find '"', said)
    local out = t.capture(("%s --store none -e %s 2>&1"):format(t.exe,
      quote(begin .. "print(roofline(r)) print(type(lesson(r)))")))
    t.ok(out:find "^[%d.e-]+\t%l+\nstring\n$", out)
  end)

t.test("names give their middle, and words that are too long break", function()
  local rows = {{name = LONG, note = ("x"):rep(90), at = 1},
    {name = "b", note = "é" .. ("y"):rep(30), at = 1}}
  for width = 20, 100 do
    fits(text_table.format(rows, {{key = "name", cut = 8},
      {key = "note", wrap = true}, {key = "at", once = "at %s"}},
      {width = width}), width, {"at 1"})
  end
  local text = require "clshell.base.text"
  t.eq({text.middle("abcdefgh", 5, "."), text.middle("éééééé", 4, "…"),
    text.middle("abc", 3, "."), text.middle("abc", -3, ".")},
    {"ab.gh", "éé…é", "abc", "."})
end)

t.test("rows of any size keep to the width that the first row set", function()
  local quantity = require "clshell.base.quantity"
  local function number(x)
    return quantity.number(x)
  end
  local columns = {{key = "name", title = "kernel", room = 20}}
  for _, key in ipairs{"ms", "gbs", "gflops", "times", "share"} do
    columns[#columns + 1] = {key = key, format = number, drop = 2}
  end
  columns[#columns + 1] = {key = "per", title = "%", format = "%.1f"}
  columns[#columns + 1] = {key = "count", format = "%d", drop = 1}
  local seed = 20261127
  math.randomseed(seed)
  print("# seed " .. seed)
  local function row()
    local r = {name = "rung"}
    for _, c in ipairs(columns) do
      r[c.key] = r[c.key] or 10 ^ (math.random() * 14 - 6)
    end
    r.count = math.floor(r.count)
    return r
  end
  for _ = 1, 200 do
    local first, lines = row(), text_table.live(columns, 80)
    fits(lines(first), 80, {"rung"})
    for _ = 1, 10 do
      fits(lines(row()), 80, {"rung"})
    end
  end
  local lines = text_table.live(columns, 80)
  lines{name = "a", ms = 8.123}
  t.eq(lines{name = "b", ms = 0.05174}:match "%S+$", "0.05174")
end)

t.done()
