-- ladder/workload.lua - the workload of a measurement: a launch, a function,
-- a plan, or a rung on operands, which are made for a shape
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local families = require "clshell.ladder.families"
local lazy = require "clshell.base.lazy"
local operands = require "clshell.ladder.operands"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"
local with = require "clshell.base.options".with

local M = {}

M.SEED = 1 -- of operands made here

--- target.find(what, who) -> family, name
--- The family and the name of a rung ("gemm.tiled", or the table that
--- gemm.rung "tiled" gives), or a family alone ("gemm", or its table); nothing
--- for another table.
--- Example:
--- local family, name = target.find("gemm.tiled", "mine")
--- print(family == gemm, name) --> true tiled
function M.find(what, who)
  if type(what) == "string" then
    local first, name = what:match("^([%a_][%w_]*)%.([%a_][%w_]*)$")
    local family = families.get(first or what)
    if family then
      return family, name
    end
    cl.error(("%s: '%s' is no rung, such as \"gemm.tiled\""):format(who,
      what), {hint = "families: " .. table.concat(families.names(), ", ")})
  elseif families.is(lazy.load(what)) then
    return what
  end
  for _, name in ipairs(families.names()) do
    local family = families.get(name)
    for _, rung in ipairs(family.list) do
      if rung == what then
        return family, what.name
      end
    end
  end
end

--- target.shape(shape, names, who) -> table
--- The sizes of a shape such as {512} or {m = 1, n = 2, k = 3} by name, with
--- its other fields; a single number stands for all sizes.
--- Example:
--- local s = target.shape({512}, {"m", "n", "k"}, "mine")
--- print(s.m, s.n, s.k) --> 512 512 512
function M.shape(shape, names, what)
  local named = {}
  for key, value in pairs(shape) do
    named[key] = type(key) == "string" and value or nil
  end
  if #shape > #names then
    cl.error(("%s: the shape has the sizes %s; got %d numbers"):format(what,
      table.concat(names, ", "), #shape))
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

local EQUAL = {1, 7, 16, 17, 33}      -- all sizes of a shape
local UNEQUAL = {100, 7, 33, 1}       -- sizes in turn, of shapes with several
local LONG = {100, 1000}              -- sizes of shapes with a single one
local FEW = {1, 7, 17, 100}           -- in place of EQUAL
local LARGER = {33, 65, 129}          -- than a tile, in place of UNEQUAL

--- target.awkward(family [, few]) -> list
--- Shapes that fit no tile: the shapes that the family declares; else small
--- shapes for the simulator, or, with `few`, fewer shapes for a device, one of
--- them larger.
--- Example:
--- print(#target.awkward(transpose), target.awkward(transpose)[2][1]) --> 9 7
function M.awkward(family, few)
  if family.spec.awkward then
    return family.spec.awkward
  end
  local dims, list = #(family.spec.dims or {1}), {}
  for i, n in ipairs(few and FEW or EQUAL) do
    list[i] = {n}
  end
  local turn = dims == 1 and LONG or few and LARGER or UNEQUAL
  for i = few and #turn or 1, #turn do
    local shape = {}
    for j = 1, dims do
      shape[j] = turn[(i + j - 2) % #turn + 1]
    end
    list[#list + 1] = shape
  end
  return list
end

local FILTER = 5 -- a size behind the second, of shapes with more than three

--- target.sizes(family, n) -> list
--- The sizes of a shape of a family with n at each, such as {n, n, n}; with
--- four sizes, as of conv2d, the sizes of a filter are small: {n, n, 5, 5}.
--- Example:
--- print(table.concat(target.sizes(gemm, 64), " ")) --> 64 64 64
--- print(table.concat(target.sizes(conv2d, 64), " ")) --> 64 64 5 5
function M.sizes(family, n)
  local sizes, count = {}, #(family.spec.dims or {"nx", "ny"})
  for i = 1, count do
    sizes[i] = count > 3 and i > 2 and FILTER or n
  end
  return sizes
end

--- target.example(family) -> string
--- The operands of a family as a message shows them.
--- Example:
--- print(target.example(transpose)) --> such as 512, {512, 512} or {A = A}
function M.example(family)
  local words, sizes = {}, M.sizes(family, 512)
  for i, name in ipairs(family.spec.inputs) do
    words[i] = name .. " = " .. name
  end
  return ("such as %s{%s} or {%s}"):format(#sizes <= 3 and "512, " or "",
    table.concat(sizes, ", "), table.concat(words, ", "))
end

-- Raises where the device cannot hold operands of a shape, before they are
-- made.
local function check_memory(family, shape, who)
  local format = require "clshell.base.quantity".format
  local s, context, total = family.spec.shape(shape), cl.context(), 0
  local device, words = context.device, {}
  for i, one in ipairs(family.spec.extents(s)) do
    local bytes = format(one.bytes, "B", 3)
    words[i] = ("%s (%s)"):format(one.name, bytes)
    total = total + one.bytes
    if one.bytes > device.max_mem_alloc_size then
      cl.error(("%s: %s, %s of %s, takes %s; a Buffer on %s takes at most %s")
        :format(who, one.name, text.shape(one.sizes), s.type, bytes,
        device.name, format(device.max_mem_alloc_size, "B", 3)),
        {hint = family.name == "gemm" and "smaller sizes, or gemm.out_of_core"
          or "smaller sizes"})
    end
  end
  if context.used + total > device.global_mem_size then
    collectgarbage() -- Buffers that nothing refers to any more
  end
  if context.used + total > device.global_mem_size then
    cl.error(("%s: %s take %s together; %s has %s, of which %s are in Buffers "
      .. "already"):format(who, table.concat(words, ", "), format(total, "B",
      3), device.name, format(device.global_mem_size, "B", 3),
      format(context.used, "B", 3)), {hint = "smaller sizes, or b:close() for "
      .. "Buffers of no more use"})
  end
end

--- target.operands(family, shape, type, who [, rung]) -> operands, made
--- The operands of a shape such as 512, {512, 512, 512} or {m =, n =, k =},
--- random ones of that type (nil: float), in the format that the rung of that
--- name takes; `made` is true. Operands, and a sparse matrix, stay as they
--- are.
--- Example:
--- local o, made = target.operands(gemm, {4, 5, 6}, "float", "mine")
--- print(o.A.rows, o.A.cols, o.B.cols, made) --> 4 6 5 true
function M.operands(family, shape, type, who, rung)
  if math.type(shape) ~= nil then
    shape = {shape}
  end
  argument.check(who, "operands or sizes", shape, "table",
    M.example(family))
  if shape[family.spec.inputs[1]] ~= nil then
    return shape
  end
  type = type or shape.type or (family.spec.types or {"float"})[1]
  if family.spec.dims then
    shape = M.shape(shape, family.spec.dims, who)
    shape.type = type
    check_memory(family, shape, who)
  elseif not shape.format and rung then -- the format of a sparse matrix
    shape = with({format = rungs.find(family, rung, who).format}, shape)
  end
  local o, given = family.spec.make(shape, M.SEED, type)
  return o, not given
end

-- Whether x tells the operands of a rung: sizes such as 512 or {512, 512},
-- or operands by name.
local function is_target(family, x)
  return math.type(x) ~= nil or type(x) == "table"
    and (x[1] ~= nil or x[family.spec.inputs[1]] ~= nil)
end

-- The arguments behind the name of a rung: parameters, which may be left out,
-- operands or sizes, options.
function M.behind_name(family, who, params, target, opts)
  if target == nil or not is_target(family, target) then
    if is_target(family, params) then
      params, target, opts = nil, params, target or opts
    end
  end
  if params ~= nil then
    argument.check(who, "the parameters", params, "table")
  end
  return params, target, opts
end

-- Whether a value can be called: a function, a callable table, a recording of
-- cl.record.
local function callable(what)
  local meta = type(what) == "table" and getmetatable(what)
  return type(what) == "function" or text.class(what) == "CommandBuffer"
    or meta and meta.__call and not families.is(what)
end

local function is_launch(what)
  return text.class(what) == "Launch"
end

-- The rung of a call that names no rung, and its parameters.
local function chosen(who, family, o, params)
  if params ~= nil and next(params) ~= nil then
    cl.error(("%s: parameters belong to a rung; name one, such as \"%s.%s\"")
      :format(who, family.name, family.list[1].name))
  end
  local choice = family.choice(o)
  return choice.rung, choice.params
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
    name = launch.kernel.name, launch = launch, args = args,
  }
end

--- target.of(who, what, ...) -> workload, opts
--- The workload of the arguments of bench or compare: {call, name} of a
--- function, a Launch (with opts.args) or a plan; {family, rung, params,
--- operands} of a rung, given as gemm.rung "tiled" or "gemm.tiled", followed
--- by a shape (or operands), parameters and options; "gemm" alone is the rung
--- that a call takes.
--- Example:
--- local t, opts = target.of("bench", "gemm.tiled", {64, 64, 64}, {tile = 8})
--- print(t.rung, t.params.tile) --> tiled 8
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
    local family, name = M.find(what, who)
    if family then
      local shape, params = ...
      local opts = options(who, select(3, ...))
      local o, made = M.operands(family, shape, opts.type, who, name)
      if not name then
        name, params = chosen(who, family, o, params)
      end
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

-- target.plan(who, n, what, shape, ...) -> plan, opts
-- The plan of a rung, and the options, of the arguments of target.of; n stands
-- for the sizes of a shape that is left out.
function M.plan(who, n, what, shape, ...)
  local w, opts = M.of(who, what, shape or M.sizes(M.find(what, who), n), ...)
  local plan, reason = w.family.plan_for(w.rung, w.params or {}, w.operands)
  return plan or cl.error(("%s: %s.%s refused: %s"):format(who, w.family.name,
    w.rung, reason)), opts
end

-- target.ladder(who, what, shape [, type]) -> workload, or nil
-- A rung or a whole family ("gemm", rung nil) on operands; nil where `what` is
-- neither.
function M.ladder(who, what, shape, type)
  local family, name = M.find(what, who)
  if family then
    local o, made = M.operands(family, shape, type, who, name)
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

M.MARGIN = 3 -- elements of a row beyond its columns, in longer rows

--- target.longer(given [, gaps, inner]) -> operands, parents; or nil
--- The given operands with matrices whose rows are longer in memory than their
--- columns by target.MARGIN elements, or only these that the table `gaps` has
--- by name, by its numbers; with `inner` they begin inside of a larger matrix.
--- The rest of each larger matrix, in `parents` by operand, is NaN. nil where
--- none is a matrix.
--- Example: print(target.longer({A = matrix.random(4)}).A.ld) --> 7
function M.longer(given, gaps, inner)
  local copy, parents, more = {}, {}, inner and 1 or 0
  for name, b in pairs(given) do
    local gap = gaps and gaps[name] or not gaps and M.MARGIN
    copy[name] = b
    if is_buffer(b) and b.rows and gap then
      local parent = cl.buffer(b.type, {b.rows + more, b.cols + gap}, nil,
        {context = b.context})
      require "clshell.ladder.verify".poison(parent)
      copy[name] = parent:matrix(1 + more * (parent.ld + 2), b.rows, b.cols,
        parent.ld)
      copy[name]:write(b:read())
      parents[name] = parent
    end
  end
  if next(parents) then
    return copy, parents
  end
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
    elseif operands.is_packed(value) then
      local fields = M.copy(value, nil, true)
      fields.ready = M.copy(value.ready, nil, true)
      value = operands.packed(fields)
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
