-- explain/trace.lua - runs a launch on the simulator with the plugin of
-- src/sim/trace.cpp, and reads the requests of its warps
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local file = require "clshell.base.file"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local text = require "clshell.base.text"
local user_source = require "clshell.errors.user_source"

local M = {}

local SECONDS = 120 -- the limit of a launch

M.plugin = oclgrind.plugin

-- "file:line" -> text, for the lines of a source as its #line lines tell.
local function source_lines(source)
  local lines, first = {}, nil
  for _, line in ipairs(user_source.numbered(source)) do
    local name = line.file or ""
    if not line.directive then
      first = first or name
      lines[name .. ":" .. line.line] = line.text
      local key = ":" .. line.line
      lines[key] = lines[key] or name == first and line.text or nil
    end
  end
  return lines
end

-- The table that the plugin has written, with the lanes and the addresses of
-- each request as lists; nil where the plugin did not end.
local function read(path)
  local made = loadfile(path, "t", {})
  local found = made and made()
  for _, site in ipairs(found and found.sites or {}) do
    for _, r in ipairs(site.requests) do
      r.lanes, r.at = {}, {}
      for i = 1, #r, 2 do
        table.insert(r.lanes, r[i])
        table.insert(r.at, r[i + 1])
      end
    end
  end
  return found
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
    argument.refuse("access", "groups", "must be an integer >= 1 or \"all\"; "
      .. "got %s", text.got(groups))
  end
  local plugin, missing, remedy = oclgrind.plugin()
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
  oclgrind.demand(job, result)
  local lines = source_lines(job.programs[1].source)
  local found = read(path)
    or cl.error("access: the simulator ended without a result")
  found.kernel, found.global, found.plain = added.kernel, added.global, plain
  function found.source(name, n)
    return lines[name .. ":" .. n] or lines[":" .. n]
  end
  return found
end

return M
