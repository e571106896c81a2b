-- cuda/cuda_names.lua - CUDA's words in bodies and directives, and the
-- functions in front of the text that some of them need
-- SPDX-License-Identifier: MIT

local conversions = require "clshell.cuda.conversions"
local lexer = require "clshell.cuda.cuda_tokens"
local spaces = require "clshell.cuda.spaces"
local set = require("clshell.base.text").set
local words = require "clshell.cuda.words"

local M = {}

local AXES = {x = 0, y = 1, z = 2}
local GRID = set "threadIdx blockIdx blockDim gridDim"
local CASTS = set "static_cast reinterpret_cast const_cast"
local SCALARS = set "int unsigned short char long float double size_t bool"
-- Keywords and types of OpenCL C that are plain names in CUDA.
local TAKEN = set [[kernel global local constant private generic pipe
  read_only write_only read_write half event_t sampler_t image2d_t]]
-- Functions of OpenCL C that CUDA programs define for themselves.
local BUILTIN = set [[dot cross length distance normalize mix step smoothstep
  clamp sign select mad degrees radians any all bitselect rotate reflect
  fast_length isequal shuffle prefetch]]

local ALL = "(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)"
local FENCES = {__syncthreads = "barrier" .. ALL,
  __threadfence = "mem_fence" .. ALL, __threadfence_block = "mem_fence" .. ALL,
  __threadfence_system = "mem_fence" .. ALL}
local ABS = set "abs labs llabs"
-- atomicAdd of floats: two functions, for both spaces.
local ADD = [[
%s __attribute__((overloadable)) atomic_add_%s(volatile %s %s *p, %s x) {
  union { %s f; %s i; } old, sum;
  do {
    old.f = *p;
    sum.f = old.f + x;
  } while (%s((volatile %s %s *)p, old.i, sum.i) != old.i);
  return old.f;
}
]]
local HELPERS = {
  float = {"uint", "atomic_cmpxchg", ""},
  double = {"ulong", "atom_cmpxchg",
    "#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable\n"},
}

-- Puts a text for tokens i to `last` (i) of a list; "" takes a space as well.
local function put(t, tokens, i, new, last)
  local stop = tokens[last or i].last
  local blank = new == "" and t.source:find("^ ", stop + 1)
  t:replace(tokens[i].first, blank and stop + 1 or stop, new)
end

local function place(t, tokens, i)
  local call = words.list[tokens[i].text].here
  local axis = tokens[i + 1].text == "." and AXES[tokens[i + 2].text]
  put(t, tokens, i, axis and ("(uint)%s(%d)"):format(call, axis)
    or ("(uint3)(%s(0), %s(1), %s(2))"):format(call, call, call),
    axis and i + 2)
end

local function cast(t, tokens, i)
  local stop = i + 2
  while stop < #tokens and tokens[stop].text ~= ">" do
    stop = stop + 1
  end
  local close = tokens[stop + 1].other and tokens[tokens[stop + 1].other]
  if close then
    put(t, tokens, i, "((", i + 1)
    put(t, tokens, stop, ")")
    t:replace(close.last + 1, close.last, ")")
  end
end

-- The words here before and behind the arguments of a call.
local AROUND = {__ldg = {"(*", ")"},
  __align__ = {"__attribute__((aligned", "))"}}

-- The name here of an atomic function whose arguments open at token i.
local function atomic(t, fn, i, name)
  local tokens = t.tokens
  local stop = spaces.expression_end(tokens, i + 1, (tokens[i].other or i)
    - 1)
  local s = fn.symbols and spaces.base(t, fn, i + 1, stop)
  local type = s and s.type or ""
  local float = type:match "%f[%w_](float)" or type:match "%f[%w_](double)"
  if float and name == "atomic_add" then
    t.helpers[float] = true
    return "atomic_add_" .. float
  elseif type:find "%f[%w_]long" or type:find "int64_t" then
    t.wide = true
    return (name:gsub("^atomic", "atom"))
  end
  return name
end

local function subgroup(t, i, entry)
  local tokens, token = t.tokens, t.tokens[i]
  local open, stop = i + 1, tokens[i + 1].other
  if not t.has(entry.needs) then
    return t:problem(token, "CUDA: %s; here: an array in local memory, "
      .. "and a barrier (%s needs %s, which this device lacks)", token.text,
      entry.here, entry.needs)
  elseif tokens[open].text ~= "(" then
    return
  end
  t.extensions[entry.needs] = true
  if token.text == "__syncwarp" then
    return t:put(i, entry.here .. ALL, stop or open)
  end
  t:put(i, entry.here)
  stop = spaces.expression_end(tokens, open + 1, (stop or open) - 1)
  if tokens[stop + 1].text == "," then
    t:put(open + 1, "", stop + 1) -- the mask
  end
end

-- Whether token i is a type called like a function: float(x).
local function conversion(tokens, i)
  local before, open, more = tokens[i - 1], tokens[i + 1], tokens[i + 2]
  return SCALARS[tokens[i].text] and open.text == "(" and more.text ~= "*"
    and (before.kind ~= "name" or before.text == "return")
end

--- cuda_names.threes(t, item)
--- Finds the names of types with vectors of three in a record or a
--- line of #define, t.three, and the fields of such types, t.fields: "value"
--- or "pointer".
function M.threes(t, item)
  local tokens = item.tokens or t.tokens
  local close = item.body and tokens[item.body].other or item.head
  local outer, found, star, any = {}, nil, nil, nil
  for i = item.head, item.last do
    local text, behind = tokens[i].text, tokens[i + 1].text
    if text == ";" or text == "{" or text == "}" then
      found, star = text == "}" and any, nil
      if text == "{" then
        outer[#outer + 1], any = any or false, nil
      elseif text == "}" then
        local before = table.remove(outer)
        any = any or before
      end
    elseif t.three[text] then
      found = found or text
    elseif text == "*" or text == "," then
      star = text == "*"
    elseif found and tokens[i].kind == "name" and behind:find "^[];,[]" then
      any = not star and (i < close and "record" or any) or any
      if i < close then
        t.fields[text] = star and "pointer" or "value"
      elseif not star and item.kind == "typedef" then
        t.three[text] = any or t.three[found]
      end
    end
  end
  if any and item.name then
    t.three[item.name] = any
  end
end

-- Whether the name at token i, in an operand of sizeof that begins at token
-- `first`, stands for vectors of three; and the place behind it.
local function is_three(t, tokens, first, i, fn)
  local text = tokens[i].text
  local s = fn and fn.symbols and fn.symbols[text] or t.globals[text]
  local called, type = not s and t.functions[text], nil
  local star = s and s.star or called and called.result
  for word in (s and s.type or text):gsub("^make_", ""):gmatch "[%w_]+" do
    type = t.three[word] or type
  end
  for word in pairs(called and called.words or {}) do
    type = t.three[word] or type
  end
  local before = i > first and tokens[i - 1].text
  local value = before == "*" and (i - 1 == first
    or tokens[i - 2].text:find "^[-(+*/&|,=<>]")
  star = star or before == "&" or not s and tokens[i + 1].text == "*"
  i = i + 1
  while true do
    local one, more = tokens[i], tokens[i + 1].text
    if one.text == "." or one.text == "->" then
      local field = type ~= "vector" and t.fields[more]
      type, star = field and "field", field == "pointer"
      i = i + 2
    elseif (one.text == "[" or one.text == "(") and one.other then
      star, i = star and one.text == "(", one.other + 1
    elseif one.text == ")" and (more == "." or more == "->" or more == "[")
    then
      i = i + 1
    else
      return type and (value or not star), i
    end
  end
end

-- Refuses the sizeof at token i of an operand that holds vectors of three.
local function size_of(t, tokens, i, fn)
  local first = i + 1
  local stop = tokens[first].text == "(" and tokens[first].other
    or spaces.expression_end(tokens, first, #tokens)
  local at = first
  while at <= stop do
    local three, behind = false, at + 1
    if tokens[at].kind == "name" then
      three, behind = is_three(t, tokens, first, at, fn)
    elseif tokens[at].text == "[" then
      behind = lexer.behind(tokens, at)
    end
    if three then
      return t:problem(tokens[i], "CUDA: %s, of vectors of three numbers; "
        .. "here: they have four, so write the number of bytes that the "
        .. "kernel means", t.source:sub(tokens[i].first, tokens[stop].last))
    end
    at = behind
  end
end

-- Looks at the vector of three at token i, whose size differs here: a cast to
-- its pointer is a problem, a field of a record gets a note.
local function three(t, tokens, i, fn)
  local before, behind = i - 1, i + 1
  while tokens[before].text == "const" or tokens[before].text == "volatile" do
    before = before - 1
  end
  while tokens[behind].text == "const" or tokens[behind].text == "volatile" do
    behind = behind + 1
  end
  local opens, star = tokens[before].text, tokens[behind].text == "*"
  while tokens[behind].text == "*" or tokens[behind].text == "const"
      or tokens[behind].text:find "^__restrict" do
    behind = behind + 1
  end
  local closes = tokens[behind].text
  if star and (opens == "<" and closes == ">" or opens == "("
      and closes == ")" and tokens[before - 1].text ~= "sizeof") then
    local type = tokens[i].text
    t:problem(tokens[i], "CUDA: %s, three numbers; here: four, so take a "
      .. "pointer to %s, and vload3(i, p)", type, rawget(t.three, type)
      and "a number" or type:sub(1, -2))
  elseif fn and fn.kind ~= "function" and fn.body and not star then
    t.threes[#t.threes + 1] = tokens[i]
  end
end

-- The name here of a kernel; a word of OpenCL C gets another name.
function M.kernel(name)
  return (TAKEN[name] or BUILTIN[name]) and name .. "_" or name
end

-- Translates the name at place i of a list of tokens; `fn` is the function
-- around it, nil in a directive.
local function rename(t, tokens, i, fn)
  local token, before = tokens[i], tokens[i - 1]
  local text, entry = token.text, words.list[token.text]
  local open = tokens[i + 1].text == "(" and i + 1
  local close = open and tokens[open].other and tokens[tokens[open].other]
  if TAKEN[text] and (text ~= "half" or fn and fn.symbols
      and fn.symbols.half) then
    put(t, tokens, i, text .. "_")
  elseif before.text == "." or before.text == "->" then
    return
  elseif t.scopes[text] and tokens[i + 1].text == "::" then
    put(t, tokens, i, "", i + 1)
  elseif text == "class" and before.text == "enum" then
    put(t, tokens, i, "")
  elseif t.tags[text] and not (fn and fn.symbols and fn.symbols[text])
      and before.text ~= t.tags[text] and before.text ~= "class" then
    put(t, tokens, i, t.tags[text] .. " " .. text)
  elseif text == "sizeof" then
    size_of(t, tokens, i, fn)
  elseif t.three[text] == "vector" then
    three(t, tokens, i, fn)
  elseif ABS[text] and open and not t.functions[text] then
    t.abs = true
    conversions.arguments(t, tokens, i, fn)
    put(t, tokens, i, "cuda_abs")
  elseif text:find "^__%l+2%l+" and text:find "half" and entry and fn
      and not t.has "cl_khr_fp16" then
    conversions.half(t, i)
  elseif FENCES[text] then
    if open and tokens[i + 2].text == ")" then
      put(t, tokens, i, FENCES[text], i + 2)
    end
  elseif GRID[text] then
    place(t, tokens, i)
  elseif BUILTIN[text] and t.functions[text] then
    put(t, tokens, i, text .. "_")
  elseif AROUND[text] and close then
    put(t, tokens, i, AROUND[text][1])
    t:replace(close.last + 1, close.last, AROUND[text][2])
  elseif CASTS[text] and tokens[i + 1].text == "<" then
    cast(t, tokens, i)
  elseif text == "__launch_bounds__" and close then
    put(t, tokens, i, "", tokens[open].other)
  elseif text == "long" and before.text == "long" then
    put(t, tokens, i, "")
  elseif conversion(tokens, i) then
    put(t, tokens, i, "(" .. text .. ")")
  elseif not entry or fn and fn.symbols and fn.symbols[text] then
    return
  elseif text:find "^atomic" and entry.kind == "word" and open then
    put(t, tokens, i, fn and atomic(t, fn, open, entry.here) or entry.here)
  elseif entry.kind == "word" or entry.kind == "float" then
    local cast_to = open and conversions.arguments(t, tokens, i, fn) or ""
    put(t, tokens, i, cast_to .. entry.here)
  elseif fn and entry.kind == "subgroup" then
    subgroup(t, i, entry)
  elseif fn and entry.kind == "outside" and not t.functions[text] then
    t:problem(token, "%s", words.advice(text))
  end
end

-- A text in quotes: of printf, for kernels know no other.
function M.string(t, token)
  local new = conversions.format(token.text)
  if new ~= token.text then
    t:replace(token.first, token.last, new)
  end
end

-- The names between tokens first and last.
function M.translate(t, first, last, fn)
  local tokens = t.tokens
  for i = first, last do
    local token = tokens[i]
    if token.kind == "name" then
      rename(t, tokens, i, fn)
    elseif token.kind == "number" and token.text:find "[lL][lL]" then
      t:put(i, (token.text:gsub("[lL][lL]", "L", 1)))
    elseif token.kind == "string" then
      M.string(t, token)
    elseif token.text == "<<<" then
      t:problem(token, "CUDA: a launch from a kernel; here: another "
        .. "launch from the host")
    end
  end
end

-- A directive of the preprocessor that begins with token i.
function M.directive(t, i)
  local token = t.tokens[i]
  local name, rest = token.text:match "^#%s*(%a+)()"
  if name == "include" then
    local file = token.text:match "^#%s*include%s*\"([^\"]*)\""
    if file and file:find "%.cuh?$" then
      t:problem(token, "CUDA: #include \"%s\"; here: one text, so put its "
        .. "lines in", file)
    elseif not file or file:find "cuda" or file:find "^helper_" then
      t:put(i, "")
    end
  elseif name == "define" or name == "if" then
    local list = lexer.tokens(t.source, token.first + rest - 1, token.last)
    for j = 1, #list do
      if list[j].text == "extern" and list[j + 1].kind == "string" then
        t:replace(list[j].first, list[j + 1].last, "")
      elseif list[j].kind == "name" then
        rename(t, list, j, nil)
      elseif list[j].kind == "string" then
        M.string(t, list[j])
      end
    end
  end
end

-- The functions and pragmas in front of the text.
function M.prelude(t)
  local parts = {}
  for _, name in ipairs{"cl_khr_subgroups", "cl_khr_subgroup_shuffle",
      "cl_khr_subgroup_shuffle_relative"} do
    parts[#parts + 1] = t.extensions[name]
      and ("#pragma OPENCL EXTENSION %s : enable\n"):format(name) or nil
  end
  if t.wide then
    parts[#parts + 1] = HELPERS.double[3]
      .. HELPERS.double[3]:gsub("base", "extended")
  end
  for _, float in ipairs{"float", "double"} do
    local h = HELPERS[float]
    parts[#parts + 1] = t.helpers[float] and h[3] or nil
    for _, space in ipairs(t.helpers[float] and {"global", "local"}
        or {}) do
      parts[#parts + 1] = ADD:format(float, float, space, float, float,
        float, h[1], h[2], space, h[1])
    end
  end
  parts[#parts + 1] = conversions.prelude(t)
  local text = table.concat(parts)
  return text ~= "" and ("#line 1 \"<cuda>\"\n%s#line 1 \"<kernel>\"\n")
    :format(text) or ""
end

return M
