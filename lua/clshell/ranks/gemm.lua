-- ranks/gemm.lua - the product of matrices in blocks, by SUMMA
-- SPDX-License-Identifier: MIT
--
-- k passes by in panels: the ranks that have columns k .. k + d of A hand them
-- along their rows of the grid, those that have these rows of B along their
-- columns, and all add the product of the two to their block of C (van de
-- Geijn and Watts, "SUMMA: scalable universal matrix multiplication
-- algorithm", 1997). The next panels are under way during a product.

local arguments = require "clshell.family.arguments"
local cl = require "cl"
local gemm = require "clshell.gemm"
local grids = require "clshell.ranks.grid"
local matrix = require "clshell.ranks.matrix"
local options = require "clshell.base.options"
local quantity = require "clshell.base.quantity"

local M = {}

local WHO = "ranks.gemm"
local LEAST, MOST = 256, 4096 -- depth of panels

M.message = 16 << 20 -- bytes of a message, about

-- The depth of panels for a product on a grid: an eighth of a block, so that
-- reading and writing C at each product costs little.
function M.depth(m, n, k, g)
  local block = math.min(m // g.rows, n // g.cols)
  return math.min(k, math.max(LEAST, math.min(MOST, block // 8)))
end

local Job = {}
Job.__index = Job

-- The panels: k, d, the column of the grid that has them of A, the row that
-- has them of B.
local function steps(k, g, depth)
  local list, at = {}, 1
  while at <= k do
    local col, last_a = grids.owner(k, g.cols, at)
    local row, last_b = grids.owner(k, g.rows, at)
    local last = math.min(at + depth - 1, last_a, last_b)
    list[#list + 1] = {k = at, d = last - at + 1, col = col, row = row}
    at = last + 1
  end
  return list
end

-- One operand's side of the exchange: X, the Comm that its panels go along,
-- the rows of A or columns of B of this rank, two slots of device memory, and
-- what is under way for each slot: Requests of sends, messages that come.
local function side(X, comm, lines, depth, name)
  local s = {X = X, comm = comm, lines = lines, name = name, ready = {},
    sent = {{}, {}}, coming = {{}, {}}, used = {{}, {}}, free = {}}
  if lines > 0 then
    for i = 1, 2 do
      s[i] = cl.buffer(X.type, lines * depth)
    end
  end
  return s
end

-- Rows and columns of a panel of depth d.
local function extent(s, d)
  if s.name == "a" then
    return s.lines, d
  end
  return d, s.lines
end

-- The messages of a panel, strips of its rows: {first (element), rows, cols}
-- each, so that one is on its way while the next is made or the last stored.
local function strips(s, d)
  local rows, cols = extent(s, d)
  local step = math.max(1, M.message // (cols * cl.typesize(s.X.type)))
  local list = {}
  for row = 0, rows - 1, step do
    list[#list + 1] = {first = row * cols + 1,
      rows = math.min(step, rows - row), cols = cols}
  end
  return list
end

-- An Array for a strip, of those that a panel before has done with.
local function array(s, slot, strip)
  local size = strip.rows .. "x" .. strip.cols
  s.free[size] = s.free[size] or {}
  local h = table.remove(s.free[size])
    or cl.array(s.X.type, {strip.rows, strip.cols})
  table.insert(s.used[slot], h)
  return h
end

-- Waits for what was sent out of a slot, and frees its Arrays.
local function clear(s, slot)
  for _, request in ipairs(s.sent[slot]) do
    request:wait()
  end
  for _, h in ipairs(s.used[slot]) do
    table.insert(s.free[h.rows .. "x" .. h.cols], h)
  end
  s.sent[slot], s.used[slot] = {}, {}
end

-- The rank that hands a panel of `owner` to this one, and those that this one
-- hands it to: a binomial tree, so that no rank sends more than log2 of them.
local function tree(comm, owner)
  local size = comm:size()
  local me, step, children = (comm:rank() - owner) % size, 1, {}
  while me & step == 0 and step < size do
    step = step << 1
  end
  local parent = (me - step + owner) % size -- of the owner: none
  step = step >> 1
  while step > 0 do
    if me + step < size then
      children[#children + 1] = (me + step + owner) % size
    end
    step = step >> 1
  end
  return parent, children
end

-- Hands a strip on along the tree.
local function hand_on(s, slot, h, owner)
  local _, children = tree(s.comm, owner)
  for _, to in ipairs(children) do
    table.insert(s.sent[slot], s.comm:isend(h, to))
  end
end

-- This rank's panel, out of its block, into the slot and to the others.
function Job:own(s, slot, step)
  local X, from = s.X, {1, 1}
  if s.name == "a" then
    from[2] = step.k - X.first_col + 1
  else
    from[1] = step.k - X.first_row + 1
  end
  s.ready[slot] = X.block:copy(s[slot]:matrix(1, extent(s, step.d)), {
    from = from, size = {extent(s, step.d)}, to = {1, 1},
    queue = self.pieces.up_queue, async = true})
  for _, strip in ipairs(s.comm:size() > 1 and strips(s, step.d) or {}) do
    local h = array(s, slot, strip)
    local next_piece = self.pieces:down(
      s[slot]:matrix(strip.first, strip.rows, strip.cols),
      {side = h, ld = strip.cols}, 1, 1, s.ready[slot])
    while next_piece() do end
    hand_on(s, slot, h, s.comm:rank())
  end
end

-- Begins to move the panels of a step: sends those of this rank.
function Job:begin(step, slot)
  local function owner(s)
    return s.name == "a" and step.col or step.row
  end
  for _, s in ipairs(self.sides) do
    clear(s, slot)
    if s.lines > 0 and s.comm:rank() ~= owner(s) then
      local parent = tree(s.comm, owner(s))
      for i, strip in ipairs(strips(s, step.d)) do
        s.coming[slot][i] = {strip = strip, owner = owner(s),
          request = s.comm:irecv(array(s, slot, strip), parent)}
      end
    end
  end
  self:free(slot)
  for _, s in ipairs(self.sides) do
    if s.lines > 0 and s.comm:rank() == owner(s) then
      self:own(s, slot, step)
    end
  end
end

-- Waits for the panels of a step, hands them on and sends them to the device.
function Job:finish(slot)
  for _, s in ipairs(self.sides) do
    for _, message in ipairs(s.coming[slot]) do
      local h, strip = message.request:wait(), message.strip
      hand_on(s, slot, h, message.owner)
      s.ready[slot] = self.pieces:up({side = h, ld = strip.cols}, 1, 1,
        strip.rows, strip.cols,
        s[slot]:matrix(strip.first, strip.rows, strip.cols))
    end
    s.coming[slot] = {}
  end
end

-- Waits for the product that used a slot last, and counts its time.
function Job:free(slot)
  local last = self.running[slot]
  if last then
    last:wait()
    self.busy = self.busy + last.ms / 1e3
    self.running[slot] = nil
  end
end

-- The launch of a product of panels of depth d, planned once.
function Job:plan(slot, d)
  local a, b, key = self.sides[1], self.sides[2], slot .. " " .. d
  self.plans[key] = self.plans[key] or gemm.plan(
    a[slot]:matrix(1, extent(a, d)), b[slot]:matrix(1, extent(b, d)),
    {C = self.C.block, alpha = self.alpha, beta = 1, queue = self.queue,
      kernel = self.kernel})
  return self.plans[key]
end

-- Adds the product of the panels of a slot to the block of C.
function Job:multiply(slot, step)
  if not self.C.block then
    return
  end
  self.queue:barrier{after = {self.sides[1].ready[slot],
    self.sides[2].ready[slot]}}
  self.running[slot] = self:plan(slot, step.d)()
  self.queue:flush()
end

-- C = beta C.
function Job:scale(beta)
  local C = self.C.block
  if C and beta == 0 then
    C:fill(0, {queue = self.queue})
  elseif C and beta ~= 1 then
    gemm(self.sides[1][1]:matrix(1, C.rows, 1),
      self.sides[2][1]:matrix(1, 1, C.cols),
      {C = C, alpha = 0, beta = beta, queue = self.queue})
  end
end

function Job:run(list)
  self:begin(list[1], 1)
  self:finish(1)
  for i, step in ipairs(list) do
    local slot, next_slot = 2 - i % 2, 1 + i % 2
    self:multiply(slot, step)
    if list[i + 1] then
      self:begin(list[i + 1], next_slot)
      self:finish(next_slot)
    end
  end
  self:free(1)
  self:free(2)
  for _, s in ipairs(self.sides) do
    clear(s, 1)
    clear(s, 2)
  end
end

function Job:__close()
  self.queue:finish()
  self.pieces:close()
  for _, s in ipairs(self.sides) do
    for slot = 1, 2 do
      if s[slot] then
        s[slot]:close()
      end
    end
  end
end

local run_meta = {__name = "Ranks run"}

function run_meta:__tostring()
  return ("%dx%dx%d %s on %dx%d ranks: %s, %s, %.0f%% of it communication")
    :format(self.m, self.n, self.k, self.type, self.grid.rows, self.grid.cols,
      quantity.format(self.seconds, "s"),
      quantity.format(self.gflops * 1e9, "FLOPS"), self.share * 100)
end

-- Raises unless the operands go together.
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

-- The product on a grid of one rank: seconds, seconds in products.
local function alone(A, B, C, opts)
  local plan = gemm.plan(A.block, B.block, {C = C.block, alpha = opts.alpha,
    beta = opts.beta, kernel = opts.kernel}) -- builds the kernels
  local begin = cl.now()
  local event = plan():wait()
  return cl.now() - begin, event.ms / 1e3
end

-- The product on any grid: seconds of the slowest rank, and seconds in
-- products of all on average.
local function summa(A, B, C, opts)
  local g, world = A.grid, grids.world()
  local depth = math.min(A.cols, opts.depth
    or M.depth(A.rows, B.cols, A.cols, g))
  local sides = {side(A, g.row_comm, A.height, depth, "a"),
    side(B, g.col_comm, B.width, depth, "b")}
  local longest = math.max(A.height * depth, B.width * depth, depth, B.width)
  local job <close> = setmetatable({C = C, sides = sides, running = {},
    plans = {}, busy = 0, alpha = opts.alpha or 1, kernel = opts.kernel,
    queue = cl.queue(), pieces = grids.pieces(cl.context(), A.type, longest)},
    Job)
  job:scale(opts.beta or 0)
  job.queue:finish()
  local list = steps(A.cols, g, depth)
  for i, step in ipairs(C.block and list or {}) do
    job:plan(2 - i % 2, step.d) -- builds the kernels
  end
  world:barrier()
  local begin = cl.now()
  job:run(list)
  local seconds = world:allreduce(cl.now() - begin, "max")
  return seconds, world:allreduce(job.busy) / world:size()
end

--- ranks.gemm(A, B [, opts]) -> C, run
--- The product C = alpha A B + beta C of matrices in blocks, by SUMMA: panels
--- of A go along the rows of the grid of ranks and panels of B along its
--- columns, the next ones during the product of those before. `run` prints as
--- text: seconds (of the slowest rank), gflops (of all together), busy
--- (seconds in products), share (of the time without a product).
--- Options:
---   C       a new one  the matrix to write, on the same grid
---   alpha   1     factor of the product
---   beta    0     factor of C as it was
---   depth   256 to 4096  columns of A and rows of B in a panel, at most; an
---           eighth of a block if left out
---   kernel  the best known  of the products of panels, see gemm.kernels
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
