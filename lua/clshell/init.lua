-- init.lua - require "clshell": the names that the prompt and scripts have
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lazy = require "clshell.base.lazy" -- finds the modules after it
local families = require "clshell.ladder.families"
local require = require

local names = {cl = cl}
lazy.session = names

lazy.publish(require "clshell.public")

for _, name in ipairs(lazy.public.session) do
  local full = lazy.public.module(name)
  names[name] = lazy.module(full)
  package.loaded["clshell." .. name] = names[name]
  if full:find "^clshell%.ladders%." then
    families.offer(name, names[name])
  end
end

-- The engine of the ladders has these functions from the rooms above it.
families.extend({"bench", "keep"}, function()
  return require "clshell.measure.bench".of_families
end)
families.extend({"out_of_core"}, function()
  return require "clshell.parts.out_of_core"
end, "gemm")

cl.extend("Buffer", {"max_diff", "pad", "save", "sub", "summary",
  "transposed"}, function()
  lazy.load(names.matrix)
end)
local array = require "clshell.arrays.method_names"
for file, load in pairs{
  evaluate = function() require "clshell.arrays.evaluate" end,
  gather = function() require "clshell.arrays.gather" end,
  map = function() require "clshell.arrays.map" end,
  random = function() require "clshell.arrays.random" end,
  scans = function() require "clshell.arrays.scans" end,
  sequences = function() require "clshell.arrays.sequences" end,
  sorting = function() require "clshell.arrays.sorting" end,
  totals = function() require "clshell.arrays.totals" end,
  variance = function() require "clshell.arrays.variance" end,
  views = function() require "clshell.arrays.views" end,
} do
  array.announce(file, load)
end
function cl.struct(...)
  return require "clshell.data.struct"(...)
end
for _, name in ipairs{"each", "split"} do
  cl[name] = function(...)
    require "clshell.parts.split"
    return cl[name](...)
  end
end
cl.extend("Program", {"asm"}, function()
  require "clshell.ladder.asm"
end)
cl.extend("Program", {"struct"}, function()
  require "clshell.data.struct"
end)
if (os.getenv "CLSHELL_MEMCHECK" or "") ~= "" then
  require "clshell.explain.memcheck".begin()
end
cl.kernel_folder(cl.home .. "/kernels")

-- The values and functions that module cl asks of Lua: see src/cl/hook.c.
local hooks = debug.getregistry()["cl.hooks"]
hooks.library = debug.getinfo(1, "S").source:match "^(.-)[^/]*$"
hooks.no_driver = "for a CPU device install PoCL (Debian: apt install "
  .. "pocl-opencl-icd), for a GPU its vendor's driver; clshell --doctor tells "
  .. "why there is none"

hooks.word = array.of_numpy

function hooks.set_array(h, value)
  require "clshell.arrays.evaluate".set(h, value)
end

function hooks.copy_way(...)
  return require "clshell.parts.copy_route".between(...)
end

function hooks.give_up()
  local plans = package.loaded["clshell.ladder.plan"]
  if plans then
    plans.give_up()
  end
end

cl.explain_build(function(e)
  require "clshell.errors.build_error".explain(e)
end)
cl.translate_cuda(function(source, device, options)
  return require "clshell.cuda".translate(source, {options = options,
    has = function(name)
      return device:has(name)
    end})
end)

-- require "mpi" loads this module, and no other Lua package of that name.
package.preload.mpi = function()
  return require "clshell.parts.mpi"
end

-- The run store, charts and exports are loaded when they are first needed.
for _, name in ipairs{"history", "best", "prune"} do
  names[name] = function(...)
    return require "clshell.results.runs"[name](...)
  end
end

-- Functions by which measurements reach the rooms above: `finished` keeps a
-- finished result of bench, `compare` compares kept runs or results.
package.preload["clshell.measure.handover"] = function()
  return {
    finished = function(r)
      require "clshell.results.record_text".give(r)
      require "clshell.results.store".keep(r)
    end,
    compare = function(...)
      return require "clshell.results.runs".compare(...)
    end,
  }
end

function names.results(list)
  return require "clshell.results.result_list".new(list)
end

-- Documented in shell/prompt/commands.lua, as %time is the same function.
function names.time(...)
  return require "clshell.shell.prompt.measure".time(...)
end

function names.show(...)
  return require "clshell.shell.prompt.show"(...)
end

for name, value in pairs(names) do
  _G[name] = value
end

return names
