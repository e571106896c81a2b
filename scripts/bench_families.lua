#!/usr/bin/env clshell
-- bench_families.lua - the ladders that memory limits, beside the device's
-- bandwidths: reductions, scans, products of a matrix and a vector, stencils,
-- and convolutions, which large filters make a matter of arithmetic.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("bench_families.lua",
  "The ladders reduce, scan, gemv, stencil and conv2d on N x N elements.")
parser:argument("family", "families to run; all if left out"):args("*")
  :choices{"reduce", "scan", "gemv", "stencil", "conv2d"}
parser:option("-n --size", "N; 2048 on a CPU, 8192 on a GPU if left out")
  :convert(script.size)
parser:option("-t --type", "float or double", "float")
  :choices{"float", "double"}
parser:option("-f --filter", "side of a filter, several times for several")
  :count("*"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local n = args.size or cl.device().type == "cpu" and 2048 or 8192
script.fits(parser, ("two matrices of %dx%d"):format(n, n),
  2.0 * n * n * (args.type == "float" and 4 or 8))
local out <close> = output.open(parser, args)

-- Whether a result is of the rung and the parameters of a choice.
local function is_of(choice, r)
  for name, value in pairs(choice.params) do
    if not r.params or r.params[name] ~= value then
      return false
    end
  end
  return r.kernel == choice.rung
end

-- Measures the rungs of a family that take a shape, and the rung with the
-- parameters that a call takes, where these are other ones.
local function ladder(family, shape, peak)
  local names, why = {}, nil
  shape.type = args.type
  for _, k in ipairs(family.kernels()) do
    local fits, reason = family.check(k.name, nil, shape)
    names[#names + 1], why = fits and k.name or nil, reason or why
  end
  if #names == 0 then
    out:say(("\n%s: %s"):format(family.name, why))
  end
  local chosen = #names > 0 and family.choice(shape)
  local part <close> = out:part{steps = #names + 1, by = "gbs", base = "first",
    peak = function() return peaks()[peak] end,
    columns = {"kernel", "config", "ms", "gflops", "gbs",
      {key = "percent", title = "% " .. peak, format = "%.1f"}, "roof",
      "speedup", "note"}}
  local function measure(name, params, called)
    part:step(name)
    local r = family.bench(name, params, shape)
    called = called or is_of(chosen, r)
    r.note = called and "as a call" .. (r.note and "; " .. r.note or "")
      or r.note
    part.title = ("\n%s %s"):format(family.name, r.title or "")
    part:add(r)
    return called
  end
  local measured = #names == 0
  for _, name in ipairs(names) do
    measured = measure(name) or measured
  end
  if not measured then
    measure(chosen.rung, chosen.params, true)
  end
end

local runs = {
  reduce = function() ladder(reduce, {n * n}, "read") end,
  scan = function() ladder(scan, {n * n}, "copy") end,
  gemv = function()
    ladder(gemv, {n, n}, "read")
    ladder(gemv, {n, n, trans = true}, "read")
  end,
  stencil = function() ladder(stencil, {n, n}, "copy") end,
  conv2d = function()
    for _, side in ipairs(#args.filter > 0 and args.filter or {3, 7, 15}) do
      ladder(conv2d, {n, n, side, side}, "copy")
    end
  end,
}

out:heading(("Ladders; copy bandwidth %.4g GB/s, read %.4g GB/s"):format(
  peaks().copy / 1e9, peaks().read / 1e9))
for _, name in ipairs(#args.family > 0 and args.family
    or {"reduce", "scan", "gemv", "stencil", "conv2d"}) do
  runs[name]()
  collectgarbage()
end
