-- ladder/asm.lua - prog:asm(), what a compiler made, as text; and asm, the
-- machine's code of a kernel, counted and by line of the source
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local argument = require "clshell.base.argument"
local cl = require "cl"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local listing = require "clshell.ladder.listing"
local machine = require "clshell.base.machine"
local machine_code = require "clshell.ladder.machine_code"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local ptx = require "clshell.ladder.ptx"
local user_source = require "clshell.errors.user_source"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)

-- The 64-bit ELF files inside a binary, little-endian: {bytes, machine, form}.
-- PoCL keeps several for a kernel, behind their paths: form "0-0-0" has code
-- for any local size, "16-16-1..." for that of a launch. A file ends with its
-- table of sections.
local function elf_files(binary)
  local list, at = {}, 1
  while true do
    at = binary:find("\127ELF\2\1", at, true)
    if not at or at + 63 > #binary then
      return list
    end
    local sections = string.unpack("<I8", binary, at + 0x28)
    local size, count = string.unpack("<I2I2", binary, at + 0x3A)
    local last = at + sections + size * count - 1
    if last > at and last <= #binary then
      local kernel, form = binary:sub(math.max(1, at - 300), at - 1):match
        ".*/([%w_]+)/(%d+%-%d+%-%d+)[%w%-]*/[%w_]+%.so"
      list[#list + 1] = {bytes = binary:sub(at, last), kernel = kernel,
        form = form, machine = string.unpack("<I2", binary, at + 0x12)}
    end
    at = at + 6
  end
end

local X86, AMD = 62, 224 -- in ELF files

-- Raises: what asm lacks.
local function fail(reason, remedy)
  cl.error("asm: " .. reason, {hint = remedy})
end

-- What a tool prints, also as errors. Raises where it fails or prints nothing.
local function run(path, arguments, ...)
  local pipe <close> = assert(io.popen(("{ %s %s; } 2>&1"):format(
    base_text.quote(path), arguments:format(...))))
  local out = pipe:read "a"
  local ok, how, code = pipe:close()
  if ok and out:find "%S" then
    return out
  end
  fail(("%s %s"):format(path, ok and "prints nothing" or ("ended with %s %d: "
    .. "%s"):format(how == "exit" and "exit code" or how, code,
    out:match "([^\n]*%S[^\n]*)%s*$" or "no message")),
    "prog:asm() is the driver's text, where it has one")
end

-- The disassembly of an ELF file, by objdump or for AMD's GPUs llvm-objdump,
-- with lines of the source or without.
local function disassemble(elf, lines)
  local tool, package = "objdump", "binutils"
  if elf.machine == AMD then
    tool, package = "llvm-objdump", "llvm"
  end
  local path = machine.tool(tool) or fail(tool .. " is needed to disassemble",
    "Debian, Ubuntu: apt-get install " .. package)
  local name, _ <close> = file.temporary()
  file.write(name, elf.bytes, "the binary")
  return (run(path, "%s --no-show-raw-insn -j .text %s", lines and "-dl"
    or "-d", base_text.quote(name)):gsub("^.-\n(Disassembly)", "%1"))
end

local function raw(prog)
  return prog:binary{raw = true}
end

--- Program:asm() -> string
--- The output of the device's compiler, as text: PTX on NVIDIA's driver; on
--- PoCL the machine code of each kernel, disassembled by objdump (package
--- binutils), in the form for any local size, and in the forms for the local
--- sizes of launches. Elsewhere an error names the form that the driver keeps:
--- `prog:binary{raw = true}` has it. asm(kernel) counts the instructions.
--- Example:
--- local prog = cl.build "kernel void f(global int *x) { *x = 1; }"
--- local ok, text = pcall(prog.asm, prog) -- an error where there is none
--- print(text)
function M.asm(prog)
  local binary = raw(prog)
  if not binary:find "[^%g%s\0]" then
    return (binary:gsub("\0", ""))
  end
  local files = elf_files(binary)
  if #files == 0 then
    cl.error(("Program:asm: the driver keeps neither text nor ELF code (%d "
      .. "bytes)"):format(#binary),
      {hint = "prog:binary{raw = true} has them"})
  end
  return base_text.values(files, "\n", disassemble)
end

-- Lines of the source --------------------------------------------------------

-- The program of a kernel's source once more, with lines of the source by an
-- option of the compiler; nil and the reason where that fails.
local function with_lines(prog, option)
  if not prog.source then
    return nil, "a program from a binary has no source to build again"
  end
  local folder = prog.file and program.folder(prog.file) or ""
  local ok, built = interrupt.pcall(cl.build, prog.defines .. prog.source, {
    context = prog.context, include = folder ~= "" and folder or nil,
    options = prog.options:gsub("%-cl%-kernel%-arg%-info%s*", "")
      .. " " .. option})
  if not ok then
    return nil, "the driver refuses the build option " .. option
  end
  return built
end

-- The texts of the lines of a program's source, and where(file, line), the
-- user's place for a place that a compiler tells: some count the lines of the
-- text they got, and ignore #line. `only`: the name of the only file that the
-- compiler tells.
local function places(prog, only)
  if not prog.source then
    return nil, function(...)
      return ...
    end
  end
  local texts = {}
  local numbered = user_source.numbered(prog.defines .. prog.source)
  for _, one in ipairs(numbered) do
    if not one.directive and (one.file == nil or one.file == "<kernel>") then
      texts[one.line] = one.text
    end
  end
  return texts, function(name, line)
    local base = name:match "[^/]*$"
    if name ~= only and not user_source.names_source(base) then
      return name, line
    end
    local one = base ~= "<kernel>" and numbered[line]
    if one and one.named then
      return one.file ~= "<kernel>" and one.file or nil, one.line
    end
    return nil, line
  end
end

-- NVIDIA ---------------------------------------------------------------------

local LINES = "-nv-line-info" -- has NVIDIA's compiler write .loc into the PTX
local PACKAGES = "CUDA's toolkit has both; or: pip install nvidia-cuda-nvcc "
  .. "nvidia-cuda-nvdisasm. prog:asm() is the PTX"

-- The instructions of PTX without their operands.
local function instructions(text)
  local list = {}
  for row in text:gmatch "[^\n]+" do
    list[#list + 1] = row:match "^%s*(@?[%a{][^\n]*);"
  end
  return table.concat(list, "\n"):gsub("[%%$][%w_$]+", "")
end

local function text_of(prog)
  return (raw(prog):gsub("\0", ""))
end

-- The PTX of a kernel's program, with .loc where the driver gives it without
-- another change of the code, or a note on why not.
local function ptx_of(prog)
  local source = program.original(prog)
  local built <close>, reason = with_lines(source, LINES)
  local lined = built and text_of(built)
  if lined and not lined:find "%.loc%s" then
    lined, reason = nil, "the driver writes no lines of the source into the "
      .. "PTX"
  elseif lined and instructions(lined) ~= instructions(text_of(source)) then
    lined, reason = nil, ("with %s the driver makes other code"):format(LINES)
  end
  if lined and source ~= prog then
    lined, reason = ptx.edit(lined)
  end
  return lined or text_of(prog), not lined and reason
    .. ": the lines are those of the PTX, prog:asm()" or nil
end

-- PTX as ptxas takes it, and the bytes of local memory that were left out: of
-- local arrays that ptx.lua has made larger than NVIDIA's compilers allow.
-- Their size does not change the code.
local MOST_LOCAL, SMALL = 48 * 1024, 1024
local function within(text)
  local less = 0
  text = text:gsub("(%.shared[^\n]-%[)(%d+)(%])", function(head, n, tail)
    if tonumber(n) <= MOST_LOCAL then
      return nil
    end
    less = less + tonumber(n) - SMALL
    return head .. SMALL .. tail
  end)
  return text, less
end

-- The option of ptxas for an option of the program, such as
-- -cl-nv-maxrregcount=64.
local function passed(prog, name)
  local n = prog.options:match("%-cl%-nv%-" .. name .. "[=%s]%s*(%d+)")
  return n and ("--%s %s "):format(name, n) or ""
end

-- The version of PTX's target that ptxas is to compile for.
local function target_of(text, dev)
  local target = text:match "%.target%s+(sm_%w+)"
  return dev.nv_compute_capability_major and not target:find "%a$"
    and ("sm_%d%d"):format(dev.nv_compute_capability_major,
    dev.nv_compute_capability_minor or 0) or target
end

-- asm.sass(kernel, prog) -> table
-- The code of a kernel of an NVIDIA program, by its name, as fields of
-- machine_code.new. Raises where a tool is missing or fails.
function M.sass(kernel, prog)
  local ptxas, nvdisasm = machine.tool "ptxas", machine.tool "nvdisasm"
  if not (ptxas and nvdisasm) then
    fail(("%s needed for the machine's code of NVIDIA's GPUs"):format(ptxas
      and "nvdisasm is" or nvdisasm and "ptxas is"
      or "ptxas and nvdisasm are"), PACKAGES)
  end
  local version = run(ptxas, "--version"):match "V([%d.]+)"
    or "of an unknown version"
  local text, note = ptx_of(prog)
  local dev = prog.context.device
  local target = target_of(text, dev)
  local given, less = within(text)
  local name, _ <close> = file.temporary ".ptx"
  local cubin, _ <close> = file.temporary ".cubin"
  file.write(name, given, "the PTX")
  local log = run(ptxas, "-v -lineinfo --entry %s -arch=%s %s%s%s -o %s",
    kernel, target, passed(prog, "maxrregcount"), passed(prog, "opt-level"),
    base_text.quote(name), base_text.quote(cubin))
  local shown = run(nvdisasm, "-c %s %s", note and "-gp" or "-g",
    base_text.quote(cubin))
  local source, where = base_text.lines(given), function(_, line)
    return nil, line
  end
  if not note then
    local only = text:match "%.file%s+%d+%s+\"([^\"]*)\""
    local _, count = text:gsub("%.file%s", "")
    source, where = places(program.original(prog), count == 1 and only or nil)
  end
  local code = options.with(listing.sass(shown, kernel, where) or fail(
    "nvdisasm's listing has no instructions of " .. kernel),
    listing.figures(log, kernel))
  code.local_bytes = code.local_bytes and code.local_bytes + less
  local own = text:match "Cuda compilation tools[^\n]-V([%d.]+)"
  code.notes = {note}
  if own ~= version then
    table.insert(code.notes, ("ptxas %s made this code of the driver's PTX; "
      .. "the driver's own compiler (%s) may make other code"):format(version,
      own or "driver " .. (dev.driver_version or "?")))
  end
  code.source, code.unit = source, note and "PTX line" or "line"
  code.form = ("SASS for %s, by ptxas %s"):format(target, version)
  return code
end

-- ELF files ------------------------------------------------------------------

local NUMBERS = {[0xcc] = ">I1", [0xcd] = ">I2", [0xce] = ">I4"} -- MessagePack

-- The registers of a kernel in the metadata of AMD's compiler, MessagePack.
local function amd_figures(bytes, kernel)
  local at = bytes:find("%.name..?" .. kernel .. "%f[^%w_]")
  local function number(key)
    local _, from = bytes:find(key, at or #bytes, true)
    local first = from and bytes:byte(from + 1)
    return NUMBERS[first] and (string.unpack(NUMBERS[first], bytes, from + 2))
      or first and first < 0x80 and first or nil
  end
  local spills = number ".vgpr_spill_count"
  return {registers = number ".vgpr_count", spilled = spills and 4 * spills,
    stack = number ".private_segment_fixed_size"}
end

-- The ELF file of a kernel in a binary, the form for a local size where there
-- is one, and the words on the form.
local function elf_of(binary, kernel, size)
  local files, form, any = elf_files(binary), nil, nil
  for i = 1, size and 3 or 0 do
    form = (form and form .. "-" or "") .. (size[i] or 1)
  end
  for _, elf in ipairs(files) do
    if elf.kernel == kernel and elf.form == form then
      return elf, "for work-groups of " .. base_text.shape(size)
    elseif not elf.kernel or elf.kernel == kernel
        and elf.form == "0-0-0" then
      any = any or elf
    end
  end
  return any, any and any.form and "for any local size" or nil
end

local function of_elf(kernel, prog, size, plan)
  -- For a new local size PoCL compiles the code that it has kept of a program
  -- without its lines: so each local size has a program of its own.
  local built <close>, reason = with_lines(prog, "-g -DCLSHELL_LINES="
    .. base_text.shape(size or {0}))
  if built and plan and size then -- the driver compiles for a local size
    local main = plan.commands[plan.main]
    plan:run():wait()
    built:kernel(kernel.name):range(main.launch.global, size)(table.unpack(
      main, 1, main.n)):wait()
  end
  local elf, form = elf_of(raw(built or prog), kernel.name, size)
  if not elf then
    fail("the driver's binary has no code of " .. kernel.name,
      "prog:binary{raw = true} has the bytes")
  end
  local processor = elf.machine == X86 and "x86-64"
    or elf.machine == AMD and "AMD"
    or fail(("the instructions of this processor (ELF machine %d) have no "
      .. "classes here"):format(elf.machine), "prog:asm() is their text")
  local source, where = places(prog)
  local function code_of(file_of_code, lines)
    return listing.objdump(disassemble(file_of_code, lines), kernel.name,
      where, processor)
  end
  local code = code_of(elf, true) or fail("the listing has no instructions of "
    .. kernel.name)
  local plain = built and elf_of(raw(prog), kernel.name, size)
  local same = plain and plain.form == elf.form and code_of(plain)
  code.notes = {not built and reason .. ": the lines are unknown" or nil}
  if same and #same.list ~= #code.list then
    table.insert(code.notes, ("with lines (-g) the compiler makes %d "
      .. "instructions, without them %d"):format(#code.list, #same.list))
  end
  if form == "for any local size" then
    table.insert(code.notes, "the driver makes another form for the local "
      .. 'size of a launch: asm{"gemm.tiled", {256}} shows that of a rung')
  end
  code.source, code.unit, code.form = source, "line", ("%s code%s"):format(
    processor == "AMD" and "an AMD GPU's" or processor,
    form and " " .. form or "")
  return processor == "AMD"
    and options.with(code, amd_figures(elf.bytes, kernel.name)) or code
end

-- asm ------------------------------------------------------------------------

-- The kernel of a subject, its local size, and a plan on operands made here,
-- which may run.
local function subject_of(x)
  local class = base_text.class(x)
  if class == "Program" then
    return program.kernel(x)
  elseif class == "Kernel" then
    return x, x.required_work_group_size
  elseif class == "Launch" then
    return x.kernel, x.localsize
  elseif type(x) == "table" and base_text.class(x[1]) == "Launch" then
    return subject_of(x[1]) -- {launch, options}, as compare takes it
  elseif type(x) == "string" or type(x) == "table" and getmetatable(x) == nil
      and type(x[1]) == "string" then
    local plan = workload.plan("asm", 256, table.unpack(
      type(x) == "table" and x or {x}, 1, 4))
    local launch = plan.commands[plan.main].launch
    return launch.kernel, launch.localsize, plan
  elseif type(x) == "table" and x.commands and x.main then
    local launch = x.commands[x.main].launch
    return launch.kernel, launch.localsize
  end
  argument.refuse("asm", "subject", "must be a Kernel, a Launch, a Program, a "
    .. "plan, or a rung such as \"gemm.tiled\"; got %s", base_text.got(x))
end

local known = setmetatable({}, {__mode = "k"}) -- by program, of asm's results

--- asm(subject) -> Code
--- The machine's code of a kernel: of a Kernel, a Launch, a Program with one
--- kernel, a plan, or a rung, "gemm.tiled" or {"gemm.tiled", {512}, {tile =
--- 16}} as for bench. It prints the classes of the instructions, each with its
--- count and how many are in loops, the loops with their lines, and what the
--- compiler tells. On NVIDIA's GPUs it is SASS: CUDA's ptxas compiles the
--- driver's PTX, and nvdisasm shows the result; both are looked for on PATH,
--- in CUDA_HOME, in /usr/local/cuda and among the Python packages. On PoCL it
--- is the processor's code by objdump, on AMD's GPUs theirs by llvm-objdump.
--- The result has instructions (their number), classes (a list of {name,
--- count, looped}, also by name), loops (a list of {line, last_line, depth,
--- instructions, classes}), lines (by number, or "file:number" of an included
--- file, the list of the instructions made of it, each {address, text, op,
--- class, bytes}), registers, spilled, stack, local_bytes (nil where the
--- compiler does not tell them), form, notes. Code:line(n) has
--- the instructions of a line, Code:listing() all; compare(a, b, {asm = true})
--- the difference of two. Raises where a tool is missing: prog:asm() is the
--- driver's text then.
--- Example:
--- local k = cl.kernel [[kernel void sum(int n, global const float *x,
---     global float *y) {
---   float s = 0;
---   for (int i = 0; i < n; i++)
---     s += x[i];
---   *y = s;
--- }]]
--- local ok, code = pcall(asm, k) -- an error where a tool is missing
--- print(code)
--- print(ok and code:line(5)) -- at the prompt: %asm k, and %asm k 5
local function asm(subject)
  local kernel, size, plan = subject_of(subject)
  local prog = kernel.program
  local key = table.concat({kernel.name, size and base_text.shape(size) or "",
    plan and "run" or nil}, "\0")
  known[prog] = known[prog] or {}
  if known[prog][key] then
    return known[prog][key]
  end
  local binary, code = raw(prog), nil
  if not binary:find "[^%g%s\0]" and binary:find "%.target%s+sm_" then
    code = M.sass(kernel.name, prog)
  elseif #elf_files(binary) > 0 then
    code = of_elf(kernel, prog, size, plan)
  else
    fail("the driver's binary is neither PTX nor ELF code",
      "prog:asm() is its text, where it has one")
  end
  code.kernel, code.program = kernel.name, prog
  code = machine_code.new(code)
  known[prog][key] = code
  return code
end

-- asm.compare(a, b) -> table
-- The difference of two machine codes, which prints; a and b as for asm.
function M.compare(a, b)
  return machine_code.compare(asm(a), asm(b))
end

M.narrow = machine_code.narrow

cl.extend("Program",
  argument.methods("Program", {asm = M.asm}, "Program"), true)

return require "clshell.base.lazy".callable(M, asm)
