-- array/names.lua - the names that the room adds to module cl and to its
-- Buffers: a session has them from its start, and loads the room at the first
-- use of one of them
-- SPDX-License-Identifier: MIT

local M = {}

local function words(s)
  local list = {}
  for word in s:gmatch "%S+" do
    list[#list + 1] = word
  end
  return list
end

--- names.cl
--- Functions of module cl.
M.cl = words "arange concatenate linspace map stack"

--- names.operators
--- The metamethods of Buffers and Expressions.
M.operators = words [[__add __sub __mul __div __idiv __mod __pow __unm __band
  __bor __bxor __bnot __shl __shr __lt __le]]

--- names.math
--- OpenCL's functions of reals, by the number of their operands: those that
--- give reals. names.tests: those that give 0 or 1.
M.math = {
  words [[acos acosh acospi asin asinh asinpi atan atanh atanpi cbrt ceil cos
    cosh cospi degrees erf erfc exp exp10 exp2 expm1 floor lgamma log log10
    log1p log2 logb radians rint round rsqrt sign sin sinh sinpi sqrt tan tanh
    tanpi tgamma trunc]],
  words [[atan2 atan2pi copysign fdim fmod hypot maxmag minmag nextafter powr
    remainder step]],
  words "fma mad mix smoothstep",
}
M.tests = words "isfinite isinf isnan isnormal signbit"

--- names.compare
--- The methods that compare elements, and the sign of each in OpenCL C.
M.compare = {eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">="}

--- names.methods
--- All methods and operators of Buffers.
M.methods = words [[abs astype axpy clamp clone diagonal max min set shift
  slice tile transpose where]]

for _, list in ipairs{M.operators, M.math[1], M.math[2], M.math[3],
    M.tests} do
  table.move(list, 1, #list, #M.methods + 1, M.methods)
end
for name in pairs(M.compare) do
  M.methods[#M.methods + 1] = name
end

return M
