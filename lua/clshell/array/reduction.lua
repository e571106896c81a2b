-- array/reduction.lua - the kernels of reductions: all elements of an
-- expression, or those along a dimension, become one
-- A first launch calculates the expression and reduces it in pieces, later
-- ones reduce what the pieces left. No sum has a chain of more than 64
-- additions: those of a work-item meet those of others in a tree.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluate = require "clshell.array.evaluate"
local fused = require "clshell.array.fused"
local operation = require "clshell.array.operation"
local types = require "clshell.array.types"

local M = {}

local CHAIN = 64     -- values that a work-item reduces one after another
local LANES = 64     -- values that a work-item of a CPU reduces side by side
local GROUP = 256    -- work-items of a work-group of a GPU, at most
local PIECES = 1024  -- work-groups that keep a GPU busy
local EACH = 8       -- values that it loads at once, to reduce side by side
local NARROW = 16    -- columns: fewer are reduced by a work-group each

-- Result r_ in the order of elements, its piece, and its first element; piece
-- p_ of dimension `many_` is what lies from begin_ to end_.
local PLACE = [[
  size_t pieces_ = (many_ + span_ - 1) / span_;
  size_t p_ = r_ / INNER_ % pieces_, at_ = r_ % INNER_;
  size_t o_ = r_ / INNER_ / pieces_, first_ = o_ * many_ * INNER_ + at_;
  size_t begin_ = p_ * span_, end_ = min((ulong)begin_ + span_, many_);
]]

-- By the way: one result of a work-group of a GPU, one of a work-item, one of
-- a work-item of a CPU, and several of one.
local WAYS = {}

WAYS.group = [[
  local acc_ part_[GROUP];
  size_t r_ = get_group_id(0), id_ = get_local_id(0);
  size_t size_ = get_local_size(0);
PLACE  acc_ few_[EACH], next_[EACH];
  for (int v_ = 0; v_ < EACH; v_++)
    few_[v_] = IDENTITY;
  size_t k_ = begin_ + id_;
  for (; k_ + (EACH - 1) * size_ < end_; k_ += EACH * size_) {
    #pragma unroll
    for (int v_ = 0; v_ < EACH; v_++)
      next_[v_] = ELEMENT(k_ + v_ * size_);
    #pragma unroll
    for (int v_ = 0; v_ < EACH; v_++)
      few_[v_] = combine_(few_[v_], next_[v_]);
  }
  for (; k_ < end_; k_ += size_)
    few_[0] = combine_(few_[0], ELEMENT(k_));
  #pragma unroll
  for (int w_ = EACH / 2; w_ > 0; w_ /= 2)
    for (int v_ = 0; v_ < w_; v_++)
      few_[v_] = combine_(few_[v_], few_[v_ + w_]);
  part_[id_] = few_[0];
  for (size_t w_ = size_ / 2; w_ > 0; w_ /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id_ < w_)
      part_[id_] = combine_(part_[id_], part_[id_ + w_]);
  }
  if (id_ == 0) {
    acc_ s_ = part_[0];
    STORE
  }]]

WAYS.item = [[
  size_t r_ = get_global_id(0);
PLACE  acc_ s_ = IDENTITY;
  if (o_ < outer_) {
    for (size_t k_ = begin_; k_ < end_; k_++)
      s_ = combine_(s_, ELEMENT(k_));
    STORE
  }]]

WAYS.lanes = [[
  acc_ lanes_[LANES];
  size_t r_ = get_group_id(0);
PLACE  size_t k_ = begin_;
  for (int v_ = 0; v_ < LANES; v_++)
    lanes_[v_] = IDENTITY;
  for (; k_ + LANES <= end_; k_ += LANES)
ROW    for (int v_ = 0; v_ < LANES; v_++)
      lanes_[v_] = combine_(lanes_[v_], ELEMENT(k_ + v_));
  for (int v_ = 0; k_ < end_; v_++, k_++)
    lanes_[v_] = combine_(lanes_[v_], ELEMENT(k_));
  for (int w_ = LANES / 2; w_ > 0; w_ /= 2)
    for (int v_ = 0; v_ < w_; v_++)
      lanes_[v_] = combine_(lanes_[v_], lanes_[v_ + w_]);
  acc_ s_ = lanes_[0];
  STORE]]

-- Lanes that are all in one row divide for none of them.
local ROW = [[
    if (first_ + k_ + LANES <= ((first_ + k_) / n1_ + 1) * n1_) {
      size_t q_ = (first_ + k_) / n1_, c_ = (first_ + k_) % n1_;
      for (int v_ = 0; v_ < LANES; v_++)
        lanes_[v_] = combine_(lanes_[v_], make_(INNERMOST, k_ + v_));
    } else
]]

WAYS.columns = [[
  acc_ lanes_[LANES];
  size_t blocks_ = (INNER_ + LANES - 1) / LANES;
  size_t r_ = get_group_id(0) / blocks_ * INNER_
    + get_group_id(0) % blocks_ * LANES;
PLACE  int n_ = min((ulong)LANES, (ulong)INNER_ - at_);
  for (int v_ = 0; v_ < LANES; v_++)
    lanes_[v_] = IDENTITY;
  for (size_t k_ = begin_; k_ < end_ && n_ == LANES; k_++)
    for (int v_ = 0; v_ < LANES; v_++)
      lanes_[v_] = combine_(lanes_[v_], ELEMENT(k_, v_));
  for (size_t k_ = begin_; k_ < end_ && n_ < LANES; k_++)
    for (int v_ = 0; v_ < n_; v_++)
      lanes_[v_] = combine_(lanes_[v_], ELEMENT(k_, v_));
  for (int v_ = 0; v_ < n_; v_++, r_++) {
    acc_ s_ = lanes_[v_];
    STORE
  }]]

local function ceil(n, m)
  return (n + m - 1) // m
end

local function way_of(g, cpu)
  if g.inner >= NARROW then
    return cpu and "columns" or "item"
  end
  return g.many <= CHAIN and "item" or cpu and "lanes" or "group"
end

-- How many elements along the dimension a work-group or a work-item takes.
local function span_of(g, way)
  if way == "lanes" then
    return CHAIN * LANES
  elseif way == "group" then
    return math.max(EACH * GROUP, math.min(CHAIN * EACH * GROUP,
      ceil(g.outer * g.inner * g.many, PIECES)))
  end
  return CHAIN
end

-- The NDRange, in the form of a calculation.
local function range(c, group)
  local g, results = c.g, c.g.outer * c.pieces * c.g.inner
  if c.way == "item" then
    return ceil(results, group) * group, group
  elseif c.way == "group" then
    return results * group, group
  elseif c.way == "columns" then
    return g.outer * c.pieces * ceil(g.inner, LANES), 1
  end
  return results, 1
end

local function declare(c)
  return operation.declare(c.op)
end

-- In ELEMENT(k) k is the number of the element in dimension `many_`, behind a
-- comma how many columns further it lies.
local function kernel(c, rows, element)
  local op, inner = c.op, c.g.inner == 1 and "1" or "inner_"
  local value = c.last and op.last or "s_"
  local words = {
    GROUP = GROUP, EACH = EACH, LANES = LANES, IDENTITY = op.identity,
    INNER_ = inner,
    STORE = c.last and op.result == "half"
      and ("vstore_half(%s, r_, to_);"):format(value)
      or ("to_[r_] = %s;"):format(value),
    PLACE = PLACE:gsub("INNER_", inner),
    ROW = rows and inner == "1"
      and ROW:gsub("%u%u+", {LANES = LANES,
        INNERMOST = element("c_ + v_", "q_")}) or "",
  }
  local code = WAYS[c.way]:gsub("ELEMENT%((.-)%)", function(place)
    local k, column = place:match "^([^,]*),? ?(.*)$"
    local x = element(("(first_ + (%s) * %s + %s)"):format(k, inner,
      column ~= "" and column or "0"))
    return c.expression and ("make_(%s, %s)"):format(x, k) or x
  end)
  return (code:gsub("%u[%u_]+", words))
end

local function parts(c)
  local type = c.last and c.op.result or "acc_"
  local list = {{type = ("global %s *"):format(type), name = "to_"},
    {type = "ulong", name = "outer_"}, {type = "ulong", name = "many_"},
    {type = "ulong", name = "inner_"}, {type = "ulong", name = "span_"}}
  if c.expression then
    return evaluate.add_parts(c, list)
  end
  list[#list + 1] = {type = "global const acc_ *", name = "from_"}
  return list
end

local function body(c)
  return c.expression and evaluate.body(c, "  return %s;")
    or "  return from_[i];"
end

-- What is known of launches that agree in operation, way, and place.
local alike = {}

-- Reduces an expression, or the Buffer that a launch before left, into a
-- Buffer of results.
local function reduce(op, e, from, g, out)
  local way = way_of(g, fused.serial[out.context.device.type])
  local span = span_of(g, way)
  local pieces = ceil(g.many, span)
  local last = pieces == 1
  local left <close> = not last and cl.buffer(op.declare and "long" or op.cell,
    g.outer * pieces * g.inner * (op.declare and 2 or 1), nil,
    {context = out.context}) or nil
  local to = last and out or op.declare and cl.any(left) or left
  local count = g.outer * g.many * g.inner
  local c = {name = "reduction", type = e and nil or "acc_",
    context = out.context, dims = e and e.dims or {count = count},
    places = false, args = {count, to, g.outer, g.many, g.inner, span, from},
    n = from and 7 or 6, parts = parts, body = body,
    declare = declare, kernel = kernel, range = range, expression = e, op = op,
    g = g, way = way, pieces = pieces, last = last}
  local key = ("%s %s %s %s"):format(op.key, way, last and "last" or "",
    g.inner == 1 and "" or "inner")
  alike[key] = alike[key] or {{}, {}}
  if e then
    c.type = types.calculated(e.kind.type)
    c.known = evaluate.collect(c, alike[key][1])
  else
    c.known = alike[key][2]
  end
  local event = fused.run(c)
  if last then
    return event
  end
  return reduce(op, nil, to, {outer = g.outer, many = pieces,
    inner = g.inner}, out)
end

--- reduction.run(op, e, g, out) -> Event
--- Reduces the elements of an expression by an operation into Buffer `out`,
--- and does not wait. g is {outer, many, inner}: the product of the sizes
--- before the dimension, its own size, and the product of those behind.
function M.run(op, e, g, out)
  return reduce(op, e, nil, g, out)
end

return M
