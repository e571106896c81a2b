-- parcel.lua - values as a string and back: random graphs, functions, objects
-- of module cl, and what cannot go
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local dia = require "clshell.data.dia"
local parcel = require "clshell.calls.parcel"

t.device()

local function back(...)
  return parcel.unpack(assert(parcel.pack(...)))
end

-- Fails unless two graphs have the same form: the same values, and one table
-- of the one for each table of the other.
local function alike(a, b, there, here)
  if type(a) ~= "table" then
    t.eq(math.type(a), math.type(b))
    t.ok(a == b or a ~= a and b ~= b)
    return
  end
  t.eq(type(b), "table")
  if there[a] or here[b] then
    t.ok(there[a] == b and here[b] == a, "shared otherwise")
    return
  end
  there[a], here[b] = b, a
  local keys, twins = {}, {}
  for key in next, b do
    if type(key) == "table" then
      twins[key.name] = key
    end
    keys[#keys + 1] = key
  end
  local count = 0
  for key, value in next, a do
    local twin = type(key) == "table" and twins[key.name] or key
    alike(key, twin, there, here)
    alike(value, rawget(b, twin), there, here)
    count = count + 1
  end
  t.eq(#keys, count)
  alike(getmetatable(a), getmetatable(b), there, here)
end

t.test("plain values, exactly", function()
  local values = {true, false, 0, -1, math.maxinteger, math.mininteger, 0.1,
    -0.0, 1 / 0, -1 / 0, 1.0, 5e-324, "", "\0\255", ("x"):rep(100000)}
  for _, v in ipairs(values) do
    local got = back(v)
    t.eq(got, v)
    t.eq(math.type(got), math.type(v))
  end
  t.eq(1 / back(-0.0), -1 / 0)
  local nan = back(0 / 0)
  t.ok(nan ~= nan)
  t.eq(table.pack(back(nil, 1, nil)), {nil, 1, nil, n = 3})
  t.eq(select("#", back()), 0)
end)

t.test("random graphs keep their form", function()
  print("# seed " .. t.seed)
  for _ = 1, 60 do
    local tables = {}
    for i = 1, math.random(1, 30) do
      tables[i] = {name = i}
    end
    local function any()
      local kind = math.random(8)
      return kind == 1 and math.random(0) or kind == 2 and math.random()
        or kind == 3 and math.random(2) == 1 or kind == 4
        and string.pack("<i8", math.random(0)):sub(1, math.random(8))
        or tables[math.random(#tables)]
    end
    for _, x in ipairs(tables) do
      for _ = 1, math.random(0, 8) do
        x[any()] = any()
      end
      if math.random(4) == 1 then
        setmetatable(x, tables[math.random(#tables)])
      end
      for _, name in ipairs{"__index", "__gc", "__metatable", "__mode"} do
        x[name] = nil
      end
    end
    alike(tables, back(tables), {}, {})
  end
end)

t.test("functions keep their upvalues, and share them", function()
  local n, missing = 5, nil
  local function inc()
    n = n + 1
    return n
  end
  local function get()
    return n, missing
  end
  local function fact(k)
    return k <= 1 and 1 or k * fact(k - 1)
  end
  local a, b, f = back(inc, get, fact)
  t.eq({a(), a(), (b())}, {6, 7, 7})
  t.eq(n, 5, "the original stays")
  t.eq(f(10), 3628800)
  t.eq(back(function(...)
    return select("#", ...), ...
  end)(nil, nil), 2)
  local _, e = pcall(back(function() error "here" end))
  t.ok(e:find "parcel.lua:%d+: here")
end)

t.test("the globals that a function names go with it", function()
  _G.table_of_mine, _G.step_of_mine = {1, 2, 3}, function(i)
    return _G.table_of_mine[i] + 1
  end
  local packed = assert(parcel.pack(function()
    return step_of_mine(2) -- luacheck: ignore 113
  end))
  _G.table_of_mine, _G.step_of_mine = nil, nil
  t.eq(parcel.unpack(packed)(), 3)
  _G.table_of_mine, _G.step_of_mine = nil, nil
  t.ok(#parcel.pack(function() return math.pi end) < 1000, "no library")
end)

t.test("what modules have is found there", function()
  local stats = require "clshell.measure.stats"
  local got = {back(string, string.format, print, stats, stats.median, cl,
    io.stdout, _G)}
  t.eq({string, string.format, print, stats, stats.median, cl, io.stdout, _G},
    got)
  local m <close> = dia.poisson2d(4, 3)
  local n <close> = back(m)
  t.eq(tostring(n), tostring(m))
  t.ok(debug.getmetatable(n) == debug.getmetatable(m))
  t.ok(n ~= m and n.values ~= m.values)
  local _, e = pcall(cl.error, "said", {hint = "more"})
  t.eq(tostring(back(e)), tostring(e))
end)

t.test("Buffers and Arrays go with their content", function()
  local b <close> = cl.buffer("int", {3, 4}, function(i, j)
    return 10 * i + j
  end, {ld = 6})
  local c <close> = back(b)
  t.eq({c.type, c.shape, c.ld}, {"int", {3, 4}, 6})
  local x <close> = b:read()
  local y <close> = c:read()
  t.eq(y:tobytes(), x:tobytes())
  c:fill(0)
  local still <close> = b:read()
  t.eq(still:tobytes(), x:tobytes(), "the original stays")
  local same = {back(b, b)}
  t.ok(same[1] == same[2])
  same[1]:close()
  local a <close> = cl.array("float4", 2, 1.5)
  local d <close> = back(a)
  t.eq({d.type, d.shape, d:tobytes()}, {a.type, a.shape, a:tobytes()})
  t.eq(back(b.context), b.context)
  t.eq(back(b.context.device), b.context.device)
end)

t.test("views stay views of one buffer", function()
  local b <close> = cl.buffer("float", 4096, function(i) return i end)
  local step = 1024
  local views = {b:view(step + 1, 2 * step), b:matrix(6, 3, 4, 10),
    b:as "float4", b:view(step + 1, 3 * step):matrix(4, 2, 2, 8)}
  local got = {back(views, b)}
  for i, v in ipairs(views) do
    local w = got[1][i]
    t.eq({w.type, w.shape, w.ld}, {v.type, v.shape, v.ld})
    local x <close> = v:read()
    local y <close> = w:read()
    t.eq(y:tobytes(), x:tobytes())
  end
  got[2]:fill(3)
  t.eq(got[1][4]:read()[1], 3.0)
  t.ok(got[1][2]:overlaps(got[2]))
  t.eq(got[1][4].start, views[4].start)
  for _, list in ipairs{views, got[1]} do
    for _, v in ipairs(list) do
      v:close()
    end
  end
  got[2]:close()
end)

t.test("arguments of kernels", function()
  local b <close> = cl.buffer("int", 2, 4)
  local got = {back(cl.float4(1, 2, 3, 4), cl.bytes "abc", cl.uchar(200),
    cl.localmem("int", 7), cl.any(b), cl.base(b))}
  t.eq({got[1].type, got[1].data}, {"float4", cl.float4(1, 2, 3, 4).data})
  t.eq({got[2].type, got[2].data}, {nil, "abc"})
  t.eq({got[3].type, got[3].data}, {"uchar", "\200"})
  t.eq({got[4].type, got[4].count}, {"int", 7})
  t.eq({got[5].base, got[6].base}, {false, true})
  t.ok(got[5].buffer == got[6].buffer)
  got[5].buffer:close()
end)

t.test("what cannot go is a reason, with the way to it", function()
  local shut = cl.buffer("int", 1)
  shut:close()
  local co = coroutine.create(print)
  local words = string.gmatch("a", ".")
  local q <close> = cl.queue()
  for want, value in pairs{
      ["value 1 is a coroutine"] = co,
      ["args[2] is a Queue"] = {args = {1, q}},
      ["a closed Buffer"] = {b = shut},
      ["upvalue words is a function in C"] = function() return words() end,
      ["'s metatable.__index is a coroutine"] = setmetatable({},
        {__index = co})} do
    local packed, reason = parcel.pack(value)
    t.eq(packed, nil)
    t.ok(reason:find(want, 1, true), reason)
    t.ok(reason:find("cannot go to another process", 1, true))
  end
  _G.queue_of_mine = q
  local packed, reason = parcel.pack(function()
    return queue_of_mine -- luacheck: ignore 113
  end)
  _G.queue_of_mine = nil
  t.eq({packed, reason}, {nil, "global queue_of_mine is a Queue, which cannot "
    .. "go to another process"})
end)

t.done()
