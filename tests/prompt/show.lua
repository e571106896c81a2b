-- show.lua - values as text at the prompt: scalars, strings, tables, what has
-- a metatable; tests/show_device.lua has what lies on a device.
-- SPDX-License-Identifier: MIT
local t = require "t"
local printable = require "clshell.shell.prompt.printable"
local screen = require "screen"
local show = require "clshell.shell.prompt.show"
local style = require "clshell.base.style"

local utf8_ok = true
style.utf8 = function() return utf8_ok end
style.glyphs = style.utf8

-- The text of a value in a window of 60 columns and 12 lines.
local function text(value, opts)
  local o = {width = 60, height = 12, name = "t"}
  for name, x in pairs(opts or {}) do
    o[name] = x
  end
  return show.text(value, o)
end

-- The lines of a text, each checked to fit `width`.
local function lines(s, width)
  local list = {}
  for line in (s .. "\n"):gmatch "(.-)\n" do
    list[#list + 1] = line
    t.ok(printable.width(line) <= width, ("%d columns: %s"):format(
      printable.width(line), line))
  end
  return list
end

t.test("numbers with all their digits", function()
  for expected, x in pairs{["1"] = 1, ["0.1"] = 0.1, ["2.0"] = 2.0,
      ["0.3333333333333333"] = 1 / 3, ["0.30000000000000004"] = 0.1 + 0.2,
      ["1e+300"] = 1e300, ["9007199254740992.0"] = 2.0 ^ 53,
      ["-9223372036854775808"] = math.mininteger, inf = 1 / 0,
      ["-inf"] = -1 / 0} do
    t.eq(text(x), expected)
  end
  t.eq(text(0 / 0), "nan")
  t.eq(text(-(0 / 0)), "nan")
  t.eq(text(-0.0), "-0.0")
  for _ = 1, 1000 do
    local x = string.unpack("d", string.pack("i8",
      math.random(math.mininteger, math.maxinteger)))
    t.ok(x ~= x or tonumber(text(x)) == x, text(x))
  end
end)

t.test("strings are quoted; a text of several lines is its lines", function()
  t.eq(text "abc", '"abc"')
  t.eq(text "1", '"1"')
  t.eq(text "it's \"so\"", [["it's \"so\""]])
  t.eq(text "two\nlines\n", "two\nlines")
  t.eq(text "", '""')
  t.eq(text "\27[2Ja\0b\xffc", '"\\27[2Ja\\0b\\xffc"')
  t.eq(text "\27[2Ja\nb\xffc", "\\27[2Ja\nb\\xffc")
  t.eq(text {"a\n\"b\"\\", "\0001\27"}, '{"a\\n\\"b\\"\\\\", "\\0001\\27"}')
  t.eq(text {"日本é"}, '{"日本é"}')
  t.eq(text {"\u{202e}\u{9b}"}, '{"\\u{202e}\\u{9b}"}')
  t.eq(text {"\xc0\x80\xed\xa0"}, '{"\\xc0\\x80\\xed\\xa0"}')
  local long = text {("x"):rep(5000)}
  t.ok(long:find("…\" (5000 bytes)", 1, true), long)
  lines(long, 60)
  utf8_ok = false
  t.eq(text {("x"):rep(99)}:match '"x+%.%.%." %(99 bytes%)' ~= nil, true)
  t.eq(text {"é"}, '{"\\u{e9}"}')
  utf8_ok = true
end)

t.test("any bytes come out printable", function()
  for _ = 1, 300 do
    local bytes = {}
    for i = 1, math.random(40) do
      bytes[i] = string.char(math.random(0, 255))
    end
    local s = table.concat(bytes)
    for _, shown in ipairs{text {s}, text(s)} do
      t.ok(utf8.len(shown), "no UTF-8: " .. shown)
      t.ok(not shown:find "[%z\1-\8\11-\31\127]", shown)
    end
  end
end)

t.test("tables on lines", function()
  t.eq(text {}, "{}")
  t.eq(text {1, 2.5, "x", true, {1}}, '{1, 2.5, "x", true, {1}}')
  t.eq(text {1, nil, 3}, "{1, nil, 3}")
  t.eq(text {b = 1, a = {c = 2}, [10] = 3, [2.5] = 4, ["x y"] = 5, ["end"] = 6,
    [false] = 7}, [[
{
  [2.5] = 4,
  [10] = 3,
  a = {c = 2},
  b = 1,
  ["end"] = 6,
  ["x y"] = 5,
  [false] = 7
}]])
  t.eq(text({10, 200, 3, 4, 5, 6, 7, 8}, {width = 24}), [[
{
   10, 200,   3,   4,
    5,   6,   7,   8
}]])
  t.eq(text({1, 2, x = 3, {4, 5}}, {width = 20}), [[
{
  1,
  2,
  {4, 5},
  x = 3
}]])
end)

t.test("cycles and shared tables are shown by their path", function()
  local a = {list = {}}
  a.self, a.list.up, a.same, a.list[1] = a, a, a.list, {}
  t.eq(text(a), "{list = {{}, up = <t>}, same = <t.list>, self = <t>}")
  local row = {1}
  t.eq(text {row, row, {x = row}}, "{{1}, <t[1]>, {x = <t[1]>}}")
end)

t.test("deep tables end", function()
  local top = {}
  local at = top
  for _ = 1, 100000 do
    at.x = {}
    at = at.x
  end
  t.eq(text(top), '{x = {x = {x = {x = {…}}}}}\n… more inside: '
    .. 'show(t, "all")')
  lines(text(top, {width = 200, all = true}), 200)
end)

t.test("metatables: __tostring and __name count, errors in them too",
  function()
    t.eq(text(setmetatable({1}, {__tostring = function() return "me" end})),
      "me")
    t.eq(text {setmetatable({}, {__tostring = function()
      return "one\ntwo"
    end})}, "{one}")
    t.eq(text(setmetatable({1}, {__name = "Point"})), "Point {1}")
    local bad = text(setmetatable({1}, {__name = "Bad", __tostring =
      function() error("no luck", 0) end}))
    t.ok(bad:find("no luck", 1, true) and bad:find("1", 1, true), bad)
    bad = text(setmetatable({1}, {__tostring = function() return {} end}))
    t.ok(bad:gsub("\n *%-%-", ""):find("must return a string", 1, true), bad)
    bad = text(setmetatable({1}, {__tostring = function()
      error(setmetatable({}, {__tostring = error}))
    end}))
    t.ok(bad:find("error in __tostring", 1, true), bad)
  end)

t.test("no other metamethod runs", function()
  local ran
  local function trap(what)
    return function()
      ran = what
      error(what)
    end
  end
  local meta = {__name = "Proxy", __metatable = "closed"}
  for _, event in ipairs{"__index", "__newindex", "__pairs", "__len", "__eq",
      "__lt", "__le", "__call", "__concat", "__close"} do
    meta[event] = trap(event)
  end
  local proxy = setmetatable({1, 2, x = 3}, meta)
  t.eq(text(proxy), "Proxy {1, 2, x = 3}")
  t.eq(text {proxy, [proxy] = proxy},
    "{Proxy {1, 2, x = 3}, [table] = <t[1]>}")
  t.eq(ran, nil)
end)

t.test("functions, threads, files", function()
  t.eq(text(print), "print(...)\n  writes the arguments as text to standard "
    .. "output")
  local define = text(require "clshell.gemm".define)
  t.ok(define:find "^gemm%.define%(rung%).*\n  %u", define)
  t.ok(text(text):find "^function %(value, opts%)\n  defined at .*show%.lua:")
  t.eq(text(coroutine.wrap(print)),
    "function (...)\n  C code without a help page")
  t.eq(text {print}, "{function (C)}")
  t.eq(text(coroutine.create(print)), "thread (suspended)")
  local path = t.tmp "file"
  local file = assert(io.open(path, "w"))
  file:write "four"
  t.eq(text(file, {width = 200}), ("file %s  open for writing  at byte 4")
    :format(path))
  file:close()
  t.eq(text(file), "file  closed")
  t.ok(text(io.stdout):find "^file .*  open for ", text(io.stdout))
  t.ok(text{f = load("return 1", "=\27x")}:find "\\27", "escaped")
end)

t.test("complaint: one value floods the screen", function()
  local big = {}
  for i = 1, 10000 do
    big[i] = i
  end
  local set, nested, words = {}, {}, {}
  for i = 1, 3000 do
    set["key" .. i], words[i] = i, ("word "):rep(i % 7) .. i
    nested[i] = {a = {b = {i, i + 1, words = words}}, list = big}
  end
  local text_of = {__tostring = function() return ("line\n"):rep(999) end}
  for _, value in ipairs{big, set, nested, words, ("long "):rep(1e5),
      ("line\n"):rep(1e5), setmetatable({}, text_of), {nested, nested},
      {{{big}}}} do
    for _, width in ipairs{20, 31, 80, 200} do
      for _, height in ipairs{6, 24} do
        local shown = text(value, {width = width, height = height})
        local rows = 0
        for line in (shown .. "\n"):gmatch "(.-)\n" do
          rows = rows + math.max(1, (printable.width(line) + width - 1)
            // width)
        end
        t.ok(rows <= height, ("%d rows of %d"):format(rows, height))
        t.ok(shown:find('show%(t, "all"%)'), shown)
      end
    end
  end
  t.ok(text(big):find("… 9912 more: show(t, \"all\")", 1, true), text(big))
  local all = text(big, {all = true})
  t.ok(all:find "10000\n}$" and not all:find("show(", 1, true), all:sub(-80))
end)

-- A random value, and tables of them.
local function any(depth)
  local kind = math.random(depth > 0 and 12 or 7)
  if kind == 1 then
    return math.random(-10 ^ 6 // 1, 10 ^ 12 // 1)
  elseif kind == 2 then
    return math.random() * 10.0 ^ math.random(-300, 300)
  elseif kind == 3 then
    return ("wörd \n日本\0\xff"):rep(math.random(0, 9))
  elseif kind == 4 then
    return math.random(2) == 1
  elseif kind == 5 then
    return math.random(2) == 1 and print or any
  elseif kind == 6 then
    return setmetatable({1}, {__name = ("name"):rep(math.random(9)),
      __tostring = function() error(("no "):rep(math.random(50))) end})
  elseif kind == 7 then
    return io.stdout
  end
  local value = {}
  for i = 1, math.random(0, 12) do
    value[i] = any(depth - 1)
  end
  for _ = 1, math.random(0, 12) do
    local key = any(kind == 12 and 1 or 0)
    if key == key then
      value[key] = any(depth - 1)
    end
  end
  value.loop = kind == 11 and value or nil
  return value
end

t.test("any value fits any window", function()
  for _ = 1, 400 do
    local value = any(4)
    local width, height = math.random(20, 120), math.random(6, 40)
    local list = lines(text(value, {width = width, height = height}),
      type(value) == "table" and width or math.huge) -- others wrap
    t.ok(#list <= height)
  end
end)

-- A random value that Lua source can tell, and tables of such values.
local function tellable(depth)
  local kind, value = math.random(depth > 0 and 8 or 6), {}
  if kind == 1 then
    return math.random(-1000, 1000)
  elseif kind == 2 then
    return math.random() * 10.0 ^ math.random(-9, 9)
  elseif kind == 3 then
    return math.random(2) == 1
  elseif kind <= 6 then
    return ("wörd \"x\n"):rep(math.random(0, 9)) .. math.random(20)
  end
  for _ = 1, math.random(0, 2) do
    local first = math.random(-2, 5)
    for k = first, first + math.random(0, 9) do
      value[math.random(8) == 1 and tellable(0) or k] = tellable(depth - 1)
    end
    value[first] = nil
  end
  return value
end

t.test("all of a table reads back as the same table", function()
  local function same(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then
      return t.eq(b, a)
    end
    for _, pair in ipairs{{a, b}, {b, a}} do
      for key, x in next, pair[1] do
        same(x, pair[2][key])
      end
    end
  end
  print("seed " .. t.seed)
  math.randomseed(t.seed)
  for _ = 1, 2000 do
    local value = {tellable(4), x = tellable(3)}
    same(value, assert(load("return " .. text(value, {all = true})))())
  end
end)

-- A table of up to 40 entries, all named v, with keys on both sides of the
-- border between the parts of a table; and the number of its entries.
local function mixed()
  local value, n = {}, 0
  for _ = 1, math.random(0, 3) do
    local first, kind = math.random(-2, 9), math.random(4)
    for k = first, first + math.random(0, 9) do
      local key = kind == 1 and "k" .. k or kind == 2 and k + 0.5 or k
      value[key] = "v" .. k
    end
    value[first] = kind == 4 and value[first] or nil
  end
  for _ in next, value do
    n = n + 1
  end
  for i = 1, rawlen(value) do -- an empty place is shown as nil
    n = n + (value[i] == nil and 1 or 0)
  end
  return value, n
end

local function count(s, pattern)
  return select(2, s:gsub(pattern, ""))
end

t.test("every entry of a table is shown or counted", function()
  t.eq(text {[0] = 10, [1] = 20, [2] = 30}, "{20, 30, [0] = 10}")
  t.eq(text {[1] = 2, [3] = 4, f = 5}, "{2, [3] = 4, f = 5}")
  local seed = math.random(1 << 30)
  print("seed " .. seed)
  math.randomseed(seed)
  for _ = 1, 2000 do
    local value, n = mixed()
    local back = assert(load("return " .. text(value, {all = true})))()
    for _, pair in ipairs{{value, back}, {back, value}} do
      for key, x in next, pair[1] do
        t.eq(pair[2][key], x)
      end
    end
    local shown = text(value, {width = 30, height = 9})
    local rest = tonumber(shown:match "… (%d+) more" or 0)
    t.eq(count(shown, '"v%-?%d+"') + count(shown, "%f[%w]nil%f[%W]") + rest, n)
  end
end)

t.test("a table of ten million entries takes bounded work", function()
  local huge, set = table.move({0}, 1, 1, 1, {}), {}
  for i = 1, 10000000 do
    huge[i] = true
  end
  for i = 1, 100000 do
    set[("k%d"):format(i)] = i
  end
  local steps = 0
  debug.sethook(function() steps = steps + 1 end, "", 1000)
  local shown = text(huge)
  local sorted = text(set)
  debug.sethook()
  t.ok(shown:find " more: show%(t, \"all\"%)$", shown)
  t.ok(shown:find("… at least %d+ more"), shown)
  t.ok(not sorted:find("at least", 1, true), sorted)
  t.eq(tonumber(sorted:match "(%d+) more:"), 100000 - count(sorted, "k%d+ ="))
  t.ok(steps < 20000, steps .. " thousand instructions")
end)

t.test("the name in the last line is the value's global one", function()
  _G.a_list = {}
  for i = 1, 5000 do
    _G.a_list[i] = i
  end
  local shown = show.text(_G.a_list, {width = 60, height = 12})
  t.ok(shown:find('show(a_list, "all")', 1, true), shown)
  _G.a_list = nil
  t.ok(show.text(("x\n"):rep(1000)):find('show(_, "all")', 1, true))
end)

t.test("colours are foreground, and only where asked for", function()
  local value = {1, "a", true, x = {}, {"é"}}
  local plain, bright = text(value), text(value, {color = true})
  t.ok(not plain:find("\27", 1, true))
  t.ok(bright:find("\27[32m\"a\"\27[0m", 1, true), bright)
  t.eq((bright:gsub("\27%[%d+m", "")), plain)
  t.ok(not bright:find "\27%[4%d")
end)

local MANY = "many = {} for i = 1, 5000 do many[i] = i end "

t.test("show(x, \"all\") goes through the pager on a terminal", function()
  local s <close> = screen.ready{env = "PAGER='sed -n s/^.*5000/paged:5000/p'"}
  s:run(MANY .. 'show(many, "all")', "paged:5000")
  s:run('show(many)', 'more: show(many, "all")')
  s:run('show({1, 2500 * 2}, "all")', "{1, 5000}")
end)

t.test("a pager that fails or ends early leaves the shell running", function()
  local s <close> = screen.ready{env = "PAGER='head -n 2'"}
  s:run(MANY .. 'show(many, "all")', "11,")
  s:run('("still"):rep(2)', "stillstill")
  local none <close> = screen.open{env = "PAGER=/nonexistent/pager"}
  none:wait "cl>"
  none:run(MANY .. 'show(many, "all")', "4997, 4998, 4999, 5000")
end)

t.test("no pager where there is no terminal, or a dumb one", function()
  local path = t.tmp "code.lua"
  do
    t.write(path, MANY, 'show(many, "all")')
  end
  local p <close> = io.popen(("PAGER='sed s/^/paged:/' %s %s </dev/null")
    :format(t.exe, path))
  local out = p:read "a"
  t.ok(out:find("5000\n}\n", 1, true) and not out:find("paged", 1, true))
  local s <close> = screen.ready{env = "TERM=dumb PAGER='sed s/^/paged:/'"}
  s:run(MANY .. 'show(many, "all")', "4999, 5000")
  t.ok(not s:text():find("paged:", 1, true))
end)

t.done()
