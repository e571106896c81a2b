-- ladders/gemm/ozaki.lua - double products by residues, for rung ozaki: the
-- moduli, and the launches before and after the int8 products
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local roundup = tiling.roundup

local M = {}

-- Pairwise coprime, at most 256, so that a residue is a char.
local MODULI = {256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217,
  211, 199, 197, 193, 191, 181}
local DIGITS, BASE = 4, 40 -- a number below their product: digits, bits each
local WIDTH = 8     -- doubles of a modulus in the table of constants
local LINE = 128    -- bytes that the length of a line of residues divides by
local BLOCK = 2     -- rows and columns of a work-item, as in ozaki.cl
local SIDE = 8      -- of a work-group
local TILE = 16     -- of the kernel that stands by

-- digits * factor + 0, little-endian, in place.
local function multiply(digits, factor)
  local carry = 0
  for i, digit in ipairs(digits) do
    carry = carry + digit * factor
    digits[i], carry = carry & (1 << BASE) - 1, carry >> BASE
  end
  return digits
end

-- The product of the first `count` moduli, without number `except`.
local function product(count, except)
  local digits = {1}
  for i = 2, DIGITS do
    digits[i] = 0
  end
  for i = 1, count do
    multiply(digits, i ~= except and MODULI[i] or 1)
  end
  return digits
end

local function remainder(digits, modulus)
  local rest = 0
  for i = DIGITS, 1, -1 do
    rest = ((rest << BASE) + digits[i]) % modulus
  end
  return rest
end

--- ozaki.constants(count) -> list, whole
--- The table of `count` moduli for the kernels, 8 doubles each: p, 1 / p, the
--- weight q / p, 0, and the 4 digits of the weight P q / p, which is 1 modulo
--- p and 0 modulo the others; behind them 0, 0, 0, 0 and the digits of their
--- product P. And P as a number.
function M.constants(count)
  local list, whole = {}, 0
  local function add(p, q, digits)
    local row = {p, p == 0 and 0 or 1 / p, p == 0 and 0 or q / p, 0,
      table.unpack(digits)}
    table.move(row, 1, WIDTH, #list + 1, list)
  end
  for i = 1, count do
    local p, others, q = MODULI[i], product(count, i), 1
    while remainder(others, p) * q % p ~= 1 do
      q = q + 1
    end
    add(p, q, multiply(others, q))
  end
  local P = product(count)
  add(0, 0, P)
  for i, digit in ipairs(P) do
    whole = whole + digit * 2.0^(BASE * (i - 1))
  end
  return list, whole
end

--- ozaki.count(s, p) -> number
--- The number of moduli: the parameter, or by the length of the sums. 15 hold
--- what a double product keeps of long sums; in short sums a single small
--- element counts for more.
function M.count(s, p)
  return p.moduli > 0 and p.moduli or s.k >= 256 and 15 or s.k >= 32 and 16
    or 18
end

-- The lines of residues of an operand: rows of A, columns of B.
local function lines_of(s, count, lines, pitch)
  return {
    lines = lines, planes = tiling.scratch(s, (count + 1) * lines * pitch,
      "char"),
    notes = tiling.scratch(s, {lines, 4}),
  }
end

-- Memory of a plan; the products of a batch use it one after another.
local function memory(s, count)
  local list, whole = M.constants(count)
  local pitch = roundup(s.k, LINE)
  return {
    count = count, pitch = pitch, whole = whole,
    constants = cl.buffer("double", #list, list, {context = s.context}),
    a = lines_of(s, count, s.m, pitch), b = lines_of(s, count, s.n, pitch),
    sums = tiling.scratch(s, count * s.m * s.n, "uchar"),
    refused = tiling.scratch(s, 1, "int"),
  }
end

--- ozaki.refusal(dev, s, p) -> reason or nil
--- The reason why the residues of a shape have no room on the device.
function M.refusal(dev, s, p)
  local count, pitch = M.count(s, p), roundup(s.k, LINE)
  local most = math.max((count + 1.0) * s.m * pitch, (count + 1.0) * s.n
    * pitch, 1.0 * count * s.m * s.n)
  if most > dev.max_mem_alloc_size then
    return ("the residues take %s in a Buffer, device allows %s"):format(
      text.bytes(most), text.bytes(dev.max_mem_alloc_size))
  end
end

function M.range(s, p)
  local global, size = tiling.range(s.n, s.m, BLOCK * SIDE, BLOCK * SIDE,
    SIDE, SIDE)
  return {global[1], global[2], M.count(s, p)}, {size[1], size[2], 1}
end

-- The arguments of the int8 products, of ozaki.cl.
function M.args(s, _, o)
  local own = o.own
  return {s.m, s.n, own.pitch, own.count, own.a.planes, own.b.planes,
    own.constants, own.sums, own.refused}
end

--- ozaki.prepare(s, p, o, run) -> {own}
--- Scales the lines of A and B, stores their residues, and finds out whether
--- the product is as exact as a double one: if not, own.refused is 1.
function M.prepare(s, p, o, run)
  local count = M.count(s, p)
  s.ozaki = s.ozaki or memory(s, count)
  local own = s.ozaki
  -- of the norms of a row and a column, so that no sum wraps round
  local room = own.whole / 2 * (1 - 2^-8)
  run("../reduce/counters.cl", "clear", {}, {1}, nil, own.refused)
  local size = tiling.group_size(s, 64)
  for _, name in ipairs{"a", "b"} do
    local X, to = o[name:upper()], own[name]
    run("ozaki_pack.cl", "pack", {LX = size}, {to.lines * size}, {size},
      s.k, X, X.ld, own.pitch, room, count, own.constants, to.planes,
      to.notes, own.refused)
  end
  local global, group = M.range(s, p)
  run("ozaki.cl", "check", {}, {global[1], global[2]}, {group[1], group[2]},
    s.m, s.n, own.pitch, count, own.a.planes, own.b.planes, own.a.notes,
    own.b.notes, math.sqrt(s.k) / 4 * 2^-53, own.refused)
  return {own = own}
end

--- ozaki.finish(s, p, o, run)
--- Makes C of the sums modulo each modulus; or, where the operands were
--- refused, computes it in double.
function M.finish(s, _, o, run)
  local own, C = o.own, o.C
  run("ozaki_pack.cl", "combine", {}, {roundup(s.n, 32), roundup(s.m, 2)},
    {32, 2}, s.m, s.n, own.count, own.sums, own.constants, own.a.notes,
    own.b.notes, s.alpha, s.beta, C, C.ld, own.refused)
  local dev = s.context.device
  local tile = dev.max_work_group_size < TILE^2 and TILE // 2 or TILE
  local global, group = tiling.range(s.n, s.m, tile, tile)
  run("tiled_transposed_b.cl", "gemm", {REAL = s.type, TILE = tile,
    STANDBY = 1}, global, group, s.m, s.n, s.k, s.alpha, o.A, o.A.ld, o.B,
    o.B.ld, s.beta, C, C.ld, own.refused)
end

return M
