-- ladder/ptx.lua - edits of the PTX text that NVIDIA's driver makes of OpenCL:
-- for CUDA's driver, and for instructions of sm_90a in OpenCL programs.
-- NVIDIA's compiler names .target sm_90, on which it refuses wgmma, but its
-- "binary" is PTX text and may be edited. So a kernel marks such instructions
-- as comments, asm volatile("//PTX wgmma..."), which all stages of the
-- compiler carry along with their registers filled in; the edit here makes
-- instructions of them and .target sm_90a of the target.
-- The compiler also refuses local arrays of more than 48 KiB, which is a limit
-- of this OpenCL and not of the GPU. So a kernel declares a small array and
-- marks the bytes that it is to have: asm volatile("//PTX local tiles, %0;" ::
-- "n"(196608)).
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local gpus = require "clshell.base.gpus"

local M = {}

--- ptx.local_limit(dev) -> bytes
--- The local memory that a work-group of an edited program may have: on NVIDIA
--- GPUs the most that the compute capability gives a group on demand,
--- elsewhere the limit that the device tells.
function M.local_limit(dev)
  local major = dev.nv_compute_capability_major
  local unit = major and gpus.nvidia(("%d.%d"):format(major,
    dev.nv_compute_capability_minor or 0))
  return unit and math.max(unit.most_local, dev.local_mem_size)
    or dev.local_mem_size
end

-- The text with local arrays of the sizes that its marks demand, or nil and
-- the reason.
local function enlarge(text)
  local sizes, reason = {}, nil
  text = text:gsub("//PTX local ([%w_]+), (%d+);", function(name, bytes)
    sizes[name] = bytes
    return ""
  end)
  for name, bytes in pairs(sizes) do
    local n
    text, n = text:gsub("(%.shared[^\n]-%f[%w]" .. name .. "%[)%d+(%])",
      "%1" .. bytes .. "%2")
    if n ~= 1 then
      reason = ("the driver's compiler has %d local arrays called '%s', the "
        .. "kernel one"):format(n, name)
    end
  end
  return not reason and text or nil, reason
end

--- ptx.edit(text) -> text, or nil and the reason
--- The text of a program, with its comments "//PTX " made instructions.
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
  if not text:find("//PTX ", 1, true) then
    return nil, "the driver's compiler drops the comments that mark the "
      .. "instructions of sm_90a"
  end
  local edited, reason = enlarge(text)
  if edited == nil then
    return nil, reason
  end
  return (edited:gsub("//PTX ([^\r\n]*)", "%1"))
end

--- ptx.rebuild(program, opts) -> Program, or nil and the reason
--- Builds a new program from the edited PTX of a program whose source has such
--- comments; opts as for cl.build_binary. Raises where the driver refuses it.
function M.rebuild(program, opts)
  local edited, reason = M.edit(program:binary{raw = true})
  if edited == nil then
    return nil, reason
  end
  return cl.build_binary(edited, {raw = true, options = opts.options,
    name = opts.name, context = opts.context,
    local_mem = M.local_limit(opts.context.device)})
end

--- ptx.for_cuda(text, kernel, name [, locals]) -> text, or nil and the reason
--- The text of a program as CUDA's driver takes it, its kernel called `name`
--- there, without the marks of memory at the parameters. Registers that only
--- OpenCL's driver sets become their values in a launch without an offset: 0
--- for the offsets (%envreg0 to 5), %nctaid for the number of groups (6 to 8).
--- `locals`: the offsets in dynamic shared memory of the parameters, counted
--- from 0, that are local memory; CUDA has no such parameters.
function M.for_cuda(text, kernel, name, locals)
  local entry = text:match("%.entry%s+" .. kernel .. "%s*%b()")
  if not entry then
    return nil, "the driver's binary is no PTX text"
  end
  for space, _, number in entry:gmatch(
      "%.ptr%s+%.([cs]%a+)%s*%.align%s+(%d+)%s+[%w_$]-_param_(%d+)") do
    if space == "const" or not (locals and locals[tonumber(number)]) then
      return nil, ("CUDA passes no pointers to %s memory"):format(space)
    end
  end
  for digits in text:gmatch "%%envreg(%d+)" do
    if tonumber(digits) > 8 then
      return nil, "only OpenCL's driver sets %envreg" .. digits
    end
  end
  for number, offset in pairs(locals or {}) do
    local load = ("ld%%.param(%%.%%w+)(%%s+%%%%%%w+,%%s*)%%[%s_param_%d%%]")
      :format(kernel, number)
    text = text:gsub(load, "mov%1%2clshell_local+" .. offset)
  end
  if locals and next(locals) ~= nil then
    text = text:gsub("(%.address_size%s+%d+)",
      "%1\n.extern .shared .align 16 .b8 clshell_local[];", 1)
  end
  text = text:gsub("%.ptr%s+%.%a+%s+%.align%s+%d+", "")
    :gsub(",%s*texmode_independent", "", 1)
    :gsub("(%.entry%s+)" .. kernel .. "%f[^%w_]", "%1" .. name)
    :gsub("%%envreg[0-5]", "0")
    :gsub("%%envreg([678])", {["6"] = "%nctaid.x", ["7"] = "%nctaid.y",
      ["8"] = "%nctaid.z"})
  return text
end

return M
