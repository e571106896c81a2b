-- asking.lua - help at the prompt of a real terminal: ?name, name?, ??word,
-- F1 at the cursor, functions of the session
-- SPDX-License-Identifier: MIT

local t = require "t"
local screen = require "screen"

t.test("?name, name? and ??word", function()
  local s <close> = screen.ready{width = 80, height = 40}
  s:run("?cl.queue", "out_of_order  (false)")
  s:send "\12"
  s:run("cl.queue?", "A new command queue.")
  s:run("??freivalds", "cl.host.gemm_freivalds")
  s:run("?bank conflict", "?gemm.tiled_padded")
  s:run("?gemm.tild", "did you mean 'gemm.tiled'?")
  s:run("?string.format", "reference manual")
  s:run("?%tutorial", "[N|next|back|again|stop]")
  s:run("%tutorial?", "[N|next|back|again|stop]")
end)

t.test("help does nothing in Lua: ? alone and help list the topics", function()
  local s <close> = screen.ready{width = 80, height = 50}
  s:run("?", "%tutorial")
  s:keys "C-l"
  s:run("help", "Modules and functions")
end)

t.test("?name of a function typed at the prompt has its comment and source",
  function()
    local s <close> = screen.ready{width = 80, height = 40}
    s:paste "-- Doubles a number.\nfunction twice(x)\n  return 2 * x\nend"
    s:send "\r"
    s:wait_end "\ncl>"
    s:run("twice?", "twice(x)   input:1:2")
    s:wait "  Doubles a number."
    s:run("x = cl.array('int', 3);")
    s:run("?x:fill", "Array:fill(value")
    s:run("?x:expect", "no help on 'x:expect'") -- progress:expect is another
    s:run("?Buffer:expect", "no help on 'Buffer:expect'")
  end)

t.test("F1 shows help on the call at the cursor and keeps the line",
  function()
    local s <close> = screen.ready{width = 80, height = 60}
    s:send "cl.queue{out_of_order = "
    s:keys "F1"
    s:wait "A new command queue."
    s:send "true}:info().profiling\r"
    s:wait "\ntrue\n"
  end)

t.test("help fits the window and has colours only on demand",
  function()
    local s <close> = screen.ready{width = 50, height = 40}
    s:run("?Kernel:range", "work-item dimension 0")
    t.ok(s:colors():find("\27[1mKernel:range", 1, true), s:colors())
    local plain <close> = screen.open{width = 50, height = 40,
      env = "NO_COLOR=1"}
    plain:wait "cl>"
    plain:run("?Kernel:range", "work-item dimension 0")
    t.ok(not plain:colors():find("\27%[[13]"), plain:colors())
  end)

t.test("a page longer than the window goes through the pager", function()
  local s <close> = screen.ready{width = 80, height = 20,
    env = "PAGER='head -n 3'"}
  s:run("?gemm", "gemm(A, B [, opts]) -> C, event")
  t.ok(not s:text(true):find("Functions", 1, true), s:text(true))
  s:run("?string.rep", "reference manual") -- this one fits
  s:run("help(gemm)", "gemm(A, B [, opts]) -> C, event")
  t.ok(not s:text(true):find("Functions", 1, true), s:text(true))
end)

t.done()
