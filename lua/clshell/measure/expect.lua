-- measure/expect.lua - the results that a launch must have: its outputs are
-- filled before a run, and compared with what the user expects after it
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local plans = require "clshell.ladder.plan"
local text = require "clshell.base.text"
local verify = require "clshell.ladder.verify"

local M = {}

-- The largest difference at an element, as a part of the element expected, or
-- of the usual magnitude where that is larger: the lower quartile of the
-- magnitudes that are not 0. A few huge elements do not excuse the rest.
local TOLERANCE = {half = 1e-2, float = 1e-4, double = 1e-10}
local ROUNDOFF = verify.ROUNDOFF
-- A launch may be so many times as far from the truth as the plain kernel that
-- it is compared with. Its tolerance is at least so many roundings, and ROOM
-- times the roundings that a sum of as many terms as an output has inputs has
-- at random.
local ROOM, LEAST = 8, 32
local LOOKED = 10000 -- magnitudes for the quartile, at most
local SHOWN = 3      -- wrong elements in a message

local scalar = verify.scalar

-- The numbers in a Buffer or an Array.
local function count_of(x)
  return #x * select(2, scalar(x.type))
end

-- An element as a number or, of a vector, a table.
local function components(x)
  return type(x) == "table" and x or {x}
end

--- expect.usual(array) -> number
--- The lower quartile of the magnitudes of numbers that are not 0 and finite.
--- Example: print(expect.usual(cl.array("float", 4, {0, 1, 2, 1e30}))) --> 1.0
function M.usual(array)
  local list, n = {}, #array
  for i = 1, n, math.max(1, n // LOOKED) do
    for _, x in ipairs(components(array[i])) do
      x = math.abs(x + 0.0)
      list[#list + 1] = x > 0 and x < math.huge and x or nil
    end
  end
  table.sort(list)
  return list[(#list + 3) // 4] or 0
end

-- "C[3]", or "C[2, 5]" of a matrix, "C[3].s1" of a vector, counted from 0 as a
-- kernel does; and the number of the element, from 1.
local function place(name, array, width, number)
  local i = (number - 1) // width
  local rows, cols = array.shape[1], array.shape[2]
  local at = rows and cols and not array.shape[3]
    and ("%d, %d"):format(i // cols, i % cols) or tostring(i)
  return ("%s[%s]%s"):format(name, at, width > 1
    and ".s" .. ("%x"):format((number - 1) % width) or ""), i + 1
end

-- Whether a number is the filling of verify.poison: NaN, or an integer's own.
local function is_filling(x, filling)
  return filling == nil and x ~= x or filling ~= nil and x == filling
end

local function shown(x)
  return x ~= x and "NaN" or ("%.7g"):format(x)
end

-- The line that tells of wrong elements.
local function words_of(v, name, count)
  local list = {}
  for i = 1, math.min(SHOWN, #v.worst) do
    local w = v.worst[i]
    list[i] = ("%s = %s, expected %s"):format(w.place, shown(w.value),
      shown(w.expected))
  end
  local head, unwritten = ("%d of %s of %s"):format(v.wrong,
    text.count(count, "element"), name), ""
  if v.unwritten > 0 then
    unwritten = ("%s%s never written, or made of values never written"):format(
      v.unwritten < v.wrong and ", of them " .. v.unwritten or "",
      v.unwritten == 1 and " is" or " are")
  end
  return ("%s%s: %s"):format(head, unwritten, table.concat(list, "; "))
end

--- expect.compare(got, right [, part [, usual [, name]]]) -> verdict
--- Compares two Arrays number by number: x is right where |x - e| <= part *
--- max(|e|, usual), or where both are NaN. `part` is 1e-2 for half, 1e-4 for
--- float, 1e-10 for double and 0 for integers; `usual` is expect.usual(right).
--- The verdict: {ok, err, bound, wrong, mode, message, worst}, the worst
--- elements a list of {place (in the words of a kernel, from 0), value,
--- expected, index (from 1)}.
--- Example:
--- local right = cl.array("float", 3, {1, 2, 3})
--- local v = expect.compare(cl.array("float", 3, {1, 2, 4}), right)
--- print(v.ok, v.worst[1].place, v.worst[1].expected) --> false [2] 3.0
function M.compare(got, right, part, usual, name, filling)
  local base, width = scalar(got.type)
  name = name or ""
  part = part or TOLERANCE[base] or 0
  usual = usual or M.usual(right)
  local wrong, places, err = got:differences(right, part, usual)
  local v = {ok = wrong == 0, err = err, bound = part, wrong = wrong,
    worst = {}, unwritten = 0, mode = part == 0 and "every bit"
      or ("by element: within %.1e of its value, or of %.3g"):format(part,
        usual)}
  for i, number in ipairs(places) do
    local at, index = place(name, got, width, number)
    local k = (number - 1) % width + 1
    v.worst[i] = {place = at, index = index,
      value = components(got[index])[k],
      expected = components(right[index])[k]}
  end
  if wrong > 0 and width == 1 then
    for i = 1, #got do
      local x, e = got[i], right[i]
      v.unwritten = v.unwritten + (is_filling(x, filling and filling[i])
        and x ~= e and (filling or e == e) and 1 or 0)
    end
  end
  v.message = not v.ok and words_of(v, name, #got * width) or nil
  return v
end

local Expect = {}
Expect.__index = Expect

local function is_buffer(x)
  return text.class(x) == "Buffer"
end

-- The Buffers that a launch may write, in the order of its parameters, and all
-- arguments by name.
local function outputs_of(who, launch, args)
  local list, inputs = {}, {}
  for i, param in ipairs(launch and launch.kernel.args or {}) do
    local value = args[i]
    if text.class(value) == "Any" then
      value = value.buffer
    end
    inputs[param.name] = value
    local output = param.space == "global" and not param.const
    if output and text.class(value) == "Array" then
      cl.error(("%s: argument %d '%s' must be a Buffer; got Array"):format(who,
        i, param.name), {hint = "cl.buffer(a.type, a.shape, a) has a copy of "
        .. "its elements"})
    elseif output and is_buffer(value) then
      list[#list + 1] = {name = param.name, buffer = value}
    end
  end
  return list, inputs
end

-- Whether a table tells results by name or by Buffer.
local function is_named(x)
  return type(x) == "table" and getmetatable(x) == nil and x[1] == nil
    and next(x) ~= nil
end

local function names_of(outputs)
  return text.values(outputs, ", ", "name")
end

-- The output of that name, or the Buffer itself.
local function find(who, outputs, key)
  for _, output in ipairs(outputs) do
    if output.name == key or rawequal(output.buffer, key) then
      return output
    end
  end
  if is_buffer(key) then
    return {name = "the Buffer", buffer = key}
  end
  cl.error(("%s: expect: '%s' is no Buffer that the launch writes"):format(who,
    tostring(key)), {hint = #outputs > 0 and "it may write "
    .. names_of(outputs) or "expect = {[C] = right} names the Buffer C"})
end

-- The pairs of outputs and results.
local function paired(who, outputs, value)
  local list = {}
  if is_named(value) then
    for key, right in pairs(value) do
      local output = find(who, outputs, key)
      list[#list + 1] = {name = output.name, buffer = output.buffer,
        right = right}
    end
    table.sort(list, function(a, b)
      return a.name < b.name
    end)
    return list
  elseif #outputs ~= 1 then
    cl.error(("%s: expect: %s"):format(who, #outputs == 0
      and "the Buffer to compare is not known"
      or "the launch may write " .. names_of(outputs)), {hint =
      #outputs == 0 and "expect = {[C] = right} names the Buffer C"
      or ("name it: expect = {%s = ...}, or declare the others const")
        :format(outputs[#outputs].name)})
  end
  return {{name = outputs[1].name, buffer = outputs[1].buffer, right = value}}
end

-- A result as an Array with as many elements as the Buffer.
local function as_array(who, output, right)
  local b, class = output.buffer, text.class(right)
  if rawequal(right, b) then
    cl.error(("%s: expect: %s would be compared with itself"):format(who,
      output.name), {hint = "a copy of its right content, or a function"})
  elseif math.type(right) then
    local list = cl.array(scalar(b.type), #b)
    right = list:fill(right)
  elseif type(right) == "table" and getmetatable(right) == nil then
    local base = #right == count_of(b) and scalar(b.type) or b.type
    right = cl.array(ROUNDOFF[base] and "double" or base, #right, right)
  elseif class == "Buffer" or class == "Expression" then
    right = right:read()
  elseif class ~= "Array" then
    cl.error(("%s: expect must be a Buffer, an Array, an Expression, a list, "
      .. "a number, a Launch or a function that returns any of these; got %s")
      :format(who, text.got(right)))
  end
  if count_of(right) ~= count_of(b) then
    cl.error(("%s: expect has %s, %s has %d"):format(who,
      text.count(count_of(right), "number"), output.name, count_of(b)))
  end
  return right
end

-- The truth of a call of a family whose result f returned, for Arrays of the
-- Buffer's content; nil where the family reads the output.
local function truth_of(call, b)
  local made = plans.new(call.family, call.given, call.opts)
  local truth, before = call.family.truth(made)
  local like = made.output
  if before or #like ~= #b or like.type ~= b.type
      or made.pieces and #made:pieces() > 1 then
    return nil
  end
  return function(array)
    array = array:reshape(like.shape)
    return truth(made.pieces and {array} or array)
  end
end

-- Calls f(inputs), and notes the calls of families by their outputs.
local function called(f, inputs)
  local seen, before = {}, plans.watch
  function plans.watch(family, given, opts, output)
    seen[output or 0] = {family = family, given = given, opts = opts}
  end
  local results = table.pack(pcall(f, inputs))
  plans.watch = before
  if not results[1] then
    error(results[2], 0)
  end
  return results[2], seen
end

-- The program of a plain kernel in double: the words of its types are macros.
local function in_double(launch)
  local program, lines = launch.kernel.program, {}
  if not program.source or not program.context.device:has "cl_khr_fp64" then
    return nil
  end
  for _, n in ipairs{"", "2", "3", "4", "8", "16"} do
    for _, word in ipairs{"float", "convert_float", "vload_float"} do
      lines[#lines + 1] = ("#define %s%s %s%s\n"):format(word, n,
        word:gsub("float", "double"), n)
    end
  end
  local ok, built = pcall(cl.build, table.concat(lines) .. program.defines
    .. program.source, {context = program.context, name = "expect", options =
    program.options:gsub("%-cl%-single%-precision%-constant", "")})
  return ok and built or nil
end

-- The arguments of a plain kernel: those of the launch, by name where their
-- numbers differ.
local function args_for(who, plain, launch, args, inputs)
  local list, params = {n = #plain.kernel.args}, plain.kernel.args
  for i, param in ipairs(params) do
    list[i] = args[i]
    if #params ~= #launch.kernel.args then
      list[i] = inputs[param.name]
      if list[i] == nil then
        cl.error(("%s: expect: %s takes '%s', which %s has not"):format(who,
          plain.kernel.name, param.name, launch.kernel.name))
      end
    end
  end
  return list
end

-- Runs a plain kernel on copies of its outputs, filled by a seed, or with
-- their own content (nil). Returns {name, buffer, right} for each output.
local function run_plain(plain, args, seed, double)
  local given, list, copies = {}, {}, {}
  for i, param in ipairs(plain.kernel.args) do
    local b = text.class(args[i]) == "Any" and args[i].buffer or args[i]
    given[i] = args[i]
    if is_buffer(b) then
      local output = param.space == "global" and not param.const
      local type = double and b.type:gsub("^float", "double") or b.type
      if output or type ~= b.type then
        local copy = copies[b] or cl.buffer(type, b.shape, nil,
          {context = b.context, ld = not double and b.rows and b.ld or nil})
        if not copies[b] and output and seed then
          verify.poison(copy, seed)
        elseif not copies[b] then
          copy:write(b:read():convert(type))
        end
        given[i], copies[b] = copy, copy
        list[#list + 1] = output and {name = param.name, buffer = b,
          copy = copy} or nil
      end
    end
  end
  plain(table.unpack(given, 1, args.n)):wait()
  for _, output in ipairs(list) do
    output.right = output.copy:read()
  end
  for _, copy in pairs(copies) do
    copy:close()
  end
  return list
end

-- Whether the outputs of a plain kernel depend on their filling: the kernel
-- reads them or leaves parts of them.
local function is_left(one, other)
  for i, output in ipairs(one) do
    if output.right:differences(other[i].right, 0, 0) > 0 then
      return true
    end
  end
  return false
end

-- The results of a plain kernel, in double where it can be built so; their
-- tolerance is then by its own distance from them.
local function of_plain(who, plain, launch, args, inputs, inout)
  args = launch and args_for(who, plain, launch, args, inputs) or args
  local list, terms = run_plain(plain, args, not inout and 1 or nil), 0
  local kept = inout or is_left(list, run_plain(plain, args, 2))
  list = kept and not inout and run_plain(plain, args) or list
  for _, value in pairs(inputs) do
    terms = terms + (is_buffer(value) and #value or 0)
  end
  local precise <close> = in_double(plain)
  local ok, truths = pcall(function()
    local kernel <close> = precise:kernel(plain.kernel.name)
    local launch_in_double <close> = kernel:range(plain.global,
      plain.localsize, plain.offset)
    return run_plain(launch_in_double, args, not kept and 1 or nil, true)
  end)
  for i, output in ipairs(list) do
    local right = ok and truths and truths[i].right
    local u = ROUNDOFF[scalar(output.buffer.type)]
    output.inout = kept
    if right and u and right.type:find "^double"
        and output.right.type:find "^float" then
      local usual = M.usual(right)
      local _, _, err = output.right:differences(right, 0, usual)
      output.part = math.min(TOLERANCE.float, math.max(ROOM * err, LEAST * u,
        ROOM * math.sqrt(terms / #right) * u))
      output.right = right
    end
    output.note = (" (%s's result%s)"):format(plain.kernel.name,
      output.part and " in double" or "")
  end
  return list
end

-- Whether an output is named by the option inout: a name, names, or true.
local function is_inout(inout, name)
  if type(inout) == "table" then
    for _, other in ipairs(inout) do
      if other == name then
        return true
      end
    end
  end
  return inout == true or inout == name
end

--- expect.new(who, launch, args, opts) -> expect
--- The results that a launch must have. opts.expect is a Buffer, an Array, an
--- Expression, a list, a number for all elements, or a function of a table of
--- the arguments by name that returns any of these; {C = ..., D = ...} names
--- the outputs, as parameters or {[buffer] = ...}; a Launch of a plain kernel
--- is run with the same arguments, in double where its text can be built so.
--- Results are calculated here, before the launch runs. A function that
--- returns the result of a family's call, such as gemm(A, B), is compared by
--- the family's own bound. opts.tolerance: the part for expect.compare.
--- opts.inout: outputs that the kernel reads as well: a name, names, or true.
--- Without a launch (nil) opts.expect names Buffers.
--- Example:
--- local k = cl.kernel "kernel void f(global float *y) { y[0] = 2; }"
--- local y = cl.buffer("float", 2)
--- local e = expect.new("mine", k:range(1), {y, n = 1}, {expect = 2})
--- e:poison()
--- k:range(1)(y):wait()
--- print(e:verdict().message)
function M.new(who, launch, args, opts)
  local value, seen = opts.expect, {}
  local outputs, inputs = outputs_of(who, launch, args)
  local list
  if opts.tolerance ~= nil and not (math.type(opts.tolerance)
      and opts.tolerance >= 0) then
    argument.refuse(who, "tolerance", "must be a number >= 0; got "
      .. text.got(opts.tolerance))
  end
  if type(value) == "function" then
    value, seen = called(value, inputs)
  end
  if text.class(value) == "Launch" then
    list = of_plain(who, value, launch, args, inputs, opts.inout ~= nil)
  else
    list = paired(who, outputs, value)
  end
  for _, output in ipairs(list) do
    local b, call = output.buffer, seen[output.right]
    output.truth = call and truth_of(call, b)
    output.note = output.note or call and (" (as %s.verify compares)"):format(
      call.family.name) or ""
    output.right = as_array(who, output, output.right)
    output.part = opts.tolerance or output.part
    output.usual = M.usual(output.right)
    output.inout = output.inout or is_inout(opts.inout, output.name)
    output.before = output.inout and b:read() or nil
    output.nan = output.right:summary().nan > 0
    output.filling = not output.inout and verify.filling(b, output.nan) or nil
  end
  return setmetatable({list = list}, Expect)
end

--- expect:poison()
--- Fills the outputs, or gives them the content that they had at first where
--- the kernel reads them.
function Expect:poison()
  for _, output in ipairs(self.list) do
    if output.inout then
      output.buffer:write(output.before)
    elseif output.filling then
      output.buffer:write(output.filling)
    else
      verify.poison(output.buffer)
    end
  end
end

--- expect:restore() -> function, or nil
--- The function to call before each run of a kernel that reads its outputs.
function Expect:restore()
  for _, output in ipairs(self.list) do
    if output.inout then
      return function()
        self:poison()
      end
    end
  end
end

-- The verdict by a family's truth; the element at fault as in expect.compare.
local function by_truth(output, got)
  local v = verify.judge(got, output.truth)
  v.wrong, v.unwritten, v.worst = v.ok and 0 or 1, 0, {}
  if not v.ok then
    local seen = M.compare(got, output.right, v.bound, output.usual,
      output.name)
    local cols = got.shape[2] or 1
    local i = v.row and (v.row - 1) * cols + (v.col or 1)
    v.wrong, v.unwritten = math.max(1, seen.wrong), seen.unwritten
    v.worst = {i and {place = (place(output.name, got, 1, i)), index = i,
      value = got[i], expected = output.right[i]}}
    v.message = ("%s (err=%.1e, bound %.1e of |A||B|)"):format(seen.message
      or i and ("%s = %s, expected %s"):format(v.worst[1].place,
        shown(v.worst[1].value), shown(v.worst[1].expected))
      or output.name .. " is wrong", v.err, v.bound)
  end
  return v
end

--- expect:verdict() -> verdict
--- Compares the outputs as they are now: {ok, err, bound, mode (the rule),
--- message, wrong, unwritten (numbers of elements), worst}, see
--- expect.compare; of several outputs the first wrong, or else the loosest.
function Expect:verdict()
  local verdict
  for _, output in ipairs(self.list) do
    local whole <close> = output.buffer:read()
    local got, filling = whole, output.filling
    if #whole ~= #output.right then
      local base = scalar(whole.type)
      got, filling = whole:as(base), filling and filling:as(base)
    end
    local v = output.truth and by_truth(output, got) or M.compare(got,
      output.right, output.part, output.usual, output.name, filling)
    v.mode = v.mode .. output.note
    if not v.ok then
      return v
    end
    verdict = verdict and verdict.bound >= v.bound and verdict or v
  end
  return verdict
end

return M
