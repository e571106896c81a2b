-- parts/split/init.lua - several devices in one process: cl.each calls a
-- function for each device, cl.split spreads a Buffer over the devices.
-- Loading the room adds both functions to module cl. devices.lua has the
-- devices, their shares and queues for transfers, split_class.lua the class
-- Split, arithmetic.lua its arithmetic, split_products.lua products and
-- transposes, split_sparse.lua sparse matrices in parts.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local class = require "clshell.parts.split.split_class"
local devices = require "clshell.parts.split.devices"
local options = require "clshell.base.options"
local sparse = require "clshell.parts.split.split_sparse"
local text = require "clshell.base.text"
require "clshell.parts.split.arithmetic"
require "clshell.parts.split.split_products"

-- A value to close, which gives the session its device again.
local function restored()
  local before = cl.device()
  return setmetatable({}, {__close = function()
    cl.use(before)
  end})
end

-- Raises an error of a device's turn again, with the device in its message.
local function raise(err, i, device)
  local where = ("device %d, %s: "):format(i, device.name)
  if type(err) == "string" then
    err = where .. err
  elseif text.class(err) == "Error" and err.name ~= "INTERRUPTED" then
    err.message = where .. err.message
  end
  error(err, 0)
end

--- cl.each(f [, devices]) -> list
--- Calls f(device, i) for each device in turn, with that device as the
--- session's device: new Buffers and programs are made there. The launches of
--- f run on all devices at once, as a launch does not wait: the default queues
--- are flushed after each call and waited for at the end. Returns a list of
--- the first results of f; `n` is its length. An error names the device. The
--- session has its own device again in any case. Without a list, f is called
--- for all devices with the platform and kind of the session's device, such as
--- its GPUs.
--- Example:
--- local sums = cl.each(function(device, i)
---   return cl.buffer("float", 1000, i):sum()
--- end)
--- print(sums[1]) --> 1000.0
function cl.each(f, given)
  argument.check("cl.each", "f", f, "function",
    "cl.each(function(device, i) ... end)")
  local list = devices.list("cl.each", given)
  local results, _ <close> = {n = #list}, restored()
  for i, device in ipairs(list) do
    cl.use(device)
    local fine, result = pcall(f, device, i)
    if not fine then
      raise(result, i, device)
    end
    results[i] = result
    cl.context(device).queue:flush()
  end
  for i, device in ipairs(list) do
    local fine, err = pcall(function()
      cl.context(device).queue:finish()
    end)
    if not fine then
      raise(err, i, device)
    end
  end
  return results
end

--- cl.split(A [, devices [, axis [, opts]]]) -> Split
--- A Buffer or an Array (an Expression, a nested table) in parts on several
--- devices: axis "rows" gives each device a share of the rows, or of the
--- elements of a vector, "copies" gives each device all rows. Without devices,
--- nil, A goes to all devices of the session's kind. Shares follow the speed
--- that peaks() has measured where the devices differ, and are equal
--- otherwise; with fewer rows than devices some devices have no rows. gemm,
--- spmv, transpose, arithmetic and sums take Splits. gemm, spmv and transpose
--- return Splits, arithmetic returns Splits of lazy Expressions. A sparse
--- matrix of dia or csr is split for spmv. Fields: `s.parts` (Buffers; false
--- where a device has no rows), `s.devices`, `s.sizes`, `s.first` (row of each
--- part), `s.type`, `s.shape`, `s.axis`.
--- Options:
---   shares  by speed  a number for each device: the ratio of its rows
--- Example:
--- local devices = {cl.device(), cl.device()} -- two shares of one, for once
--- local A, B = matrix.random(100, 40), matrix.random(40, 20)
--- local S = cl.split(A, devices)
--- print(S) --> Split float[100][40] in rows 50 + 50
--- local C = gemm(S, B)
--- print(C:join():max_diff(gemm(A, B))) --> 0.0 1 1
--- local M = cl.split(dia.poisson2d(10, 10), devices)
--- local y = spmv(M, cl.split(cl.buffer("float", 100, 1), devices))
--- print(y:read()[1]) --> 2.0
function cl.split(A, list, axis, opts)
  local what = "cl.split"
  opts, axis = options.check(opts, what), axis or "rows"
  list = devices.list(what, list)
  if axis ~= "rows" and axis ~= "copies" then
    cl.error(('%s: the axis must be "rows" or "copies"; got %s'):format(what,
      text.got(axis)), {arg = "axis"})
  elseif class.is(A) then
    cl.error(what .. ": A is a Split already; take A:join()", {arg = "A"})
  end
  local is_sparse = type(A) == "table" and (rawget(A, "offsets")
    or rawget(A, "col_ind"))
  if not is_sparse then
    A = class.given(what, A)
  end
  local sizes = devices.sizes(what, is_sparse and A.rows or A.shape[1], list,
    opts.shares)
  if is_sparse then
    return sparse.new(A, list, axis, sizes)
  end
  return class.spread(what, A, list, axis, sizes)
end

return {}
