-- shell/prompt/watch.lua - kernels follow their files: a program whose files
-- changed is rebuilt before an input runs; %watch waits for changes, and
-- measures after each
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local excerpt = require "clshell.errors.excerpt"
local interrupt = require "clshell.base.interrupt"
local quantity = require "clshell.base.quantity"
local fields = require "clshell.results.fields"
local text = require "clshell.base.text"

local M = {}

local POLL = 0.1 -- seconds between two looks at the files

local function report(err)
  io.stderr:write(require "clshell.shell.prompt.errors".report(err), "\n")
end

-- The programs whose files changed. Programs that only a family's cache keeps
-- are dropped: the next call builds them from the file.
local function stale()
  local cache = package.loaded["clshell.ladder.program"]
  if type(cache) == "table" and rawget(cache, "forget") then
    cache.forget(cl.stale() or {})
    collectgarbage()
    collectgarbage() -- finalizers hold on to objects for one more
  end
  return cl.stale() or {}
end

--- watch.refresh() -> boolean, n
--- Rebuilds, in place, the open programs whose files changed; prints a line a
--- file on standard error. A failed build is shown once, and the program keeps
--- its last good build. Returns whether all builds succeeded, and the number
--- of files.
function M.refresh()
  local files, fine = {}, true
  for _, program in ipairs(stale()) do
    local name = text.visible(program:info().name)
    local state = files[name] or {name = name, programs = 0}
    if not files[name] then
      files[name], files[#files + 1] = state, state
    end
    local ok, err = interrupt.pcall(program.rebuild, program)
    state.programs = state.programs + (ok and 1 or 0)
    state.err = state.err or not ok and err
  end
  for _, state in ipairs(files) do
    if state.err then
      fine = false
      report(state.err)
      io.stderr:write(state.name, ": the last good build stays in use\n")
    else
      io.stderr:write("rebuilt ", state.name, state.programs == 1 and "\n"
        or (", %d programs\n"):format(state.programs))
    end
  end
  return fine, #files
end

-- Whether `path` names the file `full`: a full path, or the end of one.
local function names(path, full)
  path = path:gsub("^%./", "")
  return full == path or full:sub(-#path - 1) == "/" .. path
end

-- The files of all open programs, or the files that `path` names: a list and
-- a set.
local function watched(path)
  local list, seen = {}, {}
  for _, program in ipairs(cl.programs()) do
    for _, file in ipairs(program:info().files) do
      if not seen[file] and (path == nil or names(path, file)) then
        seen[file] = true
        list[#list + 1] = file
      end
    end
  end
  table.sort(list)
  return list, seen
end

-- The contents of the files as one text; nil while a file is empty or absent,
-- as when an editor writes it.
local function look(files)
  local now = {}
  for i, file in ipairs(files) do
    now[i] = excerpt.read(file) or ""
    if now[i] == "" then
      return nil
    end
  end
  return table.concat(now, "\0")
end

-- Waits until a file's content differs from the noted one, and no content
-- changes between two looks. Returns the contents.
local function await(files, noted)
  local last
  while true do
    cl.sleep(POLL)
    local now = look(files)
    if now and now == last and now ~= noted then
      return now
    end
    last = now
  end
end

-- "1.23x as fast as round 0 [1.20, 1.26]", from the intervals of both times.
local function ratio(r, best)
  local words = ("%sx as fast as round %d"):format(quantity.number(
    best.median / r.median, 3), best.round)
  if not (r.lo and best.lo) then
    return words .. ", of too few samples for an interval"
  end
  local lo, hi = best.lo / r.hi, best.hi / r.lo
  return ("%s [%s, %s]%s"):format(words, quantity.number(lo, 3),
    quantity.number(hi, 3), lo <= 1 and hi >= 1 and ": no difference shown"
      or "")
end

-- Whether a value is the result of a measurement.
local function is_result(r)
  return type(r) == "table" and rawget(r, "median") ~= nil
end

-- One line on a round: "round 2  412.3 µs  5.21 GFLOPS  1.23x as fast ...".
local function line(round, r, best)
  if not is_result(r) then
    local reason = type(r) == "table" and rawget(r, "error")
    return ("round %d  %s"):format(round, reason or tostring(r))
  end
  local words = {"round " .. round, quantity.format(r.median, "s",
    fields.digits(r))}
  if r.status ~= nil and r.status ~= "ok" then
    words[#words + 1] = r.status .. (r.error and ": " .. r.error or "")
  elseif r.gflops or r.gbs then
    words[#words + 1] = fields.number(r.gflops or r.gbs, r)
      .. (r.gflops and " G" .. quantity.work(r.type) .. "S" or " GB/s")
  end
  words[#words + 1] = best and ratio(r, best)
  return table.concat(words, "  ")
end

-- Measures and prints a line; returns the round for the next comparison.
local function measure(run, round, before)
  local ok, r = interrupt.pcall(run)
  if not ok then
    report(r)
    return before
  end
  print(line(round, r, before))
  return is_result(r) and (r.status == nil or r.status == "ok")
    and {median = r.median, lo = r.lo, hi = r.hi, round = round} or before
end

local function nothing_to_watch(path)
  local all = watched()
  cl.error(path and ("no program in use was built from '%s'"):format(path)
    or "no program in use was built from a file", {hint = #all > 0
    and "files in use: " .. table.concat(all, ", ")
    or 'build one first, such as k = cl.kernel "kernel.cl"'})
end

--- watch.watch([path] [, bench [, rounds]])
--- Waits for changes of the files of all programs in use, or of the file that
--- `path` names (an included file as well). After each change the programs
--- are rebuilt in place, and `bench`, a function that returns a measured
--- result, runs again: a line a round, with the ratio to the last good round
--- and its interval.
--- Ends at Ctrl-C, or after `rounds` rounds.
function M.watch(path, bench, rounds)
  local files, known = watched(path)
  if #files == 0 then
    nothing_to_watch(path)
  end
  io.stderr:write("watching ", text.visible(table.concat(files, ", ")),
    bench and "" or ", without a %bench to run again", "; Ctrl-C ends\n")
  local noted = look(files) or ""
  local state = bench and measure(bench, 0)
  for round = 1, rounds or math.huge do
    noted = await(files, noted)
    if M.refresh() and bench then
      state = measure(bench, round, state)
    end
    for _, file in ipairs(watched(path)) do
      if not known[file] then
        known[file], files[#files + 1] = true, file
        noted = noted .. "\0" .. (excerpt.read(file) or "")
      end
    end
  end
end

return M
