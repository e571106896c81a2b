-- shell/commands/tune_script.lua - `clshell tune script.lua`: runs a script
-- whose searches take their limits from the command line, and prints their
-- results
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local demand = require "clshell.tune.demand"
local output = require "clshell.results.output"
local script = require "clshell.base.script"

local M = {}

local OK, FAILED = 0, 1 -- exit codes

-- Options of the command line that stand above those of the script's calls.
local LIMITS = {"seconds", "evaluations", "strategy", "seed", "fresh",
  "limit", "builders"}

-- Takes the results of searches, and prints the text of each that the script
-- has not asked for, before the next search or at the end of the script.
local Reader = {}
Reader.__index = Reader

function Reader:flush()
  local last = self.last
  if last and not require("clshell.tune.result").shown(last) then
    self.out:say(tostring(last))
  end
  self.last = nil
end

function Reader:take(result)
  self:flush()
  self.last = result
  local best = result.winners[1]
  if not best then
    self.code = FAILED
  elseif best.record then
    self.out:add(best.record)
  end
end

--- tune_script.run(path, args, o, parser) -> exit code
--- Runs the script of a path with arguments, for the options o of the command
--- tune. The exit code is 1 where a search found no configuration that ran.
function M.run(path, args, o, parser)
  local found, missing = script.find(path)
  local f, message = loadfile(found or path)
  if not found then
    cl.error("cannot open " .. missing)
  elseif not f then
    error(message, 0)
  end
  local out <close> = output.open(parser, o)
  out:mute(o.serves)
  local reader = setmetatable({out = out, code = OK}, Reader)
  local limits = {}
  for _, name in ipairs(LIMITS) do
    limits[name] = o[name]
  end
  if o.no_worker then
    limits.worker = false
  end
  limits.ranks = o.ranks or nil
  if o.resume then
    limits.fresh = false
  end
  local _ <close> = demand.set(limits, function(result)
    reader:take(result)
  end)
  o.scripted = true
  script.call(found, f, table.unpack(args))
  reader:flush()
  return reader.code
end

return M
