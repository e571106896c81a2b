-- cuda/declarations.lua - records, variables of file scope and the heads of
-- functions, with the arguments that a CUDA text leaves out
-- SPDX-License-Identifier: MIT

local conversions = require "clshell.cuda.conversions"
local spaces = require "clshell.cuda.spaces"
local set = require("clshell.base.text").set
local values = require("clshell.base.text").values
local words = require "clshell.cuda.words"

local M = {}

local INTEGERS = set "int unsigned short char long size_t uint32_t int32_t"

-- Records -------------------------------------------------------------------

-- struct P {...}; is a type named P in C++, and a typedef here.
function M.record(t, item)
  local tokens = t.tokens
  for i = item.body + 1, (tokens[item.body].other or item.last) - 1 do
    if tokens[i].text == "(" then
      if t:text_of(item.body, item.last):find "__device__" then
        t:problem(tokens[i - 1], "CUDA: a struct with functions; here: a "
          .. "struct, and functions that take a pointer to it")
      end
      return t:leave_out(item.first, item.last)
    end
  end
  local close = tokens[item.body].other
  local named = item.name and tokens[item.head].text ~= item.name
  if named and close and close + 1 == item.last then
    t:insert(item.head, "typedef ")
    t:append(close, " " .. item.name)
  end
end

local TAGS, INT = set "struct union enum", set "int unsigned int32_t uint32_t"

--- declarations.tags(t)
--- Finds the records and enums of a text, t.scopes, and those that need their
--- tag, t.tags, as they lie in other records or in functions. Takes out the
--- type of an enum.
function M.tags(t)
  local tokens, depth = t.tokens, 0
  for i = 1, #tokens do
    local text, before = tokens[i].text, tokens[i - 1].text
    depth = depth + (text == "{" and before ~= "\"C\"" and 1
      or text == "}" and depth > 0 and -1 or 0)
    local class = TAGS[tokens[i + 1].text] or tokens[i + 1].text == "class"
    local at = TAGS[text] and i + (class and 2 or 1) or 0
    local behind = tokens[at + 1].text
    if tokens[at].kind == "name" and (behind == "{" or behind == ":") then
      local name = tokens[at].text
      t.scopes[name] = true
      t.tags[name] = depth > 0 and before ~= "typedef" and text or nil
    end
    if text == "enum" and (behind == ":" or tokens[i + 1].text == ":") then
      at = behind == ":" and at + 1 or i + 1
      local stop = at
      while stop < #tokens and tokens[stop + 1].text ~= "{" do
        stop = stop + 1
      end
      t:put(at, "", stop)
      if not INT[tokens[stop].text] then
        t:problem(tokens[at], "CUDA: an enum of %s; here: enums are int, so "
          .. "take a typedef, and constants by #define",
          t:text_of(at + 1, stop))
      end
    end
  end
end

-- Variables of file scope ---------------------------------------------------

-- The words of a declaration's type, without those in DROPPED.
local DROPPED = set [[__constant__ __device__ __shared__ extern static const
  constexpr inline]]

local function type_of(t, first, last)
  local list, i = {}, first
  while i <= last do
    local text = t.tokens[i].text
    if text == "__align__" then
      i = (t.tokens[i + 1].other or i)
    elseif not DROPPED[text] then
      list[#list + 1] = text
    end
    i = i + 1
  end
  return conversions.type(table.concat(list, " "))
end

-- A variable that a kernel gets as an argument.
local function hidden_of(t, item, space)
  local tokens = t.tokens
  local type = type_of(t, item.head, item.at - 1)
  local first = tokens[item.at + 1]
  local array = first.text == "[" and first.other
  local more = array and tokens[array + 1].text == "["
    and t:text_of(array + 1, (item.init or item.last) - 1)
  return {name = item.name, space = space, type = type, array = array and true,
    rows = more and true, token = tokens[item.at],
    parameter = more and ("%s %s %s[]%s"):format(space, type, item.name, more)
      or ("%s %s *%s"):format(space, type, item.name)}
end

function M.global(t, name, space, type, pointer)
  t.globals[name] = {name = name, spaces = {[space] = true}, fixed = true,
    type = type, pointer = pointer}
end

-- Whether tokens i to j are an integer constant: numbers or named constants.
local function is_constant(t, i, j, fn)
  for k = i, j do
    local token = t.tokens[k]
    if token.kind == "name" and not t.constants[token.text]
        and (not token.text:find "^[%u_][%u%d_]*$"
          or fn and fn.symbols[token.text])
        or token.kind == "number" and token.text:find "^%d*%."
        or token.kind == "string" then
      return false
    end
  end
  return i <= j
end

-- const int N = 16; is a constant in C++, and an enum here. `at` is the place
-- of the name N.
local function constant(t, first, at, fn)
  local tokens = t.tokens
  local stop = spaces.expression_end(tokens, at + 2, #tokens)
  for i = first, at - 1 do
    local text = tokens[i].text
    if not (DROPPED[text] or INTEGERS[text]) then
      return false
    end
  end
  if tokens[at + 1].text ~= "=" or tokens[stop + 1].text ~= ";"
      or not is_constant(t, at + 2, stop, fn) then
    return false
  end
  t.constants[tokens[at].text] = true
  t:put(first, "enum { ", at - 1)
  t:replace(tokens[at - 1].last + 1, tokens[at].first - 1, "")
  t:append(stop, " }")
  return true
end

function M.variable(t, item)
  local tokens, w = t.tokens, item.words
  local at = item.at
  if not at then
    return t:leave_out(item.first, item.last)
  end
  local array = tokens[at + 1].text == "["
  local type = type_of(t, item.head, at - 1)
  if w.__managed__ then
    t:problem(tokens[item.head], words.advice "__managed__")
  elseif w.__shared__ then
    t.hidden[#t.hidden + 1] = hidden_of(t, item, "local")
  elseif item.init and (w.__constant__
      or not w.__device__ and (w.const or w.constexpr)) then
    if w.__constant__ or not constant(t, item.head, at) then
      t:put(item.head, "constant " .. type, at - 1)
      M.global(t, item.name, "constant", type, array)
    end
    return
  elseif w.__constant__ or w.__device__ then
    t.hidden[#t.hidden + 1] = hidden_of(t, item,
      w.__constant__ and "constant" or "global")
  end
  t:leave_out(item.first, item.last)
end

-- Functions -----------------------------------------------------------------

-- Types of shared memory that programs cut into arrays of other types: CUDA
-- aligns it to 16 bytes, a device here to the size of an element.
local CUT = set [[char uchar short ushort int uint long ulong float double
  float2 int2 uint2]]

local function is_cut(t, h)
  local casts = 0
  for _, fn in ipairs(t.list) do
    casts = casts + #fn.casts
  end
  return h.space == "local" and CUT[h.type] and not h.rows and casts > 0
end

-- The hidden parameters of a function. A kernel's shared memory that is cut
-- into parts is aligned as a struct of 16 bytes is; all its arrays of extern
-- __shared__ begin at one address.
local function hidden_parameters(t, fn)
  local list = {}
  for i, h in ipairs(fn.hidden) do
    list[i] = h.parameter
    local several = fn.aliases and h == fn.aliases[1] and fn.aliases[2]
    if fn.kernel and fn.body and (is_cut(t, h) or several) then
      t.aligned = true
      list[i] = ("local cuda_shared *%s_"):format(h.name)
      for _, other in ipairs(several and fn.aliases or {h}) do
        t:append(fn.body, (" local %s *%s = (local %s *)%s_;"):format(
          other.type, other.name, other.type, h.name))
      end
    end
  end
  return table.concat(list, ", ")
end

-- The hidden arguments of a function, by a field, with commas.
local function hidden_list(fn, field)
  return values(fn.hidden, ", ", field)
end

local PARAMETER = {bool = {"int", "uchar"}, size_t = {"ulong", "ulong"}}

function M.parameters(t, fn, defined)
  local tokens = t.tokens
  for n, p in ipairs(fn.params) do
    local other = defined.params[n]
    local s = other and other.name and defined.symbols[other.name]
    if p.reference then
      t:problem(tokens[p.reference], "CUDA: a reference, %s; here: a "
        .. "pointer, and & at the call", t:text_of(p.first, p.last))
    elseif p.pointer and s then
      M.name_space(t, s, p.first)
    end
    local stars = 0
    for i = p.first, fn.kernel and p.last or p.first - 1 do
      local types = PARAMETER[tokens[i].text]
      if types then
        t:put(i, types[p.pointer and 2 or 1])
      end
      stars = stars + (tokens[i].text == "*" and 1 or 0)
    end
    if stars > 1 then
      t:problem(tokens[p.first], "CUDA: %s; here: one buffer, and the "
        .. "place of each part in it", t:text_of(p.first, p.last))
    end
  end
  local close = tokens[fn.list].other or fn.list
  local hidden = hidden_parameters(t, fn)
  if hidden ~= "" and #fn.params == 0 then
    t:put(fn.list, ("(%s)"):format(hidden), close)
  elseif hidden ~= "" then
    t:insert(close, ", " .. hidden)
  end
end

-- Names the space of a pointer at the token where its declaration begins.
function M.name_space(t, s, site)
  local list = {}
  for space in pairs(s.spaces) do
    list[#list + 1] = space ~= "" and space or "private"
  end
  table.sort(list)
  if #list > 1 and not t.generic then
    t:problem(t.tokens[site], "CUDA: a pointer to any memory%s; here: "
      .. "one to %s memory each, so write it twice",
      s.name and ", " .. s.name or "", table.concat(list, " and one to "))
  elseif #list == 1 and list[1] ~= "private" and not t.named[site] then
    t.named[site] = true
    t:insert(site, list[1] .. " ")
  end
end

-- extern __shared__ T s[]; in a function: takes it out.
function M.dynamic(t, fn)
  local tokens = t.tokens
  fn.own = {}
  for i = fn.body + 1, fn.last - 1 do
    if tokens[i].text == "extern" then
      local stop = i
      local item = {head = i}
      while stop < fn.last and tokens[stop].text ~= ";" do
        item.at = not item.at and tokens[stop + 1].text == "[" and stop
          or item.at
        stop = stop + 1
      end
      item.last, item.name = stop, item.at and tokens[item.at].text
      local own = item.at and hidden_of(t, item, "local")
      if own and fn.kernel then
        table.insert(fn.own, own)
      elseif item.at then
        t:problem(tokens[i], "CUDA: extern __shared__ in a __device__ "
          .. "function; here: a parameter, local float *s")
      end
      t:put(i, "", stop)
      fn.symbols[item.name or ""] = {name = item.name, fixed = true,
        spaces = {["local"] = true}, type = own and own.type or "",
        pointer = true, fn = fn, sites = {}, sources = {}}
    elseif tokens[i].text == "__shared__" and not fn.kernel
        and tokens[i - 1].text ~= "extern" then
      t:problem(tokens[i], "CUDA: __shared__ in a __device__ function; "
        .. "here: an array of the kernel, handed on as a pointer")
    end
  end
end

-- The hidden arguments that each function uses, itself or by its calls.
function M.spread(t)
  local changed
  repeat
    changed = false
    for _, fn in ipairs(t.list) do
      for i = fn.body or 1, fn.body and fn.last or 0 do
        local text = t.tokens[i].text
        local called = t.functions[text]
        for _, h in ipairs(t.hidden) do
          if not fn.uses[h] and (text == h.name and not fn.symbols[text]
              or called and called.uses[h]) then
            fn.uses[h], changed = true, true
          end
        end
      end
    end
  until not changed
  for _, fn in ipairs(t.list) do
    local defined = t.functions[fn.name]
    fn.hidden, fn.aliases = {}, fn.kernel and {}
    for _, list in ipairs{t.hidden, defined.own or {}} do
      for _, h in ipairs(list) do
        local shared = fn.aliases and h.space == "local" and not h.rows
        if list ~= t.hidden or defined.uses[h] then
          table.insert(shared and fn.aliases or fn.hidden, h)
          fn.hidden[#fn.hidden + 1] = shared and #fn.aliases == 1 and h or nil
        end
      end
    end
  end
end

function M.head(t, fn)
  local tokens, static = t.tokens, fn.words.static
  for i = fn.head, fn.list - 1 do
    local text = tokens[i].text
    if text == "static" and fn.kernel then
      t:put(i, "")
    elseif text == "inline" or text == "__forceinline__"
        or text == "__inline__" then
      t:put(i, fn.kernel and "" or static and "inline" or "static inline")
      static = true
    end
  end
end

-- Adds hidden arguments to calls, and variables of file scope by pointer.
function M.calls(t, fn)
  local tokens = t.tokens
  for i = fn.body + 1, fn.last - 1 do
    local text, open = tokens[i].text, tokens[i + 1]
    local called = t.functions[text]
    if called and open.text == "(" and open.other and #called.hidden > 0 then
      t:insert(open.other, (open.other > i + 2 and ", " or "")
        .. hidden_list(called, "name"))
    end
    for _, h in ipairs(fn.hidden) do
      if text == h.name and not h.array and tokens[i].kind == "name" then
        t:put(i, ("(*%s)"):format(text))
      end
    end
  end
end

-- const int N = 16; inside a function, since its arrays may need the constant.
function M.constants_of(t, fn)
  local tokens = t.tokens
  for i = fn.body + 1, fn.last - 1 do
    local text, before = tokens[i].text, tokens[i - 1].text
    if (text == "const" or text == "constexpr" or text == "static")
        and (before == "{" or before == ";" or before == "}") then
      local at = i
      while tokens[at + 1].kind == "name" do
        at = at + 1
      end
      if not constant(t, i, at, fn) and text == "constexpr" then
        t:put(i, "const")
      end
    end
  end
end

return M
