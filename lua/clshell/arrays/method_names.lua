-- arrays/method_names.lua - the names that the room adds to module cl and its
-- classes, and their names in NumPy. A session has these names from its start;
-- the first use of a name loads the file that has the function.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lazy = require "clshell.base.lazy"

local M = {}

local function words(s)
  local list = {}
  for word in s:gmatch "%S+" do
    list[#list + 1] = word
  end
  return list
end

--- method_names.operators
--- The metamethods of Buffers and Expressions.
M.operators = words [[__add __sub __mul __div __idiv __mod __pow __unm __band
  __bor __bxor __bnot __shl __shr __lt __le]]

--- method_names.math
--- OpenCL's functions of reals that give reals, by the number of their
--- operands. names.tests has the functions that give 0 or 1.
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

--- method_names.integers
--- OpenCL's functions of integers, by the number of their operands.
M.integers = {words "clz popcount",
  words "add_sat hadd mul_hi rhadd rotate sub_sat"}

--- method_names.compare
--- The methods that compare elements, and the sign of each in OpenCL C.
M.compare = {eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">="}

--- method_names.methods
--- By the file that has them, the methods and operators of Buffers; Arrays and
--- Expressions have nearly all of them.
M.methods = {
  evaluate = words "abs astype axpy clamp clone fmax fmin set where",
  gather = words "compact gather scatter",
  random = words "normal random",
  scans = words "cumsum scan",
  sorting = words "argsort histogram sort unique",
  totals = words "all any argmax argmin dot max mean min nrm2 reduce sum",
  variance = words "std var",
  views = words "diagonal shift slice tile transpose",
}
for _, list in ipairs{M.operators, M.math[1], M.math[2], M.math[3], M.tests,
    M.integers[1], M.integers[2]} do
  table.move(list, 1, #list, #M.methods.evaluate + 1, M.methods.evaluate)
end
for name in pairs(M.compare) do
  table.insert(M.methods.evaluate, name)
end

-- The functions of module cl, by the file that has them.
local FUNCTIONS = {
  map = "map", random = "random",
  sequences = "arange concatenate linspace stack",
}

-- Methods that Arrays have in C.
local IN_C = {normal = true, random = true, set = true}

--- method_names.of(class, file) -> list
--- The methods and operators that a file adds to "Buffer" or "Array".
function M.of(class, file)
  local list = {}
  for _, name in ipairs(M.methods[file] or {}) do
    list[#list + 1] = not (class == "Array" and IN_C[name]) and name or nil
  end
  return list
end

--- method_names.expression
--- The methods of Expressions, by their names.
M.expression = {}

for _, file in ipairs(words [[evaluate gather map random scans sequences
    sorting totals variance views]]) do
  local module, methods = "clshell.arrays." .. file, M.methods[file] or {}
  lazy.give(cl, FUNCTIONS[file] or "", module)
  for _, class in ipairs{"Array", "Buffer"} do
    lazy.give(class, table.concat(M.of(class, file), " "), module)
  end
  if file ~= "evaluate" and file ~= "random" then
    lazy.give(M.expression, table.concat(methods, " "), module)
  end
end

-- The names here of methods and fields of NumPy's and PyOpenCL's arrays.
local NUMPY = {
  T = "x:transpose()", argwhere = "x:compact(mask)", clip = "x:clamp(lo, hi)",
  concatenate = "cl.concatenate{x, y}", cumprod =
  'x:scan{op = "a * b", identity = 1}', dtype = "x.type",
  flatten = "x:reshape(#x)", maximum = "x:fmax(y)", minimum = "x:fmin(y)",
  nbytes = "x.bytes", ndim = "#x.shape", norm = "x:nrm2()", pow = "x ^ y",
  power = "x ^ y", prod = 'x:reduce{op = "a * b", identity = 1}', put =
  "x:scatter(index, values)", ravel = "x:reshape(#x)", roll = "x:shift(k)",
  size = "#x", squeeze = "x:reshape(shape)", take = "x:gather(index)",
}

-- Names that mean another thing for each class.
local OWN = {
  Array = {get = "x[i], as x is on the host", item = "x[1]",
    tolist = "x:table()"},
  Buffer = {get = "x:read()", item = "x:read()[1]",
    tolist = "x:read():table()"},
}
OWN.Expression = OWN.Buffer

-- Functions of NumPy's module, looked for in module cl.
OWN.cl = {empty = "cl.buffer(type, shape)", full = "cl.buffer(type, shape, x)",
  ones = "cl.buffer(type, shape, 1)", zeros = "cl.buffer(type, shape, 0)"}
for _, list in pairs(M.methods) do
  for _, name in ipairs(list) do
    OWN.cl[name] = not name:find "^__" and ("x:%s(...)"):format(name) or nil
  end
end

--- method_names.of_numpy(class, key) -> string or nil
--- What a user of NumPy means by x.key, for a Buffer, an Array, an Expression
--- or module cl.
function M.of_numpy(class, key)
  return OWN[class] and (OWN[class][key] or NUMPY[key])
end

return M
