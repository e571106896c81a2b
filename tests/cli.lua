-- cli.lua - the command line, through real processes: options, scripts,
-- exit codes, streams.
-- SPDX-License-Identifier: MIT
local t = require "t"

local build = os.getenv "CLSHELL_BUILD" or "build"
local sanitized = build:find("asan", 1, true) ~= nil

local function first_line(command)
  local p <close> = assert(io.popen(command))
  return p:read("l")
end

local here = assert(first_line "pwd")
if build:sub(1, 1) ~= "/" then
  build = here .. "/" .. build
end
local clshell = build .. "/clshell"
local dir = first_line "mktemp -d"

local function slurp(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read("a")
end

local function create(name, text)
  local path = dir .. "/" .. name
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
  return path
end

-- Runs a shell command in which $clshell is the program. Returns standard
-- output, standard error and the exit code.
local function sh(command)
  local script = create("command.sh", ("clshell='%s'\n%s\n"):format(clshell,
    command))
  local p = assert(io.popen(("cd %s; sh %s 2>stderr </dev/null; echo $?")
    :format(dir, script)))
  local all = p:read("a")
  p:close()
  local out, code = all:match("^(.*)(%f[%d]%d+)\n$")
  return out, slurp(dir .. "/stderr"), tonumber(code)
end

local function expect(command, out, code)
  local o, e, c = sh(command)
  t.eq(o, out, command .. "\n" .. e)
  t.eq(c, code or 0, command .. "\n" .. e)
end

-- The command fails with this code, and standard error has all the parts.
local function fails(command, code, ...)
  local _, e, c = sh(command)
  t.eq(c, code, command .. "\n" .. e)
  for _, part in ipairs {...} do
    t.ok(e:find(part, 1, true), ("%s: no '%s' in: %s")
      :format(command, part, e))
  end
  return e
end

t.test("-e, -p and -l run in order", function()
  expect([[$clshell -e 'print(1)' -e 'x = 2' -p 'x + 1, nil, "s"']],
    "1\n3\tnil\ts\n")
  expect([[$clshell -e'print(7)']], "7\n")
  expect([[$clshell -p '']], "")
  create("mod_a.lua", "return {n = 5}")
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
  for line in out:gmatch("[^\n]+") do
    t.ok(#line <= 79, line)
  end
  t.eq((sh "$clshell -h"), out)
  out, _, code = sh "$clshell --version"
  t.ok(out:match("^clshell %d+%.%d+%.%d+ %(Lua 5%.4.*%)\n$"), out)
  t.eq(code, 0)
  t.eq((sh "$clshell -V"), out)
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
    local f <close> = assert(io.open(home .. name, "w"))
    f:write(text)
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
    x.y = 1']], 1, "clshell: (command line):2:", "stack traceback")
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

t.test("exit 3: no matching device", function()
  local none = "OCL_ICD_VENDORS=/nonexistent OCL_ICD_FILENAMES= "
  fails(none .. "$clshell --devices", 3, "no OpenCL device", "install")
  fails(none .. "$clshell -p 'cl.device()'", 3, "no OpenCL device")
  expect(none .. "$clshell -p 'select(2, pcall(cl.device)).name'",
    "CL_DEVICE_NOT_FOUND\n")
  expect(none .. "$clshell -d anything -p 1", "1\n")
end)

t.test("--devices and --device", function()
  local expected = {}
  local out, e, code = sh [[$clshell -e '
    for i, d in ipairs(cl.devices()) do
      print(i, d.name, d.type, d.platform, d.max_compute_units)
    end']]
  t.eq(code, 0, e)
  for line in out:gmatch("[^\n]+") do
    expected[#expected + 1] = line
  end
  local n = #expected
  if n == 0 then
    t.skip("no OpenCL device")
  end
  out, e, code = sh "$clshell --devices"
  t.eq(code, 0, e)
  t.eq(select(2, out:gsub("\n", "")), n)
  local i = 0
  for line in out:gmatch("[^\n]+") do
    i = i + 1
    for part in expected[i]:gmatch("[^\t]+") do
      t.ok(line:find(part, 1, true), line .. ": " .. part)
    end
  end
  for _, option in ipairs {"-d ", "-d", "--device=", "--device "} do
    expect("$clshell " .. option .. n .. " -p 'cl.device().index'",
      n .. "\n")
  end
  fails("$clshell -d nosuchdevice -p 'cl.device()'", 3, "nosuchdevice")
end)

t.test("output that does not arrive", function()
  fails("$clshell -e 'print(1)' >/dev/full", 1, "cannot write")
  fails("$clshell -e 'print(1) os.exit(0)' >/dev/full", 1, "cannot write")
  fails("$clshell -e 'print(1)' >&-", 1, "cannot write")
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

os.execute("rm -rf " .. dir)
t.done()
