-- buildlog.lua - logs of OpenCL compilers in the formats that drivers have,
-- and what the user reads of a build that fails.
-- SPDX-License-Identifier: MIT
local t = require "t"
local buildlog = require "clshell.errors.buildlog"
local build_error = require "clshell.errors.build_error"

local SOURCE = [[
#define SQUARE(x) ((x) * side)
kernel void f(global float *out, int n) {
  float sum = Out[0] + 1;
	for (int i = 0; i < n; i++) sum += SQUARE(i);
  out[0] = sum
}
]]

-- "kind file:line:column text" of each diagnostic, notes indented.
local function brief(list)
  local lines = {}
  local function add(d, indent)
    local place = d.line and ("%s:%d%s "):format(d.file, d.line,
      d.column and ":" .. d.column or "") or ""
    lines[#lines + 1] = indent .. d.kind .. " " .. place .. d.text
  end
  for _, d in ipairs(list) do
    add(d, "")
    for _, note in ipairs(d.notes) do
      add(note, "  ")
    end
    for _, other in ipairs(d.also) do
      lines[#lines + 1] = ("  also %s:%d:%d"):format(other.file, other.line,
        other.column)
    end
  end
  return lines
end

-- The lines that a log gives for SOURCE as file k.cl.
local function shown(log, changes)
  local build = {log = log, source = SOURCE, program = "k.cl"}
  for key, value in pairs(changes or {}) do
    build[key] = value
  end
  return build_error.lines(build, buildlog.parse(log))
end

-- Formats: a log of ours in each, and what is to be read out of it.
local FORMATS = {
  {"PoCL", [[
error: /tmp/tempfile_A.cl:3:15: use of undeclared identifier 'Out'
error: /tmp/tempfile_A.cl:4:37 <Spelling=/tmp/tempfile_A.cl:1:26>: no 'side'
warning: /tmp/tempfile_A.cl:5:3: expression result unused
Device pthread-skylake failed to build the program]],
    {"error /tmp/tempfile_A.cl:3:15 use of undeclared identifier 'Out'",
     "error /tmp/tempfile_A.cl:4:37 no 'side'",
     "  note /tmp/tempfile_A.cl:1:26 expanded from this macro",
     "warning /tmp/tempfile_A.cl:5:3 expression result unused"}},
  {"PoCL, linking", [[
Error(s) while linking:
Cannot find symbol helper in kernel library
Device pthread-skylake failed to build the program]],
    {"error cannot find symbol 'helper'"}},
  {"NVIDIA", [[
<kernel>:3:15: error: use of undeclared identifier 'Out'
  float sum = Out[0] + 1;
              ^~~
<kernel>:4:37: error: use of undeclared identifier 'side'
        for (int i = 0; i < n; i++) sum += SQUARE(i);
                                           ^
<kernel>:1:26: note: expanded from macro 'SQUARE'
#define SQUARE(x) ((x) * side)
                         ^]],
    {"error <kernel>:3:15 use of undeclared identifier 'Out'",
     "error <kernel>:4:37 use of undeclared identifier 'side'",
     "  note <kernel>:1:26 expanded from macro 'SQUARE'"}},
  {"NVIDIA, older", [[
:3:15: error: use of undeclared identifier 'Out'
  float sum = Out[0] + 1;
              ^
:4:37: warning: unknown attribute 'fast' ignored
        for (int i = 0; i < n; i++) sum += SQUARE(i);
                                           ^
<scratch space>:52:1: note: instantiated from:
fast
^
]],
    {"error :3:15 use of undeclared identifier 'Out'",
     "warning :4:37 unknown attribute 'fast' ignored",
     "  note <scratch space>:52:1 instantiated from:"}},
  {"ptxas", [[
(): Warning: Function f is a kernel, so overriding noinline attribute.
ptxas error   : Entry function 'f' uses too much shared data
ptxas info    : Compiling entry function 'f' for 'sm_90'
ptxas application ptx input, line 16; error   : Feature 'x' requires sm_30
ptxas fatal   : Unresolved extern function 'g'
ptxas fatal   : Ptx assembly aborted due to errors]],
    {"error ptxas: Entry function 'f' uses too much shared data",
     "error ptxas: line 16 of the PTX: Feature 'x' requires sm_30",
     "error ptxas: Unresolved extern function 'g'"}},
  {"Intel, CPU", [[
Compilation started
1:3:15: error: use of undeclared identifier 'Out'
1:4:37: error: use of undeclared identifier 'side'
1:1:26: note: expanded from macro 'SQUARE'
Compilation failed
]],
    {"error 1:3:15 use of undeclared identifier 'Out'",
     "error 1:4:37 use of undeclared identifier 'side'",
     "  note 1:1:26 expanded from macro 'SQUARE'"}},
  {"Intel, CPU, well", [[
Compilation started
1:5:3: warning: expression result unused
Compilation done
Linking started
Linking done
Device build started
Options used by backend compiler: -cl-kernel-arg-info
Device build done
Kernel <f> was successfully vectorized (8)
Done.]], {"warning 1:5:3 expression result unused"}},
  {"Intel, GPU", [[
1:3:15: error: use of undeclared identifier 'Out'
  float sum = Out[0] + 1;
              ^
error: undefined reference to `g()'
undefined reference to `h()'
error: Double type is not supported on this platform.
in kernel: 'f(float*, int)'
error: backend compiler failed build.
]],
    {"error 1:3:15 use of undeclared identifier 'Out'",
     "error undefined reference to `g()'",
     "error undefined reference to `h()'",
     "error Double type is not supported on this platform., in kernel: "
      .. "'f(float*, int)'"}},
  {"AMD, ROCm", [[
/tmp/comgr-1a/input/CompileSource:3:15: error: unknown 'Out'
    3 |   float sum = Out[0] + 1;
      |               ^~~
/tmp/comgr-1a/input/CompileSource:5:15: error: expected ';' after expression
    5 |   out[0] = sum
      |               ^
      |               ;
2 errors generated.
Error: Failed to compile source (from CL or HIP source to LLVM IR).]],
    {"error /tmp/comgr-1a/input/CompileSource:3:15 unknown 'Out'",
     "error /tmp/comgr-1a/input/CompileSource:5:15 expected ';' after "
      .. "expression"}},
  {"AMD, older", [[
"/tmp/OCLaB3dE.cl", line 3: error: identifier "Out" is undefined
    float sum = Out[0] + 1;
                ^

"/tmp/OCLaB3dE.cl", line 4: warning: argument of type "int" is
          incompatible with parameter of type "float"
        for (int i = 0; i < n; i++) sum += SQUARE(i);
                                                  ^

"/tmp/OCLaB3dE.cl", line 5: error:
          expected a ";"
  }
  ^

2 errors detected in the compilation of "/tmp/OCLaB3dE.cl".
Frontend phase failed compilation.
]],
    {'error /tmp/OCLaB3dE.cl:3 identifier "Out" is undefined',
     'warning /tmp/OCLaB3dE.cl:4 argument of type "int" is incompatible '
      .. 'with parameter of type "float"',
     'error /tmp/OCLaB3dE.cl:5 expected a ";"'}},
  {"AMD, between them", [[
/tmp/AMD_21_18/t_21_20.cl:3:15: error: unknown 'Out'
1 warning and 1 error generated.
error: Clang front-end compilation failed!
Frontend phase failed compilation.
Error: Compiling CL to IR]],
    {"error /tmp/AMD_21_18/t_21_20.cl:3:15 unknown 'Out'"}},
  {"Apple", [[
<program source>:3:15: error: use of undeclared identifier 'Out'
  float sum = Out[0] + 1;
              ^
<program source>:3:9: warning: unused variable 'sum'
  float sum = Out[0] + 1;
        ^]],
    {"error <program source>:3:15 use of undeclared identifier 'Out'",
     "warning <program source>:3:9 unused variable 'sum'"}},
  {"Mesa", [[
In file included from input.cl:57:
opencl/vector.clh:74:12: warning: implicit declaration of 'dist'
input.cl:6:2: error: expected '}'
input.cl:2:41: note: to match this '{'
]],
    {"warning opencl/vector.clh:74:12 implicit declaration of "
      .. "'dist'",
     "error input.cl:6:2 expected '}'",
     "  note input.cl:2:41 to match this '{'"}},
  {"Arm and others", [[
<source>:3:15: error: implicit declarations are not allowed
  float sum = Out[0] + 1;
              ^

error: Compiler frontend failed (error code 59)]],
    {"error <source>:3:15 implicit declarations are not allowed"}},
  {"no place", [[
fatal error: cannot open file '/usr/share/clc/gfx.bc': No such file
ld.lld: error: undefined symbol: helper
]],
    {"error cannot open file '/usr/share/clc/gfx.bc': No such file",
     "error undefined symbol: helper"}},
}

t.test("the formats of the drivers", function()
  for _, format in ipairs(FORMATS) do
    local name, log, expected = table.unpack(format)
    t.eq(brief(buildlog.parse(log)), expected, name)
    t.eq(brief(buildlog.parse((log:gsub("\n", "\r\n")))), expected,
      name .. " with CRLF")
  end
end)

t.test("every format shows the user's file and line", function()
  local line = "k.cl:3:15: error: "
  for _, format in ipairs(FORMATS) do
    local name, log = table.unpack(format)
    if log:find("3:15", 1, true) then
      local text = table.concat(shown(log), "\n")
      t.ok(text:find(line, 1, true), name .. ":\n" .. text)
      t.ok(text:find("\n >   3 |   float sum = Out[0] + 1;\n"
        .. "       |               ^", 1, true), name .. ":\n" .. text)
      for _, raw in ipairs{"/tmp", "<kernel>", "1:3:15", "input.cl",
          "<source>", "<program"} do
        t.ok(not text:find(raw, 1, true), name .. ":\n" .. text)
      end
    end
  end
  local edg = shown(FORMATS[10][2])
  t.eq(table.move(edg, 1, 4, 1, {}), {
    'k.cl:3: error: identifier "Out" is undefined',
    "     2 | kernel void f(global float *out, int n) {",
    " >   3 |   float sum = Out[0] + 1;",
    "       |               ^ did you mean 'out'?"})
end)

t.test("excerpts: marks, macros, advice", function()
  t.eq(shown(FORMATS[3][2]), {
    "k.cl:3:15: error: use of undeclared identifier 'Out'",
    "     2 | kernel void f(global float *out, int n) {",
    " >   3 |   float sum = Out[0] + 1;",
    "       |               ^~~ did you mean 'out'?",
    "k.cl:4:37: error: use of undeclared identifier 'side'",
    "     3 |   float sum = Out[0] + 1;",
    " >   4 |     for (int i = 0; i < n; i++) sum += SQUARE(i);",
    "       |                                        ^ declare it first: int "
      .. "side = ...;",
    "k.cl:1:26: note: expanded from macro 'SQUARE'",
    "     1 | #define SQUARE(x) ((x) * side)",
    "       |                          ^"})
  t.eq(shown("k.cl:3:15: error: use of undeclared identifier 'Out'; did you "
    .. "mean 'f'?"), {
    "k.cl:3:15: error: use of undeclared identifier 'Out'",
    "     2 | kernel void f(global float *out, int n) {",
    " >   3 |   float sum = Out[0] + 1;",
    "       |               ^~~ did you mean 'f'?"})
  t.eq(shown([[
<kernel>:3:22: warning: of ranges
  float sum = Out[0] + 1;
              ~~~~~~ ^ ~]]), {
    "k.cl:3:22: warning: of ranges",
    "     2 | kernel void f(global float *out, int n) {",
    " >   3 |   float sum = Out[0] + 1;",
    "       |               ~~~~~~ ^ ~"})
  -- a place behind the end of its line; where the header comes from
  t.eq(shown("k.cl:6:80: error: expected '}'"), {
    "k.cl:6:80: error: expected '}'",
    "     5 |   out[0] = sum",
    " >   6 | }",
    "       |  ^"})
  local mesa = shown("In file included from input.cl:1:\n"
    .. "In file included from a.clh:4:\nb.clh:7:1: error: bad\n")
  t.eq(mesa, {"b.clh:7:1: error: bad", "  included from a.clh:4",
    "  included from k.cl:1"})
  -- #line: the log's own line is the right one
  t.eq(shown([[
<kernel>:3:5: error: elsewhere
    other text
    ^~~~~]]), {
    "k.cl:3:5: error: elsewhere",
    "     3 |     other text",
    "       |     ^~~~~"})
  local source = '#line 40 "made.cl"\nfirst;\nsecond;\n#line 7\nthird;\n'
  t.eq(shown("made.cl:41:1: error: bad", {source = source}), {
    "made.cl:41:1: error: bad",
    "    41 | second;",
    "       | ^"})
  source = "#line 40\nfirst;\nsecond;\n"
  t.eq(shown(":41:1: error: bad", {source = source}), {
    "k.cl:3:1: error: bad",
    "     2 | first;",
    " >   3 | second;",
    "       | ^"})
  source = "#line 1\nfirst;\nsecond;\n"
  t.eq(shown("<kernel>:2:1: error: bad\nfirst;\n^", {source = source}), {
    "k.cl:2:1: error: bad",
    "     1 | #line 1",
    " >   2 | first;",
    "       | ^"})
end)

t.test("a linker's words about a kernel show its line", function()
  t.eq(shown("ptxas error   : Entry function 'f' uses too much shared data "
    .. "(0x14000 bytes, 0xc000 max)"), {
    "k.cl:2: error: ptxas: Entry function 'f' uses too much shared data "
      .. "(81920 bytes, 49152 max)",
    "     1 | #define SQUARE(x) ((x) * side)",
    " >   2 | kernel void f(global float *out, int n) {"})
  t.eq(shown("ptxas fatal   : Unresolved extern function 'none'"),
    {"error: ptxas: Unresolved extern function 'none'"})
  local source = "int helper(int);\nint other(int a) {\n  return a;\n}\n"
    .. "kernel void f(global int *x) {\n  *x = helper(*x);\n}\n"
  for _, log in ipairs{"Cannot find symbol helper in kernel library",
      "error: undefined reference to `_Z6helperi()'",
      "ld.lld: error: undefined symbol: helper"} do
    local lines = shown(log, {source = source})
    t.ok(lines[1]:find("^k%.cl:6: error: "), lines[1])
    t.eq(lines[3], " >   6 |   *x = helper(*x);")
  end
end)

t.test("repeats are folded, long logs cut", function()
  local log = {}
  for i = 1, 9 do
    log[i] = ("<kernel>:%d:3: error: use of undeclared identifier 'zz'")
      :format((i - 1) % 6 + 1)
  end
  local list = buildlog.parse(table.concat(log, "\n"))
  t.eq({#list, list[1].count, #list[1].also}, {1, 2, 5})
  local lines = shown(table.concat(log, "\n"))
  t.eq(lines[#lines], "  also at 2:3, 3:3, 4:3, 5:3, and 1 more like this")
  log = {}
  for i = 1, 30 do
    log[#log + 1] = ("<kernel>:3:3: error: number %d"):format(i)
    log[#log + 1] = ("<kernel>:4:3: warning: number %d"):format(i)
  end
  lines = shown(table.concat(log, "\n"))
  t.eq(lines[#lines], "... 22 more errors, 27 more warnings; all of it is "
    .. "in e.log")
  t.ok(#lines < 60)
  -- one diagnostic said twice by a driver is one
  log = ":3:1: error: once\n"
  t.eq(#buildlog.parse(log .. log .. log), 1)
end)

t.test("what is not understood is shown as it is", function()
  t.eq(shown("all went wrong\nsomehow"), {"all went wrong", "somehow"})
  t.eq(buildlog.parse "", {})
  local lines = shown(("line\n"):rep(100))
  t.eq(#lines, 41)
  t.eq(lines[41], "... 61 more lines; all of it is in e.log")
  for _ = 1, 200 do -- nothing of any bytes raises
    local bytes = {}
    for i = 1, math.random(0, 80) do
      bytes[i] = ("\n:1234 errowning<>~^|\"\t\\,l%"):sub(math.random(1, 30))
        :sub(1, math.random(1, 6))
    end
    shown(table.concat(bytes))
    shown("<kernel>:4:200: error: x\n" .. table.concat(bytes))
  end
end)

local write = t.write

-- The text of the error that a script of these lines ends with.
local function fails(path, text)
  write(path, text)
  return t.capture(("NO_COLOR=1 '%s' %s 2>&1 >/dev/null")
    :format(t.exe, path))
end

local device = t.device()
local pocl = device.platform:find("Portable", 1, true) ~= nil

t.test("a kernel's text in a script: the script's own lines", function()
  local path = t.tmp "literal.lua"
  local e = fails(path, [==[
-- a script
local SOURCE = [[
kernel void f(global float *x) {
  x[0] = nothere;
}
]]
cl.build(SOURCE)
]==])
  t.ok(e:find(path .. ":7: build error: 1 error (CL_BUILD_PROGRAM_FAILURE -11)"
    .. "\n  source at " .. path .. ":3 on ", 1, true), e)
  t.ok(e:find("\n" .. path .. ":4:10: error: ", 1, true), e)
  t.ok(e:find("\n >   4 |   x[0] = nothere;\n       |          ^", 1, true),
    e)
  -- inside a line: the column counts from its beginning
  e = fails(path, [==[
local k = cl.kernel("kernel void f(global float *x) { x[0] = nothere; }")
]==])
  t.ok(e:find("\n" .. path .. ":1:62: error: ", 1, true), e)
  -- put together of pieces: by the line that is wrong
  e = fails(path, [==[
local head = "kernel void f(global float *x) {\n"
cl.build(head .. [[
  x[0] = nothere + 1.0f; }
]])
]==])
  t.ok(e:find("\n" .. path .. ":3:10: error: ", 1, true), e)
  t.ok(e:find("\n  (source) on ", 1, true), e)
end)

t.test("a file, and a file that it includes", function()
  local folder = t.tmp "x":match "^(.*/)"
  local header = t.tmp "inner.h"
  local path = t.tmp "outer.cl"
  write(header, "int g(int x) {\n  return x + missing_one;\n}\n")
  write(path, ('#include "%s"\nkernel void f(global int *x) {\n'
    .. "  x[0] = g(missing_two);\n}\n"):format(header:sub(#folder + 1)))
  local e = t.raises(function() cl.build(path, {name = "unused"}) end,
    "\n" .. path .. ":3:12: error: ", "x[0] = g(missing_two);",
    header .. ":2:14: error: ", "return x + missing_one;")
  t.eq(#e.diagnostics, 2)
  t.ok(e.log:find("missing_one", 1, true))
end)

-- NVIDIA's compiler (580) has __LINE__ follow #line, but not its log.
t.test("a log that counts the lines of the defines", function()
  local source = "kernel void f(global int *x) {\n  x[0] = BAD;\n}\n"
  local header = t.tmp "counted.h"
  write(header, "int g;\nint h = nothing;\n")
  local given = '#line 1 "<defines>"\n#define BAD nothing + 1\n'
    .. '#line 1 "<kernel>"\n' .. source .. '#line 1 "' .. header
    .. '"\nint g;\nint h = nothing;\n'
  local e = {name = "CL_BUILD_PROGRAM_FAILURE", code = -11, device = "d",
    options = "", program = "line.cl", is_text = true, source = source,
    given = given, log = [[
<kernel>:5:10: error: use of undeclared identifier 'nothing'
  x[0] = BAD;
         ^
<kernel>:2:13: note: expanded from macro 'BAD'
#define BAD nothing + 1
            ^
<kernel>:9:9: error: use of undeclared identifier 'nothing'
int h = nothing;
        ^
]]}
  build_error.explain(e)
  for _, part in ipairs{"line.cl:2:10: error: ", "\n >   2 |   x[0] = BAD;\n",
      "<defines>:1:13: note: ", header .. ":2:9"} do
    t.ok(e.message:find(part, 1, true), part .. " in " .. e.message)
  end
  t.eq(e.diagnostics[1].line, 2)
end)

t.test("options: clshell's own left out, long ones cut", function()
  local defines = {}
  for i = 1, 100 do
    defines["NAME_OF_A_DEFINE_" .. i] = i
  end
  local e = t.raises(function()
    cl.build("kernel void f() { nothere; }", {defines = defines})
  end, "NAME_OF_A_DEFINE_10=10", " ... ")
  local line = tostring(e):match("\n(  [^\n]* on [^\n]*)")
  t.ok(#line < 300, line)
  e = t.raises(function() cl.build("kernel void f() { nothere; }") end)
  t.ok(not tostring(e):find("arg-info", 1, true), tostring(e))
  t.ok(tostring(e):find(" on " .. device.name:match "^%s*(.-)%s*$", 1,
    true))
end)

t.test("warnings of a build that succeeds are in prog.log", function()
  t.skip_if(not pocl, "not every driver warns of this")
  local p <close> = cl.build([[
    kernel void f(global int *x) { x[0]; x[1] = 2; }]])
  local list = buildlog.parse(p.log)
  t.eq({#list, list[1].kind, list[1].line}, {1, "warning", 1})
end)

t.done()

-- The message of a build of a source with a log.
local function worded(source, log)
  local e = {log = log, source = source, program = "k.cl", is_text = false,
    call = "clBuildProgram", name = "CL_BUILD_PROGRAM_FAILURE", code = -11,
    options = "", device = "a device", given = source}
  build_error.explain(e)
  return e.message
end

local function says(message, ...)
  for _, words in ipairs{...} do
    t.ok(message:find(words, 1, true), words .. "\n" .. message)
  end
end

t.test("characters that cannot be seen are named, outside of comments",
    function()
  local message = worded("kernel void k(global int *o) {\n  int\u{A0}i = 3; "
    .. "// \u{A0}\n  o[0]\u{200B} = i; \u{201C}a\u{201D}\n/* \u{2212} */}",
    "k.cl:2:6: error: expected identifier or '('\n")
  says(message, "k.cl:2:6: U+00A0 (no-break space); a space belongs there",
    "k.cl:3:7: U+200B (zero width space); nothing", "U+201C (left quotation",
    "U+201D (right quotation mark); \" belongs there")
  t.ok(not message:find("2212", 1, true) and not message:find("2:21", 1, true))
end)

t.test("a function that ends early by a brace is named", function()
  local source = [[
kernel void first(global int *o) { o[0] = 1; }
kernel void spmv(global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) {
    y[i] = 0; // }
  }
  }
  y[i] += 1;
}
]]
  local said = "function spmv of k.cl:2 ends at the brace of k.cl:7"
  local log = "k.cl:9:1: error: extraneous closing brace ('}')\n"
  says(worded(source, log), said)
  says(worded(source, "k.cl:8:3: error: expected identifier or '('\n"), said)
  -- balanced braces, and an error within a function
  t.ok(not worded(source:gsub("  }\n  }", "  }"), log):find("ends at the"))
  t.ok(not worded(source, "k.cl:5:3: error: unknown type name 'y'\n")
    :find("ends at the"))
end)

t.test("a missing declaration is told; suggestions are declared", function()
  local source = [[
/* cound */ kernel void f(global int *x, int rows) {
  x[coumt] = count + rowz + TILE; // coumd
  x[0] = helper(1);
  pair p; x[1] = "count1"[0];
  MARK(load);
}
]]
  local message = worded(source, [[
k.cl:2:5: error: use of undeclared identifier 'coumt'
k.cl:2:14: error: use of undeclared identifier 'count'
k.cl:2:22: error: use of undeclared identifier 'rowz'
k.cl:2:29: error: use of undeclared identifier 'TILE'
k.cl:3:10: error: use of undeclared identifier 'helper'
k.cl:4:3: error: use of undeclared identifier 'pair'
k.cl:5:3: error: use of undeclared identifier 'MARK'
]])
  says(message, "declare it first: int coumt = ...;",
    "declare it first: int count", "did you mean 'rows'?",
    "defines = {TILE = ...}", "declare or define helper above",
    "no typedef or struct pair above",
    "put MARKS behind the last parameter of the kernel")
  t.eq(select(2, message:gsub("did you mean", "")), 1, message)
end)
