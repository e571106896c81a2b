-- tune/kernel.lua - the configurations of a kernel of the user's as a source;
-- see evaluate.lua
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.ladder.operands"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local device_limits = require "clshell.ladder.device_limits"
local evaluate = require "clshell.tune.evaluate"
local program = require "clshell.ladder.program"
local race = require "clshell.tune.race"
local space = require "clshell.tune.space"
local phase = require "clshell.base.phase"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"

local M = {}

local MODULE = ...

-- The largest differences that a check passes, as parts of the largest
-- reference.
local TOLERANCE = {half = 1e-2, float = 1e-4, double = 1e-10}

-- The base type of "float4".
local function scalar(type)
  return type:match "^%a+"
end

-- A reference as an Array, checked.
local function reference_array(check, output)
  local ref = check
  if text.class(check) == "Array" and check.closed then
    cl.error("tune: check must be an open Array; it is closed")
  end
  if arguments.is_buffer(check) then
    ref = check:read()
  elseif text.class(check) ~= "Array" then
    cl.error(("tune: check must be an Array, a Buffer or a function; got %s")
      :format(type(check)))
  end
  if not output then
    cl.error("tune: check is a reference, but no argument is the result",
      {hint = "output = a Buffer among the arguments"})
  elseif #ref ~= #output then
    cl.error(("tune: check has %d elements, the output %d"):format(#ref,
      #output))
  end
  local sum = ref:summary()
  if sum.nan > 0 or sum.inf > 0 then
    cl.error(("tune: check has %s"):format(sum.nan > 0
      and text.count(sum.nan, "NaN") or text.count(sum.inf, "infinity")))
  end
  return ref
end

-- The text of a kernel file or a source, and from where program.get takes it.
local function source_of(kernel)
  if kernel:find "[\n{;]" then
    return {source = kernel, name = "(source)"}, kernel
  end
  local path = program.locate(kernel, {"", program.script_folder(),
    cl.home .. "/kernels/"}, "tune")
  local f <close> = assert(io.open(path, "rb"))
  return {path = path}, f:read "a"
end

-- The value of an option that may be a function of the point.
local function value(x, p)
  if type(x) == "function" then
    return x(p)
  end
  return x
end

-- A point that notes the names that a function reads.
local function noting(p, read)
  return setmetatable({}, {__index = function(_, key)
    read[key] = true
    return p[key]
  end})
end

local function macro(v)
  if type(v) == "boolean" then
    return v and 1 or 0
  end
  return v
end

-- Raises where two parameters would be one macro.
local function check_macros(params)
  local by = {}
  for _, param in ipairs(params) do
    local name = param.name:upper()
    if by[name] then
      cl.error(("tune: params: %s and %s are both the macro %s"):format(
        by[name], param.name, name), {hint = "another name, or defines = "
        .. "function(p) return {...} end"})
    end
    by[name] = param.name
  end
end

-- The default configuration: the values that `start` gives, else the first
-- ones; the first point where these are none.
local function start_of(points, start)
  local p = {}
  for _, param in ipairs(points.params) do
    p[param.name] = param.values[1]
  end
  for name, v in pairs(start or {}) do
    p[name] = v
  end
  if start and not points:number(p) then
    cl.error("tune: start is no point: " .. points:why(p))
  end
  return points:number(p) and p or points:point(1)
end

-- Options of the search, which a source does not look at again.
local OF_SEARCH = {"params", "where", "start", "strategy", "objective",
  "objectives", "shapes"}

--- kernel.source(t [, known]) -> source
--- The configurations of a kernel of the user's: the table of tune. In another
--- process `known` has what was found out in the first: space, first, title.
function M.source(t, known)
  if type(t.kernel) ~= "string" then
    cl.error(("tune: kernel must be the path of a .cl file or its text; got "
      .. "%s"):format(t.kernel == nil and "nothing" or type(t.kernel)))
  elseif t.range == nil then
    cl.error("tune: range is missing",
      {hint = "range = function(p) return {n, m}, {p.bx, p.by} end"})
  elseif t.args ~= nil and type(t.args) ~= "table"
      and type(t.args) ~= "function" then
    cl.error(("tune: args must be a list or a function of the parameters; got "
      .. "a %s"):format(type(t.args)))
  end
  local from, source = source_of(t.kernel)
  local context = t.context or cl.context()
  local src = {space = known and known.space or space.new(t.params, t.where),
    out = {}, context = context, mode = t.cache or "hot", module = MODULE}
  if not (known or t.defines) then
    check_macros(src.space.params)
  end
  src.name = t.name or from.path and from.path:match "([^/]*)%.%w*$"
    or source:match "kernel%s+void%s+([%w_]+)" or "kernel"
  local first = not known and #src.space > 0 and start_of(src.space, t.start)
    or nil
  src.first = {first}
  local output, reference
  local last = {} -- the configuration built last

  local function args_of(p)
    local args = value(t.args, p) or {}
    if type(args) ~= "table" then
      cl.error(("tune: args(p) must return a list; got a %s"):format(
        type(args)))
    end
    return args
  end

  local function range_of(p)
    local global, size = t.range, nil
    if type(global) == "function" then
      global, size = global(p)
    end
    return global, math.type(size) and {size} or size
  end

  local function defines_of(p)
    local defines, given = {}, t.defines and value(t.defines, p) or p
    if type(given) ~= "table" then
      cl.error(("tune: defines must be a table of macros; got %s"):format(
        text.got(given)))
    end
    for name, v in pairs(given) do
      defines[t.defines and name or name:upper()] = macro(v)
    end
    return defines
  end

  local function is_open(x)
    return arguments.is_buffer(x) and not x.closed
  end

  -- What the arguments say before the search: the output and the title.
  if first then
    local words = {}
    for _, x in ipairs(args_of(first)) do
      if is_open(x) then
        words[#words + 1] = text.shape(x.shape)
      end
    end
    src.title = t.title or table.concat(words, ", ")
  end
  src.title = known and known.title or src.title
  output = t.output
  if output ~= nil and not is_open(output) then
    cl.error("tune: output must be an open Buffer")
  end

  -- The parameters that nothing reads.
  local unused = {}
  if first and not (t.defines or t.options)
      and not source:find("#%s*include") then
    local read = {}
    range_of(noting(first, read))
    args_of(noting(first, read))
    for _, param in ipairs(src.space.params) do
      if not read[param.name] and not source:find("%f[%w_]"
          .. param.name:upper() .. "%f[^%w_]") then
        unused[#unused + 1] = param.name
      end
    end
  end

  local note
  function src.note()
    if #unused > 0 then
      note = ("nothing uses %s: the source has no %s"):format(
        table.concat(unused, ", "), unused[1]:upper())
    end
    return note
  end

  local rung = {name = src.name,
    range = function(_, p)
      return range_of(p)
    end,
    local_bytes = t.local_bytes and function(_, p)
      return value(t.local_bytes, p)
    end,
  }

  function src.split(p)
    return p
  end

  function src.refusal(p)
    return device_limits.device({}, rung, p, {}, context.device)
  end

  -- The output, where the kernel says it: its only Buffer that is not const.
  local function find_output(kernel, args)
    if output then
      return
    end
    local found
    for i, param in ipairs(kernel.args) do
      if param.space == "global" and not param.const and is_open(args[i]) then
        if found then
          return
        end
        found = args[i]
      end
    end
    output = found
  end

  local function ready_reference(kernel, args)
    find_output(kernel, args)
    if t.check ~= nil and type(t.check) ~= "function" and not reference then
      reference = reference_array(t.check, output)
    end
  end

  local function poison()
    if output then
      local float = TOLERANCE[scalar(output.type)]
      pcall(output.fill, output, float and 0 / 0 or 85)
    end
    if t.reset then
      t.reset()
    end
  end

  local function compared()
    local got <close> = output:read()
    local diff, at = got:max_diff(reference)
    local sum = reference:summary()
    local scale = math.max(math.abs(sum.min or 0), math.abs(sum.max or 0))
    local part = t.tolerance or TOLERANCE[scalar(output.type)] or 0
    local err = scale > 0 and diff / scale or diff
    if diff <= part * scale then
      return true, nil, err
    end
    return false, ("differs by %.3g at element %d, %.3g allowed"):format(diff,
      at, part * scale), err
  end

  local function check(p)
    if type(t.check) == "function" then
      return t.check(p)
    elseif reference or src.learned then
      reference = reference or src.learned
      return compared()
    elseif output then
      local got = output:read()
      local sum = got:summary()
      if sum.nan > 0 then
        return false, ("%s in the result; a kernel that reads its output "
          .. "needs reset"):format(text.count(sum.nan, "NaN"))
      end
      reference, src.learned = got, got
      note = "compared with the first configuration, as check is not given"
    else
      note = "not checked: neither check nor output is given"
    end
    return true
  end

  -- The launch of a point and its arguments, or nil and the answer without.
  local function launch_of(p)
    phase.begin "built"
    local ok, kernel = pcall(function()
      return program.kernel(program.get(context, from, defines_of(p),
        value(t.options, p)), t.entry)
    end)
    if not ok then
      return nil, evaluate.unbuilt(kernel)
    end
    last.program = kernel.program
    local args = args_of(p)
    ready_reference(kernel, args)
    local _, size = range_of(p)
    local reason = device_limits.kernel({}, kernel, size, context.device)
      or device_limits.constants(kernel, args, context.device)
    if reason then
      return nil, {status = "refused", reason = reason}
    end
    local made, launch = pcall(kernel.range, kernel, range_of(p))
    if not made then -- the library calls it "?", as pcall called it
      return nil, {status = "refused", reason = evaluate.reason(launch)
        :gsub("^%?: bad argument #%d: ", "range: ")}
    end
    return launch, args
  end

  function src.programs(p)
    return {{from = from, defines = defines_of(p),
      options = value(t.options, p)}}
  end

  local function call_of(launch, args)
    local n = args.n or #args
    return function()
      return launch(table.unpack(args, 1, n))
    end
  end

  local _, source_hash = program.source(from, first
    and {options = value(t.options, first)})
  local fixed = evaluate.identity(t.check, t.tolerance, t.reset, t.output)

  function src.setting(p)
    local global, size = range_of(p)
    local args = args_of(p)
    return evaluate.setting(context, source_hash, defines_of(p),
      value(t.options, p), evaluate.sizes(global), evaluate.sizes(size),
      evaluate.identity(table.unpack(args, 1, args.n or #args)), src.mode,
      t.entry, fixed, value(t.flop, p), value(t.bytes, p)), source_hash
  end

  function src.measure(p, best)
    local launch, args = launch_of(p)
    if not launch then
      return args
    end
    local sampled
    local opts = evaluate.options(t)
    opts.name, opts.flop, opts.bytes = src.name, value(t.flop, p),
      value(t.bytes, p)
    local result
    opts.check = function()
      local ok, message, err = check(p)
      result.err = tonumber(err)
      return ok, message
    end
    poison()
    local r = bench.job({call = call_of(launch, args), kernel = launch.kernel,
      size = launch.localsize, name = src.name, context = context,
      before = t.reset, describe = function(r)
        result = r
        r.params, r.config, r.title = p, src.space:tostring(p), src.title
        r.setting, r.source_hash = src.setting(p)
        r.kernel = launch.kernel.name
      end}, opts, function(...)
        sampled = race.measure(best, ...)
      end, "tune")
    program.forget{last.program}
    return evaluate.ended(r, sampled)
  end

  function src.subject(p)
    local launch, args = launch_of(p)
    if launch then
      local subject = timer.new(context, {call_of(launch, args)})
      subject.before = t.reset
      return subject
    end
  end

  function src.launch(p)
    local launch, args = launch_of(p)
    if launch then
      poison()
      phase.begin "ran"
      call_of(launch, args)():wait()
      return {last.program}
    end
  end

  function src.resource(p, name)
    local launch = launch_of(p)
    return launch and evaluate.resource(name, launch.kernel,
      value(t.local_bytes, p))
  end

  function src.awkward() end

  function src.again()
    local own, names = {kernel = from.path or t.kernel, context = context}, {}
    for name, v in pairs(t) do
      own[name] = own[name] or v
    end
    for _, name in ipairs(OF_SEARCH) do
      own[name] = nil
    end
    for i, param in ipairs(src.space.params) do
      names[i] = {name = param.name}
    end
    return own, {title = src.title, space = setmetatable({params = names},
      getmetatable(src.space))}
  end

  return src
end

return M
