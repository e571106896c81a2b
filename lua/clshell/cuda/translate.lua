-- cuda/translate.lua - CUDA's kernels as OpenCL C, line by line
-- SPDX-License-Identifier: MIT

local edits = require "clshell.cuda.edits"
local host = require "clshell.cuda.host"
local lexer = require "clshell.cuda.lexer"
local parse = require "clshell.cuda.parse"
local spaces = require "clshell.cuda.spaces"
local words = require "clshell.cuda.words"

local M = {}

local function set(names)
  local s = {}
  for name in names:gmatch "%S+" do
    s[name] = true
  end
  return s
end

local AXES = {x = 0, y = 1, z = 2}
local GRID = set "threadIdx blockIdx blockDim gridDim"
local CASTS = set "static_cast reinterpret_cast const_cast"
local INTEGERS = set "int unsigned short char long size_t uint32_t int32_t"
local SCALARS = set "int unsigned short char long float double size_t bool"
-- Keywords and types of OpenCL C that are plain names in CUDA.
local TAKEN = set [[kernel global local constant private generic pipe
  read_only write_only read_write half event_t sampler_t image2d_t]]
local TYPES = set "uchar ushort uint ulong"
-- Functions of OpenCL C that CUDA programs define for themselves.
local BUILTIN = set [[dot cross length distance normalize mix step smoothstep
  clamp sign select mad degrees radians any all bitselect rotate reflect
  fast_length isequal shuffle prefetch]]

local FENCES = {
  __syncthreads = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
  __threadfence = "mem_fence(CLK_GLOBAL_MEM_FENCE)",
  __threadfence_block = "mem_fence(CLK_LOCAL_MEM_FENCE "
    .. "| CLK_GLOBAL_MEM_FENCE)",
}

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

local Translation = {}
Translation.__index = Translation

function Translation:problem(token, text, ...)
  local list = self.problems
  list[#list + 1] = {first = token.first, text = text:format(...)}
end

-- Puts a text for tokens i to j; "" takes them out.
function Translation:put(i, new, j)
  self.out:replace(self.tokens[i].first, self.tokens[j or i].last, new)
end

function Translation:insert(i, new)
  self.out:replace(self.tokens[i].first, self.tokens[i].first - 1, new)
end

function Translation:append(i, new)
  self.out:replace(self.tokens[i].last + 1, self.tokens[i].last, new)
end

function Translation:text_of(i, j)
  return self.source:sub(self.tokens[i].first, self.tokens[j].last)
end

-- The bytes of tokens i to j as blanks.
function Translation:leave_out(i, j)
  self:put(i, "", j)
  self.left[#self.left + 1] = {i, j}
end

-- Records -------------------------------------------------------------------

-- struct P {...}; is a type named P in C++, and a typedef here.
function Translation:record(item)
  local tokens = self.tokens
  for i = item.body + 1, (tokens[item.body].other or item.last) - 1 do
    if tokens[i].text == "(" then
      if self:text_of(item.body, item.last):find "__device__" then
        self:problem(tokens[i - 1], "CUDA: a struct with functions; here: a "
          .. "struct, and functions that take a pointer to it")
      end
      return self:leave_out(item.first, item.last)
    end
  end
  local close = tokens[item.body].other
  if item.name and close and close + 1 == item.last then
    self:insert(item.head, "typedef ")
    self:append(close, " " .. item.name)
  end
end

-- Variables of file scope ---------------------------------------------------

-- The words of a declaration's type, without those in `dropped`.
local DROPPED = set [[__constant__ __device__ __shared__ extern static const
  constexpr inline]]

function Translation:type_of(first, last)
  local list = {}
  for i = first, last do
    if not DROPPED[self.tokens[i].text] then
      list[#list + 1] = self.tokens[i].text
    end
  end
  return (table.concat(list, " "):gsub("long long", "long"))
end

-- A variable that a kernel gets as an argument.
function Translation:hidden_of(item, space)
  local tokens = self.tokens
  local type = self:type_of(item.head, item.at - 1)
  local first = tokens[item.at + 1]
  local array = first.text == "[" and first.other
  local more = array and tokens[array + 1].text == "["
    and self:text_of(array + 1, (item.init or item.last) - 1)
  return {name = item.name, space = space, type = type, array = array and true,
    rows = more and true, token = tokens[item.at],
    parameter = more and ("%s %s %s[]%s"):format(space, type, item.name, more)
      or ("%s %s *%s"):format(space, type, item.name)}
end

function Translation:global(name, space, type, pointer)
  self.globals[name] = {name = name, spaces = {[space] = true}, fixed = true,
    type = type, pointer = pointer}
end

-- Whether tokens i to j are a constant of integers: numbers and names of such.
function Translation:is_constant(i, j, fn)
  for k = i, j do
    local token = self.tokens[k]
    if token.kind == "name" and not self.constants[token.text]
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
-- of the name.
function Translation:constant(first, at, fn)
  local tokens = self.tokens
  local stop = spaces.expression_end(tokens, at + 2, #tokens)
  for i = first, at - 1 do
    local text = tokens[i].text
    if not (DROPPED[text] or INTEGERS[text]) then
      return false
    end
  end
  if tokens[at + 1].text ~= "=" or tokens[stop + 1].text ~= ";"
      or not self:is_constant(at + 2, stop, fn) then
    return false
  end
  self.constants[tokens[at].text] = true
  self:put(first, "enum { ", at - 1)
  self.out:replace(tokens[at - 1].last + 1, tokens[at].first - 1, "")
  self:append(stop, " }")
  return true
end

function Translation:variable(item)
  local tokens, w = self.tokens, item.words
  local at = item.at
  if not at then
    return self:leave_out(item.first, item.last)
  end
  local array = tokens[at + 1].text == "["
  local type = self:type_of(item.head, at - 1)
  if w.__managed__ then
    self:problem(tokens[item.head], words.advice "__managed__")
  elseif w.__shared__ then
    self.hidden[#self.hidden + 1] = self:hidden_of(item, "local")
  elseif w.__constant__ and item.init then
    self:put(item.head, "constant " .. type, at - 1)
    self:global(item.name, "constant", type, array)
    return
  elseif w.__constant__ or w.__device__ then
    self.hidden[#self.hidden + 1] = self:hidden_of(item,
      w.__constant__ and "constant" or "global")
  elseif item.init and (w.const or w.constexpr) then
    if self:constant(item.head, at) then
      return
    end
    self:put(item.head, "constant " .. type, at - 1)
    self:global(item.name, "constant", type, array)
    return
  end
  self:leave_out(item.first, item.last)
end

-- Functions -----------------------------------------------------------------

local PARAMETER = {bool = {"int", "uchar"}, size_t = {"ulong", "ulong"}}

function Translation:parameters(fn, defined)
  local tokens = self.tokens
  for n, p in ipairs(fn.params) do
    local other = defined.params[n]
    local s = other and other.name and defined.symbols[other.name]
    if p.reference then
      self:problem(tokens[p.reference], "CUDA: a reference, %s; here: a "
        .. "pointer, and & at the call", self:text_of(p.first, p.last))
    elseif p.pointer and s then
      self:name_space(s, p.first)
    end
    local stars = 0
    for i = p.first, fn.kernel and p.last or p.first - 1 do
      local types = PARAMETER[tokens[i].text]
      if types then
        self:put(i, types[p.pointer and 2 or 1])
      end
      stars = stars + (tokens[i].text == "*" and 1 or 0)
    end
    if stars > 1 then
      self:problem(tokens[p.first], "CUDA: %s; here: one buffer, and the "
        .. "place of each part in it", self:text_of(p.first, p.last))
    end
  end
  if #fn.hidden > 0 then
    local list = {}
    for i, h in ipairs(fn.hidden) do
      list[i] = h.parameter
    end
    local close = tokens[fn.list].other or fn.list
    if #fn.params == 0 then
      self:put(fn.list, ("(%s)"):format(table.concat(list, ", ")), close)
    else
      self:insert(close, ", " .. table.concat(list, ", "))
    end
  end
end

-- Names the space of a pointer at the token where its declaration begins.
function Translation:name_space(s, site)
  local list = {}
  for space in pairs(s.spaces) do
    list[#list + 1] = space ~= "" and space or "private"
  end
  table.sort(list)
  if #list > 1 and not self.generic then
    self:problem(self.tokens[site], "CUDA: a pointer to any memory%s; here: "
      .. "one to %s memory each, so write it twice",
      s.name and ", " .. s.name or "", table.concat(list, " and one to "))
  elseif #list == 1 and list[1] ~= "private" and not self.named[site] then
    self.named[site] = true
    self:insert(site, list[1] .. " ")
  end
end

-- extern __shared__ T s[]; in a function: takes it out.
function Translation:dynamic(fn)
  local tokens = self.tokens
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
      if item.at and fn.kernel then
        fn.own = self:hidden_of(item, "local")
      elseif item.at then
        self:problem(tokens[i], "CUDA: extern __shared__ in a __device__ "
          .. "function; here: a parameter, local float *s")
      end
      self:put(i, "", stop)
      fn.symbols[item.name or ""] = {name = item.name, fixed = true,
        spaces = {["local"] = true}, type = fn.own and fn.own.type or "",
        pointer = true, fn = fn, sites = {}, sources = {}}
    elseif tokens[i].text == "__shared__" and not fn.kernel
        and tokens[i - 1].text ~= "extern" then
      self:problem(tokens[i], "CUDA: __shared__ in a __device__ function; "
        .. "here: an array of the kernel, handed on as a pointer")
    end
  end
end

-- The hidden arguments that each function uses, itself or by its calls.
function Translation:spread()
  local changed
  local function use(fn, h)
    if not fn.uses[h] then
      fn.uses[h], changed = true, true
    end
  end
  repeat
    changed = false
    for _, fn in ipairs(self.functions.list) do
      for i = fn.body or 1, fn.body and fn.last or 0 do
        local text = self.tokens[i].text
        local called = self.functions[text]
        for _, h in ipairs(self.hidden) do
          if text == h.name and not fn.symbols[text]
              or called and called.uses[h] then
            use(fn, h)
          end
        end
      end
    end
  until not changed
  for _, fn in ipairs(self.functions.list) do
    local defined = self.functions[fn.name]
    fn.hidden = {}
    for _, h in ipairs(self.hidden) do
      fn.hidden[#fn.hidden + 1] = defined.uses[h] and h or nil
    end
    fn.hidden[#fn.hidden + 1] = defined.own
  end
end

function Translation:head(fn)
  local tokens, static = self.tokens, fn.words.static
  for i = fn.head, fn.list - 1 do
    local text = tokens[i].text
    if text == "static" and fn.kernel then
      self:put(i, "")
    elseif text == "inline" or text == "__forceinline__"
        or text == "__inline__" then
      self:put(i, fn.kernel and "" or static and "inline" or "static inline")
      static = true
    end
  end
end

-- Words ---------------------------------------------------------------------

function Translation:fence(i, tokens)
  if tokens[i + 1].text == "(" and tokens[i + 2].text == ")" then
    self.out:replace(tokens[i].first, tokens[i + 2].last,
      FENCES[tokens[i].text])
  end
end

function Translation:place(i, tokens)
  local token, axis = tokens[i], tokens[i + 2]
  local call = words.list[token.text].here
  axis = tokens[i + 1].text == "." and AXES[axis.text]
  if axis then
    self.out:replace(token.first, tokens[i + 2].last,
      ("(uint)%s(%d)"):format(call, axis))
  else
    self.out:replace(token.first, token.last,
      ("(uint3)(%s(0), %s(1), %s(2))"):format(call, call, call))
  end
end

-- The name here of an atomic function whose arguments open at token i.
function Translation:atomic(fn, i, name)
  local tokens = self.tokens
  local stop = spaces.expression_end(tokens, i + 1, (tokens[i].other or i)
    - 1)
  local s = fn.symbols and spaces.base(self.world, fn, i + 1, stop)
  local type = s and s.type or ""
  local float = type:match "%f[%w_](float)" or type:match "%f[%w_](double)"
  if float and name == "atomic_add" then
    self.helpers[float] = true
    return "atomic_add_" .. float
  elseif type:find "%f[%w_]long" or type:find "int64_t" then
    self.wide = true
    return (name:gsub("^atomic", "atom"))
  end
  return name
end

function Translation:subgroup(i, entry)
  local tokens, token = self.tokens, self.tokens[i]
  local open = tokens[i + 1].text == "(" and i + 1
  if not self.has(entry.needs) then
    return self:problem(token, "CUDA: %s; here: an array in local memory, "
      .. "and a barrier (%s needs %s, which this device lacks)", token.text,
      entry.here, entry.needs)
  elseif not open then
    return
  end
  self.extensions[entry.needs] = true
  if token.text == "__syncwarp" then
    return self:put(i, entry.here .. "(CLK_LOCAL_MEM_FENCE)",
      tokens[open].other or open)
  end
  local stop = spaces.expression_end(tokens, open + 1, (tokens[open].other
    or open) - 1)
  self:put(i, entry.here)
  if tokens[stop + 1].text == "," then
    self:put(open + 1, "", stop + 1) -- the mask
  end
end

-- Whether token i is a type called like a function: float(x).
local function conversion(tokens, i)
  local before, open, more = tokens[i - 1], tokens[i + 1], tokens[i + 2]
  return SCALARS[tokens[i].text] and open.text == "(" and more.text ~= "*"
    and (before.kind ~= "name" or before.text == "return")
end

-- Translates the name at place i of a list of tokens; `fn` is the function
-- around it, nil in a directive.
function Translation:name(tokens, i, fn)
  local token, before = tokens[i], tokens[i - 1]
  local text, entry = token.text, words.list[token.text]
  local open = tokens[i + 1].text == "(" and i + 1
  local function put(new, last)
    last = (last or token).last
    local blank = new == "" and self.source:find("^ ", last + 1)
    self.out:replace(token.first, blank and last + 1 or last, new)
  end
  if TAKEN[text] and (text ~= "half" or fn and fn.symbols
      and fn.symbols.half) then
    return put(text .. "_")
  elseif before.text == "." or before.text == "->" then
    return
  elseif FENCES[text] then
    return self:fence(i, tokens)
  elseif GRID[text] then
    return self:place(i, tokens)
  elseif BUILTIN[text] and self.functions[text] then
    return put(text .. "_")
  elseif text == "long" and before.text == "long" then
    return put("")
  elseif text == "__ldg" and open and tokens[open].other then
    put("(*")
    local close = tokens[tokens[open].other]
    return self.out:replace(close.last + 1, close.last, ")")
  elseif CASTS[text] and tokens[i + 1].text == "<" then
    local stop = i + 2
    while stop < #tokens and tokens[stop].text ~= ">" do
      stop = stop + 1
    end
    local close = tokens[stop + 1].other and tokens[tokens[stop + 1].other]
    if close then
      put("((", tokens[i + 1])
      self.out:replace(tokens[stop].first, tokens[stop].last, ")")
      self.out:replace(close.last + 1, close.last, ")")
    end
    return
  elseif conversion(tokens, i) then
    return put("(" .. text .. ")")
  elseif text == "__launch_bounds__" and open and tokens[open].other then
    return put("", tokens[tokens[open].other])
  elseif text == "__align__" and open and tokens[open].other then
    put("__attribute__((aligned")
    local close = tokens[tokens[open].other]
    return self.out:replace(close.last + 1, close.last, "))")
  elseif not entry or fn and fn.symbols and fn.symbols[text] then
    return
  elseif text:find "^atomic" and entry.kind == "word" and open then
    return put(fn and self:atomic(fn, open, entry.here) or entry.here)
  elseif entry.kind == "word" or entry.kind == "float" then
    return put(entry.here)
  elseif fn and entry.kind == "subgroup" then
    return self:subgroup(i, entry)
  elseif fn and entry.kind == "outside" and not self.functions[text] then
    self:problem(token, "%s", words.advice(text))
  end
end

-- The names between tokens first and last.
function Translation:names(first, last, fn)
  local tokens = self.tokens
  for i = first, last do
    local token = tokens[i]
    if token.kind == "name" then
      self:name(tokens, i, fn)
    elseif token.kind == "number" and token.text:find "[lL][lL]" then
      self:put(i, (token.text:gsub("[lL][lL]", "L", 1)))
    elseif token.text == "<<<" then
      self:problem(token, "CUDA: a launch from a kernel; here: another "
        .. "launch from the host")
    end
  end
end

-- The arguments that calls hand on, and variables of file scope by pointer.
function Translation:calls(fn)
  local tokens = self.tokens
  for i = fn.body + 1, fn.last - 1 do
    local text, open = tokens[i].text, tokens[i + 1]
    local called = self.functions[text]
    if called and open.text == "(" and open.other and #called.hidden > 0 then
      local list = {}
      for n, h in ipairs(called.hidden) do
        list[n] = h.name
      end
      self:insert(open.other, (open.other > i + 2 and ", " or "")
        .. table.concat(list, ", "))
    end
    for _, h in ipairs(fn.hidden) do
      if text == h.name and not h.array and tokens[i].kind == "name" then
        self:put(i, ("(*%s)"):format(text))
      end
    end
  end
end

-- const int N = 16; inside a function, as its arrays may need it.
function Translation:constants_of(fn)
  local tokens = self.tokens
  for i = fn.body + 1, fn.last - 1 do
    local text, before = tokens[i].text, tokens[i - 1].text
    if (text == "const" or text == "constexpr" or text == "static")
        and (before == "{" or before == ";" or before == "}") then
      local at = i
      while tokens[at + 1].kind == "name" do
        at = at + 1
      end
      if not self:constant(i, at, fn) and text == "constexpr" then
        self:put(i, "const")
      end
    end
  end
end

-- A directive of the preprocessor that begins with token i.
function Translation:directive(i)
  local token = self.tokens[i]
  local name, rest = token.text:match "^#%s*(%a+)()"
  if name == "include" then
    local file = token.text:match "^#%s*include%s*\"([^\"]*)\""
    if file and file:find "%.cuh?$" then
      self:problem(token, "CUDA: #include \"%s\"; here: one text, so put its "
        .. "lines in", file)
    elseif not file or file:find "cuda" or file:find "^helper_" then
      self:put(i, "")
    end
  elseif name == "define" or name == "if" then
    local list = lexer.tokens(self.source, token.first + rest - 1, token.last)
    for j = 1, #list do
      if list[j].text == "extern" and list[j + 1].kind == "string" then
        self.out:replace(list[j].first, list[j + 1].last, "")
      elseif list[j].kind == "name" then
        self:name(list, j, nil)
      end
    end
  end
end

-- The whole -----------------------------------------------------------------

-- The macros of the text that stand for __global__ or __device__.
function Translation:macros()
  local macros = {}
  for i = 1, #self.tokens do
    local name, rest = self.tokens[i].text:match
      "^#%s*define%s+([%a_][%w_]*)%s(.*)$"
    macros[name or ""] = rest and (rest:match "__global__"
      or rest:match "__device__") or macros[name]
  end
  return macros
end

-- Finds the functions of the device.
function Translation:collect(items)
  local tokens, macros = self.tokens, self:macros()
  for _, item in ipairs(items) do
    local w = item.words or {}
    for word in pairs(macros) do
      w[macros[word]] = w[macros[word]] or w[word]
    end
    local device = w.__global__ or w.__device__
    if item.template and (device or self:text_of(item.first, item.last)
        :find "__device__") then
      self:problem(tokens[item.first], words.advice "template")
    end
    if item.kind == "function" and device and item.name then
      item.kernel = w.__global__ ~= nil
      item.uses, item.symbols = {}, {}
      local old = self.functions[item.name]
      if not old or item.body then
        self.functions[item.name] = item
      end
      table.insert(self.functions.list, item)
    elseif item.kind == "namespace" and self:text_of(item.first, item.last)
        :find "__%a+__" then
      self:problem(tokens[item.first], words.advice "namespace")
    end
  end
end

function Translation:declarations(items)
  for _, item in ipairs(items) do
    if item.kind == "linkage" then
      self:put(item.first, "", item.last)
    elseif item.kind == "record" then
      self:record(item)
      self:names(item.first, item.last, item)
    elseif item.kind == "typedef" then
      if TYPES[self.tokens[item.last - 1].text] then
        self:put(item.first, "", item.last)
      else
        self:names(item.first, item.last, item)
      end
    elseif item.kind == "variable" then
      self:variable(item)
      self:names(item.init or item.last, item.last, item)
    elseif item.kind ~= "function" or not item.uses then
      self:leave_out(item.first, item.last)
    end
  end
end

function Translation:device_code()
  local world = {tokens = self.tokens, list = self.functions.list,
    functions = self.functions, globals = self.globals}
  self.world = world
  for _, h in ipairs(self.hidden) do
    self:global(h.name, h.space, h.type, h.array)
  end
  spaces.infer(world, function(fn)
    if fn.body then
      self:dynamic(fn)
    end
  end)
  self:spread()
  for _, fn in ipairs(world.list) do
    self:head(fn)
    self:parameters(fn, self.functions[fn.name])
    if fn.body then
      self:calls(fn)
      self:constants_of(fn)
    end
    self:names(fn.first, fn.last, fn)
  end
  spaces.each(world, function(s)
    for _, site in ipairs(not s.parameter and s.sites or {}) do
      self:name_space(s, site)
    end
  end)
end

-- The functions and pragmas in front of the text.
function Translation:prelude()
  local parts = {}
  for _, name in ipairs{"cl_khr_subgroups", "cl_khr_subgroup_shuffle",
      "cl_khr_subgroup_shuffle_relative"} do
    parts[#parts + 1] = self.extensions[name]
      and ("#pragma OPENCL EXTENSION %s : enable\n"):format(name) or nil
  end
  if self.wide then
    parts[#parts + 1] = HELPERS.double[3]
      .. HELPERS.double[3]:gsub("base", "extended")
  end
  for _, float in ipairs{"float", "double"} do
    local h = HELPERS[float]
    parts[#parts + 1] = self.helpers[float] and h[3] or nil
    for _, space in ipairs(self.helpers[float] and {"global", "local"}
        or {}) do
      parts[#parts + 1] = ADD:format(float, float, space, float, float,
        float, h[1], h[2], space, h[1])
    end
  end
  return #parts > 0 and ("#line 1 \"<cuda>\"\n%s#line 1 \"<kernel>\"\n")
    :format(table.concat(parts)) or ""
end

-- Notes about kernels that get vectors of three, whose sizes differ.
function Translation:vector_notes(notes)
  for _, fn in ipairs(self.functions.list) do
    for _, p in ipairs(fn.kernel and fn.body and fn.params or {}) do
      local type = p.pointer and self:text_of(p.first, p.last)
        :match "%f[%w_]%l+3%f[^%w_]"
      if type then
        notes[#notes + 1] = {first = self.tokens[p.first].first,
          text = ("CUDA: %s %s, three numbers each; here: four, so take a "
          .. "pointer to %s, and vload3(i, p)"):format(type, p.name or "*",
          type:sub(1, -2))}
      end
    end
  end
end

-- Notes about the arguments that a kernel has here and not in CUDA.
function Translation:hidden_notes()
  local notes, seen = {}, {}
  for _, fn in ipairs(self.functions.list) do
    for _, h in ipairs(fn.kernel and fn.hidden or {}) do
      if not seen[h.token] then
        seen[h.token] = true
        notes[#notes + 1] = {first = h.token.first,
          text = h.space == "local" and ("CUDA: extern __shared__ %s, of "
            .. "the size in <<<>>>; here: an argument, cl.localmem(\"%s\", n)")
            :format(h.name, h.type)
            or ("CUDA: %s %s; here: an argument, cl.buffer(\"%s\", n)")
            :format(h.space == "constant" and "__constant__" or "__device__",
              h.name, h.type)}
      end
    end
  end
  return notes
end

function Translation:renamed_notes(notes)
  for _, fn in ipairs(self.functions.list) do
    if fn.kernel and fn.new ~= fn.name then
      notes[#notes + 1] = {first = self.tokens[fn.at].first,
        text = ("CUDA: a kernel named %s; here: %s, as the name is a word of "
        .. "OpenCL C"):format(fn.name, fn.new)}
    end
  end
end

-- The kernels of the text, as host.launches takes them.
function Translation:kernels()
  local kernels = {}
  for _, fn in ipairs(self.functions.list) do
    if fn.kernel and self.functions[fn.name] == fn then
      fn.new = (TAKEN[fn.name] or BUILTIN[fn.name]) and fn.name .. "_"
        or fn.name
      local kernel = {name = fn.name, new = fn.new, params = fn.params,
        hidden = fn.hidden}
      kernels[#kernels + 1], kernels[fn.name] = kernel, kernel
    end
  end
  return kernels
end

local function in_order(list)
  table.sort(list, function(a, b)
    return (a.first or math.huge) < (b.first or math.huge)
  end)
  return list
end

-- The problems as the log of a compiler.
function Translation:log()
  local lines = {}
  for i, problem in ipairs(self.problems) do
    local line, column = self.out:line(problem.first)
    lines[i] = ("<kernel>:%d:%d: error: %s"):format(line, column,
      problem.text)
  end
  return table.concat(lines, "\n")
end

--- translate.run(source, opts) -> info, or nil, log
--- Translates; log: the errors, as a compiler tells them. `opts`: has(name),
--- whether the device has an extension; options, those of the build. `info`:
--- opencl (the text), column(line, column) of the CUDA text for a place of the
--- OpenCL text, launches and notes: lists of {line, text}, in order.
function M.run(source, opts)
  source = source:gsub("\r", " ")
  local self = setmetatable({source = source, problems = {}, left = {},
    tokens = lexer.tokens(source), out = edits.new(source), globals = {},
    functions = {list = {}}, hidden = {}, helpers = {}, named = {},
    constants = {}, extensions = {}, has = opts.has or function() end,
    generic = (opts.options or ""):find "-cl%-std=CL[23]"}, Translation)
  local items = parse.items(self.tokens)
  self:collect(items)
  if #self.functions.list == 0 and #self.problems == 0 then
    self:problem({first = 1}, "CUDA: a text with a __global__ function; "
      .. "here: none. OpenCL C builds without cuda = true")
  end
  self:declarations(items)
  self:device_code()
  for i = 1, #self.tokens do
    if self.tokens[i].kind == "directive" then
      self:directive(i)
    end
  end
  if #self.problems > 0 then
    in_order(self.problems)
    return nil, self:log()
  end
  local kernels = self:kernels()
  local notes = self:hidden_notes()
  self:renamed_notes(notes)
  self:vector_notes(notes)
  for _, note in ipairs(host.calls(self.tokens, self.left)) do
    notes[#notes + 1] = note
  end
  local launches = host.launches{tokens = self.tokens, kernels = kernels}
  for _, list in ipairs{in_order(notes), launches} do
    for _, item in ipairs(list) do
      item.line = item.first and (self.out:line(item.first)) or nil
      item.first = nil
    end
  end
  local text, column = self.out:apply()
  return {opencl = self:prelude() .. text, column = column, notes = notes,
    launches = launches}
end

return M
