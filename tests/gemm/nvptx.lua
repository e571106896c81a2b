-- gemm/nvptx.lua - NVIDIA's rungs without a GPU: clang reads each kernel with
-- each legal set of parameters, compiles it to PTX once for each tile, and
-- CUDA's ptxas assembles the PTX. Without optimization: NVIDIA's own compiler
-- does that on a GPU, and here it would take fifteen times as long.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local ladder = require "ladder"
local options = require "clshell.base.options"
local plan = require "clshell.ladder.plan"
local ptx = require "clshell.ladder.ptx"
local rungs = require "clshell.ladder.rung"

t.device() -- the scratch buffers of some rungs lie on it

if t.build:find("asan", 1, true) then
  t.test("NVIDIA's rungs compile", function()
    t.skip "the sanitizers see nothing of kernels that are only compiled"
  end)
  t.done()
  return
end

local JOBS = 2 -- compilers at a time
local function capability(major)
  return {nv_compute_capability_major = major,
    nv_compute_capability_minor = 0}
end
local HOPPER, AMPERE = capability(9), capability(8)

-- Products whose rows allow wide copies, some wide copies, and none; long
-- enough for each number of splits. The second takes more launches to pack.
local SHAPES = {{m = 256, n = 256, k = 1024}, {m = 1256, n = 1258, k = 1028},
  {m = 257, n = 259, k = 1025}, {m = 256, n = 256, k = 1024, batch = 2}}

local CLANG = "clang -x cl -cl-std=CL1.2 -target nvptx64 "
  .. "-Xclang -finclude-default-header -Xclang -target-cpu -Xclang sm_80 "
  .. "-Xclang -target-feature -Xclang +ptx70 -Wno-pass-failed"

-- The path of a program, in PATH or a folder; or nil.
local function program(name, folder)
  return t.capture(("PATH=\"$PATH:%s\"; command -v %s"):format(folder or "",
    name)):match("[^\n]+")
end

-- The outputs of shell commands, JOBS of them at a time.
local function outputs(commands)
  local pipes, list = {}, {}
  for i = 1, #commands + JOBS - 1 do
    if commands[i] then
      pipes[i] = assert(io.popen("exec 2>&1; " .. commands[i]))
    end
    local done = i - JOBS + 1
    if done >= 1 then
      list[done] = pipes[done]:read("a")
      pipes[done]:close()
    end
  end
  return list
end

-- The command line's -D words, in the order of the names.
local function words(defines)
  local list = {}
  for name, value in pairs(defines) do
    list[#list + 1] = ("-D%s=%s"):format(name, value)
  end
  table.sort(list)
  return table.concat(list, " ")
end

-- The shapes of a type that a rung is compiled for: sizes and transposed
-- operands, and `out`, the type of C.
local function shapes(rung, type, out)
  local list = {}
  local both = rung.trans and {false, true} or {false}
  for _, size in ipairs(SHAPES) do
    for _, trans_a in ipairs(both) do
      for _, trans_b in ipairs(both) do
        local s = gemm.spec.shape{m = size.m, n = size.n, k = size.k,
          batch = size.batch, type = type, trans_a = trans_a,
          trans_b = trans_b, out = out}
        s.context = cl.context()
        list[#list + 1] = plan.shape(gemm, rung, s)
      end
    end
  end
  return list
end

-- Adds the programs of a rung's call: {path, words, arch, mark, tile}. `arch`
-- is the oldest that the rung accepts, `mark` whether comments become
-- instructions.
local function add_programs(add, rung, p, s)
  local arch = rung.accepts(AMPERE, s, p) and "sm_90" or "sm_80"
  local tile = s.type .. " " .. s.out .. " " .. (p.tile or "")
  add{path = rung.path, words = words(rungs.defines(rung, p, s)), arch = arch,
    mark = rung.ptx, tile = tile}
  local function helper(file, _, defines)
    local from = type(file) == "table" and file or {file = file}
    defines = options.with(defines, {PLACED = s.placed and 1 or nil})
    local folder = from.file:find "^/" and "" or gemm.folder
    add{path = folder .. from.file, words = words(defines), arch = arch,
      mark = from.ptx, tile = tile}
  end
  local o = {}
  for _, name in ipairs{"A", "B", "C"} do
    o[name] = {ld = s["ld" .. name:lower()], count = s.batch}
  end
  local own = options.with(o, rung.prepare
    and rung.prepare(s, p, o, helper))
  if rung.finish then
    rung.finish(s, p, own, helper, o)
  end
end

-- All programs of a rung, each once: each set of parameters on one of the
-- shapes in turn, so that each shape has its turn as well. The first program
-- of each file and tile is `whole`: it becomes PTX. The others differ from it
-- in widths of copies and order of operands, and are only read.
local function programs(rung)
  local list, seen, turn = {}, {}, 0
  local function add(item)
    local key, tile = item.path .. item.words, item.path .. " " .. item.tile
    list[#list + 1] = not seen[key] and item or nil
    item.whole = not seen[tile]
    seen[key], seen[tile] = true, true
  end
  for _, types in ipairs{{"float"}, {"double"}, {"half"}, {"half", "float"},
      {"bfloat16"}, {"bfloat16", "float"}, {"float8_e4m3"}, {"float8_e5m2"},
      {"char"}} do
    if types[2] and not rung.wide then
      goto next_types
    end
    local sizes = shapes(rung, table.unpack(types))
    local sets = {}
    for p in ladder.configurations(rung) do
      sets[#sets + 1] = p
    end
    for i = 1, math.max(#sets, #sizes) do
      local p, s = sets[(i - 1) % #sets + 1], sizes[turn % #sizes + 1]
      if not rung.accepts(HOPPER, s, p) then
        turn = turn + 1
        add_programs(add, rung, p, s)
      end
    end
    ::next_types::
  end
  return list
end

-- PTX text as ptxas takes it for an architecture that clang may not know.
local function adapted(text, item)
  if item.arch == "sm_90" then
    text = text:gsub("%.version %S+", ".version 8.3", 1)
      :gsub("%.target sm_80", ".target sm_90", 1)
  end
  if item.mark then
    return assert(ptx.edit(text)), "sm_90a"
  end
  return text, item.arch
end

local read, write = t.read, t.write

-- The messages of the first command that fails, after the command; or nil.
local function failure(commands)
  for i, command in ipairs(commands) do
    commands[i] = command .. " || echo FAILED"
  end
  for i, messages in ipairs(outputs(commands)) do
    if messages:find "FAILED\n$" then
      return commands[i] .. "\n" .. messages
    end
  end
end

-- Compiles programs, the whole ones to PTX files, item.ptx; nil or the
-- messages of a failure.
local function compile(list)
  local commands = {}
  for i, item in ipairs(list) do
    item.ptx = item.whole and t.tmp(i .. ".ptx")
    local how = item.whole and "-S -O0 -o " .. item.ptx or "-fsyntax-only"
    commands[i] = table.concat({CLANG, "-Werror", item.words, item.path, how},
      " ")
  end
  return failure(commands)
end

-- Assembles the PTX files. Nothing is linked, as clang has no library of
-- OpenCL's functions for this target. nil or the messages of a failure.
local function assemble(ptxas, list)
  local commands = {}
  for _, item in ipairs(list) do
    if item.whole then
      local text, arch = adapted(read(item.ptx), item)
      write(item.ptx, text)
      commands[#commands + 1] = ("%s -c -arch=%s %s -o /dev/null"):format(
        ptxas, arch, item.ptx)
    end
  end
  return failure(commands), #commands
end

local function need(name, folder, source)
  return program(name, folder) or t.skip(("there is no %s (%s)"):format(name,
    source))
end

for _, item in ipairs(gemm.kernels()) do
  if item.rung.path and item.rung.path:find "/nv_[^/]*$" then
    local list
    t.test(item.name .. " compiles for NVIDIA with each parameter", function()
      need("clang", nil, "the compiler")
      list = programs(item.rung)
      t.ok(#list > 0)
      local wide = false
      for _, one in ipairs(list) do
        wide = wide or one.words:find("-DWIDE_C=1", 1, true) ~= nil
      end
      t.eq(wide, item.rung.wide == true)
      local wrong = compile(list)
      t.ok(not wrong, wrong)
      print(("# %s: %d programs"):format(item.name, #list))
      for _, one in ipairs(list) do
        one.text = one.whole and read(one.ptx)
      end
    end)
    t.test(item.name .. " is valid for its architecture", function()
      need("clang", nil, "the compiler")
      local ptxas = need("ptxas", "/usr/local/cuda/bin", "part of CUDA")
      for i, one in ipairs(list) do
        if one.whole then
          one.ptx = t.tmp(i .. ".ptx")
          write(one.ptx, one.text)
        end
      end
      local wrong, count = assemble(ptxas, list)
      t.ok(not wrong, wrong)
      print(("# %s: %d of %d assembled"):format(item.name, count, #list))
    end)
  end
end

-- A copy of nv_tf32.cl in which `old` is `new`, as a list of one program.
local function planted(old, new)
  local path = gemm.folder .. "nv_tf32.cl"
  local text, count = read(path):gsub(old, new)
  t.ok(count > 0, old)
  local copy = t.tmp("planted.cl")
  write(copy, text)
  return {{path = copy, words = "-DREAL=float -I" .. gemm.folder,
    arch = "sm_80", whole = true}}
end

t.test("a mistake in a kernel is found", function()
  need("clang", nil, "the compiler")
  local wrong = compile(planted("get_local_id%(0%)", "get_local_id(O)"))
  t.ok(wrong and wrong:find("undeclared identifier 'O'", 1, true), wrong)
end)

t.test("a mistake in an instruction is found", function()
  need("clang", nil, "the compiler")
  local ptxas = need("ptxas", "/usr/local/cuda/bin", "part of CUDA")
  local list = planted("mma%.sync%.aligned%.m16n8k8",
    "mma.sync.aligned.m16n8k9")
  t.eq(compile(list), nil)
  local wrong = assemble(ptxas, list)
  t.ok(wrong and wrong:find("error", 1, true), wrong)
end)

t.test("marks make no instruction but in a timeline", function()
  need("clang", nil, "the compiler")
  local text = read(gemm.folder .. "nv_hopper.cl")
  local bare, count = text:gsub("\n *MARK_EACH%b();", "")
  t.ok(count >= 9)
  local copy = t.tmp "bare.cl"
  write(copy, (bare:gsub(" MARKS%)", ")")))
  local function compiled(file, more)
    return t.capture(("%s -w -O1 -S -o - -DHALVES=1 -DASKING=4 -I%s %s %s "
      .. "2>&1"):format(CLANG, gemm.folder, more, file))
  end
  local off = compiled(gemm.folder .. "nv_hopper.cl", "")
  t.ok(off:find "wgmma" and not off:find "globaltimer", off)
  t.ok(off == compiled(copy, ""), "the same instructions")
  local _, marks = compiled(gemm.folder .. "nv_hopper.cl", "-include "
    .. cl.home .. "/kernels/show/mark.cl"):gsub("globaltimer", "")
  t.ok(marks >= 7, marks)
end)

t.test("nv_dmma's tiles go with the number of multiprocessors", function()
  local rung = gemm.rung "nv_dmma"
  local device = {nv_compute_capability_major = 9, local_mem_size = 49152,
    nv_compute_capability_minor = 0, compute_units = 132}
  local function tile(n, trans)
    local defines = rung.defines({tile = "auto", split = 0}, {m = n, n = n,
      k = n, type = "double", esize = 8, batch = 1, trans_a = trans, lda = n,
      ldb = n, ldc = n, start_a = 0, start_b = 0, start_c = 0, stride_a = 0,
      stride_b = 0, stride_c = 0, context = {device = device}})
    return ("%dx%d"):format(defines.BM, defines.BN)
  end
  t.eq({tile(768), tile(1024), tile(1280), tile(1408), tile(1536)},
    {"80x64", "64x64", "112x64", "128x64", "96x64"})
  t.eq(tile(768, true), "64x64") -- their copies of A^T are uneven
  t.ok(rung.accepts(device, {m = 9, n = 9, k = 768, type = "double",
    trans_a = true}, {tile = "80x64", split = 1}):find "double, A^T and")
end)

t.done()
