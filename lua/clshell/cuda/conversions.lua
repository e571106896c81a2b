-- cuda/conversions.lua - arguments and results that C++ converts to the types
-- of CUDA's functions, where OpenCL C takes another function or none; halves
-- in memory, and the formats of printf
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.cuda.cuda_tokens"
local set = require("clshell.base.text").set
local words = require "clshell.cuda.words"

local M = {}

-- The type of all arguments, and of the result where OpenCL C has another.
local SIGNATURES = {ldexpf = {"float", first = true}, labs = {"long"},
  llabs = {"long"}}
for line in ([[
float      __expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __powf
float      __fdividef __frcp_rn __fsqrt_rn __frsqrt_rn __fmaf_rn
float      __float_as_int __float_as_uint __float2int_rn __float2int_rz
float      __float2int_rd __float2int_ru
int        __mul24 __mulhi __int_as_float __int2float_rn
uint       __umul24 __umulhi __uint_as_float
double     __double_as_longlong
long       __longlong_as_double
int,int    __clz
uint,int   __popc
long,int   __clzll
ulong,int  __popcll
]]):gmatch "[^\n]+" do
  local type, result = line:match "^(%a+),?(%a*)"
  for word in line:gmatch "__%w+" do
    SIGNATURES[word] = {type, result = result ~= "" and result or nil}
  end
end

local QUALIFIERS = set [[const volatile static register __shared__ constexpr
  __restrict__ restrict signed]]
-- The names here of types in CUDA's words.
local TYPES = {["unsigned"] = "uint", ["unsigned int"] = "uint",
  ["unsigned char"] = "uchar", ["unsigned short"] = "ushort",
  ["unsigned long"] = "ulong", ["unsigned long long"] = "ulong",
  ["long long"] = "long", ["long int"] = "long", ["long long int"] = "long",
  ["signed char"] = "char", ["short int"] = "short", bool = "uchar",
  size_t = "ulong"}

--- conversions.type(text) -> string
--- A type of CUDA's by its name here: "unsigned char" is uchar.
function M.type(text)
  local entry = words.list[text]
  return TYPES[text] or entry and entry.kind == "word" and entry.here or text
end

-- The type of the variable `name`, of its elements or components.
local function type_of(t, fn, name)
  local s = fn and fn.symbols and fn.symbols[name] or t.globals[name]
  local list = {}
  for word in (s and s.type or ""):gmatch "[%w_]+" do
    list[#list + 1] = not QUALIFIERS[word] and word ~= name and word or nil
  end
  return (M.type(table.concat(list, " ")):gsub("%d$", ""))
end

local LITERALS = {float = "^[%d.]+[eE]?[+-]?%d*[fF]$", int = "^%d+$",
  uint = "^[%dxX%x]+[uU]$"}

-- Whether tokens i to j have the type `want` for certain.
local function certain(t, fn, tokens, i, j, want)
  local found = false
  while i <= j do
    local token, entry = tokens[i], words.list[tokens[i].text]
    local call = tokens[i + 1].text == "(" and tokens[i + 1].other
    local own = token.kind == "number" and token.text:find(LITERALS[want]
      or "^$") or token.kind == "name" and (token.text == want
      or call and entry and want == "float" and entry.kind == "float"
      or not call and type_of(t, fn, token.text) == want)
    found = found or own ~= nil and own ~= false
    local neutral = token.kind == "number" and token.text:find "^%d+$"
      or token.text:find "^[-+*/().]$"
    if token.text == "." or token.text == "->" then
      i = i + 1 -- a component's name
    elseif not own and not neutral and token.text ~= "[" then
      return false
    elseif call then
      i = call
    elseif token.text == "[" then
      i = token.other or j
    end
    i = i + 1
  end
  return found
end

--- conversions.arguments(t, tokens, i, fn)
--- Writes casts into the call of the word at token i, where arguments may have
--- another type than the word takes.
function M.arguments(t, tokens, i, fn)
  local text, open = tokens[i].text, i + 1
  local entry = words.list[text]
  local signature = SIGNATURES[text]
    or entry and entry.kind == "float" and {"float"}
  if not signature or not tokens[open].other then
    return
  end
  for n, range in ipairs(lexer.split(tokens, open + 1,
      tokens[open].other - 1)) do
    local first, last = tokens[range[1]], tokens[range[2]]
    if not (signature.first and n > 1)
        and not certain(t, fn, tokens, range[1], range[2], signature[1]) then
      local one = first == last and fn -- a macro's x may be a sum
      t:replace(first.first, first.first - 1, ("(%s)%s"):format(signature[1],
        one and "" or "("))
      if not one then
        t:replace(last.last + 1, last.last, ")")
      end
    end
  end
  return signature.result and ("(%s)"):format(signature.result)
end

-- The first token of what is set by the "=" at token i: o[i], *p or s->h.
local function target(tokens, i)
  local at = i - 1
  while tokens[at].text == "]" and tokens[at].other do
    at = tokens[at].other - 1
  end
  if tokens[at].kind ~= "name" then
    return nil
  elseif tokens[at - 1].text == "." or tokens[at - 1].text == "->" then
    return target(tokens, at - 1)
  elseif tokens[at - 1].text == "*" and tokens[at - 2].text:find "^[{};)]$"
  then
    return at - 1
  end
  return at
end

--- conversions.half(t, i)
--- Translates __half2float and __float2half at token i for a device that
--- calculates no halves: of halves in memory.
function M.half(t, i)
  local tokens, open = t.tokens, i + 1
  local close = tokens[open].text == "(" and tokens[open].other
  if close and tokens[i].text == "__half2float" then
    t:put(i, "vload_half")
    t:append(open, "0, &(")
    return t:insert(close, ")")
  end
  local first = close and tokens[i - 1].text == "="
    and tokens[close + 1].text == ";" and target(tokens, i - 1)
  if first then
    t.store_half = true
    t:insert(first, "cuda_store_half(&(")
    t:put(i - 1, "),")
    t:put(i, "")
    return t:append(close, ")")
  end
  t:problem(tokens[i], "CUDA: __float2half; here: vstore_half(x, i, p) into "
    .. "memory, as this device calculates no halves")
end

--- conversions.format(text) -> string
--- A format of printf with OpenCL's lengths: %lld is %ld, %zu %lu.
function M.format(text)
  return (text:gsub("%%([-+ #%d.*]*)([hlzjt]*)([%a%%])",
    function(flags, length, kind)
      if length == "ll" or length:find "^[zjt]$" then
        length = "l"
      end
      return "%" .. flags .. length .. kind
    end))
end

--- conversions.prelude(t) -> string
--- The functions that the translation's words need.
function M.prelude(t)
  local parts = {}
  local function abs(type, call)
    return ("static %s __attribute__((overloadable)) cuda_abs(%s x) { return "
      .. "%s(x); }\n"):format(type, type, call)
  end
  if t.abs then
    parts[1] = abs("int", "(int)abs") .. abs("long", "(long)abs")
      .. abs("float", "fabs") .. "#ifdef cl_khr_fp64\n"
      .. "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
      .. abs("double", "fabs") .. "#endif\n"
  end
  parts[#parts + 1] = t.store_half
    and "#define cuda_store_half(p, x) vstore_half(x, 0, p)\n" or nil
  parts[#parts + 1] = t.aligned
    and "typedef struct { ulong2 all; } cuda_shared;\n" or nil
  return table.concat(parts)
end

return M
