-- family/ptx.lua - instructions of sm_90a, such as wgmma, in OpenCL programs
-- NVIDIA's compiler names .target sm_90, on which it refuses wgmma, but its
-- "binary" is PTX text and may be edited. So a kernel marks such instructions
-- as comments, asm volatile("//PTX wgmma..."), which all stages of the
-- compiler carry along with their registers filled in; the edit here makes
-- instructions of them and .target sm_90a of the target.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

--- ptx.edit(text) -> text, or nil and the reason
--- The text of a program with its instructions marked "//PTX " in force.
function M.edit(text)
  if not (text:find("%.version%s+%d") and text:find("%.target%s+sm_")) then
    return nil, "the driver's binary is no PTX text"
  end
  local own = text:match "%.target%s+(sm_%w+)"
  if own ~= "sm_90" and own ~= "sm_90a" then
    return nil, ("needs compute capability 9.0 (sm_90), the driver compiles "
      .. "for %s"):format(own)
  end
  text = text:gsub("(%.target%s+)sm_90%f[%W]", "%1sm_90a", 1)
  local edited, n = text:gsub("//PTX ([^\r\n]*)", "%1")
  if n == 0 then
    return nil, "the driver's compiler drops the comments that mark the "
      .. "instructions of sm_90a"
  end
  return edited
end

--- ptx.rebuild(program, opts) -> Program, or nil and the reason
--- The program of a program built from such source; opts as for
--- cl.build_binary. A driver that refuses it raises.
function M.rebuild(program, opts)
  local edited, reason = M.edit(program:binary{raw = true})
  if edited == nil then
    return nil, reason
  end
  return cl.build_binary(edited, {raw = true, options = opts.options,
    name = opts.name, context = opts.context})
end

return M
