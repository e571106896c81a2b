#!/usr/bin/env clshell
-- bench_launch.lua - the time that a launch takes of the host: a kernel with
-- three arguments, enqueued from Lua and, where the C program build/tests/
-- launch_cost was built (make test builds it), by the bare OpenCL calls; and
-- the time that a call such as gemm(A, B, {C = C}) adds to its launch.
-- SPDX-License-Identifier: MIT

local output = require "clshell.output"
local quantity = require "clshell.quantity"
local script = require "clshell.script"
local stats = require "clshell.stats"
local text = require "clshell.base.text"

local parser = script.parser("bench_launch.lua",
  "The time of a launch: setting three arguments and enqueueing.",
  "Rounds from Lua and from C take turns, so that both see the same machine.")
parser:option("-n --launches", "per round", "2000"):convert(script.size)
parser:option("-r --rounds", "rounds", "9"):convert(script.size)
output.options(parser)
local args = script.parse(parser)
local out <close> = output.open(parser, args)

local device = cl.device()
local kernel = cl.kernel [[
  kernel void touch(float a, global float *x, global float *y) {
    if (a < 0) y[0] = x[0];
  }]]
local x, y = cl.buffer("float", 1024), cl.buffer("float", 1024)
local launch, queue = kernel:range(1, 1), cl.context().queue

-- Seconds of a launch in a round.
local function from_lua()
  queue:finish()
  local begin = cl.now()
  for _ = 1, args.launches do
    launch(1, x, y)
  end
  local spent = cl.now() - begin
  queue:finish()
  return spent / args.launches
end

-- Seconds of a launch in the C program; nil and a reason where there is none.
local program = cl.home .. "/build/tests/launch_cost"
local function from_c()
  local pipe <close> = assert(io.popen(("%s 1 %d %s 2>&1"):format(
    text.quote(program), args.launches, device.type)))
  local said = pipe:read("a") or ""
  local ended, _, code = pipe:close()
  local us = ended and tonumber(said:match("(%S+)%s*$"))
  if us then
    return us * 1e-6
  end
  return nil, ("%s failed: %s"):format(program, said:match("([^\n]+)\n*$")
    or "exit code " .. tostring(code))
end

local lua, c, more = {}, {}, {}
local reason = not script.readable(program)
  and ("not measured, there is no %s, which make test builds"):format(program)

-- The difference of the rounds that have both, in words.
local function compared()
  local median = stats.median(more)
  return ("%s %s than from C%s"):format(quantity.format(math.abs(median), "s",
    3), median < 0 and "less" or "more", #more < #lua
    and (" in %d of %d rounds"):format(#more, #lua) or "")
end

-- The rows of the rounds so far.
local function summarise(part)
  if #lua > 0 then
    local row = part:add(bench.of("from Lua", lua))
    row.note = #more > 0 and compared() or nil
    if reason then
      row.note = (row.note and row.note .. "; " or "") .. "from C: " .. reason
    end
  end
  if #c > 0 then
    part:add(bench.of("from C", c))
  end
end

-- The launches, from Lua and from C in turns.
local function launches()
  out:heading "Launches with three arguments"
  local part <close> = out:part{steps = args.rounds, whole = true,
    columns = {
    {key = "name", title = "launch"}, "time", "spread", "n", "note"}}
  local _ <close> = setmetatable({}, {__close = function()
    cl.undisturbed(summarise, part)
  end})
  from_lua()
  for i = 1, args.rounds do
    part:step(("round %d"):format(i))
    local there
    if not reason then
      there, reason = from_c()
    end
    lua[#lua + 1] = from_lua()
    if there then
      c[#c + 1], more[#more + 1] = there, lua[#lua] - there
    end
  end
end

-- A product of 16 x 16 matrices: the call made again, against its plan.
local A, B = matrix.random(16, 16), matrix.random(16, 16)
local C = matrix.zeros(16, 16)

-- Seconds of a run of `enqueue` in a round.
local function time_of(enqueue)
  queue:finish()
  local begin = cl.now()
  local count = math.max(1, args.launches // 10)
  for _ = 1, count do
    enqueue()
  end
  local spent = cl.now() - begin
  queue:finish()
  return spent / count
end

-- The rounds of gemm with these options: the seconds of its plan and of the
-- call, and the difference.
local function compare_calls(part, name, options)
  local plan = gemm.plan(A, B, options)
  local function call()
    gemm(A, B, options)
  end
  plan()
  call()
  local plans, calls, longer = {}, {}, {}
  for i = 1, args.rounds do
    part:step(("%s, round %d"):format(name, i))
    plans[i], calls[i] = time_of(plan), time_of(call)
    longer[i] = calls[i] - plans[i]
  end
  part:add(bench.of(name .. ", plan", plans))
  part:add(bench.of(name .. ", call", calls)).note =
    ("%s more than its plan"):format(quantity.format(stats.median(longer),
      "s", 3))
end

-- The calls of gemm, with the rung left open and with its name.
local function warm_calls()
  out:heading "gemm(A, B, {C = C}) of 16 x 16, made again"
  local part <close> = out:part{steps = 2 * args.rounds,
    whole = true, columns = {
    {key = "name", title = "call"}, "time", "spread", "n", "note"}}
  compare_calls(part, "best known", {C = C})
  compare_calls(part, "naive", {C = C, kernel = "naive"})
end

launches()
warm_calls()
