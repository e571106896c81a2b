-- progress.lua - progress on terminals and in logs, and results that are kept
-- whatever ends a run
-- SPDX-License-Identifier: MIT
local t = require "t"
local json = require "clshell.base.json"
local progress = require "clshell.base.progress"

t.keeps("Device", "Program", "Kernel", "Context", "Queue")

-- A progress with a clock that goes so many seconds a step, and what it has
-- written.
local function run(total, seconds, opts)
  local out, time, note = {}, 0, opts.note
  opts.note = nil
  opts.total, opts.width = total, opts.width or 80
  opts.quiet = opts.quiet or false
  opts.glyphs = opts.glyphs or false
  opts.now = function() return time end
  opts.write = function(s) out[#out + 1] = s end
  local p = progress.new(opts)
  for i = 1, total do
    p:step("step " .. i)
    if i == note then
      p:note("best 61.2 GFLOPS")
    end
    time = time + seconds
  end
  p:done()
  return out
end

t.test("no progress garbage in logs: plain lines, now and then", function()
  local out = run(40, 3, {tty = false, note = 5})
  local text = table.concat(out)
  t.ok(not text:find("[\r\27]"), text)
  t.eq(#out, 9, text)
  t.eq(out[1], " 10 %  4/40  step 5  eta 1:48\n")
  t.eq(out[2], " 20 %  8/40  step 9  best 61.2 GFLOPS  eta 1:36\n")
  t.eq(#run(1000, 0.5, {tty = false}), 9, "a line for each tenth")
  t.eq(#run(100, 0.5, {tty = false}), 4, "at most every ten seconds")
  t.eq(run(10, 0.5, {tty = false}), {}, "nothing of a short run")
  t.eq(run(10, 60, {tty = false, quiet = true}), {})
  t.eq(run(10, 60, {tty = true, quiet = true}), {})
end)

t.test("a notice of work done once: from half a second on", function()
  local function told(title, opts)
    local out, time = {}, 0
    opts.now = function() return time end
    opts.width, opts.quiet = 40, opts.quiet or false
    opts.write = function(s) out[#out + 1] = s end
    for _, parts in ipairs{2, 3} do -- parts that follow each other share it
      do
        local notice <close> = progress.notice(title, "now: ", opts)
        for i = 1, parts do
          notice:step("step " .. parts .. i)
          time = time + 0.2
        end
      end
      time = time + (opts.between or 0)
    end
    return out
  end
  t.eq(told("A", {tty = false}), {"A\n"})
  t.eq(told("B", {tty = true}), {"\r\27[Know: step 32", "\r\27[Know: step 33",
    "\r\27[K"})
  t.eq(told("C", {tty = true, quiet = true}), {})
  t.eq(told("D", {tty = true, between = 1})[1], "\r\27[Know: step 31",
    "the time between the parts counts")
  t.eq(told("E", {tty = true, between = 3}), {})
end)

t.test("on a terminal: one line, drawn again, erased at the end", function()
  local out = run(4, 1, {tty = true, note = 2})
  t.eq(out, {"\r\27[K[#####---------------] 2/4  step 2",
    "\r\27[K[##########----------] 3/4  step 3  best 61.2 GFLOPS  eta 0:02",
    "\r\27[K[###############-----] 4/4  step 4  best 61.2 GFLOPS  eta 0:01",
    "\r\27[K"})
  t.eq(run(4, 0.1, {tty = true}), {}, "nothing in the first half second")
  local many = run(10000, 0.01, {tty = true})
  t.ok(#many <= 1002, "ten times a second: " .. #many)
  local glyphs = run(8, 1, {tty = true, glyphs = true})
  t.ok(glyphs[1]:find("━━╸" .. ("─"):rep(17) .. " 2/8", 1, true), glyphs[1])
  for _, width in ipairs{20, 31, 40, 60} do
    for _, line in ipairs(run(9, 2000, {tty = true, width = width,
      glyphs = true, note = 3})) do
      t.ok(utf8.len((line:gsub("^\r\27%[K", ""))) < width, line)
    end
  end
  t.ok(run(9, 2000, {tty = true})[3]:find("eta 3:20:00", 1, true))
end)

local device = t.device()

local function create(name, text)
  local path = t.tmp(name)
  return t.write(path, text)
end

-- A script that measures one thing and then does what `more` says.
local function script(more)
  return create("measure.lua", [[
local output = require "clshell.results.output"
local script = require "clshell.base.script"
local parser = script.parser("measure.lua", "")
output.options(parser)
local out <close> = output.open(parser, script.parse(parser))
local part <close> = out:part{columns = {"name", "n"}, steps = 2}
part:step "first"
part:add(bench.of("first", {1e-3, 2e-3}))
io.stderr:write "measured\n"
]] .. more)
end

local capture = t.capture

local function results(path)
  local f <close> = assert(io.open(path))
  return assert(json.decode(f:read("a"))).results
end

t.test("no result of a tuning is lost when stopped: --timeout", function()
  local path = t.tmp("kept.json")
  local command = ("%s --timeout 1000 -o %s %s; echo $?"):format(t.exe, path,
    script "os.execute 'kill -s ALRM $PPID' while true do end")
  local out = capture(command)
  t.ok(out:find("\n124\n", 1, true) and out:find("first", 1, true), out)
  t.eq(results(path)[1].name, "first")
end)

t.test("no result of a tuning is lost when it is killed", function()
  local path = t.tmp("kept.json")
  local log, ids = t.tmp("log"), t.tmp("ids")
  -- the shell waits for the word on standard error, then kills
  capture(("%s -o %s %s 2>%s >/dev/null & echo $! >%s; while ! grep -q " ..
    "measured %s; do kill -0 $(cat %s) || break; sleep 0.1; done; " ..
    "kill -9 $(cat %s); wait"):format(t.exe, path,
    script "while true do end", log, ids, log, ids, ids))
  t.eq(results(path)[1].name, "first")
end)

t.test("-f and -o of clshell itself", function()
  local path = t.tmp("own.csv")
  local out = capture(("%s -f csv %s 2>/dev/null"):format(t.exe, script ""))
  t.ok(out:find("^name,"), out)
  out = capture(("%s -o %s %s 2>/dev/null"):format(t.exe, path, script ""))
  t.ok(out:find("1 results in", 1, true), out)
  out = capture(("%s -f csv %s --format json 2>/dev/null"):format(t.exe,
    script ""))
  t.ok(out:find("^{"), "the script's own option counts: " .. out)
  local plain = create("plain.lua", "print 'plain'")
  local command = ("%s %%s %s 2>&1"):format(t.exe, plain)
  t.ok(capture(command:format("-f json")):find("note: .* has no results.*"
    .. "results{.*:html"))
  t.eq(capture(command:format("-f json -q")), "plain\n")
  out = capture(t.exe .. " -o /no/such/file -e 'print(1)' 2>&1")
  t.ok(out:find("note: the code has no results", 1, true), out)
  t.eq(capture(command:format("")), "plain\n")
end)

t.test("-q: no progress", function()
  for options, expected in pairs{["-q"] = "true\n", [""] = "false\n"} do
    t.eq(capture(("%s %s -p 'require(\"clshell.progress\").new{}.quiet'")
      :format(t.exe, options)), expected)
  end
end, device)

t.done()
