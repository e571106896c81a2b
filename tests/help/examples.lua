-- examples.lua - runs the example in the comment of every function that help
-- documents, in a folder and an environment of its own; --> heads the expected
-- output
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local index = require "clshell.shell.help.index"

-- These use the run store, see store.lua.
local STORED = {history = true, best = true, prune = true,
  ["runs.compare"] = true}
-- These need the simulator.
local simulated = require "clshell.explain.trace".plugin()
local built_mpi = io.open(t.build .. "/mpi.so") ~= nil

local function of_mpi(name)
  return name:find "^mpi%." or name:find "^Request:"
    or name:find "^[rR]anks"
end

local IMAGES = {["cl.image"] = true, ["cl.sampler"] = true}
local SIMULATED = {access = true, Access = true}
local sanitized = (os.getenv "CLSHELL_BUILD" or ""):find("asan", 1, true)

t.device()
t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event", "Device")

local quote = require("clshell.base.text").quote

-- What runs the examples in a process of its own: each prints a line with its
-- name, then what it prints itself.
local RUNNER = t.briefly .. [[

local index = require "clshell.shell.help.index"
local wanted = {}
for _, name in ipairs(arg) do
  wanted[name] = true
end
arg = {[0] = "example.lua"}
local function run(name, code)
  local env = setmetatable({print = function(...)
    local list = table.pack(...)
    for i = 1, list.n do
      list[i] = tostring(list[i])
    end
    io.write(table.concat(list, " "), "\n")
  end}, {__index = _G})
  local f, message = load(code, "=" .. name, "t", env)
  local ok, err = f ~= nil, message
  if f then
    ok, err = xpcall(f, function(e)
      return debug.traceback(tostring(e))
    end)
  end
  io.write("\n@", name, " ", ok and "ok" or "failed: " .. tostring(err), "\n")
end
for _, entry in ipairs(index.entries()) do
  if wanted[entry.name] then
    run(entry.name, entry.example)
    collectgarbage()
  end
end
]]

-- The lines that an example prints are among these, in this order.
local function check(name, code, output)
  local lines, at = {}, 1
  for line in output:gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
  for want in code:gmatch("%-%->%s*([^\n]*)") do
    while lines[at] and lines[at] ~= want do
      at = at + 1
    end
    t.ok(lines[at], ("the example of %s did not print '%s' but:\n%s"):format(
      name, want, output))
    at = at + 1
  end
end

-- Open MPI keeps memory of parts that it has unloaded.
local KEEPS = "ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\""

-- Runs examples and compares what they print.
local function run(names)
  local folder = t.tmp "examples"
  local script = t.tmp "runner.lua"
  local f <close> = assert(io.open(script, "w"))
  f:write(RUNNER)
  f:close()
  local words = {}
  for i, name in ipairs(names) do
    words[i] = quote(name)
  end
  local exe = t.exe:find("^/") and t.exe or os.getenv "PWD" .. "/" .. t.exe
  local pipe = assert(io.popen(("mkdir -p %s && cd %s && env CLSHELL_HOME=%s "
    .. "CLSHELL_STORE=$PWD/runs.db XDG_STATE_HOME=$PWD "
    .. "XDG_CONFIG_HOME=$PWD COLUMNS=80 %s %s %s %s 2>&1; code=$?; "
    .. "rm -rf %s; exit $code"):format(quote(folder),
    quote(folder), quote(cl.home), of_mpi(names[1]) and KEEPS or "",
    quote(exe), quote(script),
    table.concat(words, " "), quote(folder))))
  local rest = pipe:read("a")
  local ended, how, code = pipe:close()
  for _, name in ipairs(names) do
    local first, last = rest:find("\n@" .. name .. " ", 1, true)
    t.ok(first, ("the example of %s did not end:\n%s"):format(name, rest))
    local verdict = rest:sub(last + 1):match("^[^\n]*")
    t.ok(verdict == "ok", ("the example of %s %s\n%s"):format(name, verdict,
      rest:sub(last + 1, last + 2000)))
    check(name, index.entries()[name].example, rest:sub(1, first))
    rest = rest:sub(last + 1 + #verdict)
  end
  t.ok(ended, ("%s %s after the examples:%s"):format(how, code, rest))
end

-- Whether the example of a name can be run here.
local function runs(name)
  local image = IMAGES[name] or name:find "^Image:"
  return not (of_mpi(name) and not built_mpi)
    and not (sanitized and STORED[name])
    and not (image and not cl.device().image_support)
end

-- The examples of functions by the name before the dot, each once: methods
-- such as Buffer:eq and Buffer:lt share one.
local groups, order, seen = {}, {}, {}
for _, entry in ipairs(index.entries()) do
  local code = entry.example
  if code and not seen[code] and runs(entry.name) then
    seen[code] = true
    local group = entry.minor and "cl types"
      or entry.name:match("^(.*)[.:]") or entry.name
    if not groups[group] then
      groups[group] = {}
      order[#order + 1] = group
    end
    table.insert(groups[group], entry.name)
  end
end

for _, group in ipairs(order) do
  t.test("examples of " .. group, function()
    if SIMULATED[group] and not simulated then
      t.skip "there is no simulator, or no plugin for it"
    end
    run(groups[group])
  end)
end

t.done()
