-- link.lua - compile and link apart
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Context", "Queue")

local TWICE = "int twice(int x) { return FACTOR * x; }"
local USER = [[
  int twice(int x);
  kernel void f(global int *x) { x[0] = twice(x[0]); }]]

-- A compiled Program; skips the test where the driver compiles none.
local function compile(source, opts)
  local fine, p = pcall(cl.compile, source, opts)
  if not fine and p.name == "CL_INVALID_OPERATION" then
    t.skip(p.message)
  end
  return fine and p or error(p)
end

t.test("functions come from other sources and from libraries", function()
  local a <close> = compile("#include \"pair.h\"\n" .. TWICE,
    {headers = {["pair.h"] = "#define FACTOR 2\n"}})
  local b <close> = compile(USER, {name = "user.cl"})
  local x <close> = cl.buffer("int", 1, 21)
  local p <close> = cl.link({a, b}, {name = "both"})
  t.eq(p:kernels(), {"f"})
  t.eq(tostring(p), "Program both")
  p.f:range(1)(x)
  t.eq(x:read()[1], 42)
  local library <close> = cl.link({a}, {library = true})
  for _, program in ipairs{a, library} do
    t.raises(function() return program.f end, "compiled, not linked")
  end
  local q <close> = cl.link{library, b}
  q.f:range(1)(x)
  t.eq(x:read()[1], 84)
  local c <close> = compile(TWICE, {defines = {FACTOR = 10}})
  local r <close> = cl.link{c, b}
  r.f:range(1)(x)
  t.eq(x:read()[1], 840)
end)

t.test("what does not compile or link says so", function()
  local b <close> = compile(USER)
  local err = t.raises(function() compile("int f( {", {name = "bad"}) end,
    "CL_COMPILE_PROGRAM_FAILURE", "error")
  t.eq({err.call, err.program}, {"clCompileProgram", "bad"})
  err = t.raises(function()
    local p <close> = cl.link{b}
    p.f:range(1)(cl.buffer("int", 1, 0)):wait() -- some drivers link late
  end, "CL_LINK_PROGRAM_FAILURE")
  t.eq(err.name, "CL_LINK_PROGRAM_FAILURE")
  t.raises(function() cl.link{} end, "at least one Program")
  t.raises(function() cl.link(b) end, "table expected")
  t.raises(function() cl.link{1} end, "must be a Program; got number")
  local built <close> = cl.build "kernel void g(global int *x) { x[0] = 1; }"
  t.raises(function() cl.link{b, built} end, "Program 2 is built already")
  b:close()
  t.raises(function() cl.link{b} end, "this Program is closed")
  for headers, piece in pairs{[3] = "must be a table", [{"x"}] = "names and",
      [{x = 1}] = "names and"} do
    t.raises(function() compile("int f();", {headers = headers}) end, piece)
  end
  t.raises(function() compile("int f();", {header = {}}) end,
    "did you mean 'headers'")
end)

t.test("a compiled file is compiled again where it changed", function()
  local path = os.tmpname()
  local function write(text)
    t.write(path, text)
  end
  write "int twice(int x) { return 2 * x; }\n"
  local a <close> = compile(path)
  write "int twice(int x) { return 2 * x + 1; } // longer\n"
  t.ok(a:changed() and a:rebuild().builds == 2)
  local b <close> = compile(USER)
  local p <close> = cl.link{a, b}
  local x <close> = cl.buffer("int", 1, 1)
  p.f:range(1)(x)
  t.eq(x:read()[1], 3)
  os.remove(path)
end)

t.done()
