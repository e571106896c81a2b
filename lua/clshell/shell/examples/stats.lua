-- shell/examples/stats.lua - examples that help shows: samples and tables
-- SPDX-License-Identifier: MIT

--- stats.quantile
local stats = require "clshell.stats"
print(stats.quantile({1, 2, 3, 4, 5}, 0.25)) --> 2.0

--- stats.median
local stats = require "clshell.stats"
print(stats.median{5, 1, 3}) --> 3.0

--- stats.ranks
local stats = require "clshell.stats"
print(stats.ranks(10)) --> 2 9

--- stats.interval
local stats = require "clshell.stats"
print(stats.interval{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) --> 2 9

--- stats.summary
local stats = require "clshell.stats"
local s = stats.summary{1, 2, 3, 4, 5, 6}
print(s.n, s.median, s.lo, s.hi) --> 6 3.5 1 6

--- stats.half_width
local stats = require "clshell.stats"
print(stats.half_width{9, 10, 10, 10, 10, 11} < 0.2) --> true

--- stats.mad
local stats = require "clshell.stats"
print(stats.mad{1, 2, 3, 4, 5}) --> 1.4826

--- stats.mad_outliers
local stats = require "clshell.stats"
print((stats.mad_outliers{1, 2, 3, 4, 5, 100})) --> 1

--- stats.mann_whitney
local stats = require "clshell.stats"
local p, shift = stats.mann_whitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10})
print(p < 0.01, shift) --> true 1.0

--- report
local report = require "clshell.report"
local rows = {{name = "a", ms = 1.5}, {name = "b", ms = 12.25}}
report(rows, {"name", {key = "ms", title = "ms", format = "%.2f"}})

--- report.format
local report = require "clshell.report"
local rows = {{n = 64, t = 1e-3}, {n = 128, t = 8e-3}}
print(report.format(rows, {"n", {key = "t", title = "time", unit = "s"}},
  {width = 40}))

--- report.number
local report = require "clshell.report"
print(report.number(1234.5678), report.number(0.00123456, 3)) --> 1235 0.00123

--- report.relate
local report = require "clshell.report"
local slow = {gflops = 10, ms = 4}
local fast = {gflops = 40, ms = 1}
report.relate({slow, fast}, {peak = 80e9, base = slow})
print(fast.percent, fast.speedup) --> 50.0 4.0

--- report.align
local report = require "clshell.report"
local cells = {"1.5", "12.25"}
report.align(cells)
print("|" .. cells[1] .. "|") --> | 1.5 |

--- report.wrap
local report = require "clshell.report"
print(#report.wrap("a few words in lines", 10)) --> 3

--- report.width
local report = require "clshell.report"
print(report.width() > 0) --> true
