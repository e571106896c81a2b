-- explain/counters.lua - counters: what a GPU counts in a launch, beside what
-- access models. NVIDIA's profiler ncu sees no launch of OpenCL, so a child
-- process under ncu runs the same PTX text by CUDA's driver, on copies of the
-- arguments (src/shell/cudarun.c).
-- SPDX-License-Identifier: MIT

local access = require "clshell.explain.access"
local cl = require "cl"
local file = require "clshell.base.file"
local interrupt = require "clshell.base.interrupt"
local jobs = require "clshell.explain.job"
local machine = require "clshell.base.machine"
local options = require "clshell.base.options"
local parcel = require "clshell.calls.parcel"
local ptx = require "clshell.ladder.ptx"
local quantity = require "clshell.base.quantity"
local report = require "clshell.results.tables"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local Counters = {__name = "counters"}
Counters.__index = Counters

local ALIGNED = 256 -- bytes to which CUDA's driver aligns memory
local PERMISSION = "as root; or for all users, until the driver is loaded "
  .. "anew: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in a file of "
  .. "/etc/modprobe.d, then reboot; in a container: --cap-add SYS_ADMIN"

-- The names of metrics in other versions of ncu.
local OTHERS = {["dram__bytes_read.sum"] = "dram__bytes_op_read.sum",
  ["dram__bytes_write.sum"] = "dram__bytes_op_write.sum"}

-- The seconds and bytes of ncu's units; older versions have long names.
local SCALES = {ns = 1e-9, nsecond = 1e-9, us = 1e-6, usecond = 1e-6,
  ms = 1e-3, msecond = 1e-3, Kbyte = 1e3, Mbyte = 1e6, Gbyte = 1e9}

-- The rows of a result, each with the metric, or the two whose ratio counts.
-- `field` is that of access's rows of a memory and kind, less the field
-- `less`, over the requests where the row has a ratio.
local ROWS = {}

local function add(rows)
  table.move(rows, 1, #rows, #ROWS + 1, ROWS)
end

for kind, op in pairs{load = "ld.sum", store = "st.sum"} do
  local global = "l1tex__t_%s_pipe_lsu_mem_global_op_" .. op
  local requests = "smsp__sass_inst_executed_op_shared_" .. op
  add{{"global %s requests", global:format "requests", field = "requests"},
    {"global %s sectors a request", global:format "sectors",
      global:format "requests", field = "sectors"},
    {"local %s bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_"
      .. "shared_op_" .. op, field = "passes", less = "ideal"},
    {"local %s passes a request", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_"
      .. "mem_shared_op_" .. op, requests, field = "passes"},
    {"local %s requests", requests, field = "requests"},
    {"private %s sectors (spills)", "l1tex__t_sectors_pipe_lsu_mem_local_op_"
      .. op}}
  for i = #ROWS - 5, #ROWS do
    local row = ROWS[i]
    row.kind, row.space = kind, row[1]:match "%a+"
    row[1] = row[1]:format(kind)
  end
end
table.sort(ROWS, function(a, b)
  return a[1] < b[1]
end)
add{{"L1 hits", "l1tex__t_sector_hit_rate.pct", unit = "%"},
  {"L2 sectors from L1", "lts__t_sectors_srcunit_tex.sum", total = "sectors"},
  {"L2 sectors a request", "lts__t_sectors_srcunit_tex.sum",
    "lts__t_requests_srcunit_tex.sum"},
  {"L2 hits", "lts__t_sector_hit_rate.pct", unit = "%"},
  {"DRAM read", "dram__bytes_read.sum", unit = "B"},
  {"DRAM written", "dram__bytes_write.sum", unit = "B"},
  {"occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active",
    unit = "%"},
  {"instructions of warps", "smsp__inst_executed.sum"}}
for class in ("fp16 fp32 fp64 integer conversion memory control misc"):gmatch
    "%S+" do
  add{{("  %s, of lanes"):format(class),
    ("smsp__sass_thread_inst_executed_op_%s_pred_on.sum"):format(class)}}
end
add{{"  tensor, of warps", "sm__inst_executed_pipe_tensor.sum"},
  {"tensor units busy", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_"
    .. "sustained_active", unit = "%"},
  {"time under ncu", "gpu__time_duration.sum", unit = "s"}}

-- What access models of a row; nil: it has no model.
local function modelled(row, a)
  local scale = a.groups / math.max(1, a.looked)
  if row.total then
    return a.total.global[row.total] * scale
  end
  local n, requests = 0, 0
  for _, one in ipairs(row.field and a.rows or {}) do
    if one.space == row.space and one.kind == row.kind then
      n = n + one[row.field] - (one[row.less] or 0)
      requests = requests + one.requests
    end
  end
  if row[3] then
    return requests > 0 and n / requests or nil
  end
  return row.field and n * scale
end

-- The metrics that ncu is to count, by name; not all versions and GPUs have
-- all of them.
local function metrics()
  local set = {}
  for _, row in ipairs(ROWS) do
    set[row[2]], set[row[3] or row[2]] = true, true
  end
  return set
end

-- Takes the metrics that a log calls unknown out of a set, or puts others in
-- their place; false: none is.
local function drop(set, log)
  local unknown = log:match "[Ff]ailed to find metric[^\n]-(%l%w*__[%w_]+)"
  local dropped = false
  for name in pairs(unknown and options.with({}, set) or {}) do
    if name:match "^[^.]+" == unknown then
      set[name], dropped = nil, true
      set[OTHERS[name] or false] = OTHERS[name] and true or nil
    end
  end
  return dropped
end

-- counters.replay(path)
-- In the child: runs the launch that a file describes.
function M.replay(path)
  local task = parcel.unpack(assert(file.read(path)))
  require "clshell.cudarun".run(task.text, task.name, task.bus, task.sizes,
    task.memories, task.args)
end

--- counters.parse(csv) -> table, or nil
--- The metrics by name, in base units, of the table that ncu --csv --page raw
--- prints of one kernel; nil where there is no such table. A metric that ncu
--- could not count is left out.
--- Example:
--- local counters = require "clshell.counters"
--- local found = counters.parse [[
--- "ID","Kernel Name","x.sum"
--- "","","byte"
--- "0","f","1,024"
--- ]]
--- print(counters.parse "==ERROR== no", found["x.sum"]) --> nil 1024
function M.parse(csv)
  local names, found
  local units = {}
  for line in csv:gmatch "[^\r\n]+" do
    local cells = {}
    for cell in line:gmatch '"([^"]*)"' do
      cells[#cells + 1] = cell
    end
    if line:find('"Kernel Name"', 1, true) then
      names = cells
    elseif names and #cells == #names and cells[1] == "" then
      units = cells
    elseif names and #cells == #names then
      found = found or {}
      for i, name in ipairs(names) do
        local x = tonumber((cells[i]:gsub(",", "")))
        found[name] = x and x * (SCALES[units[i]] or 1)
      end
    end
  end
  return found
end

-- Raises the reason why ncu counted nothing, by what it wrote and what the
-- child wrote.
local function refuse(log, said)
  if (log .. said):find "ERR_NVGPUCTRPERM" then
    cl.error("counters: NVIDIA's driver lets only the administrator read the "
      .. "GPU's counters (ERR_NVGPUCTRPERM)", {hint = PERMISSION})
  end
  cl.error("counters: ncu counted nothing: " .. (said:match "clshell: ([^\n]+)"
    or (log .. said):match "==ERROR== ([^\n]+)" or said:match "[^\n]+"
    or "no reason given"))
end

-- counters.measure(task) -> table
-- The metrics of a launch, a task of counters.replay, that ncu counts in a
-- child process. Raises where ncu is missing, is refused, or fails.
function M.measure(task)
  local program = cl.commandline and cl.commandline.program
    or cl.error "counters: only the program clshell has child processes"
  local ncu = machine.tool "ncu" or cl.error("counters: NVIDIA's profiler ncu "
    .. "is neither in PATH nor in the folders of CUDA_HOME and "
    .. "/usr/local/cuda",
    {hint = "it is Nsight Compute, a part of CUDA's toolkit"})
  local path, _ <close> = file.temporary ".task"
  local log, _ <close> = file.temporary ".csv"
  file.write(path, assert(parcel.pack(task)), "the launch")
  local set, more = metrics(), true
  while more do
    local pipe <close> = assert(io.popen(text.values({ncu, "--csv", "--page",
      "raw", "--print-units", "base", "--log-file", log, "--target-processes",
      "all", "--metrics", table.concat(text.keys(set), ","), program, "-q",
      "-n", "--store", "none", "--color", "never", "-e",
      ("require('clshell.explain.counters').replay(%q)"):format(path)}, " ",
      text.quote) .. " 2>&1"))
    local said = pipe:read "a"
    local csv = assert(file.read(log))
    local found = M.parse(csv)
    if found then
      return found
    end
    more = drop(set, csv .. said) or refuse(csv, said)
  end
end

-- The bytes of a value of an argument of a kernel.
local function bytes_of(param, value)
  return value == cl.null and ("\0"):rep(8) or (text.class(value) == "Value"
    and value or cl[param.type](value)).data
end

-- counters.task(launch, args) -> table
-- A launch with copies of its arguments, for counters.measure. Raises where
-- CUDA's driver cannot run it.
function M.task(of, args)
  local kernel, job = of.kernel, jobs.new("counters", true)
  local launch, dev = jobs.add(job, of, args), kernel.program.context.device
  local task = {name = "clshell_counted", memories = {}, args = {},
    sizes = {}, bus = ("%04x:%02x:%02x.0"):format(dev.nv_pci_domain_id or 0,
    dev.nv_pci_bus_id or 0, dev.nv_pci_slot_id or 0)}
  for i = 1, 3 do
    local n, size = launch.global[i] or 1, launch.localsize[i] or 1
    if n % size ~= 0 then
      cl.error(("counters: CUDA takes whole work-groups; local %d does not "
        .. "divide global %d"):format(size, n))
    end
    task.sizes[i], task.sizes[i + 3] = n // size, size
  end
  for _, n in ipairs(launch.offset or {}) do
    if n ~= 0 then
      cl.error("counters: CUDA knows no offset of a launch; got " .. n)
    end
  end
  for i, m in ipairs(job.memories) do
    local first, parts = m.first // ALIGNED * ALIGNED, {}
    table.sort(m.pieces, function(a, b) return a.first < b.first end)
    local at = first
    for _, a in ipairs(m.pieces) do
      local own = job.buffers[a]
      local content = own:as("char"):view(1, own.bytes):read():tobytes()
      local known = math.max(0, at - a.first) -- bytes of an earlier piece
      parts[#parts + 1] = ("\0"):rep(a.first - at) .. content:sub(known + 1)
      at = math.max(at, a.first + #content)
    end
    task.memories[i] = table.concat(parts)
    m.number, m.begin = i, first
  end
  local dynamic, locals = 0, {}
  for i, a in ipairs(launch.args) do
    if a.memory then
      task.args[i] = {a.memory.number, a.first - a.memory.begin}
    elseif text.class(a.value) == "Local" then
      locals[i - 1] = dynamic -- the n-th parameter ends in _param_n, from 0
      task.args[i] = ("\0"):rep(8)
      dynamic = (dynamic + a.value.count * cl.typesize(a.value.type) + 15)
        // 16 * 16
    else
      task.args[i] = bytes_of(kernel.args[i], a.value)
    end
  end
  task.sizes[7] = dynamic
  local why
  task.text, why = ptx.for_cuda(kernel.program:binary{raw = true}, kernel.name,
    task.name, locals)
  return task.text and task or cl.error("counters: " .. why)
end

-- f(...), or nil and the message of its error; Ctrl-C goes on.
local function try(f, ...)
  local ok, result = interrupt.pcall(f, ...)
  if ok then
    return result
  end
  return nil, type(result) == "table" and result.message or tostring(result)
end

-- counters.beside(found, model [, occupied]) -> Counters
-- The metrics of counters.measure beside the result of access, or nil, and
-- the occupancy that the code allows, in per cent.
function M.beside(found, model, occupied)
  local rows = {}
  for _, row in ipairs(ROWS) do
    local name, metric, over = table.unpack(row)
    local value = found[metric] or found[OTHERS[metric] or ""]
    if value and over then
      value = (found[over] or 0) > 0 and value / found[over] or nil
    end
    local expected = name == "occupancy" and occupied
      or model and modelled(row, model) or nil
    if (value or 0) ~= 0 or (expected or 0) ~= 0 then
      rows[#rows + 1] = {name = name, unit = row.unit, counter = value,
        model = expected, metric = metric}
    end
  end
  return setmetatable({rows = rows, metrics = found, access = model},
    Counters)
end

-- A column of numbers in the units of their rows.
local function column(key)
  return {title = key, align = "right", key = function(row)
    local x = row[key]
    if x == nil then
      return ""
    elseif row.unit == "s" or row.unit == "B" then
      return quantity.format(x, row.unit)
    elseif row.unit then
      return ("%.1f %s"):format(x, row.unit)
    end
    return x == math.floor(x) and ("%.0f"):format(x) or ("%.2f"):format(x)
  end}
end

local COLUMNS = {{key = "name", title = ""}, column "model", column "counter"}

function Counters:__tostring()
  local width = report.width()
  return (self.head and text.hang("", self.head, width) .. "\n" or "")
    .. report.format(self.rows, COLUMNS)
    .. (self.note and "\n" .. text.hang("", self.note, width) or "")
end

--- counters(launch, args... [, opts]) -> Counters
--- What an NVIDIA GPU counts in a launch, beside what access models: requests
--- and sectors of global memory, passes and bank conflicts of local memory,
--- sectors of L2, bytes of DRAM, instructions by class, the occupancy reached,
--- and how busy the tensor units were. The profiler ncu of CUDA's toolkit
--- reads the counters. It sees no launch of OpenCL: so a child process runs
--- the PTX text of the kernel by CUDA's driver, with the sizes of the launch
--- and copies of its arguments, which stay as they are. A rung, a plan and
--- their arguments are named as in access. The result prints as a table; its
--- `rows` have name, model, counter, unit and metric, its `metrics` all values
--- by ncu's names, and `access` is the model, which knows no L1: its sectors
--- of L2 are all sectors of global memory. Bytes of DRAM and times are of cold
--- caches, as ncu empties them. An error tells what is missing: another
--- vendor's device, ncu, or the right to read counters.
--- Options:
---   groups  -  work-groups that the model looks at, as in access
--- Example:
--- local k = cl.kernel [[
--- kernel void copy(global const float *a, global float *b) {
---   b[get_global_id(0)] = a[get_global_id(0)];
--- }]]
--- local a, b = cl.buffer("float", 4096, 1), cl.buffer("float", 4096)
--- local ok, result = pcall(counters, k:range(4096, 256), a, b)
--- print(result) -- the table, or the reason why this device has none
function M.run(launch, ...)
  local args, opts, title
  launch, args, opts, title = access.command("counters", launch, ...)
  local dev = launch.kernel.program.context.device
  if not dev.nv_compute_capability_major then
    cl.error(("counters: %s is no NVIDIA GPU, and ncu counts on these alone")
      :format(dev.name), {hint = "access(...) models what a GPU would count"})
  end
  local found = M.measure(M.task(launch, args))
  args.n = args.n or #args
  local values = {table.unpack(args, 1, args.n)}
  values[args.n + 1] = {groups = opts.groups}
  local model, why = try(access, launch, table.unpack(values, 1, args.n + 1))
  local occupied = try(require "clshell.explain.occupancy", launch)
  local c = M.beside(found, model, occupied and occupied.best
    and 100 * occupied.best.share)
  c.note = why and "no model: " .. why or model.looked < model.groups
    and ("model: %d of %d work-groups, times %.3g"):format(model.looked,
    model.groups, model.groups / model.looked) or nil
  c.head = ("counters: %s over %s, local %s; %s"):format(title
    or launch.kernel.name, text.shape(launch.global), text.shape(
    jobs.local_size(launch, launch.global)), dev.name)
  return c
end

return require "clshell.base.lazy".callable(M, "run")
