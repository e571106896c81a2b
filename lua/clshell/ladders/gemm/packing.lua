-- ladders/gemm/packing.lua - operands of gemm packed once for the calls to
-- come: how they are made, and how a call takes them
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local arguments = require "clshell.ladder.operands"
local cl = require "cl"
local options = require "clshell.base.options"
local plan = require "clshell.ladder.plan"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local M = {}

local WHO = "gemm.pack"
local SIDES = {a = "A", b = "B"}

-- The names of the rungs that pack operands.
local function packers(gemm)
  local list = {}
  for _, rung in ipairs(gemm.list) do
    list[#list + 1] = rung.pack and rung.name or nil
  end
  return table.concat(list, ", ")
end

-- The rung to pack for: the option `kernel`, or the rung of the calls to come.
local function rung_of(gemm, s, opts)
  local rung = opts.kernel and gemm.rung(opts.kernel)
  rungs.check_options(gemm, opts, rung)
  local chosen, reason = plan.configure(gemm, s, rung, rung
    and plan.parameters(gemm, rung, opts, s))
  if not chosen then
    cl.error(("%s: %s refused: %s"):format(WHO, rung.name, reason))
  end
  rung = chosen.definition
  if not rung.pack then
    cl.error(("%s: %s, the kernel of a product of %dx%dx%d %s, packs no "
      .. "operand"):format(WHO, rung.name, s.m, s.n, s.k, s.type),
      {hint = "hand the Buffer to the calls; kernels that pack: "
        .. packers(gemm)})
  end
  return rung, chosen.params
end

-- The options of gemm.pack, checked: {side, trans, size} and the options of
-- the kernel. `size` is the size that the operand does not tell, or nil.
local function settings(gemm, operands, opts)
  opts = options.given(opts)
  argument.check(WHO, "options", opts, "table")
  local known = {"side", "trans", "m", "n", "kernel"}
  local of_kernel = {kernel = opts.kernel}
  for _, name in ipairs(opts.kernel and rungs.names(gemm.rung(opts.kernel))
      or {}) do
    known[#known + 1], of_kernel[name] = name, opts[name]
  end
  cl.options(opts, known, WHO)
  local side = opts.side or "b"
  if not SIDES[side] then
    cl.error(('%s: side must be "a" or "b"; got %s'):format(WHO,
      text.got(side)), {arg = "side"})
  end
  local name, other = "m", "n"
  if side == "a" then
    name, other = other, name
  end
  if opts[name] ~= nil then
    argument.integer(WHO, name, opts[name], 1)
  elseif opts[other] ~= nil then
    cl.error(("%s: %s is a size of %s itself; give %s, that of the other "
      .. "operand"):format(WHO, other, SIDES[side], name), {arg = other})
  end
  return {side = side, trans = operands.transposed("trans", opts.trans),
    size = opts[name]}, of_kernel
end

-- The shape of the products to come.
local function shape_of(operands, X, set)
  local rows, cols = X.rows, X.cols
  if set.trans then
    rows, cols = cols, rows
  end
  if set.side == "a" then
    return operands.shape{m = rows, k = cols, n = set.size or rows,
      type = X.type, trans_a = set.trans}
  end
  return operands.shape{m = set.size or cols, k = rows, n = cols,
    type = X.type, trans_b = set.trans}
end

-- packing.pack(gemm, operands, X, opts) -> packed operand
-- See gemm.pack; `operands` is the module ladders/gemm/operands.lua.
function M.pack(gemm, operands, X, opts)
  local set, of_kernel = settings(gemm, operands, opts)
  local name = SIDES[set.side]
  local context = arguments.context{X}
  X = arguments.matrix(WHO, name, X, context)
  arguments.check_type(WHO, name, X, operands.types)
  local s = shape_of(operands, X, set)
  s.context = X.context
  local rung, p = rung_of(gemm, s, of_kernel)
  local source = cl.buffer(X.type, {X.rows, X.cols}, nil,
    {context = s.context}) -- which no later write changes
  X:copy(source)
  local results, event = plan.helpers(gemm, s, function(run)
    return rung.pack(s, p, set.side, source, run)
  end)
  event:wait()
  local ready, check = results[1], results[2]
  local reason = check and check()
  if reason then
    cl.error(("%s: %s refused: %s"):format(WHO, rung.name, reason),
      {hint = "hand the Buffer to the calls"})
  end
  return arguments.packed{family = gemm.name, name = name, side = set.side,
    kernel = rung.name, params = p, config = rungs.tostring(rung, p),
    trans = set.trans, type = X.type, source = source, ready = ready}
end

--- Puts Buffers in the place of packed operands in `o`, which is changed.
--- Returns the packed data by side, {a =, b =}, or nil where there is none.
function M.unpack(o, transposed)
  local ready
  for side, name in pairs(SIDES) do
    local x = o[name]
    if arguments.is_packed(x) then
      if x.closed then
        cl.error(("gemm: %s is closed"):format(name), {arg = name})
      elseif x.side ~= side then
        cl.error(("gemm: %s was packed as %s"):format(name, x.name),
          {arg = name, hint = ('gemm.pack(%s, {side = "%s"})'):format(name,
            side)})
      end
      local option = "trans_" .. side
      if o[option] ~= nil and transposed(option, o[option]) ~= x.trans then
        cl.error(("gemm: %s is %s, but %s was packed with trans = %s"):format(
          option, tostring(o[option]), name, tostring(x.trans)), {arg = name,
          hint = ("leave %s out: the packed operand knows it"):format(
            option)})
      end
      o[name], o[option] = x.source, x.trans
      ready = ready or {}
      ready[side] = x.ready
    end
  end
  return ready
end

return M
