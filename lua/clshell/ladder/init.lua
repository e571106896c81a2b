-- ladder/init.lua - the engine of a ladder: rungs, their definition, the
-- checks before a launch and the launch itself, for any kernel family
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local declaration = require "clshell.ladder.declaration"
local families = require "clshell.ladder.families"
local options = require "clshell.base.options"
local operands = require "clshell.ladder.operands"
local plan = require "clshell.ladder.plan"
local program = require "clshell.ladder.program"
local rungs = require "clshell.ladder.rung"
local text = require "clshell.base.text"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)
local methods = {} -- of a family; each takes the family first

--- family.rung(name) -> rung
--- The rung called `name`: the table of its definition, parameters checked and
--- defaults filled in. An unknown name raises, with the nearest name.
--- Example:
--- local rung = gemm.rung "tiled"
--- print(rung.name, rung.params[1].name) --> tiled tile
function methods.rung(family, name, who)
  return rungs.find(family, name, who or family.name)
end

local listing = {
  __tostring = function(list)
    return require "clshell.base.text_table".format(list, {
      {key = "name", title = "kernel"},
      {key = "parameters", title = "parameters"},
      {key = "lesson", below = true},
    })
  end,
}

--- family.kernels() -> list
--- The ladder, as a list of {name, parameters, lesson, rung} that prints as a
--- table. Parameters are shown with their defaults; help "gemm.tiled" shows
--- their legal values as well.
--- Example: print(gemm.kernels()[1].name) --> naive_global
function methods.kernels(family)
  local list = {}
  for i, rung in ipairs(family.list) do
    local p = rungs.parameters(rung, {}, family.name)
    list[i] = {name = rung.name, parameters = rungs.tostring(rung, p),
      lesson = rung.lesson, rung = rung}
  end
  return setmetatable(list, listing)
end

-- Drops the plans of earlier calls: the ladder or its rows changed.
local function forget_plans(family)
  family.kept_plans = plan.none_kept(family.kept_plans)
end

methods.forget_plans = forget_plans

-- Adds a rung; only a rung of the user may be defined again.
local function add(family, rung)
  forget_plans(family)
  for i, old in ipairs(family.list) do
    if old.name == rung.name then
      if old.builtin then
        cl.error(("%s.define: '%s' is a rung of the ladder; take another name")
          :format(family.name, rung.name))
      end
      family.list[i] = rung
      return
    end
  end
  table.insert(family.list, rung)
end

--- family.define(rung) -> rung
--- Makes a kernel of your own a rung, checked, measured and documented like
--- the others. Here s is the shape, p the parameters, o the operands. s has m,
--- n, k, lda, ldb, ldc (gemm), rows, cols, lda, ldb (transpose), rows, cols,
--- nnz, ndiags, pitch, format (spmv) or the sizes that the family declares,
--- and the element type as `type`, which the source sees as REAL. The
--- arguments of the kernel are shown below, in help "gemm.define" and the
--- like; `args` lists others.
--- Options:
---   name     needed  how it is called
---   file     -       a .cl, beside the script or in the working folder
---   source   -       its text, instead of file
---   range    needed  range(s, p) -> global, local: numbers or lists
---   lesson   none    its lesson, in a line
---   params   none    a list such as {{name = "tile", values = {8, 16},
---            default = 16, help = "side of a tile"}}; a call that leaves one
---            out gets its default, or the nearest value that the device's
---            limits and `accepts` allow; a call that gives none has the
---            parameters of the rung's row in family.choices, if there is one
---   defines  every parameter in upper case  defines(p, s) -> table
---   options  none    options(p, s) -> string, for the compiler
---   kernel   the only one  its name, where the file has several
---   format   any     of a sparse matrix: "dia", "packed", "csr", "packed_csr"
---   local_bytes  -   local_bytes(s, p) -> bytes of a work-group
---   accepts  all     accepts(dev, s, p) -> nil, or the reason against
---   args     the family's  args(s, p, o) -> list of arguments
---   plain    false   true: a kernel such as mm(A, B, C, n), which takes
---            operands without gaps and no options (alpha is 1, beta 0);
---            other calls are refused, and check tries no others. Without
---            `args` the names of its parameters tell operands and sizes, and
---            a single size stands for all
---   prepare  -       prepare(s, p, o, run): helpers before
---   pack     -       of gemm: pack(s, p, side, X, run) -> table: helpers that
---            pack operand "a" or "b"; calls hand the table to `prepare`, as
---            s.ready.a or s.ready.b. A second result check() may give a
---            reason against the packed operand. See gemm.pack
---   finish   -       finish(s, p, o, run, original): helpers after
---   flop     the family's  flop(s) -> floating-point operations
---   bytes    the family's  bytes(s, p) -> bytes that have to move
---   input_roundoff  none  relative error to which it cuts its operands
---   guarded  false   true: hands operands it does not cover to another kernel
---   places   -       of gemm: "batch" if the kernel takes sub-matrices and
---                    batches, "all" if its range covers s.batch products,
---                    "one" if it takes sub-matrices
---   trans    -       of gemm: {a =, b =}, true for an operand that the kernel
---                    wants transposed, "any" if it takes both
---   ptx      false   true: comments of the file mark PTX instructions;
---            parameter types are unknown then: args gives cl.int(x) etc.
---   half     false   true: takes halves without arithmetic of them, with
---            sums in float, so on devices without cl_khr_fp16 too
---   types    as OpenCL has them  the element types that it takes, such as
---            {"float", "char"}; of gemm: bfloat16 and float8 by the macros of
---            kernels/gemm/stored.cl, char with a C, alpha and beta of int,
---            which the source sees as RESULT
---   unit     by its built code  what it computes with, for its roof: "fma",
---            "tensor_char", "tensor_half", "tensor_tf32", "tensor_double", or
---            "tensor" for instructions of other types, which have no roof
---   products  1      products that the unit does for each product of `flop`;
---            or function(s, p) -> number
---   wide     false   true: of gemm: takes a C of float for halves as well,
---            s.out is its type
---   traffic  -       traffic(s, p, defines), what lesson reads: traffic.of
--- Example:
--- gemm.define{
---   name = "plain", lesson = "one work-item for each element of C",
---   source = [[
--- kernel void plain(int M, int N, int K, REAL alpha,
---                   global const REAL *A, int lda,
---                   global const REAL *B, int ldb, REAL beta,
---                   global REAL *C, int ldc) {
---   int j = get_global_id(0), i = get_global_id(1);
---   if (i >= M || j >= N) return;
---   REAL sum = 0;
---   for (int k = 0; k < K; k++) sum += A[i * lda + k] * B[k * ldb + j];
---   C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
--- }]],
---   params = {{name = "size", values = {8, 4}, help = "of a group"}},
---   range = function(s, p)
---     local function up(n) return (n + p.size - 1) // p.size * p.size end
---     return {up(s.n), up(s.m)}, {p.size, p.size}
---   end,
--- }
--- local result = gemm.verify("plain", {size = 4},
---   {A = matrix.random(33, 20), B = matrix.random(20, 17)})
--- print(result.ok) --> true
function methods.define(family, def)
  local rung = rungs.new(family.name, def, family.reserved)
  if rung.file then
    local folder, own = program.script_folder(def.range)
    rung.path = program.locate(rung.file, {folder, own, "", family.folder},
      ("%s.define: %s"):format(family.name, rung.name))
  end
  add(family, rung)
  return rung
end

-- The operands of a call by name: inputs, then a table of options.
local function gather(family, ...)
  local spec = family.spec
  local n = #spec.inputs
  local opts = select(n + 1, ...)
  if opts == nil then
    opts = {}
  else
    opts = argument.check(family.name, "options", options.given(opts), "table")
  end
  if select("#", ...) > n + 1 then
    cl.error(("%s: takes %s and a table of options"):format(family.name,
      table.concat(spec.inputs, ", ")))
  end
  if opts.queue ~= nil then
    argument.check(family.name, "queue", opts.queue, "Queue")
  end
  local o = {}
  for i, name in ipairs(spec.inputs) do
    o[name] = select(i, ...)
  end
  for _, name in ipairs(spec.extras) do
    o[name] = opts[name]
  end
  return o, opts
end

-- The options of a call of a rung from tables of parameters and operands.
local function named(name, params, given)
  return options.with(params, {kernel = name, queue = given.queue})
end

--- family.plan(operands ... [, opts]) -> plan
--- A call with these arguments, everything checked, built and allocated, but
--- not yet run: `plan()` enqueues it and returns the event, as often as
--- wanted; as a statement it makes no event. It is the fast way to run a call
--- many times: from the third run on, several commands go out as one
--- recording, with one Event from the START of the first to the END of the
--- last; plan:run() always gives the times of each command. Fields: output
--- (the result's Buffer), rung, params, shape, operands, choice (see
--- gemm.choice; nil for a named kernel).
--- Options:
---   kernel  the best known  a rung's name; with it the rung's own parameters
---   queue, after  -  and whatever else the call itself takes
--- Example:
--- local A, B = matrix.random(64), matrix.random(64)
--- local plan = gemm.plan(A, B, {kernel = "tiled"})
--- plan():wait() -- runs it; as often as wanted
--- print(plan.output.rows, plan.rung.name) --> 64 tiled
function methods.plan(family, ...)
  return plan.new(family, gather(family, ...))
end

-- The function that calls a family for an operand in parts on several devices.
local function in_parts(x)
  local meta = debug.getmetatable(x)
  return type(meta) == "table" and rawget(meta, "__family")
end

local function call(family, ...)
  local a, b = ...
  local over = type(a) == "table" and in_parts(a)
    or type(b) == "table" and in_parts(b)
  if over then
    return over(family, ...)
  end
  return plan.run(family, gather, ...)
end

-- The shape of operands such as {A = A, B = B}, or a shape given by hand.
local function shape_of(family, target, who)
  if math.type(target) ~= nil then
    target = {target}
  end
  argument.check(who, "operands or sizes", target, "table",
    workload.example(family))
  if target[1] ~= nil then
    local dims = family.spec.dims
    target = dims and workload.shape(target, dims, who)
      or workload.operands(family, target, nil, who)
  end
  if target[family.spec.inputs[1]] ~= nil then
    return (select(2, plan.bind(family, target)))
  end
  local s = family.spec.shape(target)
  s.context = cl.context()
  return s
end

--- family.choice(target) -> choice
--- The rung of a call that names no kernel, for operands such as
--- {A = A, B = B} or a shape such as {m =, n =, k =, type =} or {512, 512,
--- 512}: {rung, params, row, number, kept, passed}, which prints as text.
--- `row` is the row of family.choices that decides, or of family.kept where
--- `kept` is true; `passed` lists the rungs before it with the reasons against
--- them.
--- Example:
--- local choice = gemm.choice{m = 512, n = 512, k = 512, type = "float"}
--- print(choice.rung, choice)
function methods.choice(family, target)
  local s = shape_of(family, target, family.name .. ".choice")
  local name = type(target) == "table"
    and operands.packed_for(family, target, {})
  if name then
    cl.error(("%s.choice: an operand is packed for %s, which a call runs")
      :format(family.name, name))
  end
  return plan.configure(family, s)
end

--- family.choices([rows]) -> rows
--- The table by which calls that name no kernel are served: the first row
--- that fits the device and the shape and whose rung accepts them. `rows`
--- replaces the table, such as {{class = "cpu", rung = "simd", params =
--- {mr = 6}}, {rung = "naive"}}; "default" brings back clshell's own rows.
--- Fields of a row: rung, params, and as conditions class (of the device),
--- device (its name), type (of the elements) and where (the shape, such as
--- {m = {min = 64, max = 512}}); meanwhile = {rung =, params =} serves the
--- first call of a process, while the programs of `rung` build, if the driver
--- has no builds of an earlier process.
--- Example: print(#gemm.choices() > 1) --> true
function methods.choices(family, rows)
  if rows ~= nil then
    forget_plans(family)
  end
  return require "clshell.ladder.choice".rows(family, rows)
end

--- family.kept() -> rows
--- The rows that family.keep and tune have kept, on all devices, as a list
--- that prints as a table.
--- Example: print(#spmv.kept()) --> 0
function methods.kept(family)
  return require "clshell.ladder.user_choices".list(family)
end

--- family.forget([target]) -> number
--- Forgets the kept rows that serve a call with these operands, such as
--- {A = A, B = B}, or of this shape; without a target all kept rows of the
--- family. Returns the number of rows forgotten.
--- Example: print(spmv.forget()) --> 0
function methods.forget(family, target)
  local user_choices = require "clshell.ladder.user_choices"
  forget_plans(family)
  if target == nil then
    return user_choices.forget(user_choices.list(family))
  end
  local s = shape_of(family, target, family.name .. ".forget")
  return user_choices.forget(user_choices.near(family, s, s.context.device))
end

--- family.check(name, params, target) -> true or nil, reason
--- Whether the device can run a rung with these parameters (nil: defaults),
--- for operands such as {A = A, B = B} or a shape such as {m =, n =, k =,
--- type =} or {512, 512, 512}. The reason has the numbers. Names and values
--- that are wrong raise.
--- Example:
--- local ok, why = gemm.check("tiled_constant", nil,
---   {m = 4096, n = 4096, k = 4096, type = "float"})
--- print(ok, why)
function methods.check(family, name, params, target)
  local who = family.name .. ".check"
  local rung = rungs.find(family, name, who)
  params, target = workload.behind_name(family, who, params, target)
  cl.options(params, rungs.names(rung), family.name .. ", kernel " .. name)
  local s = shape_of(family, target, who)
  local p = plan.parameters(family, rung, params or {}, s)
  local kernel, reason
  if type(target) == "table" then
    local _, fixed, conflict = operands.packed_for(family, target,
      options.with(params, {kernel = name}))
    p, reason = fixed or p, conflict
  end
  if not reason then
    kernel, reason = plan.kernel(family, rung, p, s)
  end
  if kernel then
    return true
  end
  return nil, reason
end

-- The reason of plan.refusal for a rung by name.
function methods.refusal(family, name, p, s)
  return plan.refusal(family, methods.rung(family, name), p, s)
end

--- family.verify(name, params, operands) -> result
--- Runs a rung once on operands such as {A = A, B = B}, or random ones of a
--- size such as 512 or {512, 512, 512}, and compares with the float64
--- reference. `params` may be left out. The output is filled with NaN first.
--- The result: {ok, err, bound, mode, row, col, event}; err and bound are
--- fractions of the sum of absolute values, such as |A||B|.
--- Example:
--- local r = gemm.verify("tiled", {tile = 8},
---   {A = matrix.random(33), B = matrix.random(33)})
--- print(r.ok, r.err <= r.bound) --> true true
function methods.verify(family, name, params, target)
  local who = family.name .. ".verify"
  rungs.find(family, name, who)
  params, target = workload.behind_name(family, who, params, target)
  target = workload.operands(family, target, nil, who, name)
  local made = plan.new(family, target, named(name, params, target))
  return require "clshell.ladder.verify".run(made, made.output,
    methods.truth(family, made))
end

-- A plan from tables of parameters and of operands, or nil and the reason
-- why the device cannot run it.
function methods.plan_for(family, name, params, given)
  argument.check(family.name .. ".plan_for", "the operands", given, "table")
  return plan.try(family, given, named(name, params, given))
end

-- The host routine of that name, or nil.
function methods.host(family, name)
  for _, host in ipairs(family.spec.hosts) do
    if host.name == name then
      return host
    end
  end
end

-- Operands as a call would bind them, and their shape.
function methods.bind(family, given)
  argument.check(family.name .. ".bind", "the operands", given, "table")
  return plan.bind(family, given, given.queue)
end

-- Raises unless s is a complete shape, such as the shape of a plan.
local function check_shape(family, what, s)
  if type(s) ~= "table" or not s.esize then
    cl.error(("%s.%s: the shape must come from a plan; got %s"):format(
      family.name, what, text.got(s)), {hint = ("%s.plan(%s).shape is one")
      :format(family.name, table.concat(family.spec.inputs, ", "))})
  end
end

-- Useful floating-point operations and bytes of a rung (nil: of the family)
-- on a shape.
function methods.flop(family, rung, s)
  check_shape(family, "flop", s)
  return (rung and rung.flop or family.spec.flop)(s)
end

function methods.bytes(family, rung, s, p)
  check_shape(family, "bytes", s)
  return (rung and rung.bytes or family.spec.bytes)(s, p)
end

-- The truth function of a plan's operands, and the output's content before
-- the run where the operation reads it.
function methods.truth(family, made)
  argument.check(family.name .. ".truth", "the plan", made, "table")
  check_shape(family, "truth", made.shape)
  return family.spec.truth(made.operands, made.shape,
    made.rung.input_roundoff, made.rung.half)
end

--- family.new(declaration) -> family
--- Makes a kernel family of your own, a problem with a ladder of kernels,
--- which then has everything that gemm has: calls with and without the name of
--- a kernel, define, plan, verify, bench, keep, and its name in bench,
--- compare, tune, check, help and Tab. Operands are lists of a name and its
--- sizes by name: with {{"A", "rows", "cols"}, {"x", "cols"}} for the
--- arguments and {"y", "rows"} for the output, calls are checked, copied to
--- the device and given a new y, and bench makes operands of a shape {512,
--- 256}. The kernel gets the sizes as int, then the operands, a matrix with
--- its leading dimension behind it, the output last: rows, cols, A, lda, x, y;
--- then the options that are numbers. The functions below see the shape s,
--- with the sizes, lda, options, type and esize (bytes of an element). A call
--- without the name of a kernel takes the last rung that accepts it, or the
--- row of family.choices. A vector may be any Buffer without gaps.
--- Options:
---   name       needed  how it is called; letters and digits
---   arguments  needed  the operands of a call in order, such as
---              {{"A", "rows", "cols"}, {"x", "cols"}}
---   output     needed  the result likewise; a size, also of an argument, may
---              be a number, or function(s) -> number of options and sizes
---   rungs      needed  the ladder, from plain to fast: a list of
---              definitions for family.define; files lie beside the script
---   reference  needed  reference(h, s) -> result [, scale]: the right result
---              in double as a number, list or Array, from the operands as
---              Arrays h.A; errors count as fractions of `scale`, by default
---              the largest absolute value of the result; integers are exact
---   updates    no      updates(s) -> whether the result depends on what the
---              output held, as with beta y; the reference has it as h.y
---   terms      1       terms(s) -> the roundings that an element of the
---              result may have: of a dot product its length. See verify.bound
---   flop       0       flop(s) -> useful floating-point operations
---   bytes      each operand once  bytes(s, p) -> bytes that have to move
---   help       none    what a call computes, in sentences
---   options    none    a list such as {{name = "op", values = {"sum", "max"},
---              help = "..."}, {name = "alpha", default = 1}}; words are for
---              `defines`, numbers go to the kernel, `try = {2, 3}` are values
---              for check; {name = "index", sizes = {"n"}, type = "uint"} is a
---              Buffer for more results
---   types      float, double  element types; the first is the default
---   cache      hot     "cold": bench lets the caches hold other data, and
---              shows bandwidth; for kernels that memory limits
---   memory     the highest of all  "copy", "read" or "write": the peak that
---              bounds the bandwidth
---   measures   bytes of the first operand  measures(s) -> values that rows of
---              choices may ask for
---   title      sizes and type  title(s) -> the shape in words
---   make       random numbers  make(s, seed) -> operands of a shape
---   awkward    sizes that no tile divides  shapes for check, small ones
---   hosts      none    routines without OpenCL: {{name =, gflops =,
---              run = function(o, s) -> result, seconds}}
---   keeps_plans  true  a repeated call reuses its plan
---   signature  the sizes, operands and numbers  the parameters of a kernel,
---              in their order and with the declared names
---   args, bind, sizes, shape, truth  -  functions that replace the
---              functions of the declared sizes, as in gemm and spmv
---   dims       as they come in the arguments  the order of the sizes in a
---              shape; false: `make` takes shapes of its own
---   nothing    an error  nothing(s, o) -> Event: sets a result of operands
---              without elements
---   pieces     -  pieces(plan) -> the Buffers of the result, for `truth`
---   placing    -  {adapt =, pass =, stage =}: sub-matrices and batches, as in
---              gemm
--- Example:
--- local axpy = family.new{
---   name = "axpy", help = "z = alpha x + y.",
---   arguments = {{"x", "n"}, {"y", "n"}}, output = {"z", "n"},
---   options = {{name = "alpha", default = 1, help = "factor of x"}},
---   terms = function() return 2 end,
---   flop = function(s) return 2 * s.n end,
---   reference = function(h, s)
---     local z = {}
---     for i = 1, s.n do z[i] = s.alpha * h.x[i] + h.y[i] end
---     return z
---   end,
---   rungs = {{
---     name = "plain", lesson = "one work-item for each element",
---     range = function(s) return s.n end,
---     source = [[
--- kernel void axpy(int n, global const REAL *x, global const REAL *y,
---                  global REAL *z, REAL alpha) {
---   int i = get_global_id(0);
---   z[i] = alpha * x[i] + y[i];
--- }]],
---   }},
--- }
--- local z = axpy({1, 2}, {10, 20}, {alpha = 3})
--- print(z:read()[2], axpy.verify("plain", {1000}).ok) --> 26.0 true
--- print(bench("axpy", {100000}).ok) --> true
function M.new(given, family)
  local own = family ~= nil -- the table to fill: a family of clshell
  local spec = declaration.spec(given, not own)
  family = family or {}
  family.name, family.spec, family.list = spec.name, spec, {}
  family.folder = own and ("%s/kernels/%s/"):format(cl.home, spec.name)
    or select(2, program.script_folder(given.reference or given.truth))
  family.reserved = {"kernel", "queue", "after", table.unpack(spec.extras)}
  family.operands = table.move(spec.extras, 1, #spec.extras,
    #spec.inputs + 1, {table.unpack(spec.inputs)})
  for _, list in ipairs{methods, families.methods.all,
      families.methods[spec.name]} do
    for name, method in pairs(list) do
      family[name] = function(...)
        return method(family, ...)
      end
    end
  end
  for _, def in ipairs(spec.rungs) do
    if own then
      local rung = rungs.new(spec.name, def, family.reserved)
      rung.path, rung.builtin = family.folder .. rung.file, true
      add(family, rung)
    else
      methods.define(family, def)
    end
  end
  setmetatable(family, {
    __call = call,
    __name = "clshell.family",
    __tostring = function()
      return ("kernel family %s: %s"):format(spec.name,
        table.concat(rungs.list(family), " "))
    end,
  })
  if not own then
    families.add(family)
  end
  return family
end

return M
