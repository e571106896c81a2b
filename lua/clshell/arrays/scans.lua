-- arrays/scans.lua - scans of Buffers and expressions: each element becomes
-- the sum, or another combination, of all elements up to it
-- The kernels are the files of family scan, and #defines say what they scan:
-- see kernels/scan/real.cl. Where work-groups cannot wait for earlier ones, or
-- the order of additions matters, a first launch finds the total of each
-- piece, a scan of the totals gives what lies before each piece, and a last
-- launch scans the pieces from there: the expression is calculated twice, and
-- the result written once.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local expression = require "clshell.arrays.expression"
local fused = require "clshell.arrays.fused"
local layout = require "clshell.arrays.layout"
local operation = require "clshell.arrays.operation"
local options = require "clshell.base.options"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"
local ladder = require "clshell.ladders.scan"

local ceil = tiling.groups
local methods, subject = expression.methods, expression.subject

local BLOCK = 1024 -- elements of a work-item of a CPU
local WAVE = 256   -- work-groups that ask for sums among them
-- Types for which the ladder and the method give sums of the same type.
local LADDER = {float = true, double = true}

local function words_of(op)
  local known = types.known[op.cell]
  return (known.wide or op.cell == "double") and 2 or 1
end

-- The ways to scan, see operation.run. A piece has `span` elements, or `words`
-- words of 32 bits for each work-item.
local WAYS = {
  blocks = {file = "scan/blocks.cl", own = {"many"}, one = true,
    span = BLOCK},
  totals = {file = "scan/totals.cl", own = {"many", "pieces"}, words = 16},
  ahead = {file = "scan/lookback.cl", own = {"many"}, words = 32},
  item = {file = "scan/rows.cl", own = {"many", "rows", "inner"}, item = true,
    span = operation.CHAIN},
}

local function way_of(op, g, context)
  local device = context.device
  if operation.way(g) ~= "long" then
    return WAYS.item
  elseif fused.serial[device.type] then
    return WAYS.blocks
  end
  return g.outer * g.inner == 1 and not types.known[op.cell].real
    and fused.asks(device) and WAYS.ahead or WAYS.totals
end

-- The words of kernels/scan/real.cl.
local function words(c, _, element)
  local start, at = operation.words(c.g)
  return {
    REAL = "acc_", WG = c.group, EACH = c.span // c.group, BLOCK = BLOCK,
    WAVE = WAVE, CHAIN = operation.CHAIN,
    INCLUSIVE = c.exclusive and 0 or 1,
    TOTALS = c.work == "total" and 1 or 0,
    ALONE = c.work == "alone" and 1 or 0,
    IDENTITY = c.op.identity, ["COMBINE(a, b)"] = "combine_(a, b)",
    ["START(row)"] = start, ["PLACE(start, i)"] = at,
    ["ELEMENT(start, i)"] = ("make_(%s, 0)"):format(element(at)),
  }
end

-- Scans the rows of an expression into Buffer `out`, which may be its operand.
local function scan(op, exclusive, e, g, out)
  local context = out.context
  local way = way_of(op, g, context)
  local group = way.one and 1 or fused.group(context)
  local span = way.span or group * way.words // words_of(op)
  local pieces = ceil(g.many, span)
  -- Where rows have several pieces, `before` has the combination before each,
  -- or the state of work-groups that wait for others. Work "total" writes the
  -- total of each piece to `to`.
  local function launch(work, without, to, before)
    return operation.run({name = "scan", way = way, context = context,
      words = words, expression = e, op = op, g = g, work = work,
      exclusive = without, group = group, span = span, pieces = pieces},
      ("%s %s"):format(work, without), nil, to, before)
  end
  if way == WAYS.ahead then
    local state = fused.scratch(context, "ulong", 1
      + (pieces + ceil(pieces, WAVE) + 1) * words_of(op))
    state:fill(0)
    return launch("each", exclusive, out, state)
  elseif pieces == 1 then
    return launch("alone", exclusive, out, out)
  end
  local totals = fused.scratch(context, op.cell, g.outer * pieces * g.inner)
  launch("total", false, totals, totals)
  scan(op, true, layout.leaf(totals), operation.left(g, pieces, way), totals)
  return launch("each", exclusive, out, totals)
end

local function scanned(what, op, exclusive, x, dim)
  local _, g = layout.part(x.dims, dim ~= nil
    and layout.dim(what, x.dims, dim) or nil)
  local out = layout.new(op.cell, x.dims, x.context)
  if x.dims.count > 0 then
    scan(op, exclusive, x, g, out)
  end
  return out
end

-- Whether an operand is a whole vector as it lies in memory: its sums come
-- from the ladder, whose kernels are faster than the kernel of an expression.
local function is_plain(x)
  return x.kind.op == "leaf" and x.flat and not x.dims[2]
    and LADDER[x.kind.type] and x.dims.count == #x.buffer
end

--- Buffer:cumsum([dim]) -> Buffer
--- The sums of all elements up to each one, in the order of reading, or with
--- `dim` (1 is the first dimension) along that dimension, in the shape of x;
--- nothing waits. Integers are added in 64 bits and give long or ulong. A sum
--- of up to 2^31 elements is off by at most 6144 roundings of the sum of
--- absolute values so far, each 2^-24 for float and half, 2^-53 for double. A
--- whole vector of float or double is added by scan(x), with the rung of its
--- choice or of scan.keep: see ?scan for the error. scan(x, {y = y}) has a
--- given Buffer for the sums.
--- Example: print(cl.arange(1, 4):cumsum():read()[4]) --> 10
function methods.cumsum(x, dim, more)
  if more ~= nil then
    cl.error("cumsum takes one dim at a time",
      {hint = "such as x:cumsum(1):cumsum(2)"})
  end
  x = subject("cumsum", x)
  if (dim == nil or dim == 1) and is_plain(x) then
    return (ladder(x.buffer))
  end
  return scanned("cumsum", operation.of("sum", x.kind.type), false, x, dim)
end

--- Buffer:scan(opts) -> Buffer
--- Combines all elements up to each one by an associative operator: running
--- maxima are `x:scan{op = "max(a, b)", identity = "INT_MIN"}`. The order of
--- reading is kept: b stands behind a. Small integers become int, a half is a
--- float. scan(x) is the ladder of such kernels.
--- Options:
---   op         -      OpenCL C of a and b
---   identity   -      the neutral value: a number, or OpenCL C: "INFINITY"
---   exclusive  false  true: without the element itself; the first is identity
---   dim        all    the dimension along which to scan; 1 is the first
--- Example:
--- local x = cl.buffer("int", 4, {2, 5, 3, 7})
--- local y = x:scan{op = "max(a, b)", identity = "INT_MIN"}
--- print(y:read()[3]) --> 5
function methods.scan(x, opts)
  local what = "Buffer:scan"
  x = subject("scan", x)
  opts = options.check(opts, what)
  return scanned(what, operation.own(what, opts, x.kind.type),
    opts.exclusive or false, x, opts.dim)
end

expression.publish "scans"

return {}
