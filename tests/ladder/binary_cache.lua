-- binary_cache.lua - programs out of kept binaries are those of their source.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.device()

-- Builds in a process of its own that keeps binaries below `cache`, after the
-- code `more`. Returns its words on the program, and "compiled" or "kept".
local function build(cache, more)
  local script = scratch.create("build.lua", [[
local program = require "clshell.ladder.program"
local build, compiled = cl.build, true
function cl.build(source, opts)
  local binary = opts.binary
  compiled = true
  if binary then
    function opts.binary(key)
      local bytes, log = binary(key)
      compiled = bytes == nil
      return bytes, log
    end
  end
  return build(source, opts)
end
program.keep_binaries(true)
]] .. (more or "") .. [[
local p = program.get(cl.context(), {path = "f.cl"}, {N = 2})
for _, a in ipairs(p.f.args) do
  print(a.type, a.name, a.space, a.const)
end
local x, y = cl.buffer("int", 1, 4), cl.buffer("int", 1)
p.f:range(1)(x, y)
print(y:read()[1], p:changed(), p.options, p.log)
print(compiled and "compiled" or "kept")]])
  local out, err, code = scratch.sh(
    ("export XDG_CACHE_HOME=%s POCL_CACHE_DIR=$PWD/pocl\n$clshell -q %s")
      :format(cache, script))
  t.eq({err, code}, {"", 0})
  return out:match "^(.*\n)(%a+)\n$"
end

local function files(cache)
  return scratch.sh(("ls %s/clshell/programs"):format(cache))
end

local cache = scratch.dir .. "/cache"
scratch.create("part.h", "#define PART 1\n")
scratch.create("f.cl", "#include \"part.h\"\n\z
  kernel void f(global const int *x, global int *y) { *y = *x + PART + N; }\n")

local probe = cl.build "kernel void f(global const int *x) {}"
local kept = pcall(probe.binary, probe) and #cl.build_binary(probe:binary()).f
  .args == 1 and cl.build_binary(probe:binary()).f.args[1].type ~= "?"

local function test(name, f)
  t.test(name, function()
    if not kept then
      t.skip "the driver's binaries lose the parameters of kernels"
    end
    f()
  end)
end

test("the second build takes the binary of the first", function()
  local one, how = build(cache)
  t.eq(how, "compiled")
  t.eq(select(2, files(cache):gsub("\n", "")), 1)
  local two, now = build(cache)
  t.eq(now, "kept")
  t.eq(two, one)
  scratch.has(two, "x\tglobal\ttrue", "y\tglobal\tnil", "7\tfalse")
end)

test("an edit of an included file compiles", function()
  scratch.create("part.h", "#define PART 2\n")
  local out, how = build(cache)
  t.eq(how, "compiled")
  scratch.has(out, "8\tfalse")
  t.eq(select(2, build(cache)), "kept")
end)

test("a damaged, cut off or foreign file compiles and is replaced", function()
  local path = cache .. "/clshell/programs/"
  scratch.sh(("rm -rf %s"):format(path))
  local one = build(cache)
  local name = path .. files(cache):match "[^\n]+"
  local f <close> = assert(io.open(name, "rb"))
  local good = f:read "a"
  local at = #good - 100
  for _, bad in ipairs{"", "x", good:sub(1, #good // 2), good:sub(1, -2),
      good:sub(1, at - 1) .. "x" .. good:sub(at + 1),
      (good:gsub("x global true", "x global nil ", 1)),
      (good:gsub("(clshell binary 1\n)", "%1x", 1)),
      ("\255"):rep(100)} do
    local g <close> = assert(io.open(name, "wb"))
    g:write(bad)
    g:close()
    local out, how = build(cache)
    t.eq({out, how}, {one, "compiled"})
    t.eq(select(2, build(cache)), "kept")
  end
end)

test("binaries that lose the parameters are not used", function()
  local one = build(cache)
  local out, how = build(cache, [[
local known = cl.build
function cl.build(source, opts)
  local p = known(source, opts)
  return compiled and p or {close = function() end, kernels = function()
    return {}
  end}
end
]])
  t.eq({out, how}, {one, "compiled"})
end)

test("a folder that takes no file is no error", function()
  local one = build(cache)
  scratch.create("plain", "")
  t.eq({build(scratch.dir .. "/plain")}, {one, "compiled"})
  scratch.sh("mkdir -p full/clshell && ln -s /dev/full full/clshell/programs")
  t.eq({build(scratch.dir .. "/full")}, {one, "compiled"})
end)

test("two processes at once", function()
  local both = scratch.dir .. "/both"
  build(both)
  local out, err = scratch.sh(([[export XDG_CACHE_HOME=%s
export POCL_CACHE_DIR=$PWD/pocl
rm -f both/clshell/programs/*
for i in 1 2 3 4; do $clshell -q build.lua >out$i 2>&1 & done; wait
cat out1 out2 out3 out4]]):format(both))
  t.eq({select(2, out:gsub("8\tfalse", "")), err}, {4, ""})
  t.eq(select(2, files(both):gsub("\n", "")), 1)
  t.eq(select(2, build(both)), "kept")
end)

scratch.done()
