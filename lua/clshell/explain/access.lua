-- explain/access.lua - access: what each load and store of a kernel asks of
-- global, local and constant memory, by source line, on a GPU of one's choice
-- The simulator tells the requests of warps (trace.lua); base/gpu_memory.lua
-- knows what a request costs; picture.lua draws requests.
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local machine = require "clshell.base.gpu_memory"
local options = require "clshell.base.options"
local picture = require "clshell.explain.picture"
local report = require "clshell.results.tables"
local style = require "clshell.base.style"
local text = require "clshell.base.text"
local trace = require "clshell.explain.trace"
local workload = require "clshell.ladder.workload"

local M = require "clshell.base.lazy".table(...)

local Access = {__name = "access"}
Access.__index = Access

local SPACES = {"global", "constant", "local"}

-- The source text of an access: a load's expression begins at its column, a
-- store's ends before the column of its "=".
local function expression(line, column)
  local rest = line:sub(column)
  local found = rest:match "^%**[%a_][%w_]*" or rest:match "^%b()"
  if found then
    local at = #found + 1
    repeat
      local more = rest:match("^%b[]", at) or rest:match("^%b()", at)
        or rest:match("^%.[%a_][%w_]*", at)
        or rest:match("^%->[%a_][%w_]*", at)
      found, at = found .. (more or ""), at + #(more or "")
    until not more
    return found
  end
  local left = line:sub(1, column - 1):gsub("%s+$", "")
  for first = 1, #left do
    local part = left:sub(first)
    local before = first > 1 and left:sub(first - 1, first - 1) or ""
    if part:find "^%*?[%a_]" and not before:find "[%w_%]%)]" then
      local whole = expression(part, 1)
      if whole == part then
        return part
      end
    end
  end
  return nil
end

-- The addresses of neighbouring lanes in elements: "0" (all the same), "+1",
-- "+16"; "+1 in 16, +64" where rows of 16 lanes lie 64 apart; else "mixed".
local function step(r, size)
  local at, lanes = r.at, r.lanes
  if #at < 2 then
    return ""
  end
  local function distance(i)
    return (at[i] - at[i - 1]) / (lanes[i] - lanes[i - 1])
  end
  local function words(bytes)
    return bytes == 0 and "0" or ("%+.4g"):format(bytes / size)
  end
  local run = 2
  while run < #at and distance(run + 1) == distance(2) do
    run = run + 1
  end
  if run == #at then
    return words(distance(2))
  end
  local jump = at[run + 1] - at[1]
  for i = run + 1, #at do
    if at[i] - at[i - run] ~= jump then
      return "mixed"
    end
  end
  return ("%s in %d, %s"):format(words(distance(2)), run, words(jump))
end

-- Splits a vload or vstore of global memory into an access for each element,
-- where the compiler for machine m does so.
local function take_apart(m, site)
  local n = site.elements
  if not m.aligned or site.space ~= "global" or n == 1 then
    return
  end
  local requests = {}
  site.size = site.size // n
  for _, r in ipairs(site.requests) do
    for i = 0, n - 1 do
      local at = {}
      for k, address in ipairs(r.at) do
        at[k] = address + i * site.size
      end
      requests[#requests + 1] = {count = r.count, first = r.first, at = at,
        lanes = r.lanes}
    end
  end
  site.requests = requests
end

-- Whether request r comes before `other`: it has more lanes, or begins first.
local function precedes(r, other)
  if #r.at ~= #other.at then
    return #r.at > #other.at
  end
  return r.first + r.at[1] < other.first + other.at[1]
end

local SUMS = {"requests", "lanes", "sectors", "lines", "ideal", "passes"}

-- One row of the result: a site with the sums over its requests, as machine m
-- serves them.
local function row_of(m, site)
  local row = {line = site.line, column = site.column, file = site.file,
    kind = site.kind, space = site.space, size = site.size,
    code = site.code, ways = 0, list = site.requests}
  for _, key in ipairs(SUMS) do
    row[key] = 0
  end
  local costs = {global = machine.global, constant = machine.constant,
    ["local"] = machine.locals}
  local usual
  for _, r in ipairs(site.requests) do
    local cost = costs[site.space](m, r.at, site.size, r.lanes)
    cost.requests, cost.lanes, r.cost = 1, #r.at, cost
    row.ways = math.max(row.ways, cost.ways or 0)
    for _, key in ipairs(SUMS) do
      row[key] = row[key] + r.count * (cost[key] or 0)
    end
    local load = (cost.sectors or cost.passes) / cost.ideal
    if not row.worst or load > row.load
        or load == row.load and precedes(r, row.worst) then
      row.worst, row.load = r, load
    end
    usual = (not usual or r.count > usual.count) and r or usual
  end
  row.step = step(usual, site.size)
  row.bytes = row.lanes * site.size
  row.reuse = site.asked / site.distinct
  return row
end

-- The sites or branches in the order of the source. The compiler repeats code:
-- one place, with one kind of access, counts once.
local function in_order(list)
  local out, known = {}, {}
  for _, x in ipairs(list) do
    local key = ("%s:%d:%d:%s:%s:%s"):format(x.file, x.line, x.column, x.kind,
      x.space, x.size)
    local first = known[key]
    if not first then
      known[key], out[#out + 1] = x, x
    else
      for _, name in ipairs{"asked", "times", "lanes", "paths", "parted"} do
        first[name] = first[name] and first[name] + x[name]
      end
      if x.requests then
        first.distinct = math.max(first.distinct, x.distinct)
        table.move(x.requests, 1, #x.requests, #first.requests + 1,
          first.requests)
      end
    end
  end
  table.sort(out, function(x, y)
    for _, name in ipairs{"file", "line", "column", "kind"} do
      if x[name] ~= y[name] then
        return x[name] < y[name]
      end
    end
    return false
  end)
  return out
end

-- The result of a trace on a machine.
local function result(a, m)
  a.machine, a.rows, a.total = m, {}, {}
  a.localsize = {table.unpack(a.localsize, 1, #a.global)}
  for _, site in ipairs(a.sites) do
    local line = a.source(site.file, site.line) or ""
    site.space = SPACES[site.space]
    site.code = site.line == 0 and "(joined)"
      or expression(line, site.column) or line:match "^%s*(.-)%s*$"
    take_apart(m, site)
  end
  for i, site in ipairs(in_order(a.sites)) do
    a.rows[i] = row_of(m, site)
  end
  for _, space in ipairs(SPACES) do
    local sum = {requests = 0, bytes = 0, sectors = 0, ideal = 0, lines = 0,
      passes = 0}
    for _, row in ipairs(a.rows) do
      for key in pairs(row.space == space and sum or {}) do
        sum[key] = sum[key] + row[key]
      end
    end
    a.total[space] = sum
  end
  a.branches = in_order(a.branches)
  for _, b in ipairs(a.branches) do
    b.active = b.lanes / (b.paths * m.warp)
    b.code = (a.source(b.file, b.line) or ""):match "^%s*(.-)%s*$"
  end
  a.sites, a.source = nil, nil
  return setmetatable(a, Access)
end

-- A number as text, with at most two digits behind the point.
local function short(x)
  return (("%.2f"):format(x):gsub("%.?0+$", ""))
end

-- A column of a sum for each request; `global`: of global memory (true) or of
-- other memory (false) alone.
local function per_request(key, global, drop)
  return {title = key, align = "right", drop = drop, key = function(row)
    return (global == nil or global == (row.space == "global"))
      and short(row[key] / row.requests) or ""
  end}
end

local COLUMNS = {
  {key = "line", title = "line", align = "right"},
  {key = "what", title = "access"},
  {title = "memory", key = "space", drop = 5},
  {title = "B", key = "size", align = "right", drop = 1},
  {title = "step", key = "step", drop = 2},
  per_request("lanes", nil, 2), per_request("sectors", true),
  per_request("lines", true, 4), per_request("passes", false),
  per_request "ideal",
  {title = "reuse", align = "right", key = function(row)
    return short(row.reuse)
  end, drop = 3},
}

-- A column of a share of branches.
local function share(title, of, drop)
  return {title = title, align = "right", drop = drop, key = function(b)
    return ("%.0f %%"):format(100 * of(b))
  end}
end

local BRANCHES = {
  {key = "line", title = "line", align = "right"},
  {key = "what", title = "branch"},
  {key = "times", title = "times", align = "right"},
  share("parts", function(b) return b.parted / b.times end, 1),
  share("lanes active", function(b) return b.active end),
}

-- The worst row of a space, if it costs more than the ideal.
local function worst(a, space)
  local found, most = nil, 0
  for _, row in ipairs(a.rows) do
    local cost = row.space == "global" and row.sectors or row.passes
    if row.space == space and row.line > 0 and cost - row.ideal > most then
      found, most = row, cost - row.ideal
    end
  end
  return found
end

--- Access:table([width]) -> string
--- The table of an access result, in so many columns (the window's): a row for
--- each load and store. B: bytes that a lane asks for. step: from lane to
--- lane, in elements; "+1 in 16, +64": rows of 16 lanes. lanes: the lanes that
--- take part in a request. Then for each request, on average: sectors and
--- lines of global memory; passes of local or constant memory; ideal, the
--- sectors or passes of the same bytes side by side. reuse: how often a
--- work-group asks for an element. Line 0 is code that the compiler joined of
--- several lines. A second table has the branches: how often warps met the
--- branch, the share of these times where the lanes part, and the share of a
--- warp's lanes that are active after it.
--- Example:
--- local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
--- print(access(k:range(1), cl.buffer("int", 1)):table(60))
function Access:table(width)
  local lines, m = {}, self.machine
  width = width or report.width()
  local function put(words, ...)
    lines[#lines + 1] = text.hang("", words:format(...), width)
  end
  put("access: %s over %s, local %s; %swarps of %d lanes, sectors of %d and "
    .. "lines of %d bytes, %d banks of %d bytes",
    self.title and self.title .. "," or self.kernel, text.shape(self.global),
    text.shape(self.localsize), m.name and m.name .. ": " or "", m.warp,
    m.sector, m.line, m.banks, m.bank_bytes)
  if self.looked == self.groups then
    put("all %s, %s", text.count(self.groups, "work-group"),
      text.count(self.warps, "warp"))
  else
    put("looked at %d of %d work-groups, evenly spread from first to last",
      self.looked, self.groups)
  end
  if m.note then
    put("%s", m.note)
  end
  if self.plain then
    put("compiled without optimization, as the simulator lacks a function "
      .. "that this makes: loads of one element may repeat")
  end
  local room = math.max(12, math.min(40, width - 52))
  for _, list in ipairs{self.rows, self.branches} do
    for _, x in ipairs(list) do
      x.what = text.cut((x.kind and x.kind .. " " or "") .. x.code, room,
        "...")
    end
  end
  lines[#lines + 1] = self.rows[1] and report.format(self.rows, COLUMNS,
    {width = width}) or "no access to global, local or constant memory"
  lines[#lines + 1] = self.branches[1] and report.format(self.branches,
    BRANCHES, {width = width})
  if self.copied > 0 then
    put("copied by work-groups, not counted: %s", text.bytes(self.copied))
  end
  if self.lost > 0 then
    put("%d accesses of long work-groups are left out", self.lost)
  end
  return table.concat(lines, "\n")
end

-- The n-th row of a source line.
local function find_row(a, line, n)
  local known, count = {}, 0
  for _, row in ipairs(a.rows) do
    count = count + (row.line == line and 1 or 0)
    if row.line == line and count == n then
      return row
    end
    known[#known + 1] = row.line ~= known[#known] and row.line or nil
  end
  cl.error(("Access:draw: line %s has no access %d; there are accesses in "
    .. "lines %s"):format(tostring(line), n, text.values(known)))
end

-- The rows to draw: an access of a source line, or the worst of global and of
-- local memory.
local function drawn(a, line, n)
  if line then
    return {find_row(a, line, n or 1)}
  end
  local rows = {worst(a, "global")}
  rows[#rows + 1] = worst(a, "local")
  return rows
end

-- The rows to draw, or the first row where all are ideal.
local function shown(a, line, n)
  local rows = drawn(a, line, n)
  for _, space in ipairs(#rows == 0 and {"global", "local"} or {}) do
    for _, row in ipairs(a.rows) do
      if row.space == space then
        return {row}
      end
    end
  end
  return rows
end

--- Access:draw([line [, n [, opts]]]) -> string
--- A drawing of the most costly request of a source line, of its n-th access
--- (1): for global memory a ruler of the sectors, with the bytes asked for (#)
--- and the other bytes moved (.); for local memory its words by banks, with
--- the lane that asks for each. Without a line: the worst of global and of
--- local memory, if there is one.
--- Options:
---   color  -  true or false; else as the terminal has it
--- Example:
--- local k = cl.kernel [[
--- kernel void third(global int *x) {
---   x[3 * get_global_id(0)] = 1;
--- }]]
--- local result = access(k:range(32, 32), cl.buffer("int", 96))
--- print(result:draw(2))
function Access:draw(line, n, opts)
  local color = opts and opts.color
  if color == nil then
    color = style.color(1)
  end
  return text.values(drawn(self, line, n), "\n\n", function(row)
    return picture.text(self.machine, row, color)
  end)
end

function Access:__tostring()
  local drawing = self:draw()
  return self:table() .. (drawing ~= "" and "\n\n" .. drawing or "")
end

local TITLES = {"before", "after"}

-- The rows of result b that match `rows` of another result.
local function beside(b, rows)
  local list = {}
  for _, row in ipairs(rows) do
    for _, other in ipairs(b.rows) do
      if other.space == row.space and other.kind == row.kind
          and (other.code == row.code or other.line == row.line) then
        list[#list + 1] = other
        break
      end
    end
  end
  return list
end

--- Access:svg([file [, line [, n]]]) -> string
--- The drawings of Access:draw as an SVG, also written to a file. Of a pair
--- (see access) they stand side by side.
--- Example:
--- local k = cl.kernel [[
--- kernel void third(global int *x) {
---   x[3 * get_global_id(0)] = 1;
--- }]]
--- access(k:range(32, 32), cl.buffer("int", 96)):svg("access.svg")
function Access:svg(file, line, n)
  local panels, first = {}, nil
  for i, a in ipairs(self.pair or {self}) do
    local rows = first and beside(a, first) or shown(a, line, n)
    first = first or rows
    panels[i] = {title = self.pair and TITLES[i] or a.kernel,
      machine = a.machine, rows = rows}
  end
  local svg = picture.svg(panels)
  if file then
    require "clshell.base.file".write(file, svg, "the drawing")
  end
  return svg
end

-- Two results beside one another: before and after a change.
local Pair = {__name = "access pair", svg = Access.svg}
Pair.__index = Pair

local function change(old, new)
  return new == old and ("%d, as before"):format(new)
    or ("%d -> %d"):format(old, new)
end

function Pair:__tostring()
  local rows, parts = nil, {}
  for i, a in ipairs(self.pair) do
    rows = rows and beside(a, rows) or shown(a)
    parts[#parts + 1] = TITLES[i] .. ":\n" .. a:table()
    for _, row in ipairs(rows) do
      parts[#parts + 1] = picture.text(a.machine, row, style.color(1))
    end
  end
  local before, after = self.pair[1].total, self.pair[2].total
  parts[#parts + 1] = ("sectors of global memory: %s\npasses of local "
    .. "memory: %s"):format(change(before.global.sectors,
      after.global.sectors), change(before["local"].passes,
      after["local"].passes))
  return table.concat(parts, "\n\n")
end

local function pair_of(list)
  if #list ~= 2 then
    cl.error(("access: a list must hold two results of access; got %d")
      :format(#list))
  end
  for i, a in ipairs(list) do
    if getmetatable(a) ~= Access then
      cl.error(("access: element %d of the list must be a result of access; "
        .. "got %s"):format(i, text.got(a)))
    end
  end
  return setmetatable({pair = {list[1], list[2]}}, Pair)
end

local SMALL, LONG = 64, 4096 -- the longest side of a shape, and of a vector

-- The plan of a rung, its words for the head, and the options.
local function plan_of(who, rung, ...)
  local family, name = workload.find(rung, who)
  local dims = family.spec.dims
  local plan, opts = workload.plan(who, dims and #dims == 1 and LONG or SMALL,
    rung, ...)
  return plan, ("%s.%s%s for %s"):format(family.name, plan.rung.name,
    name and "" or ", which calls take here,",
    family.spec.title(plan.shape)), opts
end

-- The command of a plan's own kernel. The commands before it run on the
-- device: their results, such as the histogram of a sort, tell where the
-- kernel reads and writes.
local function main_of(plan)
  for i = 1, plan.main - 1 do
    local command = plan.commands[i]
    command.launch(table.unpack(command, 1, command.n)):wait()
  end
  return plan.commands[plan.main]
end

-- access.command(who, launch, ...) -> launch, args, opts, title
-- The launch that the arguments of access or of another function, `who`,
-- name, its arguments, the options, and words for a rung.
function M.command(who, launch, ...)
  if workload.find(launch, who) then
    local plan, title, opts = plan_of(who, launch, ...)
    local found, args, checked = M.command(who, plan, opts)
    return found, args, checked, title
  end
  local args = table.pack(...)
  local opts = {}
  local last = args[args.n]
  if type(last) == "table" and getmetatable(last) == nil then
    opts, args.n = last, args.n - 1
  end
  options.check(opts, who)
  if type(launch) == "table" and launch.commands then
    args = main_of(launch)
    launch = args.launch
  end
  argument.check(who, "launch", launch, "Launch", who .. "(k:range(n), x, y)")
  return launch, args, opts
end

--- access(launch, args... [, opts]) -> Access
--- What each load and store of a kernel asks of memory, by source line, as a
--- GPU would see it: `access(k:range({64, 64}, {16, 16}), a, b)`. The launch
--- runs in a child process on the simulator Oclgrind, with copies of its
--- arguments; the lanes of a warp that part at a branch meet again where both
--- ways do. The result prints as a table (see Access:table) with drawings
--- (Access:draw, Access:svg); its `rows` and `branches` are lists of tables,
--- `total` has the sums by memory, `looked` of `groups` work-groups were
--- simulated. The source is compiled as the simulator compiles it, without
--- unrolling; private arrays are not counted. On NVIDIA's GPUs a vload4 of
--- global memory counts as four loads, as their compiler makes them: only a
--- pointer to float4 tells that one wide load may be; a vstore4 likewise.
--- `access{a, b}`: two results, before and after a change. A rung is named as
--- in bench, followed by a shape (small if left out), parameters and options:
--- access("gemm.tiled", {64, 64, 64}, {tile = 8}); a plan, gemm.plan(A, B),
--- takes options alone. Of a plan's launches access simulates the launch of
--- the rung's own kernel; the launches before it run on the device.
--- Options:
---   as          -    a GPU, as occupancy takes it: "H100", "MI300", "8.6"
---   warp        32   lanes that run together, or what the driver tells
---   sector      32   bytes that global memory moves at least
---   line        128  bytes of a cache line
---   banks       32   banks of local memory
---   bank_bytes  4    bytes of a bank's word
---   groups      -    work-groups to look at, or "all"; else as many as some
---               four million instructions allow, from first to last
--- Example:
--- local k = cl.kernel [[
--- kernel void column(global const float *a, global float *b, int n) {
---   int i = get_global_id(0);
---   b[i] = a[i * n];
--- }]]
--- local a, b = cl.buffer("float", 4096, 0), cl.buffer("float", 64)
--- local result = access(k:range(64, 64), a, b, 64, {as = "H100"})
--- print(result)
--- local load = result.rows[2]
--- print(load.code, load.sectors / load.requests) --> a[i * n] 32.0
function M.run(launch, ...)
  if type(launch) == "table" and getmetatable(launch) == nil
      and select("#", ...) == 0 then
    return pair_of(launch)
  end
  local args, opts, title
  launch, args, opts, title = M.command("access", launch, ...)
  local m = machine.of(opts, launch.kernel.program.context.device)
  local a = result(trace.run(launch, args, m.warp, opts.groups), m)
  a.title = title
  return a
end

return require "clshell.base.lazy".callable(M, "run")
