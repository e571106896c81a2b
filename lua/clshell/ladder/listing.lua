-- ladder/listing.lua - the instructions of one kernel, from the listings of
-- nvdisasm (SASS) and objdump (x86-64, AMD's GPUs): the source line of each,
-- its class in words, the bytes that it loads or stores, and the loops
-- SPDX-License-Identifier: MIT

local text = require "clshell.base.text"

local M = {}

-- The classes of SASS and their mnemonics, as CUDA's manual of the binary
-- utilities lists them; those of the uniform datapath have a U in front.
local SASS = {}
for class, words in pairs{
  ["FP32 arithmetic"] = "FADD FADD2 FADD32I FCHK FFMA FFMA2 FFMA32I FMNMX \z
    FMNMX3 FMUL FMUL2 FMUL32I FSEL FSET FSETP FSWZADD",
  ["FP64 arithmetic"] = "DADD DFMA DMNMX DMUL DSET DSETP",
  ["FP16 arithmetic"] = "HADD2 HADD2_32I HFMA2 HFMA2_32I HMNMX2 HMUL2 \z
    HMUL2_32I HSET2 HSETP2",
  ["special functions"] = "MUFU",
  ["tensor cores"] = "BGMMA BMMA DMMA HGMMA HMMA IGMMA IMMA OMMA QGMMA QMMA \z
    UTCHMMA UTCIMMA UTCOMMA UTCQMMA",
  ["integer arithmetic"] = "BMSK BREV FLO IABS IADD IADD3 IADD32I IDP IDP4A \z
    IMAD IMNMX IMUL ISCADD ISETP LEA LOP LOP3 LOP32I POPC SGXT SHF SHL SHR \z
    VABSDIFF VABSDIFF4 VHMNMX VIADD VIADDMNMX VIMNMX VIMNMX3",
  conversions = "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP",
  ["moves and predicates"] = "CS2R MOV MOV32I MOVM P2R P2UR PLOP3 PRMT PSETP \z
    R2P R2UR S2R S2UR SEL UP2UR UR2UP",
  constants = "LDC LDCU",
  ["global loads"] = "LD LDG", ["global stores"] = "ST STG",
  ["local loads"] = "LDS LDSM", ["local stores"] = "STS STSM",
  ["private loads"] = "LDL", ["private stores"] = "STL",
  ["copies from global to local memory"] = "LDGSTS UBLKCP UTMALDG",
  ["copies from local to global memory"] = "UBLKRED UTMAREDG UTMASTG",
  atomics = "ATOM ATOMG ATOMS RED REDG",
  images = "SULD SURED SUST TEX TLD TLD4 TXD TXQ",
  ["exchange of lanes"] = "MATCH REDUX SHFL VOTE VOTEU",
  ["barriers and waits"] = "ACQBULK ARRIVES B2R BAR CCTL CGAERRBAR DEPBAR \z
    ERRBAR FENCE LDGDEPBAR MEMBAR NANOSLEEP SYNCS UCGABAR_ARV UCGABAR_WAIT \z
    UTMACCTL UTMACMDFLUSH WARPGROUP WARPSYNC",
  control = "BMOV BPT BRA BREAK BRX BSSY BSYNC CALL ELECT EXIT JMP KILL \z
    PREEXIT RET YIELD",
} do
  for word in words:gmatch "%S+" do
    SASS[word] = class
  end
end

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
  i.class = SASS[name] or SASS[name:match "^U(.+)"] or "other"
  if i.op:find "^IMAD%.MOV" or name == "HFMA2" and i.args:find "%-RZ, RZ," then
    i.class = "moves and predicates" -- of a value, on a free pipe
  elseif i.op == "HADD2.F32" and i.args:find "%-RZ," then
    i.class = "conversions" -- of a half
  end
  i.bytes = (is_access(i.class) or name == "LDGSTS") and sass_bytes(i.op)
    or nil
  i.target = (name == "BRA" or name == "JMP") and i.args:match "`%((.-)%)"
  i.always = i.target and not i.predicate
    and i.args:find "^`" ~= nil
  i.ends = not i.predicate and (name == "EXIT" or name == "RET"
    or name == "BRX")
  return name ~= "NOP"
end

-- The classes of instructions of AMD's GPUs, by patterns in turn.
local AMD = {
  {"^v_mfma", "tensor cores"}, {"^v_wmma", "tensor cores"},
  {"^v_cvt", "conversions"}, {"^v_mov", "moves and predicates"},
  {"^v_accvgpr", "moves and predicates"}, {"^s_mov", "moves and predicates"},
  {"^v_rcp", "special functions"}, {"^v_rsq", "special functions"},
  {"^v_sqrt", "special functions"}, {"^v_exp", "special functions"},
  {"^v_log", "special functions"}, {"^v_sin", "special functions"},
  {"^v_cos", "special functions"},
  {"^v_.*_f64", "FP64 arithmetic"}, {"^v_.*_f32", "FP32 arithmetic"},
  {"^v_.*_f16", "FP16 arithmetic"}, {"atomic", "atomics"},
  {"^global_load", "global loads"}, {"^flat_load", "global loads"},
  {"^buffer_load", "global loads"}, {"^global_store", "global stores"},
  {"^flat_store", "global stores"}, {"^buffer_store", "global stores"},
  {"^scratch_load", "private loads"}, {"^scratch_store", "private stores"},
  {"^ds_read", "local loads"}, {"^ds_load", "local loads"},
  {"^ds_write", "local stores"}, {"^ds_store", "local stores"},
  {"^ds_", "exchange of lanes"}, {"^s_load", "constants"},
  {"^s_barrier", "barriers and waits"}, {"^s_wait", "barriers and waits"},
  {"^s_c?branch", "control"}, {"^s_endpgm", "control"},
  {"^s_setpc", "control"}, {"^s_swappc", "control"},
  {"^[sv]_", "integer arithmetic"},
}

local function classify_amd(i)
  for _, pair in ipairs(AMD) do
    if i.op:find(pair[1]) then
      i.class = pair[2]
      break
    end
  end
  i.class = i.class or "other"
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

local FLOATS = {ps = "FP32 arithmetic, vectors", pd = "FP64 arithmetic, "
  .. "vectors", ss = "FP32 arithmetic, one lane",
  sd = "FP64 arithmetic, one lane"}
local STEMS = text.set [[add sub mul div max min sqrt dp hadd rcp rsqrt rcp14
  rsqrt14 round rndscale cmp ucomi comi addsub]]
local INTEGERS = {b = 1, w = 2, l = 4, q = 8}

-- Mnemonics that end like one with a size, but have it of their register.
local REGISTER = text.set "sub sbb shl sal rol mul imul cmovl setl cmovb \z
  setb"

-- The bytes that an instruction of x86-64 reads or writes in memory.
local function x86_bytes(op, args)
  args = args:gsub("%b()", "")
  local lane = op:match "s([sd])$"
  if op:find "broadcast" or op:find "^vinsertps" or lane and not args:find
      "%%[yz]mm" and not op:find "^rep" then
    return (op:find "[sd]d$" or op:find "q$") and 8 or 4
  elseif args:find "{1to" then
    return (op:find "pd$" or op:find "q$") and 8 or 4
  end
  local register = args:match "%%([xyz]mm)"
  if op:find "^v?mov[hl]p" or op:find "^v?movq" then
    return 8
  elseif op:find "^v?movd$" then
    return 4
  elseif register then
    return register == "zmm" and 64 or register == "ymm" and 32 or 16
  end
  local extended = op:match "^mov[sz]([bwl])"
  if extended or op:find "^%l+[bwlq]$" and not REGISTER[op] then
    return INTEGERS[extended or op:match "[bwlq]$"]
  end
  local name, part = args:match "%%r(%d+)([dwb]?)"
  if name then
    return INTEGERS[part == "d" and "l" or part ~= "" and part or "q"]
  end
  return args:find "%%r" and 8 or args:find "%%e" and 4
    or args:find "%%%a*l%f[%A]" and 1 or args:find "%%%a" and 2 or nil
end

local function x86_kind(op)
  local stem, lanes = op:match "^v?(.-)([ps][sd])$"
  if stem and (STEMS[stem] or stem:find "^fn?m[as][du]"
      or stem:find "^cmp") then
    return FLOATS[lanes]
  elseif op:find "^v?cvt" then
    return "conversions"
  elseif op:find "^j" or op:find "^call" or op:find "^ret"
      or op == "leave" then
    return "control"
  elseif op:find "^lock" or op:find "^xchg" or op:find "^cmpxchg" then
    return "atomics"
  elseif op:find "^v?p?gather" or op:find "^v?p?scatter" then
    return op:find "gather" and "gathers" or "scatters"
  elseif op:find "^v?mov" or op:find "^push" or op:find "^pop"
      or op:find "^cmov" or op:find "^set" or op:find "^k" or op:find "^vp?%a*"
      and (op:find "broadcast" or op:find "shuf" or op:find "perm"
        or op:find "insert" or op:find "extract" or op:find "unpck"
        or op:find "blend" or op:find "align" or op:find "zero"
        or op:find "expand" or op:find "compress" or op:find "^v?p?extr"
        or op:find "^vpmov" or op:find "^v?pinsr"
        or op:find "^v?[axo]n?[nod]?[dr]p[sd]$") then
    return "moves and shuffles"
  elseif op:find "^v?p" then
    return "integer arithmetic, vectors"
  end
  return op:find "^v" and "other" or "integer arithmetic"
end

local MOVES = text.set [[mov movl movq movb movw movabs movups movaps movupd
  movapd movdqa movdqu movss movsd movd movhps movhpd movlps movlpd movsldup
  movshdup movddup movnti lddqu]]

-- frames: the registers that point to the stack.
local function classify_x86(i, frames)
  local op, args = i.op, i.args
  i.class = x86_kind(op)
  local base = args:match "%((%%?%w*)[,)]"
  if base and not op:find "^lea" and not op:find "^nop"
      and not op:find "^prefetch" and i.class ~= "control" then
    local stores = args:gsub("{.-}", ""):find "%)$"
      and not op:find "^v?u?comi" and not op:find "^cmp"
      and not op:find "^test" and not op:find "^bt"
    local place = base == "%rip" and "constant" or frames[base] and "stack"
      or "memory"
    i.access = ("%s %s"):format(place, stores and "stores" or "loads")
    i.bytes = x86_bytes(op, args)
    local plain = op:gsub("^v", ""):gsub("%d+$", "")
    if place ~= "constant" and (MOVES[plain] or op:find "broadcast"
        or op:find "^mov[sz]") then
      i.class = i.access
    end
    i.whole = not (op:find "broadcast" or args:find "{1to")
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

-- The places that the first one leads to, each after one that leads to it,
-- their numbers in that order, and by place the places that lead there.
local function order_of(list)
  local order, number, before, stack = {}, {}, {[1] = {}}, {{1}}
  local post = {}
  while #stack > 0 do
    local top = stack[#stack]
    local one, other = followers(list, top[1])
    top.n = (top.n or 0) + 1
    local next = top.n == 1 and one or top.n == 2 and other or nil
    if next then
      local known = before[next] ~= nil
      before[next] = before[next] or {}
      table.insert(before[next], top[1])
      if not known then
        stack[#stack + 1] = {next}
      end
    elseif top.n >= 2 then
      post[#post + 1] = table.remove(stack)[1]
    end
  end
  for n = #post, 1, -1 do
    order[#order + 1] = post[n]
    number[post[n]] = #order
  end
  return order, number, before
end

-- By place its immediate dominator (Cooper, Harvey and Kennedy, "A simple,
-- fast dominance algorithm").
local function dominators(order, number, before)
  local up, changed = {[1] = 1}, true
  while changed do
    changed = false
    for n = 2, #order do
      local at, new = order[n], nil
      for _, other in ipairs(before[at]) do
        if up[other] then
          local one = new or other
          while one ~= other do
            if number[one] > number[other] then
              one = up[one]
            else
              other = up[other]
            end
          end
          new = one
        end
      end
      changed = changed or up[at] ~= new
      up[at] = new
    end
  end
  return up
end

-- Gives a loop the lines of the file with most of its instructions.
local function add_lines(loop, list)
  local counts, most = {}, 0
  for _, place in ipairs(loop.places) do
    local i = list[place]
    local file = i.line and i.line > 0 and (i.file or "")
    if file then
      counts[file] = (counts[file] or 0) + 1
      most = math.max(most, counts[file])
    end
  end
  for _, place in ipairs(loop.places) do
    local i = list[place]
    if i.line and i.line > 0 and counts[i.file or ""] == most
        and (not loop.line or loop.file == i.file) then
      loop.file = i.file
      loop.line = math.min(loop.line or i.line, i.line)
      loop.last_line = math.max(loop.last_line or 0, i.line)
    end
  end
end

-- The natural loops of a code: a branch leads back to a place that all ways to
-- the branch pass. Code that a compiler puts behind the rest, and leaves by a
-- branch back, is none.
local function add_loops(code)
  local list, inside = code.list, {} -- by head: the set of a loop's places
  if not list[1] then
    return
  end
  local order, number, before = order_of(list)
  local up = dominators(order, number, before)
  for _, at in ipairs(order) do
    for _, head in ipairs{followers(list, at)} do
      local one = at
      while number[one] > number[head] do
        one = up[one]
      end
      if one == head then
        local set = inside[head] or {[head] = true}
        inside[head] = set
        local stack = {at}
        while #stack > 0 do
          local place = table.remove(stack)
          if not set[place] then
            set[place] = true
            table.move(before[place], 1, #before[place], #stack + 1, stack)
          end
        end
      end
    end
  end
  for _, head in ipairs(text.keys(inside)) do
    local loop = {head = head, places = text.keys(inside[head]), outer = {}}
    for other, set in pairs(inside) do
      loop.outer[#loop.outer + 1] = set[head] and other or nil
    end
    loop.depth = #loop.outer
    for _, place in ipairs(loop.places) do
      list[place].depth = math.max(list[place].depth or 0, loop.depth)
    end
    add_lines(loop, list)
    code.loops[#code.loops + 1] = loop
  end
  for _, loop in ipairs(code.loops) do -- itself is the last of its outer loops
    table.sort(loop.outer, function(a, b)
      return inside[b][a] == nil and a ~= b
    end)
  end
  table.sort(code.loops, function(a, b)
    for n = 1, math.min(a.depth, b.depth) do
      if a.outer[n] ~= b.outer[n] then
        return a.outer[n] < b.outer[n]
      end
    end
    return a.depth < b.depth
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
--- nil: none), called (of a function of the compiler)}, loops has {head,
--- places (in list), depth, file, line, last_line}. where(file, line) gives
--- the file (nil: the kernel's own text) and the line for those of the
--- listing. nil where the listing lacks the kernel.
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

-- The functions of objdump's listing: {name =, rows =} in turn.
local function functions_of(listing)
  local list = {}
  for row in listing:gmatch "[^\r\n]+" do
    local name = row:match "^%x+ <(.-)>:$"
    if name then
      list[#list + 1] = {name = name, rows = {}}
      list[name] = list[#list]
    elseif list[1] then
      table.insert(list[#list].rows, row)
    end
  end
  return list
end

--- listing.objdump(listing, kernel, where, machine) -> code, or nil
--- The same of what `objdump -dl` or `llvm-objdump -dl` prints; machine:
--- "x86-64" or "AMD".
function M.objdump(listing, kernel, where, machine)
  local list = functions_of(listing)
  local f = list[kernel] or list["_pocl_kernel_" .. kernel]
  local all, marks, frames, line, file = {}, {}, {["%rsp"] = true}, nil, nil
  for _, row in ipairs(f and f.rows or {}) do
    local name, n = row:match "^;? ?(%S.-):(%d+)%f[^%d]"
    local address, rest = row:match "^%s+(%x+):%s+(.-)%s*$"
    local comment
    if not address then
      rest, address, comment = row:match "^%s+(.-)%s*// 0*(%x+):(.*)$"
      address = address or rest and "0"
    end
    if rest then
      rest = rest:gsub("%s+# .*$", "")
      local op, args = rest:match "^(%S+)%s*(.*)$"
      if op == "notrack" or op == "bnd" or op:find "^{" then
        op, args = args:match "^(%S+)%s*(.*)$"
      end
      local target = (comment or args):match "<.-%+?0?x?(%x*)>"
      all[#all + 1] = {address = address, text = rest, op = op, args = args,
        line = line, file = file}
      marks[address] = #all
      if machine == "x86-64" then
        target = op:find "^j" and args:match "^(%x+)%s"
        local register = rest:match "^mov%s+%%rsp,(%%r%wx?)$"
          or rest:match "^mov%s+%%rsp,(%%rbp)$"
        if register == "%rbx" or register == "%rbp" then
          frames[register] = true
        end
      end
      all[#all].target = op:find "^j" and target
        or op:find "^s_c?branch" and target and target:upper() or nil
    elseif name then
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
