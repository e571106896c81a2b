-- stock.lua - module cl under the stock interpreter, and after fork().
-- SPDX-License-Identifier: MIT
local t = require "t"

t.device()

local build = os.getenv "CLSHELL_BUILD" or "build"
local lua = os.getenv "LUA" or "lua5.4"

local function output(command)
  local p <close> = assert(io.popen(command .. " 2>&1 </dev/null"))
  local out = p:read("a")
  return out, p:close()
end

t.test("cl.so under " .. lua:match("[^ ]+$"), function()
  local path = t.tmp("stock.lua")
  t.write(path, [[
    local cl = require "cl"
    local x <close> = cl.buffer("float", 100, function(i) return i end)
    local k = cl.kernel("kernel void f(global float *x, float a)"
      .. "{ x[get_global_id(0)] *= a; }")
    local ev = k:range(100)(x, 2)
    assert(ev.ms >= 0 and x:read()[100] == 200)
    local ok, e = pcall(k:range(100), x)
    assert(tostring(e):find "argument 2 'a' %(float%)")
    local A = cl.array("double", {2, 2}, 3)
    assert(require "cl.host".gemm_loop(A, A):at(1, 2) == 18)
    print(cl.version, require "cl" == cl)
    local left = {x:map(), cl.queue(), k}
  ]])
  local out, ok = output(("LUA_CPATH='%s/?.so' %s %s"):format(build, lua,
    path))
  t.ok(ok and out:find "^%d+%.%d+%.%d+\ttrue\n", out)
end)

t.test("a failed build has the raw log under " .. lua:match("[^ ]+$"),
  function()
    local path = t.tmp "fails.lua"
    t.write(path, [==[
        local cl = require "cl"
        local source = "kernel void f(global float *x) { x[0] = nothere; }"
        local function check(plain)
          local ok, e = pcall(cl.build, source, {options = "-w", name = "n"})
          assert(not ok and e.source == source and e.is_text == true)
          assert(e.options:find("-w", 1, true) and e.program == "n")
          assert(e.device == cl.device().name and e.log:find "nothere")
          assert(e.message:find(e.log, 1, true) or not plain, e.message)
          return e
        end
        print(tostring(check(true)))
        cl.explain_build(function(e)
          e.message, e.extra = "in words", 1
        end)
        local e = check(false)
        assert(e.message == "in words" and e.extra == 1)
        cl.explain_build(function() error "wrong" end)
        check(true)
        assert(not pcall(cl.explain_build, 1)) ]==])
    local out, ok = output(("LUA_CPATH='%s/?.so' %s %s"):format(build, lua,
      path))
    t.ok(ok and out:find(path .. ":4: clBuildProgram: "
      .. "CL_BUILD_PROGRAM_FAILURE (-11)\n", 1, true), out)
  end)

t.test("after fork the next call says so", function()
  local out, ok = output(("CLSHELL_PCI=0000:01:00.0 CLSHELL_NVML=%s/tests/"
    .. "sensorlayer.so %s/tests/fork"):format(build, build))
  t.ok(ok, out)
  t.ok(out:find("sampler\tnil\t0\n", 1, true), out)
  for _, name in ipairs{"read", "launch", "wait", "finish", "buffer",
      "build"} do
    t.ok(out:find(name .. "\t[^\n]*fork"), name .. ": " .. out)
  end
  t.ok(out:find("closed", 1, true) and out:find("parent well", 1, true), out)
end)

t.test("a program that embeds the module", function()
  local out, ok = output(build .. "/tests/embed")
  t.ok(ok, out)
  local before, after = out:match "stack (%d+) (%d+)"
  t.eq(after, before, "the stack size of the program's threads")
  t.ok(out:find("classes: [^\n]*at most %d+ classes"), out)
end)

t.done()
