-- measure/workload.lua - what is measured: a launch, a function, a plan, or a
-- rung with a shape, for which operands are made
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local FAMILIES = {"gemm", "spmv", "transpose"}
M.SEED = 1 -- of operands made here

local function is_family(x)
  local meta = type(x) == "table" and getmetatable(x)
  return meta and meta.__name == "clshell.family"
end

-- The families that are loaded, those of clshell among them.
local function families()
  local list = {}
  for _, name in ipairs(FAMILIES) do
    list[#list + 1] = require("clshell." .. name)
  end
  for _, module in pairs(package.loaded) do
    if is_family(module) then
      list[#list + 1] = module
    end
  end
  return list
end

-- The family and the name of a rung given as "gemm.tiled" or as a table.
local function find_rung(what, who)
  local list = families()
  if type(what) == "string" then
    local first, name = what:match("^([%a_][%w_]*)%.([%a_][%w_]*)$")
    for _, family in ipairs(list) do
      if family.name == first then
        return family, name
      end
    end
    cl.error(("%s: '%s' is no rung: a name such as \"gemm.tiled\""):format(
      who, what), {hint = "families: " .. table.concat(FAMILIES, ", ")})
  end
  for _, family in ipairs(list) do
    for _, entry in ipairs(family.kernels()) do
      if entry.rung == what then
        return family, what.name
      end
    end
  end
end

-- Whole numbers of a shape such as {512} or {m = 1, n = 2, k = 3}; one
-- number stands for all.
local function sizes(shape, names, what)
  local list = {}
  for i, name in ipairs(names) do
    local n = shape[name] or shape[i] or #shape == 1 and shape[1]
    if math.type(n) ~= "integer" or n < 1 then
      cl.error(("%s: the shape's %s is a whole number of at least 1, not %s")
        :format(what, name, tostring(n)))
    end
    list[i] = n
  end
  return table.unpack(list)
end

local function vector(n, type, seed)
  local h <close> = cl.array(type, n)
  h:random(seed, 0.5, 1.5)
  return cl.buffer(type, n, h)
end

local MAKE = {}

function MAKE.gemm(shape, type)
  local matrix = require "clshell.data.matrix"
  local m, n, k = sizes(shape, {"m", "n", "k"}, "gemm")
  return {A = matrix.random(m, k, {type = type, seed = M.SEED}),
    B = matrix.random(k, n, {type = type, seed = M.SEED + 1})}
end

function MAKE.transpose(shape, type)
  local matrix = require "clshell.data.matrix"
  local rows, cols = sizes(shape, {"rows", "cols"}, "transpose")
  return {A = matrix.random(rows, cols, {type = type, seed = M.SEED})}
end

function MAKE.spmv(shape, type)
  local dia = require "clshell.data.dia"
  local offsets, n = shape.offsets, shape.rows or shape[1]
  if not offsets then
    local nx, ny = sizes(shape, {"nx", "ny"}, "spmv")
    local nz = shape.nz or shape[3] or 1
    n, offsets = nx * ny * nz, {-nx, -1, 0, 1, nx}
    if nz > 1 then
      table.insert(offsets, 1, -nx * ny)
      table.insert(offsets, nx * ny)
    end
  end
  local matrix = dia.banded(n, offsets, {type = type, seed = M.SEED})
  return {M = matrix, x = vector(matrix.cols, type, M.SEED + 1)}
end

-- The operands that a shape stands for; operands themselves, and a sparse
-- matrix, are taken as they are.
local function operands(family, shape, type, who)
  if _G.type(shape) ~= "table" then
    cl.error(("%s: a rung needs a shape, such as {512, 512, 512}"):format(
      who))
  elseif shape[family.spec.inputs[1]] ~= nil then
    return shape
  elseif family.name == "spmv" and (shape.values or shape.row_ptr) then
    return {M = shape, x = vector(shape.cols, shape.values.type, M.SEED)}
  elseif not MAKE[family.name] then
    cl.error(("%s: %s: give the operands, {%s = ...}"):format(who,
      family.name, family.spec.inputs[1]))
  end
  return MAKE[family.name](shape, type or shape.type or "float"), true
end

local function callable(what)
  local meta = type(what) == "table" and getmetatable(what)
  return type(what) == "function" or meta and meta.__call and not
    is_family(what)
end

local function is_launch(what)
  return type(what) == "userdata" and what.localsize ~= nil
    or type(what) == "userdata" and what.global ~= nil
end

local function of_launch(launch, opts)
  local args = opts.args or {}
  if type(args) ~= "table" then
    cl.error("bench: args is the list of the launch's arguments")
  end
  local n = args.n or #args
  return {
    call = function()
      return launch(table.unpack(args, 1, n))
    end,
    kernel = launch.kernel, size = launch.localsize,
    name = launch.kernel.name,
  }
end

--- target.of(who, what, ...) -> target, opts
--- What bench and compare measure, made of their arguments: {call, name} of a
--- function, a Launch (with opts.args) or a plan; {family, rung, params,
--- operands} of a rung, given as gemm.rung "tiled" or "gemm.tiled", followed
--- by a shape (or operands), parameters and options.
function M.of(who, what, ...)
  if is_launch(what) then
    local opts = ... or {}
    return of_launch(what, opts), opts
  elseif type(what) == "table" and what.commands then
    local name = what.rung and what.rung.name or "plan"
    return {call = what, plan = what, name = name}, (... or {})
  elseif callable(what) then
    return {call = what, name = who}, (... or {})
  elseif type(what) == "string" or type(what) == "table" then
    local family, name = find_rung(what, who)
    if family then
      local shape, params, opts = ...
      opts = opts or {}
      local o, made = operands(family, shape, opts.type, who)
      return {family = family, rung = name, params = params, operands = o,
        seed = made and M.SEED or nil}, opts
    end
  end
  cl.error(("%s: a launch, a function that returns events, or a rung with "
    .. "a shape expected, got %s"):format(who, type(what)),
    {hint = ("%s(\"gemm.tiled\", {512, 512, 512}, {tile = 16})"):format(
      who)})
end

-- All Buffers among operands, those inside matrices too.
local function each_buffer(o, f)
  for _, value in pairs(o) do
    if type(value) == "userdata" and value.unmap then
      f(value)
    elseif type(value) == "table" then
      for _, inner in pairs(value) do
        if type(inner) == "userdata" and inner.unmap then
          f(inner)
        end
      end
    end
  end
end

-- Bytes that the operands take together.
function M.footprint(o)
  local bytes = 0
  each_buffer(o, function(b)
    bytes = bytes + b.bytes
  end)
  return bytes
end

local function copy_buffer(b)
  local other = cl.buffer(b.type, b.shape, nil, {context = b.context,
    ld = b.rows and b.ld or nil})
  b:copy(other)
  return other
end

-- Operands with Buffers of their own; `but` names what is left out.
function M.copy(o, but)
  local copy = {}
  for name, value in pairs(o) do
    if name == but then
      value = nil
    elseif type(value) == "userdata" and value.unmap then
      value = copy_buffer(value)
    elseif type(value) == "table" then
      local inner = {}
      for key, x in pairs(value) do
        inner[key] = type(x) == "userdata" and x.unmap and copy_buffer(x)
          or x
      end
      value = inner
    end
    copy[name] = value
  end
  return copy
end

-- "16x16", or what there is instead.
function M.local_text(size)
  return size and text.shape(size) or "driver's"
end

return M
