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

-- The values and functions that module cl asks of Lua: see src/cl/hook.c.
local hooks = debug.getregistry()["cl.hooks"]

-- The functions that a table or a class has from a room, often a room above
-- its own: who has them, their names, the room's module, and the name there
-- where it differs. The first call loads the module.
for _, given in ipairs{
  {families.methods.all, "bench", "measure.bench", "bench_of"},
  {families.methods.all, "keep", "measure.bench", "keep_of"},
  {families.methods.gemm, "out_of_core", "parts.out_of_core"},
  {"Buffer", "max_diff pad save sub summary transposed", "data.matrix"},
  {"Device", "sensors", "measure.sensors"},
  {"Program", "asm", "ladder.asm"},
  {"Program", "struct", "data.struct"},
  {cl, "struct", "data.struct"},
  {cl, "each split", "parts.split"},
  {lazy.above, "text_of", "results.record_text", "text"},
  {lazy.above, "keep_run", "results.store", "keep"},
  {lazy.above, "compare_runs", "results.runs", "compare"},
  {names, "history best prune", "results.runs"},
  {names, "results", "results.result_list", "new"},
  -- documented in shell/prompt/commands.lua, as %time is the same function
  {names, "time", "shell.prompt.measure"},
  {names, "show", "shell.prompt.show"},
  {hooks, "set_array", "arrays.evaluate", "set"},
  {hooks, "building", "base.progress", "building"},
  {hooks, "copy_way", "parts.copy_route", "between"},
} do
  local who, list, module, name = table.unpack(given)
  lazy.give(who, list, "clshell." .. module, name)
end
if (os.getenv "CLSHELL_MEMCHECK" or "") ~= "" then
  require "clshell.explain.memcheck".begin()
end
if cl.commandline and cl.commandline.as then
  local known, message = pcall(require "clshell.base.gpus".pretend,
    cl.commandline.as)
  if not known then
    io.stderr:write(("clshell: %s\n"):format(
      tostring(message):match "%-%-as: .*"))
    os.exit(2, true)
  end
end
cl.kernel_folder(cl.home .. "/kernels")

hooks.library = debug.getinfo(1, "S").source:match "^(.-)[^/]*$"
hooks.no_driver = "for a CPU device install PoCL (Debian: apt install "
  .. "pocl-opencl-icd), for a GPU its vendor's driver; clshell --doctor tells "
  .. "why there is none"
hooks.no_device = "take one of these with -d, CLSHELL_DEVICE or %device; "
  .. "clshell --doctor tells why another is missing"

hooks.word = require "clshell.arrays.method_names".of_numpy

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

for name, value in pairs(names) do
  _G[name] = value
end

if cl.commandline and cl.commandline.trace then
  local known, message = pcall(names.timeline.begin, cl.commandline.trace)
  if not known then
    io.stderr:write(("clshell: --trace: %s\n"):format(
      tostring(message):match "cannot.*" or message))
    os.exit(2, true)
  end
end

return names
