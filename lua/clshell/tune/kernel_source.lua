-- tune/kernel_source.lua - the configurations of a kernel of the user's as a
-- source; see evaluation.lua
-- SPDX-License-Identifier: MIT

local arguments = require "clshell.ladder.operands"
local cl = require "cl"
local evaluation = require "clshell.tune.evaluation"
local expect = require "clshell.measure.expect"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local rungs = require "clshell.ladder.rung"
local space = require "clshell.tune.space"
local progress = require "clshell.base.progress"
local text = require "clshell.base.text"
local verify = require "clshell.ladder.verify"

local M = {}
local Kernel = setmetatable({}, evaluation.Source)
Kernel.__index = Kernel

local MODULE = ...

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

-- The arguments of program.get for a kernel, which is a file's path or a text;
-- and the text.
local function source_of(kernel)
  if kernel:find "\n" or kernel:find "[{;]"
      and not kernel:find "%.c[lu]$" then
    return {source = kernel, name = "(source)"}, kernel
  end
  local path = program.locate(kernel, {"", program.script_folder(),
    cl.home .. "/kernels/"}, "tune")
  return {path = path}, assert(file.read(path))
end

-- The value of an option that may be a function of the point.
local function value(x, p)
  if type(x) == "function" then
    return x(p)
  end
  return x
end

-- A point that notes the names that a function reads in it.
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

local function is_open(x)
  return arguments.is_buffer(x) and not x.closed
end

-- Raises where two parameters would have the same macro.
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
-- values; the first point where that is no point.
local function start_of(points, start)
  local p = {}
  for _, param in ipairs(points.params) do
    p[param.name] = param.values[1]
  end
  p = options.with(p, start)
  if start and not points:number(p) then
    cl.error("tune: start is no point: " .. points:why(p))
  end
  return points:number(p) and p or points:point(1)
end

-- Raises unless the options that every kernel needs are right.
local function check_options(t)
  if t.check ~= nil and t.expect ~= nil then
    cl.error "tune: takes check or expect, not both"
  elseif type(t.kernel) ~= "string" then
    cl.error(("tune: kernel must be the path of a .cl file or its text; got "
      .. "%s"):format(t.kernel == nil and "nothing" or type(t.kernel)))
  elseif t.range == nil then
    cl.error("tune: range is missing",
      {hint = "range = function(p) return {n, m}, {p.bx, p.by} end"})
  elseif t.args ~= nil and type(t.args) ~= "table"
      and type(t.args) ~= "function" then
    cl.error(("tune: args must be a list or a function of the parameters; got "
      .. "a %s"):format(type(t.args)))
  elseif t.output ~= nil and not is_open(t.output) then
    cl.error("tune: output must be an open Buffer")
  end
end

-- The arguments of a configuration.
local function args_of(t, p)
  local args = value(t.args, p) or {}
  if type(args) ~= "table" then
    cl.error(("tune: args(p) must return a list; got a %s"):format(
      type(args)))
  end
  return args
end

-- The global and the local size of a configuration.
local function range_of(t, p)
  local global, size = t.range, nil
  if type(global) == "function" then
    global, size = global(p)
  end
  return global, math.type(size) and {size} or size
end

-- The macros of a configuration.
local function defines_of(t, p)
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

-- The shapes of the Buffers among the arguments: "64x64, 64".
local function title_of(t, first)
  local words = {}
  for _, x in ipairs(args_of(t, first)) do
    words[#words + 1] = is_open(x) and text.shape(x.shape) or nil
  end
  return table.concat(words, ", ")
end

-- The parameters that neither the source nor the functions read.
local function unused_of(t, params, first, source)
  local unused, read = {}, {}
  if t.defines or t.options or source:find("#%s*include") then
    return unused
  end
  range_of(t, noting(first, read))
  args_of(t, noting(first, read))
  for _, param in ipairs(params) do
    if not read[param.name] and not source:find("%f[%w_]"
        .. param.name:upper() .. "%f[^%w_]") then
      unused[#unused + 1] = param.name
    end
  end
  return unused
end

-- The rung that rung.refusal takes for a configuration.
local function as_rung(name, t)
  return {name = name,
    range = function(_, p)
      return range_of(t, p)
    end,
    local_bytes = t.local_bytes and function(_, p)
      return value(t.local_bytes, p)
    end}
end

-- Options of the search, which a source made again ignores.
local OF_SEARCH = {"params", "where", "start", "strategy"}

--- kernel_source.source(t [, remote]) -> source
--- The configurations of a kernel of the user's: the table of tune. `remote`:
--- in another process, where the source has no space.
function M.source(t, remote)
  check_options(t)
  local from, source = source_of(t.kernel)
  local self = setmetatable({options = t, from = from,
    context = t.context or cl.context(), mode = t.cache or "hot", out = {},
    module = MODULE, output = t.output, unused = {}, first = {},
    name = t.name or from.path and from.path:match "([^/]*)%.%w*$"
      or source:match "kernel%s+void%s+([%w_]+)" or "kernel"}, Kernel)
  local first
  if not remote then
    self.space = space.new(t.params, t.where)
    if not t.defines then
      check_macros(self.space.params)
    end
    first = #self.space > 0 and start_of(self.space, t.start) or nil
  end
  self.rung = as_rung(self.name, t)
  if first then
    self.first[1], self.title = first, t.title or title_of(t, first)
    self.unused = unused_of(t, self.space.params, first, source)
  end
  self.source_hash = select(2, program.source(from, first
    and {options = value(t.options, first)}))
  self.fixed = evaluation.identity(t.check, t.tolerance, t.reset, t.output,
    "by element", t.expect, t.inout)
  return self
end

function Kernel:note()
  local unused = self.unused
  if #unused > 0 then
    return ("nothing uses %s: the source has no %s"):format(
      table.concat(unused, ", "), unused[1]:upper())
  end
  return self.remark
end

function Kernel:split(p) -- luacheck: ignore 212
  return p
end

function Kernel:refusal(p)
  return rungs.refusal({}, self.rung, p, {}, self.context.device)
end

-- The output of a kernel that names none: its only Buffer that is not const;
-- nil where there are several.
local function find_output(kernel, args)
  local found
  for i, param in ipairs(kernel.args) do
    if param.space == "global" and not param.const and is_open(args[i]) then
      if found then
        return nil
      end
      found = args[i]
    end
  end
  return found
end

-- Finds the output and the reference at the first configuration that builds.
local function ready_reference(self, kernel, args)
  local check = self.options.check
  self.output = self.output or find_output(kernel, args)
  if check ~= nil and type(check) ~= "function" and not self.reference then
    self.reference = reference_array(check, self.output)
  end
end

-- Fills the output with values that no result has, and calls reset.
function Kernel:poison()
  local output, reset = self.output, self.options.reset
  if output then
    verify.poison(output)
  end
  if reset then
    reset()
  end
end

-- Compares the output with the reference: ok, message, err.
local function compared(self)
  local got <close> = self.output:read()
  self.usual = self.usual or expect.usual(self.reference)
  local v = expect.compare(got, self.reference, self.options.tolerance,
    self.usual, "the output")
  return v.ok, v.message, v.err
end

-- Makes the first result the reference: ok, message.
local function learn(self)
  local got = self.output:read()
  local sum = got:summary()
  if sum.nan > 0 then
    return false, ("%s in the result; a kernel that reads its output "
      .. "needs reset"):format(text.count(sum.nan, "NaN"))
  end
  self.reference, self.learned = got, got
  self.remark = "compared with the first configuration, as check is not given"
  return true
end

-- Checks the result of a configuration that has run: ok, message, err.
local function check(self, p)
  local given = self.options.check
  self.reference = self.reference or self.learned
  if type(given) == "function" then
    return given(p)
  elseif self.reference then
    return compared(self)
  elseif self.output then
    return learn(self)
  end
  self.remark = "not checked: neither check nor output is given"
  return true
end

function Kernel:described(p)
  local global, size = range_of(self.options, p)
  return {from = self.from, defines = defines_of(self.options, p),
    options = value(self.options.options, p)}, global, size, self.source_hash
end

function Kernel:identity(p)
  local t, args = self.options, args_of(self.options, p)
  return evaluation.identity(table.unpack(args, 1, args.n or #args)),
    self.mode, t.entry, self.fixed, value(t.flop, p), value(t.bytes, p)
end

-- The name of the kernel in a built program. No configuration can run where
-- the table does not say which of several.
local function entry_of(t, built)
  local names = built:kernels()
  local known = {}
  for _, name in ipairs(names) do
    known[name] = true
  end
  if t.entry and not known[t.entry] then
    cl.error("tune: " .. text.unknown("kernel", t.entry, names))
  elseif not t.entry and #names ~= 1 then
    cl.error(("tune: the file has %d kernels: %s; say which with 'entry'")
      :format(#names, table.concat(names, ", ")),
      {hint = names[1] and ("entry = \"%s\""):format(names[1])})
  end
  return t.entry or names[1]
end

-- Builds a configuration. Returns its run, or nil and the answer of the source
-- where there is no launch.
function Kernel:prepared(p)
  local t, context = self.options, self.context
  progress.phase "built"
  local ok, built = pcall(program.get, context, self.from, defines_of(t, p),
    value(t.options, p))
  if not ok then
    return nil, evaluation.unbuilt(built)
  end
  local kernel = program.kernel(built, entry_of(t, built))
  local args = args_of(t, p)
  ready_reference(self, kernel, args)
  local _, size = range_of(t, p)
  local reason = rungs.kernel_refusal({}, kernel, size, context.device)
    or rungs.constants_refusal(kernel, args, context.device)
  if reason then
    return nil, {status = "refused", reason = reason}
  end
  local made, launch = pcall(kernel.range, kernel, range_of(t, p))
  for _, n in ipairs(made and launch.global or {}) do
    if n == 0 then
      return nil, {status = "refused",
        reason = "range: global must be at least 1; got 0"}
    end
  end
  if not made then -- the library calls it "?", as pcall called it
    return nil, {status = "refused", reason = evaluation.reason(launch)
      :gsub("^%?: bad argument #%d: ", "range: ")}
  end
  local n = args.n or #args
  return {kernel = launch.kernel, size = launch.localsize,
    launch = launch, args = args,
    programs = {kernel.program}, local_bytes = value(t.local_bytes, p),
    call = function()
      return launch(table.unpack(args, 1, n))
    end}
end

function Kernel:describe(r, p)
  if self.space then
    r.params, r.config, r.title = p, self.space:tostring(p), self.title
    evaluation.Source.describe(self, r, p)
  end
end

-- The results that the option expect gives for a launch; those of the launch
-- before where the arguments are the same.
function Kernel:expectation(run)
  local t, kept, args = self.options, self.kept, run.args
  local same = kept and #kept.args == #args
  for i = 1, same and #args or 0 do
    same = same and rawequal(kept.args[i], args[i])
  end
  if t.expect ~= nil and not same then
    self.kept = {args = table.move(args, 1, #args, 1, {}),
      expected = expect.new("tune", run.launch, args, t)}
  end
  return self.kept and self.kept.expected
end

function Kernel:measure(p, best)
  local run, answer = self:prepared(p)
  if not run then
    return answer
  end
  local t = self.options
  local result -- the record, to which the check adds its error
  local opts = evaluation.options(t)
  opts.name, opts.flop, opts.bytes = self.name, value(t.flop, p),
    value(t.bytes, p)
  local expected = self:expectation(run)
  opts.check = not expected and function()
    local ok, message, err = check(self, p)
    result.err = tonumber(err)
    return ok, message
  end or nil
  self:poison()
  local found = evaluation.bench({call = run.call, kernel = run.kernel,
    size = run.size, name = self.name, context = self.context,
    before = t.reset, expected = expected, describe = function(r)
      result, r.kernel = r, run.kernel.name
      self:describe(r, p)
    end}, opts, best)
  program.forget(run.programs)
  return found
end

function Kernel:again()
  local own = {kernel = self.from.path or self.options.kernel,
    context = self.context}
  for name, v in pairs(self.options) do
    own[name] = own[name] or v
  end
  for _, name in ipairs(OF_SEARCH) do
    own[name] = nil
  end
  own.objective = type(own.objective) == "string" and own.objective or nil
  return own, true
end

return M
