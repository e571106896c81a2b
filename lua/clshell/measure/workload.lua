-- measure/workload.lua - the workload of a measurement: a launch, a function,
-- a plan, or a rung on operands, which are made for a shape
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

local FAMILIES = {"gemm", "spmv", "transpose"}
M.SEED = 1 -- of operands made here

local function is_family(x)
  local meta = type(x) == "table" and getmetatable(x)
  return meta and meta.__name == "clshell.family"
end

-- The families of clshell, and others that are loaded.
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

--- target.family(name) -> family, or nil
--- The family of that name, of clshell or loaded.
function M.family(name)
  for _, family in ipairs(families()) do
    if family.name == name then
      return family
    end
  end
end

-- The family and the name of a rung given as "gemm.tiled" or as a table; of a
-- family ("gemm", or its table) no name, where `whole` ones are taken.
local function find_rung(what, who, whole)
  local list = families()
  if type(what) == "string" then
    local first, name = what:match("^([%a_][%w_]*)%.([%a_][%w_]*)$")
    for _, family in ipairs(list) do
      if whole and family.name == what then
        return family
      elseif family.name == first then
        return family, name
      end
    end
    cl.error(("%s: '%s' is no rung, such as \"gemm.tiled\""):format(who,
      what), {hint = "families: " .. table.concat(FAMILIES, ", ")})
  end
  for _, family in ipairs(list) do
    if whole and family == what then
      return family
    end
    for _, entry in ipairs(family.kernels()) do
      if entry.rung == what then
        return family, what.name
      end
    end
  end
end

--- target.find(what, who) -> family, name
--- The family and the name of a rung ("gemm.tiled", or the table that
--- gemm.rung "tiled" gives), or a family alone ("gemm", or its table); nothing
--- for another table.
function M.find(what, who)
  return find_rung(what, who, true)
end

--- target.shape(shape, names, who) -> table
--- The sizes of a shape such as {512} or {m = 1, n = 2, k = 3} by name, with
--- its other fields; a single number stands for all sizes.
function M.shape(shape, names, what)
  local named = {}
  for key, value in pairs(shape) do
    named[key] = type(key) == "string" and value or nil
  end
  for i, name in ipairs(names) do
    local n = shape[name] or shape[i] or #shape == 1 and shape[1] or nil
    if math.type(n) ~= "integer" or n < 1 then
      cl.error(("%s: %s of the shape must be a whole number >= 1; got %s")
        :format(what, name, text.got(n)))
    end
    named[name] = n
  end
  return named
end

local function vector(n, type, seed)
  local h <close> = cl.array(type, n)
  h:random(seed, 0.5, 1.5)
  return cl.buffer(type, n, h)
end

local MAKE = {}

function MAKE.gemm(s, type)
  local matrix = require "clshell.data.matrix"
  return {A = matrix.random(s.m, s.k, {type = type, seed = M.SEED}),
    B = matrix.random(s.k, s.n, {type = type, seed = M.SEED + 1})}
end

function MAKE.transpose(s, type)
  local matrix = require "clshell.data.matrix"
  return {A = matrix.random(s.rows, s.cols, {type = type, seed = M.SEED})}
end

function MAKE.spmv(shape, type, who)
  local dia = require "clshell.data.dia"
  local offsets, n = shape.offsets, shape.rows or shape[1]
  if not offsets then
    local s = M.shape(shape, {"nx", "ny"}, who)
    local nx, ny = s.nx, s.ny
    local nz = shape.nz or shape[3] or 1
    n, offsets = nx * ny * nz, {-nx, -1, 0, 1, nx}
    if nz > 1 then
      table.insert(offsets, 1, -nx * ny)
      table.insert(offsets, nx * ny)
    end
  end
  local matrix = dia.banded(n, offsets, {type = type, seed = M.SEED})
  matrix = shape.format == "csr" and matrix:to_csr() or matrix
  return {M = matrix, x = vector(matrix.cols, type, M.SEED + 1)}
end

local EQUAL = {1, 7, 16, 17, 33}      -- all sizes of a shape
local UNEQUAL = {100, 7, 33, 1}       -- in turn, of shapes with several
local LONG = {100, 1000}              -- of shapes with a single one

-- Those of families whose shapes are not lists of sizes.
local AWKWARD = {
  spmv = {{rows = 1, offsets = {0}}, {rows = 7, offsets = {-6, 0, 6}},
    {rows = 16, offsets = {-1, 0, 1}}, {rows = 17, offsets = {-16, -3, 2, 5}},
    {rows = 33, offsets = {1, 2, 3, 4, 5, 6, 7, 8, 32}},
    {rows = 100, offsets = {-10, -1, 0, 1, 10}},
    {rows = 257, offsets = {-100, -16, 0, 17, 256}}},
}

--- target.awkward(family) -> list
--- Shapes that fit no tile, small enough for the simulator, by rising size.
function M.awkward(family)
  if AWKWARD[family.name] then
    return AWKWARD[family.name]
  end
  local dims, list = #(family.spec.dims or {1}), {}
  for i, n in ipairs(EQUAL) do
    list[i] = {n}
  end
  for i, n in ipairs(dims > 1 and UNEQUAL or LONG) do
    local shape = {n}
    for j = 2, dims do
      shape[j] = UNEQUAL[(i + j - 2) % #UNEQUAL + 1]
    end
    list[#list + 1] = shape
  end
  return list
end

--- target.example(family) -> string
--- The operands of a family as a message shows them.
function M.example(family)
  local words = {}
  for i, name in ipairs(family.spec.inputs) do
    words[i] = name .. " = " .. name
  end
  local n = family.spec.dims and #family.spec.dims or MAKE[family.name] and 2
  return ("such as %s{%s}"):format(n and ("512, {%s} or "):format(
    ("512, "):rep(n):sub(1, -3)) or "", table.concat(words, ", "))
end

--- target.operands(family, shape, type, who) -> operands, true if made here
--- The operands of a shape such as 512, {512, 512, 512} or {m =, n =, k =},
--- random ones of that type (nil: float). Operands, and a sparse matrix, stay
--- as they are.
function M.operands(family, shape, type, who)
  if math.type(shape) ~= nil then
    shape = {shape}
  end
  argument.check(who, "operands or sizes", shape, "table",
    M.example(family))
  if shape[family.spec.inputs[1]] ~= nil then
    return shape
  elseif family.name == "spmv" and (shape.values or shape.row_ptr) then
    return {M = shape, x = vector(shape.cols, shape.values.type, M.SEED)}
  elseif not MAKE[family.name] then
    cl.error(("%s: %s: give the operands, {%s = ...}"):format(who,
      family.name, family.spec.inputs[1]))
  end
  type = type or shape.type or "float"
  if family.spec.dims then
    shape = M.shape(shape, family.spec.dims, who)
  end
  return MAKE[family.name](shape, type, who), true
end

local function callable(what)
  local meta = type(what) == "table" and getmetatable(what)
  return type(what) == "function" or meta and meta.__call and not
    is_family(what)
end

local function is_launch(what)
  return text.class(what) == "Launch"
end

local LAUNCH = "%s, with its arguments, is {k:range(n), {args = {A, n}}} in "
  .. "compare, and k:range(n), {args = {A, n}} in bench"

-- The options behind a workload.
local function options(who, opts, what)
  return argument.check(who, "options", opts == nil and {} or opts, "table",
    is_launch(what) and LAUNCH:format "a launch" or nil)
end

local function of_launch(launch, opts)
  local args = opts.args or {}
  if type(args) ~= "table" then
    cl.error("bench: args must be a list, the arguments of the launch; got "
      .. type(args))
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

--- target.of(who, what, ...) -> workload, opts
--- The workload of the arguments of bench or compare: {call, name} of a
--- function, a Launch (with opts.args) or a plan; {family, rung, params,
--- operands} of a rung, given as gemm.rung "tiled" or "gemm.tiled", followed
--- by a shape (or operands), parameters and options.
function M.of(who, what, ...)
  if is_launch(what) then
    local opts = options(who, (...), what)
    return of_launch(what, opts), opts
  elseif type(what) == "table" and what.commands then
    local name = what.rung and what.rung.name or "plan"
    return {call = what, plan = what, name = name}, options(who, ...)
  elseif callable(what) then
    return {call = what, name = who}, options(who, ...)
  elseif type(what) == "string" or type(what) == "table" then
    local family, name = find_rung(what, who)
    if family then
      local shape, params = ...
      local opts = options(who, select(3, ...))
      local o, made = M.operands(family, shape, opts.type, who)
      return {family = family, rung = name, params = params, operands = o,
        seed = made and M.SEED or nil}, opts
    end
  end
  cl.error(("%s: the workload must be a launch, a function that returns "
    .. "events, or a rung with a shape; got %s"):format(who, text.got(what)),
    {hint = text.class(what) == "Event"
      and LAUNCH:format "a launch that can be repeated"
      or ("%s(\"gemm.tiled\", {512, 512, 512}, {tile = 16})"):format(who)})
end

-- target.ladder(who, what, shape [, type]) -> workload, or nil
-- A rung or a whole family ("gemm", rung nil) on operands; nil where `what` is
-- neither.
function M.ladder(who, what, shape, type)
  local family, name = find_rung(what, who, true)
  if family then
    local o, made = M.operands(family, shape, type, who)
    return {family = family, rung = name, operands = o,
      seed = made and M.SEED or nil}
  end
end

local function is_buffer(x)
  return text.class(x) == "Buffer"
end

-- Bytes of all Buffers among operands, and inside their tables (matrices).
function M.footprint(o, inside)
  local bytes = 0
  for _, value in pairs(o) do
    if is_buffer(value) then
      bytes = bytes + value.bytes
    elseif type(value) == "table" and not inside then
      bytes = bytes + M.footprint(value, true)
    end
  end
  return bytes
end

-- Operands with Buffers of their own; `except` names an operand to leave out.
function M.copy(o, except, inside)
  local copy = {}
  for name, value in pairs(o) do
    if name == except then
      value = nil
    elseif is_buffer(value) then
      local b = value
      value = cl.buffer(b.type, b.shape, nil, {context = b.context,
        ld = b.rows and b.ld or nil})
      b:copy(value)
    elseif type(value) == "table" and not inside then
      value = M.copy(value, nil, true)
    end
    copy[name] = value
  end
  return copy
end

-- "16x16", or "driver's" without a local size.
function M.local_text(size)
  return size and text.shape(size) or "driver's"
end

return M
