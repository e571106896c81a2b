-- array/scans.lua - scans of Buffers and expressions: each element becomes the
-- sum, or another combination, of all up to it
-- The kernels are those of family scan, with words of their own for what is
-- scanned: see kernels/scan/real.cl. Where work-groups cannot ask those before
-- them, or the order of additions matters, a first launch finds the total of
-- each piece, a scan of these what lies before each, and a last launch scans
-- the pieces from there: the expression is calculated twice, and the result
-- written once.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluate = require "clshell.array.evaluate"
local expression = require "clshell.array.expression"
local fused = require "clshell.array.fused"
local layout = require "clshell.array.layout"
local operation = require "clshell.array.operation"
local options = require "clshell.base.options"
local types = require "clshell.array.types"

local methods, subject = expression.methods, expression.subject

local BLOCK = 1024     -- elements of a work-item of a CPU
local EACH = 8         -- of a GPU, where totals are found first
local AHEAD = 32       -- words of a work-item of a GPU that asks those before

local function declare(c)
  return operation.declare(c.op)
end

-- The words of kernels/scan/real.cl.
local function words(c, _, element)
  return {
    REAL = "acc_", WG = c.group, EACH = c.each, BLOCK = BLOCK,
    INCLUSIVE = c.exclusive and 0 or 1, IDENTITY = c.op.identity,
    TOTALS = c.work == "total" and 1 or 0, ALONE = c.work == "alone" and 1
      or 0,
    ["COMBINE(a, b)"] = "combine_(a, b)",
    ["ELEMENT(i)"] = ("make_(%s, 0)"):format(element "(i)"),
  }
end

local OWN = {own = true} -- n, the result, and what lies before, or the state

local function parts(c)
  local list = evaluate.add_parts(c, {})
  return table.move({OWN, OWN, OWN}, 1, 3, #list + 1, list)
end

local function body(c)
  return evaluate.body(c, "  return %s;")
end

local function range(c)
  return c.groups * c.group, c.group
end

-- What is known of launches that agree in operation and work.
local alike = {}

-- Scans the pieces of an expression that `groups` work-groups take into a
-- Buffer, from what lies before each; `work` is "each", "alone" for an only
-- piece, or "total": the Buffer gets the total of each.
local function launch(way, op, work, exclusive, e, to, before)
  local count = e.dims.count
  local c = {name = "scan", file = way.file, type =
    types.calculated(e.kind.type), context = to.context, dims = e.dims,
    places = false, args = {count}, n = 1, parts = parts, body = body,
    declare = declare, words = words, range = range, expression = e, op = op,
    work = work, exclusive = exclusive, group = way.group, each = way.each,
    groups = (count + way.span - 1) // way.span}
  local key = ("%s %s %s %s"):format(op.key, work, exclusive, way.file)
  alike[key] = alike[key] or {}
  c.known = evaluate.collect(c, alike[key])
  local n = c.n
  c.args[n + 1], c.args[n + 2], c.args[n + 3] = count, to, before
  c.n = n + 3
  return fused.run(c)
end

-- Scans by totals.
local function scan(way, op, exclusive, e, out)
  local pieces = (e.dims.count + way.span - 1) // way.span
  if pieces == 1 then
    return launch(way, op, "alone", exclusive, e, out, out)
  end
  local totals = fused.scratch(out.context, op.cell, pieces)
  launch(way, op, "total", false, e, totals, totals)
  scan(way, op, true, layout.leaf(totals), totals)
  return launch(way, op, "each", exclusive, e, out, totals)
end

-- Scans in one launch, whose work-groups ask those before them.
local function scan_ahead(way, op, exclusive, e, out)
  local pieces = (e.dims.count + way.span - 1) // way.span
  local state = fused.scratch(out.context, "ulong", 1 + pieces * way.words)
  state:fill(0)
  return launch(way, op, "each", exclusive, e, out, state)
end

local function scanned(what, op, exclusive, x)
  layout.on_device(what, x)
  local out = cl.buffer(op.cell, x.dims, nil, {context = x.context})
  local device = x.context.device
  if fused.serial[device.type] then
    scan({file = "scan/blocks.cl", group = 1, each = 1, span = BLOCK}, op,
      exclusive, x, out)
    return out
  end
  local group = fused.group(x.context)
  if not types.known[op.cell].real and fused.asks(device) then
    local size = types.known[op.cell].wide and 2 or 1
    local each = AHEAD // size
    scan_ahead({file = "scan/lookback.cl", group = group, each = each,
      span = group * each, words = size}, op, exclusive, x, out)
  else
    scan({file = "scan/totals.cl", group = group, each = EACH,
      span = group * EACH}, op, exclusive, x, out)
  end
  return out
end

--- Buffer:cumsum() -> Buffer
--- The sums of all elements up to each one, in the order of reading, in the
--- shape of x; nothing waits. Integers are added in 64 bits and give long or
--- ulong. A sum is off by at most 6144 roundings of the sum of absolute values
--- so far, each 2^-24 for float and half, 2^-53 for double.
function methods.cumsum(x, more)
  if more ~= nil then
    cl.error "cumsum takes no operand besides x: x:cumsum()"
  end
  x = subject("cumsum", x)
  return scanned("cumsum", operation.of("sum", x.kind.type), false, x)
end

--- Buffer:scan(opts) -> Buffer
--- Combines all elements up to each one by an associative operator: running
--- maxima are `x:scan{op = "max(a, b)", identity = "INT_MIN"}`. The order of
--- reading is kept: b stands behind a. Small integers become int, a half is a
--- float. scan(x) is the ladder of such kernels.
--- Options:
---   op         -      OpenCL C of a and b
---   identity   -      what changes nothing: a number, or OpenCL C: "INFINITY"
---   exclusive  false  true: without the element itself; the first is identity
function methods.scan(x, opts)
  local what = "Buffer:scan"
  x = subject("scan", x)
  opts = options.check(opts, what)
  return scanned(what, operation.own(what, opts, x.kind.type),
    opts.exclusive or false, x)
end

cl.extend("Buffer", {cumsum = methods.cumsum, scan = methods.scan},
  true)

return {}
