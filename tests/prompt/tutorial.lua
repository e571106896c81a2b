-- tutorial.lua - the lessons of ?tutorial: steps are done by their effect, and
-- results stay on the screen; the place is remembered
-- SPDX-License-Identifier: MIT

local t = require "t"
local screen = require "screen"

local state = t.tmp "state"
local real = os.getenv
local own = require("clshell.base.lazy").globals.os -- that clshell uses
rawset(own, "getenv", function(name) -- folder and run store of this test
  return name == "XDG_STATE_HOME" and state
    or name == "CLSHELL_STORE" and state .. ".db" or real(name)
end)

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Buffer", "Event",
  "Launch", "Array")

require "clshell"
local session = require "clshell.shell.prompt.session"
local tutorial = require "clshell.shell.prompt.tutorial"
local lessons = require "clshell.shell.prompt.tutorial_lessons"
local steps = lessons[1]

-- What a call prints.
local function printed(f, ...)
  local globals = require("clshell.base.lazy").globals -- that clshell uses
  local lines, old = {}, globals.print
  rawset(globals, "print", function(...)
    local words = table.pack(...)
    for i = 1, words.n do
      words[i] = tostring(words[i])
    end
    lines[#lines + 1] = table.concat(words, "\t")
  end)
  local ok, err = pcall(f, ...)
  rawset(globals, "print", old)
  if not ok then
    error(err, 0)
  end
  return table.concat(lines, "\n")
end

-- Runs an input as the prompt would and returns what the tutorial says.
local function typed(input)
  local f = assert(load("return " .. input, "=input") or load(input,
    "=input"))
  local results = table.pack(pcall(f))
  local ok = table.remove(results, 1)
  results.n = results.n - 1
  return printed(tutorial.watch, input, ok, results)
end

-- An input that ends step n; returns what is said to it. Enter goes on.
local function done(n, input)
  local said = typed(input)
  t.ok(said:find(("Step %d is done. Enter goes on."):format(n), 1, true),
    ("step %d, after %s: %s"):format(n, input, said))
  t.eq(typed(input), "", "until Enter nothing more is said")
  printed(session.blank)
  return said
end

local function waits(input, hint)
  local said = typed(input)
  t.ok(not said:find("is done", 1, true), input .. ": " .. said)
  if hint then
    t.ok(said:gsub("%s+", " "):find(hint, 1, true), said)
  end
end

t.test("steps have a title, a text and lines to type", function()
  for _, lesson in ipairs(lessons) do
    t.ok(#lesson.title > 0 and #lesson >= 2)
    for _, step in ipairs(lesson) do
      local text = type(step.text) == "function" and step.text() or step.text
      t.ok(#step.title > 0 and #text > 80 and #step.code > 0)
      for line in step.code:gmatch("[^\n]+") do
        t.ok(#line <= 75, line)
      end
    end
  end
end)

t.test("each step is done by its effect, other names and words included",
  function()
    local said = printed(tutorial.start)
    t.ok(said:find("Step 1 of 11: Devices", 1, true), said)
    waits "1 + 1"
    waits "error 'an input that fails'"
    done(1, "cl.device()")
    waits("one = cl.buffer('float', 1000, 1)", "make another")
    done(2, "two = cl.buffer('float', {10, 100}, 5)")
    waits "cl.build 'kernel void unused(void) {}'"
    done(3, "work = cl.kernel 'kernel void mine(global float *x, float a) "
      .. "{ x[get_global_id(0)] *= a; }'")
    waits("ev = work:range(1000)(one, 3)", "look at the event")
    done(4, "ev.ms")
    waits "0"
    waits("one:read():max_diff(cl.array('float', 1000, 1))", "differ by 2")
    done(5, "one:read():equal(cl.array('float', 1000, 3))")
    waits "P = matrix.random(64, 32)"
    waits("Q = matrix.random(32, 48)", "None of your matrices is the product")
    waits "R = matrix.zeros(64, 48)"
    done(6, "S = gemm(P, Q, {kernel = 'tiled', tile = 8})")
  end)

t.test("the steps that measure", function()
  local shape = "{32, 32, 32}, {%s}, {seconds = 0.05, busy = 0})"
  local function measure(rung, params)
    return ("last = bench('gemm.%s', " .. shape):format(rung, params)
  end
  waits(measure("naive", "map = 'row'"), "now the other")
  waits(measure("naive", "map = 'row'"))
  local said = done(7, measure("naive", "map = 'col'"))
  t.ok(said:find("least times: naive with map = row [%d.e-]+ ms, naive"), said)
  waits(measure("tiled", "tile = 4"), "now another")
  done(8, measure("tiled", "tile = 8"))
  waits "last"
  done(9, "lesson(last)")
end)

t.test("a rung of one's own has to be right, tiled and measured", function()
  local define, run = steps[11].code:match("^(.*);\n(.*)$")
  local quick = run:gsub("256, 256, 256", "32, 32, 32")
    :gsub("%)$", ", {seconds = 0.05, busy = 0})")
  local source = steps[10].code
  waits "text = 'kernel'"
  done(10, (source:gsub("sum %+= a", "sum -= a")))
  waits(define, "measure it")
  waits(quick, "not right yet")
  typed(source)
  waits(define)
  done(11, quick)
  waits "1 + 1" -- the lesson has ended
end)

t.test("%tutorial moves, stops, and refuses what it does not know",
  function()
    local function command(words)
      return printed(tutorial.command, words)
    end
    t.ok(command "2":find("Step 1 of 3: Room for tiles", 1, true))
    local list = command ""
    for i, lesson in ipairs(lessons) do
      t.ok(list:find(("%d  %s"):format(i, lesson.title), 1, true), list)
    end
    t.ok(list:find("* 2  banks", 1, true), list)
    command "1"
    t.ok(command "step 3":find("Step 3 of 11", 1, true))
    t.ok(command "again":find("Step 3 of 11", 1, true))
    t.ok(command "next":find("Step 4 of 11", 1, true))
    t.ok(command "back":find("Step 3 of 11", 1, true))
    t.raises(function() command "step 12" end, "must be 1 to 11; got 12")
    t.raises(function() command "9" end, "the lesson must be 1 to 5; got 9")
    t.raises(function() command "nxt" end, "next, back, again, stop", "'nxt'")
    t.ok(command "stop":find("stopped", 1, true))
    t.eq(session.blank, nil)
    t.eq(typed "cl.kernel 'kernel void f(void) {}'", "")
    local said = printed(tutorial.start)
    t.ok(said:find("Going on at step 3", 1, true), said)
    command "stop"
  end)

t.test("the further lessons", function()
  local short = "{seconds = 0.05, busy = 0})"
  -- The lines of a step, but measured for a shorter time.
  local function code(l, n)
    return (lessons[l][n].code:gsub("(bench%(\"transpose[^\n]*})%)",
      "%1, {}, " .. short):gsub("1024", "64")
      :gsub("(bench%(\"spmv[^\n]*})%)", "%1, {}, " .. short)
      :gsub("bytes = x.bytes}", "bytes = x.bytes, seconds = 0.05, busy = 0}")
      :gsub("}%)$", "}, {seconds = 0.1})", l == 5 and n == 3 and 1 or 0)
      :gsub("tag = \"mine\"}", "tag = 'mine', seconds = 0.05, busy = 0}",
        l == 5 and n == 1 and 1 or 0):gsub("4000000", "4000"))
  end
  for l = 2, #lessons do
    printed(tutorial.command, tostring(l))
    for n in ipairs(lessons[l]) do
      local last = ""
      waits "1 + 1"
      for line in (code(l, n):gsub(",\n *", ", ") .. "\n"):gmatch "(.-)\n" do
        last = last .. typed(line)
      end
      t.ok(last:find(("Step %d is done"):format(n), 1, true),
        ("lesson %d step %d: %s\n%s"):format(l, n, code(l, n), last))
      printed(session.blank)
    end
  end
  t.ok(printed(tutorial.command, ""):find("  1  from the list", 1, true))
  for name in ("x y h ev M r"):gmatch "%a+" do
    rawset(_G, name, nil)
  end
end)

-- What the tutorial says to type, but measured for a shorter time.
local function lines_of(step)
  return step.code:gsub("(bench%([^\n]*)%)%f[\n%z]",
    "%1, {effort = 'quick'})") .. "\n"
end

t.test("a newcomer types the first lesson at a terminal of 24 rows", function()
  local s <close> = screen.ready{width = 80, height = 24,
    options = "-qi " .. t.brief}
  s:send "?tutorial\r"
  for n, step in ipairs(steps) do
    s:wait(("Step %d of 11: %s"):format(n, step.title))
    local seen = s:wait_end "\ncl>"
    local last = step.code:match "[^\n]*$"
    t.ok(seen:find(("Step %d of 11"):format(n), 1, true)
      and seen:find(last, 1, true), "not in sight: " .. step.title .. seen)
    for line in lines_of(step):gmatch("([^\n]*)\n") do
      s:send(line .. "\r")
    end
    s:wait(("Step %d is done. Enter goes on."):format(n))
    seen = s:wait_end "\ncl>"
    t.ok(seen:find(({"Device", "cl>", "cl>", "\n[%d.e-]+\n", "\n0",
      "cl>", "naive map=row", "tiled tile=16", '"', "cl>",
      "gemm.mine t=8"})[n]), ("step %d: %s"):format(n, seen))
    s:send "\r"
  end
  s:wait "That was the last step"
  s:wait_end "\ncl>"
  s:run("#gemm.kernels() > 10", "true")
  s:keys "C-d"
  t.eq(s:status(), 0)
end)

t.test("?tutorial goes on where the last session stopped", function()
  local home = t.tmp "home"
  os.execute("mkdir -p " .. home)
  do
    local s <close> = screen.ready{dir = home, height = 60}
    s:send "?tutorial\r"
    s:wait "Step 1 of 11"
    s:run("%tutorial step 4", "Step 4 of 11")
    s:keys "C-d"
    s:status()
  end
  local s <close> = screen.ready{dir = home, height = 60}
  s:send "?tutorial\r"
  s:wait "Going on at step 4"
  s:wait "In a new session, first:"
  s:run("%tutorial stop", "has stopped")
  s:run("%tutorial sideways", "next, back, again, stop")
  os.execute("rm -rf " .. home)
end)

os.execute(("rm -rf '%s' '%s.db'"):format(state, state))
t.done()
