-- ladder.lua - what the tests of the kernel families share: the
-- configurations to try, results that are right, data whose results are
-- exact, wrong calls, lessons and pages of help
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local help = require "clshell.help"
local lesson = require "clshell.explain.lesson"
local rungs = require "clshell.ladder.rung"
local t = require "t"
local text = require "clshell.base.text"

local M = {}

local FEW = 12   -- configurations, of which all are tried
local DRAWS = 8  -- attempts at a configuration that the device accepts
local SETS = 8   -- sets of drawn values: the driver's cache of builds helps

-- Iterates over all configurations: a table of parameters at a time, the
-- last parameter changing fastest.
function M.configurations(rung)
  return coroutine.wrap(function()
    local p = {}
    local function walk(i)
      local param = rung.params[i]
      if param == nil then
        return coroutine.yield(rungs.parameters(rung, p))
      end
      for _, value in ipairs(param.values) do
        p[param.name] = value
        walk(i + 1)
      end
    end
    walk(1)
  end)
end

-- Calls visit(name, value) for each value of a parameter not tried yet.
local function each_untried(rung, untried, visit)
  for _, param in ipairs(rung.params) do
    for _, value in ipairs(param.values) do
      if untried[param.name][value] then
        visit(param.name, value)
      end
    end
  end
end

-- A configuration with that value, the other values drawn at random, first
-- among those not tried yet.
local function draw(rung, untried, name, value)
  local p = {}
  for _, param in ipairs(rung.params) do
    local list = {}
    for _, v in ipairs(param.values) do
      list[#list + 1] = untried[param.name][v] and v or nil
    end
    list = #list > 0 and list or param.values
    p[param.name] = list[math.random(#list)]
  end
  p[name] = value
  return p
end

-- Tries the default configuration, then others until each value of each
-- parameter, of part `part` of `parts` by their places, was in one that the
-- device accepts, or has no such one.
local function try_values(rung, try, part, parts)
  local untried = {}
  for _, param in ipairs(rung.params) do
    untried[param.name] = {}
    for i, value in ipairs(param.values) do
      untried[param.name][value] = i % parts == part % parts or nil
    end
  end
  local function accepts(p)
    if try(p) then
      for name, value in pairs(p) do
        untried[name][value] = nil
      end
      return true
    end
  end
  accepts(rungs.parameters(rung, {}, "test"))
  each_untried(rung, untried, function(name, value)
    for _ = 1, DRAWS do
      if accepts(draw(rung, untried, name, value)) then
        return
      end
    end
    accepts(rungs.parameters(rung, {[name] = value}, "test"))
  end)
end

--- ladder.try(rung, seed, try [, part, parts])
--- Calls try(p) for the default configuration of a rung and others: all of
--- them if they are few, else so many that each value of each parameter is
--- tried. Each kernel is a build of its own: tests of several element types
--- share the configurations, the type of number `part` of `parts` has its
--- part. `try` returns the reason where the device refuses; the test is
--- skipped if it refuses all.
function M.try(rung, seed, try, part, parts)
  part, parts = part or 1, parts or 1
  local count, ran, reason = 0, 0, nil
  local function attempt(p)
    local refused = try(p)
    collectgarbage()
    if refused then
      reason = refused
      return false
    end
    ran = ran + 1
    return true
  end
  for _ in M.configurations(rung) do
    count = count + 1
  end
  if count <= FEW then
    local default = rungs.tostring(rung, rungs.parameters(rung, {}, "test"))
    local number = 0
    for p in M.configurations(rung) do
      number = number + 1
      if number % parts == part % parts
          or rungs.tostring(rung, p) == default then
        attempt(p)
      end
    end
  else
    math.randomseed(seed % SETS)
    try_values(rung, attempt, part, parts)
  end
  t.skip_if(ran == 0, reason)
end

--- ladder.verified(family, name, params, shape) -> result
--- Verifies a rung on a shape or operands; the test is skipped with the reason
--- where the device refuses.
function M.verified(family, name, params, shape)
  local fits, why = family.check(name, params, shape)
  t.skip_if(not fits, why)
  local r = family.verify(name, params, shape)
  t.ok(r.ok, ("%s with %s, %s: %s, bound %s, at %s, %s"):format(name,
    table.concat(text.fields(params or {}), " "),
    table.concat(text.fields(shape), " "), r.err, r.bound, r.row, r.col))
  return r
end

-- A rung whose parameters have their first and last values alone.
local function ends_of(rung)
  local params = {}
  for i, param in ipairs(rung.params) do
    params[i] = {name = param.name, default = param.values[1],
      values = {param.values[1], param.values[#param.values]}}
  end
  return {params = params}
end

--- ladder.each_value(family, rung, shapes [, ends])
--- Verifies a rung in configurations that have each value of each parameter,
--- on those of the shapes where the device accepts that; with `ends` the first
--- and the last value alone. `rung` is its name.
function M.each_value(family, name, shapes, ends)
  local rung = family.rung(name)
  M.try(ends and ends_of(rung) or rung, t.seed, function(p)
    local ran, reason
    for _, shape in ipairs(shapes) do
      local fits, why = family.check(name, p, shape)
      if fits then
        ran = M.verified(family, name, p, shape)
      end
      reason = why or reason
    end
    return not ran and reason or nil
  end)
end

--- ladder.raises(f) -> raises(words, ...)
--- A function that tries f(...), which has to raise an error with these words.
function M.raises(f)
  return function(words, ...)
    local args = table.pack(...)
    t.raises(function()
      f(table.unpack(args, 1, args.n))
    end, words)
  end
end

--- ladder.lessons(family, names, params, shape, ...)
--- Measures rungs; each has a lesson, and that of them all has these words.
function M.lessons(family, names, params, shape, ...)
  local rows = {}
  for i, name in ipairs(names) do
    rows[i] = family.bench(name, params, shape, {seconds = 0.02})
    t.ok(#lesson(rows[i]) > 0)
  end
  local found = lesson.ladder(rows, {access = false}):gsub("%s+", " ")
  for _, words in ipairs{...} do
    t.ok(found:find(words, 1, true), found)
  end
end

--- ladder.pages(family, rung, ...)
--- The page of a family has these words, that of the rung its NDRange.
function M.pages(family, rung, ...)
  local page = help.text(family.name)
  for _, words in ipairs{family.name .. ".define(rung)", ...} do
    t.ok(page:find(words, 1, true), words .. " is not in\n" .. page)
  end
  t.ok(help.text(family.name .. "." .. rung):find("NDRange", 1, true))
end

-- Element types that the device can compute with, or a rung without that.
function M.types(device, rung)
  local types = {"float"}
  for _, pair in ipairs{{"double", "cl_khr_fp64"}, {"half", "cl_khr_fp16"}} do
    if device:has(pair[2]) or rung and rung[pair[1]] then
      types[#types + 1] = pair[1]
    end
  end
  return types
end

-- Whole numbers from -3 to 3: sums of 100 products are exact in any type.
function M.integers(type, shape, seed)
  return cl.array("int", shape):random(seed, -3, 3):convert(type)
end

-- A buffer with those numbers, its rows `gap` elements apart, NaN between.
function M.matrix(array, gap)
  local rows, cols = array.shape[1], array.shape[2]
  local b = cl.buffer(array.type, {rows, cols}, nil, {ld = cols + gap})
  b:fill(0 / 0)
  b:write(array)
  return b
end

-- Whether the gaps between the rows of a matrix still hold NaN.
function M.gaps_kept(b)
  if b.ld == b.cols then
    return true
  end
  local map = b:map("read")
  local kept = true
  for i = 0, b.rows - 2 do
    for j = b.cols + 1, b.ld do
      local v = map[i * b.ld + j]
      kept = kept and v ~= v
    end
  end
  b:unmap(map)
  return kept
end

return M
