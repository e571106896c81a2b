-- t.lua - the test harness: each test ends with a collection and a look at
-- the objects left open. Results are TAP lines; tests/run.lua counts them.
-- A file begins with `local t = require "t"` and ends with `t.done()`; one
-- that calls t.device() is run once for every device.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local t = {}

local Skip = {}           -- marks what t.skip raises
local passed, failed, skipped = 0, 0, 0
local began = cl.now()
local keeps = {}          -- classes that the library caches objects of
local temporary = {}      -- files to remove at the end of a test
local only = os.getenv "CLSHELL_TEST"
local stress = tonumber(os.getenv "CLSHELL_GCSTRESS" or "")
local timed = os.getenv "CLSHELL_TIMES" and 0 -- prints the time of each test

--- t.seed
-- Seed of this run's random numbers; tests/run.lua prints it, CLSHELL_SEED
-- sets it.
t.seed = math.tointeger(tonumber(os.getenv "CLSHELL_SEED" or "")) or 1
math.randomseed(t.seed)

--- t.exe
-- The interpreter that runs this test, as tests may start it again.
t.exe = os.getenv "CLSHELL" or arg and arg[-1] or "build/clshell"

--- t.here, t.build
-- The root of the tree, and the folder with the program, both as full paths.
t.here = os.getenv "PWD"
t.build = os.getenv "CLSHELL_BUILD" or "build"
t.build = t.build:find "^/" and t.build or t.here .. "/" .. t.build

--- t.briefly, t.brief
-- Lua code that makes measurements short, and what they overwrite to have cold
-- caches small, and the options of clshell that run it: for tests that assert
-- no rate.
t.briefly = [[for _, e in pairs(require("clshell.measure.protocol").efforts) do
  e.warmup, e.busy, e.seconds = 0, 0, 0.02 end
  local compare = require "clshell.measure.compare"
  local measure = compare.measure
  function compare.measure(one, other, opts)
    opts.samples, opts.least = 2, 1e-4
    opts.seconds = math.min(opts.seconds, 0.2)
    return measure(one, other, opts)
  end
  local timer = require "clshell.measure.timer"
  local flush = timer.flush
  function timer.flush(subject, bytes)
    return flush(subject, math.type(bytes) and math.min(bytes, 1 << 20)
      or bytes)
  end]]
t.brief = ("-e '%s'"):format(t.briefly)

local function fail(fmt, ...)
  error(string.format(fmt, ...), 3)
end

local function show(v)
  if type(v) ~= "table" or (getmetatable(v) or {}).__tostring then
    return type(v) == "string" and string.format("%q", v) or tostring(v)
  end
  local parts = {}
  for i, x in ipairs(v) do
    parts[i] = show(x)
  end
  for k, x in pairs(v) do
    if math.type(k) ~= "integer" or k < 1 or k > #parts then
      parts[#parts + 1] = tostring(k) .. "=" .. show(x)
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

local function same(a, b)
  if a == b or (a ~= a and b ~= b) then
    return true
  end
  if type(a) ~= "table" or type(b) ~= "table" then
    return false
  end
  for k, v in pairs(a) do
    if not same(v, b[k]) then
      return false
    end
  end
  for k in pairs(b) do
    if a[k] == nil then
      return false
    end
  end
  return true
end

--- t.ok(value [, message]) -> value
-- Fails unless `value` is true.
function t.ok(value, message)
  if not value then
    fail("%s", message or "not true: " .. show(value))
  end
  return value
end

--- t.eq(got, expected [, what])
-- Fails unless both are equal; tables are compared by content, a NaN equals
-- itself.
function t.eq(got, expected, what)
  if not same(got, expected) then
    fail("%sgot %s, expected %s", what and what .. ": " or "", show(got),
         show(expected))
  end
end

--- t.near(got, expected [, tolerance [, what]])
-- Fails unless |got - expected| <= tolerance * max(1, |expected|); the
-- tolerance is 1e-6 if not given.
function t.near(got, expected, tolerance, what)
  local limit = (tolerance or 1e-6) * math.max(1, math.abs(expected))
  if not (got == expected or math.abs(got - expected) <= limit) then
    fail("%sgot %s, expected %s within %g", what and what .. ": " or "",
         show(got), show(expected), limit)
  end
end

local function matches(text, pattern)
  if text:find(pattern, 1, true) then
    return true
  end
  local fine, at = pcall(string.find, text, pattern)
  return fine and at ~= nil
end

-- The error that fn raises; fails unless `find(text, piece)` finds each of
-- the pieces in its text.
local function raised(fn, find, kind, ...)
  local fine, err = pcall(fn)
  if fine then
    error("no error raised", 3)
  end
  local text = tostring(err)
  for _, piece in ipairs {...} do
    if not find(text, tostring(piece)) then
      error(("error %s has no %s %s"):format(show(text), kind, show(piece)), 3)
    end
  end
  return err
end

--- t.raises(fn, ...) -> error
-- Fails unless fn() raises an error whose text has each of the given pieces,
-- character by character. Returns the error value.
function t.raises(fn, ...)
  return raised(fn, function(text, piece)
    return text:find(piece, 1, true)
  end, "text", ...)
end

--- t.raises_match(fn, ...) -> error
-- The same with Lua patterns instead of plain pieces.
function t.raises_match(fn, ...)
  return raised(fn, string.find, "match of", ...)
end

--- t.skip(reason)
-- Ends the test as skipped.
function t.skip(reason)
  error(setmetatable({reason = reason}, Skip), 0)
end

--- t.skip_if(is, reason)
function t.skip_if(is, reason)
  if is then
    t.skip(reason)
  end
end

--- t.nodevices()
--- Skips the test where OCL_ICD_VENDORS cannot take the drivers away: not
--- every OpenCL loader heeds it.
function t.nodevices()
  local p <close> = assert(io.popen("OCL_ICD_VENDORS=/nonexistent " .. t.exe
    .. " -p '#cl.devices()' 2>&1"))
  if p:read("a") ~= "0\n" then
    t.skip("the OpenCL loader takes no notice of OCL_ICD_VENDORS")
  end
end

--- t.capture(command) -> string
-- What a shell command writes to standard output.
function t.capture(command)
  local p <close> = assert(io.popen(command))
  return p:read("a")
end

--- t.narrow(text)
-- Fails if a line is wider than 80 columns, not counting the names of devices.
function t.narrow(text)
  local devices = cl.devices()
  for line in text:gmatch("[^\n]+") do
    local rest = line
    for _, device in ipairs(devices) do
      local from, to = rest:find(device.name, 1, true)
      rest = from and rest:sub(1, from - 1) .. rest:sub(to + 1) or rest
    end
    if utf8.len(rest) > 80 then
      fail("wider than 80 columns: %s", line)
    end
  end
end

--- t.tmp([name]) -> path
-- A path for a file that is removed when the test ends; `name` ends it.
function t.tmp(name)
  local base = os.tmpname()
  local path = base .. "-" .. (name or "tmp")
  temporary[#temporary + 1] = base
  temporary[#temporary + 1] = path
  return path
end

--- t.write(path, ...) -> path
-- Writes a file of these strings.
function t.write(path, ...)
  local f <close> = assert(io.open(path, "wb"))
  f:write(...)
  return path
end

--- t.read(path) -> string
function t.read(path)
  local f <close> = assert(io.open(path, "rb"))
  return f:read "a"
end

--- t.list(x) -> list
-- The elements of a Buffer, an Array or an expression.
function t.list(x)
  local h = cl.class(x) == "Array" and x or x:read()
  return h:reshape(#h):table()
end

--- t.calm(fn, ...) -> what fn returns
-- Calls a function without the collections of CLSHELL_GCSTRESS: for long loops
-- over numbers, in which there is nothing to collect.
function t.calm(fn, ...)
  local hook = table.pack(debug.gethook())
  debug.sethook()
  local results = table.pack(fn(...))
  debug.sethook(table.unpack(hook, 1, hook.n))
  return table.unpack(results, 1, results.n)
end

--- t.swap(list, key, value) -> a variable to be closed
--- Sets list[key] until the variable is closed.
function t.swap(list, key, value)
  local before = list[key]
  list[key] = value
  return setmetatable({}, {__close = function()
    list[key] = before
  end})
end

--- t.keeps(class, ...)
-- Objects of these classes may outlive a test: the library keeps them to
-- use them again (programs it has built, say).
function t.keeps(...)
  for _, name in ipairs {...} do
    keeps[name] = true
  end
end

--- t.device() -> Device
-- The device to test on, its context and queue opened; without any device
-- the whole file is skipped. A file that calls it runs on every device.
function t.device()
  local fine, device = pcall(cl.device)
  if not fine then
    if os.getenv "CLSHELL_DEVICE" then
      error(device, 0)
    end
    skipped = skipped + 1
    print("ok 1 - all # SKIP " .. tostring(device):gsub("\n.*", ""))
    t.done()
  end
  cl.buffer("int", 1, 0):close()
  collectgarbage()
  return device
end

-- What is open still. What is kept to be used again is no leak.
local function leaks(before)
  local give_up = debug.getregistry()["cl.hooks"].give_up
  if give_up then
    give_up()
  end
  collectgarbage()
  collectgarbage()
  local left = {}
  for name, n in pairs(cl.live()) do
    local more = n - (before[name] or 0)
    if more > 0 and not keeps[name] then
      left[#left + 1] = string.format("%d %s", more, name)
    end
  end
  table.sort(left)
  return #left > 0 and "left open: " .. table.concat(left, ", ") or nil
end

local function handler(err)
  if getmetatable(err) == Skip then
    return err
  end
  return debug.traceback(tostring(err), 2)
end

-- What went wrong in `fn`, or a Skip, or nil.
local function attempt(fn)
  collectgarbage()
  local before = cl.live()
  if stress then
    debug.sethook(function() collectgarbage() end, "", stress)
  end
  local fine, err = xpcall(fn, handler)
  debug.sethook()
  for i = #temporary, 1, -1 do
    os.remove(temporary[i])
    temporary[i] = nil
  end
  local left = leaks(before)
  if not fine then
    return err
  end
  return left
end

-- What the leak checker says where it fails itself, as it now and then does
-- when a driver's thread ends while it looks. That is no word on the test.
local BLIND = "LeakSanitizer has encountered a fatal error"

-- The processor seconds of this process and of the children that it waited
-- for; Linux tells them in hundredths.
local function processor_seconds()
  local sum, file <close> = 0, assert(io.open "/proc/self/stat")
  local i = 1
  for field in file:read("a"):match("%)%s*(.*)"):gmatch "%S+" do
    sum = sum + (i >= 12 and i <= 15 and field / 100 or 0)
    i = i + 1
  end
  return sum
end

--- t.test(name, fn)
-- Runs a test: fails if fn raises or leaves objects open.
function t.test(name, fn)
  if only and not matches(name, only) then
    return
  end
  local n = passed + failed + skipped + 1
  local wrong = attempt(fn)
  if type(wrong) == "string" and wrong:find(BLIND, 1, true) then
    print("# once more, as the leak checker failed: " .. name)
    wrong = attempt(fn)
  end
  if wrong == nil then
    passed = passed + 1
    print(string.format("ok %d - %s", n, name))
  elseif getmetatable(wrong) == Skip then
    skipped = skipped + 1
    print(string.format("ok %d - %s # SKIP %s", n, name, wrong.reason))
  else
    failed = failed + 1
    print(string.format("not ok %d - %s", n, name))
    print("# " .. wrong:gsub("\n", "\n# "))
  end
  if timed then
    local now = processor_seconds()
    print(("# %.2f processor seconds"):format(now - timed))
    timed = now
  end
  io.stdout:flush()
end

--- t.where(is, reason) -> test(name, fn)
-- t.test for tests that are skipped with the reason unless `is`.
function t.where(is, reason)
  return function(name, fn)
    t.test(name, function()
      t.skip_if(not is, reason)
      fn()
    end)
  end
end

--- t.done()
-- Prints the counts and ends the process, closing the Lua state.
function t.done()
  print(string.format("1..%d", passed + failed + skipped))
  print(string.format("# took %.0f s", cl.now() - began))
  print(string.format("# %d passed, %d failed, %d skipped", passed, failed,
                      skipped))
  os.exit(failed == 0, true)
end

return t
