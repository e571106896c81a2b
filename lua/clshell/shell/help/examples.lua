-- shell/help/examples.lua - runs examples of help, each in an environment of
-- its own, many in one process: for the tests, and for the pages that show
-- what an example printed
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local index = require "clshell.shell.help.index"
local quote = require("clshell.base.text").quote

local M = {}

-- The process of the examples, behind the table `jobs`: each prints its
-- output, the SVG of the charts that it printed, and a line with its verdict.
local RUNNER = [==[
arg = {[0] = "example.lua"}
local env
for _, job in ipairs(jobs) do
  local function show(...)
    local list = table.pack(...)
    for i = 1, list.n do
      local drawn, svg = pcall(function(chart) return chart:svg() end, list[i])
      list[i] = tostring(list[i])
      if drawn then
        svg = tostring(svg)
        io.write("\n@chart ", #svg, "\n", svg, "\n")
      end
    end
    io.write(table.concat(list, " "), "\n")
  end
  env = job.follows and env or setmetatable({print = show}, {__index = _G})
  env.print = show
  local f, err = load(job.code, "=" .. job.name, "t", env)
  local ok = f ~= nil
  if ok then
    ok, err = xpcall(f, function(e) return debug.traceback(tostring(e)) end)
  end
  io.write("\n@", job.name, " ", ok and "ok" or "failed: " .. tostring(err),
    "\n")
  collectgarbage()
end]==]

-- Takes the charts out of an output.
local function take_charts(output)
  local charts, at = {}, 1
  local parts = {}
  while true do
    local first, last, n = output:find("\n@chart (%d+)\n", at)
    parts[#parts + 1] = output:sub(at, (first or 0) - 1)
    if not first then
      return table.concat(parts), charts
    end
    charts[#charts + 1] = output:sub(last + 1, last + tonumber(n))
    at = last + tonumber(n) + 2
  end
end

-- The first line behind --> in the code that the output lacks, in the order of
-- the code; nil where none lacks.
local function missing(code, output)
  local at = 1
  output = "\n" .. output .. "\n"
  for want in code:gmatch "%-%->%s*([^\n]*)" do
    local _, last = output:find("\n" .. want .. "\n", at, true)
    if not last then
      return want
    end
    at = last
  end
end

--- examples.start(jobs [, opts]) -> finish
--- Starts a process that runs `jobs`, a list of {name =, code =}, each in an
--- environment of its own or, with `follows`, of the job before. finish()
--- waits and sets of each `output`, `charts` (SVG texts that it printed) and,
--- where it failed or did not print a line that its code has behind -->,
--- `failure`.
--- Options:
---   prelude      ""     Lua that runs first
---   environment  ""     variables of the process, as words of the shell
---   exe          this program  another one
function M.start(jobs, opts)
  opts = opts or {}
  local script = file.temporary ".lua" -- the shell below removes it
  local folder = script .. ".d"
  local exe = opts.exe or cl.commandline.program
  local code = {"local jobs = {}\n"}
  for _, job in ipairs(jobs) do
    code[#code + 1] = ("jobs[#jobs + 1] = {name = %q, code = %q, "
      .. "follows = %s}\n"):format(job.name, job.code, job.follows)
  end
  file.write(script, table.concat(code) .. (opts.prelude or "") .. "\n"
    .. RUNNER, "the examples")
  local pipe = assert(io.popen(("trap 'rm -rf \"$d\" \"$s\"' EXIT; trap "
    .. "'exit 130' INT TERM; s=%s d=%s; mkdir \"$d\" && cd \"$d\" && env "
    .. "CLSHELL_HOME=%s "
    .. "CLSHELL_STORE=$PWD/runs.db XDG_STATE_HOME=$PWD "
    .. "XDG_CONFIG_HOME=$PWD COLUMNS=80 %s %s -q \"$s\" 2>&1"):format(
    quote(script), quote(folder), quote(cl.home), opts.environment or "",
    quote(exe))))
  return function()
    local rest = pipe:read "a"
    local ended, how, status = pipe:close()
    for _, job in ipairs(jobs) do
      local first, last = rest:find("\n@" .. job.name .. " ", 1, true)
      job.output, job.charts = take_charts(rest:sub(1, (first or 0) - 1))
      local verdict = first and rest:sub(last + 1):match "^[^\n]*"
        or "did not end"
      local lacks = first and missing(job.code, job.output)
      if verdict ~= "ok" then
        job.failure = (first and "" or verdict .. "\n")
          .. rest:sub((last or 0) + 1, (last or 0) + 2000)
      elseif lacks then
        job.failure = ("did not print '%s' but:\n%s"):format(lacks, job.output)
      elseif not ended and job == jobs[#jobs] then
        job.failure = ("its process: %s %s\n%s"):format(how, status, rest)
      end
      rest = first and rest:sub(last + 1 + #verdict + 1) or rest
    end
  end
end

local IMAGES = {["cl.image"] = true, ["cl.sampler"] = true}
local SIMULATED = {access = true, Access = true}

--- examples.of_mpi(name) -> boolean
--- Whether the example of a function needs module mpi.
function M.of_mpi(name)
  return name:find "^mpi%." or name:find "^Request:" or name:find "^[rR]anks"
end

--- examples.groups() -> list of lists of {name =, code =}
--- The examples of all functions, each once, by the name before the dot, the
--- `name` of a list; `skip` of a list tells why this machine cannot run it.
function M.groups()
  local groups, seen = {}, {}
  local images = cl.device().image_support
  local built_mpi = require "clshell.parts.mpi.library".version()
  for _, entry in ipairs(index.entries()) do
    local code, name = entry.example, entry.name
    if code and not seen[code] then
      seen[code] = true
      local group = entry.minor and "cl types" or name:match "^(.*)[.:]"
        or name
      local image = IMAGES[name] or group == "Image"
      local skip = M.of_mpi(name) and not built_mpi and "needs module mpi"
        or image and not images and "needs a device with images"
        or SIMULATED[group] and not require "clshell.explain.trace".plugin()
        and "needs the simulator" or nil
      group = group .. (skip and " " or "")
      if not groups[group] then
        groups[group] = {name = group, skip = skip}
        groups[#groups + 1] = groups[group]
      end
      table.insert(groups[group], {name = name, code = code})
    end
  end
  return groups
end

return M
