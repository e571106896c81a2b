-- ladders/gemm/packing.lua - operands of gemm that are packed once for the
-- calls to come
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local arguments = require "clshell.ladder.operands"
local cl = require "cl"
local operands = require "clshell.ladders.gemm.gemm_operands"
local options = require "clshell.base.options"
local plan = require "clshell.ladder.plan"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"

local WHO = "gemm.pack"

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

-- The options of gemm.pack, checked; and the side, the operand there, and the
-- size that this operand does not tell, or nil.
local function settings(gemm, opts)
  opts = argument.check(WHO, "options", options.given(opts), "table")
  local known = {table.unpack(options.names(WHO))}
  local of_kernel = opts.kernel and rungs.names(gemm.rung(opts.kernel)) or {}
  table.move(of_kernel, 1, #of_kernel, #known + 1, known)
  cl.options(opts, known, WHO)
  local side = opts.side or "b"
  local name = operands.SIDES[side]
  if not name then
    argument.refuse(WHO, "side", 'must be "a" or "b"; got %s', text.got(side))
  end
  local own, other = "n", "m"
  if side == "a" then
    own, other = other, own
  end
  if opts[other] ~= nil then
    argument.integer(WHO, other, opts[other], 1)
  elseif opts[own] ~= nil then
    argument.refuse(WHO, own, "is a size of %s itself; give %s, the size of "
      .. "the other operand", name, other)
  end
  return opts, side, name, opts[other]
end

-- packing.pack(gemm, X, opts) -> packed operand; see gemm.pack
local function pack(gemm, X, opts)
  local side, name, size
  opts, side, name, size = settings(gemm, opts)
  local trans = operands.transposed("trans", opts.trans)
  X = arguments.matrix(WHO, name, X, arguments.context{X})
  arguments.check_type(WHO, name, X, operands.types)
  local rows, cols = X.rows, X.cols
  if trans then
    rows, cols = cols, rows
  end
  local s = operands.shape(side == "a"
    and {m = rows, k = cols, n = size or rows, type = X.type, trans_a = trans}
    or {m = size or cols, k = rows, n = cols, type = X.type, trans_b = trans})
  s.context = X.context
  local rung, p = rung_of(gemm, s, opts)
  local source = cl.buffer(X.type, {X.rows, X.cols}, nil,
    {context = s.context}) -- which no later write changes
  X:copy(source)
  local results, event = plan.helpers(gemm, s, function(run)
    return rung.pack(s, p, side, source, run)
  end)
  event:wait()
  local ready, check = results[1], results[2]
  local reason = check and check()
  if reason then
    cl.error(("%s: %s refused: %s"):format(WHO, rung.name, reason),
      {hint = "hand the Buffer to the calls"})
  end
  return arguments.packed{family = gemm.name, name = name, side = side,
    kernel = rung.name, params = p, config = rungs.tostring(rung, p),
    trans = trans, type = X.type, source = source, ready = ready}
end

return {pack = pack}
