-- parts/panels.lua - a product C = alpha A B + C on a device, to which A and B
-- come in panels: columns of A with the rows of B that they meet. A panel
-- fills a slot of device memory while the products of other slots run.
-- out_of_core.lua takes panels from the host's memory and from files,
-- ranks/rank_gemm.lua from the ranks that have them.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local gemm = require "clshell.ladders.gemm"
local tasks = require "clshell.parts.ranks.tasks"

local M = {}
local Panels = {}
Panels.__index = Panels

--- panels.new(fields) -> panels
--- Fields: type, rows and cols of C, at most; depth of a panel, at most; count
--- of slots; context, alpha, kernel; trans_a, trans_b: whether panels come
--- transposed. Then queue, slots (a list of {a =, b =}), and busy, the seconds
--- of all products that have ended. Panels are numbered from 1.
function M.new(p)
  local function buffer(elements)
    return elements > 0 and cl.buffer(p.type, elements, nil,
      {context = p.context}) or nil
  end
  p.slots, p.plans, p.products, p.busy = {}, {}, {}, 0
  for i = 1, p.count do
    p.slots[i] = {a = buffer(p.rows * p.depth), b = buffer(p.depth * p.cols)}
  end
  p.queue = cl.queue{context = p.context}
  return setmetatable(p, Panels)
end

--- panels:into(C, number)
--- From now on products are added to C, a matrix in memory of that number.
function Panels:into(C, number)
  if self.rows ~= C.rows or self.cols ~= C.cols then
    self.plans = {} -- frees the copies packed for other sizes
  end
  self.C, self.number, self.rows, self.cols = C, number, C.rows, C.cols
end

--- panels:panel(i, name, d) -> Buffer
--- Panel i of operand "a" or "b", of depth d, as a matrix without gaps.
function Panels:panel(i, name, d)
  local buffer = self.slots[(i - 1) % self.count + 1][name]
  local lines = name == "a" and self.rows or self.cols
  if (name == "b") == (self["trans_" .. name] or false) then
    return buffer:matrix(1, lines, d)
  end
  return buffer:matrix(1, d, lines)
end

--- panels:plan(i, d) -> plan
--- The product of panel i, planned once for each slot, depth and memory of C.
function Panels:plan(i, d)
  local key = ("%d %d %d"):format((i - 1) % self.count, self.number, d)
  self.plans[key] = self.plans[key] or gemm.plan(self:panel(i, "a", d),
    self:panel(i, "b", d), {C = self.C, alpha = self.alpha, beta = 1,
      trans_a = self.trans_a, trans_b = self.trans_b, kernel = self.kernel,
      queue = self.queue})
  return self.plans[key]
end

--- panels:add(i, d, after)
--- Launches the product of panel i, of depth d, after a list of events;
--- without a C nothing is launched.
function Panels:add(i, d, after)
  self.products[i] = false
  if self.C then
    self.queue:barrier{after = after}
    self.products[i] = self:plan(i, d)()
    self.queue:flush()
  end
end

--- panels:ended(i) -> boolean
--- Whether the product of panel i has ended; its time counts once.
function Panels:ended(i)
  local event = self.products[i]
  if event and not tasks.ended(event) then
    return false
  elseif event then
    self.busy = self.busy + event.ms / 1e3
    self.products[i] = false
  end
  return event ~= nil
end

--- panels:free(i)
--- Waits until the slot of panel i is free.
function Panels:free(i)
  local before = self.products[i - self.count]
  if before then
    before:wait()
    self:ended(i - self.count)
  end
end

--- panels:scale(beta)
--- C = beta C.
function Panels:scale(beta)
  local C, slot = self.C, self.slots[1]
  if C and beta == 0 then
    C:fill(0, {queue = self.queue, async = true})
  elseif C and beta ~= 1 then
    gemm(slot.a:matrix(1, C.rows, 1), slot.b:matrix(1, 1, C.cols),
      {C = C, alpha = 0, beta = beta, queue = self.queue})
  end
end

--- panels:finish()
--- Waits for all products.
function Panels:finish()
  self.queue:finish()
  for i in pairs(self.products) do
    self:ended(i)
  end
end

function Panels:close()
  self.queue:finish()
  for _, slot in ipairs(self.slots) do
    for _, buffer in pairs(slot) do
      buffer:close()
    end
  end
end

return M
