-- init.lua - require "clshell": the names that the prompt and scripts have
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lazy = require "clshell.base.lazy" -- first: it loads the others
local families = require "clshell.ladder.families"
local public = require "clshell.public"
local require = require

local names = {cl = cl}

for _, name in ipairs{"matrix", "dia", "csr", "gemm", "spmv", "transpose",
    "reduce", "scan", "sort", "gemv", "stencil", "conv2d", "bench", "peaks",
    "help", "compare", "roofline", "lesson", "calibrate", "tune", "check",
    "access", "course", "occupancy", "family"} do
  names[name] = lazy.module(public.module(name))
  package.loaded["clshell." .. name] = names[name]
end

-- What the engine of the ladders has from the rooms above it.
for _, name in ipairs{"gemm", "spmv", "transpose", "reduce", "scan", "sort",
    "gemv", "stencil", "conv2d"} do
  families.offer(name, names[name])
end
families.extend({"bench", "keep"}, function()
  return require "clshell.measure.bench".of_families
end)
families.extend({"out_of_core"}, function()
  return require "clshell.parts.out_of_core"
end, "gemm")
function families.format(...)
  return require "clshell.results.report".format(...)
end

cl.extend("Buffer", {"max_diff", "pad", "save", "sub", "summary",
  "transposed"}, function()
  lazy.load(names.matrix)
end)
local array = require "clshell.arrays.names"
local function load_array()
  require "clshell.arrays"
end
cl.extend("Buffer", array.methods, load_array)
cl.extend("Array", array.host, load_array)
debug.getregistry()["cl.setarray"] = function(h, value)
  load_array()
  require "clshell.arrays.expression".methods.set(h, value)
end
debug.getregistry()["cl.words"] = function(class, key)
  return require "clshell.arrays.words"(class, key)
end
debug.getregistry()["cl.copyway"] = function(...)
  return require "clshell.parts.copy_route".between(...)
end
for _, name in ipairs(array.cl) do
  cl[name] = function(...)
    load_array()
    return cl[name](...)
  end
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
if (os.getenv "CLSHELL_MEMCHECK" or "") ~= "" then
  require "clshell.explain.memcheck".begin()
end
cl.kernel_folder(cl.home .. "/kernels")
debug.getregistry()["cl.nodriver"] = "for a CPU device install PoCL (Debian: "
  .. "apt install pocl-opencl-icd), for a GPU its vendor's driver; "
  .. "clshell --doctor tells why there is none"
cl.explain_build(function(e)
  require "clshell.errors.build_error".explain(e)
end)
cl.translate_cuda(function(source, device, options)
  return require "clshell.cuda".translate(source, {options = options,
    has = function(name)
      return device:has(name)
    end})
end)

-- By its short name alone, and none of a package of Lua's of that name.
package.preload.mpi = function()
  return require "clshell.parts.mpi"
end

-- The run store, charts and exports are loaded when they are first needed.
for _, name in ipairs{"history", "best", "prune"} do
  names[name] = function(...)
    return require "clshell.results.runs"[name](...)
  end
end

function names.results(list)
  return require "clshell.results.result_list".new(list)
end

-- Documented in shell/prompt/commands.lua, as %time is the same.
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
