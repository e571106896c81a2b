-- judge/task.lua - task: what a kernel must do, as a table in a file of its
-- own, and the inputs of a run by its seed
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local families = require "clshell.ladder.families"
local file = require "clshell.base.file"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local LIMIT = 30           -- seconds for a build, and for a run
local MEMORY = 4 << 30     -- bytes that a process may allocate
local OUTPUT = 1 << 14     -- bytes that a submission may print
local PARTS = {"public", "hidden", "clean", "speed"}

local Task = {__name = "task"}
Task.__index = Task

-- The sizes of a field: numbers, or tables of numbers.
local function check_sizes(who, name, list)
  argument.check(who, name, list, "table", name .. " = {1, 16, 33}")
  for i, s in ipairs(list) do
    if math.type(s) ~= "integer" and type(s) ~= "table" then
      argument.refuse(who, name, "must be a list of whole numbers, or of "
        .. "tables of them such as {m, n, k}; element %d is %s", i,
        text.got(s))
    end
  end
end

-- The name of a kernel in a prototype such as "void mm(global float *C)".
local function prototype(who, words)
  argument.check(who, "kernel", words, "string",
    'kernel = "mm(global const float *A, global float *C, int n)"')
  local name, params = words:match "([%a_][%w_]*)%s*(%b())%s*;?%s*$"
  if not name then
    argument.refuse(who, "kernel", "must be a prototype such as \"mm(global "
      .. "const float *A, global float *C, int n)\"; got %q", words)
  end
  return name, ("kernel void %s%s {}"):format(name, params)
end

local function check_speed(who, t)
  local speed = t.speed
  if speed == nil then
    return
  end
  argument.check(who, "speed", speed, "table")
  options.check(speed, "task.speed", who .. ": speed")
  if (speed.against == nil) == (speed.roof == nil) then
    argument.refuse(who, "speed", "must have either `against` (a rung, a "
      .. "file or a function) or `roof` (a part of the roofline)")
  end
  if speed.roof and not (t.flop or t.bytes) then
    argument.refuse(who, "speed.roof", "needs flop or bytes, such as flop = "
      .. "function(n) return 2 * n^3 end")
  end
  if speed.at_least then
    argument.positive(who, "speed.at_least", speed.at_least)
  end
  if speed.at then
    check_sizes(who, "speed.at", speed.at)
  end
end

local function check_points(who, points)
  for name, value in pairs(points or {}) do
    if not text.set(table.concat(PARTS, " "))[name] then
      argument.refuse(who, "points", "has the parts %s; got '%s'",
        table.concat(PARTS, ", "), tostring(name))
    end
    if math.type(value) == nil or not (value >= 0 and value < math.huge) then
      argument.refuse(who, "points." .. name, "must be a number >= 0; got %s",
        text.got(value))
    end
  end
end

--- task(fields) -> task
--- What a kernel must do, for judge. A file holds one task. The whole of a
--- task file, and a verdict on a kernel for it:
---
---   task{
---     name = "mm",
---     text = "Multiply two n x n matrices, in row-major order.",
---     kernel = "mm(global const float *A, global const float *B, "
---       .. "global float *C, int n)",
---     inputs = function(n, rng)
---       return {A = rng{n, n}, B = rng{n, n}, C = {n, n}, n = n}
---     end,
---     expect = function(x) return gemm(x.A, x.B) end,
---     range = function(n) return {n, n} end,
---     sizes = {1, 16, 33}, hidden = {7, 64, 100},
---     speed = {against = "gemm.naive", at_least = 1, at = {256}},
---     points = {public = 40, hidden = 30, clean = 10, speed = 20},
---   }
---
---   clshell judge FILE student.cl
---
--- Each run has new inputs. `inputs` gets a size of the lists, and a generator
--- of the run's seed, and returns the arguments by the names of the prototype:
--- rng{n, n} is a Buffer of that shape with random numbers of the parameter's
--- type (reals from -1 to 1, integers from 0 to 99; rng(n, lo, hi) has
--- others); {n, n} or a number of elements is an output; an Array has content
--- of your own, such as rng("int", n):sort(); rng:integer(lo, hi) and
--- rng:number(lo, hi) are numbers; cl.localmem is local memory. Parameters
--- that are `const` must keep their content.
--- Options of the fields:
---   name     the file's  a string: the name of the task
---   text     -        a string: the exercise in words
---   kernel   needed   a string: the prototype
---   inputs   needed   a function of a size and rng, see above
---   expect   needed   the outputs: a function of the arguments by name that
---            returns a Buffer, an Array, an Expression, a list, a number, a
---            call such as gemm(x.A, x.B), or a table of these by the names of
---            the outputs; or "naive.cl", a kernel of the same prototype
---   tolerance  by type  a number: the largest difference at an element, as a
---            part of it
---   inout    -        outputs that the kernel reads as well: a name, or names
---   range    {size}   a list, or a function of a size: the global size, and
---            as a second result or in range.localsize the local size
---   localsize  driver's  a list: the local size
---   sizes    needed   a list: numbers, or tables such as {m, n, k}
---   hidden   -        further sizes, which the task does not show
---   check    by range  a size for the simulator; false: it is not asked
---   speed    -        a table: {against = "gemm.tiled", at_least = 0.8,
---            at = {512}} or {roof = 0.5}
---   flop, bytes  -    functions of a size: for the roofline
---   points   -        a table: points for `public` and `hidden` sizes, for
---            being `clean` on the simulator, for `speed`
---   forbid   -        a list: further words that a source may not have
---   allow    -        a list: words that it may have after all, as well as
---            "include" and "pragma"
---   options  -        a string: options for the compiler
---   limit    30       seconds for a build, and for a run
---   memory   4 GiB    bytes that a process may allocate, on CPU devices
---   output   16 KiB   bytes that a submission may print
---   skeleton  -       a string: the file that students begin with
---   hints    -        a list, or a table by verdict: {WRONG = "..."}
--- Options of speed:
---   against  -        a rung such as "gemm.tiled", a file such as "naive.cl",
---            or a function of the arguments by name that returns events
---   at_least  1       a number: so many times as fast as `against`
---   roof     -        a number: so much of the measured roofline, by `flop`
---            and `bytes`
---   operands  by name  a function of the arguments: the operands of the rung
---   params   defaults  a table: of the rung
---   at       the largest  a list: the sizes to time
---   seconds  10       of measuring at a size, at most
--- Example:
--- local t = task{name = "twice", kernel = "twice(global float *y)",
---   inputs = function(n) return {y = n} end, sizes = {1, 7},
---   expect = function() return 2 end}
--- print(t.kernel_name) --> twice
function M.new(fields)
  local who = "task"
  argument.check(who, "fields", fields, "table", "task{name = \"mm\", ...}")
  options.check(fields, "task.fields", who)
  local t = setmetatable(options.with({limit = LIMIT, memory = MEMORY,
    output = OUTPUT}, fields), Task)
  who = t.name and ("task %s"):format(t.name) or who
  t.kernel_name, t.stub = prototype(who, t.kernel)
  argument.check(who, "inputs", t.inputs, "function",
    "inputs = function(n, rng) return {A = rng{n, n}, n = n} end")
  if t.expect == nil then
    argument.refuse(who, "expect", "must tell the outputs; got nothing")
  end
  check_sizes(who, "sizes", t.sizes)
  if #t.sizes == 0 then
    argument.refuse(who, "sizes", "must have an element; got none")
  end
  check_sizes(who, "hidden", t.hidden or {})
  if t.range ~= nil and type(t.range) ~= "table" then
    argument.check(who, "range", t.range, "function",
      "range = function(n) return {n, n} end")
  end
  for _, name in ipairs{"limit", "memory", "output"} do
    argument.positive(who, name, t[name])
  end
  for _, name in ipairs{"forbid", "allow"} do
    argument.list(who, name, t[name] or {}, "string")
  end
  check_speed(who, t)
  check_points(who, t.points)
  return t
end

-- task.load(path) -> task
-- The task of a file. Raises where the file has none, or several.
function M.load(path)
  local f <close>, reason = file.open(path)
  local source = f and f:read "a" or cl.error("cannot open the task "
    .. reason)
  local made
  local env = setmetatable({task = function(fields)
    if made then
      cl.error(("%s: a file holds one task; here is a second"):format(path))
    end
    if type(fields) == "table" and fields.name == nil then
      fields.name = path:match "([^/]*)$":gsub("%.lua$", "")
    end
    made = M.new(fields)
    return made
  end}, {__index = _G, __newindex = _G})
  local chunk, message = load(source, "@" .. path, "t", env)
  local result = (chunk or cl.error("the task is no Lua: " .. message))()
  if not made and type(result) == "table" then
    made = env.task(result)
  end
  if not made then
    cl.error(("%s has no task"):format(path), {hint = "task{name = \"mm\", "
      .. "...}: see ?task"})
  end
  made.path, made.folder = path, program.folder(path)
  return made
end

-- task.title(size) -> string
-- A size as words, "33" or "33x7".
function M.title(size)
  return type(size) == "table" and table.concat(size, "x") or tostring(size)
end

-- task.size(title) -> size
-- The size of such words; nil for other text.
function M.size(title)
  local list = {}
  for word in (title .. "x"):gmatch "(.-)x" do
    list[#list + 1] = math.tointeger(tonumber(word)) or nil
    if #list == 0 then
      return nil
    end
  end
  return #list == 1 and list[1] or list
end

-- task:launch(kernel, size) -> Launch
-- The launch of a kernel for a size.
function Task:launch(kernel, size)
  local range, localsize = self.range, nil
  if type(range) == "function" then
    range, localsize = range(size)
  end
  range = range or size
  return kernel:range(range, localsize or self.localsize or type(range)
    == "table" and range.localsize or nil)
end

-- The random inputs of a run ------------------------------------------------

local Rng = {}
Rng.__index = Rng

-- A further seed.
local function next_seed(rng)
  rng.state = (rng.state * 6364136223846793005 + 1442695040888963407)
  return (rng.state >> 16) & 0x7fffffff
end

function Rng:integer(lo, hi)
  return lo + next_seed(self) % (hi - lo + 1)
end

function Rng:number(lo, hi)
  lo, hi = lo or 0, hi or 1
  return lo + (hi - lo) * next_seed(self) / 0x80000000
end

-- A request for random content, or, with a type, an Array.
function Rng:__call(type, shape, lo, hi)
  if _G.type(type) ~= "string" then
    return setmetatable({shape = type, seed = next_seed(self), lo = shape,
      hi = lo}, Rng)
  end
  return M.random(type, {shape = shape, seed = next_seed(self), lo = lo,
    hi = hi})
end

-- The Array of a request.
function M.random(type, asked)
  local a = cl.array(type, asked.shape)
  if asked.lo or asked.hi then
    return a:random(asked.seed, asked.lo or 0, asked.hi)
  end
  local real = type:find "^float" or type:find "^double"
    or type:find "^half"
  return a:random(asked.seed, real and -1 or nil, real and 1 or nil)
end

-- task.rng(seed) -> rng
-- The generator that `inputs` of a task gets.
function M.rng(seed)
  return setmetatable({state = seed}, Rng)
end

-- Whether a shape has no elements.
local function has_zero(shape)
  local zero = shape == 0
  for _, n in ipairs(type(shape) == "table" and shape or {}) do
    zero = zero or n == 0
  end
  return zero
end

-- task:values(size, seed, params) -> list
-- The arguments of a run, in the order of the parameters: numbers, local
-- memory, Arrays; an output without content is {empty = Array}, and a Buffer
-- without elements {empty = Array, none = true}.
function Task:values(size, seed, params)
  local given = self.inputs(size, M.rng(seed))
  local who = ("task %s: inputs(%s)"):format(self.name, M.title(size))
  argument.check(who, "the result", given, "table")
  local list, known = {n = #params}, {}
  for i, param in ipairs(params) do
    local value, kind = given[param.name], param.type:match "^(.-)%s*%*"
    known[param.name] = true
    if value == nil then
      argument.refuse(who, param.name, "is missing in the table that it "
        .. "returns")
    elseif kind and param.space ~= "local" and text.class(value) ~= "Array"
        then
      if getmetatable(value) == Rng and has_zero(value.shape) then
        value = {empty = cl.array(kind, 1), none = true}
      elseif getmetatable(value) == Rng then
        value = M.random(kind, value)
      elseif math.type(value) == "integer" or type(value) == "table" then
        local none = has_zero(value)
        value = {empty = cl.array(kind, none and 1 or value), none = none}
      else
        argument.refuse(who, param.name, "must be rng(shape), a shape or an "
          .. "Array; got %s", text.got(value))
      end
    end
    list[i] = value
  end
  for name in pairs(given) do
    if not known[name] then
      argument.refuse(who, name, "is no parameter of %s", self.kernel)
    end
  end
  return list
end

-- task:file(name) -> path
-- A file beside the task's.
function Task:file(name)
  local path = name:find "^/" and name or self.folder .. name
  local f <close> = io.open(path, "rb")
  return f and path or name
end

-- The sizes to time: a list of its own.
function Task:timed_sizes()
  local list = self.speed.at
  if not list then
    local largest, most = nil, -1
    for _, size in ipairs(self.sizes) do
      local n = type(size) == "number" and size or 1
      for _, m in ipairs(type(size) == "table" and size or {}) do
        n = n * m
      end
      if n > most then
        largest, most = size, n
      end
    end
    list = {largest}
  end
  return {table.unpack(list)}
end

-- The text of the file that students begin with.
function Task:skeleton_text()
  local content = self.skeleton and file.read(self:file(self.skeleton))
  return content and "\n" .. content or ""
end

-- The rung that `against` names: family and name; nil for others.
function Task:rung()
  local against = self.speed and self.speed.against
  local first, name = tostring(against):match "^([%a_][%w_]*)%.([%a_][%w_]*)$"
  local family = name ~= "cl" and families.get(first)
  return family or nil, name
end

function Task:__tostring()
  local lines = {("task %s: %s"):format(self.name, self.text or "")}
  lines[#lines + 1] = "  kernel void " .. self.kernel
  lines[#lines + 1] = ("  sizes %s%s"):format(text.values(self.sizes, ", ",
    M.title), #(self.hidden or {}) > 0 and ", and others" or "")
  local speed = self.speed
  lines[#lines + 1] = speed and (speed.roof
    and ("  speed: %g of the measured roofline"):format(speed.roof)
    or ("  speed: %g times as fast as %s"):format(speed.at_least or 1,
      type(speed.against) == "string" and speed.against or "the reference"))
  local words = {}
  for _, part in ipairs(PARTS) do
    local n = (self.points or {})[part]
    words[#words + 1] = n and ("%s %g"):format(part, n)
  end
  lines[#lines + 1] = words[1] and "  points: " .. table.concat(words, ", ")
  return table.concat(lines, "\n")
end

M.PARTS = PARTS

return require "clshell.base.lazy".callable(M, "new")
