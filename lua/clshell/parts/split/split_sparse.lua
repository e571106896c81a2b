-- parts/split/split_sparse.lua - sparse matrices in rows on several devices,
-- and spmv over them, see halo.lua
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local class = require "clshell.parts.split.split_class"
local cl = require "cl"
local devices = require "clshell.parts.split.devices"
local halo = require "clshell.parts.halo"
local options = require "clshell.base.options"
local rows_of = require "clshell.data.sparse"
local text = require "clshell.base.text"

local M = {}

local methods = {}
local meta = {__name = "Split matrix", __metatable = false, __index = methods}

-- The part of a matrix by diagonals.
local function dia_part(m, first, rows, context)
  return halo.part(m, first, rows, m.rows == m.cols and first or nil, context)
end

-- The part of a matrix by compressed rows.
local function csr_part(m, first, rows, context)
  local ptr = m.row_ptr:read{first = first, count = rows + 1}
  local from, count = ptr[1], ptr[rows + 1] - ptr[1]
  local low, high = 0, 0
  if count > 0 then
    local columns = m.col_ind:slice(from + 1, from + count)
    low, high = columns:min(), columns:max()
  end
  return {edges = {halo.edge(rows_of.csr_rows, m, first, 1, rows, low + 1,
    high - low + 1, context)}}
end

--- split_sparse.new(m, list, axis, sizes) -> Split matrix
function M.new(m, list, axis, sizes)
  if axis ~= "rows" then
    cl.error('cl.split: a sparse matrix is split in "rows"', {arg = "axis"})
  end
  local make = m.offsets and dia_part or csr_part
  local parts, first, at = {}, {}, 1
  for i, device in ipairs(list) do
    first[i] = at
    parts[i] = sizes[i] > 0 and make(m, at, sizes[i], cl.context(device))
    at = at + sizes[i]
  end
  return setmetatable({devices = list, parts = parts, sizes = sizes,
    first = first, axis = "rows", rows = m.rows, cols = m.cols, nnz = m.nnz,
    type = m.values.type, format = m.format}, meta)
end

-- Copies elements col .. col + #to - 1 of x, a Split or a Buffer, into `to`.
local function gather(x, col, to, ready)
  if not class.is(x) then
    devices.fetch(x, to, {first = col, count = #to}, ready)
    return
  end
  local context = to.context
  for i, part in ipairs(x.parts) do
    local first = x.first[i]
    local from = math.max(col, first)
    local last = math.min(col + #to, first + x.sizes[i]) - 1
    local near = part and (x.axis == "rows" or part.context == context)
    if near and from <= last then
      devices.fetch(part, to, {first = from - first + 1,
        count = last - from + 1, to = from - col + 1}, ready)
      if x.axis == "copies" then
        return
      end
    end
  end
end

-- The elements of x for the inner matrix of part i, on its device.
local function own(m, x, i, ready)
  if class.is(x) and x.axis == "rows" and x.sizes[i] == m.sizes[i]
      and x.first[i] == m.first[i] then
    return x.parts[i]
  end
  local b = cl.buffer(m.type, m.sizes[i], nil,
    {context = cl.context(m.devices[i])})
  gather(x, m.first[i], b, ready)
  return b
end

-- The vectors of a call: x as a Split or a Buffer, and y in the rows of m.
local function vectors(m, x, y)
  if class.is(x) then
    class.fits("spmv", {devices = m.devices, axis = "copies"},
      class.live("spmv", x))
    x:eval()
  else
    x = class.given("spmv", x)
    x = text.class(x) == "Array"
      and class.spread("spmv", x, m.devices, "copies", {}) or x
  end
  if #x.shape ~= 1 or x.shape[1] ~= m.cols or x.type ~= m.type then
    cl.error(("spmv: x must be a vector of %d %s; got %s"):format(m.cols,
      m.type, tostring(x)), {arg = "x"})
  elseif y ~= nil and not (class.is(y) and y.axis == "rows"
      and #y.shape == 1) then
    cl.error("spmv: y must be a Split, as M is; got " .. text.got(y),
      {arg = "y"})
  elseif y ~= nil then
    class.fits("spmv", m, class.live("spmv", y))
    return x, y
  end
  return x, class.empty{devices = m.devices, axis = "rows", type = m.type,
    sizes = table.move(m.sizes, 1, #m.sizes, 1, {}), shape = {m.rows}}
end

-- spmv(M, x) with M in rows; y is a Split.
function meta.__family(spmv, m, x, opts)
  if spmv.name ~= "spmv" or text.class(m) ~= meta.__name then
    cl.error(("%s: takes no sparse matrix in this place"):format(spmv.name))
  end
  local given = options.with(opts, {})
  if given.queue or given.after then
    cl.error("spmv: a Split matrix takes no queue and no after")
  elseif given.trans then
    cl.error("spmv: a Split matrix takes no trans; split M:transposed()",
      {arg = "trans"})
  end
  local y
  x, y = vectors(m, x, given.y)
  given.y = nil
  local ready = devices.ready(m.devices)
  for _, b in ipairs(class.is(x) and {} or {x}) do
    ready[b.context] = ready[b.context] or b.context.queue:marker()
  end
  for i, part in ipairs(m.parts) do
    if part and not part.inner and #part.edges == 0 then
      y.parts[i]:fill(0, {async = true}) -- no diagonal reaches these rows
    elseif part and part.inner then
      halo.launch(spmv, part.inner, own(m, x, i, ready), y.parts[i], given,
        part.kept):close()
    end
  end
  for i, part in ipairs(m.parts) do
    for _, e in ipairs(part and part.edges or {}) do
      halo.calculate(spmv, e, y.parts[i], given, function(to)
        gather(x, e.col, to, ready)
      end)
    end
  end
  devices.close(ready)
  return y
end

-- Closes the parts; closing twice is fine.
function methods.close(m)
  for _, part in ipairs(m.parts) do
    if part then
      halo.close(part)
    end
  end
end

function meta.__close(m)
  methods.close(m)
end

function meta.__tostring(m)
  return ("Split %s matrix %d x %d of %s in rows %s"):format(
    m.format:upper(), m.rows, m.cols, m.type, text.values(m.sizes, " + "))
end

argument.methods("Split matrix", methods, meta.__name)

return M
