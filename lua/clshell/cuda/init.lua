-- cuda/init.lua - CUDA's kernels, built as OpenCL C: require "clshell.cuda"
-- words: the table of CUDA's words and the words here. A translation (with the
-- edits of its text) goes line by line through cuda_tokens, parse and spaces
-- (of pointers), declarations, conversions (of values) and cuda_names; host:
-- launches and calls of the host's code as Lua.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local declarations = require "clshell.cuda.declarations"
local host = require "clshell.cuda.host"
local names = require "clshell.cuda.cuda_names"
local options = require "clshell.base.options"
local parse = require "clshell.cuda.parse"
local position = require "clshell.base.text".position
local set = require "clshell.base.text".set
local spaces = require "clshell.cuda.spaces"
local translation = require "clshell.cuda.translation"
local words = require "clshell.cuda.words"

local M = {}

-- Types of CUDA's headers that OpenCL C has by the same names.
local TYPES = set "uchar ushort uint ulong"

-- The macros of the text that stand for __global__ or __device__.
local function macros_of(t)
  local macros = {}
  for i = 1, #t.tokens do
    local name, rest = t.tokens[i].text:match
      "^#%s*define%s+([%a_][%w_]*)%s(.*)$"
    macros[name or ""] = rest and (rest:match "__global__"
      or rest:match "__device__") or macros[name]
  end
  return macros
end

-- Finds the functions of the device.
local function collect(t, items)
  local tokens, macros = t.tokens, macros_of(t)
  for _, item in ipairs(items) do
    local w = item.words or {}
    for word in pairs(macros) do
      w[macros[word]] = w[macros[word]] or w[word]
    end
    local device = w.__global__ or w.__device__
    if item.template and (device or t:text_of(item.first, item.last)
        :find "__device__") then
      t:problem(tokens[item.first], words.advice "template")
    end
    if item.kind == "function" and device and item.name then
      item.kernel = w.__global__ ~= nil
      item.uses, item.symbols = {}, {}
      local old = t.functions[item.name]
      if not old or item.body then
        t.functions[item.name] = item
      end
      table.insert(t.list, item)
    elseif item.kind == "namespace" and t:text_of(item.first, item.last)
        :find "__%a+__" then
      t:problem(tokens[item.first], words.advice "namespace")
    end
  end
end

local function declare(t, items)
  declarations.tags(t)
  for i = 1, #t.tokens do
    local name, rest = t.tokens[i].text:match
      "^#%s*define%s+([%a_][%w_]*)%s+([%w_ ]+)$"
    for word in (rest or ""):gmatch "[%w_]+" do
      t.three[name] = t.three[word]
    end
  end
  for _, item in ipairs(items) do
    if item.kind == "record" or item.kind == "typedef" then
      names.threes(t, item)
    end
  end
  for _, item in ipairs(items) do
    if item.kind == "linkage" then
      t:put(item.first, "", item.last)
    elseif item.kind == "record" then
      declarations.record(t, item)
      names.translate(t, item.first, item.last, item)
    elseif item.kind == "typedef"
        and TYPES[t.tokens[item.last - 1].text] then
      t:put(item.first, "", item.last)
    elseif item.kind == "typedef" then
      names.translate(t, item.first, item.last, item)
    elseif item.kind == "variable" then
      declarations.variable(t, item)
      names.translate(t, item.init or item.last, item.last, item)
    elseif item.kind ~= "function" or not item.uses then
      t:leave_out(item.first, item.last)
    end
  end
end

local function device_code(t)
  for _, h in ipairs(t.hidden) do
    declarations.global(t, h.name, h.space, h.type, h.array)
  end
  spaces.infer(t, function(fn)
    if fn.body then
      declarations.dynamic(t, fn)
    end
  end)
  declarations.spread(t)
  for _, fn in ipairs(t.list) do
    declarations.head(t, fn)
    declarations.parameters(t, fn, t.functions[fn.name])
    if fn.body then
      declarations.calls(t, fn)
      declarations.constants_of(t, fn)
    end
    names.translate(t, fn.first, fn.last, fn)
  end
  spaces.each(t, function(s)
    for _, site in ipairs(not s.parameter and s.sites or {}) do
      declarations.name_space(t, s, site)
    end
  end)
end

-- The kernels of the text, as host.launches takes them.
local function kernels_of(t)
  local kernels = {}
  for _, fn in ipairs(t.list) do
    if fn.kernel and t.functions[fn.name] == fn then
      fn.new = names.kernel(fn.name)
      kernels[#kernels + 1], kernels[fn.name] = fn, fn
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
local function log_of(t)
  local lines = {}
  for i, problem in ipairs(in_order(t.problems)) do
    local line, column = position(t.source, problem.first)
    lines[i] = ("<kernel>:%d:%d: error: %s"):format(line, column,
      problem.text)
  end
  return table.concat(lines, "\n")
end

-- The notes on what differs between the kernels here and in CUDA: {first (the
-- place in the text), text}.
local function notes_of(t)
  local notes, seen = {}, {}
  local function add(token, text, ...)
    notes[#notes + 1] = {first = token.first, text = text:format(...)}
  end
  for _, token in ipairs(t.threes) do
    add(token, "CUDA: %s in a struct, three numbers; here: four, so its "
      .. "fields and size differ", token.text)
  end
  for _, fn in ipairs(t.list) do
    for _, h in ipairs(fn.kernel and fn.hidden or {}) do
      if not seen[h.token] and h.space == "local" then
        add(h.token, "CUDA: extern __shared__ %s, of the size in <<<>>>; "
          .. "here: an argument, cl.localmem(\"%s\", n)", h.name, h.type)
      elseif not seen[h.token] then
        add(h.token, "CUDA: %s %s; here: an argument, cl.buffer(\"%s\", n)",
          h.space == "constant" and "__constant__" or "__device__", h.name,
          h.type)
      end
      seen[h.token] = true
    end
    if fn.kernel and fn.new ~= fn.name then
      add(t.tokens[fn.at], "CUDA: a kernel named %s; here: %s, as the name is "
        .. "a word of OpenCL C", fn.name, fn.new)
    end
    for _, p in ipairs(fn.kernel and fn.body and fn.params or {}) do
      local type = p.pointer and t:text_of(p.first, p.last)
        :match "%f[%w_]%l+3%f[^%w_]"
      if type then
        add(t.tokens[p.first], "CUDA: %s %s, three numbers each; here: four, "
          .. "so take a pointer to %s, and vload3(i, p)", type, p.name or "*",
          type:sub(1, -2))
      end
    end
  end
  return notes
end

-- Translates, see cuda.translate; the log has the errors in the form of a
-- compiler. `info` has `column` as well: column(line, column) of the CUDA text
-- for a place of the OpenCL text.
local function run(source, opts)
  source = source:gsub("\r", " ")
  local t = translation.new(source, opts)
  local items = parse.items(t.tokens)
  collect(t, items)
  if #t.list == 0 and #t.problems == 0 then
    t:problem({first = 1}, "CUDA: a text with a __global__ function; "
      .. "here: none. OpenCL C builds without cuda = true")
  end
  declare(t, items)
  device_code(t)
  for i = 1, #t.tokens do
    if t.tokens[i].kind == "directive" then
      names.directive(t, i)
    end
  end
  if #t.problems > 0 then
    return nil, log_of(t)
  end
  local launches = host.launches{tokens = t.tokens, kernels = kernels_of(t)}
  local list = notes_of(t)
  for _, note in ipairs(host.calls(t.tokens, t.left)) do
    list[#list + 1] = note
  end
  for _, items_of in ipairs{in_order(list), launches} do
    for _, item in ipairs(items_of) do
      item.line = item.first and (position(t.source, item.first)) or nil
      item.first = nil
    end
  end
  local text, column = t:apply()
  return {opencl = names.prelude(t) .. text, column = column, notes = list,
    launches = launches}
end

--- cuda.translate(source [, opts]) -> info, or nil, log
--- Translates the kernels of a CUDA text into OpenCL C without building them:
--- `info.opencl`, `info.launches` (the launches as Lua) and `info.notes`
--- (other parts of the text, and the Lua for them), lists of {line, text}.
--- Lines keep their numbers. A text that OpenCL C cannot express gives nil and
--- the reasons. cl.build with cuda = true translates and builds.
--- Options:
---   options  none   of the build: "-cl-std=CL3.0" lets a pointer point
---                   into any memory
---   has      none   has(name): whether the device has an extension
--- Example:
--- local info = cuda.translate [[
--- __global__ void fill(float *x) { x[threadIdx.x] = 1; }
--- int main() { fill<<<2, 64>>>(x); }]]
--- print(info.launches[1].text) --> fill:range({2 * 64}, {64})(x)
--- print(info.opencl:match "%b()") --> (global float *x)
function M.translate(source, opts)
  argument.check("cuda.translate", "source", source, "string")
  opts = options.check(opts, "cuda.translate")
  for name, kind in pairs{options = "string", has = "function"} do
    if opts[name] ~= nil then
      argument.check("cuda.translate", name, opts[name], kind)
    end
  end
  return run(source, opts)
end

return M
