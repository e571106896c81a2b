-- ladders/gemm/submatrix.lua - sub-matrices, batches and transposed operands
-- of gemm: where the matrices lie, and copies for rungs that cannot take them
-- so
-- SPDX-License-Identifier: MIT
--
-- Two fields of a rung say which operands its kernel takes:
--
--   places   "batch": it includes submatrix.cl and takes sub-matrices and
--            batches; "all": the same by arguments of its own, its NDRange
--            covers the whole batch; "one": sub-matrices, but one product in a
--            launch; nil: neither, so matrices are copied for it, one by one
--   trans    {a =, b =}: true where it wants A or B transposed, "any" where it
--            looks at s.trans_a or s.trans_b itself; not transposed by default

local cl = require "cl"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local roundup = tiling.roundup

local M = {}

local MOST = 65535 -- matrices in one launch: groups in dimension 2 of a GPU

local meta = {} -- of Submatrices

-- Submatrices {buffer, type, ld, start, stride, count}: an operand of `count`
-- matrices, the first one `start` elements into the buffer, each `stride`
-- elements behind the one before. Rungs get them for products of sub-matrices
-- and batches, Buffers for all others; both have an ld, and both go into a
-- list of kernel arguments.
local function new(buffer, type, ld, start, stride, count)
  return setmetatable({buffer = buffer, type = type, ld = ld, start = start,
    stride = stride, count = stride == 0 and 1 or count}, meta)
end

local function is_submatrix(x)
  return getmetatable(x) == meta
end

local function submatrix_of(b, stride, count)
  return new(cl.base(b), b.type, b.ld, b.start, stride, count)
end

-- The matrices `first` to `last` (from 0) of an operand.
local function slice(x, first, last)
  return new(x.buffer, x.type, x.ld, x.start + first * x.stride, x.stride,
    last - first + 1)
end

-- Device memory for an operand changed by `prepare`: a Buffer, or as many
-- matrices as `like` has.
function M.scratch(s, rows, cols, like)
  local count = is_submatrix(like) and like.count or 1
  local b = tiling.scratch(s, {count * rows, cols}, like.type)
  if not is_submatrix(like) then
    return b
  end
  return submatrix_of(b, count > 1 and rows * cols or 0, count)
end

-- The defines of the operands' type for pad.cl, which takes halves on devices
-- without cl_khr_fp16 as well.
function M.element(s)
  return s.type == "half" and {HALF = 1}
    or {REAL = text.bits(s.type) or s.type}
end

-- A Buffer that a rung packed beforehand, in the form that replaces `like`.
function M.ready(b, like)
  return is_submatrix(like) and submatrix_of(b, 0, 1) or b
end

-- A list of kernel arguments with the buffers of its Submatrices, and behind
-- all others the start and stride of each, as submatrix.cl has them; and the
-- number of matrices, nil where there are only Buffers.
function M.pass(args)
  local list, at, count = {}, {}, nil
  for i = 1, args.n or #args do
    local x = args[i]
    if is_submatrix(x) then
      at[#at + 1] = cl.long2(x.start, x.stride)
      count = math.max(count or 1, x.count)
      x = x.buffer
    end
    list[i] = x
  end
  return table.move(at, 1, #at, #list + 1, list), count
end

local OPERANDS = {
  A = {ld = "lda", start = "start_a", stride = "stride_a", trans = "trans_a",
    rows = "m", cols = "k"},
  B = {ld = "ldb", start = "start_b", stride = "stride_b", trans = "trans_b",
    rows = "k", cols = "n"},
  C = {ld = "ldc", start = "start_c", stride = "stride_c", trans = "trans_c",
    rows = "m", cols = "n"}, -- there is no s.trans_c: C is as it is
}

-- Elements that an access to operand "a", "b" or "c" may move at once: `wide`
-- where the length of rows, their distance and the starts of matrices are
-- multiples of it, else 1. Buffers begin at larger multiples.
function M.vector(wide, length, s, name)
  local sum = length % wide + s["ld" .. name] % wide
    + s["start_" .. name] % wide + s["stride_" .. name] % wide
  return sum == 0 and wide or 1
end

-- The rows and columns of an operand as it is stored.
function M.extent(s, name)
  local x = OPERANDS[name]
  local rows, cols = s[x.rows], s[x.cols]
  if s[x.trans] then
    rows, cols = cols, rows
  end
  return rows, cols
end

-- Whether a rung wants an operand of the shape turned.
local function wants_turn(rung, s, name)
  local wanted = rung.trans and rung.trans[name:lower()] or false
  return wanted ~= "any" and wanted ~= (s[OPERANDS[name].trans] or false)
end

-- The shape with an operand stored afresh, without gaps.
local function stored(t, name, trans)
  local x = OPERANDS[name]
  t[x.trans], t[x.start] = trans, 0
  local rows, cols = M.extent(t, name)
  t[x.ld] = cols
  t[x.stride] = t[x.stride] == 0 and 0 or rows * cols
end

-- The shape for a rung, with operands in the form that the rung takes.
function M.adapt(rung, s)
  if not s.placed and not wants_turn(rung, s, "A")
      and not wants_turn(rung, s, "B") then
    return s
  end
  local t = {}
  for key, value in pairs(s) do
    t[key] = value
  end
  for name, x in pairs(OPERANDS) do
    if wants_turn(rung, s, name) then
      stored(t, name, not s[x.trans])
    end
  end
  if s.placed and not rung.places then
    for name, x in pairs(OPERANDS) do
      stored(t, name, t[x.trans])
      t[x.stride] = 0
    end
    t.placed, t.batch = false, 1
  end
  return t
end

-- Operand X of a shape, stored the other way round: by the ladder of
-- transpose where its rungs take it.
local function turned(s, run, name, X)
  local rows, cols = M.extent(s, name)
  local bits = text.bits(s.type)
  if not is_submatrix(X) and s.type ~= "half" and s.type ~= "char"
      and not bits then
    local Y = M.scratch(s, cols, rows, X)
    run(require "clshell.ladders.transpose".plan(X, {B = Y}))
    return Y
  end
  local small = s.context.device.max_work_group_size < 256
  local tile, ly = small and 8 or 32, 8
  local Y = M.scratch(s, cols, rows, X)
  run("turn.cl", "turn", {REAL = bits or s.type, TILE = tile, LY = ly},
    {roundup(cols, tile), roundup(rows, tile) // tile * ly}, {tile, ly},
    rows, cols, X, X.ld, Y, Y.ld)
  return Y
end

-- A copy of X, of rows x cols, with more rows and columns of zeros, by
-- work-groups of `size`; nil: the memory for it, nothing is copied.
function M.pad(s, run, X, rows, cols, more_rows, more_cols, size)
  local Y = M.scratch(s, more_rows, more_cols, X)
  if size then
    run("pad.cl", "pad", M.element(s, X.type),
      {roundup(more_cols, size[1]), roundup(more_rows, size[2])}, size,
      rows, cols, X, X.ld, more_rows, more_cols, Y, Y.ld)
  end
  return Y
end

-- Copies a matrix of rows x cols.
function M.copy(s, run, rows, cols, X, Y)
  run("pad.cl", "unpad", M.element(s, X.type),
    {roundup(cols, 16), roundup(rows, 4)}, {16, 4},
    rows, cols, X, X.ld, Y, Y.ld)
end

-- The launches for a rung that takes one Buffer for each operand: matrices
-- are copied there and back, one product after another.
local function one_by_one(s, t, o, run, launch)
  local own = {alpha = o.alpha, beta = o.beta}
  for name in pairs(OPERANDS) do
    own[name] = tiling.scratch(s, {M.extent(t, name)}, o[name].type)
  end
  local function move(name, i, back)
    local X, Y = slice(o[name], i, i), submatrix_of(own[name], 0, 1)
    if back then
      X, Y = Y, X
    end
    local rows, cols = M.extent(t, name)
    M.copy(s, run, rows, cols, X, Y)
  end
  for i = 0, s.batch - 1 do
    for name in pairs(OPERANDS) do
      if name == "C" and s.beta ~= 0
          or name ~= "C" and (i == 0 or o[name].stride ~= 0) then
        move(name, i)
      end
    end
    local reason = launch(t, own)
    if reason then
      return reason
    end
    move("C", i, true)
  end
end

-- C = beta C, in the place of a rung.
local function scale(s, run, C)
  local defines = s.out == "half" and {HALF = 1} or rungs.element(s.out, s.out)
  run("scale.cl", "scale", defines, {roundup(s.n, 16), roundup(s.m, 4)},
    {16, 4}, s.m, s.n, s.beta, C, C.ld)
end

-- Turns and copies operands `o` of a product of shape `s` as a rung wants
-- them, and launches it by `launch(t, operands)` as often as needed; `t` is
-- the shape by M.adapt. Returns nil or the reason of a refusal. With alpha = 0
-- no rung runs: A and B must not be read.
function M.stage(rung, s, t, o, run, launch)
  if s.alpha == 0 then
    rung = {places = "batch", trans = {a = "any", b = "any"}}
    function launch(_, own)
      scale(s, run, own.C)
    end
  end
  local own = {alpha = o.alpha, beta = o.beta}
  for name, x in pairs(OPERANDS) do
    local X = s.placed and submatrix_of(o[name], s[x.stride], s.batch)
      or o[name]
    own[name] = wants_turn(rung, s, name) and turned(s, run, name, X) or X
  end
  if not s.placed then
    return launch(t, own)
  elseif not rung.places then
    return one_by_one(s, t, own, run, launch)
  end
  local step = rung.places == "all" and s.batch
    or rung.places == "batch" and MOST or 1
  for first = 0, s.batch - 1, step do
    local last = math.min(first + step, s.batch) - 1
    local part = {alpha = o.alpha, beta = o.beta}
    for name in pairs(OPERANDS) do
      part[name] = slice(own[name], first, last)
    end
    local reason = launch(t, part)
    if reason then
      return reason
    end
  end
end

return M
