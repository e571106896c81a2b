-- judge.lua - judge: verdicts on kernels for the tasks of the folder tasks.
-- Each kernel of honest is RIGHT; each of cheats gets the verdict and a part
-- of the reason that its head tells. A file's name begins with its task's.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.device()
t.keeps("Context", "Queue", "Program", "Kernel", "Buffer")

local scripts = t.here .. "/scripts/tasks/"

t.test("a failure is told with its element, and repeated", function()
  local board = judge(scripts .. "mm.lua", scripts .. "mm.cl",
    {repro = "16:7", keep = false})
  local r = board[1]
  t.eq({board.ok, r.verdict, r.size, r.seed}, {false, "WRONG", "16", 7})
  t.ok(r.reason:find("256 of 256 elements of C: C[1, 1] = 0, expected", 1,
    true), r.reason)
  t.ok(r.repro:find("scripts/tasks/mm.cl --repro 16:7", 1, true), r.repro)
end)

scratch.done()
