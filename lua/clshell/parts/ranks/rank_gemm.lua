-- parts/ranks/rank_gemm.lua - the product of matrices in blocks, by SUMMA
-- SPDX-License-Identifier: MIT
--
-- k passes by in panels. The ranks with columns k .. k + d of A send them
-- along their rows of the grid, the ranks with these rows of B send them along
-- their columns, and all ranks add the product of the two panels to their
-- blocks of C (van de Geijn and Watts, "SUMMA: scalable universal matrix
-- multiplication algorithm", 1997). The next panels of all owners are under
-- way during a product.

local arguments = require "clshell.ladder.operands"
local cl = require "cl"
local exchange = require "clshell.parts.ranks.exchange"
local gemm = require "clshell.ladders.gemm"
local grids = require "clshell.parts.ranks.grid"
local matrix = require "clshell.parts.ranks.rank_matrix"
local options = require "clshell.base.options"
local panels = require "clshell.parts.panels"
local quantity = require "clshell.base.quantity"
local tasks = require "clshell.parts.ranks.tasks"

local M = {}

local WHO = "ranks.gemm"
local LEAST, MOST = 256, 4096 -- depth of panels

local PANELS = 4 -- panels of each operand on the device, at most

-- The depth of panels for a product on a grid: a quarter of a block, so that
-- reading and writing C at each product costs little.
function M.depth(m, n, k, g)
  local block = math.min(m // g.rows, n // g.cols)
  return math.min(k, math.max(LEAST, math.min(MOST, block // 4)))
end

local Job = {}
Job.__index = Job

-- A list of the panels: {k (first column of A), d (depth), a (the column of
-- the grid that has the panel of A), b (the row with the panel of B)}. One
-- panel of each pair of owners comes in turn, so that all owners send at the
-- same time. The order and the sums are the same on all ranks.
local function steps(k, g, depth)
  local list, turns, at = {}, {}, 1
  while at <= k do
    local col, last_a = grids.owner(k, g.cols, at)
    local row, last_b = grids.owner(k, g.rows, at)
    local last = math.min(at + depth - 1, last_a, last_b)
    local owners = col * g.rows + row
    turns[owners] = (turns[owners] or 0) + 1
    list[#list + 1] = {k = at, d = last - at + 1, a = col, b = row,
      turn = turns[owners]}
    at = last + 1
  end
  table.sort(list, function(x, y)
    return x.turn < y.turn or x.turn == y.turn and x.k < y.k
  end)
  return list
end

-- The state of one operand X, "a" or "b": the Comm that its panels go along
-- and the channel for them, none without `lines` (rows of A or columns of B of
-- this rank), and by panel: ready, the event after which the panel is on the
-- device, and sent, whether the other ranks have it.
local function side(name, X, comm, lines, depth, shared)
  return {name = name, X = X, comm = comm, ready = {}, sent = {},
    channel = lines > 0 and exchange.new(comm, X.type,
      name == "a" and depth or lines, shared ~= false) or nil}
end

-- Whether the slot of panel i is free: the panel before in it is sent and its
-- product has ended.
function Job:is_free(i)
  local before = i - self.panels.count
  if before < 1 then
    return true
  end
  for _, s in ipairs(self.sides) do
    if s.channel and self.list[before][s.name] == s.comm:rank()
        and not s.sent[before] then
      return false
    end
  end
  return self.panels:ended(before)
end

-- Task: copies this rank's panels of an operand from its block to the slots
-- and sends them to the other ranks.
function Job:send(s)
  local X, channel = s.X, s.channel
  for i, step in ipairs(self.list) do
    if step[s.name] == s.comm:rank() then
      tasks.wait(self.is_free, self, i)
      local panel = self.panels:panel(i, s.name, step.d)
      local queue = channel.pieces.up_queue
      s.ready[i] = X.block:copy(panel, {from = s.name == "a"
        and {1, step.k - X.first_col + 1} or {step.k - X.first_row + 1, 1},
        size = panel.shape, to = {1, 1}, queue = queue, async = true})
      queue:flush()
      if s.comm:size() > 1 then
        channel:send(panel, s.ready[i])
      end
      s.sent[i] = true
    end
  end
end

-- Task: receives the panels of another rank.
function Job:receive(s, rank)
  for i, step in ipairs(self.list) do
    if step[s.name] == rank then
      tasks.wait(self.is_free, self, i)
      s.ready[i] = s.channel:receive(rank, self.panels:panel(i, s.name,
        step.d))
    end
  end
end

function Job:is_ready(i)
  local a, b = self.sides[1], self.sides[2]
  return (not a.channel or a.ready[i]) and (not b.channel or b.ready[i])
end

-- Task: adds the products of all panels to the block of C.
function Job:multiply()
  for i, step in ipairs(self.list) do
    tasks.wait(self.is_ready, self, i)
    self.panels:add(i, step.d, {self.sides[1].ready[i],
      self.sides[2].ready[i]})
  end
end

function Job:run()
  local list = {function() self:multiply() end}
  for _, s in ipairs(self.sides) do
    for rank = 0, s.channel and s.comm:size() - 1 or -1 do
      list[#list + 1] = rank == s.comm:rank() and function()
        self:send(s)
      end or function()
        self:receive(s, rank)
      end
    end
  end
  tasks.run(list)
  self.panels:finish()
  for _, s in ipairs(self.sides) do
    if s.channel then
      s.channel:finish()
    end
  end
end

function Job:__close()
  self.panels.queue:finish()
  for _, s in ipairs(self.sides) do
    if s.channel then
      s.channel:close()
    end
  end
  self.panels:close()
end

local run_meta = {__name = "Ranks run"}

function run_meta:__tostring()
  return ("%dx%dx%d %s on %dx%d ranks: %s, %s, %.0f%% of it communication")
    :format(self.m, self.n, self.k, self.type, self.grid.rows, self.grid.cols,
      quantity.format(self.seconds, "s"),
      quantity.format(self.gflops * 1e9, "FLOPS"), self.share * 100)
end

-- Raises unless the types, sizes and grids of the operands agree.
local function check(A, B, C)
  matrix.check(WHO, "A", A)
  matrix.check(WHO, "B", B)
  arguments.same_type(WHO, "A", A, "B", B)
  arguments.check_type(WHO, "A", A, {"float", "double"})
  if A.cols ~= B.rows then
    cl.error(("%s: A is %dx%d and B is %dx%d: the columns of A are not the "
      .. "rows of B"):format(WHO, A.rows, A.cols, B.rows, B.cols))
  end
  for name, X in pairs{B = B, C = C} do
    if X.grid ~= A.grid then
      cl.error(("%s: A is on a grid of %dx%d, %s on one of %dx%d"):format(WHO,
        A.grid.rows, A.grid.cols, name, X.grid.rows, X.grid.cols))
    end
  end
  if C then
    matrix.check(WHO, "C", C)
    arguments.same_type(WHO, "A", A, "C", C)
    if C.rows ~= A.rows or C.cols ~= B.cols or C == A or C == B then
      cl.error(("%s: C must be another matrix of %dx%d; got %dx%d"):format(WHO,
        A.rows, B.cols, C.rows, C.cols), {arg = "C"})
    end
  end
end

-- Multiplies on a grid of one rank; returns seconds and seconds in products.
local function alone(A, B, C, opts)
  local plan = gemm.plan(A.block, B.block, {C = C.block, alpha = opts.alpha,
    beta = opts.beta, kernel = opts.kernel}) -- builds the kernels
  local begin = cl.now()
  local event = plan():wait()
  return cl.now() - begin, event.ms / 1e3
end

-- Multiplies on any grid; returns the seconds of the slowest rank, and the
-- average over all ranks of the seconds in products.
local function summa(A, B, C, opts)
  local g, world = A.grid, grids.world()
  local depth = math.min(A.cols, opts.depth
    or M.depth(A.rows, B.cols, A.cols, g))
  local list = steps(A.cols, g, depth)
  local job <close> = setmetatable({list = list, sides = {
    side("a", A, g.row_comm, A.height, depth, opts.shared),
    side("b", B, g.col_comm, B.width, depth, opts.shared)},
    panels = panels.new{type = A.type, rows = A.height, cols = B.width,
      depth = depth, count = math.min(PANELS, #list),
      alpha = opts.alpha or 1, kernel = opts.kernel}}, Job)
  if C.block then
    job.panels:into(C.block, 1)
  end
  job.panels:scale(opts.beta or 0)
  job.panels.queue:finish()
  for i, step in ipairs(C.block and list or {}) do
    job.panels:plan(i, step.d) -- builds the kernels
  end
  world:barrier()
  local begin = cl.now()
  job:run()
  local seconds = world:allreduce(cl.now() - begin, "max")
  return seconds, world:allreduce(job.panels.busy) / world:size()
end

--- ranks.gemm(A, B [, opts]) -> C, run
--- The product C = alpha A B + beta C of matrices in blocks, by SUMMA: panels
--- of A go along the rows of the grid of ranks and panels of B along its
--- columns, the next panels during the product of the panels before: up to 4
--- panels of each operand are on the device. Ranks of one host pass panels
--- through shared memory: 32 MiB of each rank for its row, 32 MiB for its
--- column, which stay until the program ends. `run` prints as text: seconds
--- (of the slowest rank), gflops (of all ranks together), busy (seconds in
--- products), share (of the time without a product).
--- Options:
---   C       a new one  the matrix to write, on the same grid
---   alpha   1     factor of the product
---   beta    0     factor of C as it was
---   depth   256 to 4096  columns of A and rows of B in a panel, at most; a
---           quarter of a block if left out
---   shared  true    false: ranks of one host pass panels by messages as well
---   kernel  the best known  a rung's name, see gemm.kernels
--- Example:
--- local A, B = ranks.random(300, 200), ranks.random(200, 100, {seed = 2})
--- local C, run = ranks.gemm(A, B)
--- print(C.rows, C.cols, run.gflops > 0) --> 300 100 true
--- print(run)
function M.gemm(A, B, opts)
  opts = options.check(opts, WHO)
  check(A, B, opts.C)
  local g, beta = A.grid, opts.beta or 0
  if beta ~= 0 and not opts.C then
    cl.error(("%s: beta = %s needs C, the matrix to add to"):format(WHO, beta))
  end
  local C = opts.C or matrix.like(WHO, A.rows, B.cols, A.type, g)
  local seconds, busy
  if g.rows * g.cols == 1 then
    seconds, busy = alone(A, B, C, opts)
  else
    seconds, busy = summa(A, B, C, opts)
  end
  return C, setmetatable({m = A.rows, n = B.cols, k = A.cols, type = A.type,
    grid = g, seconds = seconds, busy = busy, share = 1 - busy / seconds,
    gflops = 2.0 * A.rows * B.cols * A.cols / seconds / 1e9}, run_meta)
end

return M
