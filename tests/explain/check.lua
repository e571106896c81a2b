-- check.lua - check: kernels with one known defect each, kernels without any,
-- the report, and wrong calls
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local findings = require "clshell.explain.findings"
local job_of = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local planted = require "explain.planted"
local scratch = require "scratch"

t.device()
t.keeps("Context", "Queue")

local function simulator()
  t.skip_if(not oclgrind.driver(), "Oclgrind is not installed")
end

-- "race 6 7": the kind of a finding and its lines in order.
local function brief(f)
  local lines = {f.line, f.other and f.other.line ~= f.line and f.other.line
    or nil}
  table.sort(lines)
  return f.kind .. " " .. table.concat(lines, " ")
end

local function all_brief(list)
  local parts = {}
  for i, f in ipairs(list) do
    parts[i] = brief(f)
  end
  return list[1] and table.concat(parts, ", ") or "nothing"
end

-- Runs all planted kernels, or those that guard bands are for, in one child
-- and calls fn(name, wanted, launch of the job, result) for each.
local function each_planted(guarded, fn)
  local job, names, wanted = job_of.new "check", {}, {}
  job.guarded = guarded
  for _, name in ipairs(planted.files()) do
    local launch, args, finds, bands = planted.launch(name)
    if not guarded or bands or finds == "nothing" then -- others may crash
      names[#names + 1] = name
      wanted[#names] = {finds = finds, bands = bands}
      job_of.add(job, launch, args)
    end
  end
  local list, reason = oclgrind.run(job, 300,
    guarded and {device = cl.device()} or nil)
  t.ok(list, reason)
  for i, name in ipairs(names) do
    t.eq(list[i].error, nil, name)
    fn(name, wanted[i], job.launches[i], list[i])
  end
end

t.test("every planted defect is found, and nothing else", function()
  simulator()
  local clean, defects = 0, 0
  each_planted(false, function(name, wanted, launch, result)
    local list = findings.of(launch, result)
    t.eq(all_brief(list), wanted.finds, name)
    clean = clean + (wanted.finds == "nothing" and 1 or 0)
    defects = defects + (wanted.finds == "nothing" and 0 or 1)
  end)
  t.ok(clean >= 40 and defects >= 75, "40 clean ones, 75 defects")
end)

local X = [[
kernel void ahead(global float *x, int n) {
  int i = get_global_id(0);
  x[i + 2] = n;
}]]

t.test("a report has the place, the element and how often", function()
  simulator()
  local x <close> = cl.buffer("float", 16, 3)
  local k <close> = cl.kernel(X)
  local r = check(k:range(16, 8), x, 5)
  t.eq(r.ok, false)
  t.eq(#r.findings, 1)
  local f = r.findings[1]
  t.eq({f.kind, f.line, f.times, f.item[1]}, {"outside", 3, 2, 14})
  local s = tostring(r)
  for _, part in ipairs{"check: 1 finding in ahead over 16, local 8",
      ":12: error: write outside 'x': x[16] to x[17]; it has 16 elements",
      "x[i + 2] = n;", "2 times, first by work-item 14"} do
    t.ok(s:find(part, 1, true), part .. " is not in: " .. s)
  end
  t.eq(x:read()[16], 3.0, "the argument is as it was")
  r = check(k:range(16, 8), x, 5, {size = 8})
  t.eq(r.ok, true)
  t.eq(tostring(r), "check: no finding in ahead over 8, local 8")
  r = check(k:range(16, 4), x, 5, {shrink = true})
  t.ok(tostring(r):gsub("%s+", " "):find("first and the last of 4 work-groups",
    1, true), tostring(r))
  t.eq(r.findings[1].times, 2)
end)

t.test("both accesses of a race, with both work-items", function()
  simulator()
  local x <close> = cl.buffer("int", 8, 0)
  local k <close> = cl.kernel [[
kernel void swap(global int *x, local int *t) {
  int i = get_local_id(0);
  t[i] = x[i];
  x[i] = t[7 - i];
}]]
  local r = check(k:range(8), x, cl.localmem("int", 8))
  local f = r.findings[1]
  t.eq(brief(f), "race 3 4")
  t.ok(f.item and f.other.item and f.item[1] ~= f.other.item[1])
  t.raises_match(function() error(tostring(r), 0) end,
    "race on local memory: work%-item %d %a+, and work%-item %d %a+",
    "note: work%-item %d %a+ here")
end)

t.test("a race with an asynchronous copy, which has no line", function()
  simulator()
  local function message(name)
    local launch, args = planted.launch(name)
    return tostring(check(launch, table.unpack(args, 1, args.n)))
  end
  t.raises_match(function() error(message "copy_read_before_wait", 0) end,
    "copy_read_before_wait.cl:7:10: error: race on local memory: work%-item "
    .. "%d reads, and an asynchronous copy of work%-group 0 writes")
  t.raises_match(function() error(message "copy_out_overwritten", 0) end,
    "work%-item %d writes, and an asynchronous copy of work%-group 0 reads")
  t.raises(function() error(message "event_never_set", 0) end,
    "a wait for an event that no copy has given")
end)

t.test("views that meet share memory, others end where they do", function()
  simulator()
  local align <const> = cl.device():info().mem_base_addr_align // 32
  local x <close> = cl.buffer("int", 3 * align, 0)
  local k <close> = cl.kernel [[
    kernel void f(global const int *a, global int *b) {
      int i = get_global_id(0);
      b[i] = a[i + 1];
    }]]
  local a, b = x:view(1, align + 1), x:view(align + 1, 2 * align)
  local function kinds(...)
    return all_brief(check(k:range(align, align), ...).findings)
  end
  t.eq(kinds(a, x:view(2 * align + 1, 3 * align)), "nothing")
  t.eq(kinds(a, b), "race 3", "they meet in one element")
  t.eq(kinds(a, a), "race 3")
  t.eq(kinds(x:view(1, align), b), "outside 3", "a step into the neighbour")
  t.eq(kinds(x, x:view(1, align)), "race 3")
end)

-- The text of a check's first finding, its notes, and whether it is right.
local function said(source, range, size, ...)
  local k <close> = cl.kernel(source)
  local r = check(k:range(range, size), ...)
  return r.findings[1] and r.findings[1].text or "nothing",
    table.concat(r.notes or {}, "; "), r.ok
end

t.test("elements of a race, and of a vector that straddles the end", function()
  simulator()
  local x <close> = cl.buffer("float", 64, 0)
  t.eq(said([[kernel void f(global float *C) {
    C[get_global_id(0) / 16 * 4 + 9] = get_global_id(0) + 0.1f; }]], 16, 4, x),
    "race on C[9]: work-item 1 writes, and work-item 0 writes")
  t.eq(said([[kernel void f(global float *C) {
    vstore4((float4)(1), get_global_id(0), C + 2); }]], 16, 4, x),
    "write outside 'C': C[62] to C[65]; it has 64 elements")
  t.eq(said([[kernel void f(global float4 *C) {
    C[get_global_id(0)] = 1; }]], 17, 1, x),
    "write outside 'C': C[64] to C[67]; it has 64 elements")
end)

t.test("the last group by its number, not by the counter", function()
  simulator()
  local part <close> = cl.buffer("int", 4)
  local done <close>, sum = cl.buffer("uint", 1, 0), cl.buffer("int", 1)
  local source = [[
    kernel void f(global int *part, global uint *done, global int *sum) {
      part[get_group_id(0)] = 1;
      mem_fence(CLK_GLOBAL_MEM_FENCE);
      uint ticket = atomic_inc(done), last = get_num_groups(0) - 1;
      if (LAST == last)
        sum[0] = part[0] + part[1] + part[2] + part[3];
    }]]
  t.eq(said(source:gsub("LAST", "ticket"), 4, 1, part, done, sum), "nothing")
  t.eq(said(source:gsub("LAST", "get_group_id(0)"), 4, 1, part, done, sum),
    "race on part[0]: work-item 0 writes, and work-item 3 reads")
end)

t.test("outputs never written, and Buffers that kernels only may read",
  function()
    simulator()
    local x, y = cl.buffer("float", 8, 1), cl.buffer("float", 8)
    local z <close> = cl.buffer("float", 8)
    local kept <close> = cl.buffer("float", 8, 5, {access = "read_only"})
    t.eq(kept:info().access, "read_only")
    t.eq(kept:view(1, 5):info().access .. x:info().access,
      "read_onlyread_write")
    t.eq(said([[kernel void f(global const float *x, global float *y, int n) {
      int i = get_global_id(0); if (i > n) y[i] = x[i]; }]], 8, 4, x, y, 8),
      "'y' was never written, nor read")
    t.eq(said([[kernel void f(global float *x, global float *y) {
      float s = x[get_global_id(0)]; s += y[0]; }]], 8, 4, x, x),
      "no Buffer was written; the kernel may write 'x', 'y'")
    t.eq(said([[kernel void f(global float *x, global float *y,
                              global float *z) {
      y[get_global_id(0)] = x[get_global_id(0)]; }]], 8, 4, x, y, z),
      "'z' was never written, nor read")
    t.eq(table.pack(said([[kernel void f(global float *x, global float *y) {
      int i = get_global_id(0); if (i != 2) y[i] = x[i]; }]], 8, 4, x, y)),
      {n = 3, "nothing", "1 of the 8 elements of 'y' were not written, the "
        .. "first y[2]", true})
    t.eq(table.pack(said([[kernel void f(global float *x, global int *bad) {
      int i = get_global_id(0); if (x[i] < 0) bad[0] = 1; x[i] = 2 * x[i]; }]],
      8, 4, x, cl.buffer("int", 1, 0))), {n = 3, "nothing", "", true})
    local writes = [[
      kernel void f(global float *x) { x[get_global_id(0)] = 1; }]]
    t.eq(said(writes, 4, 4, kept),
      "write to 'x', a read_only Buffer: x[0] to x[3]")
    t.eq(said(writes, 4, 4, kept, {guard = true}),
      "write to 'x', a read_only Buffer: x[0] to x[3]")
    t.eq(said([[kernel void f(global const float *x) {
      *(global float *)(x + get_global_id(0)) = 1; }]], 4, 4, x),
      "write to 'x', a pointer to const: x[0] to x[3]")
  end)

t.test("without the plugin the simulator looks for races, and it is said",
  function()
    simulator()
    local plugin, x <close> = oclgrind.plugin, cl.buffer("int", 4, 0)
    oclgrind.plugin = function()
      return nil, "no trace.so", "make it"
    end
    local ok, text, notes = pcall(said, [[kernel void f(global int *x) {
      x[0] = get_global_id(0); }]], 4, 4, x)
    oclgrind.plugin = plugin
    t.eq({ok, text}, {true, "race on x[0]: work-item 1 writes, and work-item 0"
      .. " writes"})
    t.ok(notes:find("no trace.so: races between work-groups", 1, true), notes)
  end)

t.test("arguments of each kind", function()
  simulator()
  local y <close> = cl.buffer("float", 8, 0)
  local k <close> = cl.kernel [[
    typedef struct { int a, b; } Two;
    kernel void f(global float *y, char c, ulong l, double d, float4 v,
                  Two s) {
      int i = get_global_id(0);
      if (c == -3 && l == 0xfffffffffffffffful && d == 0.1 && v.w == 4.0f
          && s.b == 7)
        y[i] = 1.0f;
      else
        y[i + 100] = 1.0f;
    }]]
  local r = check(k:range(8), y, -3, -1, 0.1, {1, 2, 3, 4},
    cl.bytes(string.pack("ii", 5, 7)))
  t.eq(tostring(r), "check: no finding in f over 8, local 8")
  r = check(k:range(8), cl.any(y), cl.char(-3), cl.ulong(-1), cl.double(0.1),
    cl.float4(1, 2, 3, 4), cl.bytes(string.pack("ii", 5, 7)))
  t.eq(r.ok, true)
end)

t.test("without the simulator: guard bands", function()
  local seen = 0
  each_planted(true, function(name, wanted, _, result)
    t.eq(#result.bands > 0, wanted.bands, name)
    seen = seen + #result.bands
  end)
  t.ok(seen >= 8)
  local x <close> = cl.buffer("float", 16, 3)
  local k <close> = cl.kernel(X)
  local s = tostring(check(k:range(16), x, 5, {guard = true}))
  t.ok(s:find("write outside 'x': x[16] to x[17]; it has 16 elements", 1,
    true), s)
  t.ok(s:gsub("%s+", " "):find("only writes next to Buffers are seen, within "
    .. "64 KiB; reads outside, races, barriers and values", 1, true), s)
end)

t.test("a session without the simulator", function()
  local script = scratch.create("none.lua", [[
    local k = cl.kernel [=[kernel void f(global int *x, long at) {
      x[at] = 1;
    }]=]
    local x = cl.buffer("int", 4, 0)
    print(check(k:range(1), x, 4))
    print(check(k:range(1), x, -16384))
    print(check(k:range(1), x, 3))
    print(cl.device().type ~= "cpu" -- which would refuse any further work
      or check(k:range(1), x, 1 << 40).findings[1].text:match "[^\n]*",
      x:read()[4])
    transpose.define{name = "far", range = function() return 1 end,
      args = function(_, _, o) return {o.B} end,
      source = "kernel void far(global REAL *B) { B[1L << 40] = 1; }"}
    print(cl.device().type ~= "cpu" -- a crash that no line belongs to
      or tostring(check "transpose.far"):match "error: the launch crashed")
    print(pcall(access, k:range(1), x, 4))]])
  for _, driver in ipairs{"none", "/nonexistent/driver.so"} do
    local out = scratch.sh(("CLSHELL_OCLGRIND=%s $clshell %s"):format(
      driver, script))
    scratch.has(out, "write outside 'x': x[4]; it has 4 elements",
      "write outside 'x': x[-16384]; it has", "check: no finding in f over 1",
      "apt install oclgrind", "Oclgrind is not installed")
    t.ok(out:find "\nthe launch crashed its process: [^\n]+\t0\n"
      or out:find("\ntrue\t0\n", 1, true), out)
    t.ok(out:find "\nerror: the launch crashed\n"
      or out:find "\ntrue\n", out)
  end
end)

t.test("wrong calls", function()
  local x <close> = cl.buffer("float", 16, 0)
  local k <close> = cl.kernel(X)
  t.raises(function() check() end, "launch must be a Launch; got nothing")
  t.raises(function() check(k, x, 1) end, "must be a Launch; got a Kernel",
    "check(k:range(n), x, y)")
  t.raises(function() check(k:range(4), x) end, "takes 2 values; got 1")
  t.raises(function() check(k:range(4), x, 1, {sise = 3}) end, "sise", "size")
  t.raises(function() check(k:range(4), x, print) end, "'n'", "a function")
  for _, limit in ipairs{0, -1, "1", 0 / 0} do
    t.raises(function() check(k:range(4), x, 1, {limit = limit}) end,
      "check: limit must be a number > 0; got ")
  end
  t.raises(function() check(k:range(4), x, 1, {size = 0}) end,
    "no work-items to look at")
  for _, size in ipairs{-1, "a", {}, {4, -1}, {1, 1, 1, 1}} do
    local ok, e = pcall(check, k:range(4), x, 1, {size = size})
    t.ok(not ok)
    t.ok(tostring(e):find("range: bad argument #1", 1, true), tostring(e))
  end
  local closed = cl.buffer("float", 16)
  closed:close()
  t.raises(function() check(k:range(4), closed, 1) end, "closed")
  simulator()
  t.raises(function() check(k:range(4), x, 1.5) end, "1.5")
  local large <close> = cl.buffer("char", 1 << 26)
  local any <close> = cl.kernel "kernel void f(global void *x) {}"
  t.raises(function() check(any:range(4), large) end, "at most 32 MiB",
    "got 64 MiB", "x:view(1, n)")
end)

t.test("a launch that the simulator cannot run in time", function()
  simulator()
  local x <close> = cl.buffer("float", 1, 0)
  local k <close> = cl.kernel [[
    kernel void f(global float *x, int n) {
      float sum = 0;
      for (int i = 0; i < n; i++)
        sum += i;
      x[0] = sum;
    }]]
  t.raises(function() check(k:range(1), x, 2000000000, {limit = 1}) end,
    "f over 1 takes longer on the simulator; the limit is 1 s",
    "{shrink = true}")
  t.raises_match(function() check(k:range(2^30, 1), x, 10, {limit = 60}) end,
    "takes about [%d.]+ %a+ on the simulator; the limit is 60 s")
end)

t.test("Ctrl-C ends the wait and the child", function()
  simulator()
  local script = scratch.create("long.lua", [[
    local k = cl.kernel [=[kernel void f(global int *x, int n) {
      for (int i = 0; i < n; i++)
        x[0] = i;
    }]=]
    local x = cl.buffer("int", 1, 0)
    print(pcall(check, k:range(1), x, 2000000000, {limit = 100}))]])
  local out = scratch.sh(([[
    (for i in $(seq 600); do
      program=$(pgrep -P $$ -f long.lua) &&
        child=$(pgrep -P $program clshell) && break
      sleep 0.1
    done
    echo $child >child
    kill -INT $program) &
    "$clshell" %s
    kill -0 $(cat child) 2>&1]]):format(script))
  t.raises_match(function() error(out, 0) end, "^false\t[^\n]*interrupted!\n"
    .. "[^\n]*[Nn]o such process")
end)

t.test("what the simulator cannot build", function()
  simulator()
  t.skip_if(not cl.device():has "cl_khr_fp16",
    "the device has no half precision")
  local x <close> = cl.buffer("half", 4, 0)
  local k <close> = cl.kernel [[
    #pragma OPENCL EXTENSION cl_khr_fp16 : enable
    kernel void f(global half *x) { x[get_global_id(0)] *= (half)2; }]]
  t.raises(function() check(k:range(4), x) end,
    "the simulator has no half precision (cl_khr_fp16), which f needs")
end)

t.done()
