-- cuda/init.lua - CUDA's kernels, built as OpenCL C: require "clshell.cuda"
-- words: the table of CUDA's words and the words here; translate: the text, by
-- lexer, parse and spaces (of pointers), declarations and names, on a
-- translation with its edits; notes; host: launches and calls of the host's
-- code as Lua.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local options = require "clshell.base.options"
local translate = require "clshell.cuda.translate"

local M = {}

--- cuda.translate(source [, opts]) -> info, or nil, log
--- Translates the kernels of a CUDA text into OpenCL C without building them:
--- `info.opencl`, `info.launches` (the launches as Lua) and `info.notes`
--- (other parts of the text, and the Lua for them), lists of {line, text}.
--- Lines keep their numbers. A text that OpenCL C cannot express gives nil and
--- the reasons. cl.build with cuda = true translates and builds.
--- Options:
---   options  none   of the build: "-cl-std=CL3.0" lets a pointer point
---                   into any memory
---   has      none   has(name): whether the device has an extension
--- Example:
--- local info = cuda.translate [[
--- __global__ void fill(float *x) { x[threadIdx.x] = 1; }
--- int main() { fill<<<2, 64>>>(x); }]]
--- print(info.launches[1].text) --> fill:range({2 * 64}, {64})(x)
--- print(info.opencl:match "%b()") --> (global float *x)
function M.translate(source, opts)
  argument.check("cuda.translate", "source", source, "string")
  opts = options.check(opts, "cuda.translate")
  for name, kind in pairs{options = "string", has = "function"} do
    if opts[name] ~= nil then
      argument.check("cuda.translate", name, opts[name], kind)
    end
  end
  return translate.run(source, opts)
end

return M
