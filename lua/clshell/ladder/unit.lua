-- ladder/unit.lua - the arithmetic unit of a kernel: fused multiply-adds, or
-- the tensor cores for operands of a type. Each unit has a roof of its own.
-- SPDX-License-Identifier: MIT

local file = require "clshell.base.file"
local rung = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local M = {}

local NAMES = text.set(rung.UNITS)
local FMA = text.set "float double half char"

-- The types in an instruction's name, the fastest unit first: where a kernel
-- has several, the roof of the fastest holds.
local TYPES = {
  {"[._][us]4%f[^%w]", "tensor"}, {"[._]e[45]m[23]%f[^%w]", "tensor"},
  {"[._]b1%f[^%w]", "tensor"}, {"[._][us]8%f[^%w]", "tensor_char"},
  {"bf16", "tensor_half"},
  {"f16", "tensor_half"}, {"tf32", "tensor_tf32"}, {"f64", "tensor_double"},
}

-- Texts by which kernels of other vendors are told.
local OTHERS = {"__builtin_amdgcn_mfma_", "__builtin_amdgcn_wmma_",
  "_matrix_mad_k", "__spirv_JointMatrixMad", "v_mfma_", "v_wmma_"}

-- A source without its comments, except those that ptx.lua makes instructions.
local function without_comments(source)
  local s = source:gsub("\\\n", ""):gsub("/%*.-%*/", " ")
  return (s:gsub("//[^\n]*", function(comment)
    return comment:sub(1, 5) ~= "//PTX" and "" or nil
  end))
end

--- unit.of_text(code) -> name
--- The unit that a text of PTX, or of OpenCL C with inline PTX, computes with.
--- Example: print(require "clshell.ladder.unit".of_text "x = fma(a, b, x);")
function M.of_text(code)
  local found = {}
  for before, name in code:gmatch "([%w_.:]*)mma[._]([%w_.:]+)" do
    local wide = before:find "wmma%.$" ~= nil
    if name:find "^sync" or name:find "^sp" or name:find "^async" then
      local unit = wide and "tensor_half" or "tensor"
      for _, pair in ipairs(TYPES) do
        if name:find(pair[1]) then
          unit = pair[2]
          break
        end
      end
      found[unit] = true
    end
  end
  for _, other in ipairs(OTHERS) do
    found.tensor = found.tensor or code:find(other, 1, true) ~= nil
  end
  for _, name in ipairs{"tensor", "tensor_char", "tensor_half", "tensor_tf32",
      "tensor_double"} do
    if found[name] then
      return name
    end
  end
  return "fma"
end

-- The part of a PTX text that belongs to a kernel; the whole text where the
-- kernel's head is not found, as functions may lie elsewhere.
local function entry(ptx, name)
  local _, at = ptx:find("%.entry%s+" .. name .. "%f[^%w_]")
  local stop = at and ptx:find(".entry", at, true)
  local part = at and ptx:sub(at, stop)
  return part and not part:find("call", 1, true) and part or ptx
end

-- The texts of a program's source and of the files that it includes.
local function source_of(program)
  local parts = {program.source}
  for _, path in ipairs(program:info().files or {}) do
    parts[#parts + 1] = file.read(path)
  end
  return without_comments(table.concat(parts, "\n"))
end

local known = setmetatable({}, {__mode = "k"}) -- program -> kernel -> unit

--- unit.of_kernel(kernel) -> name
--- The unit of a built kernel: by its PTX where the driver keeps that, else by
--- its source with the included files. "fma" where neither is to be had.
function M.of_kernel(kernel)
  local program, name = kernel.program, kernel.name
  local units = known[program] or {}
  known[program] = units
  if not units[name] then
    local ok, binary = pcall(program.binary, program, {raw = true})
    local ptx = ok and not binary:find "[^%g%s\0]"
    local code = ptx and entry(binary, name)
    if not code then
      ok, code = pcall(source_of, program)
      code = ok and code or ""
    end
    units[name] = M.of_text(code)
  end
  return units[name]
end

--- unit.roof(r) -> name or nil
--- The name of the peak that bounds the arithmetic of a result.
function M.roof(r)
  local unit, type = r.unit or "fma", r.type or "float"
  if unit == "fma" then
    return FMA[type] and "fma_" .. type or nil
  end
  return unit ~= "tensor" and NAMES[unit] and unit or nil
end

--- unit.peak(r) -> name, FLOP; or nil
--- The peak that bounds the arithmetic of a result with FLOP, and the FLOP of
--- the unit: a product made of three products is three times the work.
function M.peak(r)
  local name = r.flop and r.flop > 0 and M.roof(r)
  if name then
    return name, r.flop * (r.products or 1)
  end
end

--- unit.words(peak) -> string
--- A peak's name in words: "multiply-adds in float".
function M.words(peak)
  local tensor = peak:match "^tensor_(.+)"
  return tensor and "the tensor cores in " .. tensor
    or "multiply-adds in " .. peak:match "_(.+)"
end

return M
