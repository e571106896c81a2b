-- locals.lua - top-level locals of the prompt: a rewritten chunk does the
-- same, and its lines stay.
-- SPDX-License-Identifier: MIT

local t = require "t"
local locals = require "clshell.shell.prompt.locals"

-- The results that a chunk gives to out(...), and the globals it leaves.
local function run(text)
  local results = {}
  local env = setmetatable({f = "f", print = "print", x = "x",
    out = function(...)
      results[#results + 1] = table.concat({...}, " ")
    end}, {__index = _G})
  assert(load(text, "=input", "t", env))()
  return results, env
end

-- Rewrites a chunk, which must do the same. Returns the globals.
local function same(text, names)
  local code, list = locals.rewrite(text)
  t.eq(list, names, text)
  t.eq(select(2, code:gsub("\n", "")), select(2, text:gsub("\n", "")), text)
  local results, env = run(code)
  t.eq(results, (run(text)), code)
  return env
end

t.test("names, values and lists of them", function()
  t.eq(same("local a, b = 1 out(a)", {"a", "b"}).a, 1)
  t.eq(same("local x out(tostring(x))", {"x"}).x, nil)
  t.eq(same("local x = x .. 1 out(x)", {"x"}).x, "x1")
  t.eq(same("local a, b = 1, 2 local b, c = a, b out(a, b, c)",
    {"a", "b", "b", "c"}).c, 2)
  t.eq(same("local a <const>, b = 1, 2; out(a, b)", {"a", "b"}).a, 1)
  t.eq(same("local x <const>\n= 5 --[[ local y\n = 6 ]] local z = 7",
    {"x", "z"}).z, 7)
  same("local x --c\n, y = 1, --d\n 2 local z out(x, y, tostring(z))",
    {"x", "y", "z"})
end)

t.test("where a statement ends", function()
  t.eq(same("local x\n(out)('called')", {"x"}).x, nil)
  same("local a = 'x' .. ('y'):upper() local b = -2 ^ 2 local c = not b "
    .. "out(a, b, tostring(c))", {"a", "b", "c"})
  same("local s = {1, {2}, f = function() return 3 end} local n = #s "
    .. "out(n, s.f())", {"s", "n"})
  same("goto e local a = 1 ::e::", {"a"})
  same("local p = out\n('an argument')", {"p"})
end)

t.test("functions, recursion, and the earlier value of a name", function()
  t.eq(same("local function f(n) return n > 0 and n + f(n - 1) or 0 end "
    .. "out(f(4))", {"f"}).f(4), 10)
  same("local f = function() return f end out(f())", {"f"})
  same("local print = function(...)\n  return print .. ...\nend\n"
    .. "out(print('!'))", {"print"})
  same("local f, x = function() return x .. f end, 5 out(f(), x)",
    {"f", "x"})
  same("local f = (function() return f end)() .. 1 out(f)", {"f"})
  same("local x = x and function(x) return x end out(x(3))", {"x"})
  same("local x = {x = function() return 1 end} out(x.x())", {"x"})
end)

t.test("nested blocks, strings and comments are left alone", function()
  t.eq(same("do local x = 1 out(x) end out(x)", {}).x, "x")
  same("if x then local y = 1 out(y) end local z = 2 out(z)", {"z"})
  same("repeat local q = 1 until q local r = 3 out(r)", {"r"})
  same("for i = 1, 2 do local z = i out(z) end local w = 3", {"w"})
  same("local s = 'local y' local u = [[\nlocal z\n]] -- local w\n"
    .. "out(s, u)", {"s", "u"})
  same("local f = function() local x = 2 return x end out(f(), x)", {"f"})
end)

t.test("names that stay local", function()
  for _, text in ipairs{"local c <close> = nil local c = 2 out(c)",
      "local a, a = 1, 2 out(a)", "local a <close>, b = nil, 3 out(b)"} do
    local _, _, kept = locals.rewrite(text)
    t.ok(kept, text)
    same(text, {})
  end
  t.eq(locals.rewrite "local _ENV = {x = 1} local y = x",
    "local _ENV = {x = 1} local y = x")
end)

t.test("every file of clshell's still compiles, line by line", function()
  local p <close> = io.popen(("find %s/lua %s/scripts -name '*.lua' | sort")
    :format(cl.home, cl.home))
  local n = 0
  for path in p:lines() do
    local f <close> = assert(io.open(path))
    local text = f:read("a"):gsub("^#[^\n]*", "")
    local code = locals.rewrite(text)
    assert(load(code, "=" .. path))
    t.eq(select(2, code:gsub("\n", "")), select(2, text:gsub("\n", "")), path)
    n = n + 1
  end
  t.ok(n > 100)
end)

t.done()
