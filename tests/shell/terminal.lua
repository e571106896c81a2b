-- terminal.lua - the prompt and its terminal: signals, terminals that can do
-- less, keys that ask, and what is loaded when.
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"

local build, capture = t.build, t.capture

local read = t.read

-- The program on a screen: the last of its processes.
local function process(s)
  local pid = s:ask "#{pane_pid}"
  while true do
    local child = capture("pgrep -P " .. pid):match "%d+"
    if not child then
      return pid
    end
    pid = child
  end
end

t.test("stopped by Ctrl-Z and brought back", function()
  local program = build .. "/clshell -q"
  local s <close> = screen.open{command = "PS1='$ ' sh -i"}
  s:wait "$"
  s:send(program .. "\r")
  s:wait_end "\ncl>"
  s:send "for i = 1, 2 do\rprint('n' .. i)"
  s:wait "..>   print('n' .. i)"
  s:keys "C-z"
  s:wait_end "\n$"
  s:send "echo in between\r"
  s:wait "\nin between\n$"
  s:resize(50, 20)
  s:send "fg\r"
  s:wait_end "\ncl> for i = 1, 2 do\n..>   print('n' .. i)"
  s:send "\rend\r"
  s:wait_end "\nn1\nn2\ncl>"
  s:keys "C-d"
  s:wait_end "\n$"
end)

t.test("stopped and continued by someone else", function()
  local s <close> = screen.ready()
  s:send "half"
  s:wait "cl> half"
  local pid = process(s)
  os.execute("kill -STOP " .. pid .. " && kill -CONT " .. pid)
  s:keys "BSpace"
  s:wait_end "cl> hal"
  s:send "f = 7\r"
  s:run("print(half)", "\n7\n")
end)

t.test("ended by a signal, with the terminal as it was", function()
  for name, code in pairs{HUP = 129, TERM = 143, QUIT = 131} do
    local s <close> = screen.ready{command = ("sh -c 'ulimit -c 0; "
      .. "stty -g >$HOME/before; "
      .. "%s/clshell -q; c=$?; stty -g >$HOME/after; exit $c'"):format(
        build)}
    s:send "half"
    s:wait "cl> half"
    os.execute("kill -" .. name .. " " .. process(s))
    t.eq(s:status(), code)
    t.eq(read(s.dir .. "/after"), read(s.dir .. "/before"))
  end
end)

t.test("signals that are ignored stay so, as under nohup", function()
  local s <close> = screen.ready{command = ("sh -c 'trap \"\" HUP TSTP; "
    .. "exec %s/clshell -q'"):format(
    build)}
  s:send "half"
  s:wait "cl> half"
  os.execute("kill -HUP " .. process(s))
  s:keys "C-z"
  s:send " = 7\r"
  s:run("print(half)", "\n7\n")
end)

t.test("os.exit in a finalizer at the prompt, the terminal as it was",
  function()
    local s <close> = screen.ready{command = ("sh -c 'stty -g >$HOME/before; "
      .. "%s/clshell -q; c=$?; stty -g >$HOME/after; exit $c'"):format(
      build)}
    s:send("collectgarbage 'generational'; "
      .. "setmetatable({}, {__gc = function() os.exit(5) end}); ok = 1\r")
    for _ = 1, 100 do -- each key asks for colours and makes garbage
      if not pcall(s.send, s, ("x "):rep(50)) then
        break
      end
    end
    t.eq(s:status(), 5)
    t.eq(read(s.dir .. "/after"), read(s.dir .. "/before"))
  end)

t.test("TERM=dumb: plain lines, no escapes", function()
  local s <close> = screen.ready{env = "TERM=dumb"}
  s:record()
  s:send "for i = 1, 2 do\r"
  s:wait_end "\n..>"
  s:send "print('n' .. i) end\r"
  s:wait_end "\nn1\nn2\ncl>"
  s:send "half"
  s:keys "C-c"
  s:wait_end "^C\ncl>"
  s:run("print(6 * 7)", "\n42\n")
  t.ok(not s:raw "42":find "\27")
  s:keys "C-d"
  t.eq(s:status(), 0)
end)

t.test("LINEEDIT=none: plain lines", function()
  local program = build .. "/clshell-none"
  t.ok(not capture("ldd " .. program .. " 2>/dev/null"):find "readline")
  local s <close> = screen.ready{command = program .. " -q"}
  s:send "t = {1,\r"
  s:wait_end "\n..>"
  s:send "2}\r"
  s:wait_end "\n..> 2}\ncl>"
  s:run("print(#t)", "\n2\n")
  s:send "while true do\r"
  s:wait_end "\n..>"
  s:keys "C-c"
  s:wait_end "^C\ncl>"
  s:run("print(6 * 7)", "\n42\n")
  s:keys "C-d"
  t.eq(s:status(), 0)
  t.eq(capture("printf '1 + 1\\nfor i = 1, 2 do\\nprint(i) end\\n' | "
    .. program .. " -i 2>&1"), "2\n1\n2\n")
end)

t.test("locales: UTF-8 where none is set, bytes in C", function()
  local s <close> = screen.ready{env = "LC_ALL= LC_CTYPE= LANG="}
  s:send "s = 'né"
  s:wait "cl> s = 'né"
  s:keys "BSpace"
  s:send "a'\r"
  s:run("print(s)", "\nna\n")
  local c <close> = screen.open{env = "LC_ALL=C"}
  c:wait "cl>"
  c:send "s = 'né'"
  c:wait "cl> s = 'n\\xC3\\xA9'"
  c:send "\r"
  c:run("print(#s)", "\n3\n")
end)

t.test("the user's inputrc, and keys as in vi", function()
  local rc = t.tmp "inputrc"
  do
    t.write(rc, "set editing-mode vi\n\"\\C-t\": history-search-backward\n")
  end
  local s <close> = screen.ready{env = "INPUTRC=" .. rc}
  s:run "first = 1"
  s:run "second = 2"
  s:send "x = {1,\r2"
  s:wait "..>   2"
  s:keys("Escape", "k", "0", "x", "k", "k")
  s:wait_end "\ncl> first = 1"
  s:keys("j", "j")
  s:wait_end "\ncl>  = {1,\n..>   2"
  s:keys "C-c"
  s:wait "^C"
  s:send "fi"
  s:keys "C-t"
  s:wait_end "\ncl> first = 1"
end)

t.test("a pipe has no prompt and no escapes", function()
  t.eq(capture("printf 'x = {1,\\n2}\\n#x\\n' | env FORCE_COLOR= " .. build
    .. "/clshell -i 2>&1"), "2\n")
end)

t.test("Tab lists below the text, until the next key", function()
  local s <close> = screen.ready{height = 12}
  s:run "words = {alpha = 1, alpine = 2, beta = 3}"
  s:send "print(words.a"
  s:keys "Tab"
  s:wait "cl> print(words.alp\nalpha   alpine"
  s:send "h"
  s:wait_gone "alpine   "
  s:wait_end "cl> print(words.alph"
  s:keys "Tab"
  s:wait_end "cl> print(words.alpha"
  s:send ")\r"
  s:wait_end "\n1\ncl>"
  s:send "for i = 1, 2 do\r"
  s:keys("Tab", "y")
  s:wait_end "\n..>     y" -- indents where a line begins
end)

t.test("Tab: more candidates than have room are counted", function()
  local s <close> = screen.ready{width = 40, height = 8}
  s:run "many = {} for i = 1, 60 do many[('name%03d'):format(i)] = i end"
  s:keys "C-l"
  s:send "many."
  s:keys "Tab"
  s:wait("cl> many.name0\nname001  name004  name007  name010\n" ..
    "name002  name005  name008  name011\n" ..
    "name003  name006  name009  name012\nand 48 more")
end)

t.test("F1 explains what is at the cursor, above the text", function()
  local s <close> = screen.ready{height = 40}
  s:send "x = {1,\rbench("
  s:wait "..>   bench("
  s:keys "F1"
  local seen = s:until_true("help and the text", function(text)
    return text:match "^(.*)\ncl> x = {1,\n%.%.>   bench%($"
  end)
  t.ok(seen:find "bench", seen)
  s:keys "BSpace"
  s:wait_end "\ncl> x = {1,\n..>   bench"
end)

t.test("slow first key: nothing is loaded once a key has come", function()
  local log = t.tmp "log"
  local code = ([[
    local log = assert(io.open('%s', 'w'))
    log:setvbuf 'no'
    table.insert(package.searchers, 1, function(name)
      log:write('load ', name, '\n')
    end)
    local edit = require 'clshell.shell.prompt.edit'
    local mask = edit.mask
    function edit.mask(text)
      if text ~= '' then
        log:write('key\n')
      end
      return mask(text)
    end]]):format(log):gsub("\n%s*", " ")
  local s <close> = screen.ready{options = '-q -i -e "' .. code .. '"'}
  s:send "local x = {'y"
  s:wait "local x = {'y"
  local text = read(log)
  t.ok(text:find "load clshell.shell.prompt.highlight.*key\n", text)
  t.ok(not text:find "key\n.*load", text)
end)

t.test("ghost text: nothing is shown that was not typed", function()
  local s <close> = screen.ready()
  s:run("print('remember this')")
  s:send "pri"
  s:wait_end "\ncl> pri"
  s:send "n"
  s:wait_end "\ncl> prin"
end)

t.done()
