-- complete.lua - completion at the prompt: the candidates at each place of the
-- cursor
-- SPDX-License-Identifier: MIT
local t = require "t"

local asked = require "at"
local cl = require "cl"
local options = require "clshell.base.options"
local system = require "clshell.system"

local at, has, words = asked.all, asked.has, asked.words

t.test("the words of options are those that the code takes", function()
  local efforts = {}
  for name in pairs(require "clshell.measure.protocol".efforts) do
    efforts[#efforts + 1] = name
  end
  table.sort(efforts)
  t.eq(efforts, options.values("bench", "effort"))
end)

t.test("cl.members and cl.types give names to completion", function()
  local methods, fields, names = cl.members(cl.array("int", 2))
  t.ok(table.concat(methods, " "):find("max_diff", 1, true))
  t.ok(table.concat(fields, " "):find("shape", 1, true))
  t.eq(names, nil)
  t.ok(table.concat(cl.members "Buffer", " "):find("max_diff", 1, true))
  t.eq(select("#", cl.members {}), 0)
  t.eq(select("#", cl.members "no class"), 0)
  for _, name in ipairs(cl.types()) do
    t.ok(cl.typesize(name) >= 1)
  end
end)

t.test("names: globals, keywords, locals of the same statement", function()
  t.eq({at "collectg|"}, {1, {"collectgarbage"}, nil, "collectgarbage",
    {"collectgarbage"}})
  t.eq({at "x = coll|"}, {5, {"collectgarbage"}, nil, "collectgarbage",
    {"collectgarbage"}})
  t.eq(words "funct|", "function")
  t.eq(words "local alpha, beta <const> = 1, 2; alp|", "alpha")
  t.eq(words "for index_i, index_v in next, x do index_|",
    "index_i index_v")
  t.eq(words "for index_i = 1, 2 do end index_|", "")
  t.eq(words "local function inner_f(first_p, ...) first_|", "first_p")
  t.eq(words "local function inner_f(first_p) end inner_|", "inner_f")
  t.eq(words "local function inner_f(first_p) end first_|", "")
  t.eq(words "if x then local in_if elseif y then in_|", "")
  t.eq(words "if x then local in_if = 1\n in_|", "in_if")
  t.eq(words "repeat local in_loop until in_|", "")
  t.eq(words "local new_na|", "")
  t.eq(words "gem|", "gemm gemv")
  t.eq(words "a.. collectg|", "collectgarbage")
  t.ok(#words "|" > 0)
end)

t.test("nothing where there is nothing to complete", function()
  for _, text in ipairs{"-- comm|", "--[[ comm|", "x = 1.|", "x = 0xf|",
      "goto con|", "f(...|", "x = 3|", "unknown_name.x|", "('x' .. y).u|",
      "f(1).|", "x = 'no such file at all|", "[[kernel\nvo|"} do
    t.eq(at(text), nil, text)
  end
end)

t.test("fields and methods, by chains", function()
  local own = {own = setmetatable({nested = {leaf_a = 1, leaf_b = print},
    ["with space"] = 1, ["end"] = 2, [1] = {first = 1}},
    {__index = {inherited = 1}})}
  t.eq(words("own.nes|", own), "nested")
  t.eq(words("own.inh|", own), "inherited")
  t.eq(words("own.nested.|", own), "leaf_a leaf_b")
  t.eq(words("own.nested:|", own), "leaf_b")
  t.eq(words("own['nested'].leaf_a|", own), "leaf_a")
  t.eq(words("own[1].|", own), "first")
  t.eq(words("own['with|", own), "with space']")
  t.eq(words('own["with sp|"]', own), "with space")
  t.eq(words("own.e|", own), "")
  t.eq(words("own . nested . leaf_a|", own), "leaf_a")
  t.eq(words("local own; own.nes|", own), "")
  t.eq(words("s:upp|", {s = "text"}), "upper")
  t.eq(words "('x'):upp|", "upper")
  t.eq(words "io.stdout:wri|", "write")
  t.eq(words "io.stdout:wri|('x')", "write")
  t.eq(words "math.hu|", "huge")
  t.eq(words "gemm.bench|", "bench")
end)

t.test("letter case, hidden names, the common beginning", function()
  local own = {own = {Alpha = 1, alphabet = 2, _hidden = 3, beta = 4}}
  t.eq(words("own.al|", own), "alphabet")
  t.eq(words("own.AL|", own), "Alpha alphabet")
  t.eq(words("own.BE|", own), "beta")
  t.eq(words("own.|", own), "Alpha alphabet beta")
  t.eq(words("own._|", own), "_hidden")
  local _, _, _, common = at("own.s|", {own = {same_one = 1, same_two = 2}})
  t.eq(common, "same_")
  _, _, _, common = at("own.AL|", own)
  t.eq(common, nil) -- none has it
  _, _, _, common = at("own.\xC3|", own)
  t.eq(common, nil)
end)

t.test("the text behind the cursor stays in its place", function()
  local own = {own = {alphabet = 1, almost = 2, alpine = 3}}
  t.eq(words("own.al|phabet", own), "al")
  t.eq(words("own.al|ost = 3", own), "alm")
  t.eq({at("own.al|p", {own = {ali_p = 1, alo_p = 2}})},
    {5, {"ali_", "alo_"}, nil, "al", {"ali_p", "alo_p"}})
  t.eq(words("own.al|(x)", own), "almost alphabet alpine")
  t.eq(words "cl.array('fl|oat2', 3)", "fl")
  t.eq(words "cl.use 'gp|'", "gpu")
  t.eq(words "cl.use 'gp|", "gpu'")
  t.eq(words "bench(f, {eff| = 'quick'})", "effort")
  t.eq(words "bench(f, {eff|", "effort = ")
end)

t.test("options of a call's table, by the function", function()
  t.eq(words "bench(f, {eff|", "effort = ")
  t.eq(words "bench(f, {effort = 'quick', eff|", "")
  t.eq(words "bench(f, {eff|, effort = 'quick'})", "")
  t.eq(words("measure(f, {effo|", {measure = bench}), "effort = ")
  t.eq(words("bench(f, {effo|", {bench = print}), "")
  rawset(_G, "bench", require "clshell.measure.bench")
  t.eq(words "cl.buffer('float', 3, 0, {acc|", "access = ")
  t.eq(words "cl.queue{out|", "out_of_order = ")
  t.eq(words "cl.image{heig|", "height = ")
  t.eq(words "matrix.random(3, {see|", "seed = ")
  t.ok(has("bench(f, {|", "effort"))
  t.ok(not has("bench(f, {effort = {|", "effort"))
  t.eq(words "bench(f, {effort = |", '"final" "quick"')
  t.eq(words "bench(f, {effort = 'q|", "quick'")
  t.eq(words "bench(f, {cache = \"|", "cold hot")
  t.eq(words "cl.buffer('float', 3, 0, {access = 'read_|",
    "read_only read_write")
  t.eq(words "gemm.define{less|", "lesson = ")
end)

t.test("rungs and their parameters", function()
  t.eq(words "gemm(A, B, {kern|", "kernel = ")
  t.eq(words "gemm(A, B, {kernel = 'tiled_p|", "tiled_padded'")
  t.ok(has("gemm(A, B, {kernel = |", '"tiled"'))
  t.eq(words "gemm(A, B, {kernel = 'tiled', ti|", "tile = ")
  t.eq(words "gemm(A, B, {ti|, kernel = 'tiled'})", "tile = ")
  t.eq(words "gemm(A, B, {til|", "")
  t.eq(words "gemm(A, B, {kernel = 'tiled', tile = |", "4 8 16 32")
  t.eq(words "gemm(A, B, {kernel = 'tiled', edge = |", '"guard" "pad"')
  t.eq(words "gemm(A, B, {kernel = 'tiled', edge = 'g|", "guard'")
  t.eq(words "spmv(M, x, {kernel = 'loc|", "local_offsets'")
  t.eq(words "gemm.rung 'tiled_p|", "tiled_padded'")
  t.eq(words "gemm.check('tiled', {ed|", "edge = ")
  t.ok(has("gemm.verify('tiled', {}, {|", "A"))
  t.eq(words "gemm.bench('tiled', {}, {A = A}, {eff|", "effort = ")
  t.eq(words "bench('transpose.tiled_p|", "transpose.tiled_padded'")
  t.eq(words "bench('gemm.tiled', {8}, {ed|", "edge = ")
  t.eq(words "check('gemm.tiled_p|", "gemm.tiled_padded'")
  t.eq(words "access(l, x, {as = 'MI|", "MI200 MI300")
  t.eq(words "occupancy{gpu = 'M1|", "M1'")
  t.ok(has("occupancy{gpu = |", '"H100"'))
  t.eq(words "check(gemm, 'tiled_p|", "tiled_padded'")
  t.eq(words "check(gemm, {sha|", "shapes = ")
  t.eq(words "check('gemm.tiled', {sha|", "shapes = ")
  t.eq(words "%check gemm tiled_p|", "tiled_padded")
  t.eq(words "%check gemm.tiled_p|", "tiled_padded")
  local mine = require "clshell.gemm"
  mine.define{name = "mine_of_test", source = "kernel void f() {}",
    params = {{name = "wide", values = {1, 2.5, true}}},
    range = function() return 1 end}
  t.eq(words "gemm(A, B, {kernel = 'mine_of|", "mine_of_test'")
  t.eq(words "gemm(A, B, {kernel = 'mine_of_test', wide = |", "1 2.5 true")
end)

t.test("element types and devices in strings", function()
  t.ok(has("cl.array('fl|", "float4"))
  t.eq(words "cl.buffer(\"dou|", "double double16 double2 double3 double4 "
    .. "double8")
  t.eq(words "matrix.zeros(4, {type = 'ha|", "half half16 half2 half3 half4 "
    .. "half8")
  t.ok(has("cl.array(|", '"int"'))
  t.ok(has("cl.use '|", "gpu"))
  t.eq(words "cl.use 'acc|", "accelerator'")
  local program = [[local c = require "clshell.shell.prompt.complete"
    local before = debug.getregistry()["cl.devices"]
    local _, list, hint = c.at("cl.use '", 8)
    print(#list, hint, before, debug.getregistry()["cl.devices"])]]
  local p <close> = assert(io.popen(("%s -e '%s'"):format(t.exe,
    program:gsub("'", "'\\''"))))
  t.eq(p:read "a", "3\tno driver is open yet; cl.devices() lists the "
    .. "devices\tnil\tnil\n")
  t.keeps("Device")
  for _, device in ipairs(cl.devices()) do
    t.ok(has("cl.use '|", device.name))
    t.ok(has("cl.use '" .. device.name:sub(3, 6):upper() .. "|", device.name
      .. "'") or words("cl.use '" .. device.name:sub(3, 6) .. "|") ~= "")
  end
end)

t.test("objects: methods, fields, kernels of a program", function()
  t.skip_if(#cl.devices() == 0, "no OpenCL device")
  t.keeps("Context", "Device", "Queue")
  local device = cl.device()
  t.ok(has("dev.max_work_g|", "max_work_group_size", {dev = device}))
  t.eq(words("dev:inf|", {dev = device}), "info")
  t.eq(words "cl.device().platf|", "platform")
  local b <close> = cl.buffer("int", 4, 0)
  t.eq(words("b:overl|", {b = b}), "overlaps")
  t.eq(words("b.shap|", {b = b}), "shape")
  t.eq(words("b:shap|", {b = b}), "")
  t.eq(words("b:read{asy|", {b = b}), "async = ")
  t.eq(words("h:sort{va|", {h = cl.array("int", 3)}), "values = ")
  t.eq(words("M:to_csr{con|", {M = dia.banded(3, {0})}), "context = ")
  local p <close> = cl.build "kernel void one_k(global int *x, int n) {} \z
    kernel void two_k(global int *x) { x[0] = 1; }"
  local k <close> = p.one_k
  local l <close> = k:range(1)
  t.eq(words("p.one|", {p = p}), "one_k")
  t.eq(words("p:kernel 'tw|", {p = p}), "two_k'")
  t.eq(words("p.two_k:rang|", {p = p}), "range")
  t.eq(words("k:range(1):o|", {k = k}), "on")
  local steps <close> = cl.record(function() p.two_k:range(1)(b) end)
  t.eq(words("steps:ru|", {steps = steps}), "run")
  t.eq(words("steps.nat|", {steps = steps}), "native")
  t.eq(words("steps:run{aft|", {steps = steps}), "after = ")
  t.eq(words("steps():wa|", {steps = steps}), "wait")
  t.eq(words "cl.record(f):ru|", "run")
  local own = {k = k, l = l, p = p, b = b}
  for text, argument in pairs{["l(|"] = 1, ["l(b, |"] = 2, ["k(b, |"] = 2,
      ["k:range(1)(|"] = 1, ["k:range(1):on(q)(b, |"] = 2,
      ["p.one_k:range(1)(b, |"] = 2} do
    local _, _, hint = at(text, own)
    t.eq(hint, "one_k(global int* x, int n)\n" .. (argument == 1
      and "      ^^^^^^^^^^^^^" or "                     ^^^^^"), text)
  end
  p:close()
  t.ok(has("p.|", "kernels", {p = p}))
end)

t.test("the parameters of a function, where an argument begins", function()
  local own = {mine = function(alpha, beta, ...) return alpha, beta, ... end,
    object = {run = function(self, way) return self, way end},
    callable = setmetatable({}, {__call = function(self, x)
      return self, x
    end})}
  for text, shown in pairs{
    ["gemm(A, |"] = "gemm(A, B, [opts]) -> C, event\n        ^",
    ["gemm.rung(|"] = "gemm.rung(name) -> rung\n          ^^^^",
    ["cl.queue(|"] = "cl.queue([opts]) -> Queue\n         ^^^^^^",
    ["string.rep(x, y, |"] = "string.rep(s, n, [sep])\n"
      .. "                 ^^^^^",
    ["('x'):rep(|"] = "string.rep(s, n, [sep])\n              ^",
    ["mine(|"] = "mine(alpha, beta, ...)\n     ^^^^^",
    ["mine(1, 2, 3, 4, |"] = "mine(alpha, beta, ...)\n                  ^^^",
    ["object:run(|"] = "run(self, way)\n          ^^^",
    ["callable(|"] = "callable(self, x)\n               ^",
    ["%time mine(|"] = "mine(alpha, beta, ...)\n     ^^^^^",
    ["no_such(|"] = "nothing is known of no_such's parameters",
    ["local mine; mine(|"] = "nothing is known of mine's parameters",
    ["f()(|"] = "nothing is known of this function's parameters",
  } do
    local _, _, hint = at(text, own)
    t.eq(hint, shown, text)
  end
  t.eq(select(3, at("mine(x|", own)), nil)
  t.eq(select(3, at("mine|", own)), nil)
end)

t.test("the parameters fit the window, with that of the cursor", function()
  local signature = require "clshell.shell.prompt.signature"
  rawset(_G, "wide", load [[return function(first_one, second_one, third_one,
    fourth_one, fifth_one) return first_one, second_one, third_one,
    fourth_one, fifth_one end]]())
  local call = {callee = {{base = "wide"}}}
  for width = 1, 80 do
    for i, name in ipairs{"first_one", "second_one", "third_one",
        "fourth_one", "fifth_one"} do
      call.argument = i
      local tip = signature.tip(call, {}, width)
      local text, mark = tip:match "^([^\n]*)\n?(.*)$"
      t.ok(#text <= width and #mark <= width, text)
      t.ok(width < 30 or text:sub(#mark:match "^ *" + 1, #mark) == name, text)
      t.ok(width < 62 or not text:find("...", 1, true), text)
    end
  end
  rawset(_G, "wide", nil)
end)

t.test("Tab offers what is documented, and no internals", function()
  t.eq(words "gemm.|", "bench check choice choices define forget keep kept "
    .. "kernels plan rung verify")
  t.eq(words "gemm.spe|", "")
  t.eq(words "require 'clshell.timer|", "")
  t.eq(words "require 'clshell.ti|", "clshell.timeline'")
  t.eq(words "require 'clshell.ge|", "clshell.gemm clshell.gemv")
  t.eq(words "require 'clshell.plo|", "clshell.plot'")
end)

local function run(command)
  t.ok(os.execute(command), command)
end

t.test("files in strings and after commands", function()
  local dir = t.tmp "files"
  run(([[mkdir -p %s/sub/inner && cd %s && touch one.lua one.txt 'a b.txt' \
    "quo'te" .hidden UPPER.txt]]):format(dir, dir))
  local _ <close> = setmetatable({}, {__close = function()
    run("rm -r " .. dir)
  end})
  local function files(text)
    local found = words((text:gsub("DIR", dir)))
    return (found:gsub(dir:gsub("%p", "%%%0"), "DIR"))
  end
  t.eq(files "x = 'DIR/one|", "DIR/one.lua DIR/one.txt")
  t.eq(files "x = 'DIR/one.l|", "DIR/one.lua'")
  t.eq(files "x = [[DIR/one.l|", "DIR/one.lua]]")
  t.eq(files "x = 'DIR/su|", "DIR/sub/")
  t.eq(files "x = 'DIR/sub/|", "DIR/sub/inner/")
  t.eq(files "x = 'DIR/a|", "DIR/a b.txt'")
  t.eq(files "x = 'DIR/quo|", "DIR/quo\\'te'")
  t.eq(files "x = \"DIR/quo|", "DIR/quo'te\"")
  t.eq(files "x = 'DIR/upp|", "DIR/UPPER.txt'")
  t.eq(files "x = 'DIR/.h|", "DIR/.hidden'")
  t.ok(not files "x = 'DIR/|":find "hidden")
  t.eq(files "%run DIR/one.l|", "DIR/one.lua")
  t.eq(files "%cd DIR/|", "DIR/sub/")
  t.eq(files "!cat DIR/one.l|", "DIR/one.lua ")
  t.eq(files "!cat DIR/a|", "DIR/a\\ b.txt ")
  t.eq(files "!cat DIR/a\\ b|", "DIR/a\\ b.txt ")
  t.eq(files "!cat 'DIR/a b|", "DIR/a b.txt'")
  local _, list, _, common, shown = at("x = '" .. dir .. "/one|")
  t.eq({list, common, shown}, {{dir .. "/one.lua", dir .. "/one.txt"},
    dir .. "/one.", {"one.lua", "one.txt"}})
  local names, partial = system.folder(dir, "", 3)
  t.ok(#names <= 3 and partial)
  names, partial = system.folder(dir, "ONE.L")
  t.eq({names, partial}, {{"one.lua"}, false})
  t.eq(system.folder(dir .. "/none"), nil)
end)

t.test("words of OpenCL C, and names, in the text of a kernel", function()
  local source = "k = cl.kernel [[\nkernel void f(global float *values) {"
  t.eq(words(source .. " int i = get_global_i|"), "get_global_id")
  t.eq(words(source .. " valu|"), "values")
  t.eq(words(source .. " floa|"), "float float16 float2 float3 float4 float8")
  t.eq(words(source .. " values[|"), "")
  local _, _, hint = at(source .. " get_global_i|")
  t.ok(hint:find "work%-item", hint)
end)

t.test("modules, sources and topics", function()
  t.eq(words "require 'clshell.ladders.gemm.nv_r|",
    "clshell.ladders.gemm.nv_rungs'")
  t.eq(words "require 'strin|", "string'")
  t.ok(has("require 'clshell.shell.prompt|", "clshell.shell.prompt."))
  t.eq(words "cl.build('gemm/tiled_pad|", "gemm/tiled_padded.cl'")
  t.eq(words "?gemm.tiled_pad|", "gemm.tiled_padded")
  t.eq(words "?cl.buff|", "cl.buffer")
  t.eq(words "?get_global_i|", "get_global_id")
  t.eq(words "%time math.hu|", "huge")
end)

t.test("commands, their settings and arguments", function()
  require "clshell.shell.prompt"
  t.eq(words "%tim|", "time timeit")
  t.eq(words "  %ben|", "bench ")
  t.ok(has("%|", "bench") and has("%|", "watch"))
  t.eq(words "%set loc|", "locals=")
  t.eq(words "%set locals=l|", "lua")
  t.eq(words "%set color al|", "always")
  t.eq(words "%help rel|", "reload")
  t.eq(words "%reload clshell.ladders.gemm.nv_r|",
    "clshell.ladders.gemm.nv_rungs")
  t.eq(words "%bench f(x) eff|", "effort=")
  t.eq(words "%bench f(x, collectg|", "collectgarbage")
  t.eq(words "%time collectg|", "collectgarbage")
  t.eq(words "%device acc|", "accelerator")
  t.eq(words "%run bench_tile|", "bench_tiles.lua")
  t.eq(words "%run bench_tiles.lua bench_tile|", "bench_tiles.lua")
  t.eq(words "%who |", "")
  t.eq(words "?%tim|", "%time %timeit")
end)

t.done()
