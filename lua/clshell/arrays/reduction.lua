-- arrays/reduction.lua - the reductions of Buffers and expressions: all
-- elements, or the elements along a dimension, become one
-- The kernels are the files of family reduce, and #defines say what they
-- reduce: see kernels/reduce/op.cl. A first launch calculates the expression
-- and reduces it in pieces, later launches reduce the results of the pieces.
-- No sum has a chain of more than 64 additions: the sums of work-items meet in
-- a tree.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local evaluate = require "clshell.arrays.evaluate"
local fused = require "clshell.arrays.fused"
local operation = require "clshell.arrays.operation"
local types = require "clshell.arrays.types"

local M = {}

local CHAIN = operation.CHAIN
local LANES = 64    -- values that a work-item of a CPU reduces side by side
local STREAMS = 4   -- parts of a block that it walks at a time; 1 for structs
local TURNS = 16    -- turns of CHAIN additions to each lane, in a long row
local SHARES = 8    -- blocks of a core, at least: all cores end together
local PIECES = 1024 -- work-groups that keep a GPU busy
local WIDTH = 8     -- values that a work-item of a GPU loads at once

local function ceil(n, m)
  return (n + m - 1) // m
end

-- Elements that a work-item of a CPU reduces: many turns of CHAIN for each of
-- its lanes, where that leaves work for all cores.
local function block(g, units)
  local long = CHAIN * LANES * TURNS
  return g.outer * g.inner * g.many >= SHARES * units * long and long
    or CHAIN * LANES
end

-- The shape of the results of pieces that are parts of rows, and of pieces
-- that are parts of columns.
local function as_rows(g, pieces)
  return {outer = g.outer * g.inner, many = pieces, inner = 1}
end

local function as_columns(g, pieces)
  return {outer = g.outer, many = pieces, inner = g.inner}
end

-- The ways to reduce. Each has the kernel's file; own(g, pieces), the
-- arguments behind SOURCE; pieces(g, group), the pieces of a row; range(c),
-- the NDRange; and left(g, pieces), the shape of the results.
local WAYS = {
  group = {
    file = "reduce/grid_stride.cl",
    own = function(g, pieces)
      return g.many, pieces
    end,
    pieces = function(g, group)
      local once = group * WIDTH
      return math.min(ceil(g.many, once), math.max(
        ceil(PIECES, g.outer * g.inner), ceil(g.many, CHAIN * once)))
    end,
    range = function(c)
      return c.g.outer * c.g.inner * c.pieces * c.group, c.group
    end,
    left = as_rows,
  },
  lanes = {
    file = "reduce/simd.cl",
    own = function(g)
      return g.many
    end,
    pieces = function(g, _, units)
      return ceil(g.many, block(g, units))
    end,
    range = function(c)
      return c.g.outer * c.g.inner * c.pieces, 1
    end,
    left = as_rows,
  },
  item = {
    file = "reduce/rows.cl",
    own = function(g)
      return g.many, g.outer * g.inner, g.inner
    end,
    pieces = function(g)
      return ceil(g.many, CHAIN)
    end,
    range = function(c)
      return ceil(c.g.outer * c.pieces * c.g.inner, c.group) * c.group, c.group
    end,
    left = as_columns,
  },
  columns = {
    file = "reduce/columns.cl",
    own = function(g)
      return g.many, g.inner
    end,
    pieces = function(g)
      return ceil(g.many, CHAIN)
    end,
    range = function(c)
      return c.g.outer * c.pieces * ceil(c.g.inner, LANES), 1
    end,
    left = as_columns,
  },
}

local function way_of(g, cpu)
  local way = operation.way(g)
  return way == "long" and (cpu and "lanes" or "group")
    or way == "columns" and cpu and "columns" or "item"
end

-- Whether the last of several work-groups may reduce all their results.
local function in_once(way, g, pieces, group, device)
  return way == WAYS.group and g.outer * g.inner == 1
    and pieces > 1 and pieces <= CHAIN * group and fused.asks(device)
end

local function declare(c)
  return operation.declare(c.op)
end

-- The words of kernels/reduce/op.cl.
local function words(c, places, element)
  local op = c.op
  local start, at = operation.words(c.g)
  local value = (c.last and op.last or "s_"):gsub("s_", "(s)")
  local function made(x, k)
    return c.expression and ("make_(%s, %s)"):format(x, k) or x
  end
  local lines = places and c.g.inner == 1
  return {
    REAL = "acc_", RESULT = c.last and op.result or "acc_",
    WG = c.group, WIDTH = WIDTH, LANES = LANES, CHAIN = CHAIN,
    ONCE = c.once and 1 or 0,
    BLOCK = c.block, STREAMS = op.declare and 1 or STREAMS,
    ["COMBINE(a, b)"] = "combine_(a, b)", ["NEUTRAL(x)"] = op.identity,
    ["START(row)"] = start, ["ELEMENT(start, i)"] = made(element(at), "(i)"),
    ["LINE(at, n)"] = lines and "((at) + (n) <= ((at) / n1_ + 1) * n1_)"
      or "0",
    ["LINE_ELEMENT(start, at, i, v)"] = lines
      and made(element("((at) % n1_ + (v))", "((at) / n1_)"), "(i) + (v)")
      or "ELEMENT(start, (i) + (v))",
    ["KEEP(y, at, s)"] = c.last and op.result == "half"
      and ("vstore_half(%s, at, y)"):format(value)
      or ("(y)[at] = %s"):format(value),
  }
end

-- The parts of a reduction: SOURCE is the expression, or the Buffer with the
-- results of the launch before, and inner_.
local OWN = {own = true}

local function parts(c)
  local list = c.expression and evaluate.add_parts(c, {})
    or {{type = "global const acc_ *", name = "from_"}}
  list[#list + 1] = {type = "ulong", name = "inner_"}
  return table.move({OWN, OWN, OWN, OWN, OWN, OWN}, 1, c.own, #list + 1, list)
end

local function body(c)
  return c.expression and evaluate.body(c, "  return %s;")
    or "  return from_[i1_];"
end

local function range(c)
  return c.way.range(c)
end

-- By operation, way and place in the chain of launches: the tree of
-- evaluate.collect, and the `known` of launches that reduce results.
local alike = {}

-- Reduces an expression, or else the Buffer `from` with the results of the
-- launch before, into a Buffer.
local function reduce(op, e, from, g, out)
  local name = way_of(g, fused.serial[out.context.device.type])
  local way, group = WAYS[name], fused.group(out.context)
  local units = out.context.device.compute_units
  local pieces = way.pieces(g, group, units)
  local once = in_once(way, g, pieces, group, out.context.device)
  local last = pieces == 1 or once
  local left = pieces > 1 and fused.scratch(out.context, op.declare and "long"
    or op.cell, g.outer * pieces * g.inner * (op.declare and 2 or 1))
  left = left and op.declare and cl.any(left) or left
  local to = last and out or left
  local count = g.outer * g.many * g.inner
  local c = {name = "reduce", file = way.file, type = e
    and types.calculated(e.kind.type) or "acc_",
    context = out.context, dims = e and e.dims or {count = count},
    places = false, args = {count}, n = 1, parts = parts, body = body,
    declare = declare, words = words, range = range, expression = e, op = op,
    g = g, way = way, group = group, pieces = pieces, last = last,
    once = once, block = block(g, units)}
  local key = ("%s %s %s %s %d"):format(op.key, name, once and "once"
    or last and "last" or "", g.inner == 1 and "" or "inner", c.block)
  alike[key] = alike[key] or {{}, {}}
  if e then
    c.known = evaluate.collect(c, alike[key][1])
  else
    c.known = alike[key][2]
    fused.add(c, from)
  end
  fused.add(c, g.inner)
  c.own = fused.add(c, way.own(g, pieces)) + fused.add(c, to)
    + (once and fused.add(c, left, fused.counter(out.context)) or 0)
  local event = fused.run(c)
  if last then
    return event
  end
  return reduce(op, nil, to, way.left(g, pieces), out)
end

--- reduction.run(op, e, g, out) -> Event
--- Reduces the rows of an expression, of shape g as in operation.lua, by an
--- operation into Buffer `out`, and does not wait.
function M.run(op, e, g, out)
  return reduce(op, e, nil, g, out)
end

return M
