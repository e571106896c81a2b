-- parts/split/split_products.lua - gemm and transpose of Splits;
-- split_sparse.lua has spmv
-- SPDX-License-Identifier: MIT

local class = require "clshell.parts.split.split_class"
local cl = require "cl"
local devices = require "clshell.parts.split.devices"
local gemm_operands = require "clshell.ladders.gemm.gemm_operands"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

local MANY = 2048 -- rows of B that go to another device in two halves

local of_family = {}

-- Raises where opts has a refused option.
local function check_options(what, opts, refused)
  for _, name in ipairs(refused) do
    if opts[name] ~= nil then
      cl.error(("%s: a Split takes no option %s"):format(what, name),
        {arg = name})
    end
  end
end

-- The operand B of a product as a Split in copies or in rows.
local function second(A, B)
  if not class.is(B) then
    return class.spread("gemm", B, A.devices, "copies", {})
  end
  class.live("gemm", B)
  class.fits("gemm", {devices = A.devices, axis = "copies"}, B)
  return B
end

-- The steps of the last product into a Split C, by C. A call with the same
-- operands and options launches the plans of the steps again and allocates no
-- memory. A and B stay as long as C, or until another product into C.
local kept = setmetatable({}, {__mode = "k"})

local function alike(a, b)
  for key, value in pairs(a) do
    if key ~= "C" and b[key] ~= value then
      return false
    end
  end
  return true
end

-- The steps of a call, kept or new, and whether they stay for the next call.
local function steps_of(gemm, A, B, opts)
  local C = opts.C
  local last = C and kept[C]
  if not (last and last.A == A and last.B == B
      and last.rows == gemm.kept_plans and alike(last.opts, opts)
      and alike(opts, last.opts)) then
    last = {A = A, B = B, rows = gemm.kept_plans,
      opts = options.with(opts, {C = false})}
    if C then
      kept[C] = last
    end
  end
  return last, C ~= nil
end

-- The rows of B that the devices take at a time: a device takes its own rows
-- all at once, and many rows of another device in two halves, so that it works
-- before all of them are there. Returns a list of turns, each a table of
-- {part, first, rows} by device. With B in copies there is one turn.
local function turns_of(B)
  local n, list = #B.devices, {}
  for step = 0, B.axis == "copies" and 0 or n - 1 do
    local turn, rest = {}, {}
    for i = 1, n do
      local j = (i + step - 1) % n + 1
      local rows = B.sizes[j]
      local cut = step > 0 and rows >= MANY and rows // 2 or rows
      turn[i] = rows > 0 and {part = j, first = 1, rows = cut}
      rest[i] = cut < rows and {part = j, first = cut + 1, rows = rows - cut}
    end
    table.move({turn, rest}, 1, 2, #list + 1, list)
  end
  return list
end

-- One product of a part of A: with the part's own rows of B, or with a copy of
-- another device's rows of B in `rows`. The left factor is the columns of A
-- that meet these rows; where B is transposed it is all of A, as the rows give
-- columns of C.
local function new_step(gemm, A, C, B, stage, opts, started)
  local from = B.parts[stage.part]
  local own = from.context == A.context and stage.rows == from.rows
  local rows = not own and cl.buffer(B.type, {stage.rows, B.cols}, nil,
    {context = A.context}) or nil
  local first = B.first[stage.part] + stage.first - 1
  local more = {C = C}
  if stage.rows < B.shape[1] and opts.trans_b then
    more.C = C:sub(1, first, C.rows, stage.rows)
  elseif stage.rows < B.shape[1] then
    A = A:sub(1, first, A.rows, stage.rows)
    more.beta = started and 1 or nil
  end
  return {rows = rows, plan = gemm.plan(A, rows or from,
    options.with(opts, more))}
end

-- Launches a step; its rows are copied beside the work that the device has.
local function run_step(step, B, stage, context, ready)
  if step.last then
    step.last:wait():close() -- the product has read the rows
    step.last = nil
  end
  if step.rows then
    devices.fetch(B.parts[stage.part], step.rows, {from = {stage.first, 1},
      size = {stage.rows, B.cols}}, ready)
  end
  step.last = step.plan()
  context.queue:flush()
end

-- Closes the Buffers of steps; a driver may wait until they are not in use.
local function close(steps)
  for _, step in pairs(steps or {}) do
    if step.rows then
      step.rows:close()
    end
  end
end

-- The product of parts of A and B: each device begins with its own rows of B
-- and gets the other rows while it computes.
local function product(gemm, A, B, opts)
  local started, C = {}, opts.C or class.empty{devices = A.devices,
    sizes = A.sizes, axis = "rows", type = gemm_operands.result_type(A.type),
    shape = {A.shape[1], opts.trans_b and B.shape[1] or B.cols}}
  local ready = devices.ready(B.devices)
  local steps, keep = steps_of(gemm, A, B, opts)
  for t, turn in ipairs(turns_of(B)) do
    steps[t] = steps[t] or {}
    if not keep then
      close(steps[t - 2])
    end
    for i, part in ipairs(A.parts) do
      if part and turn[i] then
        steps[t][i] = steps[t][i] or new_step(gemm, part, C.parts[i], B,
          turn[i], opts, started[i])
        run_step(steps[t][i], B, turn[i], part.context, ready)
        started[i] = true
      end
    end
  end
  devices.close(ready)
  for _, turn in ipairs(keep and {} or steps) do
    close(turn)
  end
  return class.like(A, C.parts)
end

-- gemm(A, B) with A in rows: C is in the same rows.
function of_family.gemm(gemm, A, B, opts)
  opts = options.with(opts, {})
  if not class.is(A) or A.axis ~= "rows" then
    cl.error("gemm: with a Split, A must be a Split in rows; got "
      .. (class.is(A) and "a Split in copies" or text.got(A)), {arg = "A",
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
  return product(gemm, A, B, opts)
end

-- transpose(A): each device transposes its rows and copies a piece to every
-- device; the result is in rows again.
function of_family.transpose(transpose, A, opts)
  opts = options.with(opts, {})
  check_options("transpose", opts, {"queue", "after", "B"})
  class.live("transpose", A):eval()
  if #A.shape ~= 2 or A.axis ~= "rows" then
    cl.error("transpose: a Split must be a matrix in rows; got "
      .. tostring(A), {arg = "A"})
  end
  local rows, columns = A.shape[1], A.cols
  local sizes = devices.sizes("transpose", columns, A.devices, A.sizes)
  local B = class.empty{devices = A.devices, sizes = sizes, axis = "rows",
    type = A.type, shape = {columns, rows}}
  local pieces = {}
  for i, part in ipairs(A.parts) do
    pieces[i] = part and transpose(part, opts)
  end
  devices.flush(A.devices)
  for i, piece in ipairs(pieces) do
    for j, part in ipairs(piece and B.parts or {}) do
      if part then
        piece:copy(part, {from = {B.first[j], 1},
          size = {sizes[j], piece.cols}, to = {1, A.first[i]},
          async = piece.context == part.context}) -- other copies wait
      end
    end
    if piece then
      piece:close()
    end
  end
  return B
end

-- spmv of a matrix in parts is in split_sparse.lua.
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
