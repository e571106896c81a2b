-- array/scans.lua - scans of Buffers and expressions: each element becomes the
-- sum, or another combination, of all up to it
-- The elements are cut into pieces. A first launch finds the total of each, a
-- scan of these what lies before each, and a last launch scans the pieces from
-- there: the expression is calculated twice, and the result written once.
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

local LANES = 8      -- pieces that a work-item of a CPU scans side by side
local LONGEST = 1024 -- elements of a piece of a CPU, and the least
local SHORTEST = 256
local MANY = 1024    -- pieces that keep a CPU busy
local GROUP = 256    -- work-items of a work-group of a GPU, at most
local PIECE = 2048   -- elements of a piece of a GPU

-- The kernels for CPUs and GPUs. START is what lies before piece p, STEP what
-- is done between an element and the next one, and END what is done behind a
-- piece; s_ is the combination so far, x_ the element, b_ s_ before it.
local CPU = [[
  size_t p_ = get_group_id(0) * LANES;
  acc_ lanes_[LANES];
  for (size_t v_ = 0; v_ < LANES; v_++)
    lanes_[v_] = p_ + v_ < pieces_ ? START(p_ + v_) : IDENTITY;
  for (size_t k_ = 0; k_ < span_; k_++)
    for (size_t v_ = 0; v_ < LANES; v_++) {
      size_t i_ = (p_ + v_) * span_ + k_;
      if (i_ < count_) {
        acc_ b_ = lanes_[v_], s_ = combine_(b_, ELEMENT);
        lanes_[v_] = s_;
        STEP
      }
    }
  for (size_t v_ = 0; v_ < LANES && p_ + v_ < pieces_; v_++) {
    size_t g_ = p_ + v_;
    acc_ s_ = lanes_[v_];
    END
  }]]

-- Elements pass through local memory on their way from and to global memory,
-- so that neighbours read and write neighbours there. CELL leaves out one
-- after each 32: a work-item walks along its own without bank conflicts.
local GPU = [[
  local acc_ cells_[PIECE + PIECE / 32], part_[2][GROUP];
  size_t g_ = get_group_id(0), id_ = get_local_id(0);
  size_t size_ = get_local_size(0), each_ = (span_ + size_ - 1) / size_;
  size_t first_ = g_ * span_, n_ = min(span_, count_ - first_);
  if (n_ == PIECE && size_ == GROUP) {
    acc_ next_[PIECE / GROUP];
    #pragma unroll
    for (int v_ = 0; v_ < PIECE / GROUP; v_++) {
      size_t i_ = first_ + v_ * GROUP + id_;
      next_[v_] = ELEMENT;
    }
    #pragma unroll
    for (int v_ = 0; v_ < PIECE / GROUP; v_++)
      CELL(v_ * GROUP + id_) = next_[v_];
  } else
    for (size_t k_ = id_; k_ < n_; k_ += size_) {
      size_t i_ = first_ + k_;
      CELL(k_) = ELEMENT;
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  size_t begin_ = id_ * each_, end_ = min((ulong)begin_ + each_, (ulong)n_);
  acc_ s_ = IDENTITY;
  int now_ = 0;
  for (size_t k_ = begin_; k_ < end_; k_++)
    s_ = combine_(s_, CELL(k_));
  part_[0][id_] = s_;
  for (size_t w_ = 1; w_ < size_; w_ *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    s_ = part_[now_][id_];
    part_[1 - now_][id_] = id_ < w_ ? s_
      : combine_(part_[now_][id_ - w_], s_);
    now_ = 1 - now_;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (id_ == size_ - 1) {
    s_ = part_[now_][id_];
    END
  }
  s_ = START(g_);
  if (id_ > 0)
    s_ = combine_(s_, part_[now_][id_ - 1]);
  STEPS]]

-- What work-items of a GPU do behind that where all elements are wanted.
local STEPS = [[
for (size_t k_ = begin_; k_ < end_; k_++) {
    acc_ b_ = s_;
    s_ = combine_(b_, CELL(k_));
    CELL(k_) = RESULT;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (size_t k_ = id_; k_ < n_; k_ += size_)
    to_[first_ + k_] = CELL(k_);]]

-- By the work of a launch: START, STEP and STEPS, and END. `each` scans from
-- what lies before each piece, `alone` the only piece.
local STEP = "to_[i_] = RESULT;"
local WORK = {
  total = {START = "IDENTITY", STEP = "", STEPS = "", END = "to_[g_] = s_;"},
  each = {START = "starts_[%s]", STEP = STEP, STEPS = STEPS, END = ""},
  alone = {START = "IDENTITY", STEP = STEP, STEPS = STEPS, END = ""},
}

local function declare(c)
  return operation.declare(c.op)
end

local function kernel(c, _, element)
  local work = WORK[c.work]
  local words = {LANES = LANES, GROUP = GROUP, PIECE = PIECE,
    IDENTITY = c.op.identity, ELEMENT = ("make_(%s, 0)"):format(element "i_"),
    RESULT = c.exclusive and "b_" or "s_"}
  local code = (c.cpu and CPU or GPU):gsub("START(%b())", function(place)
    return (work.START:gsub("%%s", place))
  end):gsub("%u[%u_]+", work):gsub("CELL(%b())", function(place)
    return ("cells_[%s + %s / 32]"):format(place, place)
  end)
  return (code:gsub("%u[%u_]+", words))
end

local function parts(c)
  return evaluate.add_parts(c, {
    {type = ("global %s *"):format(c.op.cell), name = "to_"},
    {type = ("global const %s *"):format(c.op.cell), name = "starts_"},
    {type = "ulong", name = "count_"}, {type = "ulong", name = "span_"},
    {type = "ulong", name = "pieces_"}})
end

local function body(c)
  return evaluate.body(c, "  return %s;")
end

local function range(c, group)
  if c.cpu then
    return (c.pieces + LANES - 1) // LANES, 1
  end
  return c.pieces * group, group
end

-- What is known of launches that agree in operation and work.
local alike = {}

local function launch(op, work, exclusive, e, to, starts, span, pieces)
  local cpu = fused.serial[to.context.device.type] or false
  local key = ("%s %s %s %s"):format(op.key, work, exclusive, cpu)
  alike[key] = alike[key] or {}
  local count = e.dims.count
  local c = {name = "scan", type = types.calculated(e.kind.type),
    context = to.context, dims = e.dims, places = false, args = {count,
    to, starts, count, span, pieces}, n = 6, parts = parts, body = body,
    declare = declare, kernel = kernel, range = range, expression = e, op = op,
    work = work, exclusive = exclusive, cpu = cpu, pieces = pieces}
  c.known = evaluate.collect(c, alike[key])
  return fused.run(c)
end

-- Scans an expression into a Buffer, which may be the one that it is.
local function scan(op, exclusive, e, out)
  local count, span = e.dims.count, PIECE
  if fused.serial[out.context.device.type] then
    span = count <= LONGEST and count or math.max(SHORTEST,
      math.min(LONGEST, (count + MANY - 1) // MANY))
  end
  local pieces = (count + span - 1) // span
  if pieces == 1 then
    return launch(op, "alone", exclusive, e, out, out, span, 1)
  end
  local totals <close> = cl.buffer(op.cell, pieces, nil,
    {context = out.context})
  launch(op, "total", false, e, totals, totals, span, pieces)
  scan(op, true, layout.leaf(totals), totals)
  return launch(op, "each", exclusive, e, out, totals, span, pieces)
end

local function scanned(what, op, exclusive, x)
  layout.on_device(what, x)
  local out = cl.buffer(op.cell, x.dims, nil, {context = x.context})
  scan(op, exclusive, x, out)
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
