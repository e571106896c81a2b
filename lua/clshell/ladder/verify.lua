-- ladder/verify.lua - the truth behind every number: the error that a correct
-- kernel may have, and the run that compares a rung with the float64 reference
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local host = require "cl.host"
local progress = require "clshell.base.progress"
local text = require "clshell.base.text"

local M = {}

-- Half the distance from 1 to the next number of the type; integers are exact.
local ROUNDOFF = {half = 2^-11, float = 2^-24, double = 2^-53,
  bfloat16 = 2^-8, float8_e4m3 = 2^-4, float8_e5m2 = 2^-3}
M.ROUNDOFF = ROUNDOFF

-- The largest m n k for which a product is compared element by element.
M.FULL = 2^27
-- The most multiply-adds for which all rows of windows are compared.
local WINDOWS = 2^30
-- Multiply-adds that the sampled rows of a larger product may cost.
local SAMPLED = 2^30

--- verify.bound(type, terms) -> number
--- The largest error of a sum of `terms` products in `type`, as a fraction of
--- the sum of their absolute values (|A||B| for a matrix product). Whatever
--- the order and with or without fused multiply-adds, such a sum is off by at
--- most gamma(n) = n u / (1 - n u), u the unit roundoff and n the number of
--- terms and of the roundings after them (alpha, beta, their sum): that is the
--- bound for short sums, and no correct kernel can exceed it. For long sums it
--- would let a lost term pass, since the worst case needs all the roundings on
--- one side. Independent roundings grow with the root of n: Higham and Mary
--- (SIAM J. Sci. Comput. 41, 2019) show lambda sqrt(n) u to hold but for a
--- chance of 2 exp(-lambda^2 / 2) per sum; lambda = 8 makes that 3e-14. The
--- reference sums in double and has its own error.
--- Example:
--- print(verify.bound("float", 1024) > verify.bound("double", 1024)) --> true
function M.bound(type, terms)
  local function gamma(u)
    local n = terms + 3
    local worst = n * u < 1 and n * u / (1 - n * u) or math.huge
    return math.min(worst, (8 * math.sqrt(n) + 8) * u)
  end
  return gamma(ROUNDOFF[type]) + gamma(ROUNDOFF.double)
end

-- The error of a tensor core, which cuts the numbers that it adds to a sum:
-- for each 16 products up to 1.5 units of float's roundoff, always downwards.
local CUT = 1.5 / 16 * ROUNDOFF.float

--- verify.bound_in_float(type, terms) -> number
--- The bound where halves are multiplied exactly and added in float, also by
--- tensor cores, and the sum is rounded once, to `type`, "half", "bfloat16" or
--- "float"; bfloat16 and float8 likewise.
--- Example:
--- local sums = verify.bound_in_float("half", 4096)
--- print(sums < verify.bound("half", 4096)) --> true
function M.bound_in_float(type, terms)
  return M.bound("float", terms) + terms * CUT
    + (type == "float" and 0 or ROUNDOFF[type])
end

local SEED = 20011 -- of numbers in place of NaN

-- The base type of "float4", and 4.
M.scalar = text.lanes

-- The content of an output like this Buffer or Array before a run: NaN, which
-- is nil here, or numbers at random where NaN may be right (nan: true, or a
-- seed) and for integers, which have none.
function M.filling(x, nan)
  return (nan or not ROUNDOFF[M.scalar(x.type)])
    and cl.array(x.type, x.shape):random(math.type(nan) and nan or SEED) or nil
end

-- Fills a Buffer with verify.filling(b, nan).
function M.poison(b, nan)
  local _, width = M.scalar(b.type)
  local filling <close> = M.filling(b, nan)
  if filling then
    b:write(filling)
  else
    b:fill(width == 1 and 0 / 0 or cl.array(b.type, 1, 0 / 0)[1])
  end
end

-- Rows to compare in a product that is too large to compare whole: the
-- first, the last, and others at random between them, in order. The number
-- is what SAMPLED affords, 8 to 64.
function M.sample_rows(m, n, k)
  local count = math.max(8, math.min(64, SAMPLED // (n * k)))
  if count >= m then
    return nil
  end
  local rows, x = {}, 12345
  for i = 0, count - 1 do
    x = (x * 1103515245 + 12345) & 0x7fffffff
    local first, after = i * m // count, (i + 1) * m // count
    rows[#rows + 1] = first + 1 + (x >> 8) % (after - first)
  end
  rows[1], rows[count] = 1, m
  return rows
end

-- The Buffers of the result of a plan.
local function pieces(plan, output)
  return plan.pieces and plan:pieces() or {output}
end

--- verify.restore(plan, output, before)
--- Writes to the output the content that it must have before a run: an Array,
--- or an Array for each of its pieces.
--- Example:
--- local out = cl.buffer("float", 4, 1)
--- verify.restore({}, out, cl.array("float", 4, 5))
--- print(out:read()[4]) --> 5.0
function M.restore(plan, output, before)
  local list = type(before) == "table" and before or {before}
  for i, piece in ipairs(pieces(plan, output)) do
    piece:write(list[i])
  end
end

--- verify.run(plan, output, truth [, before]) -> result
--- Runs a plan once and compares: `output` is the Buffer that the plan writes,
--- poisoned with NaN, integers at random, first (or set to the Array `before`,
--- where the plan reads it as well); `truth(array)` returns error, bound, the
--- name of the elements compared and the place of the error. Where
--- plan.pieces(plan) is a list of Buffers, `before` and the argument of
--- `truth` are lists as well. The result: {ok, err, bound, mode, row, col,
--- event}.
--- Example:
--- local out = cl.buffer("float", 4)
--- local operation = {run = function() return out:fill(2) end}
--- local result = verify.run(operation, out, function(array)
---   return math.abs(array[1] - 2), 0, "the first element"
--- end)
--- print(result.ok) --> true
function M.run(plan, output, truth, before)
  local list, results = pieces(plan, output), {}
  progress.phase "checked"
  for _, piece in ipairs(list) do
    M.poison(piece)
  end
  if before then
    M.restore(plan, output, before)
  end
  local event = plan:run():wait()
  for i, piece in ipairs(list) do
    results[i] = piece:read()
  end
  progress.phase("compared", true)
  local result = M.judge(plan.pieces and results or results[1], truth)
  for _, array in ipairs(results) do
    array:close()
  end
  result.event = event
  return result
end

--- verify.all(truths) -> function(list)
--- The truth of several results: the truth of the result with most error.
--- Example:
--- local function near(array)
---   return math.abs(array[1] - 1), 0.5, "the first element"
--- end
--- local truth = verify.all{near, near}
--- print(truth{cl.array("float", 1, 1), cl.array("float", 1, 1.25)})
function M.all(truths)
  return function(results)
    local worst
    for i, truth in ipairs(truths) do
      local verdict = table.pack(truth(results[i]))
      local off = verdict[1] == 0 and 0 or verdict[1] / verdict[2]
      if not worst or off > worst.off or off ~= off then
        worst, verdict.off = verdict, off
      end
    end
    return table.unpack(worst, 1, worst.n)
  end
end

-- The verdict of `truth` on a host result.
function M.judge(result, truth)
  local err, bound, mode, row, col = truth(result)
  argument.check("verify", "the error that truth returns", err, "number")
  argument.check("verify", "the bound that truth returns", bound, "number")
  return {ok = err <= bound, err = err, bound = bound, mode = mode,
    row = row, col = col}
end

--- verify.gemm(A, B, s [, C0 [, cut [, in_float]]]) -> function(C)
--- The truth of a product, from host arrays. It compares all elements up to
--- 2^27 multiply-adds. Beyond that it does Freivalds' check (C v against A (B
--- v) for random signs v) and compares whole rows, also the first and the
--- last. `cut` is the relative error of operands that a kernel rounds before
--- it multiplies, as in TF32; in_float: halves are added up in float. The
--- first call computes the product, later calls compare with it.
--- Example:
--- local A, B = cl.array("float", {8, 8}, 1), cl.array("float", {8, 8}, 1)
--- local truth = verify.gemm(A, B, {m = 8, n = 8, k = 8, type = "float",
---   alpha = 1, beta = 0})
--- print(truth(host.gemm_loop(A, B)))
function M.gemm(A, B, s, C0, cut, in_float)
  local out = s.out or s.type
  local bound = (s.type == "half" and (in_float or out == "float")
    or text.bits(s.type)) and M.bound_in_float(out, s.k)
    or ROUNDOFF[s.type] and M.bound(s.type, s.k) or 0
  if cut then -- each factor is off by up to `cut`
    bound = bound + 2 * cut + cut^2
  end
  local rows = s.m * s.n * s.k > M.FULL and M.sample_rows(s.m, s.n, s.k)
    or nil
  local truth
  return function(C)
    if not truth then
      argument.check("verify.gemm", "the result", C, "Array")
      truth = host.gemm_truth(A, B, {alpha = s.alpha, beta = s.beta, C0 = C0,
        rows = rows, rounds = rows and 3, type = C.type})
      A, B, C0 = nil, nil, nil -- the truth has what it needs of them
    end
    local err, row, col = truth:error(C)
    if not rows then
      return err, bound, "all elements", row, col
    end
    local whole = truth:freivalds(C)
    if whole > err then
      err, row, col = whole, nil, nil
    end
    return err, bound, ("Freivalds and %d rows"):format(#rows), row, col
  end
end

--- verify.window(A, F [, keep]) -> function(B)
--- The truth of sums over windows of A with the weights F, host arrays, for
--- convolutions and stencils; `keep` as for cl.host.window_error. It compares
--- all elements up to 2^30 multiply-adds, and beyond that rows at equal
--- distances and the last row.
--- Example:
--- local A, F = cl.array("float", {8, 8}, 1), cl.array("float", {1, 1}, 2)
--- local truth = verify.window(A, F)
--- print(truth(cl.array("float", {8, 8}, 2)) == 0.0) --> true
function M.window(A, F, keep)
  local work = 1.0 * #A * #F
  local step = math.max(1, math.ceil(work / WINDOWS))
  local mode = step == 1 and "all elements"
    or ("each row of %d"):format(step)
  return function(B)
    argument.check("verify.window", "the result", B, "Array")
    local err, row, col = host.window_error(B, A, F,
      {step = step, keep = keep})
    return err, M.bound(B.type, #F), mode, row, col
  end
end

-- The truth of a transpose: the number of wrong elements, none allowed.
function M.transpose(A)
  return function(B)
    local wrong, row, col = host.transpose_error(B, A)
    return wrong, 0, "every bit", row, col
  end
end

-- The result of a reference as an Array: of the element type for integers,
-- which are exact, else of double.
local function as_array(who, result, type, y)
  if text.class(result) ~= "Array" then
    result = math.type(result) and {result} or result
    argument.check(who .. ": reference", "its result", result, "table",
      "a number, a list of numbers or an Array")
    if #result ~= #y then
      cl.error(("%s: reference must return %d elements; got %d"):format(who,
        #y, #result))
    end
    result = cl.array(ROUNDOFF[type] and "double" or type, #y, result)
  end
  return result
end

-- verify.reference(who, s, terms, result [, scale]) -> function(y)
-- The truth of an output y, for verify.run, where the `reference` of a family
-- gave `result`. Errors are fractions of `scale`, by default the largest
-- absolute value; the bound is verify.bound(type, terms), for integers 0.
function M.reference(who, s, terms, result, scale)
  local real = ROUNDOFF[s.type]
  local bound = real and M.bound(s.type, terms) or 0
  local right
  if scale and (not math.type(scale) or scale < 0) then
    cl.error(("%s: the scale of reference must be a number >= 0; got %s")
      :format(who, text.got(scale)))
  end
  return function(y)
    if not right then
      right = as_array(who, result, s.type, y)
      local seen = right:summary()
      scale = scale or math.max(math.abs(seen.min or 0),
        math.abs(seen.max or 0))
    end
    local err, at = y:max_diff(right)
    if real and err > 0 and scale < math.huge then
      err = err / scale
    end
    local rows, cols = y.shape[1], y.shape[2]
    if not cols or y.shape[3] then
      return err, bound, "all elements", rows > 1 and at or nil
    end
    return err, bound, "all elements", (at - 1) // cols + 1,
      (at - 1) % cols + 1
  end
end

return M
