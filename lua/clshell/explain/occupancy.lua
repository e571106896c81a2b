-- explain/occupancy.lua - occupancy: the work-items of a kernel that share a
-- compute unit, from the registers and local memory that the driver tells, or
-- for any figures on a named GPU
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local gpus = require "clshell.base.gpus"
local listing = require "clshell.ladder.listing"
local options = require "clshell.base.options"
local program = require "clshell.ladder.program"
local ptx = require "clshell.ladder.ptx"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"
local tiling = require "clshell.ladder.tiling"

local M = require "clshell.base.lazy".table(...)

local Occupancy = {__name = "occupancy"}
Occupancy.__index = Occupancy

local MOST = 4096 -- rows of a sweep
local LARGEST = 1024 -- work-items of a work-group, on all of these GPUs
local REGISTER_UNIT, PARTITIONS = 256, 4 -- where the limits lack them

--- occupancy.limits(dev) -> table; nil, reason
--- The limits of a compute unit of the device: {items, groups, registers,
--- local_bytes, warp, unit (local memory comes in pieces of so many bytes),
--- reserve (bytes that each group takes besides), partitions (of the register
--- file: a warp's registers lie in one), register_unit (a warp's registers
--- come in such pieces), most_registers (of a work-item), most_local (bytes of
--- a work-group), source}. Known for NVIDIA's GPUs, by their compute
--- capability.
--- Example:
--- print(occupancy.limits(cl.device())) -- nil and the reason where not known
function M.limits(dev)
  local major = dev.nv_compute_capability_major
  if not major then
    return nil, "this driver tells no registers"
  end
  local name = ("%d.%d"):format(major, dev.nv_compute_capability_minor or 0)
  local limits = gpus.nvidia(name)
  if not limits then
    return nil, ("the limits of compute capability %s are unknown"):format(
      name)
  end
  limits.warp = dev.nv_warp_size or limits.warp
  return limits
end

-- The registers that a warp takes, and the warps for which a unit has them.
local function register_share(registers, limits)
  local per_warp = tiling.roundup(registers * limits.warp,
    limits.register_unit or REGISTER_UNIT)
  local partitions = limits.partitions or PARTITIONS
  return limits.registers // partitions // per_warp * partitions
end

local function warps_of(items, limits)
  return tiling.groups(items, limits.warp)
end

--- occupancy.of(use, limits) -> table
--- The occupancy of a kernel with use.items in a work-group, use.registers of
--- a work-item and use.local_bytes of a group. The result: groups, warps and
--- items that a unit holds at a time; share (warps over the unit's limit of
--- warps); by (the limit reached first: "registers", "local memory",
--- "work-items" or "work-groups"). NVIDIA's occupancy calculator has the same
--- arithmetic: registers go to a warp in pieces from a partition of the file,
--- local memory to a group in pieces of `unit`.
--- Example:
--- local limits = {items = 2048, groups = 32, registers = 65536, warp = 32,
---   local_bytes = 233472, unit = 128, reserve = 1024, source = "by hand"}
--- local o = occupancy.of({items = 256, registers = 128, local_bytes = 0},
---   limits)
--- print(o.groups, o.share, o.by) --> 2 0.25 registers
function M.of(use, limits)
  local warps = warps_of(use.items, limits)
  local bytes = tiling.roundup(use.local_bytes + limits.reserve, limits.unit)
  local groups, by
  for _, pair in ipairs{
      {"work-groups", warps > 1 and limits.barriers or limits.groups},
      {"work-items", limits.items // (warps * limits.warp)},
      {"registers", register_share(use.registers, limits) // warps},
      {"local memory", limits.local_bytes // math.max(1, bytes)}} do
    if not groups or pair[2] < groups then
      by, groups = pair[1], math.tointeger(pair[2])
    end
  end
  return {groups = groups, items = groups * use.items, by = by,
    warps = groups * warps,
    share = groups * warps * limits.warp / limits.items}
end

--- occupancy.registers(log, kernel) -> registers, spilled, local; nil
--- The figures of NVIDIA's assembler for a kernel in a build log made with
--- -cl-nv-verbose: registers of a work-item, bytes that it spills, bytes of
--- local memory of a work-group; nil where the log lacks the kernel.
--- Example: print(occupancy.registers("nothing about it", "tiled")) --> nil
function M.registers(log, kernel)
  local found = listing.figures(log, kernel)
  if not found then
    return nil
  end
  return found.registers, found.spilled, found.local_bytes
end

local told = setmetatable({}, {__mode = "k"}) -- context -> key -> answer
local count = 0

-- A kernel that no build had before: a driver with a cache of programs writes
-- no log for a program that it knows.
local function unknown_kernel()
  count = count + 1
  return ("\nkernel void clshell_probe(global int *p) { *p = %d; }\n"):format(
    (os.time() * 1000 + count) % 0x7fffffff)
end

-- The assembler's figures for a kernel, from the log of a build of its source
-- with `opts` of cl.build, or of the edited text of a rung that has one; one
-- build for each `key`. nil and the reason where the driver tells no figures.
local function figures(kernel, source, opts, key, edited)
  local context = opts.context
  if not context.device.nv_compute_capability_major then
    return nil, "this driver tells no registers"
  end
  local known = told[context] or {}
  told[context] = known
  if known[key] == nil then
    opts.options = (opts.options and opts.options .. " " or "")
      .. "-cl-nv-verbose"
    local ok, registers, spilled, bytes = pcall(function()
      local built <close> = cl.build(source .. unknown_kernel(), opts)
      local last <close> = edited and assert(ptx.rebuild(built, opts)) or nil
      return M.registers((last or built).log, kernel)
    end)
    known[key] = ok and registers and {registers = registers,
      spilled = spilled, local_bytes = bytes,
      source = "the assembler's figures in the build log"} or false
  end
  return known[key] or nil, "the build log names no registers"
end

--- occupancy.kernel(rung, kernel, defines, options, context) -> table; nil,
--- reason
--- The use of a rung's built kernel, a Kernel: {registers, spilled (bytes),
--- local_bytes, source}. NVIDIA's driver writes registers into the build log
--- of one more build. Other drivers tell none.
--- Example:
--- local rung, defines = gemm.rung "tiled", {TILE = 16, REAL = "float"}
--- local prog = cl.build("gemm/tiled.cl", {defines = defines})
--- print(occupancy.kernel(rung, prog.gemm, defines, nil, cl.context()))
function M.kernel(rung, kernel, defines, opts, context)
  local words = text.fields(defines)
  table.move({rung.path or rung.source, kernel.name, opts}, 1, 3, #words + 1,
    words)
  return figures(kernel.name, assert(program.source(rung)), {
    context = context, defines = defines, name = rung.path or rung.name,
    options = opts, include = rung.path and program.folder(rung.path) or nil,
  }, table.concat(words, "\0"), rung.ptx)
end

-- The assembler's figures for any Kernel.
local function kernel_figures(kernel)
  local built = kernel.program
  if not built.source then
    return nil, "a program from a binary has no source to build again"
  end
  local source = built.defines .. built.source
  return figures(kernel.name, source, {context = built.context,
    options = built.options:gsub("%-cl%-kernel%-arg%-info%s*", ""),
  }, table.concat({kernel.name, built.options, source}, "\0"))
end

--- occupancy.words(use, o, limits) -> string
--- An occupancy in words, with its grounds.
--- Example:
--- local limits = {items = 2048, groups = 32, registers = 65536, warp = 32,
---   local_bytes = 233472, unit = 128, reserve = 1024, source = "by hand"}
--- local use = {items = 256, registers = 128, local_bytes = 0,
---   source = "a log"}
--- print(occupancy.words(use, occupancy.of(use, limits), limits))
function M.words(use, o, limits)
  return ("%d registers a work-item and %s of local memory a work-group let "
    .. "%d groups, %d of %d work-items (%.0f %%), share a unit, by %s"):format(
      use.registers, text.bytes(use.local_bytes), o.groups, o.items,
      limits.items, 100 * o.share, o.by)
end

-- The driver's figures for the kernel, as use {registers, local_bytes,
-- spilled}, and notes on the other figures.
local function told_of(kernel)
  local use, reason = kernel_figures(kernel)
  local hidden = kernel.private_mem_size or 0
  local notes = {not use and ("%s, and no spills%s"):format(reason, hidden > 0
      and ("; %s of private memory of a work-item may be arrays or spills")
      :format(text.bytes(hidden)) or "")
    or use.spilled > 0 and ("the assembler tells %s of spill stores and loads "
      .. "of a work-item"):format(text.bytes(use.spilled))
    or "the assembler tells no spills"}
  for _, arg in ipairs(kernel.args) do
    if arg.space == "local" then
      notes[#notes + 1] = ("local_bytes leaves out the parameter %s, as its "
        .. "size comes with the call"):format(arg.name)
    end
  end
  -- where a kernel has no local memory, NVIDIA's driver tells 1 byte
  use = use or {local_bytes = kernel.local_mem_size or 0}
  return {registers = use.registers, local_bytes = use.local_bytes,
    spilled = use.spilled}, notes
end

-- Values where neither the caller nor the driver gives one.
local USUAL = {wg = {64, 128, 256, 512, 1024}, registers = {32, 64, 128, 255},
  local_bytes = {0}}
local LOW = {wg = 1, registers = 1, local_bytes = 0}

-- The values of an option: of a number, a list, or a range.
local function values_of(name, value)
  local what = "occupancy: " .. name
  if type(value) == "string" then
    value = argument.range(value, what, MOST)
  end
  local list = type(value) == "table" and value or {value}
  if not list[1] then
    cl.error(what .. " must have a value; got none", {arg = name})
  end
  for _, v in ipairs(list) do
    argument.integer("occupancy", name, v, LOW[name])
  end
  return list
end

-- Why no work-group of this use fits, if none does.
local function misfit_of(use, limits)
  if use.items > LARGEST then
    return ("a work-group has at most %d work-items"):format(LARGEST)
  elseif use.registers > limits.most_registers then
    return ("a work-item has at most %d registers"):format(
      limits.most_registers)
  elseif use.local_bytes > limits.most_local then
    return ("a work-group has at most %s of local memory"):format(
      text.bytes(limits.most_local))
  elseif register_share(use.registers, limits)
      < warps_of(use.items, limits) then
    return ("a work-group has %s, a unit registers for %d"):format(
      text.count(warps_of(use.items, limits), "warp"),
      register_share(use.registers, limits))
  end
end

-- The most registers of a work-item, and the most bytes of local memory of a
-- work-group, at which a unit holds `groups` groups; `use` has the upper limit
-- of both. nil where a unit holds fewer groups in any case.
local function room(use, limits, groups)
  if use.items > LARGEST then
    return nil
  end
  local warps = warps_of(use.items, limits)
  local registers = math.min(use.registers, limits.most_registers)
  while registers > 0
      and register_share(registers, limits) // warps < groups do
    registers = registers - 1
  end
  local bytes = math.min(use.local_bytes, limits.most_local,
    limits.local_bytes // groups // limits.unit * limits.unit
    - limits.reserve)
  local o = registers > 0 and bytes >= 0 and M.of({items = use.items,
    registers = registers, local_bytes = bytes}, limits)
  if o and o.groups >= groups then
    return registers, bytes
  end
end

-- "3 groups at 80 registers and 45 KiB", "100 % at wg 512"; nil where no step
-- leads further.
local function step_of(row, limits)
  local use = {items = row.wg, registers = row.registers,
    local_bytes = row.local_bytes}
  local groups = row.groups + 1
  local registers, bytes = room(use, limits, groups)
  if registers then
    local parts = {}
    if registers < row.registers then
      parts[1] = text.count(registers, "register")
    end
    if bytes < row.local_bytes then
      parts[#parts + 1] = text.bytes(bytes)
    end
    return ("%s at %s"):format(text.count(groups, "group"),
      table.concat(parts, " and "))
  end
  local best
  for items = limits.warp, LARGEST, limits.warp do
    use.items = items
    local share = not misfit_of(use, limits)
      and M.of(use, limits).share or 0
    if share > (best and best.share or row.share) then
      best = {items = items, share = share}
    end
  end
  return best and ("%.0f %% at wg %d"):format(100 * best.share, best.items)
    or nil
end

-- The rows of all combinations of the values of the axes.
local function rows_of(values, limits)
  local rows = {}
  for _, wg in ipairs(values.wg) do
    for _, registers in ipairs(values.registers) do
      for _, bytes in ipairs(values.local_bytes) do
        local use = {items = wg, registers = registers, local_bytes = bytes}
        local misfit = misfit_of(use, limits)
        local row = misfit and {groups = 0, warps = 0, items = 0, share = 0}
          or M.of(use, limits)
        row.wg, row.registers, row.local_bytes = wg, registers, bytes
        row.misfit = misfit
        rows[#rows + 1] = row
      end
    end
  end
  return rows
end

-- Whether a row is better: more occupancy, then more registers and local
-- memory to use, then the smaller work-group.
local function better(row, other)
  for _, key in ipairs{"share", "registers", "local_bytes"} do
    if row[key] ~= other[key] then
      return row[key] > other[key]
    end
  end
  return row.wg < other.wg
end

local AXES = {"wg", "registers", "local_bytes"}

local COLUMNS = {
  {key = "wg", title = "wg", align = "right"},
  {key = "registers", title = "registers", align = "right"},
  {key = "local_bytes", title = "local bytes", align = "right"},
  {key = "groups", title = "groups", align = "right", drop = 1},
  {key = "warps", title = "warps", align = "right", drop = 2},
  {title = "occupancy", align = "right", key = function(row)
    return ("%.0f %%"):format(100 * row.share)
  end},
  {title = "limit", wrap = true, key = function(row)
    return row.misfit and "does not fit: " .. row.misfit or row.by
  end},
  {title = "next step", wrap = true, key = "step"},
}

local WORDS = {
  wg = function(row)
    return ("work-groups of %d"):format(row.wg)
  end,
  registers = function(row)
    return text.count(row.registers, "register") .. " a work-item"
  end,
  local_bytes = function(row)
    return row.local_bytes > 0 and ("%s of local memory a work-group"):format(
      text.bytes(row.local_bytes)) or "no local memory"
  end,
}

-- A row in words: its values on the axes that vary, or on the other axes.
local function words_of(o, row, varied)
  local parts = {}
  for _, axis in ipairs(AXES) do
    if (#o.values[axis] > 1) == varied then
      parts[#parts + 1] = WORDS[axis](row)
    end
  end
  return table.concat(parts, ", ")
end

--- Occupancy:table([width]) -> string
--- The table of an occupancy result, in so many columns (the window's): a row
--- for each case. groups, warps: the numbers that a unit holds at a time;
--- occupancy: warps over the most that the unit holds; limit: the limit
--- reached first; next step: the most registers and local memory that give one
--- group more, else the work-group that gives the most.
--- Example:
--- print(occupancy{gpu = "A100", wg = "64..256:64", registers = 48}:table(60))
function Occupancy:table(width)
  width = width or report.width()
  local limits, lines, columns = self.limits, {}, {}
  local function put(words)
    lines[#lines + 1] = text.hang("", words, width)
  end
  for i, column in ipairs(COLUMNS) do
    if not AXES[i] or #self.values[AXES[i]] > 1 then
      columns[#columns + 1] = column
    end
  end
  put(("occupancy: %s; a unit holds %d work-items in warps of %d, %d "
    .. "work-groups, %d registers, %s of local memory (%s)"):format(self.gpu,
    limits.items, limits.warp, limits.groups, limits.registers,
    text.bytes(limits.local_bytes), limits.source))
  local same = words_of(self, self.best, false)
  if same ~= "" then
    put(same)
  end
  lines[#lines + 1] = report.format(self.rows, columns, {width = width})
  if #self.rows > 1 and self.best.share > 0 then
    put(("best: %.0f %% with %s"):format(100 * self.best.share,
      words_of(self, self.best, true)))
  end
  for _, note in ipairs(self.notes) do
    put(note)
  end
  return table.concat(lines, "\n")
end

Occupancy.__tostring = Occupancy.table

local LABELS = {wg = "work-items of a work-group",
  registers = "registers of a work-item",
  local_bytes = "bytes of local memory of a work-group"}

-- All values of an axis, up to the GPU's limit.
local function whole(axis, limits)
  local first, last, step = 1, limits.most_registers, 1
  if axis == "wg" then
    first, last, step = limits.warp, LARGEST, limits.warp
  elseif axis == "local_bytes" then
    first, last, step = 0, limits.most_local, 1024
  end
  local list = {}
  for value = first, last, step do
    list[#list + 1] = value
  end
  return list
end

--- Occupancy:plot([axis [, opts]]) -> chart
--- The occupancy over all values of "wg", "registers" or "local_bytes" (the
--- first of them that the sweep varies, else "registers"), with a line for
--- each combination of the other two in the sweep. Options as for plot.line.
--- Example:
--- local o = occupancy{gpu = "T4", wg = {128, 256}, registers = 64}
--- print(o:plot "registers")
function Occupancy:plot(axis, opts)
  if axis == nil then
    axis = "registers"
    for i = #AXES, 1, -1 do
      axis = #self.values[AXES[i]] > 1 and AXES[i] or axis
    end
  elseif not LABELS[axis] then
    cl.error("Occupancy:plot: " .. text.unknown("axis", axis, AXES))
  end
  local values, varied = {}, {}
  for _, name in ipairs(AXES) do
    values[name] = name == axis and whole(axis, self.limits)
      or self.values[name]
    varied[#varied + 1] = name ~= axis and #values[name] > 1 and name or nil
  end
  local all = {x = axis, y = function(row)
    return 100 * row.share
  end, x_label = LABELS[axis], y_label = "occupancy, %", log_x = false,
    title = "occupancy, " .. self.gpu, by = varied[1] and function(row)
    return text.values(varied, " ", function(name)
      return ("%s=%d"):format(name, row[name])
    end)
  end or nil}
  return require "clshell.results.charts".line(rows_of(values, self.limits),
    options.with(all, options.given(opts)))
end

-- The GPU of a call: its name and limits, of the option gpu or of the device.
local function gpu_of(opts, dev)
  local gpu = opts.gpu
  if gpu == nil then
    gpu = dev.pretends
  end
  if gpu ~= nil then
    local name, known = gpus.named(gpu, "occupancy")
    if not known.unit then
      cl.error(("occupancy: %s: its registers and work-groups of a unit are "
        .. "not known"):format(name), {arg = "gpu"})
    end
    return name, known.unit
  end
  local limits, reason = M.limits(dev)
  if not limits then
    cl.error(("occupancy: %s: %s"):format(dev.name, reason),
      {hint = 'name a GPU: {gpu = "H100"}', arg = "gpu"})
  end
  return dev.name, limits
end

-- The kernel, work-items of a work-group and options of a call.
local function arguments(subject, opts)
  if type(subject) == "table" and getmetatable(subject) == nil
      and not subject.commands and opts == nil then
    return nil, nil, subject
  elseif type(subject) == "table" and subject.commands then
    subject = subject.commands[subject.main].launch -- of a plan
  end
  local class = text.class(subject)
  if class == "Launch" or class == "Kernel" then
    local kernel, key = subject, "required_work_group_size"
    if class == "Launch" then
      kernel, key = subject.kernel, "localsize"
    end
    local items = subject[key] and 1
    for _, size in ipairs(subject[key] or {}) do
      items = items * size
    end
    return kernel, items, opts
  end
  cl.error(("occupancy: launch must be a Launch, a Kernel or a table; got %s")
    :format(text.got(subject)), {arg = "launch", hint =
      'occupancy(k:range(n, 256)), or occupancy{gpu = "H100", wg = 256}'})
end

--- occupancy(launch [, opts]) -> Occupancy
--- How many work-items of a kernel share a compute unit, and what limits
--- them: of a launch, of a Kernel, or with no kernel at all:
--- `occupancy{gpu = "H100", wg = 256, registers = 64}`. A list
--- ({64, 128, 256}) or a range ("32..1024:32") sweeps an option. The result
--- prints as a table (see Occupancy:table), Occupancy:plot draws it; `rows`
--- has a table for each case {wg, registers, local_bytes, groups, warps,
--- items, share, by, step, misfit}, `best` the row with the most occupancy and
--- then the most registers, `spilled` the bytes that a work-item spills and
--- loads again, by the code. NVIDIA's driver tells the registers and spills of
--- a kernel, other drivers do not: a few usual values stand for the registers
--- then.
--- Options:
---   gpu  the device  a GPU such as "H100", "RTX 4090" or "MI300", or an
---                    NVIDIA compute capability such as "8.6"
---   wg   the launch's, or 64 to 1024  work-items of a work-group
---   registers    the kernel's, or 32 to 255  of a work-item; of MI200 and
---                    MI300 the vector registers
---   local_bytes  the kernel's, or 0  local memory of a work-group
--- Example:
--- print(occupancy{gpu = "H100", wg = 256, registers = {32, 64, 128}})
--- local r = occupancy{gpu = "RTX 4090", wg = 256, registers = 80}
--- print(r.best.groups, r.best.by) --> 3 registers
--- print(r.best.step) --> 4 groups at 64 registers
--- local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
--- print(occupancy(k:range(4096, 256), {gpu = "A100"}))
local function occupancy(launch, opts)
  local kernel, wg
  kernel, wg, opts = arguments(launch, opts)
  opts = options.check(opts, "occupancy")
  local gpu, limits = gpu_of(opts, kernel and kernel.program.context.device
    or opts.gpu == nil and cl.device())
  local use, notes = {}, {}
  if kernel then
    use, notes = told_of(kernel)
  end
  use.wg = wg
  local values, n = {}, 1
  for _, axis in ipairs(AXES) do
    values[axis] = opts[axis] ~= nil and values_of(axis, opts[axis])
      or use[axis] and {use[axis]} or USUAL[axis]
    n = n * #values[axis]
  end
  if n > MOST then
    cl.error(("occupancy: a sweep has at most %d cases; got %d"):format(MOST,
      n))
  end
  local o = setmetatable({gpu = gpu, limits = limits, values = values,
    rows = rows_of(values, limits), notes = notes, spilled = use.spilled},
    Occupancy)
  local opencl = limits.opencl_local or math.huge
  local beyond, odd = false, nil
  for _, row in ipairs(o.rows) do
    row.step = step_of(row, limits)
    o.best = (not o.best or better(row, o.best)) and row or o.best
    odd = odd or row.wg % limits.warp > 0 and row.wg or nil
    beyond = beyond or not row.misfit and row.local_bytes > opencl
  end
  if odd then
    notes[#notes + 1] = ("a work-group of %d leaves %d of the %d lanes of its "
      .. "last warp idle"):format(odd, -odd % limits.warp, limits.warp)
  end
  if beyond then
    notes[#notes + 1] = ("NVIDIA's OpenCL gives a work-group at most %s; CUDA "
      .. "and programs of edited PTX text get more"):format(text.bytes(opencl))
  end
  return o
end

return require "clshell.base.lazy".callable(M, occupancy)
