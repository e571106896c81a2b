-- lazy.lua - modules that load when they are first used: nobody notices.
-- SPDX-License-Identifier: MIT
local t = require "t"

local PUBLIC = {"matrix", "dia", "csr", "gemm", "spmv", "transpose", "bench",
  "peaks", "help", "compare", "roofline", "lesson", "calibrate"}

-- What a clshell of its own prints that runs `code`.
local function output(code, options)
  local path = t.tmp("lazy.lua")
  do
    t.write(path, code)
  end
  return t.capture(("%s %s %s 2>&1 </dev/null"):format(t.exe,
    options or "", path))
end

t.test("slow to start: a script that uses no module loads none", function()
  t.eq(output[[
    local list = {}
    for name, module in pairs(package.loaded) do
      if name:find "^clshell%." and next(module) ~= nil
          and package.searchpath(name, package.path) then
        list[#list + 1] = name
      end
    end
    table.sort(list)
    print(table.concat(list, " "))
  ]], "clshell.arrays.method_names clshell.base.lazy clshell.base.search "
    .. "clshell.ladder.families clshell.public\n")
end)

t.test("a first calculation loads few files", function()
  local list = output[[
    local x, y = cl.buffer("float", 8, 1), cl.buffer("float", 8, 2)
    y:set(2 * x + y)
    for name, module in pairs(package.loaded) do
      if name:find "^clshell" and next(module) ~= nil
          and package.searchpath(name, package.path) then
        print(name)
      end
    end]]
  local _, count = list:gsub("\n", "")
  t.ok(count <= 15, list)
end)

for _, worker in ipairs{true, false} do
  t.test("a search loads few files, worker = " .. tostring(worker), function()
    local list = output(([[
      local best = tune("gemm.tiled", {64}, {evaluations = 8, worker = %s,
        builders = 0})
      assert(best.evaluations == 8)
      for name, module in pairs(package.loaded) do
        if name:find "^clshell" and next(module) ~= nil
            and package.searchpath(name, package.path) then
          print(name)
        end
      end]]):format(worker), "-q")
    local _, count = list:gsub("\n", "")
    t.ok(count <= 55, list)
  end)
end

t.test("the names are there, and require gives the same", function()
  for _, name in ipairs(PUBLIC) do
    local file = name
    t.ok(_G[name] ~= nil and rawget(_G, name) == _G[name], name)
    t.ok(require("clshell." .. file) == _G[name], name)
    t.eq(type(_G[name]), "table", name)
  end
  t.eq(output[[
    local seen = 0
    for name, value in pairs(_G) do
      seen = seen + (name == "gemm" and value == require "clshell.gemm"
        and 1 or 0)
    end
    print(seen, require "clshell".gemm == gemm)
  ]], "1\ttrue\n")
end)

t.test("indexing, calling, pairs, # and tostring load a module", function()
  t.eq(output[[
    print(type(matrix.zeros), tostring(gemm):match "^kernel family gemm")
    local n = 0
    for name, value in pairs(lesson) do
      assert(lesson[name] == value)
      n = n + 1
    end
    print(n > 0, #csr, (pcall(bench)))
  ]], "function\tkernel family gemm\ntrue\t0\tfalse\n")
  t.ok(output[[help "bench"]]:find "bench%(")
  t.ok(output[[transpose.mine = 5 print(transpose.mine, transpose.bench)]]
    :find "^5\tfunction")
end)

t.test("a script with a strict _G finds the names", function()
  t.eq(output[[
    setmetatable(_G, {
      __newindex = function(_, name) error("assign to " .. name, 2) end,
      __index = function(_, name) error("undeclared " .. name, 2) end,
    })
    print(#gemm.kernels() > 10, type(matrix.random), type(history))
    print((pcall(function() return undeclared end)))
  ]], "true\tfunction\tfunction\nfalse\n")
end)

t.test("a module that fails to load fails again, and then loads", function()
  t.eq(output[[
    local function fail()
      if debug.getinfo(2, "S").source:find "spmv/rungs" then
        error "not now"
      end
    end
    for _ = 1, 2 do
      debug.sethook(fail, "c")
      local fine, e = pcall(function() return spmv.kernels end)
      debug.sethook()
      print(fine, e:match "not now", next(spmv))
    end
    print(type(spmv.kernels), require "clshell.spmv" == spmv)
  ]], "false\tnot now\tnil\nfalse\tnot now\tnil\nfunction\ttrue\n")
end)

t.test("a script that replaces package.path finds them", function()
  t.eq(output[[
    package.path = "./?.nothing"
    print(#gemm.kernels() > 3, type(require "clshell.measure.stats".median))
  ]], "true\tfunction\n")
end)

t.test("a script may use the names of Lua's library for itself", function()
  t.eq(output[[
    local print = print
    type, table, next, string, error = "float", {}, 3, nil, "none"
    require, package, setmetatable, pairs, ipairs = nil
    print(#gemm.kernels() > 3, spmv.kernels ~= nil)
    print(help.text "bench" ~= nil, help.search "tile" ~= nil)
  ]], "true\ttrue\ntrue\ttrue\n")
end)

t.test("a script may replace the functions of Lua's library", function()
  t.eq(output[[
    local print = print
    local function ran(...)
      print("ran", ...)
    end
    for _, library in ipairs{table, math, os, io} do
      for name, value in next, library do
        library[name] = type(value) == "function" and ran or value
      end
    end
    print(#gemm.kernels() > 3)
    print(matrix.zeros ~= nil)
  ]], "true\ntrue\n")
end)

t.test("methods announced are functions, and load at the call", function()
  t.keeps("Context", "Device", "Queue")
  t.skip_if(not pcall(cl.device), "no OpenCL device")
  local code = [[
    local A <close> = cl.buffer("float", {2, 3}, 1)
    assert(type(A.transposed) == "function" and next(matrix) == nil)
    local early = A.max_diff
    local B <close> = A:transposed()
    print(B.rows, B.cols, next(matrix) ~= nil, (early(A, A)))
    print(pcall(cl.extend, "Buffer", {save = print}))
  ]]
  local out = output(code)
  t.ok(out:find "^3\t2\ttrue\t0.0\nfalse\t.*'save' already", out)
end)

t.done()
