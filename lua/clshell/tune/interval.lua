-- tune/interval.lua - a constraint of which only some parameters are set may
-- be false already, as 8 * bx <= 256 is for bx = 64, whatever else follows.
-- Such a test is made of the text of the constraint: Lua code that computes
-- bounds in place of values. R. E. Moore, Interval Analysis (1966).
-- SPDX-License-Identifier: MIT

local M = {}

local NONE = 0 / 0 -- a bound that is not known: no comparison holds

local function finite(x)
  return x - x == 0
end

-- The bounds of what a function that is monotone in each argument makes of two
-- intervals; none where a corner is not finite.
local function corners(f)
  return function(al, ah, bl, bh)
    local w, x, y, z = f(al, bl), f(al, bh), f(ah, bl), f(ah, bh)
    if not (finite(w) and finite(x) and finite(y) and finite(z)) then
      return NONE, NONE
    end
    return math.min(w, x, y, z), math.max(w, x, y, z)
  end
end

-- The same, of a division, which has no bounds where the divisor may be 0.
local function quotient(f)
  local bounds = corners(f)
  return function(al, ah, bl, bh)
    if not (bl > 0 or bh < 0) then
      return NONE, NONE
    end
    return bounds(al, ah, bl, bh)
  end
end

local function modulo(al, ah, bl, bh)
  if not (bl > 0 and finite(al) and finite(ah)) then
    return NONE, NONE
  elseif al == ah and bl == bh then
    return al % bl, al % bl
  end
  return 0, bh
end

local function power(al, ah, bl, bh)
  local x = al ^ bl
  if al == ah and bl == bh and finite(x) then
    return x, x
  end
  return NONE, NONE
end

-- Operators with two numbers: their rank, and how their bounds follow.
local NUMBERS = {
  ["+"] = {4, "%s + %s, %s + %s", "al bl ah bh"},
  ["-"] = {4, "%s - %s, %s - %s", "al bh ah bl"},
  ["*"] = {5, f = corners(function(a, b) return a * b end)},
  ["/"] = {5, f = quotient(function(a, b) return a / b end)},
  ["//"] = {5, f = quotient(function(a, b) return a // b end)},
  ["%"] = {5, f = modulo},
  ["^"] = {7, f = power, right = true},
}
local UNARY = 6

-- Comparisons: when they hold and when they do not.
local COMPARISONS = {
  ["<"] = {"ah < bl", "al >= bh"}, ["<="] = {"ah <= bl", "al > bh"},
  [">"] = {"al > bh", "ah <= bl"}, [">="] = {"al >= bh", "ah < bl"},
  ["=="] = {"al == ah and bl == bh and al == bl", "ah < bl or al > bh"},
  ["~="] = {"ah < bl or al > bh", "al == ah and bl == bh and al == bl"},
}

-- The words, numbers and signs of a text; nil where there is anything else.
local function tokens(where)
  local list, at = {}, 1
  while true do
    at = where:match("^%s*()", at)
    if at > #where then
      return list
    end
    local word = where:match("^[%a_][%w_]*", at)
      or where:match("^%d+%.?%d*[eE][+-]?%d+", at)
      or where:match("^%d[%w]*%.?%w*", at) or where:match("^[<>=~]=", at)
      or where:match("^//", at) or where:match("^[-+*/%%^()<>]", at)
    if not word or where:find("^%-%-", at) then
      return nil
    end
    list[#list + 1] = word
    at = at + #word
  end
end

local Writer = {}
Writer.__index = Writer

-- A line of the code, with the bounds of the operands in place of al to bh.
function Writer:line(template, a, b)
  self[#self + 1] = template:gsub("%f[%w_]([ab])([lh])%f[^%w_]",
    function(operand, bound)
      return (operand == "a" and a or b) .. bound
    end)
end

-- A new variable.
function Writer:variable()
  self.count = self.count + 1
  return "v" .. self.count
end

function Writer:next()
  self.at = self.at + 1
  return self.list[self.at - 1]
end

-- One number: a parameter, a constant, or what stands in parentheses. Returns
-- its variable, and whether it is a number; nil: another kind of text.
function Writer:primary()
  local token = self:next()
  if token == "(" then
    local v, number = self:boolean()
    return v and self:next() == ")" and v or nil, number
  elseif token == "-" then
    local a, number = self:number(UNARY)
    if not (a and number) then
      return nil
    end
    local v = self:variable()
    self:line(("local %sl, %sh = -ah, -al"):format(v, v), a)
    return v, true
  elseif token and self.by_name[token] then
    return "_" .. token .. "_", true
  elseif token and token:find "^%d" and math.type(tonumber(token)) then
    local v = self:variable()
    self:line(("local %sl, %sh = %s, %s"):format(v, v, token, token))
    return v, true
  end
end

-- A sum, a product and so on, of operators of at least this rank.
function Writer:number(rank)
  local a, number = self:primary()
  while a do
    local o = NUMBERS[self.list[self.at]]
    if not o or o[1] < rank then
      break
    end
    self:next()
    local b, other = self:number(o.right and o[1] or o[1] + 1)
    if not (b and number and other) then
      return nil
    end
    local v = self:variable()
    if o.f then
      local name = self:helper(o.f)
      if o == NUMBERS["*"] then -- most are of positive numbers
        self:line(("local %sl, %sh = al * bl, ah * bh"):format(v, v), a, b)
        self:line("if al < 0 or bl < 0 then", a, b)
        self:line(("%sl, %sh = %s(al, ah, bl, bh) end"):format(v, v, name), a,
          b)
      else
        self:line(("local %sl, %sh = %s(al, ah, bl, bh)"):format(v, v, name),
          a, b)
      end
    else
      local order = {}
      for word in o[3]:gmatch "%a+" do
        order[#order + 1] = word
      end
      self:line(("local %sl, %sh = "):format(v, v)
        .. o[2]:format(table.unpack(order)), a, b)
    end
    a = v
  end
  return a, number
end

-- The name of a function that the code calls.
function Writer:helper(f)
  for i, known in ipairs(self.helpers) do
    if known == f then
      return "f" .. i
    end
  end
  table.insert(self.helpers, f)
  return "f" .. #self.helpers
end

-- A comparison; true, false, or nil where both may be.
function Writer:comparison()
  if self.list[self.at] == "not" then
    self:next()
    local a, number = self:comparison()
    if not a or number then
      return nil
    end
    local v = self:variable()
    self:line(("local %s if %s ~= nil then %s = not %s end"):format(v, a, v,
      a))
    return v, false
  end
  local a, number = self:number(0)
  local o = a and COMPARISONS[self.list[self.at]]
  if not o then
    return a, number
  end
  self:next()
  local b, other = self:number(0)
  if not (b and number and other) then
    return nil
  end
  local v = self:variable()
  self:line(("local %s if %s then %s = true elseif %s then %s = false end")
    :format(v, o[1], v, o[2], v), a, b)
  return v, false
end

-- Comparisons with "and" and "or" between them.
function Writer:boolean(inner)
  local sign = inner and "and" or "or"
  local function part()
    if inner then
      return self:comparison()
    end
    return self:boolean(true)
  end
  local a, number = part()
  while a and self.list[self.at] == sign do
    self:next()
    local b, other = part()
    if not b or number or other then
      return nil
    end
    local v, final = self:variable(), inner and "false" or "true"
    self:line(("local %s if %s == %s or %s == %s then %s = %s"):format(v, a,
      final, b, final, v, final))
    self:line(("elseif %s ~= nil and %s ~= nil then %s = %s end"):format(a, b,
      v, inner and "true" or "false"))
    a = v
  end
  return a, number
end

--- interval.test(where, names) -> function(lo, hi), or nil
--- The test of a constraint by the bounds of the parameters that it names:
--- true, false, or nil where the bounds do not tell. nil: the text has more
--- than numbers, parameters, arithmetic, comparisons, and, or, not.
function M.test(where, names)
  local w = setmetatable({list = tokens(where), at = 1, count = 0,
    helpers = {}, by_name = {}}, Writer)
  for _, name in ipairs(names) do
    w.by_name[name] = true
  end
  local v, number
  if w.list then
    v, number = w:boolean()
  end
  if not v or number or w.list[w.at] then
    return nil
  end
  local head = {}
  for i in ipairs(w.helpers) do
    head[i] = "f" .. i
  end
  local code = {#head > 0 and "local " .. table.concat(head, ", ") .. " = ..."
    or "", "return function(lo, hi)"}
  for _, name in ipairs(names) do
    code[#code + 1] = ("local _%s_l, _%s_h = lo.%s, hi.%s"):format(name, name,
      name, name)
  end
  table.move(w, 1, #w, #code + 1, code)
  code[#code + 1] = "return " .. v .. "\nend"
  local chunk = load(table.concat(code, "\n"), "=where", "t", {})
  return chunk and chunk(table.unpack(w.helpers)) -- nil: too many variables
end

return M
