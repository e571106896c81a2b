-- split/families.lua - gemm and transpose of Splits; sparse.lua has spmv
-- SPDX-License-Identifier: MIT

local class = require "clshell.split.class"
local cl = require "cl"
local devices = require "clshell.split.devices"
local queues = require "clshell.split.queues"
local text = require "clshell.base.text"

local of_family = {}

-- Raises for options that name one device, or what parts do not have.
local function check_options(what, opts, refused)
  for _, name in ipairs(refused) do
    if opts[name] ~= nil then
      cl.error(("%s: a Split takes no option %s"):format(what, name),
        {arg = name})
    end
  end
end

-- The options of a call on one part.
local function with(opts, more)
  local own = {}
  for key, value in pairs(opts) do
    own[key] = value
  end
  for key, value in pairs(more) do
    own[key] = value
  end
  return own
end

-- The operand B of a product: in copies, or in rows.
local function second(A, B)
  if not class.is(B) then
    return class.spread("gemm", B, A.devices, "copies", {})
  end
  class.live("gemm", B)
  class.fits("gemm", {devices = A.devices, axis = "copies"}, B)
  return B
end

-- The product of parts of A and copies of B.
local function with_copies(gemm, A, B, opts)
  local parts = {}
  for i, part in ipairs(A.parts) do
    parts[i] = part and gemm(part, B.parts[i], with(opts,
      {C = opts.C and opts.C.parts[i]}))
  end
  return class.like(A, parts)
end

-- The factors that part j of B has in C on a device: of A and C the columns
-- that belong to its rows. With B transposed these are columns of C.
local function stage(A, C, B, j, opts, started)
  local first, rows = B.first[j], B.sizes[j]
  if opts.trans_b then
    return A, with(opts, {C = C:sub(1, first, C.rows, rows)})
  end
  return A:sub(1, first, A.rows, rows), with(opts, {C = C,
    beta = started and 1 or opts.beta})
end

-- The product of parts of A and B in rows: each device begins with its own
-- rows of B and gets the others while it computes.
local function with_rows(gemm, A, B, opts)
  local n, parts, started = #A.devices, {}, {}
  local columns = opts.trans_b and B.shape[1] or B.cols
  for i, part in ipairs(A.parts) do
    parts[i] = part and (opts.C and opts.C.parts[i]
      or cl.buffer(A.type, {part.rows, columns}, nil,
        {context = part.context}))
  end
  local ready = queues.ready(B.devices)
  for step = 0, n - 1 do
    for i, part in ipairs(A.parts) do
      local j = (i + step - 1) % n + 1
      local rows = part and B.parts[j]
      if rows then
        local panel = rows
        if rows.context ~= part.context then
          panel = cl.buffer(B.type, rows.shape, nil, {context = part.context})
          queues.fetch(rows, panel, {}, ready)
        end
        local factor, own = stage(part, parts[i], B, j, opts, started[i])
        gemm(factor, panel, own)
        part.context.queue:flush()
        started[i] = true
        if panel ~= rows then
          panel:close()
        end
      end
    end
  end
  return class.like(A, parts)
end

-- gemm(A, B) with A in rows: C is in the same rows.
function of_family.gemm(gemm, A, B, opts)
  opts = with(opts or {}, {})
  if not class.is(A) or A.axis ~= "rows" then
    cl.error("gemm: with a Split, A must be one in rows; got "
      .. (class.is(A) and "one in copies" or text.got(A)), {arg = "A",
      hint = 'cl.split(A, s.devices, "rows"), or B:join()'})
  end
  check_options("gemm", opts, {"queue", "after", "batch", "stride_a",
    "stride_b", "stride_c", "trans_a"})
  class.live("gemm", A):eval()
  if opts.C ~= nil then
    if not class.is(opts.C) then
      cl.error("gemm: C must be a Split, as A is; got " .. text.got(opts.C),
        {arg = "C"})
    end
    class.fits("gemm", A, class.live("gemm", opts.C))
  end
  B = second(A, B):eval()
  local inner = B.shape[opts.trans_b and 2 or 1]
  if #A.shape ~= 2 or #B.shape ~= 2 or A.cols ~= inner then
    cl.error(("gemm: A is %s, and %sB is %s"):format(text.shape(A.shape),
      opts.trans_b and "the transposed " or "", text.shape(B.shape)))
  end
  return (B.axis == "copies" and with_copies or with_rows)(gemm, A, B, opts)
end

-- transpose(A): each device transposes its rows; the result is in rows again,
-- of which every device gets some from each.
function of_family.transpose(transpose, A, opts)
  opts = with(opts or {}, {})
  check_options("transpose", opts, {"queue", "after", "B"})
  class.live("transpose", A):eval()
  if #A.shape ~= 2 or A.axis ~= "rows" then
    cl.error("transpose: a Split must be a matrix in rows; got "
      .. tostring(A), {arg = "A"})
  end
  local rows, columns = A.shape[1], A.cols
  local sizes = devices.sizes("transpose", columns, A.devices, A.sizes)
  local parts, pieces = {}, {}
  for i, part in ipairs(A.parts) do
    pieces[i] = part and transpose(part, opts)
    parts[i] = sizes[i] > 0 and cl.buffer(A.type, {sizes[i], rows}, nil,
      {context = cl.context(A.devices[i])})
  end
  devices.flush(A.devices)
  local B = class.new{devices = A.devices, parts = parts, sizes = sizes,
    axis = "rows", type = A.type, shape = {columns, rows}}
  for i, piece in ipairs(pieces) do
    for j, part in ipairs(piece and parts or {}) do
      if part then
        piece:copy(part, {from = {B.first[j], 1},
          size = {sizes[j], piece.cols}, to = {1, A.first[i]},
          async = piece.context == part.context}) -- others wait
      end
    end
    if piece then
      piece:close()
    end
  end
  return B
end

-- spmv of a matrix in parts is in sparse.lua.
function of_family.spmv()
  cl.error("spmv: M must be a Split matrix where x is a Split", {arg = "M",
    hint = 'cl.split(M, x.devices, "rows")'})
end

-- A family's call with a Split among its operands.
function class.meta.__family(family, ...)
  local f = of_family[family.name]
  if not f then
    cl.error(("%s: takes no Split; take s:join(), or cl.each"):format(
      family.name))
  end
  return f(family, ...)
end

return {}
