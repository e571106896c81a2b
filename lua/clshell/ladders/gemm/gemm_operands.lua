-- ladders/gemm/gemm_operands.lua - the operands of gemm: matrices, transposed
-- ones, sub-matrices and batches; their checks, and the shape that they make
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local arguments = require "clshell.ladder.operands"
local host = require "cl.host"
local result = require "clshell.base.result"
local submatrix = require "clshell.ladders.gemm.submatrix"
local text = require "clshell.base.text"

local M = {SIDES = {a = "A", b = "B"}}

local TYPES = {"float", "double", "half", "bfloat16", "float8_e4m3",
  "float8_e5m2", "char"}

-- Types of C besides the operands' own; a new C has the first one.
local FP8 = {"float", "bfloat16"}
local OUT = {half = {"half", "float"}, bfloat16 = {"bfloat16", "float"},
  float8_e4m3 = FP8, float8_e5m2 = FP8, char = {"int"}}

-- The words for a transposed operand, BLAS's among them; its "c", conjugate
-- transposed, is the same for reals.
local TRANS = {n = false, t = true, c = true}

local function refuse(name, ...)
  argument.refuse("gemm", name, ...)
end

local function transposed(name, value)
  local word = value or false
  if type(value) == "string" then
    word = TRANS[value:lower()]
  end
  if type(word) ~= "boolean" then
    refuse(name, 'must be true, false, "N" or "T"; got %s', tostring(value))
  end
  return word
end

M.transposed, M.types = transposed, TYPES
M.plain = table.move(TYPES, 1, 3, 1, {}) -- C is of the same type

-- The type of C where none is given.
local function result_type(type)
  return (OUT[type] or {type})[1]
end
M.result_type = result_type

-- A number of elements or of matrices, or nil.
local function count(name, value, least)
  return value ~= nil and argument.integer("gemm", name, value, least) or nil
end

--- The shape of a product with defaults filled in, from one given by hand
--- such as {m = 5, n = 6, k = 7}, or `bound` from operands, maybe empty ones.
function M.shape(s, bound)
  local type, esize = arguments.shape("gemm", s,
    table.unpack(bound and {} or {"m", "n", "k"}))
  local t = {
    m = s.m, n = s.n, k = s.k, type = type, esize = esize,
    alpha = s.alpha or 1, beta = s.beta or 0,
    trans_a = transposed("trans_a", s.trans_a),
    trans_b = transposed("trans_b", s.trans_b),
    batch = count("batch", s.batch, bound and 0 or 1) or 1, ldc = s.ldc or s.n,
    out = s.out or result_type(type),
  }
  t.out_esize = cl.typesize(t.out)
  t.lda = s.lda or t.trans_a and s.m or s.k
  t.ldb = s.ldb or t.trans_b and s.k or s.n
  local sizes = {a = s.m * s.k, b = s.k * s.n, c = s.m * s.n}
  t.placed = t.batch > 1
  for name, size in pairs(sizes) do
    t["start_" .. name] = s["start_" .. name] or 0
    t["stride_" .. name] = s["stride_" .. name] or t.batch > 1 and size or 0
    t.placed = t.placed or t["start_" .. name] > 0
  end
  return t
end

-- A matrix operand, {buffer, rows, cols, ld, count, stride}; count is nil for
-- a single matrix, stride in elements from one matrix to the next.
local function matrix(name, x, context, type)
  local b = arguments.buffer("gemm", name, x, context, type)
  local dims = b.shape
  if #dims == 3 then
    return {name = name, buffer = b, count = dims[1], rows = dims[2],
      cols = dims[3], ld = dims[3], stride = dims[2] * dims[3]}
  end
  arguments.matrix("gemm", name, b)
  return {name = name, buffer = b, rows = b.rows, cols = b.cols, ld = b.ld}
end

local function check_shapes(a, b, trans_a, trans_b)
  local m, k = a.rows, a.cols
  local kb, n = b.rows, b.cols
  if trans_a then
    m, k = k, m
  end
  if trans_b then
    kb, n = n, kb
  end
  if k ~= kb then
    cl.error(("gemm: A is %dx%d%s and B is %dx%d%s: the columns of A (%d) are "
      .. "not the rows of B (%d)"):format(a.rows, a.cols, trans_a
        and ", transposed" or "", b.rows, b.cols, trans_b and ", transposed"
        or "", k, kb))
  end
  return m, n, k
end

-- The number of products: the option, or the matrices of the operands.
local function batch_of(o, list)
  local batch, from = o.batch, "batch"
  for _, x in ipairs(list) do
    if x.count and x.count ~= 1 then
      if batch and batch ~= x.count then
        refuse(x.name, "has %d matrices, but %s %d", x.count,
          from == "batch" and "batch is" or from .. " has", batch)
      end
      batch, from = x.count, x.name
    end
  end
  return batch or 1
end

-- Fills in and checks the stride of an operand: all its matrices lie in its
-- buffer.
local function set_stride(x, batch, stride)
  if batch == 1 or stride == nil and (x.count or 1) == 1 then
    x.stride = batch > 1 and stride or 0
  else
    x.stride = stride or x.stride
  end
  if x.stride > 0 and batch > 0 then
    local inside = x.stride < math.maxinteger // math.max(batch - 1, 1)
    local reason = "no address is so large"
    if inside then -- no product wraps
      inside, reason = pcall(x.buffer.matrix, x.buffer, (batch - 1) * x.stride
        + 1, x.rows, x.cols, x.ld)
    end
    if not inside then
      cl.error(("gemm: %s: %d matrices, %d elements apart, leave its buffer: "
        .. "%s"):format(x.name, batch, x.stride, reason), {arg = x.name})
    end
  end
end

-- Raises if the matrices of C share elements with one another.
local function check_apart(c, batch)
  local below = c.stride >= (c.rows - 1) * c.ld + c.cols
  local beside = c.stride >= c.cols and (batch - 1) * c.stride + c.cols <= c.ld
  if batch > 1 and not below and not beside then
    cl.error(("gemm: the matrices of C, %dx%d with leading dimension %d, "
      .. "share elements if they are %d apart; give C three dimensions, or "
      .. "stride_c"):format(c.rows, c.cols, c.ld, c.stride), {arg = "C"})
  end
end

-- Matrix i, from 0, of an operand.
local function matrix_at(x, i)
  return x.buffer:matrix(i * x.stride + 1, x.rows, x.cols, x.ld)
end

-- All elements from the first matrix of an operand to the last.
local function whole_range(x, batch)
  return x.buffer:matrix(1, 1, (batch - 1) * x.stride + (x.rows - 1) * x.ld
    + x.cols)
end

-- Raises if C shares elements with an input: kernels say `restrict`.
local function check_alias(c, x, batch)
  if #c.buffer == 0 or #x.buffer == 0 then
    return
  elseif batch == 1 then
    return arguments.check_alias("gemm", "C", c.buffer, x.name, x.buffer)
  elseif not whole_range(c, batch):overlaps(whole_range(x, batch)) then
    return
  end
  local function check(i, j)
    arguments.check_alias("gemm", "C", matrix_at(c, i), x.name,
      matrix_at(x, j))
  end
  if c.stride ~= x.stride then
    refuse("C", "must not share memory with %s", x.name)
  end
  for i = 0, batch - 1 do -- with equal strides only the distance counts
    check(i, 0)
    check(0, i)
  end
end

local function bind_output(o, a, b, m, n, context, queue)
  if o.C == nil then
    if o.beta ~= 0 then
      refuse("beta", "= %s needs C, the matrix to add to", o.beta)
    elseif o.stride_c then
      refuse("stride_c", "needs C, the Buffer to write")
    end
    local batch = batch_of(o, {a, b})
    local several = o.batch or a.count or b.count
    o.C = result.new(result_type(a.buffer.type),
      several and {batch, m, n} or {m, n}, context, queue)
    return matrix("C", o.C), batch
  end
  arguments.check_output("gemm", "C", o.C)
  local c = matrix("C", o.C)
  if OUT[a.buffer.type] then
    arguments.check_type("gemm", "C", o.C, OUT[a.buffer.type])
  else
    arguments.same_type("gemm", "A", a.buffer, "C", o.C)
  end
  if c.rows ~= m or c.cols ~= n then
    refuse("C", "is %dx%d, but A B is %dx%d", c.rows, c.cols, m, n)
  end
  return c, batch_of(o, {a, b, c}), true
end

-- Puts Buffers in the place of packed operands in `o`. Returns the packed data
-- by side, {a =, b =}, or nil where there is none.
local function unpack(o)
  local ready
  for side, name in pairs(M.SIDES) do
    local x, option = o[name], "trans_" .. side
    if arguments.is_packed(x) then
      if x.closed then
        refuse(name, "is closed")
      elseif x.side ~= side then
        cl.error(("gemm: %s was packed as %s"):format(name, x.name),
          {arg = name, hint = ('gemm.pack(%s, {side = "%s"})'):format(name,
            side)})
      elseif o[option] ~= nil and transposed(option, o[option]) ~= x.trans then
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

--- Operands `o` of a call, moved to the device and checked, and their shape.
function M.bind(o, context, queue)
  local ready = unpack(o)
  o.trans_a = transposed("trans_a", o.trans_a)
  o.trans_b = transposed("trans_b", o.trans_b)
  count("batch", o.batch, 1)
  local like = arguments.is_buffer(o.B) and not o.B.closed and o.B.type
  local a = matrix("A", o.A, context, like)
  local b = matrix("B", o.B, context, a.buffer.type)
  o.A, o.B = a.buffer, b.buffer
  arguments.check_type("gemm", "A", o.A, TYPES)
  arguments.same_type("gemm", "A", o.A, "B", o.B)
  local m, n, k = check_shapes(a, b, o.trans_a, o.trans_b)
  local type = o.A.type == "char" and "int" or text.bits(o.A.type)
    and "float" or o.A.type
  o.alpha = arguments.scalar("gemm", "alpha", o.alpha or 1, type)
  o.beta = arguments.scalar("gemm", "beta", o.beta or 0, type)
  local c, batch, given = bind_output(o, a, b, m, n, context, queue)
  arguments.check_context("gemm", {A = o.A, B = o.B, C = o.C}, context)
  set_stride(a, batch, count("stride_a", o.stride_a, 0))
  set_stride(b, batch, count("stride_b", o.stride_b, 0))
  set_stride(c, batch, count("stride_c", o.stride_c, 0))
  if given then
    check_apart(c, batch)
    check_alias(c, a, batch)
    check_alias(c, b, batch)
  end
  local s = M.shape({
    m = m, n = n, k = k, type = o.A.type, lda = a.ld, ldb = b.ld, ldc = c.ld,
    alpha = o.alpha, beta = o.beta, trans_a = o.trans_a, trans_b = o.trans_b,
    batch = batch, stride_a = a.stride, stride_b = b.stride,
    stride_c = c.stride, start_a = o.A.start, start_b = o.B.start,
    start_c = o.C.start, out = o.C.type,
  }, true)
  s.ready = ready
  return s
end

--- Matrix i, from 0, of a bound operand "A", "B" or "C", as a Buffer.
function M.at(o, s, name, i)
  local b, letter = o[name], name:lower()
  if b.rows and i == 0 then
    return b
  end
  local rows, cols = submatrix.extent(s, name)
  return b:matrix(i * s["stride_" .. letter] + 1, rows, cols,
    s["ld" .. letter])
end

--- The matrix of M.at as host memory, as it is multiplied: turned back if it
--- is transposed, unless `stored`.
function M.read(o, s, name, i, stored)
  local h = M.at(o, s, name, i):read()
  if s["trans_" .. name:lower()] and not stored then
    return (host.transpose_loop(h))
  end
  return h
end

return M
