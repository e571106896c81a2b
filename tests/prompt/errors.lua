-- errors.lua - what a person reads when Lua code fails: the message, the
-- source line with a caret, the user's own calls.
-- SPDX-License-Identifier: MIT
local t = require "t"

local clshell = t.exe

local quote = require("clshell.base.text").quote

local write = t.write

-- Standard error of a command, and its exit code.
local function stderr(command)
  local p <close> = assert(io.popen("NO_COLOR=1 " .. command
    .. " 2>&1 >/dev/null </dev/null; echo $?"))
  local text, code = p:read("a"):match("^(.*\n)(%d+)\n$")
  return text, tonumber(code)
end

local function run(code)
  return stderr(("%s -e %s"):format(quote(clshell), quote(code)))
end

local function script(name, text)
  local path = write(t.tmp(name), text)
  return stderr(quote(clshell) .. " " .. path), path
end

-- The report on `code` after "clshell: (command line):1: " is these lines.
local function says(code, ...)
  local text = run(code)
  t.eq(text, table.concat({"clshell: (command line):1: " .. ..., select(2,
    ...)}, "\n") .. "\n", code)
end

t.test("a caret under the name that was nil", function()
  says("foo()", "attempt to call a nil value (global 'foo')",
    "     1 | foo()",
    "       | ^~~")
  says("local t = {} t.x.y = 1",
    "attempt to index a nil value (field 'x')",
    "     1 | local t = {} t.x.y = 1",
    "       |                ^")
  says("local s = 's' s:nope()",
    "attempt to call a nil value (method 'nope')",
    "     1 | local s = 's' s:nope()",
    "       |                 ^~~~")
  says("local t = {} t['key'].x = 1",
    "attempt to index a nil value (field 'key')",
    "     1 | local t = {} t['key'].x = 1",
    "       |                ^~~~~")
  says("local a, b = 1 print(b + a * b)",
    "attempt to perform arithmetic on a nil value (local 'b')",
    "     1 | local a, b = 1 print(b + a * b)")
  says("local a, b = 1 print(a .. b, b)",
    "attempt to concatenate a nil value (local 'b')",
    "     1 | local a, b = 1 print(a .. b, b)",
    "       |                           ^")
  says("local b print(#b)",
    "attempt to get length of a nil value (local 'b')",
    "     1 | local b print(#b)",
    "       |                ^")
end)

t.test("a caret under the operator or the argument", function()
  says("local a, b = 1, 'x' print(a < b)",
    "attempt to compare number with string",
    "     1 | local a, b = 1, 'x' print(a < b)",
    "       |                             ^")
  local _, zero = pcall(load "return 1 % ...", 0)
  says("local z = 0 print(1 % z)", zero:match ": (.*)",
    "     1 | local z = 0 print(1 % z)",
    "       |                     ^")
  says("local x = 'a' + 1", "attempt to add a 'string' with a 'number'",
    "     1 | local x = 'a' + 1",
    "       |               ^")
  local text = run "for _, v in ipairs(nil) do end"
  t.ok(text:find("\n       |                    ^~~\n", 1, true), text)
  says("local s = ('x'):rep(2, {})",
    "bad argument #2 to 'rep' (string expected, got table)",
    "     1 | local s = ('x'):rep(2, {})",
    "       |                        ^")
  says("table.concat({f = function() if 1 then end end}, {}, 2)",
    "bad argument #2 to 'concat' (string expected, got table)",
    "     1 | table.concat({f = function() if 1 then end end}, {}, 2)",
    "       |                                                  ^")
end)

t.test("a caret where a syntax error stopped", function()
  says("x = = 2", "unexpected symbol near '='",
    "     1 | x = = 2",
    "       |     ^")
  says("x = 'abc", select(2, load("x = 'abc")):match ":1: (.*)",
    "     1 | x = 'abc",
    "       |     ^~~~")
  says("retrun 5", "syntax error near '5'",
    "     1 | retrun 5",
    "       |        ^ did you mean 'return'?")
  says("f<<<1, 2>>>(x)", "syntax error near '<<'",
    "     1 | f<<<1, 2>>>(x)",
    "       |  ^~ CUDA: <<<>>>; here: k:range(grid * block, block)(...): "
      .. "work-items, not blocks")
  local text, path = script("syntax.lua", "x = 1\nif x then\n  print(x)\n\n")
  t.eq(text, ([[
clshell: %s:5: 'end' expected (to close 'if' at line 2) near <eof>
     3 |   print(x)
       |           ^
     2 | if x then
       | ^~
]]):format(path))
  text = stderr(quote(clshell) .. " -p 'f(1, 2,, 3)'")
  t.ok(text:find("     1 | f(1, 2,, 3)\n       |        ^\n", 1, true), text)
end)

t.test("nearest names", function()
  says("matix.random(3)", "attempt to index a nil value (global 'matix')",
    "     1 | matix.random(3)",
    "       | ^~~~~ did you mean 'matrix'?")
  says("cl.bufer('int', 3)", "attempt to call a nil value (field 'bufer')",
    "     1 | cl.bufer('int', 3)",
    "       |    ^~~~~ did you mean 'buffer'?")
  says("cl.zeros(3)", "attempt to call a nil value (field 'zeros')",
    "     1 | cl.zeros(3)",
    "       |    ^~~~~ did you mean 'cl.buffer(type, shape, 0)'?")
  says("cl.sum(3)", "attempt to call a nil value (field 'sum')",
    "     1 | cl.sum(3)",
    "       |    ^~~ did you mean 'x:sum(...)'?")
  says("local count = 3 print(coutn + 1)",
    "attempt to perform arithmetic on a nil value (global 'coutn')",
    "     1 | local count = 3 print(coutn + 1)",
    "       |                       ^~~~~ did you mean 'count'?")
  says("('x'):uppr()", "attempt to call a nil value (method 'uppr')",
    "     1 | ('x'):uppr()",
    "       |       ^~~~")
  says("local b = cl.array('int', 3) b:rehsape(3)",
    "an Array has no field or method 'rehsape'; did you mean 'reshape'?",
    "     1 | local b = cl.array('int', 3) b:rehsape(3)",
    "       |                                ^~~~~~~")
  says("gemm(1, 2, {kernl = 1})",
    "gemm: unknown option 'kernl'; did you mean 'kernel'?",
    "     1 | gemm(1, 2, {kernl = 1})",
    "       |             ^~~~~")
  -- only raw access: nothing of the user's runs
  local text = run([[setmetatable(_G, {__index = function(_, k)
    if k == "qwertz" then return nil end io.stderr:write("RUN ", k) end})
    local T = setmetatable({}, {__index = function() return nil end,
      __pairs = function() io.stderr:write("RUN") end})
    T.qwertz.x = 1]])
  t.ok(not text:find("RUN [^%a]*\n") and not text:find("RUN\n"), text)
end)

t.test("tracebacks of tool internals, type noise: user's frames only",
  function()
    local text, path = script("frames.lua", [[
local function inner(...)
  local r = gemm.bench("tiled", {tile = "x"}, ...)
  return r
end
local function outer()
  local ok = pcall(string.rep)
  inner({8, 8, 8}, ok)
  return ok
end
xpcall = nil
outer()]])
    t.ok(text:find(path .. ":2: ", 1, true), text)
    t.ok(text:find("called from " .. path .. ":7, in outer", 1, true), text)
    t.ok(text:find("called from " .. path .. ":11\n", 1, true), text)
    for _, noise in ipairs{"[C]", "traceback", "lua/clshell", "0x"} do
      t.ok(not text:find(noise, 1, true), text)
    end
  end)

t.test("tracebacks of tool internals, type noise: inside bench", function()
  local text, path = script("bench.lua", [[
local function work()
  local x
  x()
end
bench(work)
]])
  t.eq(text, ([[
clshell: %s:3: attempt to call a nil value (local 'x')
     3 |   x()
       |   ^
  called from %s:5
]]):format(path, path))
end)

t.test("tracebacks of tool internals, type noise: repeats are folded",
  function()
    local text = run "local function f() return 1 + f() end f()"
    t.ok(text:find("stack overflow", 1, true), text)
    t.ok(text:find("\n  ... %d%d%d%d%d+ more\n"), text)
    t.ok(select(2, text:gsub("\n", "")) < 8, text)
    text = run [[local a, b
      function a() return 1 + b() end
      function b() return 1 + a() end
      a()]]
    t.ok(text:find("\n  ... %d%d%d%d%d+ more\n"), text)
    t.ok(select(2, text:gsub("\n", "")) < 8, text)
    local path
    text, path = script("deep.lua", [[
local function f(n)
  if n == 0 then error "deep" end
  f(n - 1)
  return n
end
f(30)
]])
    t.eq(text, ([[
clshell: %s:2: deep
     2 |   if n == 0 then error "deep" end
  called from %s:3, in f
  ... 29 more
  called from %s:6
]]):format(path, path, path))
  end)

t.test("errors inside coroutines", function()
  local code = [[
local function work()
  local x
  return x.y
end
]]
  for _, call in ipairs{"coroutine.wrap(work)()",
      "assert(coroutine.resume(coroutine.create(work)))",
      "coroutine.wrap(function() coroutine.wrap(work)() end)()"} do
    local text, path = script("co.lua", code .. call .. "\n")
    t.ok(text:find(([[
clshell: %s:3: attempt to index a nil value (local 'x')
     3 |   return x.y
       |          ^
]]):format(path), 1, true), text)
    t.ok(text:find("called from " .. path .. ":5", 1, true), text)
  end
end)

t.test("error objects", function()
  local text, code = run "error({code = 7})"
  t.ok(text:find("^clshell: %(error object is a table value%)\n"), text)
  t.ok(text:find("raised at (command line):1\n", 1, true), text)
  t.eq(code, 1)
  text = run "error()"
  t.ok(text:find("(error object is a nil value)", 1, true), text)
  text = run [[error(setmetatable({}, {__tostring = function()
    error("inner", 0) end}))]]
  t.ok(text:find("__tostring fails: inner", 1, true), text)
  text = run [[error(setmetatable({}, {__tostring = function()
    return "mine" end}))]]
  t.ok(text:find("^clshell: mine\n"), text)
end)

t.test("__close handlers get what was raised, and may fail", function()
  local text = run [[
    local a <close> = setmetatable({}, {__close = function(_, e)
      error("second, after " .. type(e))
    end})
    error("first")]]
  t.ok(text:find("(command line):2: second, after string", 1, true), text)
  t.ok(text:find("closing variables after: (command line):4: first", 1, true),
    text)
  text = run [[
    local a <close> = setmetatable({}, {__close = function(_, e)
      io.stderr:write(tostring(e.code))
    end})
    error({code = 42})]]
  t.ok(text:find("^42clshell: "), text)
end)

t.test("other ways to fail", function()
  says("string.find('a', '[')", "malformed pattern (missing ']')",
    "     1 | string.find('a', '[')",
    "       |        ^~~~")
  says("io.open('/nonexistent'):read()", "attempt to index a nil value",
    "     1 | io.open('/nonexistent'):read()",
    "       |                        ^")
  says("assert(load(('('):rep(300)))", "C stack overflow",
    "     1 | assert(load(('('):rep(300)))")
  local text, code = run "io.read(1 << 50)"
  t.eq(code, 1)
  t.ok(text:find("memory", 1, true), text)
  text = run "xpcall(error, function() error(1) end) error('after')"
  t.ok(text:find("^clshell: %(command line%):1: after\n"), text)
  text = run "error('x', 0)"
  t.ok(text:find("^clshell: x\n  raised at %(command line%):1\n"), text)
  text = run "local function f() error('not f', 2) end\nf()\n"
  t.eq(text, "clshell: (command line):2: not f\n     2 | f()\n")
  text = run "error(('long '):rep(20000))"
  t.ok(#text > 100000, #text)
  -- the words themselves fail: the message alone is left
  text = run "require = nil debug = nil string.find = nil error('bare')"
  t.ok(text:find("^clshell: %(command line%):1: bare\n"), text)
  text = run "local f = load('x = =', '=chunk') f()"
  t.ok(text:find("attempt to call a nil value (local 'f')", 1, true), text)
end)

t.test("modules that are not there, or do not compile", function()
  local text = run "require 'qwertz.uiop'"
  t.ok(text:find("module 'qwertz.uiop' not found:\n", 1, true), text)
  t.ok(text:find("\n\tnor in %d+ more places\n"), text)
  t.ok(select(2, text:gsub("\n", "")) < 8, text)
  text = run "require(('x'):rep(100000))"
  t.ok(#text < 4000 and text:find "\n\tnor in %d+ more places\n", text)
  local path = write(t.tmp "module.lua", "local x = = 2\n")
  local folder, name = path:match "^(.*)/(.*)%.lua$"
  text = stderr(("%s -I %s -e 'require \"%s\"'"):format(quote(clshell),
    folder, name))
  t.eq(text, ([[
clshell: %s:1: unexpected symbol near '='
     1 | local x = = 2
       |           ^
  called from (command line):1
]]):format(path))
end)

t.test("tabs, wide characters, long lines", function()
  local text = script("wide.lua", "\tlocal s = '漢字' ; nothere()\n")
  t.ok(text:find("\n     1 |     local s = '漢字' ; nothere()\n"
    .. "       |                        ^~~~~~~\n", 1, true), text)
  text = script("long.lua", "local s = '" .. ("x"):rep(500)
    .. "' nothere() local u = '" .. ("y"):rep(500) .. "'\n")
  local line, mark = text:match("\n(     1 | [^\n]*)\n(       | [^\n]*)\n")
  t.ok(#line <= 160, line)
  t.eq(line:sub(mark:find("^", 1, true), mark:find("~ *$")), "nothere")
  t.ok(line:find("%.%.%.$") and line:find("| ...", 1, true), line)
  text = script("escape.lua", "local s = '\27[2J\1' nothere()\n")
  t.ok(not text:find("[\27\1]"), text)
end)

t.test("excerpts in windows of any width", function()
  local excerpt = require "clshell.errors.excerpt"
  local text = ("word "):rep(30) .. "\n\tnothere = 漢字漢字漢字漢字漢字 + x\n"
  for width = 30, 170, 7 do
    for column = 1, 152, 13 do
      for _, line in ipairs(excerpt.show(text, 1, {column = column,
          width = width, note = "did you mean this?"})) do
        t.ok(utf8.len(line) < width, ("%d: %s"):format(width, line))
      end
    end
    t.eq(excerpt.show(text, 2, {column = 2, ranges = {{2, 8}},
      width = width})[2], "       |     ^~~~~~~")
  end
  t.eq(excerpt.show("abc", 1, {column = 3, width = 20, note = "too long a "
    .. "note for the line"}), {"     1 | abc", "       |   ^",
    "  too long a note for the line"})
  t.eq(excerpt.show("abc", 2), {})
  t.eq(excerpt.show("", 1, {column = 1}), {"     1 |", "       | ^"})
end)

t.test("%tb: every frame, with lines and variables", function()
  local path = write(t.tmp "tb.lua", [[
local function inner(list, name)
  local n = #list
  return n + name.missing
end
inner({1, 2, 3}, "word")
]])
  local text = t.capture(("%s -i %s 2>/dev/null <<'E'\n%s\nE")
    :format(quote(clshell), path, [[
errors = require "clshell.shell.prompt.errors"
print(errors.text(errors.last, {all = true}))]]))
  for _, part in ipairs{path .. ":3: attempt to perform arithmetic",
      path .. ":3, in inner", "n = 3", "list = table of 3",
      'name = "word"', "[C]"} do
    t.ok(text:find(part, 1, true), part .. " in " .. text)
  end
end)

t.test("what failed does not keep device memory", function()
  local p <close> = assert(io.popen(("%s -i 2>/dev/null <<'E'\n%s\nE")
    :format(quote(clshell), [[
local function f() local big = cl.array("int", 1000) big.x.y = 1 end f()
collectgarbage() collectgarbage() print("left", cl.live().Array or 0)]])))
  t.ok(p:read("a"):find("left\t0", 1, true))
end)

-- What a session prints, errors included, that gets these inputs.
local function session(inputs)
  local path = write(t.tmp "inputs", inputs)
  return t.capture(("NO_COLOR=1 %s -n -i <%s 2>&1"):format(
    quote(clshell), path))
end

t.test("at the prompt: the input and its line", function()
  local text = session [[
function half(x)
  return x.value / 2
end
local y = half(nil)
local a, b = 1, 2 local c = a.b.c
x = = 2
half {}
gemm(half)
%tb
]]
  for _, part in ipairs{
      "input:1:2: attempt to index a nil value (local 'x')\n"
        .. "     2 |   return x.value / 2\n       |          ^\n"
        .. "  called from input:2:1\n",
      "     1 | local a, b = 1, 2 local c = a.b.c\n",
      "input:4:1: unexpected symbol near '='\n     1 | x = = 2\n"
        .. "       |     ^\n",
      "\n  called from input:5:1\n", "\ninput:6:1: gemm: ",
      "     1 | gemm(half)\n       | ^~~~\n"} do
    t.ok(text:find(part, 1, true), part .. " in " .. text)
  end
  t.eq(stderr(quote(clshell) .. " -p 'gemm(1, 2)'"):match "[^\n]*",
    "clshell: (command line):1: gemm: A must be a Buffer, an Array or a "
    .. "nested table; got 1")
end)

t.test("%tb names the error before which variables were closing", function()
  local text = session [[
local a <close> = setmetatable({}, {__close = error}) error "first"
local b <close> = setmetatable({}, {__close = function() error(7) end}) x.y = 1
%tb
]]
  t.eq(select(2, text:gsub("closing variables after: input:2:1: ", "")), 2,
    text)
end)

t.test("at the prompt: a kernel's text is shown at the input's line",
  function()
    t.skip_if(session "print(#cl.devices())\n" == "0\n", "no OpenCL device")
    local text = session [=[
k = cl.kernel [[
kernel void mm(global float *C, int n) {
  C[0] = nn + 1.0f; }]]
%tb
]=]
    t.ok(text:find("input:1:1: build error: 1 error (CL_BUILD_PROGRAM_FAILURE"
      .. " -11)\n  source at input:1:2 on ", 1, true), text)
    t.ok(text:find("\ninput:1:3:10: error: ", 1, true), text)
    t.ok(text:find("\n >   3 |   C[0] = nn + 1.0f; }\n"
      .. "       |          ^", 1, true), text)
    t.ok(text:find("traceback, the innermost call first:", 1, true), text)
  end)

t.test("a window cuts long messages, %tb does not", function()
  local text = run [[
    local errors = require "clshell.shell.prompt.errors"
    local record = errors.record(("words "):rep(1000)
      .. ("\nline"):rep(200))
    local text = errors.text(record, {width = 40})
    io.stderr:write(#text < 2000 and "short" or "long", "\n")
    io.stderr:write(text:match("[^\n]*$"), "\n")
    local whole = errors.text(record, {width = 40, all = true})
    io.stderr:write(#whole, "\n")]]
  t.ok(text:find("^short\n%.%.%. 149 more lines; %%tb shows them\n7%d%d%d\n"),
    text)
end)

t.test("colours only where they are wanted", function()
  local text = stderr(("env -u NO_COLOR FORCE_COLOR=1 %s -e 'foo()'"):format(
    quote(clshell)))
  t.ok(text:find("\27[31m", 1, true), text)
  for code in text:gmatch "\27%[([%d;]*)m" do -- no background
    t.ok(("0 1 2 31 33 36"):find(code, 1, true), code)
  end
  t.eq(text:gsub("\27%[%d+m", ""), (run "foo()"))
  t.ok(not run "foo()":find("\27", 1, true))
end)

t.done()
