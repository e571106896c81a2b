-- tune/evaluate.lua - one configuration of a search: the reason against it,
-- its build, its check and its measurement, for the rungs of a family and for
-- a kernel of the user's. A source of configurations is a table:
--   space, spaces     the points, and those of each rung where several run
--   name, title       of the results
--   first             points to begin with, the default configuration first
--   split(p)          the parameters of a point, and its rung or nil
--   refusal(p)        the reason of the device, before anything is built
--   measure(p, race)  {status, reason, record}, status as in tune
--   setting(p)        a text that tells equal measurements; nil: never equal
--   subject(p)        of the protocol, for turns; after refusal and measure
--   awkward(p)        a reason against it on shapes that fit no tile
--   note()            a line about the source, or nil
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.family.arguments"
local bench = require "clshell.measure.bench"
local cachefile = require "clshell.measure.cachefile"
local cl = require "cl"
local device_limits = require "clshell.family.device_limits"
local interrupt = require "clshell.base.interrupt"
local program = require "clshell.family.program"
local protocol = require "clshell.measure.protocol"
local record = require "clshell.measure.record"
local rungs = require "clshell.family.rung"
local space = require "clshell.tune.space"
local text = require "clshell.base.text"
local timer = require "clshell.measure.timer"
local workload = require "clshell.measure.workload"

local M = {}

-- Shapes that fit no tile, for winners.
local AWKWARD = {{1}, {7}, {17}, {100}, {33, 65, 129}}
local MARGIN = 3 -- elements of a row beyond its columns

-- The first line of an error of the device or the compiler. A mistake in the
-- caller's Lua, and Ctrl-C, are raised again.
local function reason_of(e)
  if interrupt.is(e) or type(e) ~= "table" or e.message == nil then
    error(e, 0)
  end
  local why = e.diagnostics and e.diagnostics[1]
  return e.message:match "^[^\n]*" .. (why and ": " .. why.text or "")
end

-- The end of a measurement as fields of a row.
local function ended(r)
  local reason = r.error
  return {status = r.status, reason = reason, record = r}
end

-- A text of all that a measurement depends on, as a hash.
local function setting(context, ...)
  local words = {protocol.version, cl.version,
    cachefile.identity(context.device)}
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if type(x) == "table" then
      local list = {}
      for _, key in ipairs(text.keys(x)) do
        list[#list + 1] = ("%s=%s"):format(key, tostring(x[key]))
      end
      x = table.concat(list, "\1")
    end
    words[#words + 1] = tostring(x)
  end
  return cachefile.hash(table.concat(words, "\0"))
end

-- The sizes of a global or local range: a number, or a list.
local function range_text(x)
  return type(x) == "table" and text.shape(x) or tostring(x)
end

-- The options of bench that a search passes on.
local function bench_options(opts)
  return {roof = false, tag = opts.tag, samples = opts.samples,
    cache = opts.cache, type = opts.type}
end

-- The parameters of a rung as lists for a space.
local function lists(rung)
  local params = {}
  for i, param in ipairs(rung.params) do
    params[i] = {param.name, param.values}
  end
  return params
end

-- The space of several rungs: a parameter `rung`, and the parameters of all;
-- a parameter that is not the rung's has its first value.
local function joined(family, names, where)
  local params, by_name, legal, seen = {{"rung", names}}, {}, {}, {}
  for _, name in ipairs(names) do
    legal[name] = {}
    for _, param in ipairs(family.rung(name).params) do
      local list = by_name[param.name]
      if not list then
        list = {}
        by_name[param.name], seen[list] = list, {}
        params[#params + 1] = {param.name, list}
      end
      legal[name][param.name] = {}
      for _, v in ipairs(param.values) do
        legal[name][param.name][v] = true
        if not seen[list][v] then
          seen[list][v] = true
          list[#list + 1] = v
        end
      end
    end
  end
  local constraints = {}
  for i = 2, #params do
    local name = params[i][1]
    constraints[i - 1] = function(p)
      local set, v = legal[p.rung][name], p[name]
      return set and set[v] or not set and v == params[i][2][1]
    end
  end
  for _, w in ipairs(type(where) == "table" and where or {where}) do
    constraints[#constraints + 1] = w
  end
  return space.new(params, constraints)
end

-- The rungs of a family that the device may run at all on a shape, and the
-- reasons against the others. A rung that cuts its operands is not taken
-- unless it is named.
local function usable(family, s)
  local names, out = {}, {}
  for _, entry in ipairs(family.kernels()) do
    local rung = entry.rung
    local reason = rung.input_roundoff
      and "cuts its operands; name it to tune it"
    if not reason and #rung.params == 0 then
      reason = family.refusal(rung.name, {}, s)
    elseif not reason then
      local own, random = space.new(lists(rung)), space.random(1)
      reason = family.refusal(rung.name, rungs.parameters(rung, {}), s)
      for _ = 1, reason and 30 or 0 do
        local p = own:point(random(#own))
        reason = reason and family.refusal(rung.name, p, s)
      end
    end
    if reason then
      out[#out + 1] = {rung = rung.name, reason = reason}
    else
      names[#names + 1] = rung.name
    end
  end
  return names, out
end

-- An operand with rows that are longer in memory than they need to be.
local function longer(b)
  if not (arguments.is_buffer(b) and b.rows) then
    return b
  end
  local wide = cl.buffer(b.type, {b.rows, b.cols}, nil,
    {context = b.context, ld = b.cols + MARGIN})
  wide:write(b:read())
  return wide
end

--- evaluate.ladder(job, opts) -> source
--- The configurations of a rung, or of all rungs of a family, on operands:
--- job is that of target.ladder.
function M.ladder(job, opts)
  local family = job.family
  local _, s = family.bind(job.operands)
  local src = {name = job.rung and ("%s.%s"):format(family.name, job.rung)
    or family.name, title = family.spec.title(s), family = family, shape = s,
    context = s.context, out = {}, mode = opts.cache or bench.mode(family)}
  if job.rung then
    local rung = family.rung(job.rung)
    if #rung.params == 0 then
      cl.error(("tune: %s has no parameter to tune"):format(src.name),
        {hint = ("bench(\"%s\", ...) measures it"):format(src.name)})
    end
    src.space = space.new(lists(rung), opts.where)
    src.first = {rungs.parameters(rung, {})}
  else
    local names
    names, src.out = usable(family, s)
    if #names == 0 then
      cl.error(("tune: the device accepts no rung of %s on %s"):format(
        family.name, src.title), {hint = src.out[1].reason})
    end
    src.space, src.spaces, src.first = joined(family, names, opts.where), {},
      {}
    local choice = family.choice(job.operands)
    local function start(name, params)
      local p = {rung = name}
      for _, param in ipairs(src.space.params) do
        local v = params[param.name]
        p[param.name] = p[param.name] or v == nil and param.values[1] or v
      end
      src.first[#src.first + 1] = p
    end
    start(choice.rung, choice.params)
    for _, name in ipairs(names) do
      local rung = family.rung(name)
      src.spaces[name] = #rung.params > 0 and space.new(lists(rung)) or nil
      start(name, rungs.parameters(rung, {}))
    end
  end

  function src.split(p)
    local own, name = {}, job.rung or p.rung
    for _, param in ipairs(family.rung(name).params) do
      own[param.name] = p[param.name]
    end
    return own, not job.rung and name or nil
  end

  local function of(p)
    local own = src.split(p)
    return job.rung or p.rung, own
  end

  function src.refusal(p)
    local name, own = of(p)
    return family.refusal(name, own, s)
  end

  local sizes = family.spec.sizes and family.spec.sizes(s) or s
  local shape = {}
  for key, value in pairs(sizes) do
    shape[key] = type(value) ~= "table" and type(value) ~= "userdata"
      and value or nil
  end

  function src.setting(p)
    local name, own = of(p)
    local rung = family.rung(name)
    local seen = family.spec.adapt and family.spec.adapt(rung, s) or s
    local global, size = rung.range(seen, own)
    return setting(s.context, select(2, record.source(rung)),
      rungs.defines(rung, own, seen), rung.options
      and rung.options(own, seen), range_text(global), range_text(size), shape,
      s.type, src.mode, job.seed)
  end

  function src.measure(p, race)
    local name, own = of(p)
    local ok, usable_kernel, reason = pcall(family.check, name, own,
      job.operands)
    if not ok then
      return {status = "build", reason = reason_of(usable_kernel)}
    elseif not usable_kernel then
      return {status = "refused", reason = reason}
    end
    return ended(bench.job({family = family, rung = name, params = own,
      operands = job.operands, seed = job.seed, setting = src.setting(p)},
      bench_options(opts), race, "tune"))
  end

  function src.subject(p)
    local name, own = of(p)
    local plan = family.plan_for(name, own, job.operands)
    return plan and timer.new(plan.shape.context, {plan})
  end

  local shapes
  local function awkward_operands()
    shapes = {}
    for i, sizes_of in ipairs(AWKWARD) do
      local made, o = pcall(workload.ladder, "tune", family, sizes_of, s.type)
      if not made then -- operands of this family come from the user alone
        reason_of(o)
        return
      end
      shapes[i] = {}
      for key, value in pairs(o.operands) do
        shapes[i][key] = longer(value)
      end
    end
  end

  function src.awkward(p)
    local name, own = of(p)
    if not shapes then
      awkward_operands()
    end
    for _, operands in ipairs(shapes) do
      local ok, plan = pcall(family.plan_for, name, own, operands)
      if ok and plan then
        local good, result = pcall(family.verify, name, own, operands)
        local at = "at " .. family.spec.title(plan.shape)
        if not good then
          return ("%s: %s"):format(at, reason_of(result))
        elseif not result.ok then
          return ("%s, rows %d longer: err=%.1e, bound %.1e"):format(at,
            MARGIN, result.err, result.bound)
        end
      elseif not ok then
        reason_of(plan)
      end
    end
  end

  return src
end

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

--- evaluate.kernel(t) -> source
--- The configurations of a kernel of the user's: the table of tune.
function M.kernel(t)
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
  local src = {space = space.new(t.params, t.where), out = {},
    context = context, mode = t.cache or "hot"}
  src.name = t.name or from.path and from.path:match "([^/]*)%.%w*$"
    or source:match "kernel%s+void%s+([%w_]+)" or "kernel"
  local first = #src.space > 0 and start_of(src.space, t.start) or nil
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
    local defines = {}
    for name, v in pairs(t.defines and value(t.defines, p) or p) do
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
    if diff <= part * scale then
      return true
    end
    return false, ("differs by %.3g at element %d, %.3g allowed"):format(diff,
      at, part * scale)
  end

  local function check(p)
    if type(t.check) == "function" then
      local ok, message = t.check(p)
      return ok, message
    elseif reference then
      return compared()
    elseif output then
      local got = output:read()
      local sum = got:summary()
      if sum.nan > 0 then
        return false, ("%s in the result; a kernel that reads its output "
          .. "needs reset"):format(text.count(sum.nan, "NaN"))
      end
      reference = got
      note = "compared with the first configuration, as check is not given"
    else
      note = "not checked: neither check nor output is given"
    end
    return true
  end

  -- The launch of a point and its arguments, or nil, a status and a reason.
  local function launch_of(p)
    local ok, kernel = pcall(function()
      return program.kernel(program.get(context, from, defines_of(p),
        value(t.options, p)), t.entry)
    end)
    if not ok then
      return nil, "build", reason_of(kernel)
    end
    last.program = kernel.program
    local args = args_of(p)
    ready_reference(kernel, args)
    local _, size = range_of(p)
    local reason = device_limits.kernel(kernel, size, context.device)
      or device_limits.constants(kernel, args, context.device)
    if reason then
      return nil, "refused", reason
    end
    local made, launch = pcall(kernel.range, kernel, range_of(p))
    if not made then
      return nil, "refused", reason_of(launch)
    end
    return launch, args
  end

  local function call_of(launch, args)
    local n = args.n or #args
    return function()
      return launch(table.unpack(args, 1, n))
    end
  end

  function src.setting(p)
    local global, size = range_of(p)
    local words = {}
    for i, x in ipairs(args_of(p)) do
      words[i] = is_open(x) and x.type .. text.shape(x.shape)
        or math.type(x) and tostring(x) or text.class(x) or type(x)
    end
    return setting(context, source, defines_of(p), value(t.options, p),
      range_text(global), range_text(size), words, src.mode, t.entry)
  end

  function src.measure(p, race)
    local launch, args, reason = launch_of(p)
    if not launch then
      return {status = args, reason = reason}
    end
    local opts = bench_options(t)
    opts.name, opts.flop, opts.bytes = src.name, value(t.flop, p),
      value(t.bytes, p)
    opts.check = function()
      return check(p)
    end
    poison()
    local r = bench.job({call = call_of(launch, args), kernel = launch.kernel,
      size = launch.localsize, name = src.name, context = context,
      before = t.reset, describe = function(r)
        r.params, r.config, r.title = p, src.space:tostring(p), src.title
        r.source_hash, r.setting = cachefile.hash(source), src.setting(p)
        r.kernel = launch.kernel.name
      end}, opts, race, "tune")
    program.forget{last.program}
    return ended(r)
  end

  function src.subject(p)
    local launch, args = launch_of(p)
    if launch then
      local subject = timer.new(context, {call_of(launch, args)})
      subject.before = t.reset
      return subject
    end
  end

  function src.awkward() end

  return src
end

return M
