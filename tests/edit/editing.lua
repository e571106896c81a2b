-- editing.lua - typing at the prompt, on a real terminal's screen.
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"

-- How often a plain text occurs.
local function count(text, what)
  local n, at = 0, 1
  while true do
    local first, last = text:find(what, at, true)
    if not first then
      return n
    end
    n, at = n + 1, last + 1
  end
end

t.test("a statement is typed, runs, and the prompt is back", function()
  local s <close> = screen.ready()
  s:run("print(6 * 7)", "42")
  t.eq(s:text(), "cl> print(6 * 7)\n42\ncl>")
  t.eq({s:cursor()}, {4, 2})
  s:keys "C-d"
  t.eq(s:status(), 0)
end)

t.test("Enter submits a complete statement only", function()
  local s <close> = screen.ready()
  s:send "for i = 1, 2 do\rprint('n', i)\r"
  s:wait_screen "cl> for i = 1, 2 do\n..>   print('n', i)\n..>"
  s:send "end"
  s:keys("Up", "Up", "End", "BSpace", "BSpace", "BSpace")
  s:wait "cl> for i = 1, 2\n"
  s:send " do"
  s:keys "Enter" -- from the first line
  s:wait_screen("cl> for i = 1, 2 do\n..>   print('n', i)\n..> end\n" ..
    "n       1\nn       2\ncl>")
  s:send "x = = 1\r" -- more lines cannot mend it
  s:wait "near '='"
end)

t.test("Alt-Enter and Ctrl-O begin a line in a complete statement", function()
  local s <close> = screen.ready()
  s:send "a = 1"
  s:keys "M-Enter"
  s:send "b = 2"
  s:keys "C-o"
  s:send "print(a + b)"
  s:wait_screen "cl> a = 1\n..> b = 2\n..> print(a + b)"
  s:keys "Enter"
  s:wait "\n3\ncl>"
end)

t.test("Up and Down keep the column", function()
  local s <close> = screen.ready()
  s:send "x = {1234567,\r2,\r'日本語',\r1234567"
  s:wait "..>   1234567"
  s:keys("Left") -- column 8, in the middle of a wide character
  s:keys("Up")
  s:until_true("between wide characters", function()
    return select(2, s:cursor()) == 2 and s:cursor() == 4 + 7
  end)
  s:keys("Up", "Up", "X")
  s:wait "cl> x = {123X4567"
  s:keys("Down", "Down", "Down", "Y")
  s:wait "..>   1234567Y"
end)

t.test("Home, End, C-a, C-e, C-k and C-u act on a line", function()
  local s <close> = screen.ready()
  s:send "f(1,\r22,\r333"
  s:wait "..>   333"
  s:keys("Up", "Home", "A", "End", "B", "C-a", "C", "C-e", "D")
  s:wait_screen "cl> f(1,\n..> CA  22,BD\n..>   333"
  s:keys("Left", "Left", "C-k")
  s:wait_screen "cl> f(1,\n..> CA  22,\n..>   333"
  s:keys "C-u"
  s:wait_screen "cl> f(1,\n..>\n..>   333"
  s:keys "C-k" -- the line break
  s:wait_screen "cl> f(1,\n..>   333"
  s:keys("C-y", "C-_", "C-u", "M-<", "x", "M->", "y")
  s:wait_screen "cl> xf(1,  333y"
end)

t.test("long lines wrap", function()
  local s <close> = screen.ready{width = 20, height = 8}
  s:send "x = '45678901234567"
  s:wait "cl> x = '45678901234"
  s:send "89012345678901234567"
  s:wait_screen("cl> x = '45678901234\n56789012345678901234\n567")
  t.eq({s:cursor()}, {3, 2})
  s:keys("BSpace", "BSpace", "BSpace")
  s:wait_screen "cl> x = '45678901234\n56789012345678901234"
  t.eq({s:cursor()}, {0, 2}) -- where the next character goes
  s:send "日'"
  s:wait_screen "cl> x = '45678901234\n56789012345678901234\n日'"
  s:keys("C-a", "C-k")
  s:wait_screen "cl>"
  s:send "print(('a'):rep(25))\r"
  s:wait_screen("cl> print(('a'):rep(\n25))\naaaaaaaaaaaaaaaaaaaa\n"
    .. "aaaaa\ncl>")
  t.eq(s:tmux("capture-pane -p -J"):match "[^\n]*",
    "cl> print(('a'):rep(25))", "the terminal has it as one line")
end)

t.test("wide, combining and unprintable characters", function()
  local s <close> = screen.ready()
  s:send "s = '日本e\u{301}xü'"
  s:wait "日本e\u{301}xü'"
  t.eq({s:cursor()}, {4 + 5 + 4 + 3 + 1, 0})
  s:keys("Left", "Left", "BSpace")
  s:wait "日本e\u{301}ü'"
  s:keys "BSpace"
  s:keys "BSpace"
  s:wait "'日ü'"
  t.eq(s:cursor(), 4 + 5 + 2)
  s:keys("C-v", "C-a", "C-v", "Tab", "y")
  s:wait "日^A       yü'"
  s:keys "Enter"
  s:run("print(s:byte(-5, -1))", "9       121     195     188")
end)

t.test("a text taller than the window scrolls, and is written once at the end",
  function()
    local s <close> = screen.ready{height = 6}
    s:run("print 'before'", "before")
    s:send "x = {\r"
    for i = 1, 12 do
      s:send(i .. "001,\r")
    end
    s:wait "12001,\n..>"
    t.eq(count(s:text(), "001,"), 5)
    s:keys("Up", "Up", "Up", "Up", "Up", "Up", "Up", "Up")
    s:wait "..>   5001"
    s:keys("M-<")
    s:wait "cl> x = {\n..>   1001"
    s:keys("M->")
    s:wait_end "12001,\n..>"
    s:send "}\r"
    s:wait_end "}\ncl>"
    local all = s:text(true)
    t.eq(count(all, "cl> x = {\n..>   1001,\n..>   2001,"), 1, all)
    t.eq(count(all, "before\ncl> x = {\n"), 1, all)
    for i = 1, 12 do
      t.eq(count(all, " " .. i .. "001,"), 1, all)
    end
    s:run("print(#x)", "\n12\n")
  end)

t.test("resizing the window", function()
  local s <close> = screen.ready{width = 60, height = 10}
  s:run("print 'above'", "above")
  s:send "x = {'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',\r'bbbb'"
  s:wait "'bbbb'"
  s:resize(30, 10)
  s:wait_end("above\ncl> x = {'aaaaaaaaaaaaaaaaaaaa\naaaaaaaaaaaaaaaaaaaa'," ..
    "\n..>   'bbbb'")
  s:resize(80, 12)
  s:wait_end("above\ncl> x = {'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'," ..
    "\n..>   'bbbb'")
  s:send "}\r"
  s:wait_end "..>   'bbbb'}\ncl>"
  t.eq(count(s:text(true), "cl> x = {"), 1, s:text(true))
end)

t.test("a window of another size keeps the lines above a statement", function()
  local s <close> = screen.ready{width = 60, height = 15}
  s:run("for i = 1, 30 do print('above' .. i) end", "above30")
  s:send("for i = 1, 2 do x = {'" .. ("a"):rep(75) .. "',\r'bbbb'}\rprint(x)")
  s:wait "print(x)"
  s:keys("Up", "Up") -- tmux drops rows below the cursor where it needs room
  for _, size in ipairs{{58, 24}, {89, 21}, {40, 12}, {120, 40}, {97, 9}} do
    s:resize(size[1], size[2])
    s:until_true("the statement once", function(seen)
      return count(seen, "cl> for i = 1, 2 do x = {") == 1
        and seen:find("above30\ncl> for", 1, true)
        and seen:find "%.%.>   print%(x%)$"
    end)
    t.eq(count(s:text(true), "above29"), 1, s:text(true))
  end
end)

t.test("Delete at the end of a text adds no line to later inputs", function()
  local s <close> = screen.ready()
  s:send "print(1)"
  s:keys("DC", "M-y")
  s:run("", "\n1\ncl>")
  s:run("print(2)", "\n2\ncl>")
  t.eq(s:text(), "cl> print(1)\n1\ncl> print(2)\n2\ncl>")
end)

t.test("frames neither scroll nor clear the window", function()
  local s <close> = screen.ready{height = 8}
  s:record()
  s:send "local function f(a)\rreturn (a)\r"
  s:keys("Up", "C-a", "Left", "Left")
  s:send "x"
  s:wait "f(ax)" -- Ctrl-C drops what the terminal has not read yet
  s:keys "C-c"
  s:wait "^C\ncl>"
  s:run("print 'done'", "\ndone")
  t.eq(s:ask "#{history_size}", "0")
  local raw = s:raw "done\r\n"
  t.ok(raw:find "\27%[0;35m", ("not coloured: %q"):format(raw))
  t.ok(not raw:find "\27%[%d*J", "no part of the window is cleared")
  t.ok(not raw:find "\27%[[%d;]*4[0-8]" and not raw:find "\27%[[%d;]*10[0-7]",
    "no background is set")
end)

t.test("unreadable colours: 16 colours, none without leave", function()
  local text = "local x = 'a' .. 12 -- note (y"
  local function colors(options)
    local s <close> = screen.ready(options)
    s:send(text)
    s:wait(text)
    return s:colors()
  end
  local shown = colors()
  t.ok(shown:find("\27%[35mlocal"), shown)
  t.ok(shown:find("\27%[32m'a'"), shown)
  t.ok(shown:find("\27%[36m12"), shown)
  t.ok(shown:find("\27%[2m%-%- note"), shown)
  for code in shown:gmatch "\27%[([%d;]*)m" do
    for n in code:gmatch "%d+" do
      t.ok(({["0"] = 1, ["1"] = 1, ["2"] = 1, ["4"] = 1})[n]
        or n:match "^3[1-9]$", code) -- 39 is the terminal's own
    end
  end
  t.ok(not colors{env = "NO_COLOR=1"}:find "\27", "NO_COLOR")
  t.ok(not colors{options = "-q --color=never"}:find "\27", "--color=never")
  t.ok(colors{env = "NO_COLOR=1", options = "-q --color=always"}:find "\27",
    "--color=always")
end)

t.test("what is open is marked, and brackets that belong together", function()
  local s <close> = screen.ready()
  s:send "f(x[1], '("
  s:until_true("the quote", function()
    return s:colors():find "\27%[31m'\27%[32m%("
  end)
  s:send "')"
  s:until_true("the brackets", function()
    local seen = s:colors():gsub("\27%[39m", "")
    return seen:find "f\27%[4m%(" and seen:find "\27%[4m%)"
  end)
end)

t.test("Ctrl-C clears the whole statement; twice it tells how to leave",
  function()
    local s <close> = screen.ready()
    s:send "for i = 1, 2 do\rprint(i)"
    s:wait "print(i)"
    s:keys("Up", "C-c")
    s:wait_screen "cl> for i = 1, 2 do\n..>   print(i)^C\ncl>"
    s:keys("C-c")
    s:wait_end "\ncl> ^C\ncl>"
    s:keys("C-c")
    s:wait_end "\ncl> ^C\nCtrl-D or exit leaves the shell\ncl>"
    s:run("print(7)", "\n7\n")
    s:send "x"
    s:keys "C-d" -- not the end: there is a text
    s:send " = 3"
    s:wait "cl> x = 3"
    s:keys("C-c", "C-d")
    t.eq(s:status(), 0)
  end)

t.test("output that does not end its line stays", function()
  local s <close> = screen.ready()
  s:send "do io.write 'abc' end\r"
  s:wait_end "\nabc\ncl>"
  s:send "do io.write(('x'):rep(80)) end\r"
  s:wait_end("\n" .. ("x"):rep(80) .. "\ncl>")
end)

t.test("Ctrl-L clears the window, not the text", function()
  local s <close> = screen.ready()
  s:run("print 'old'", "\nold\n")
  s:send "half"
  s:keys "C-l"
  s:wait_screen "cl> half"
end)

t.test("a line begins as deep as the blocks that are open", function()
  local s <close> = screen.ready()
  s:send "for i = 1, 2 do\rif i == 1 then\rprint {\r1,\r}\relse\rx = [[\ra"
  s:wait "..> a"
  s:send "]]\rend\rend\r"
  s:wait("cl> for i = 1, 2 do\n..>   if i == 1 then\n..>     print {\n" ..
    "..>       1,\n..>     }\n..>   else\n..>     x = [[\n..> a]]\n" ..
    "..>   end\n..> end\n")
  s:send "f(1, 2)"
  s:keys("Left", "Left", "M-Enter") -- in front of a text
  s:wait_end "cl> f(1,\n..>   2)"
end)

t.test("undo takes back a word, and the signs after it", function()
  local s <close> = screen.ready()
  s:send "local näme = fun(alpha_1 + 22222, 'a string of many words')"
  for _, left in ipairs{"local näme = fun(alpha_1 + 22222, 'a string of many",
      "local näme = fun(alpha_1 + 22222, 'a string of",
      "local näme = fun(alpha_1 + 22222, 'a string",
      "local näme = fun(alpha_1 + 22222, 'a",
      "local näme = fun(alpha_1 + 22222, '",
      "local näme = fun(alpha_1 +", "local näme = fun(", "local näme =",
      "local"} do
    s:keys "C-_"
    s:wait_screen("cl> " .. left)
  end
  s:send "x"
  s:wait_screen "cl> local x"
  s:keys("C-_", "C-_")
  s:wait_screen "cl>"
  s:send "one two three\31four\23five\31\31" -- keys that come at once
  s:wait_screen "cl> one two four"
end)

t.test("keys without a function insert nothing", function()
  local s <close> = screen.ready()
  s:send "x"
  s:keys("S-Up", "S-Left", "S-Right", "S-Down", "C-PPage", "C-NPage", "F2",
    "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "S-F5", "M-S-Up",
    "C-S-Left")
  for _, sequence in ipairs{"\27[[E", "\27[200;5~", "\27OQ", "\27O2P",
      "\27[?62;c", "\27[1;10Q"} do
    s:send(sequence)
  end
  s:send "y"
  s:wait "y"
  t.eq(s:text(), "cl> xy")
  s:keys("IC", "C-u") -- Insert does not quote the next key
  s:send "z"
  s:wait "z"
  t.eq(s:text(), "cl> z")
end)

t.done()
