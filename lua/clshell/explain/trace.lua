-- explain/trace.lua - runs a launch on the simulator with the plugin of
-- src/sim/trace.cpp, and reads the requests of its warps
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local text = require "clshell.base.text"

local M = {}

local SECONDS = 120 -- the limit of a launch

--- trace.plugin() -> path, or nil, a reason and a remedy
--- The plugin, where it and the simulator are installed.
function M.plugin()
  if not oclgrind.driver() then
    return nil, "the simulator Oclgrind is not installed", oclgrind.PACKAGES
  end
  for _, path in ipairs{cl.home .. "/build/trace.so", cl.home .. "/trace.so"}
      do
    local f <close> = io.open(path, "rb")
    if f then
      return path
    end
  end
  return nil, "the plugin of the simulator, trace.so, is not built",
    "make check-tools, then make (Debian, Ubuntu: liboclgrind-dev, g++)"
end

-- "file:line" -> text, for the lines of a source as its #line lines tell.
local function source_lines(source)
  local lines, first, name, n = {}, nil, nil, 0
  for line in (source .. "\n"):gmatch "(.-)\r?\n" do
    n = n + 1
    local number, other = line:match '^#line%s+(%d+)%s*"?([^"]*)'
    if number then
      n = tonumber(number) - 1
      name = other ~= "" and other or name
    else
      first = first or name or ""
      lines[(name or "") .. ":" .. n] = line
      lines[":" .. n] = lines[":" .. n] or (name == first and line) or nil
    end
  end
  return lines
end

-- Numbers of a line of the trace.
local function integers(line)
  local list = {}
  for word in line:gmatch "%d+" do
    list[#list + 1] = math.tointeger(tonumber(word))
  end
  return table.unpack(list)
end

-- A request: the lanes that take part and their addresses.
local function request(line)
  local count, first, rest = line:match "^(%d+) (%d+)(.*)$"
  local r = {count = tonumber(count), lanes = {}, at = {}}
  -- the buffer's number is in the upper bits of the simulator's addresses
  r.first = math.tointeger(tonumber(first)) & 0xffffffffff
  for lane, at in rest:gmatch "(%d+):(%d+)" do
    r.lanes[#r.lanes + 1] = math.tointeger(tonumber(lane))
    r.at[#r.at + 1] = math.tointeger(tonumber(at))
  end
  return r
end

local read = {}

function read.groups(found, rest)
  found.groups, found.looked, found.warps, found.instructions, found.lost,
    found.copied = integers(rest)
end

function read.group(found, rest)
  found.localsize = {integers(rest)}
end

function read.site(found, rest)
  local kind, space, size, elements, line, column, asked, distinct, name =
    rest:match "^(%a+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (.*)$"
  found.sites[#found.sites + 1] = {kind = kind, requests = {},
    space = tonumber(space), size = math.tointeger(tonumber(size)),
    elements = math.tointeger(tonumber(elements)),
    line = math.tointeger(tonumber(line)), file = name,
    column = math.tointeger(tonumber(column)), asked = tonumber(asked),
    distinct = tonumber(distinct)}
end

function read.request(found, rest)
  local list = found.sites[#found.sites].requests
  list[#list + 1] = request(rest)
end

function read.branch(found, rest)
  local line, column, times, lanes, paths, parted = integers(rest)
  found.branches[#found.branches + 1] = {line = line, column = column,
    times = times, lanes = lanes, paths = paths, parted = parted,
    file = rest:match "^%d+ %d+ %d+ %d+ %d+ %d+ (.*)$"}
end

read["end"] = function(found)
  found.whole = true
end

-- Runs a job with optimized code, or with plain code where the optimizer makes
-- functions that the simulator lacks. Returns the launch's result, and whether
-- its code is plain.
local function run(job, environment)
  for _, plain in ipairs{false, true} do
    environment.OCLGRIND_BUILD_OPTIONS = oclgrind.build_options(not plain)
    local list, reason = oclgrind.run(job, SECONDS,
      {environment = environment})
    if reason == "time" then
      cl.error(("access: the simulator took more than %d s"):format(SECONDS),
        {hint = "take a smaller problem"})
    elseif not list then
      cl.error("access: the simulator failed: " .. reason)
    elseif plain or not list[1].lacks then
      return list[1], plain
    end
  end
end

--- trace.run(launch, args, warp, groups) -> table
--- Runs a launch with the packed list of its arguments on the simulator. The
--- result: kernel, global, localsize, groups, looked (the number of groups
--- simulated), warps, instructions, lost, copied, plain (compiled without
--- optimization), sites (each with its requests), branches, and source(file,
--- line), the text of a line.
function M.run(launch, args, warp, groups)
  if groups ~= nil and groups ~= "all"
      and (math.type(groups) ~= "integer" or groups < 1) then
    cl.error(("access: groups must be an integer >= 1 or \"all\"; got %s")
      :format(text.got(groups)), {arg = "groups"})
  end
  local plugin, missing, remedy = M.plugin()
  if not plugin then
    cl.error("access: " .. missing, {hint = remedy})
  end
  local job = jobs.new "access"
  local added = jobs.add(job, launch, args)
  local path <const>, _ <close> = file.temporary ".trace"
  local result, plain = run(job, {
    OCLGRIND_PLUGINS = plugin, OCLGRIND_DATA_RACES = "0",
    OCLGRIND_UNINITIALIZED = "0", CLSHELL_TRACE = path,
    CLSHELL_WARP = tostring(warp), CLSHELL_GROUPS = groups == "all"
      and "4294967295" or tostring(groups or 0),
  })
  if result.error then
    local reason, hint = oclgrind.reason(job, added, result)
    cl.error(("access: %s: %s"):format(added.kernel, reason), {hint = hint})
  end
  local found = {kernel = added.kernel, global = added.global, sites = {},
    branches = {}, plain = plain}
  for line in io.lines(path) do
    local kind, rest = line:match "^([%a]+) ?(.*)$"
    read[kind](found, rest)
  end
  if not found.whole then
    cl.error("access: the simulator ended without a result")
  end
  local lines = source_lines(job.programs[1].source)
  function found.source(name, n)
    return lines[name .. ":" .. n] or lines[":" .. n]
  end
  return found
end

return M
