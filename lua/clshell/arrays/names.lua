-- arrays/names.lua - the names that the room adds to module cl and to its
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
M.cl = words "arange concatenate linspace map random stack"

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

--- names.integers
--- OpenCL's functions of integers, by the number of their operands.
M.integers = {words "clz popcount",
  words "add_sat hadd mul_hi rhadd rotate sub_sat"}

--- names.compare
--- The methods that compare elements, and the sign of each in OpenCL C.
M.compare = {eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">="}

--- names.totals
--- The methods that reduce Buffers and Arrays.
M.totals = words "all any argmax argmin dot max mean min nrm2 sum"

--- names.PAIRS
--- Remedies of min and max for two operands.
M.PAIRS = {
  max = "the greater of each two elements is x:fmax(y)",
  min = "the lesser of each two elements is x:fmin(y)",
}

--- names.methods
--- All methods and operators of Buffers; names.host: those of Arrays.
M.methods = words [[abs argsort astype axpy clamp clone diagonal fmax fmin set
  shift slice sort tile transpose where]]

for _, list in ipairs{M.operators, M.math[1], M.math[2], M.math[3], M.tests,
    M.integers[1], M.integers[2]} do
  table.move(list, 1, #list, #M.methods + 1, M.methods)
end
for name in pairs(M.compare) do
  M.methods[#M.methods + 1] = name
end

M.host = {}
for _, name in ipairs(M.methods) do
  M.host[#M.host + 1] = name ~= "set" and name or nil
end
table.move(M.totals, 1, #M.totals, #M.host + 1, M.host)
table.move(M.totals, 1, #M.totals, #M.methods + 1, M.methods)
for _, name in ipairs(words [[compact cumsum gather histogram reduce scan
    scatter std unique var]]) do
  M.methods[#M.methods + 1], M.host[#M.host + 1] = name, name
end
table.move(words "normal random", 1, 2, #M.methods + 1, M.methods)

return M
