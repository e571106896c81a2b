-- arrays/statement.lua - the OpenCL C of each operation of an expression
-- SPDX-License-Identifier: MIT

local names = require "clshell.arrays.names"
local types = require "clshell.arrays.types"

-- By operation, OpenCL C for operands a, b and c and a result r of type T.
-- Whole numbers are divided as in Lua; a division by zero gives 0, as it could
-- end the process.
local TEXT = {
  index = "i", pown = "pown((T)a, b)", where = "a != 0 ? (T)b : (T)c",
  add = "a + b", sub = "a - b", mul = "a * b", div = "(T)a / (T)b",
  pow = "pow((T)a, (T)b)", pair = "b", unm = "-a", bnot = "~a", band = "a & b",
  bor = "a | b", bxor = "a ^ b", shl = "a << b", shr = "a >> b",
}
local REAL = {
  abs = "fabs(a)", fmin = "fmin((T)a, (T)b)", fmax = "fmax((T)a, (T)b)",
  clamp = "fmin(fmax((T)a, (T)b), (T)c)", idiv = "floor((T)a / (T)b)",
  mod = "fmod((T)a, (T)b); if (r != 0 && (r < 0) != (b < 0)) r += b",
}
local INTEGER = {
  abs = "a < 0 ? -a : a", fmin = "min((T)a, (T)b)", fmax = "max((T)a, (T)b)",
  clamp = "min(max((T)a, (T)b), (T)c)",
  idiv = "0; T x = a, y = b; if (y == (T)-1 && y < 0) r = 0 - x; "
    .. "else if (y != 0) r = x / y - (x % y != 0 && (x < 0) != (y < 0))",
  mod = "0; T x = a, y = b; if (y != 0 && (y != (T)-1 || y > 0)) r = x % y; "
    .. "if (r != 0 && (r < 0) != (y < 0)) r += y",
}

for name, sign in pairs(names.compare) do
  TEXT[name] = ("a %s b"):format(sign)
end
for _, lists in ipairs{names.math, names.integers} do
  for n, list in ipairs(lists) do
    for _, name in ipairs(list) do
      TEXT[name] = ("%s((T)a%s%s)"):format(name, n > 1 and ", (T)b" or "",
        n > 2 and ", (T)c" or "")
    end
  end
end
-- A half is stored where it is asked for, as floats carry it elsewhere; from a
-- double it is rounded once.
local HALF = "0; ushort h; vstore_half(%sa, 0, (half *)&h); "
  .. "r = vload_half(0, (half *)&h)"
local TESTS = {}
for _, name in ipairs(names.tests) do
  TESTS[name] = true
  TEXT[name] = ("%s((T)a) != 0"):format(name)
end

--- statement(e) -> line
--- What calculates an expression from the variables of its operands, which
--- have the letter t and their `id` as names, as its own has.
return function(e)
  local op, type = e.kind.op, e.kind.type
  local is_real, T = types.known[type].real, types.calculated(type)
  local code, inner = TEXT[op] or (is_real and REAL or INTEGER)[op], T
  if op == "to" then
    code = types.known[e.a.kind.type].real and not is_real
      and ("convert_%s_sat(a)"):format(T) or type == "half"
      and HALF:format(e.a.kind.type == "double" and "" or "(T)") or "(T)a"
  elseif TESTS[op] then
    inner = types.calculated(types.real(op, e.a.kind.type))
  end
  local words = {T = inner}
  for name in ("abc"):gmatch "." do
    words[name] = e[name] and "t" .. e[name].id
  end
  code = code:gsub("%f[%w_]%a%f[^%w_]", words)
  local form = code:find ";" and "  T tN; { T r = C; tN = r; }"
    or "  T tN = C;"
  return (form:gsub("%u", {T = T, N = ("%d"):format(e.id), C = code}))
end
