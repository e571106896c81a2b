-- asm.lua - prog:asm() and asm: the machine's code on this device; NVIDIA's
-- way with recorded outputs of ptxas and nvdisasm, and each way to fail; the
-- listing of an AMD GPU
-- SPDX-License-Identifier: MIT
local t = require "t"
local asm = require "clshell.asm"
local cl = require "cl"
local listing = require "clshell.ladder.listing"
local scratch = require "scratch"

t.keeps("Program", "Kernel", "Context", "Queue", "Device")
t.device()

t.test("without a folder for temporary files asm says so", function()
  local out, err, code = scratch.sh [[TMPDIR=/nonexistent $clshell -e '
    local k = cl.kernel "kernel void f(global int *x) { *x = 1; }"
    print(#k.program:asm() > 0)']]
  if code == 0 or not err:find "temporary" then
    t.skip("the driver's code needs no objdump: " .. out .. err)
  end
  t.eq({out, code}, {"", 1})
  scratch.has(err, "cannot make a temporary file: /nonexistent: No such file",
    "TMPDIR")
end)

local SUM = [[kernel void sum(int n, global const float *x, global float *y) {
  float s = 0;
  for (int i = 0; i < n; i++)
    s += x[%s];
  y[get_global_id(0)] = s;
}
]]

-- The result of asm, or a skip where a tool is missing.
local function code_of(subject)
  local ok, code = pcall(asm, subject)
  if not ok and tostring(code):find "needed" then
    t.skip(tostring(code))
  end
  t.ok(ok, tostring(code))
  return code
end

t.test("each instruction has one class, the loop its lines", function()
  local code = code_of(cl.kernel(SUM:format "i"))
  local sum, looped = 0, 0
  for _, class in ipairs(code.classes) do
    sum, looped = sum + class.count, looped + class.looped
    t.ok(class.count == #class.list and class.looped <= class.count)
  end
  t.eq({sum, code.instructions}, {#code.list, #code.list})
  t.ok(looped > 0 and looped < sum)
  local inner
  for _, loop in ipairs(code.loops) do
    inner = inner or loop.line and loop.line >= 3 and loop.last_line <= 4
      and loop.instructions < code.instructions and loop
  end
  t.ok(inner, tostring(code))
  scratch.has(tostring(code), "sum: " .. sum .. " instructions of ", "loop, ")
  scratch.has(code:line(4), "line 4: s += x[i];\n  " .. #code.lines[4]
    .. " instruction")
  local _, rows = code:listing():gsub("\n +%x+ ", "")
  t.eq(rows, sum)
  t.raises(function() code:line(77) end, "line 77 of sum has no instructions",
    "those that have: ")
  t.ok(rawequal(asm(code.program), code)) -- nothing is disassembled twice
end)

t.test("loads one by one are told, loads of vectors are not", function()
  local narrow = asm.narrow(code_of(cl.kernel(SUM:format "i * 7")))
  t.eq({narrow.line, narrow.bytes, narrow.text}, {4, 4, "s += x[i * 7];"})
  t.ok(narrow.count > 0 and narrow.op)
  t.eq(asm.narrow(code_of(cl.kernel [[
kernel void sum(int n, global const float8 *x, global float8 *y) {
  float8 s = 0;
  for (int i = 0; i < n; i++)
    s += x[i];
  y[get_global_id(0)] = s;
}]])), nil)
end)

t.test("a rung has the code for its local size", function()
  local code = code_of{"gemm.naive", {64, 64, 64}, {lx = 8, ly = 4}}
  if cl.device().type == "cpu" then
    scratch.has(code.form, "for work-groups of 8x4")
    scratch.has(code_of(cl.kernel(SUM:format "i * 3")).form,
      "for any local size")
  end
  t.eq(code.kernel, "gemm")
end)

t.test("two codes: counts, then lines", function()
  local a = cl.kernel(SUM:format "i")
  local b = cl.kernel(((SUM:format "i"):gsub("s;\n", "s * 2 + 1;\n")))
  local code = code_of(a)
  local d = compare(a, b, {asm = true})
  t.eq({d.counts[1].name, d.counts[1].a}, {"instructions", #code.list})
  t.ok(#d.lines > 0 and d.a == code, tostring(d))
  scratch.has(tostring(d), "a: sum: ", "b: sum: ", "b - a", "of a: y[")
  d = compare(a, a, {asm = true})
  t.eq(#d.lines, 0)
  scratch.has(tostring(d), "no line has other instructions")
  t.raises(function() compare(a, b, {asm = true, rounds = 9}) end, "rounds")
  t.raises(function() compare(a, 7, {asm = true}) end, "asm: subject must be")
end)

t.test("misuse is refused", function()
  for _, bad in ipairs{false, 1, {}, print} do
    t.raises(function() asm(bad) end, "asm: subject must be a Kernel")
  end
  t.raises(function() asm() end, "got nothing")
  t.raises(function() asm "gemm.nosuch" end, "nosuch")
  t.raises(function()
    asm(cl.build "kernel void a(void) {} kernel void b(void) {}")
  end, "2 kernels: a, b")
end)

t.test("%asm pages the code, and shows a line", function()
  code_of(cl.kernel(SUM:format "i"))
  scratch.create("kernel.cl", SUM:format "i")
  local out = scratch.sh [[printf '%s\n' 'k = cl.build("kernel.cl").sum' \
    '%asm k' '%asm k 4' '%asm k 99' '%asm gemm naive {64} line=56' '%asm gem' \
    | $clshell -i 2>&1]]
  scratch.has(out, "sum: ", "class ", "line 5: y[get_global_id(0)] = s;",
    "line 4: s += x[i];\n  ", "line 99 of sum has no instructions",
    "line 56: sum += ", "did you mean %asm gemm?")
end)

t.test("without objdump asm names its package", function()
  code_of(cl.kernel(SUM:format "i"))
  local out = scratch.sh [[mkdir -p bin; ln -sf "$(command -v ld)" bin/ld
    PATH=$PWD/bin $clshell -e 'print(pcall(asm, cl.kernel
      "kernel void f(global int *x) { *x = 1; }"))' 2>&1]]
  if not out:find "objdump" then
    t.skip("this device's code needs no objdump: " .. out)
  end
  scratch.has(out, "objdump is needed to disassemble", "binutils")
end)

-- What nvdisasm 13.5 -g -c printed of what ptxas 13.0 made for sm_90 of SUM
-- with x[i * 64 + item], shortened: its last loop, another of wide loads, the
-- end, and a function of the compiler.
local SASS = [[
	.section	.text.sum,"ax",@progbits
sum:
	//## File "<kernel>", line 1
        /*0000*/                   LDC R1, c[0x0][0x28] ;
	//## File "<kernel>", line 3
        /*0040*/                   ISETP.LT.AND P0, PT, RZ, UR6, PT ;
        /*0050*/                   HFMA2.MMA R7, -RZ, RZ, 0, 0 ;
        /*0070*/              @!P0 BRA `(.L_x_0) ;
.L_x_4:
	//## File "<kernel>", line 4
        /*0310*/                   IMAD.MOV.U32 R2, RZ, RZ, R9 ;
        /*0330*/                   LDG.E R2, desc[UR4][R2.64] ;
	//## File "<kernel>", line 3
        /*0340*/                   VIADD R0, R0, 0xffffffff ;
        /*0360*/                   ISETP.NE.AND P0, PT, R0, RZ, PT ;
	//## File "<kernel>", line 4
        /*0380*/                   FADD R7, R2, R7 ;
	//## File "<kernel>", line 3
        /*0390*/               @P0 BRA `(.L_x_4) ;
.L_x_0:
	//## File "<kernel>", line 5
        /*03b0*/                   BSSY B0, `(.L_x_0) ;
        /*03c0*/                   MUFU.RCP R3, R6 ;
        /*0430*/              @!P0 BRA `(.L_x_6) ;
        /*0460*/                   CALL.REL.NOINC `($__internal_0_$__div) ;
        /*0470*/                   BRA `(.L_x_0) ;
.L_x_6:
        /*0474*/                   LDG.E.128.CONSTANT R8, desc[UR4][R2.64] ;
        /*0478*/                   LDG.E.U8 R8, desc[UR4][R2.64] ;
        /*047c*/                   LDS.128 R8, [R16+0x10] ;
        /*0480*/                   LDSM.16.M88.4 R8, [R16] ;
        /*0484*/                   STL.64 [R1], R8 ;
        /*0488*/                   HGMMA.64x256x16.F32 R24, gdesc[UR8], R24 ;
        /*048c*/                   NEWOP.X R8, R9 ;
        /*04c0*/                   STG.E desc[UR4][R2.64], R9 ;
        /*04d0*/                   EXIT ;
$__internal_0_$__div:
        /*04e0*/                   SHF.R.U32.HI R7, RZ, 0x17, R6 ;
        /*04f0*/                   RET.REL.NODEC R2 `(sum) ;
.L_x_7:
        /*0500*/                   BRA `(.L_x_7);
        /*0510*/                   NOP;
	.section	.text.other,"ax",@progbits
        /*0000*/                   DADD R2, R2, R2 ;
]]

t.test("SASS: classes, widths, loops, the compiler's functions", function()
  local code = listing.sass(SASS, "sum", function(file, line)
    return file ~= "<kernel>" and file or nil, line
  end)
  local found = {}
  for _, i in ipairs(code.list) do
    found[i.op] = {i.class, i.bytes, i.depth}
  end
  t.eq(#code.list, 26)
  t.eq(found["LDG.E"], {"global loads", 4, 1})
  t.eq(found["LDG.E.128.CONSTANT"], {"global loads", 16})
  t.eq(found["LDG.E.U8"], {"global loads", 1})
  t.eq(found["LDS.128"], {"local loads", 16})
  t.eq(found["LDSM.16.M88.4"], {"local loads", 16})
  t.eq(found["STL.64"], {"private stores", 8})
  t.eq(found["HGMMA.64x256x16.F32"], {"tensor cores"})
  t.eq(found["HFMA2.MMA"], {"moves and predicates"})
  t.eq(found["NEWOP.X"], {"other"})
  t.eq(found["SHF.R.U32.HI"], {"integer arithmetic"})
  t.eq(found.DADD, nil)
  t.eq(#code.loops, 2) -- the loop, and that around the call
  local loop = code.loops[1]
  t.eq({loop.line, loop.last_line, #loop.places}, {3, 4, 6})
  t.eq({code.list[26].line, code.list[26].called}, {nil, true})
  t.eq(listing.sass(SASS, "nosuch", print), nil)
  t.eq(listing.figures("Compiling entry function 'sum' for 'sm_90'\n    8 "
    .. "bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\nUsed "
    .. "32 registers, used 1 barriers, 2048 bytes smem", "sum"),
    {registers = 32, stack = 8, spilled = 16, local_bytes = 2048})
  t.eq(listing.figures("entry function 'other'", "sum"), nil)
end)

-- A program as NVIDIA's driver has it. FAKE tells how the tools fail.
local PROGRAM = [[
local cl, asm = require "cl", require "clshell.asm"
local lines = os.getenv "LINES_OF"
local function program(text)
  return setmetatable({options = "-cl-nv-maxrregcount=40", defines = "",
    source = "kernel void sum(int n) {\n}\nfor\n  s += x[i];\n",
    context = {device = {nv_compute_capability_major = 9,
      nv_compute_capability_minor = 0, driver_version = "580.95"}},
    binary = function() return text end}, {__close = function() end})
end
local PTX = ".version 8.0\n.target sm_90, texmode_independent\n.shared .align "
  .. "4 .b8 tiles[65536];\nld.global.f32 %f1, [%rd1];\n"
function cl.build(_, opts)
  assert(opts.options:find "%-nv%-line%-info$", opts.options)
  if lines == "refused" then error "no such option" end
  return program(lines == "other" and PTX .. ".loc 1 1 0\nret;\n"
    or lines == "none" and PTX or '.file 1 "<kernel>"\n' .. PTX
    .. ".loc 1 4 0\n")
end
local ok, code = pcall(asm.sass, "sum", program(PTX))
if not ok then print(code) os.exit(0) end
code.kernel = "sum"
code = require "clshell.ladder.machine_code".new(code)
print(code)
local n = asm.narrow(code)
print("narrow", n and n.line, n and n.op, n and n.text)
]]

-- What the program prints; the tools fail as `fake` says, the driver tells
-- lines as `lines` says.
local function sass(fake, lines)
  scratch.create("sass", SASS)
  scratch.create("program.lua", PROGRAM)
  scratch.create("ptxas", [[#!/bin/sh
case $FAKE in
ptxas) echo "ptxas fatal   : Value 'sm_90' is not defined"; exit 1;;
silent) exit 0;;
esac
case $1 in --version) echo "Cuda compilation tools, release 13.0, V13.0.88"
  exit;; esac
for file; do :; done
echo "$*" >arguments
for word; do case $word in *.ptx) cp "$word" given.ptx;; esac; done
echo >"$file"
echo "ptxas info    : Compiling entry function 'sum' for 'sm_90'"
echo "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"
echo "ptxas info    : Used 40 registers, used 0 barriers, 1024 bytes smem"
]])
  scratch.create("nvdisasm", [[#!/bin/sh
case $FAKE in
nvdisasm) echo "nvdisasm fatal   : bad image" >&2; exit 255;;
killed) kill -9 $$;;
empty) exit 0;;
other) echo "some text"; exit 0;;
esac
echo "$*" >shown
cat sass
]])
  local out, err = scratch.sh(("chmod +x ptxas nvdisasm; FAKE=%s LINES_OF=%s "
    .. "PATH=$PWD:$PATH $clshell program.lua"):format(fake, lines))
  t.eq(err, "")
  return (out:gsub("%s+", " "))
end

t.test("NVIDIA: ptxas and nvdisasm, lines of the source", function()
  local out = sass("", "")
  scratch.has(out, "sum: 26 instructions of SASS for sm_90, by ptxas 13.0.88; "
    .. "40 registers, nothing spilled, 64 KiB of local memory",
    "global loads of 4 B", "loop, lines 3 to 4: 6 instructions",
    "2 instructions in functions of the compiler", "driver 580.95) may make",
    "narrow 4 LDG.E s += x[i];")
  scratch.has(scratch.read "arguments", "-lineinfo --entry sum -arch=sm_90 "
    .. "--maxrregcount 40 ")
  scratch.has(scratch.read "shown", "-c -g ")
  scratch.has(scratch.read "given.ptx", "tiles[1024]", ".loc 1 4 0")
end)

t.test("NVIDIA: without lines of the source those of the PTX", function()
  for lines, why in pairs{none = "the driver writes no lines",
      refused = "the driver refuses the build option -nv-line-info",
      other = "with -nv-line-info the driver makes other code"} do
    scratch.has(sass("", lines), why, "the lines are those of the PTX",
      "PTX lines 3 to 4", "narrow nil")
    scratch.has(scratch.read "shown", "-c -gp ")
  end
end)

t.test("NVIDIA: each failure of a tool is told", function()
  for fake, why in pairs{
      ptxas = "ptxas ended with exit code 1: ptxas fatal : Value 'sm_90' is "
        .. "not defined", silent = "ptxas prints nothing",
      nvdisasm = "nvdisasm ended with exit code 255: nvdisasm fatal",
      killed = "nvdisasm ended with", empty = "nvdisasm prints nothing",
      other = "nvdisasm's listing has no instructions of sum"} do
    scratch.has(sass(fake, ""), "asm: ", why)
  end
end)

t.test("NVIDIA: without the tools asm tells where they come from", function()
  scratch.create("program.lua", PROGRAM)
  local out = scratch.sh "rm -f ptxas nvdisasm; $clshell program.lua 2>&1"
  if not out:find "needed" then
    t.skip("ptxas and nvdisasm are installed: " .. out)
  end
  scratch.has(out, "needed for the machine's code of NVIDIA's GPUs",
    "pip install nvidia-cuda-nvcc")
end)

t.test("an AMD GPU's listing", function() -- of llvm-objdump 14, shortened
  local code = listing.objdump([[
0000000000001000 <scale>:
; scale():
; /tmp/k.cl:4
	s_cbranch_scc1 16                // 000000001018: BF850010 <scale+0x5c>
; /tmp/k.cl:5
	global_load_dword v4, v[2:3], off        // 000000001030: DC508000 047F0002
	v_add_f32_e32 v1, v1, v4                         // 000000001050: 02020901
	s_cbranch_scc0 65526             // 000000001054: BF84FFF6 <scale+0x30>
	v_mfma_f32_32x32x8f16 a[0:15], v[2:3], v[4:5], a[0:15] // 000000001058: 0
	global_load_dwordx4 v[0:3], v4, s[2:3]           // 00000000105C: 7E020280
	ds_write_b64 v2, v[0:1]                          // 000000001074: D81A0000
	s_endpgm                                         // 0000000010A0: BF810000
	s_nop 0                                          // 0000000010A4: BF800000
]], "scale", function(_, line) return nil, line end, "AMD")
  local words = {}
  for n, i in ipairs(code.list) do
    words[n] = ("%d %s %s"):format(i.line, i.class, i.bytes or "")
  end
  t.eq(table.concat(words, "; "), "4 control ; 5 global loads 4; 5 FP32 "
    .. "arithmetic ; 5 control ; 5 tensor cores ; 5 global loads 16; 5 local "
    .. "stores 8; 5 control ")
  t.eq({#code.loops, #code.loops[1].places}, {1, 3})
end)

scratch.done()
