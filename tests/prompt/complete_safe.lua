-- complete_safe.lua - completion at the prompt runs no code of the session's,
-- and its work is bounded
-- SPDX-License-Identifier: MIT
local t = require "t"

local at = require "at".all
local complete = require "clshell.shell.prompt.complete"

-- Run by itself: completes everything in a session where whatever can be
-- replaced has been replaced by a function that says so.
local TRAPS = [=[
local complete = require "clshell.shell.prompt.complete"
local texts = {"evil|", "evil.fi|", "evil.field.x|", "evil:|", "evil['fi|",
  "evil(|", "evil{|", "evil.field{a = |", "evil 'x|", "gemm(evil, {ke|",
  "gemm(A, B, {kernel = 'ti|", "bench(f, {eff|", "cl.use '|", "x = '/|",
  "cl.array('fl|", "require 'cls|", "?ge|", "%cd /|", "!ls /|", "|",
  "('x'):up|", "io.stdout:wr|", "(1).x|", "local a = evil; a|", "made.x|",
  "evil .. ev|", "for i in evil do ev|", "buffer:re|", "buffer.sh|", "l(|",
  "l:on(q)(|", "evil:m(|", "evil.field(|", "prog.f:range(1)(|", "print(|"}
if #cl.devices() > 0 then
  buffer = cl.buffer("int", 1)
  prog = cl.build "kernel void f(global int *x) {}"
  l = prog.f:range(1)
end
local cursors = {}
for i, text in ipairs(texts) do
  cursors[i] = text:find("|", 1, true) - 1
  complete.at(text:sub(1, cursors[i]), cursors[i]) -- loads the modules
  texts[i] = text:sub(1, cursors[i])
end
local next, type, write, exit = next, type, io.write, os.exit
local metatable, error, at = debug.setmetatable, error, complete.at
local function trap(name)
  return function()
    write("ran ", name, "\n")
    error(name)
  end
end
local meta = {}
for _, event in ipairs{"index", "newindex", "call", "tostring", "name", "len",
    "eq", "lt", "le", "concat", "pairs", "close", "gc", "unm", "add"} do
  meta["__" .. event] = trap("__" .. event)
end
evil = setmetatable({field = setmetatable({}, meta)}, meta)
made = setmetatable({}, {__index = coroutine.wrap(trap "a coroutine")})
setmetatable(_G, meta)
for _, name in ipairs{"string", "table", "math", "os", "io", "debug", "utf8",
    "coroutine", "package"} do
  local module = _G[name]
  for key, value in next, module do
    if type(value) == "function" then
      rawset(module, key, trap(name .. "." .. key))
    end
  end
end
]=]

t.test("Tab runs no code of the session's", function()
  local path = t.tmp "traps.lua"
  t.write(path, TRAPS, [=[
local G = _G
for key, value in next, G do
  if type(value) == "function" then
    G[key] = trap(key)
  end
end
metatable("", meta)
metatable(0, meta)
metatable(nil, meta)
metatable(true, meta)
metatable(write, meta)
for i = 1, #texts do
  at(texts[i], cursors[i])
end
metatable(0, nil)
metatable(nil, nil)
metatable(true, nil)
metatable(write, nil)
write("done\n")
exit(true)
]=])
  local p <close> = assert(io.popen(t.exe .. " " .. path .. " 2>&1"))
  t.eq(p:read "a", "done\n")
end)

t.test("Tab knows the methods that a session gives to strings and numbers",
  function()
    local numbers = {__index = {doubled = function(n) return 2 * n end}}
    debug.setmetatable(0, numbers)
    rawset(string, "shouted", string.upper)
    local _ <close> = setmetatable({}, {__close = function()
      debug.setmetatable(0, nil)
      rawset(string, "shouted", nil)
    end})
    t.eq(select(2, at("n:dou|", {n = 5})), {"doubled"})
    t.eq(select(2, at("('x'):shou|")), {"shouted"})
    t.eq(debug.getmetatable(0), numbers)
    t.eq(("x"):shouted(), "X")
  end)

t.test("Tab calls no finalizer and no debug hook", function()
  local collected, hooked = 0, 0
  local function litter()
    for _ = 1, 100 do
      setmetatable({}, {__gc = function() collected = collected + 1 end})
    end
  end
  collectgarbage()
  litter()
  local before = collected
  collectgarbage("setpause", 0)
  collectgarbage "stop"
  litter()
  debug.sethook(function() hooked = hooked + 1 end, "", 1)
  local had = hooked
  for _ = 1, 100 do
    complete.at("string.", 7)
  end
  local inside = hooked - had
  debug.sethook()
  t.eq(collected, before)
  t.ok(not collectgarbage "isrunning")
  collectgarbage "restart"
  collectgarbage("setpause", 200)
  t.ok(inside < 100 * 100, inside) -- those of the loop, and of the ends
  complete.at("string.", 7)
  t.ok(collectgarbage "isrunning")
  collectgarbage()
end)

-- The work of a completion: VM instructions, in hundreds.
local function work(text, globals)
  local count = 0
  local list, hint = select(2, at(text, globals, function(...)
    debug.sethook(function() count = count + 1 end, "", 100)
    local result = table.pack(complete.find(...))
    debug.sethook()
    return table.unpack(result, 1, 5)
  end))
  return count, list, hint
end

t.test("Tab's work is bounded, however many keys there are", function()
  local big, bigger, long = {}, {}, {}
  for i = 1, 60000 do
    big["key" .. i], bigger["key" .. i], bigger["more" .. i] = i, i, i
    long[i] = i
  end
  long.field_of_list = 1
  local n, list, hint = work("big.|", {big = big})
  t.eq(#list, 200)
  t.ok(hint:find "very many", hint)
  local m = work("bigger.|", {bigger = bigger})
  t.ok(m < 2 * n and n < 20000, ("%d, %d"):format(n, m))
  m, list, hint = work("bigger.zzz|", {bigger = bigger})
  t.ok(m < 20000 and #list == 0 and hint:find "none", m)
  t.eq(select(2, work("long.field|", {long = long})), {"field_of_list"})
  local few = {}
  for i = 1, 250 do
    few[("name%03d"):format(i)] = i
  end
  local names, more = select(2, work("few.|", {few = few}))
  t.eq({#names, names[1], more}, {200, "name001", "250 in all: type on"})
  local deep = {}
  for _ = 1, 100 do
    deep = setmetatable({}, {__index = deep})
  end
  local loop = setmetatable({}, {})
  getmetatable(loop).__index = loop
  t.ok(work("deep.x|", {deep = deep}) < 1000)
  t.ok(work("loop.x|", {loop = loop}) < 1000)
  t.ok(work(("x = {1, 2, 3}\n"):rep(20000) .. "collectg|") < 20000)
end)

t.done()
