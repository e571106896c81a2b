-- arrays/formula.lua - an expression in OpenCL C as a calculation on Arrays:
-- the operators of scans and reductions on the host
-- A parser by precedence makes functions of the values of names. Operators and
-- functions are those of expressions, with C's rules where they differ: a
-- quotient of integers is cut towards zero.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local names = require "clshell.arrays.names"
local text = require "clshell.base.text"
local types = require "clshell.arrays.types"

local methods, operators = expression.methods, expression.operators

local CONSTANTS = {INFINITY = math.huge, HUGE_VALF = math.huge, NAN = 0 / 0,
  FLT_MAX = 0x1.fffffep127, FLT_MIN = 0x1p-126, FLT_EPSILON = 0x1p-23,
  DBL_MAX = 0x1.fffffffffffffp1023, DBL_MIN = 0x1p-1022,
  DBL_EPSILON = 0x1p-52, M_PI = math.pi, M_PI_F = math.pi}
for name, type in pairs{SCHAR = "char", CHAR = "char", SHRT = "short",
    INT = "int", LONG = "long", UCHAR = "uchar", USHRT = "ushort",
    UINT = "uint"} do
  CONSTANTS[name .. "_MAX"] = types.known[type].high
  CONSTANTS[name .. "_MIN"] = types.known[type].low < 0
    and types.known[type].low or nil
end
CONSTANTS.ULONG_MAX = -1

-- OpenCL C's functions, by their names there, and how many operands they take.
local FUNCTIONS = {fabs = {"abs", 1}, abs = {"abs", 1}, min = {"fmin", 2},
  max = {"fmax", 2}, fmin = {"fmin", 2}, fmax = {"fmax", 2},
  clamp = {"clamp", 3}}
for _, lists in ipairs{names.math, {names.tests}, names.integers} do
  for n, list in ipairs(lists) do
    for _, name in ipairs(list) do
      FUNCTIONS[name] = {name, n}
    end
  end
end

-- A number that meets no other operand.
local function operand(x)
  if type(x) ~= "number" then
    return x
  end
  return cl.array(math.type(x) == "float" and "double" or types.fits(x, "int")
    and "int" or "long", 1, x)
end

-- A number beside another operand: one that its type does not hold is an int
-- or a long of its own, as in C.
local function beside(x, other)
  if math.type(x) == "integer" and type(other) ~= "number"
      and not types.known[other.type].real and not types.fits(x, other.type)
      then
    return operand(x)
  end
  return x
end

local function is_real(x)
  if type(x) == "number" then
    return math.type(x) == "float"
  end
  return types.known[x.type].real
end

local function truth(x)
  return methods.ne(operand(x), 0)
end

-- Quotients of integers are cut towards zero.
local function divide(a, b)
  if is_real(a) or is_real(b) then
    return operators.div(a, b)
  end
  local floor = operators.idiv(a, b)
  local apart = methods.lt(operand(a), 0) ~ methods.lt(operand(b), 0)
  return floor + (apart & methods.ne(a - floor * b, 0))
end

local function modulo(a, b)
  if is_real(a) or is_real(b) then
    cl.error "x % y takes integers; fmod(x, y) takes reals"
  end
  return a - divide(a, b) * b
end

local BINARY = {
  ["||"] = {1, function(a, b) return truth(a) | truth(b) end},
  ["&&"] = {2, function(a, b) return truth(a) & truth(b) end},
  ["|"] = {3, operators.bor}, ["^"] = {4, operators.bxor},
  ["&"] = {5, operators.band}, ["=="] = {6, methods.eq},
  ["!="] = {6, methods.ne}, ["<"] = {7, methods.lt}, ["<="] = {7, methods.le},
  [">"] = {7, methods.gt}, [">="] = {7, methods.ge},
  ["<<"] = {8, operators.shl}, [">>"] = {8, operators.shr},
  ["+"] = {9, operators.add}, ["-"] = {9, operators.sub},
  ["*"] = {10, operators.mul}, ["/"] = {10, divide},
  ["%"] = {10, modulo},
}

local UNARY = {
  ["-"] = function(x)
    return type(x) == "number" and -x or operators.unm(x)
  end,
  ["+"] = function(x) return x end,
  ["!"] = function(x) return methods.eq(operand(x), 0) end,
  ["~"] = function(x) return operators.bnot(operand(x)) end,
}

-- The number or the word of a text that begins at a place, and the next place.
local function token(source, at)
  at = source:find("%S", at)
  if not at then
    return nil
  end
  for _, pattern in ipairs{"^0[xX]%x+", "^%d*%.?%d*[eE][+-]?%d+", "^%d+%.?%d*",
      "^%.%d+"} do
    local number = source:match(pattern, at)
    if number and number:find "%d" then
      local suffix = source:match("^[uUlLfF]*", at + #number)
      local value = tonumber(number)
      value = suffix:find "[fF]" and not number:find "[xX]" and value + 0.0
        or value
      return value, at + #number + #suffix
    end
  end
  local word = source:match("^[%a_][%w_]*", at)
    or source:match("^%+%+", at) or source:match("^%-%-", at)
    or BINARY[source:sub(at, at + 1)] and source:sub(at, at + 1)
    or source:sub(at, at)
  return word, at + #word
end

--- formula(what, source, known) -> function
--- The function that calculates a text from a table of the values of names,
--- which are the keys of `known`; a value is a number or an operand. `what` is
--- the call that errors name.
return function(what, source, known)
  local word, after = token(source, 1)
  local expect
  local function wrong(message, hint)
    cl.error(("%s: %s: %s"):format(what, message, source), {hint = hint})
  end
  local function step(closing)
    if closing and word ~= closing then
      wrong(("a '%s' is missing %s"):format(closing, word == nil
        and "at the end" or ("before '%s'"):format(word)))
    end
    local last = word
    word, after = token(source, after or #source + 1)
    return last
  end

  local function call(name)
    local f, list = FUNCTIONS[name], {}
    if not f then
      wrong(("there is no function '%s' for Arrays"):format(name),
        "all of OpenCL C runs on a Buffer: cl.buffer(h.type, h.shape, h)")
    end
    step "("
    repeat
      list[#list + 1] = expect(0)
    until word ~= "," or not step()
    step ")"
    if #list ~= f[2] then
      wrong(("%s takes %s; got %d"):format(name, text.count(f[2], "operand"),
        #list))
    end
    return function(values)
      local given = {}
      for k, x in ipairs(list) do
        given[k] = x(values)
      end
      given[1] = operand(given[1])
      return methods[f[1]](table.unpack(given, 1, f[2]))
    end
  end

  local function primary()
    local first = step()
    if first == "(" then
      if types.known[word] then -- a conversion
        local type = step()
        step ")"
        local x = expect(11)
        return function(values)
          return methods.astype(operand(x(values)), type)
        end
      end
      local x = expect(0)
      step ")"
      return x
    elseif UNARY[first] then
      local x = expect(11)
      return function(values)
        return UNARY[first](x(values))
      end
    elseif type(first) == "number" or CONSTANTS[first] then
      return function()
        return CONSTANTS[first] or first
      end
    elseif word == "(" then
      return call(first)
    elseif not first or not known[first] then
      local list = text.values(text.keys(known))
      wrong(not first and "an operand is missing at the end"
        or ("an operand is missing instead of '%s'%s"):format(first,
        list ~= "" and "; there are: " .. list or ""))
    end
    return function(values)
      return values[first]
    end
  end

  -- An expression of operators that bind more than `least`.
  function expect(least)
    local left = primary()
    while BINARY[word] and BINARY[word][1] > least do
      local a, f = left, BINARY[word]
      step()
      local b = expect(f[1])
      left = function(values)
        local x, y = a(values), b(values)
        x = type(y) == "number" and operand(x) or beside(x, y)
        return f[2](x, beside(y, x))
      end
    end
    if least == 0 and word == "?" then
      step()
      local yes = expect(0)
      step ":"
      local no, test = expect(0), left
      return function(values)
        return methods.where(operand(test(values)), yes(values), no(values))
      end
    end
    return left
  end

  local result = expect(0)
  if word ~= nil then
    wrong(("unexpected '%s'"):format(word))
  end
  return result
end
