-- occupancy.lua - occupancy: cases worked out by hand from the allocation
-- rules of each GPU, sweeps, the next step, the plot, kernels, bad input
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local occupancy = require "clshell.occupancy"

t.keeps("Program", "Kernel")
t.device()

-- GPU, work-items, registers, bytes of local memory; groups, warps, limit.
local CASES = {
  {"P100", 64, 40, 0, 25, 50, "registers"}, -- two halves of a register file
  {"GTX 1080", 64, 40, 0, 24, 48, "registers"},
  {"GTX 1080", 192, 40, 0, 8, 48, "registers"},
  {"GTX 1080", 256, 32, 49152, 2, 16, "local memory"},
  {"V100", 128, 32, 12288, 8, 32, "local memory"},
  {"V100", 256, 32, 98304, 1, 8, "local memory"},
  {"V100", 256, 96, 0, 2, 16, "registers"},
  {"T4", 256, 32, 0, 4, 32, "work-items"},
  {"T4", 32, 16, 0, 16, 16, "work-groups"},
  {"T4", 128, 32, 16385, 3, 12, "local memory"},
  {"A100", 256, 32, 40960, 4, 32, "local memory"},
  {"A100", 256, 255, 0, 1, 8, "registers"},
  {"A100", 128, 32, 163 * 1024, 1, 4, "local memory"},
  {"RTX 3090", 64, 32, 0, 16, 32, "work-groups"},
  {"RTX 3090", 128, 40, 0, 12, 48, "work-items"},
  {"RTX 4090", 256, 80, 0, 3, 24, "registers"},
  {"RTX 4090", 256, 64, 0, 4, 32, "registers"},
  {"RTX 4090", 128, 32, 24576, 4, 16, "local memory"},
  {"RTX 4090", 128, 32, 24577, 3, 12, "local memory"},
  {"H100", 256, 64, 32768, 4, 32, "registers"},
  {"H100", 384, 168, 0, 1, 12, "registers"},
  {"H200", 1024, 32, 0, 2, 64, "work-items"},
  {"B200", 1024, 64, 0, 1, 32, "registers"},
  {"RTX 5090", 512, 42, 0, 2, 32, "registers"},
  {"MI200", 64, 64, 0, 32, 32, "work-groups"},
  {"MI300", 128, 32, 0, 16, 32, "work-groups"}, -- barriers
  {"MI300", 256, 128, 0, 4, 16, "registers"},
  {"MI300", 256, 64, 20000, 3, 12, "local memory"},
}

t.test("known cases of each GPU", function()
  for _, c in ipairs(CASES) do
    local o = occupancy{gpu = c[1], wg = c[2], registers = c[3],
      local_bytes = c[4]}
    local row = o.rows[1]
    t.eq({c[1], c[2], c[3], c[4], row.groups, row.warps, row.by}, c)
    t.near(row.share, row.warps * o.limits.warp / o.limits.items)
    t.ok(row == o.best and #o.rows == 1)
  end
  t.eq(occupancy{gpu = "8.6", wg = 64}.limits,
    occupancy{gpu = "rtx3090", wg = 64}.limits)
end)

t.test("no work-group fits", function()
  local function misfit(opts)
    local row = occupancy(opts).best
    t.eq({row.groups, row.share}, {0, 0})
    return row.misfit, row.step
  end
  t.eq({misfit{gpu = "H100", wg = 1025, registers = 32}},
    {"a work-group has at most 1024 work-items",
      "100 % at wg 64"})
  t.eq({misfit{gpu = "H100", wg = 64, registers = 256}},
    {"a work-item has at most 255 registers", "1 group at 255 registers"})
  t.eq({misfit{gpu = "H100", wg = 320, registers = 200}},
    {"a work-group has 10 warps, a unit registers for 8",
      "1 group at 168 registers"})
  t.eq({misfit{gpu = "A100", wg = 64, registers = 32,
      local_bytes = 164 * 1024}},
    {"a work-group has at most 163 KiB of local memory",
      "1 group at 163 KiB"})
  misfit{gpu = "T4", wg = math.maxinteger, registers = math.maxinteger,
    local_bytes = math.maxinteger}
  t.ok(tostring(occupancy{gpu = "T4", wg = 2048, registers = 32}):find(
    "does not fit: a work%-group has"))
end)

t.test("a sweep: rows, the best, the table", function()
  local o = occupancy{gpu = "H100", wg = "128..512*2",
    registers = {32, 64}, local_bytes = 49152}
  t.eq(#o.rows, 6)
  t.eq({o.rows[2].wg, o.rows[2].registers}, {128, 64})
  t.eq({o.best.wg, o.best.registers, o.best.share}, {512, 32, 1.0})
  local printed = tostring(o)
  for _, line in ipairs{"48 KiB of local memory a work%-group",
      "best: 100 %% with work%-groups of 512, 32 registers a work%-item",
      "\n *wg +registers +groups +warps +occupancy +limit +next step\n",
      "\n128 +32 +4 +16 +25 %% +local memory"} do
    t.ok(printed:find(line), line .. " in:\n" .. printed)
  end
  t.ok(not tostring(occupancy{gpu = "H100", wg = {64, 128},
    registers = {32, 64}, local_bytes = {0, 512}}):find "\n\n")
  for _, width in ipairs{40, 80} do
    for line in (o:table(width) .. "\n"):gmatch "(.-)\n" do
      t.ok(#line <= width, line)
    end
  end
  t.ok(not printed:find "OpenCL gives" and not printed:find "idle")
  t.ok(tostring(occupancy{gpu = "H100", wg = 33, registers = 32}):find(
    "a work-group of 33 leaves 31 of the 32 lanes of its last warp idle", 1,
    true))
  t.ok(tostring(occupancy{gpu = "H100", wg = 64, registers = 32,
    local_bytes = 65536}):find("at most 48 KiB; CUDA and programs", 1, true))
end)

t.test("the next step is the least that helps", function()
  local seed = t.seed
  math.randomseed(seed)
  for _, gpu in ipairs{"P100", "T4", "A100", "RTX 4090", "H100", "MI300"} do
    local limits = occupancy{gpu = gpu}.limits
    for _ = 1, 200 do
      local use = {items = math.random(1, 1024),
        registers = math.random(1, limits.most_registers),
        local_bytes = math.random(0, limits.most_local)}
      local row = occupancy{gpu = gpu, wg = use.items,
        registers = use.registers, local_bytes = use.local_bytes}.best
      local groups = row.groups
      local step = (row.step or ""):match "^%d+ groups? at (.*)$"
      local registers = step and (tonumber(step:match "(%d+) register")
        or use.registers)
      local bytes = step and (tonumber(step:match "(%d+) bytes?")
        or 1024 * (tonumber(step:match "(%d+) KiB")
          or use.local_bytes / 1024)) | 0
      local function reached(r, b)
        return occupancy.of({items = use.items, registers = r,
          local_bytes = b}, limits).groups > groups
      end
      local words = ("seed %s, %s, %d work-items, %d registers, %d bytes")
        :format(seed, gpu, use.items, use.registers, use.local_bytes)
      if registers then
        t.ok(reached(registers, bytes), words)
        t.ok(registers == use.registers
          or not reached(registers + 1, bytes), words)
        t.ok(bytes == use.local_bytes or not reached(registers, bytes + 1),
          words)
      else
        t.ok(not reached(1, 0), words)
      end
    end
  end
  local o = occupancy{gpu = "H100", wg = 768, registers = 32}
  t.eq(o.best.step, "100 % at wg 64")
  t.eq(occupancy{gpu = "H100", wg = 1024, registers = 32}.best.step, nil)
end)

t.test("the plot", function()
  local o = occupancy{gpu = "A100", wg = {128, 256}, registers = 64}
  local chart = o:plot()
  t.eq(chart.x.label, "work-items of a work-group")
  t.eq({#chart.series, #chart.series[1].points}, {1, 32})
  t.eq(chart.series[1].points[4].y, 50)
  chart = o:plot("registers", {title = "mine"})
  t.eq({#chart.series, #chart.series[1].points, chart.title},
    {2, 255, "mine"})
  t.eq(chart.series[2].name, "wg=256")
  t.ok(o:plot("local_bytes"):text{width = 60, ascii = true}:find(
    "bytes of local memory of a work-group", 1, true))
  t.raises(function() o:plot "register" end,
    "Occupancy:plot: no axis 'register'; did you mean 'registers'?")
end)

t.test("a launch and a kernel", function()
  local prog <close> = cl.build [[
kernel void scale(global float *x) {
  local float t[256];
  int i = get_local_id(0);
  t[i] = x[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[get_global_id(0)] = t[255 - i];
}
kernel void sum(global float *x, local float *part) {
  part[get_local_id(0)] = *x;
}
kernel void fixed(global float *x)
  __attribute__((reqd_work_group_size(8, 4, 1)));
kernel void fixed(global float *x) { *x = 1; }]]
  local o = occupancy(prog.scale:range(512, 256), {gpu = "H100"})
  -- NVIDIA counts 4 bytes more, and some drivers none
  t.eq({o.best.wg, o.best.local_bytes}, {256, prog.scale.local_mem_size})
  local told = cl.device().nv_compute_capability_major ~= nil
  t.eq(#o.rows, told and 1 or 4)
  t.ok(o.notes[1]:find(told and "the assembler tells"
    or "this driver tells no registers, and no spills", 1, true), o.notes[1])
  t.eq(occupancy(prog.scale, {gpu = "H100", wg = 64, registers = 32}).best.wg,
    64)
  t.eq(#occupancy(prog.scale, {gpu = "H100", registers = 32}).rows, 5)
  t.eq(occupancy(prog.fixed, {gpu = "H100"}).best.wg, 32)
  t.ok(tostring(occupancy(prog.sum, {gpu = "H100"})):find(
    "leaves out the parameter part", 1, true))
  if told then
    t.ok(occupancy(prog.scale:range(512, 256)).best.groups > 0)
  else
    t.raises(function() occupancy(prog.scale) end,
      "this driver tells no registers")
    t.raises(function() occupancy{wg = 64} end,
      "this driver tells no registers")
  end
end)

t.test("bad input", function()
  local function bad(message, ...)
    local args = table.pack(...)
    t.raises(function() occupancy(table.unpack(args, 1, args.n)) end,
      message)
  end
  bad("occupancy: no GPU 'H10'; did you mean 'H100'?", {gpu = "H10"})
  bad("occupancy: no GPU '100'", {gpu = 100})
  bad("occupancy: registers must be an integer >= 1; got 0",
    {gpu = "H100", registers = 0})
  bad("occupancy: wg must be an integer >= 1; got 1.5",
    {gpu = "H100", wg = {64, 1.5}})
  bad("occupancy: local_bytes must be an integer >= 0; got -1",
    {gpu = "H100", local_bytes = -1})
  bad("occupancy: wg must have a value; got none", {gpu = "H100", wg = {}})
  bad("occupancy: wg must have a value; got none",
    {gpu = "H100", wg = "8..4"})
  bad("occupancy: wg: a range must be", {gpu = "H100", wg = "8-4"})
  bad("occupancy: a sweep has at most 4096 cases; got 8192",
    {gpu = "H100", wg = "1..4096", registers = {32, 64}})
  bad("unknown option 'regs'", {gpu = "H100", regs = 3})
  bad("occupancy: launch must be a Launch, a Kernel or a table; got 7", 7)
  bad("occupancy: launch must be a Launch, a Kernel or a table; got nothing")
end)

t.done()
