-- editing.lua - typing at the prompt, on a real terminal's screen.
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"

t.test("a statement is typed, runs, and the prompt is back", function()
  local s <close> = screen.open()
  s:wait_screen "cl>"
  s:run("print(6 * 7)", "42")
  t.eq(s:text(), "cl> print(6 * 7)\n42\ncl>")
  t.eq({s:cursor()}, {4, 2})
  s:keys "C-d"
  t.eq(s:status(), 0)
end)

t.test("a pasted block runs as one, after Enter", function()
  local s <close> = screen.open()
  s:wait "cl>"
  s:paste "local a = 20\n\tprint(a + 1)\n"
  s:wait "print(a + 1)"
  s:send "\r"
  s:wait "21"
end)

t.done()
