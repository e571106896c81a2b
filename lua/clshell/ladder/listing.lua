-- ladder/listing.lua - the instructions of one kernel, from the listings of
-- nvdisasm (SASS) and objdump (x86-64, AMD's GPUs): the source line of each,
-- its class in words, the bytes that it loads or stores, and the loops
-- SPDX-License-Identifier: MIT

local text = require "clshell.base.text"

local M = {}

-- The class of each mnemonic, by {class, "pattern ..."} in turn: patterns of
-- Lua for whole mnemonics, in which * stands for any text.
local function classes(list)
  return setmetatable({}, {__index = function(known, op)
    for _, pair in ipairs(list) do
      for word in pair[2]:gmatch "%S+" do
        if op:find("^" .. word:gsub("%*", ".*") .. "$") then
          known[op] = pair[1]
          return pair[1]
        end
      end
    end
  end})
end

-- Of SASS, as CUDA's manual of the binary utilities lists it.
local SASS = classes{
  {"FP32 arithmetic", "FADD* FCHK FFMA* FMNMX* FMUL* FSEL FSETP? FSWZADD"},
  {"FP64 arithmetic", "DADD DFMA DMNMX DMUL DSETP?"},
  {"FP16 arithmetic", "HADD2* HFMA2* HMNMX2 HMUL2* HSETP?2"},
  {"special functions", "MUFU"},
  {"tensor cores", "[BDHIOQ]G?MMA UTC[HIOQ]MMA"},
  {"integer arithmetic", "BMSK BREV FLO IABS IADD* IDP* IMAD IMNMX IMUL \z
    ISCADD ISETP LEA LOP* POPC SGXT SHF SHL SHR VABSDIFF* VHMNMX VIADD* \z
    VIMNMX*"},
  {"conversions", "F2FP? F2IP? FRND I2FP? I2IP?"},
  {"moves and predicates", "CS2R MOV* P2U?R PLOP3 PRMT PSETP R2P R2UR \z
    S2U?R SEL UP2UR UR2UP"},
  {"constants", "LDCU?"},
  {"global loads", "LDG?"}, {"global stores", "STG?"},
  {"local loads", "LDSM?"}, {"local stores", "STSM?"},
  {"private loads", "LDL"}, {"private stores", "STL"},
  {"copies from global to local memory", "LDGSTS UBLKCP UTMALDG"},
  {"copies from local to global memory", "UBLKRED UTMAREDG UTMASTG"},
  {"atomics", "ATOM[GS]? REDG?"},
  {"images", "SULD SURED SUST TEX TLD4? TXD TXQ"},
  {"exchange of lanes", "MATCH REDUX SHFL VOTEU?"},
  {"barriers and waits", "ACQBULK ARRIVES B2R BAR CCTL CGAERRBAR *DEPBAR \z
    ERRBAR FENCE MEMBAR NANOSLEEP SYNCS UCGABAR_* UTMACCTL UTMACMDFLUSH \z
    WARPGROUP WARPSYNC"},
  {"control", "BMOV BPT BRA BREAK BRX BSSY BSYNC CALL ELECT EXIT JMP KILL \z
    PREEXIT RET YIELD"},
}

-- The bytes that an instruction of SASS moves for a work-item.
local function sass_bytes(op)
  local matrices = op:match "%.MT?88%.?(%d*)" -- of LDSM
  if matrices then
    return 4 * (tonumber(matrices) or 1)
  end
  for word in op:gmatch "%.(%w+)" do
    local bits = word:match "^[US](%d+)$" or word:match "^%d+$"
    if bits and tonumber(bits) >= 8 then
      return tonumber(bits) // 8
    end
  end
  return 4
end

local function is_access(class)
  return class:find "loads$" or class:find "stores$"
end

-- Gives an instruction of SASS its class; false for one that does nothing.
local function classify_sass(i)
  local name = i.op:match "^[^.]*"
  i.class = SASS[name] or SASS[name:gsub("^U", "")] -- of the uniform datapath
    or "other"
  if i.op:find "^IMAD%.MOV" or name == "HFMA2" and i.args:find "%-RZ, RZ," then
    i.class = "moves and predicates" -- of a value, on a free pipe
  elseif i.op == "HADD2.F32" and i.args:find "%-RZ," then
    i.class = "conversions" -- of a half
  end
  i.bytes = (is_access(i.class) or name == "LDGSTS") and sass_bytes(i.op)
    or nil
  i.target = (name == "BRA" or name == "JMP") and i.args:match "`%((.-)%)"
  i.always = i.target and not i.predicate and i.args:find "^`" ~= nil
  i.ends = not i.predicate and (name == "EXIT" or name == "RET"
    or name == "BRX")
  return name ~= "NOP"
end

-- Of AMD's GPUs.
local AMD = classes{
  {"tensor cores", "v_mfma* v_wmma*"},
  {"conversions", "v_cvt*"},
  {"moves and predicates", "v_mov* v_accvgpr* s_mov*"},
  {"special functions", "v_rcp* v_rsq* v_sqrt* v_exp* v_log* v_sin* v_cos*"},
  {"FP64 arithmetic", "v_*_f64*"}, {"FP32 arithmetic", "v_*_f32*"},
  {"FP16 arithmetic", "v_*_f16*"},
  {"atomics", "*atomic*"},
  {"global loads", "global_load* flat_load* buffer_load*"},
  {"global stores", "global_store* flat_store* buffer_store*"},
  {"private loads", "scratch_load*"}, {"private stores", "scratch_store*"},
  {"local loads", "ds_read* ds_load*"},
  {"local stores", "ds_write* ds_store*"},
  {"exchange of lanes", "ds_*"},
  {"constants", "s_load*"},
  {"barriers and waits", "s_barrier* s_wait*"},
  {"control", "s_c?branch* s_endpgm* s_setpc* s_swappc*"},
  {"integer arithmetic", "[sv]_*"},
}

local function classify_amd(i)
  i.class = AMD[i.op] or "other"
  if is_access(i.class) then
    local words = i.op:match "x(%d)" -- dwordx4
    local bits = i.op:match "_[ui]?b?(%d+)$" or i.op:match "_b(%d+)"
    i.bytes = words and 4 * tonumber(words) or i.op:find "dword" and 4
      or i.op:find "byte" and 1 or i.op:find "short" and 2
      or bits and tonumber(bits) // 8 or nil
  end
  i.always = i.op == "s_branch"
  i.ends = i.op:find "^s_endpgm" ~= nil or i.op:find "^s_setpc" ~= nil
  return not i.op:find "^s_nop" and i.op ~= "s_code_end"
end

-- Of x86-64.
local X86 = classes{
  {"conversions", "v?cvt*"},
  {"control", "j* call* ret* leave"},
  {"atomics", "lock xchg* cmpxchg*"},
  {"gathers", "v?p?gather*"}, {"scatters", "v?p?scatter*"},
  {"moves and shuffles", "v?mov* push* popq? cmov* set* k* v?pmov* v?pinsr* \z
    v?p?extr* *broadcast* *shuf* *perm* *insert* *unpck* *blend* *align* \z
    *zero* *expand* *compress* v?andn?p[sd] v?x?orp[sd]"},
  {"integer arithmetic, vectors", "vp* p*[bwdqim] pandn por pxor"},
  {"x87 arithmetic", "f*"},
  {"FP32 arithmetic, vectors", "*ps"}, {"FP64 arithmetic, vectors", "*pd"},
  {"FP32 arithmetic, one lane", "*ss"}, {"FP64 arithmetic, one lane", "*sd"},
  {"integer arithmetic", "[^v]*"},
}

-- The bytes of a register, and of an integer by the end of a mnemonic.
local REGISTERS = {{"%%zmm", 64}, {"%%ymm", 32}, {"%%xmm", 16},
  {"%%r%d+d", 4}, {"%%r%d+w", 2}, {"%%r%d+b", 1}, {"%%r", 8}, {"%%e", 4},
  {"%%%a*l%f[%A]", 1}, {"%%%a", 2}}
local INTEGERS = {b = 1, w = 2, l = 4, q = 8}

-- Mnemonics that end like one with a size, but have it of their register.
local NO_SIZE = text.set "sub sbb shl sal rol mul imul cmovl setl cmovb setb"

-- The bytes that an instruction of x86-64 reads or writes in memory.
local function x86_bytes(op, args)
  args = args:gsub("%b()", "")
  local lane = not op:find "^v?p" and op:match "s([sd])$"
  if lane or op:find "broadcast" or op == "vinsertps" or args:find "{1to"
      or op:find "^v?mov[dq]$" or op:find "^v?mov[hl]p" then -- one element
    return (lane == "d" or op:find "pd$" or op:find "q$"
      or op:find "^v?mov[hl]p") and 8 or 4
  end
  local size = not args:find "%%[xyz]mm" and (op:match "^mov[sz]([bwl])"
    or not NO_SIZE[op] and op:match "^%l+([bwlq])$")
  for _, pair in ipairs(size and {} or REGISTERS) do
    if args:find(pair[1]) then
      return pair[2]
    end
  end
  return INTEGERS[size]
end

-- frames: the registers that point to the stack.
local function classify_x86(i, frames)
  local op, args = i.op, i.args
  i.class = X86[op] or "other"
  local base = args:match "%((%%?%w*)[,)]"
  if base and not op:find "^lea" and not op:find "^nop"
      and not op:find "^prefetch" and i.class ~= "control" then
    local stores = args:gsub("{.-}", ""):find "%)$" and not op:find "^cmp"
      and not op:find "^test" and not op:find "^bt"
    local place = base == "%rip" and "constant" or frames[base] and "stack"
      or "memory"
    i.access = ("%s %s"):format(place, stores and "stores" or "loads")
    i.bytes = x86_bytes(op, args)
    local broadcast = op:find "broadcast"
    if place ~= "constant" and (broadcast or op:find "^v?mov"
        or op:find "^v?lddqu") then
      i.class = i.access
    end
    i.whole = not (broadcast or args:find "{1to")
  end
  i.always = op == "jmp"
  i.ends = op:find "^ret" ~= nil or op:find "^ud2" ~= nil
  return not (op:find "^nop" or op == "data16" or op == "cs"
    or op == "int3" or op == "xchg" and args == "%ax,%ax")
end

-- The places that may follow a place of a list.
local function followers(list, at)
  local i = list[at]
  local next = not (i.always or i.ends) and at < #list and at + 1 or nil
  return i.to or next, i.to and next
end

-- For the places that the first one leads to, by a walk into the depth: by
-- place the places that lead there, and its number in the order in which the
-- walk is done with the places.
local function walk(list)
  local before, done, n, entered, stack = {[1] = {}}, {}, 0, {}, {1}
  while stack[1] do
    local at = table.remove(stack)
    if at < 0 then
      n = n + 1
      done[-at] = n
    elseif not entered[at] then
      entered[at] = true
      stack[#stack + 1] = -at
      for _, next in ipairs{followers(list, at)} do
        before[next] = before[next] or {}
        table.insert(before[next], at)
        stack[#stack + 1] = next
      end
    end
  end
  return before, done
end

-- The places that lead to one of a loop without passing its head; nil where
-- the first place does, as no loop has two entries.
local function around(before, head, at)
  local set, stack = {[head] = true}, {at}
  while stack[1] do
    local place = table.remove(stack)
    if not set[place] then
      set[place] = true
      table.move(before[place], 1, #before[place], #stack + 1, stack)
    end
  end
  return (head == 1 or not set[1]) and set or nil
end

-- Gives a loop the lines of the file with most of its instructions.
local function add_lines(loop, list)
  local files, most = {}, {count = 0}
  for _, place in ipairs(loop.places) do
    local i = list[place]
    if i.line and i.line > 0 then
      local f = files[i.file or ""] or {count = 0, file = i.file,
        line = i.line, last_line = i.line}
      f.count, files[i.file or ""] = f.count + 1, f
      f.line = math.min(f.line, i.line)
      f.last_line = math.max(f.last_line, i.line)
      most = f.count > most.count and f or most
    end
  end
  loop.file, loop.line, loop.last_line = most.file, most.line, most.last_line
end

-- The natural loops of a code: a branch leads back to a place that all ways to
-- the branch pass. Code that a compiler puts behind the rest, and leaves by a
-- branch back, is none.
local function add_loops(code)
  local list, inside = code.list, {} -- by head: the set of a loop's places
  if not list[1] then
    return
  end
  local before, done = walk(list)
  for head, others in pairs(before) do
    for _, at in ipairs(others) do
      local set = done[head] >= done[at] and around(before, head, at)
      inside[head] = inside[head] or set or nil
      for place in pairs(set or {}) do
        inside[head][place] = true
      end
    end
  end
  for head, set in pairs(inside) do
    local loop, outer = {places = text.keys(set)}, {}
    for other in pairs(inside) do
      outer[#outer + 1] = inside[other][head] and other or nil
    end
    table.sort(outer, function(a, b) -- the loop itself is the last
      return not inside[b][a]
    end)
    loop.depth = #outer
    loop.order = text.values(outer, "", function(at)
      return ("%08d"):format(at)
    end)
    for _, place in ipairs(loop.places) do
      list[place].depth = math.max(list[place].depth or 0, loop.depth)
    end
    add_lines(loop, list)
    code.loops[#code.loops + 1] = loop
  end
  table.sort(code.loops, function(a, b)
    return a.order < b.order
  end)
end

-- The code of instructions, without those that do nothing; marks[target] is
-- the place of a branch's target among them.
local function code_of(all, marks, where, classify, ...)
  local code, place = {list = {}, loops = {}}, {}
  for n, i in ipairs(all) do
    local counts = classify(i, ...)
    if i.always and i.target and marks[i.target] == n then
      all[n + 1] = nil -- what stands behind the end fills the memory up
      break
    end
    if i.line then
      i.file, i.line = where(i.file, i.line)
    end
    place[n] = #code.list + 1
    if counts then
      code.list[#code.list + 1] = i
    end
  end
  for _, i in ipairs(code.list) do
    local to = i.target and place[marks[i.target]]
    i.to = to and code.list[to] and to or nil
  end
  add_loops(code)
  return code
end

--- listing.sass(listing, kernel, where) -> code, or nil
--- The code of a kernel in what `nvdisasm -g` prints: {list, loops}. list has
--- {address, text, op, args, line, file (nil: the kernel's own text), class,
--- bytes (of a load or store of a work-item), depth (of the innermost loop;
--- nil: none), called (of a function of the compiler)}, loops has {places (in
--- list), depth, file, line, last_line}, an outer loop before its inner ones.
--- where(file, line) gives the file (nil: the kernel's own text) and the line
--- for those of the listing. nil where the listing lacks the kernel.
function M.sass(listing, kernel, where)
  local inside, all, marks, line, file, called = false, {}, {}, nil, nil, nil
  for row in listing:gmatch "[^\r\n]+" do
    local section = row:match "^%s*%.section%s+([^,%s]+)"
    local label = row:match "^(%.L[%w_]+):"
    local address, rest = row:match "^%s*/%*(%x+)%*/%s+(.-)%s*;"
    if section then
      inside, line, file = section == ".text." .. kernel, nil, nil
    elseif inside and row:find "^%s*//## File" then
      file, line = row:match '^%s*//## File "(.-)", line (%d+)'
      line = math.tointeger(tonumber(line))
    elseif inside and label then
      marks[label] = #all + 1
    elseif inside and row:find "^%$[%w_$]+:" then
      line, file, called = nil, nil, true
    elseif inside and address then
      local predicate, body = rest:match "^(@%S+)%s+(.*)$"
      local op, args = (body or rest):match "^(%S+)%s*(.*)$"
      all[#all + 1] = {address = address, text = rest, op = op, args = args,
        predicate = predicate, line = line, file = file, called = called}
    end
  end
  return all[1] and code_of(all, marks, where, classify_sass) or nil
end

--- listing.objdump(listing, kernel, where, machine) -> code, or nil
--- The same of what `objdump -dl` or `llvm-objdump -dl` prints; machine:
--- "x86-64" or "AMD".
function M.objdump(listing, kernel, where, machine)
  local all, marks, frames, line, file = {}, {}, {["%rsp"] = true}, nil, nil
  local begin -- the address of the kernel, or nil outside it
  for row in listing:gmatch "[^\r\n]+" do
    local first, symbol = row:match "^(%x+) <(.-)>:$"
    local name, n = row:match "^;? ?(%S.-):(%d+)%f[^%d]"
    local address, rest, comment = row:match "^%s+(%x+):%s+(.-)%s*$"
    if not address then
      rest, address, comment = row:match "^%s+(.-)%s*// (%x+):(.*)$"
    end
    if symbol then
      begin = (symbol == kernel or symbol == "_pocl_kernel_" .. kernel)
        and tonumber(first, 16)
    elseif begin and rest then
      rest = rest:gsub("%s+# .*$", "")
      local op, args = rest:match "^(%S+)%s*(.*)$"
      if op == "notrack" or op == "bnd" or op:find "^{" then
        op, args = args:match "^(%S+)%s*(.*)$"
      end
      local to = op:find "^j" and args:match "^(%x+)%s"
      local offset = op:find "^s_c?branch" and comment:match "%+0x(%x+)>"
      frames[rest:match "^mov%s+%%rsp,(%%rb[xp])$" or "%rsp"] = true
      all[#all + 1] = {address = address:match "^0*(.+)", text = rest, op = op,
        args = args, line = line, file = file, target = to and tonumber(to, 16)
          or offset and begin + tonumber(offset, 16) or nil}
      marks[tonumber(address, 16)] = #all
    elseif begin and name then
      file, line = name, math.tointeger(tonumber(n))
    end
  end
  local classify = machine == "AMD" and classify_amd or classify_x86
  return all[1] and code_of(all, marks, where, classify, frames) or nil
end

--- listing.figures(log, kernel) -> table, or nil
--- The figures of NVIDIA's assembler for a kernel in a log made with its
--- option --verbose: {registers, stack, spilled, local_bytes}, the last three
--- in bytes; nil where the log lacks the kernel.
function M.figures(log, kernel)
  local from = select(2, log:find("entry function '" .. kernel .. "'", 1,
    true))
  if not from then
    return nil
  end
  local part = log:sub(from):gsub("entry function '.*", "")
  local function number(pattern)
    return math.tointeger(tonumber(part:match(pattern) or 0))
  end
  local bytes = number "(%d+) bytes smem"
  return {registers = math.tointeger(tonumber(part:match
    "[Uu]sed (%d+) registers")), stack = number "(%d+) bytes stack frame",
    spilled = number "(%d+) bytes spill stores"
      + number "(%d+) bytes spill loads",
    local_bytes = bytes > 1 and bytes or 0} -- a byte is the driver's own
end

return M
