-- recall.lua - the history of the prompt: recalled, searched, and on disk.
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"

local capture = t.capture

local function write(path, text)
  os.execute("mkdir -p '" .. path:match "(.*)/" .. "'")
  t.write(path, text)
end

local function read(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a" or ""
end

-- A folder for the state of sessions, and the history in it.
local function home()
  local dir = capture("mktemp -d"):gsub("\n", "")
  local self = {dir = dir, file = dir .. "/state/clshell/history"}
  return setmetatable(self, {__close = function()
    os.execute("rm -rf '" .. dir .. "'")
  end})
end

local function entries(text)
  return (text:gsub("#%d+\n", "|"))
end

t.test("a statement is one entry, also after a restart", function()
  local h <close> = home()
  do
    local s <close> = screen.ready{dir = h.dir}
    s:send "for i = 1, 2 do\rprint('n' .. i)\rend\r"
    s:wait "n2\ncl>"
    s:run("print(7)", "\n7\n")
    s:run("print(7)")
    s:send "os.exit(3)\r"
    t.eq(s:status(), 3)
  end
  t.eq(entries(read(h.file)),
    "|for i = 1, 2 do\n  print('n' .. i)\nend\n|print(7)\n|os.exit(3)\n")
  t.eq(capture("ls -l " .. h.file):sub(1, 10), "-rw-------")
  t.eq(capture("ls -ld " .. h.file:match "(.*)/"):sub(1, 10), "drwx------")
  local s <close> = screen.ready{dir = h.dir}
  s:keys("Up", "Up", "Up")
  s:wait_screen "cl> for i = 1, 2 do\n..>   print('n' .. i)\n..> end"
  t.eq({s:cursor()}, {19, 0}) -- so that Up goes on
  s:keys("Down", "End", "Enter")
  s:wait "n2\ncl>"
end)

t.test("a history that others could read becomes private", function()
  local h <close> = home()
  write(h.file, "print(1)\n")
  os.execute("chmod 644 " .. h.file)
  local s <close> = screen.open{dir = h.dir}
  s:run("print(7)", "\n7\n")
  t.eq(capture("ls -l " .. h.file):sub(1, 10), "-rw-------")
end)

t.test("Up-arrow never loses or mutates what was typed", function()
  local h <close> = home()
  local s <close> = screen.ready{dir = h.dir}
  s:run("first = 1")
  s:run("second = 2")
  s:send "f(draft,\rtwo"
  s:wait "..>   two"
  s:keys("Up", "Up")
  s:wait_end "\ncl> second = 2"
  s:send " + 20"
  s:keys("Up")
  s:wait_end "\ncl> first = 1"
  s:keys("Down")
  s:wait_end "\ncl> second = 2 + 20"
  s:keys("C-_", "C-_") -- its own undo list
  s:wait_end "\ncl> second = 2"
  s:send "00"
  s:keys("Down")
  s:wait_end "\ncl> f(draft,\n..>   two"
  s:keys("Up", "Up")
  s:wait_end "\ncl> second = 200"
  s:keys("Enter")
  s:run("print(second)", "\n200\n")
  t.eq(entries(read(h.file)),
    "|first = 1\n|second = 2\n|second = 200\n|print(second)\n")
  s:keys("Up", "Up", "Up")
  s:wait_end "cl> second = 2"
  s:keys("Up", "Up", "Up", "Up") -- there is no more
  s:wait_end "cl> first = 1"
end)

t.test("PgUp and PgDn go by what is before the cursor", function()
  local s <close> = screen.ready()
  for _, line in ipairs{"alpha = 1", "beta = 2", "alpha = 3", "gamma = 4"} do
    s:run(line)
  end
  s:send "al"
  s:keys("PPage")
  s:wait_end "cl> alpha = 3"
  t.eq(s:cursor(), 6)
  s:keys("PPage")
  s:wait_end "cl> alpha = 1"
  s:keys("PPage")
  s:keys("NPage")
  s:wait_end "cl> alpha = 3"
  s:keys("NPage")
  s:wait_end "cl> al"
end)

t.test("Ctrl-R searches, also in statements of several lines", function()
  local s <close> = screen.ready()
  s:run("needle = 1")
  s:send "function f()\rreturn 'needle'\rend\r"
  s:wait "end\ncl>"
  s:run("other = 2")
  s:send "typed"
  s:keys("C-r")
  s:wait "search:"
  s:send "needle"
  s:wait "search: needle"
  s:wait "\ncl> function f()\n..>   return 'needle'\n..> end\nsearch: needle"
  s:keys("C-r")
  s:wait_end "\ncl> needle = 1\nsearch: needle"
  s:keys("C-s")
  s:wait_end "..> end\nsearch: needle"
  s:send "x"
  s:wait "search: needlex  (not found)"
  s:keys("BSpace")
  s:wait_gone "(not found)"
  s:keys("C-g")
  s:wait_end "\ncl> typed"
  s:keys("C-r", "C-r") -- what was looked for before
  s:wait_end "..> end\nsearch: needle"
  s:keys("C-r", "C-e")
  s:wait_end "\ncl> needle = 1"
  s:send "0\r"
  s:run("print(needle)", "\n10\n")
  s:keys("C-r")
  s:send "NEEDLE"
  s:wait "search: NEEDLE  (not found)"
  s:keys("C-c")
  s:wait "^C"
  s:wait_end "\ncl>"
  s:keys("C-r")
  s:send "other"
  s:wait_end "cl> other = 2\nsearch: other"
  s:keys("Left") -- an escape sequence ends it too
  s:wait_end "cl> other = 2"
  s:keys("Enter")
  s:wait_end "\ncl>"
end)

t.test("several sessions keep all their entries", function()
  local h <close> = home()
  local a <close> = screen.open{dir = h.dir}
  local b <close> = screen.open{dir = h.dir}
  a:wait "cl>"
  b:wait "cl>"
  for i = 1, 5 do
    a:send("a" .. i .. " = " .. i .. "\r")
    b:send("b" .. i .. " = " .. i .. "\r")
  end
  a:run("print('a' .. 6)", "\na6\n") -- the others have run
  b:run("print('b' .. 6)", "\nb6\n")
  local kept = entries(read(h.file))
  for i = 1, 5 do
    t.ok(kept:find("|a" .. i .. " = " .. i .. "\n", 1, true), kept)
    t.ok(kept:find("|b" .. i .. " = " .. i .. "\n", 1, true), kept)
  end
  a:keys("Up", "Up", "Up")
  a:wait_end "cl> a4 = 4" -- a session's own, until the next start
end)

t.test("history lost or locked: a lock of someone else's does not stop it",
  function()
    t.skip_if(capture "command -v flock" == "", "no flock")
    local h <close> = home()
    write(h.file, "#1\nold = 1\n")
    local s <close> = screen.ready{dir = h.dir}
    os.execute(([[sh -c 'exec 9>>%s; flock 9; echo >%s/locked
      exec sleep 60' >%s/null 2>&1 & echo $! >%s/pid]]):format(h.file, h.dir,
      h.dir, h.dir))
    while read(h.dir .. "/locked") == "" do
      os.execute "sleep 0.02"
    end
    s:run("print('in' .. 'time')", "intime")
    os.execute("kill " .. read(h.dir .. "/pid"))
    t.eq(entries(read(h.file)), "|old = 1\n|print('in' .. 'time')\n")
  end)

t.test("history lost or locked: what cannot be read is skipped", function()
  local h <close> = home()
  write(h.file, "plain line\n#5\none = 1\n#6\nb\0roken\n#7\nx = [[\n" ..
    "\\#123\n]]\n\0\0\0\n#8\n#9\n\xFF\xFE = 1\n#10\nlast = 1")
  local s <close> = screen.ready{dir = h.dir}
  s:keys("Up")
  s:wait_end "cl> last = 1"
  s:keys("Up")
  s:wait_end "cl> \\xFF\\xFE = 1"
  s:keys("Up")
  s:wait_end "cl> one = 1" -- #7 has a broken line
  s:keys("Up")
  s:wait_end "cl> plain line"
  s:keys("C-c")
  s:wait_end "^C\ncl>"
  s:send "y = [[\r#42\r]]\r"
  s:wait_end "]]\ncl>"
  t.ok(read(h.file):find "last = 1\n#%d+\ny = %[%[\n\\#42\n%]%]\n$",
    read(h.file))
end)

t.test("a line that looks like a time comes back", function()
  local h <close> = home()
  write(h.file, "#7\nx = [[\n\\#123\n\\\\#4\n]]\n")
  local s <close> = screen.ready{dir = h.dir}
  s:keys "Up"
  s:wait_screen "cl> x = [[\n..> #123\n..> \\#4\n..> ]]"
end)

t.test("a long history is cut, and nothing of other sessions is lost",
  function()
    local h <close> = home()
    write(h.file, "#1\nfirst = 1\n")
    local before <close> = screen.open{dir = h.dir}
    before:wait "cl>"
    before:run "before = 1"
    local parts = {}
    for i = 1, 10700 do
      parts[i] = ("#%d\nx = {\n%d}\n"):format(i, i)
    end
    write(h.file, table.concat(parts))
    local s <close> = screen.ready{dir = h.dir}
    s:run "after = 2"
    before:run "before = 2"
    local text = read(h.file)
    local _, n = text:gsub("#%d+\n", "")
    t.eq(n, 10000 + 2)
    t.eq(entries(text:sub(1, 40)):match "^|[^|]*", "|x = {\n701}\n")
    t.eq(entries(text:sub(-200)):match "|x = {\n10700}.*",
      "|x = {\n10700}\n|after = 2\n|before = 2\n")
    t.eq(capture("ls -l " .. h.file):sub(1, 10), "-rw-------")
    t.eq(capture(("ls %s | grep -v sessions"):format(h.file:match "(.*)/")),
      "history\n")
  end)

t.test("history that cannot be written is a note, once", function()
  local s <close> = screen.ready{env = "XDG_STATE_HOME=/dev/null/x"}
  s:run("a = 1", "note: history is not kept: /dev/null/x/clshell/history")
  s:keys "C-l"
  s:wait_screen "cl>"
  s:run("print(a)", "\n1\n")
  t.ok(not s:text():find "note", s:text())
  s:keys("Up", "Up")
  s:wait_end "cl> a = 1"
end)

t.test("an entry that begins with an empty line is read back", function()
  local h <close> = home()
  write(h.file, "#1700000000\n\nx = 5\n#1700000001\n\n\n#1700000002\ny = 6\n")
  local s <close> = screen.ready{dir = h.dir}
  s:keys "Up"
  s:wait_end "cl> y = 6"
  s:keys "Up"
  s:wait_end "\n..> x = 5"
end)

t.test("Alt-. inserts the last argument of the entry before", function()
  local s <close> = screen.ready()
  s:run("a = math.max(1, (2 + 3))")
  s:run("--", "cl>")
  s:run("b = {kernel = 'x', 7}")
  s:send "c = "
  s:keys "M-."
  s:wait_end "cl> c = {kernel = 'x', 7}"
  s:keys "M-." -- again: of an older entry
  s:wait_end "cl> c = (2 + 3)"
  s:keys "M-." -- there is none
  s:send " + 1\r"
  s:run("print(c)", "\n6\n")
  local last = require "clshell.shell.prompt.place".last_argument
  for text, argument in pairs{
    ["gemm(A, B)"] = "B", ["f(x)(y, z.w[1]) -- note"] = "z.w[1]",
    ["f(1, g(2, 3));"] = "g(2, 3)", ["x = 5"] = "5", ["x = a.b:c()"] =
    "a.b:c()", ["bench 'gemm.tiled'"] = "'gemm.tiled'", ["f{1, 2}"] =
    "{1, 2}", ["for i = 1, 2 do print(i, 2 * i) end"] = "2 * i",
    ["f(function(a, b) return a, b end)"] = "function(a, b) return a, b end",
    ["%run a.lua 2048"] = "2048", ["?gemm.tiled"] = "gemm.tiled",
  } do
    t.eq(last(text), argument, text)
  end
  for _, text in ipairs{"", "x =", ")", "end", "-- note", "!"} do
    t.eq(last(text), nil, text)
  end
end)

t.test("an entry of the history is suggested where that is set", function()
  local s <close> = screen.ready()
  s:run("value = 6 * 7")
  s:run("print('other')", "\nother\n")
  s:send "val"
  s:wait_end "cl> val"
  t.eq(s:cursor(), 7)
  s:keys("C-c")
  s:wait_end "^C\ncl>"
  s:run("%set suggest on")
  s:send "val"
  s:wait_end "cl> value = 6 * 7"
  t.eq(s:cursor(), 7)
  t.ok(s:colors():find("cl> .-val\27%[2mue = 6 %* 7"), s:colors())
  s:keys "Left"
  s:wait_end "cl> val"
  s:keys("Right", "Right")
  s:wait_end "cl> value = 6 * 7"
  s:until_true("the end", function() return s:cursor() == 17 end)
  s:keys("C-u")
  s:send "pr"
  s:wait_end "cl> print('other')"
  s:keys "Enter" -- the suggestion is not entered
  s:wait_end "cl> pr\nnil\ncl>"
  s:send "val"
  s:wait_end "cl> value = 6 * 7"
  s:keys "End"
  s:send " + 1\r"
  s:run("print(value)", "\n43\n")
  local plain <close> = screen.open{env = "NO_COLOR=1"}
  plain:wait "cl>"
  plain:run("%set suggest on")
  plain:run("value = 1")
  plain:send "val"
  plain:wait_end "cl> val"
end)

t.done()
