-- family/ptx.lua - edits of the PTX text that NVIDIA's driver makes of OpenCL:
-- instructions of sm_90a in OpenCL programs, and kernels for CUDA's driver
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

--- ptx.for_cuda(text, kernel, name) -> text, or nil and the reason
--- The text of a program as CUDA's driver takes it, its kernel called `name`
--- there. Marks of memory at the parameters go. Registers that only OpenCL's
--- driver sets become what they hold in a launch without an offset: 0 for the
--- offsets (%envreg0 to 5), %nctaid for the number of groups (6 to 8).
function M.for_cuda(text, kernel, name)
  local entry = text:match("%.entry%s+" .. kernel .. "%s*%b()")
  if not entry then
    return nil, "the driver's binary is no PTX text"
  end
  local space = entry:match "%.ptr%s+%.([cs]%a+)"
  if space then
    return nil, ("CUDA passes no pointers to %s memory"):format(space)
  end
  for digits in text:gmatch "%%envreg(%d+)" do
    if tonumber(digits) > 8 then
      return nil, "only OpenCL's driver sets %envreg" .. digits
    end
  end
  text = text:gsub("%.ptr%s+%.global%s+%.align%s+%d+", "")
    :gsub(",%s*texmode_independent", "", 1)
    :gsub("(%.entry%s+)" .. kernel .. "%f[^%w_]", "%1" .. name)
    :gsub("%%envreg[0-5]", "0")
    :gsub("%%envreg([678])", {["6"] = "%nctaid.x", ["7"] = "%nctaid.y",
      ["8"] = "%nctaid.z"})
  return text
end

return M
