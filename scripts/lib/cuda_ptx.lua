-- lib/cuda_ptx.lua - the PTX text that NVIDIA's driver makes of OpenCL, edited
-- for CUDA's driver, for bench_access.lua
-- SPDX-License-Identifier: MIT

-- cuda_ptx(text, kernel, name) -> text, or nil and the reason
-- The text of a program as CUDA's driver takes it, its kernel called `name`
-- there. It removes the marks of memory at the parameters. Registers that
-- only OpenCL's driver sets become their values in a launch without an
-- offset: 0 for the offsets (%envreg0 to 5), %nctaid for the number of groups
-- (6 to 8).
return function(text, kernel, name)
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
