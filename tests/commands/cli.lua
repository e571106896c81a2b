-- cli.lua - the command line, through real processes: options, scripts,
-- exit codes, streams.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.keeps("Device")

local build, here = t.build, t.here
local sanitized = build:find("asan", 1, true) ~= nil

local clshell = build .. "/clshell"
local create, dir, sh = scratch.create, scratch.dir, scratch.sh

local function expect(command, out, code)
  local o, e, c = sh(command)
  t.eq(o, out, command .. "\n" .. e)
  t.eq(c, code or 0, command .. "\n" .. e)
end

-- The command fails with this code, and standard error has all the parts.
local function fails(command, code, ...)
  local _, e, c = sh(command)
  t.eq(c, code, command .. "\n" .. e)
  scratch.has(e, ...)
  return e
end

t.test("-e, -p and -l run in order", function()
  expect([[$clshell -e 'print(1)' -e 'x = 2' -p 'x + 1, nil, "s"']],
    "1\n3\tnil\ts\n")
  expect([[$clshell -e'print(7)']], "7\n")
  expect([[$clshell -p '']], "")
  create("mod_a.lua", "return {n = 5}")
  expect([[$clshell -f csv -p 'cl.array("ulong", 2, {-1, 5})']],
    "value\r\n18446744073709551615\r\n5\r\n")
  expect([[$clshell -l mod_a -p mod_a.n]], "5\n")
  expect([[$clshell -l m=mod_a -p m.n]], "5\n")
  fails([[$clshell -l no_such_module -e 'print(1)']], 1, "no_such_module")
  fails([[$clshell -e 'error "first"' -e 'print "second"']], 1, "first")
end)

t.test("usage", function()
  local out, _, code = sh "$clshell --help"
  t.eq(code, 0)
  for _, part in ipairs {"--device", "--devices", "-e CODE", "-i,", "Exit"}
  do
    t.ok(out:find(part, 1, true), "--help names " .. part)
  end
  for _, text in ipairs {out, (sh "$clshell --help-all")} do
    for line in text:gmatch("[^\n]+") do
      t.ok(#line <= 79 and not line:find(" $"), "'" .. line .. "'")
    end
  end
  t.eq((sh "$clshell -h"), out)
  out, _, code = sh "$clshell --version"
  local commit = out:match("^clshell %d+%.%d+%.%d+ %(Lua 5%.4.*%)(.*)\n$")
  t.ok(commit and (commit == "" or commit:find "^, commit %S+$"), out)
  t.eq(code, 0)
  t.eq((sh "$clshell -V"), out)
end)

t.test("help names every option, --help-all also what is around", function()
  local help, all = sh "$clshell --help", sh "$clshell --help-all"
  local options = require("clshell.optiontable").options
  for _, o in ipairs(options) do
    local word = (o.name and "--" .. o.name or "-" .. o.letter)
      .. (o.arg and " " .. o.arg or "")
    t.ok(not o.group or help:find(word, 1, true), word)
    t.ok(all:find(word, 1, true), word)
  end
  t.ok(#options > 15)
  for _, part in ipairs {"Environment", "CLSHELL_STORE", "NO_COLOR", "Files",
    "clshell/runs.db", "130", "--timeout is over"} do
    t.ok(all:find(part, 1, true), part)
  end
end)

t.test("a wrong option is one line and exit 2", function()
  local function usage(options, ...)
    local e = fails("$clshell " .. options, 2, "--help", ...)
    t.eq(select(2, e:gsub("\n", "")), 1, e)
  end
  usage("--devcies", "--devcies", "did you mean --devices?")
  usage("--zzzzzzzz", "unknown option --zzzzzzzz")
  usage("-z", "unknown option -z")
  usage("-qz", "unknown option -z")
  usage("-e", "-e needs a value")
  usage("--device", "--device needs a value")
  usage("--version=3", "--version=3")
  usage("-F", "unknown option -F; did you mean -f?")
  usage("-D", "-D needs a value")
  usage("-t", "unknown option -t; did you mean --timeout?")
  usage("-devices", "unknown option -devices; did you mean --devices?")
  usage("--dev", "--dev is ambiguous")
  usage("--format jsn -p 1", "got 'jsn'; did you mean json?", "csv")
  usage("-f '' -p 1", "csv", "got ''")
  usage("--color sometimes", "auto, always or never; got 'sometimes'")
  for _, seconds in ipairs {"x", "''", "0", "-1", "1x", "nan", "1e999"} do
    usage("--timeout " .. seconds .. " -p 1", "--timeout must be a number")
  end
end)

t.test("a script or command that is not there: the nearest one", function()
  fails("$clshell bench_tile.lua", 1, "cannot open bench_tile.lua",
    "did you mean bench_tiles.lua?")
  fails("$clshell bench_tiles", 1, "did you mean bench_tiles.lua?")
  fails("$clshell histry", 1, "did you mean the command history?")
  local e = fails("$clshell qqqqqqqqqqqqqq", 1, "cannot open qqqq")
  t.ok(not e:find("did you mean", 1, true), e)
end)

t.test("-I adds folders before all others", function()
  os.execute(("mkdir -p %s/more %s/other %s/own"):format(dir, dir, dir))
  create("more/extra.lua", "return 'more'")
  create("other/extra.lua", "return 'other'")
  expect("$clshell -I more -I other -l extra -p extra", "more\n")
  expect("$clshell -l extra -p extra -I other", "other\n")
  create("own/extra.lua", "return 'own'")
  local s = create("own/s.lua", "print((require 'extra'), package.cpath)")
  local out = sh("$clshell -I more " .. s)
  t.ok(out:find("^more\tmore/%?%.so;"), out)
  expect("$clshell own/s.lua | cut -f 1", "own\n")
end)

t.test("arg and ...", function()
  local s = create("args.lua", [[
    print(select("#", ...), ...)
    print(arg[0] == debug.getinfo(1, "S").source:sub(2), #arg)
    print(arg[1], arg[-1], arg[-2])]])
  expect("$clshell -q " .. s .. " a '' -x",
    ("3\ta\t\t-x\ntrue\t3\na\t-q\t%s\n"):format(clshell))
  expect("$clshell -- " .. s, ("0\ntrue\t0\nnil\t--\t%s\n"):format(clshell))
  expect([[$clshell -e 'print(arg[0] == nil, #arg, ...)']], "false\t2\n")
end)

t.test("shebang", function()
  local s = create("tool", "#!/usr/bin/env clshell\nprint('tool', ...)\n")
  os.execute("chmod +x " .. s)
  expect(('PATH="%s:$PATH" %s 1 2'):format(build, s), "tool\t1\t2\n")
end)

t.test("-p prints as the prompt does, uncut in a pipe", function()
  expect([[$clshell -p '{1, {2}, s = "a b", t = {}}' -p '1/3' -p '"x y"']],
    '{1, {2}, s = "a b", t = {}}\n0.3333333333333333\nx y\n')
  expect([[$clshell -p 'nil, 2' -p '"\27[1m"' -p '""' -e '']],
    "nil\t2\n\27[1m\n\n")
  local out = sh [[$clshell -p '(function() local t = {} for i = 1, 2000 do
    t[i] = i end return t end)()']]
  t.ok(out:find "%f[%d]2000\n?}" and not out:find "more", out)
  expect([[$clshell -p '(function() local t = {} t.t = t return t end)()']],
    "{t = <_>}\n")
  expect([[$clshell -f json -p '(function() local t = {1} t.t = t
    return #require "clshell.json".encode(t) < 50 end)()']], "true\n")
end)

t.test("json.decode of no text", function()
  t.raises(function() require "clshell.base.json".decode() end,
    "json.decode: the text must be a string; got nothing")
end)

t.test("standard input as a script", function()
  expect([[echo 'print("in", ...)' | $clshell]], "in\n")
  expect([[echo 'print("in", ...)' | $clshell - x]], "in\tx\n")
  fails([[echo 'error("bad")' | $clshell]], 1, "stdin:1: bad")
  expect([[printf 'x = 1\nx + 1\nfor i = 1, 2 do\nprint(i)\nend\n' |
    $clshell -i]], "2\n1\n2\n")
  expect([[echo | $clshell -i]], "")
end)

t.test("scripts are looked up by path, then among the installed", function()
  local home = dir .. "/home"
  os.execute(("mkdir -p %s/scripts %s/elsewhere && ln -sfn %s/lua %s/lua")
    :format(home, home, here, home))
  local function put(name, text)
    create("home" .. name, text)
  end
  put("/scripts/one.lua", "print('installed', (require 'near'))")
  put("/scripts/near.lua", "return 'near it'")
  put("/elsewhere/two.lua", "print('here', (require 'near'))")
  put("/elsewhere/near.lua", "return 'near two'")
  local go = ("cd %s/elsewhere; CLSHELL_HOME=%s "):format(home, home)
  expect(go .. "$clshell one.lua", "installed\tnear it\n")
  expect(go .. "$clshell two.lua", "here\tnear two\n")
  expect(("$clshell %s/elsewhere/two.lua"):format(home), "here\tnear two\n")
  fails(go .. "$clshell three.lua", 1, "cannot open three.lua",
    home .. "/scripts")
  fails(go .. "$clshell /no/such/place.lua", 1, "/no/such/place.lua")
  fails("CLSHELL_HOME=/no/such $clshell -e ''", 1, "CLSHELL_HOME",
    "/no/such")
  os.execute(("ln -sf %s/elsewhere/two.lua %s/link.lua"):format(home, home))
  expect(("$clshell %s/link.lua"):format(home), "here\tnear two\n")
end)

t.test("the program finds its files from anywhere", function()
  if not sanitized then -- its build folder is one deeper
    expect("cd / && unset CLSHELL_HOME && $clshell -p 'cl.home'",
      here .. "\n")
  end
  os.execute(("ln -sf %s %s/alias"):format(clshell, dir))
  expect("./alias -p 'type(gemm) ~= [[nil]]'", "true\n")
end)

t.test("errors", function()
  local e = fails([[$clshell -e 'local x = nil
    x.y = 1']], 1, "clshell: (command line):2:", "\n     2 |     x.y = 1\n")
  t.ok(e:find("attempt to index", 1, true), e)
  fails([[$clshell -e 'x = = 1']], 1, "clshell: (command line):1:", "near")
  fails([[$clshell -p '1 +']], 1, "<eof>")
  fails([[$clshell -e 'error()']], 1, "(error object is a nil value)")
  fails([[$clshell -e 'error({})']], 1, "(error object is a table value)")
  fails([[$clshell -e 'error(setmetatable({},
    {__tostring = function() return "mine" end}))']], 1, "clshell: mine")
  local s = create("fails.lua", [[
local function inner() cl.error("no good", {hint = "try better"}) end
local function outer() inner(); return 1 end
outer()]])
  e = fails("$clshell " .. s, 1, "fails.lua:1: no good", "try better",
    "called from", "fails.lua:2", "fails.lua:3")
  t.ok(not e:find("[C]", 1, true), "only the user's lines: " .. e)
  fails([[$clshell -e 'local function f() return f() + 1 end f()']], 1,
    "stack overflow")
  fails([[$clshell -e 'pcall(error); os.exit(9)']], 9)
  expect([[$clshell -e 'os.exit(true, true)']], "")
end)

t.test("a .cl file is no script, and the note says what to do", function()
  local path = create("typedef.cl", "typedef float REAL;\n")
  fails("$clshell " .. path, 1, "syntax error near 'float'",
    "a .cl file holds kernels; clshell --check " .. path, "cl.build")
end)

t.test("exit 3: no matching device", function()
  local none = "OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES= "
  fails(none .. "$clshell --devices", 3, "no OpenCL device", "install")
  fails(none .. "$clshell -p 'cl.device()'", 3, "no OpenCL device")
  expect(none .. "$clshell -p 'select(2, pcall(cl.device)).name'",
    "CL_DEVICE_NOT_FOUND\n")
  expect(none .. "$clshell -d anything -p 1", "1\n")
end)

t.test("--devices and --device", function()
  local devices = cl.devices()
  local n = #devices
  t.skip_if(n == 0, "no OpenCL device")
  local out, e, code = sh "$clshell --devices"
  t.eq(code, 0, e)
  local lines = {}
  for line in out:gmatch("[^\n]+") do
    lines[#lines + 1] = not line:find "^MPI" and line or nil
  end
  t.eq(#lines, n)
  for i, d in ipairs(devices) do
    for _, part in ipairs{i, d.name, d.type, d.platform, d.max_compute_units}
    do
      t.ok(lines[i]:find(part, 1, true), lines[i] .. ": " .. part)
    end
  end
  local words = fails("$clshell -d nosuch -p 'cl.device()'", 3,
    n == 1 and "no device matches 'nosuch'; there is:"
      or "no device matches 'nosuch'; there are:", "take one of these with -d",
    "--doctor")
  t.eq(words:find("processes", 1, true), nil, words)
  for _, option in ipairs {"-d ", "-d", "--device=", "--device "} do
    expect("$clshell " .. option .. n .. " -p 'cl.device().index'",
      n .. "\n")
  end
  fails("$clshell -d nosuchdevice -p 'cl.device()'", 3, "nosuchdevice")
end)

t.test("-p and --devices in formats for programs", function()
  expect([[$clshell -f json -p '{1, 0/0, {a = "x", b = {}}}']],
    '[1,null,{"a":"x","b":{}}]\n')
  expect([[$clshell -f json -p '1, nil, 2^53 | 0' -p 'nil' -p '{n = 0.1}']],
    '[1,null,9007199254740992]\nnull\n{"n":0.1}\n')
  expect([[$clshell -f csv -p '{{a = 1, b = "x,y"}, {a = 2, c = true}}']],
    'a,b,c\r\n1,"x,y",\r\n2,,true\r\n')
  expect([[$clshell -f csv -p '{{a = 1}, 7}']], "a,value\r\n1,\r\n,7\r\n")
  expect([[$clshell -f md -p '{{a_b = 1}}']],
    "| a\\_b |\n| --- |\n| 1 |\n")
  expect([[$clshell -f table -p '1, 2']], "1\t2\n")
  expect([[$clshell -f json -o out.json -p 1 -p '"two"'; cat out.json]],
    '1\n"two"\n')
  fails([[$clshell -o /no/such/folder -p 1]], 2, "/no/such/folder")
  fails([[$clshell -o /no/such/folder -f csv --devices]], 2, "/no/such")
  t.skip_if(sh "$clshell -p '#cl.devices()'" == "0\n", "no OpenCL device")
  local out = sh "$clshell --devices --format json"
  local list = assert(require("clshell.base.json").decode(out))
  for i, d in ipairs(cl.devices()) do
    t.eq({list[i].index, list[i].name, list[i].global_mem_B},
      {i, d.name, d.global_mem_size})
  end
  t.eq(sh "$clshell -f csv --devices":match("^[^,]*,[^,]*"), "index,name")
  expect([[$clshell -f json -p 'cl.buffer("int", 3, 7)']], "[7,7,7]\n")
  expect([[$clshell -f json -p 'cl.buffer("int", {2, 3}, 7)']],
    "[[7,7,7],[7,7,7]]\n")
  expect([[$clshell -f json -p 'cl.array("int", {2, 1, 2})']],
    "[[[0,0]],[[0,0]]]\n")
  expect([[$clshell -f csv -p 'matrix.from{{1, 2}, {3, 4}}']],
    "1,2\r\n1,2\r\n3,4\r\n")
  out = sh [[$clshell -f json -p 'cl.device()']]
  t.eq(require("clshell.base.json").decode(out).name, cl.device().name)
end)

t.test("--color and its precedence", function()
  local code = [[-p 'require("clshell.base.style").color(1)']]
  local always = "FORCE_COLOR=1 "
  expect("$clshell " .. code, "false\n")
  expect(always .. "$clshell " .. code, "true\n")
  expect("NO_COLOR=1 " .. always .. "$clshell " .. code, "false\n")
  expect("NO_COLOR=1 $clshell --color always " .. code, "true\n")
  expect(always .. "$clshell --color=never " .. code, "false\n")
  expect(always .. "$clshell --color=auto " .. code, "true\n")
end)

t.test("--timeout stops busy Lua, and a call that does not return", function()
  fails([[$clshell --timeout 0.1 -e 'while true do end']], 124, "--timeout")
  fails([[$clshell --timeout 0.1 -e 'while true do
    pcall(function() while true do end end) end']], 124, "--timeout")
  fails([[$clshell --timeout 0.1 -e 'coroutine.wrap(function()
    while true do end end)()']], 124, "--timeout")
  -- the alarm is rung by hand, when there is something to keep
  local out, e, code = sh [[$clshell --timeout 1000 -e 'print "kept"
    local t <close> = setmetatable({}, {__close = function()
      print "closed" end})
    os.execute "kill -s ALRM $PPID"
    while true do end']]
  t.eq({out, code}, {"kept\nclosed\n", 124}, e)
  -- nothing is printed where a second is too short to get there
  out, e, code = sh [[mkfifo hold; exec 9<>hold
    $clshell --timeout 1 -e 'print "kept" io.open("hold"):read("a")']]
  t.eq({out == "" and "kept\n" or out, code}, {"kept\n", 124}, e)
  out, e, code = sh [[mkfifo call; exec 9<>call
    $clshell --timeout 1 -e 'print "kept" os.execute "read x <call"' 9>&-]]
  t.eq({out == "" and "kept\n" or out, code}, {"kept\n", 124}, e)
  t.ok(out == "" or e:find("inside a call", 1, true), e)
  fails([[trap '' INT; $clshell --timeout 0.1 -e 'while true do end']], 124)
  expect([[$clshell --timeout 1e6 -p 1]], "1\n")
  create("steps", "expect --timeout is over\nexpect code 124\n"
    .. "expect  icanon\nexpect  echo \nexit 0\n")
  create("run", ("%s -q -n --timeout 1\necho code $?\nstty -a\n"):format(
    clshell))
  out, e, code = sh(build .. "/tests/pty -t 300 sh run <steps 2>&1")
  t.eq(code, 0, "the prompt ends, with the terminal as it was: " .. out .. e)
  fails([[$clshell --timeout 0.1 -i -e 'while true do end' </dev/null]], 124)
end)

t.test("output that does not arrive", function()
  fails("$clshell -e 'print(1)' >/dev/full", 1, "cannot write")
  fails("$clshell -e 'print(1) os.exit(0)' >/dev/full", 1, "cannot write")
  fails("$clshell -e 'print(1)' >&-", 1, "cannot write")
  fails("$clshell --help-all >/dev/full", 1, "cannot write")
  expect("{ $clshell --help-all 2>&1; } | head -n 1",
    "clshell - write, run and tune OpenCL kernels from Lua\n")
  expect("$clshell -e 'local x = 1' >&-", "")
  local loop = "for i = 1, 1e6 do print(i) end"
  for _, trap in ipairs {"", "trap '' PIPE; "} do
    local out, e, code = sh(([[
      { { %s$clshell -e '%s'; echo $? >&3; } | head -1; } 3>&1]])
      :format(trap, loop))
    t.eq(code, 0)
    t.eq(out, "1\n141\n", e)
    t.eq(e, "")
  end
end)

t.test("starting loads no OpenCL driver", function()
  if not io.open("/proc/self/maps") then t.skip("no /proc") end
  local vendors = {}
  local p <close> = assert(io.popen("cat /etc/OpenCL/vendors/*.icd " ..
    "2>/dev/null"))
  for lib in p:lines() do vendors[#vendors + 1] = lib:match("[^/]+$") end
  expect(("LIBS='%s' "):format(table.concat(vendors, " ")) ..
    [[$clshell -e 'local f = io.open("/proc/self/maps")
    local maps = f:read("a")
    for lib in os.getenv("LIBS"):gmatch("%S+") do
      if maps:find(lib, 1, true) then print(lib) end
    end']], "")
end)

scratch.done()
