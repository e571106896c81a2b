-- data/uniform.lua - new Buffers of the random numbers that Array:random has,
-- bit for bit: large ones are made on the device
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local result = require "clshell.base.result"

local M = {}

local FEW = 1 << 20 -- elements that the host makes sooner than a build takes
local GROUP = 256

-- Bits of a number in the mantissa; 0 for integers.
local BITS = {float = 24, double = 53, half = 11, char = 0, uchar = 0,
  short = 0, ushort = 0, int = 0, uint = 0, long = 0, ulong = 0}

local built = setmetatable({}, {__mode = "k"}) -- context -> type -> kernel

local function kernel(context, type)
  local kernels = built[context] or {}
  built[context] = kernels
  if not kernels[type] then
    local path = cl.home .. "/kernels/random/splitmix.cl"
    kernels[type] = assert(cl.build(path, {context = context,
      defines = {TYPE = type, BITS = BITS[type]}})).splitmix
  end
  return kernels[type]
end

-- The ends of reals, or the lower end of integers and the number of values, as
-- the kernel takes them.
local function ends(type, lo, hi)
  local cell <close> = cl.array(type, 2, {lo or 0,
    hi or BITS[type] > 0 and 1 or 99})
  if BITS[type] > 0 then
    return cell[1], cell[2]
  end
  return cl.ulong(cell[1]), cl.ulong(cell[2] - cell[1] + 1)
end

--- uniform.fits(b, lo, hi) -> boolean
--- Whether the device can make the numbers of uniform.fill(b, seed, lo, hi).
function M.fits(b, lo, hi)
  local bits = BITS[b.type]
  return bits and not (b.rows and b.ld ~= b.cols)
    and (bits == 0 or b.context.device:has "cl_khr_fp64")
    and (bits ~= 11 or (lo or 0) == 0 and (hi or 1) == 1)
end

--- uniform.fill(b, seed, lo, hi) -> Event
--- Fills a Buffer on the device, where uniform.fits.
function M.fill(b, seed, lo, hi)
  local n = #b
  local first, last = ends(b.type, lo, hi)
  return kernel(b.context, b.type):range((n + GROUP - 1) // GROUP * GROUP,
    GROUP)(n, cl.ulong(math.tointeger(seed)), first, last, b)
end

--- uniform.buffer(type, shape, seed [, lo, hi, opts]) -> Buffer
--- A new Buffer of these numbers; opts as for cl.buffer.
--- Example:
--- local b = require "clshell.data.uniform".buffer("float", {2, 2}, 7)
--- print(b:read():equal(cl.array("float", {2, 2}):random(7))) --> true
function M.buffer(type, shape, seed, lo, hi, opts)
  local one <close> = cl.array(type, 1) -- for the checks of the arguments
  one:random(seed, lo, hi)
  local b = cl.buffer(type, shape, nil, opts)
  if #b >= FEW and b.context.device.type ~= "cpu" and M.fits(b, lo, hi)
      and not result.recording() then
    M.fill(b, seed, lo, hi):wait() -- the next use may be on another queue
  else
    local h <close> = cl.array(type, shape)
    b:write(h:random(seed, lo, hi))
  end
  return b
end

return M
