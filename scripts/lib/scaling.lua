-- lib/scaling.lua - for bench_scale.lua: the time of a product over any number
-- of processes, by the alpha-beta model: a message of b bytes takes latency +
-- b / bandwidth (Hockney, "The communication challenge for MPP", 1994), with
-- constants that the ranks at hand have measured. Panels have a bandwidth of
-- their own, measured from device to device while all ranks send and receive;
-- so have products of panels, by their shape, and halos, by small products.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local exchanges = require "clshell.parts.ranks.exchange"
local gemm = require "clshell.parts.ranks.rank_gemm"
local grids = require "clshell.parts.ranks.grid"
local product = require "clshell.ladders.gemm"
local strips = require "clshell.parts.ranks.strips"
local tasks = require "clshell.parts.ranks.tasks"

local M = {}

local SMALL, LARGE = 200, 8  -- round trips of a small and a large message
local MESSAGE = 8 << 20      -- bytes of a large message
local TRANSFER = 64 << 20    -- bytes to a device and back
local EDGE, DEPTH, PANELS = 4096, 1024, 4 -- rows, columns and number of panels

local function median(list)
  table.sort(list)
  return list[(#list + 1) // 2]
end

-- Seconds of a message of n floats, half of a round trip between ranks 0 and
-- 1; nil on the other ranks.
local function message(world, n, times)
  local h, list, me = cl.array("float", n), {}, world:rank()
  for i = 1, me < 2 and times or 0 do
    local begin = cl.now()
    if me == 0 then
      world:send(h, 1)
      world:recv(h, 1)
    else
      world:recv(h, 0)
      world:send(h, 0)
    end
    list[i] = (cl.now() - begin) / 2
  end
  return me < 2 and median(list) or nil
end

-- Seconds of f, the median of some calls.
local function seconds(times, f)
  local list = {}
  for i = 1, times do
    local begin = cl.now()
    f()
    list[i] = cl.now() - begin
  end
  return median(list)
end

-- Seconds in which the ranks of this row of the grid exchange panels, and
-- whether the ranks share memory.
local function exchange(g)
  local comm, all = g.row_comm, {}
  local channel <close> = exchanges.new(comm, "float", DEPTH, true)
  for rank = 0, comm:size() - 1 do
    local panel = cl.buffer("float", {EDGE, DEPTH}, 1)
    all[rank + 1] = function()
      for _ = 1, PANELS do
        if rank == comm:rank() then
          channel:send(panel)
        else
          channel:receive(rank, panel)
        end
      end
    end
  end
  return seconds(4, function() -- the first call makes the pages of memory
    comm:barrier()
    tasks.run(all)
    channel:finish()
    channel.pieces.up_queue:finish()
  end), channel.shares
end

-- Seconds of a call of ranks.spmv, of several in turn, whose strips have few
-- rows beside the halo of n elements.
local function halo(world, n, type)
  local A = strips.poisson2d(n, 4 * world:size(), {type = type})
  local x, y = A:vector(1), A:vector()
  local function run(times)
    world:barrier()
    local begin = cl.now()
    for _ = 1, times do
      strips.spmv(A, x, y)
    end
    cl.context().queue:finish()
    return (cl.now() - begin) / times
  end
  run(3) -- builds the kernels
  return run(50)
end

local rates = {} -- by type and shape of panels

--- scaling.rate(type, rows, cols, depth) -> number
--- Operations a second of the product of two panels on each device while all
--- ranks multiply, the same on all ranks, which all call it.
function M.rate(type, rows, cols, depth)
  local key = ("%s %d %d %d"):format(type, rows, cols, depth)
  if not rates[key] then
    local opts, world = {type = type, lo = -1, hi = 1}, grids.world()
    local A <close> = cl.random({rows, depth}, opts)
    local B <close> = cl.random({depth, cols}, opts)
    local C <close> = cl.random({rows, cols}, opts)
    local plan = product.plan(A, B, {C = C, beta = 1})
    plan():wait()
    world:barrier()
    local one = seconds(3, function()
      for _ = 1, 4 do
        plan()
      end
      cl.context().queue:finish()
    end) / 4
    rates[key] = 2.0 * rows * cols * depth / world:allreduce(one, "max")
  end
  return rates[key]
end

--- scaling.measure([n [, type]]) -> constants
--- A table, the same on all ranks, which all call it. Fields: up, down (bytes
--- a second to and from the device), touch (seconds of a small transfer), and
--- for several ranks latency (seconds of a message), bandwidth (bytes a second
--- of messages), exchange (bytes a second of panels from device to device,
--- both ways at once), shares (whether panels go through shared memory) and
--- halo (seconds of a product of few rows and their halo of n elements).
function M.measure(n, type)
  local world, c = grids.world(), {}
  local b <close> = cl.buffer("float", TRANSFER // 4, 0)
  local h <close> = cl.array("float", TRANSFER // 4)
  local small <close> = cl.array("float", 1)
  world:barrier()
  local function all(x) -- the value of the slowest rank
    return world:allreduce(x, "max")
  end
  c.up = TRANSFER / all(seconds(3, function() b:write(h) end))
  c.down = TRANSFER / all(seconds(3, function() b:read(h) end))
  c.touch = all(seconds(20, function()
    b:read(small, {first = 1, count = 1})
  end))
  if world:size() > 1 then
    c.latency = all(message(world, 1, SMALL) or 0.0)
    c.bandwidth = MESSAGE / all(message(world, MESSAGE // 4, LARGE) or 0.0)
    local g = grids.new()
    local time, shares = exchange(g)
    c.exchange = PANELS * EDGE * DEPTH * 4 * g.cols / 2 / all(time)
    c.shares = all(shares and 1 or 0) == 1
    c.halo = all(halo(world, n or 1024, type))
  end
  return c
end

local function hops(size) -- the depth of a binomial tree
  return math.ceil(math.log(size, 2) - 1e-9)
end

--- scaling.gemm(c, s, p) -> seconds, share
--- The time of ranks.gemm with p ranks, and the share of the time without a
--- product. Fields of s: m, n, k, esize, rate(rows, cols, depth) (operations
--- a second of a product of panels) and depth (by default the depth that
--- ranks.gemm takes).
function M.gemm(c, s, p)
  local rows, cols = grids.squarest(p)
  local height, width = s.m / rows, s.n / cols
  local depth = math.min(s.k / cols, s.k / rows, s.depth
    or gemm.depth(s.m, s.n, s.k, {rows = rows, cols = cols}))
  local steps = math.ceil(s.k / depth)
  local one = 2 * height * width * depth / s.rate(math.ceil(height),
    math.ceil(width), math.ceil(depth))
  local panel, latency = 0, 0 -- bytes of both panels of a step
  for _, along in ipairs{{cols, height}, {rows, width}} do
    local size, lines = table.unpack(along)
    if size > 1 then
      panel = panel + lines * depth * s.esize
      latency = latency + hops(size) * c.latency
    end
  end
  -- At each step a rank sends a panel or receives it, in half of the time of
  -- both at once. The first product waits for the first panels of all ranks.
  local first = panel > 0 and latency + panel / c.exchange or 0
  local move = panel > 0 and latency + panel / c.exchange / 2 or 0
  local total = math.max(first + steps * one, steps * move + one)
  return total, 1 - steps * one / total
end

--- scaling.spmv(c, s, p) -> seconds, share
--- The time of ranks.spmv with p ranks, and the share of the time without a
--- product. Fields of s: rows and rate (rows a second of one rank).
function M.spmv(c, s, p)
  local all = s.rows / p / s.rate
  local total = p == 1 and all or math.max(all, c.halo)
  return total, 1 - all / total
end

return M
