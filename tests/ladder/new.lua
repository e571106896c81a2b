-- new.lua - a kernel family that a script makes has all that gemm has: calls,
-- define, verify, bench, compare, tune, lesson, help, store, Tab
-- SPDX-License-Identifier: MIT

local t = require "t"
local asked = require "at"
local bench = require "clshell.measure.bench"
local cl = require "cl"
local compare = require "clshell.measure.compare"
local family = require "clshell.family"
local help = require "clshell.help"
local lesson = require "clshell.explain.lesson"
local list = require "clshell.ladder.families"
local reading = require "clshell.explain.reading"
local tune = require "clshell.tune"
local spmv = require "clshell.spmv"
local verify = require "clshell.ladder.verify"

t.keeps("Program", "Kernel")
local device = t.device()

-- y = alpha A x, one work-item for each row.
local SOURCE = [[
/* plain.cl - a row for each work-item */
kernel void prod(int rows, int cols, global const REAL *A, int lda,
                 global const REAL *x, global REAL *y, REAL alpha) {
  int i = get_global_id(0);
  if (i >= rows) return;
  REAL sum = 0;
  for (int j = 0; j < cols; j++) sum += A[i * lda + j] * x[j];
  y[i] = FACTOR * alpha * sum;
}]]

local function rung(name, factor)
  return {name = name, lesson = "the lesson of " .. name,
    params = {{name = "wg", values = {4, 8}, help = "work-items"}},
    range = function(s, p)
      return (s.rows + p.wg - 1) // p.wg * p.wg, p.wg
    end,
    source = (SOURCE:gsub("FACTOR", factor or "1"))}
end

-- The declaration, with some fields of another value; false: without it.
local function declared(changes)
  local given = {
    name = "prod", help = "y = alpha A x.",
    arguments = {{"A", "rows", "cols"}, {"x", "cols"}},
    output = {"y", "rows"},
    options = {{name = "alpha", default = 1, help = "factor of the product"}},
    terms = function(s) return s.cols end,
    flop = function(s) return 2 * s.rows * s.cols end,
    reference = function(h, s)
      local y = {}
      for i = 1, s.rows do
        y[i] = 0
        for j = 1, s.cols do
          y[i] = y[i] + s.alpha * h.A:at(i, j) * h.x[j]
        end
      end
      return y
    end,
    rungs = {rung "naive", rung "plain"},
  }
  for name, value in pairs(changes or {}) do
    given[name] = value or nil
  end
  return given
end

local prod = family.new(declared())

-- t.raises for f(...).
local function raises(text, f, ...)
  local args = table.pack(...)
  return t.raises(function()
    f(table.unpack(args, 1, args.n))
  end, text)
end

local A = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})

t.test("calls, with and without the name of a kernel", function()
  local y, event = prod(A, {1, 1, 1})
  t.eq(y:read():table(), {6, 15})
  t.ok(event:wait())
  t.eq(prod(A, {1, 1, 1}, {kernel = "naive", wg = 4, alpha = 2}):read()
    :table(), {12, 30})
  local out = cl.buffer("float", 2)
  t.eq(prod(A, {1, 0, 0}, {y = out}), out)
  t.eq(out:read():table(), {1, 4})
  t.eq(prod({{1, 2}, {3, 4}}, cl.buffer("double", 2, {1, 1})).type, "double")
  local wide = cl.buffer("float", {4, 5})
  wide:fill(1)
  t.eq(prod(wide:sub(1, 1, 2, 3), {1, 1, 1}):read():table(), {3, 3})
  t.eq(prod.choice{10, 20}.rung, "plain")
  prod.choices{{rung = "naive"}}
  t.eq(prod.choice{10, 20}.rung, "naive")
  prod.choices "default"
  t.eq(prod.choice{10, 20}.rung, "plain")
  t.eq(tostring(prod), "kernel family prod: naive plain")
end)

t.test("wrong operands are told by their names and sizes", function()
  raises("prod: x is a vector of 2 float, but cols of A is 3", prod, A,
    {1, 2})
  raises("prod: A must be a matrix; got a vector of 3 float", prod,
    {1, 2, 3}, {1})
  raises("prod: x must be a Buffer, an Array or a nested table; got "
    .. "nothing", prod, A)
  raises("prod: alpha must be a number; got much", prod, A, {1, 1, 1},
    {alpha = "much"})
  raises("prod: the type must be one of", prod,
    cl.buffer("int", {1, 1}, {{1}}), {1})
  raises("prod: A is float, but x is double", prod, A,
    cl.buffer("double", 3))
  raises("prod: y is 3 elements, but the result is 2",
    prod, A, {1, 1, 1}, {y = cl.buffer("float", 3)})
  local square = cl.buffer("float", {3, 3})
  raises("prod: y must not share memory with A", prod, square, {1, 1, 1},
    {y = square:view(1, 3)})
  raises("no kernel 'none'", prod, A, {1, 1, 1}, {kernel = "none"})
  raises("unknown option 'bta'", prod, A, {1, 1, 1}, {bta = 1})
end)

t.test("verify compares with the reference, and finds a wrong result",
  function()
    local r
    for _, type in ipairs{"float", "double"} do
      if type == "float" or device:has "cl_khr_fp64" then
        for _, shape in ipairs{{1, 1}, {7, 3}, {100, 33}} do
          shape.type = type
          r = prod.verify("plain", {wg = 8}, shape)
          t.ok(r.ok and r.err <= r.bound, r.err)
          t.eq(r.bound, verify.bound(type, shape[2]))
        end
      end
    end
    prod.define(rung("off", "(i == 5 ? 1.001f : 1)"))
    r = prod.verify("off", nil, {9, 4})
    t.eq({r.ok, r.row, r.col}, {false, 6, nil})
    r = bench("prod.off", {9, 4})
    t.eq({r.status, r.gflops}, {"wrong", nil})
    t.ok(r.error:find("at row 6", 1, true), r.error)
    prod = family.new(declared())
  end)

t.test("sizes by numbers and functions, options of words, exact integers",
  function()
    local pairs_of = family.new{
      name = "pairing", arguments = {{"x", "n"}},
      output = {"y", function(s) return s.n // 2 end},
      options = {{name = "op", values = {"sum", "max"}}}, types = {"int"},
      reference = function(h, s)
        local y = {}
        for i = 1, s.n // 2 do
          local a, b = h.x[2 * i - 1], h.x[2 * i]
          y[i] = s.op == "sum" and a + b or math.max(a, b)
        end
        return y
      end,
      rungs = {{name = "plain", range = function(s) return s.n // 2 end,
        defines = function(_, s) return {OP = s.op} end,
        source = [[
#define sum(a, b) a + b
kernel void pairing(int n, global const REAL *x, global REAL *y) {
  int i = 2 * get_global_id(0);
  y[i / 2] = OP(x[i], x[i + 1]);
}]]}},
    }
    t.eq(pairs_of({1, 2, 30, 4}):read():table(), {3, 34})
    t.eq(pairs_of({1, 2, 30, 4}, {op = "max"}):read():table(), {2, 30})
    raises('pairing: op must be one of sum, max; got "min"', pairs_of,
      {1, 2}, {op = "min"})
    local r = pairs_of.verify("plain", nil, {1001, op = "max"})
    t.eq({r.ok, r.err, r.bound}, {true, 0.0, 0})
    t.eq(bench("pairing", {10, op = "max"}).title, "10 int op=max")
    t.eq(#pairs_of{1}, 0)
  end)

t.test("the signature orders the parameters of a kernel", function()
  local scaled = family.new{
    name = "scaled", arguments = {{"A", "rows", "cols"}},
    output = {"y", "rows"}, options = {{name = "alpha", default = 2}},
    signature = "global const REAL *A, int lda, REAL alpha, global REAL *y, "
      .. "int rows, int cols",
    reference = function(h, s)
      local y = {}
      for i = 1, s.rows do
        y[i] = s.alpha * h.A:table()[i][s.cols]
      end
      return y
    end,
    rungs = {{name = "plain", range = function(s) return s.rows end,
      source = [[
kernel void last(global const REAL *A, int lda, REAL alpha, global REAL *y,
                 int rows, int cols) {
  int i = get_global_id(0);
  if (i < rows)
    y[i] = alpha * A[i * lda + cols - 1];
}]]}},
  }
  t.eq(scaled({{1, 2, 3}, {4, 5, 6}}, {alpha = 3}):read():table(), {9, 18})
  t.ok(scaled.verify("plain", {7, 5}).ok)
end)

t.test("rooms above the engine give methods to families", function()
  list.methods.extended = {twice = function(f, x) return f.name .. 2 * x end}
  local function new(name)
    return family.new{name = name, arguments = {{"x", "n"}},
      output = {"y", "n"}, reference = function(h) return h.x end,
      rungs = {{name = "copy", range = function(s) return s.n end,
        source = "kernel void f(int n, global REAL *x, global REAL *y) {}"}}}
  end
  t.eq(new "extended".twice(4), "extended8")
  t.eq(rawget(new "plain", "twice"), nil)
end)

t.test("an option may be a Buffer for more results", function()
  local halves = family.new{
    name = "halving", arguments = {{"x", "n"}}, output = {"y", "n"},
    options = {{name = "rest", sizes = {"n"}, type = "char",
      help = "what is left"}}, types = {"int"},
    reference = function(h, s)
      local y = {}
      for i = 1, s.n do
        y[i] = h.x[i] // 2
      end
      return y
    end,
    rungs = {{name = "plain", range = function(s) return s.n end,
      defines = function(_, s) return {REST = s.rest and 1 or 0} end,
      args = function(_, _, o) return {o.x, o.y, o.rest} end,
      source = [[
kernel void halving(global const int *x, global int *y
#if REST
                    , global char *rest
#endif
) {
  size_t i = get_global_id(0);
  y[i] = x[i] >> 1;
#if REST
  rest[i] = x[i] & 1;
#endif
}]]}},
  }
  local rest = cl.buffer("char", 3)
  t.eq(halves{5, 6, 7}:read():table(), {2, 3, 3})
  t.eq(halves({5, 6, 7}, {rest = rest}):read():table(), {2, 3, 3})
  t.eq(rest:read():table(), {1, 0, 1})
  raises("halving: rest must have 2 elements; got 3", halves, {5, 6},
    {rest = rest})
  raises("halving: the type of rest must be char", halves, {5, 6, 7},
    {rest = cl.buffer("int", 3)})
  raises("halving: rest must be a Buffer", halves, {5}, {rest = true})
  t.ok(halves.verify("plain", nil, {100, rest = true}).ok)
  t.eq(bench("halving", {10, rest = true}).title, "10 int rest")
  t.ok(help.text "halving":find("rest%s+%(none%) what is left"))
end)

t.test("sizes that follow from options, and an output that is read as well",
  function()
    local function size(along, across)
      return function(s) return s.turn and s[across] or s[along] end
    end
    local update = family.new{
      name = "update",
      arguments = {{"A", "rows", "cols"}, {"x", size("cols", "rows")},
        {"w", 2}},
      output = {"y", size("rows", "cols")},
      options = {{name = "turn", values = {false, true}},
        {name = "beta", default = 0}},
      updates = function(s) return s.beta ~= 0 end,
      terms = function(s) return s.rows + s.cols end,
      reference = function(h, s)
        local y = {}
        for i = 1, s.turn and s.cols or s.rows do
          y[i] = s.beta ~= 0 and s.beta * h.y[i] or 0
          for j = 1, s.turn and s.rows or s.cols do
            y[i] = y[i] + h.w[2] * h.x[j]
              * (s.turn and h.A:at(j, i) or h.A:at(i, j))
          end
        end
        return y
      end,
      rungs = {{name = "plain",
        range = function(s) return s.turn and s.cols or s.rows end,
        defines = function(_, s) return {TURN = s.turn and 1 or 0} end,
        source = [[
kernel void update(int rows, int cols, global const REAL *A, int lda,
                   global const REAL *x, global const REAL *w,
                   global REAL *y, REAL beta) {
  int i = get_global_id(0), n = TURN ? rows : cols;
  REAL sum = 0;
  for (int j = 0; j < n; j++)
    sum += w[1] * x[j] * (TURN ? A[j * lda + i] : A[i * lda + j]);
  y[i] = sum + (beta == 0 ? 0 : beta * y[i]);
}]]}},
    }
    local w = {0, 2}
    t.eq(update(A, {1, 1, 1}, w):read():table(), {12, 30})
    t.eq(update(A, {1, 1}, w, {turn = true}):read():table(), {10, 14, 18})
    local y = cl.buffer("float", 3, {1, 2, 3})
    update(A, {1, 1}, w, {turn = true, beta = 10, y = y})
    t.eq(y:read():table(), {20, 34, 48})
    raises("update: x is a vector of 3 float, but its size must be 2",
      update, A, {1, 1, 1}, w, {turn = true})
    raises("update: w is a vector of 3 float, but its size must be 2",
      update, A, {1, 1, 1}, {1, 2, 3})
    raises("update: y is missing: the result depends on its content", update,
      A, {1, 1, 1}, w, {beta = 1})
    raises('update: turn must be one of false, true; got "T"', update, A,
      {1, 1, 1}, w, {turn = "T"})
    for _, turn in ipairs{false, true} do
      for _, beta in ipairs{0, -1.5} do
        t.ok(update.verify("plain", nil, {9, 5, turn = turn, beta = beta}).ok)
      end
    end
    local r = bench("update", {9, 5, turn = true, beta = 2}, nil,
      {seconds = 0.02})
    t.eq({r.ok, r.title, r.shape.turn, r.bytes},
      {true, "9x5 float turn=true", 1, 4 * (45 + 9 + 2 + 2 * 5)})
  end)

t.test("bench, compare, tune, lesson and the store take its names", function()
  local r = bench("prod.naive", {50, 20}, {wg = 8}, {seconds = 0.02})
  t.eq({r.name, r.family, r.kernel, r.config, r.title, r.ok},
    {"prod.naive", "prod", "naive", "wg=8", "50x20 float", true})
  t.eq({r.flop, r.bytes, r.shape.rows, r.shape.lda},
    {2000, 4 * (50 * 20 + 20 + 50), 50, 20})
  t.eq(math.type(r.bytes), "integer")
  t.eq(bench("prod", {50, 20}, nil, {seconds = 0.02}).name, "prod.plain")
  t.eq(bench(prod.rung "plain", {A = A, x = {1, 2, 3}}, nil,
    {seconds = 0.02}).ok, true)
  raises("parameters belong to a rung; name one, such as \"prod.naive\"",
    bench, "prod", {50, 20}, {wg = 8})
  local c = compare({"prod.naive", {50, 20}}, {"prod.plain", {50, 20}},
    {rounds = 8, seconds = 1})
  t.ok(tostring(c):find("prod.plain", 1, true), tostring(c))
  t.ok(#lesson(r) > 0)
  t.eq(select(2, reading.rung(r)), prod)
  t.ok(lesson.ladder{r, bench("prod.plain", {50, 20})}:find("plain over naive",
    1, true))
  local best = tune("prod", {50, 20}, {evaluations = 2, quiet = true})
  t.eq({best.title, #best.rows}, {"50x20 float", 2})
  t.eq(tune("prod.naive", {50, 20}, {evaluations = 2}).rung, nil)
  raises("'gemw.plain' is no rung", bench, "gemw.plain", {1, 1})
end)

t.test("help: the call, its rungs, the kernel that define takes", function()
  local page = help.text "prod"
  for _, words in ipairs{"prod(A, x [, opts]) -> y, event", "y = alpha A x.",
      "(1) factor of the product", "?prod.", "prod.define(rung) -> rung",
      "the lesson of plain"} do
    t.ok(page:find(words, 1, true), words .. " is not in\n" .. page)
  end
  t.eq(help.text(prod), page)
  t.ok(not page:find("prod.new", 1, true))
  page = help.text "prod.plain"
  t.ok(page:find("local y, event = prod(A, x, {kernel = \"plain\"", 1, true),
    page)
  t.ok(page:find("a row for each work-item", 1, true), page)
  local bare = rung "bare"
  bare.source = bare.source:gsub("^/%*.-%*/\n", "")
  page = help.text(family.new(declared{name = "bare", rungs = {bare}}))
  t.ok(page:find("?bare.bare", 1, true), page)
  page = help.text "bare.bare"
  t.ok(page:find("sum += A[i * lda + j] * x[j];", 1, true), page)
  page = help.text "prod.define":gsub("%s+", " ")
  t.ok(page:find("kernel void mine(int rows, int cols, global const REAL *A, "
    .. "int lda, global const REAL *x, global REAL *y, REAL alpha)", 1, true),
    page)
  t.ok(page:find("Example prod.define{", 1, true), page)
  t.eq(help.text(prod.define), help.text "prod.define")
  t.ok(help.search("alpha prod"):find("prod", 1, true))
  family.new(declared{help = "Said anew."})
  t.ok(help.text "prod":find("Said anew.", 1, true))
  t.ok(not help.text "prod":find("y = alpha", 1, true))
  prod = family.new(declared())
end)

t.test("a session has the module under its name", function()
  t.ok(rawequal(rawget(_G, "family"), family))
end)

t.test("help on define of spmv shows kernels of spmv", function()
  local page = help.text "spmv.define":gsub("%s+", " ")
  t.ok(page:find("kernel void mine(int rows, int cols, int ndiags, int pitch",
    1, true), page)
  t.ok(page:find("kernel void mine(int rows, global const int *row_ptr", 1,
    true), page)
  t.ok(not page:find("gemm.define{", 1, true), page)
  t.ok(help.text "spmv.plan":find("of another family", 1, true))
  t.eq(help.text(spmv.define), help.text "spmv.define")
end)

t.test("Tab offers its rungs, parameters, operands and functions", function()
  _G.prod, _G.pairing = prod, list.get "pairing" -- as a session has them
  local cases = {
    {'bench("pro|', "prod.naive"}, {'bench("prod.pl|', "prod.plain"},
    {'bench("prod.naive", {50, 20}, {|', "wg = "},
    {'prod(A, x, {kernel = "pl|', "plain"}, {"prod(A, x, {al|", "alpha = "},
    {'prod.verify("plain", {}, {|', "x"}, {"prod.de|", "define"},
    {'pairing(x, {op = "m|', "max"}, {"pairing(x, {op = |", '"sum"'},
    {'help "pro|', "prod"}, {'help "prod.|', "prod.naive"},
  }
  for _, case in ipairs(cases) do
    local texts = asked.words(case[1])
    t.ok(texts:find(case[2], 1, true), ("%s offers %s, not %s"):format(
      case[1], texts, case[2]))
  end
  t.ok(not asked.words "prod.|":find("new", 1, true))
  _G.prod, _G.pairing = nil, nil
end)

t.test("wrong declarations are told by the field", function()
  local cases = {
    {{name = false}, "field 'name' is missing"},
    {{name = "gemm"}, "the name 'gemm' is clshell's own; take another"},
    {{name = "bench"}, "the name 'bench' is clshell's own"},
    {{name = "my family"}, "name must be of letters and digits; got 'my fam"},
    {{arguments = {}}, "arguments must be a list"},
    {{arguments = {{"A"}, {"x", "cols"}}}, "A has 0"},
    {{arguments = {{"A", "rows", 0}}}, "a size of A must be a name, a number"},
    {{arguments = {{"x", 3}}}, "one size of the arguments at least must be"},
    {{arguments = {{"A", "rows", "cols"}, {"A", "cols"}}},
      "the name 'A' is there twice"},
    {{output = {"y", "n"}}, "no argument has the size 'n' of y"},
    {{output = "y"}, "output must be a list of a name and its sizes"},
    {{options = {{name = "beta"}}}, "option beta needs values, or a number"},
    {{options = {{name = "rows", default = 1}}}, "the name 'rows' is there"},
    {{options = {"beta"}}, "an option must be a table with a name"},
    {{options = {{name = "at", sizes = {"n"}}}},
      "no argument has the size 'n' of at"},
    {{options = {{name = "at", sizes = {}}}}, "at has 0"},
    {{options = {{name = "at", sizes = 3}}}, "sizes must be a table; got 3"},
    {{options = {{name = "at", sizes = {"rows"}, type = "real"}}},
      'option at: no type "real"'},
    {{reference = false}, "field 'reference' is missing: no rate"},
    {{reference = 3}, "reference must be a function; got 3"},
    {{rungs = {}}, "rungs must be a list of one rung at least"},
    {{rungs = {{name = "a"}}}, "prod.define: field 'range' is missing"},
    {{cache = "warm"}, "cache must be 'hot' or 'cold'; got 'warm'"},
    {{types = {"real"}}, "types must be a list of element types"},
    {{types = {}}, "types must not be empty"},
    {{hosts = {5}}, "host 1 must be a table with a name and a function run"},
    {{flops = 1}, "unknown option 'flops'; did you mean 'flop'?"},
    {{signature = "int rows, global REAL *z"},
      "signature: no size, operand or number is called 'z'"},
    {{arguments = {"A", "x"}, output = "y"},
      'argument 1 must be a list of a name and its sizes, such as {"A", '},
  }
  for _, case in ipairs(cases) do
    raises(case[2], family.new, declared(case[1]))
  end
  raises("the declaration must be a table; got 1", family.new, 1)
  t.eq(list.get "prod", prod, "a wrong declaration changes nothing")
end)

t.test("wrong results of its functions are told by the function", function()
  local function wrong(message, changes)
    local other = family.new(declared(changes))
    raises(message, other.verify, "plain", nil, {4, 4})
  end
  wrong("prod: reference must return 4 elements; got 1",
    {reference = function() return 1 end})
  wrong("prod: reference: its result must be a table; got nothing",
    {reference = function() end})
  for _, scale in ipairs{-1, "a"} do
    wrong("prod: the scale of reference must be a number >= 0; got",
      {reference = function() return {0, 0, 0, 0}, scale end})
  end
  for _, scale in ipairs{1 / 0, 0 / 0} do
    local endless = family.new(declared{reference = function()
      return {9, 9, 9, 9}, scale
    end})
    t.eq(endless.verify("plain", nil, {4, 4}).ok, false)
  end
  for _, count in ipairs{0 / 0, 1 / 0, "a"} do
    wrong("prod: terms must return a number >= 0; got",
      {terms = function() return count end})
  end
  wrong("prod: make must return a table of operands; got nothing",
    {make = function() end})
  raises("prod: measures must return a table; got nothing",
    family.new(declared{measures = function() end}), A, {1, 2, 3})
  local other = family.new(declared{flop = function() return "many" end})
  local r = bench("prod", {4, 4})
  t.eq(r.status, "failed")
  t.ok(r.error:find("prod: flop must return a number >= 0", 1, true), r.error)
  t.eq(list.get "prod", other)
end)

t.test("a family's file lies beside the script", function()
  local folder = t.tmp "families"
  os.execute(("mkdir -p '%s'"):format(folder))
  local function write(name, text)
    t.write(folder .. "/" .. name, text)
  end
  write("twice.cl", "kernel void twice(int n, global const REAL *x, "
    .. "global REAL *y) { y[get_global_id(0)] = 2 * x[get_global_id(0)]; }")
  write("twice.lua", [[
return require "clshell.family".new{
  name = "twice", arguments = {{"x", "n"}}, output = {"y", "n"},
  reference = function(h) return h.x end,
  rungs = {{name = "plain", file = "twice.cl",
    range = function(s) return s.n end}}}]])
  local twice = dofile(folder .. "/twice.lua")
  t.eq(twice({1, 2}):read():table(), {2, 4})
  t.eq(twice.verify("plain", {2}).ok, false)
end)

t.done()
