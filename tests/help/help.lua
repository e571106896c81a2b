-- help.lua - help finds every documented function, and documents every public
-- function; scripts' sizes
-- SPDX-License-Identifier: MIT

local t = require "t"
local api = require "clshell.base.api"
local cl = require "cl"
local cuda_words = require "clshell.cuda.words"
local gemm = require "clshell.gemm"
local help = require "clshell.help"
local index = require "clshell.shell.help.index"
local options = require "clshell.base.options"
local script = require "clshell.base.script"

t.keeps("Program", "Kernel", "Context", "Queue", "Device")

local function has(topic, ...)
  local text = help.text(topic):gsub("%s+", " ")
  for _, piece in ipairs{...} do
    t.ok(text:find(piece, 1, true),
      ("help %s has no '%s':\n%s"):format(topic, piece, text))
  end
end

t.test("topics by name", function()
  has(nil, "gemm", "Buffer", "matrix", "bench")
  has("gemm", "gemm(A, B", "tiled_padded", "gemm.define(")
  has("gemm.tiled_padded", "pad = 1", "0, 1, 2", "bank", "NDRange",
    "tiled_padded.cl")
  has("spmv.csr_scalar", "CSR")
  has("transpose.tiled", "tile")
  has("gemm.define", "gemm.define(rung)", "range(s, p)")
  has("cl.buffer", "cl.buffer(type, shape")
  has("Buffer", "Buffer:read(", "Buffer:fill(")
  has("Buffer:read", "Copies the buffer")
  has("matrix", "matrix.random(")
  has("matrix.random", "seed")
  has("cl", "cl.build(")
  has("bench", "warmup")
  has("help", "gemm.tiled_padded")
  has("peaks", "fma_float")
  has("output", "output.open(", "output.options(")
  has("out:part", "A table to come")
  has("timer.new", "protocol.measure")
  has("target.of", "bench or compare")
end)

t.test("topics by value", function()
  t.eq(help.text(gemm), help.text "gemm")
  t.eq(help.text(cl.buffer), help.text "cl.buffer")
  t.eq(help.text(cl), help.text "cl")
  t.eq(help.text(gemm.define), help.text "gemm.define")
  t.eq(help.text(require "clshell.measure.bench"), help.text "bench")
  t.eq(help.text(require("clshell.data.matrix").random),
    help.text "matrix.random")
  t.eq(help.text(require "clshell.measure.peaks"), help.text "peaks")
  local a = cl.array("int", 1)
  t.eq(help.text(a), help.text "Array")
  has(print, "print(...)", "reference manual")
  has(t.eq, "got, expected, what", "t.lua:", "Fails unless both are")
end)

t.test("unknown topics name the nearest", function()
  has("gemm.tild", "did you mean 'gemm.tiled'")
  has("cl.bufferx", "did you mean 'cl.buffer'")
  has("gem", "did you mean 'gemm'")
  has("xyzzyxyzzy", "help() lists the topics")
end)

t.test("a rung of the user's has help as well", function()
  gemm.define{
    name = "helped", lesson = "what it teaches", range = function() end,
    params = {{name = "size", values = {1, 2}, help = "how big it is"}},
    source = "/* helped.cl - the head\n** SPDX-License-Identifier: MIT\n"
      .. "** formula */\nkernel void helped(void) {}",
  }
  has("gemm.helped", "what it teaches", "size = 1 (1, 2)", "how big it is",
    "the head", "formula")
end)

t.test("no page breaks a word, in windows of any width", function()
  local topics = {"", "if", "nosuchtopic with several words in it"}
  for _, entry in ipairs(index.entries()) do
    topics[#topics + 1] = not entry.minor and entry.name or nil
  end
  for _, concept in ipairs(require "clshell.shell.help.concepts".list) do
    topics[#topics + 1] = concept.name
  end
  for _, topic in ipairs(topics) do
    local words = {}
    for word in help.text(topic, {width = 96}):gmatch "%S+" do
      words[word] = true
    end
    for _, width in ipairs{40, 80} do
      local page = help.text(topic, {width = width})
      for line in page:gmatch "[^\n]+" do
        t.ok(utf8.len(line) <= width or not line:find "%S%s+%S",
          ("%s in %d columns: %s"):format(topic, width, line))
      end
      for word in page:gmatch "%S+" do
        t.ok(words[word] or word == "...", word)
      end
    end
  end
end)

-- Asks for a page, and fails where there is none.
local function page(topic)
  local text = help.text(topic)
  t.ok(not text:find("^no help on"), text)
  return (text:gsub("%s+", " "))
end

t.test("every word that a result prints has a page", function()
  local record = require "clshell.measure.record"
  local text_of = require "clshell.results.record_text".text
  local r = record.new("f", nil, {})
  for key, value in pairs{ms = 1, median = 1e-3, lo = 1e-3, hi = 1e-3, n = 9,
      discarded = 2, min = 1e-3, mode = "cold", cache = "rotation",
      timer = "event", tick_ns = 1, batch = 3, gap = 0.1, sum = 1e-3,
      span = 1e-3, gflops = 1, gbs = 1, ai = 1, roof = 0.5, bound = "memory"}
  do
    r[key] = value
  end
  for word in text_of(r):gsub("f  ", "", 1):gmatch "[%a/]+" do
    local known = {ms = true, of = true, the = true, measured = true,
      inside = true, commands = true}
    t.ok(known[word] or page(word))
  end
  for _, word in ipairs{"±", "AI", "hot", "clock!", "unconverged",
      "overhead-bound", "no event timer", "IMPOSSIBLE?", "refused", "wrong",
      "failed", "interrupted", "flush", "queued", "ld",
      "inside the commands", "FASTER", "SLOWER", "SAME", "UNCLEAR", "rounds",
      "ms"} do
    page(word)
  end
end)

t.test("what users of other languages ask for is answered", function()
  for word in ("and break do else elseif end false for function goto if in "
      .. "local nil not or repeat return then true until while")
      :gmatch "%a+" do
    t.ok(page(word):find("manual, section 3.3", 1, true), word)
  end
  t.ok(page "local":find("address space of a work-group", 1, true))
  has("image", "?cl.image", "read_imagef", "vload4")
  has("svm", "b.address")
  has("queue priority", "priority = \"high\"", "cl_khr_")
  has("command buffer", "?cl.record", "cl_khr_command_buffer", "NVIDIA",
    "steps.native")
  has("pipe", "atomic_inc")
  has("device enqueue", "?Launch:on")
  has("host pointer", "use_host_ptr = true", "b:map()")
  has("fp16", "cl_khr_fp16", "vload_half")
  has("callback", "on_complete")
  for word, found in pairs{zeros = "numpy", dtype = "numpy", std = "reduction",
      softmax = "reduction", ["top k"] = "sorted", ["prefix sum"] = "sorted",
      clip = "Buffer:clamp", bilinear = "cl.sampler",
      cumsum = "Buffer:cumsum", texture = "image", subgroup = "warp",
      subdevice = "several_devices", rectangle = "box"} do
    local list = help.search(word, {width = 80, height = 24, color = false})
    t.ok(list:find(found, 1, true), word)
  end
  has("shared context", "cl.contexts")
  has("spir-v", "cl.build_il")
  has("threadIdx", "get_local_id(0)")
  has("threadIdx.x", "get_local_id(0)")
  has("__syncthreads", "barrier(")
  has("tex2D", "(CUDA)", "read_imagef(img, s, (float2)(x, y))")
  has("warp divergence", "different sides of an `if`")
  has("cuda", "cuda = true", "cuda.translate", "cudaMalloc", "b:read()")
  for words, found in pairs{threadIdx = "threadIdx", dim3 = "dim3",
      ["warp divergence"] = "divergence", image = "image",
      __shfl_down_sync = "sub_group", cudamemcpy = "b:write(h)"} do
    local list = help.search(words, {width = 80, height = 24, color = false})
    t.ok(list:find(found, 1, true), list)
  end
  has("course", 'course "A2"', "tiles of 8x8", "[GPU]", "[simulator]",
    'course "E5"', "%exercise 1")
  has("exit", "Ctrl-D")
  has("json", 'local json = require "clshell.json"')
  has("A.rows", "Field 'rows'", "?cl.buffer")
  has("ev.ms", "?Event:info")
  t.eq(help.text "A.nosuchfield":match "^no help", "no help")
  t.ok(not help.text "gemm.spec":find("did you mean", 1, true))
  t.ok(not help.text "hop":find("plot", 1, true))
end)

t.test("help names what there is, and nothing of clshell's own", function()
  require "clshell"
  local list = help.text(nil, {width = 96})
  for name in list:match "Modules and functions\n(.-)\n\n":gmatch "%S+" do
    t.ok(rawget(_G, name) ~= nil, name .. " is no global")
  end
  for name in list:match "Modules for require[^\n]*\n(.-)\n\n":gmatch "%S+" do
    t.eq(type(require("clshell." .. name)), "table", name)
  end
  for name in list:match "Objects\n(.-)\n\n":gmatch "%S+" do
    page(name)
  end
  for _, word in ipairs{"target", "timer", "traffic", "spec"} do
    t.ok(not list:find("%f[%S]" .. word .. "%f[%s]"), word)
    t.ok(not help.search(word, {height = 99}):find("%f[%S]" .. word
      .. "[.:]%w"), word)
  end
  local texts = {}
  for _, entry in ipairs(index.entries()) do
    texts[#texts + 1] = not entry.minor and entry.text or nil
  end
  for _, concept in ipairs(require "clshell.shell.help.concepts".list) do
    texts[#texts + 1] = concept.text
    texts[#texts + 1] = " " .. concept.try
  end
  local text = table.concat(texts, "\n")
  for topic in text:gmatch "%s%?([%a_][%w_.:]*%w)" do
    t.ok(topic == "topic" or page(topic))
  end
  for span in text:gmatch "`([^`\n]+)`" do
    local root, sign, member = span:match
      "^([%a_]%w*)([.:])([%a_][%w_]*)"
    if root and #root > 1 and type(rawget(_G, root)) == "table" then
      t.ok(help.text(root .. "." .. member):find "^no help" == nil
        or rawget(_G, root)[member] ~= nil, span)
    elseif root and span ~= "b:sum()" then -- an example of cl.extend
      page(root .. sign .. member)
    end
  end
end)

-- What the modules share among themselves: no `---` comment, no help.
local INTERNAL = {"mtx.sum", "mtx.value", "verify.poison",
  "verify.filling", "verify.scalar",
  "family.bind", "family.bytes", "family.flop",
  "family.forget_plans", "family.host", "family.out_of_core",
  "family.plan_for", "family.refusal", "script.declare",
  "family.truth",
  "bench.bench_of", "bench.job", "bench.keep_of", "bench.run",
  "peaks.better", "peaks.forget", "peaks.peaks",
  "peaks.raise", "peaks.ceiling", "peaks.tries", "peaks.words",
  "compare.compare",
  "tune.tune", "roofline.host", "roofline.memory",
  "roofline.recent",
  "roofline.roofline", "calibrate.notice", "timer.enqueues",
  "lesson.lesson", "calibrate.canary", "calibrate.device",
  "calibrate.kernel", "progress.phase",
  "calibrate.stamps", "runs.best",
  "runs.history", "runs.prune", "results.new", "target.behind_name",
  "target.copy", "target.footprint", "target.ladder", "target.local_text",
  "target.plan", "stats.verdict", "timer.host", "verify.judge",
  "verify.reference", "verify.sample_rows", "verify.transpose",
  "export.csv", "export.meta", "export.rows", "export.values",
  "report.filled", "report.live"}
local MODULES = {"matrix", "dia", "csr", "gemm", "spmv", "transpose",
  "bench", "peaks", "compare", "tune", "roofline", "lesson", "calibrate",
  "runs",
  "results", "plot", "export", "html", "stats", "report", "script", "help",
  "verify", "npy", "mtx", "traffic", "occupancy", "claims", "course",
  "output",
  "target", "timer", "progress", "json", "store", "quantity", "style",
  "system"}
local FAMILY = {gemm = true, spmv = true, transpose = true}

-- The names of all functions and methods that a session can reach.
local function public()
  local names = {"history", "best", "prune", "bench", "gemm", "help"}
  for key, value in pairs(cl) do
    names[#names + 1] = type(value) == "function" and "cl." .. key or nil
  end
  for key in pairs(require "cl.host") do
    names[#names + 1] = "cl.host." .. key
  end
  for _, module in ipairs(MODULES) do
    for key, value in pairs(require("clshell." .. module)) do
      local own = index.entries()[module .. "." .. key] -- not of each family
      local prefix = FAMILY[module] and not own and "family" or module
      names[#names + 1] = type(value) == "function"
        and prefix .. "." .. key or nil
    end
  end
  return names
end

local function methods(names, class, object)
  for _, name in ipairs((cl.members(object))) do
    names[#names + 1] = class .. ":" .. name
  end
  if type(object) == "userdata" then
    object:close()
  end
end

t.test("every public function and method has help and an example", function()
  local names, known, missing = public(), {}, {}
  if pcall(cl.device) then
    local prog = cl.build "kernel void f(void) {}"
    local kernel = prog.f
    local b = cl.buffer("int", 1)
    methods(names, "Launch", kernel:range(1))
    methods(names, "Event", b:fill(0))
    methods(names, "Kernel", kernel)
    methods(names, "Program", prog)
    methods(names, "Buffer", b)
    methods(names, "Queue", cl.queue())
    methods(names, "Context", cl.context())
    methods(names, "Device", cl.device())
  end
  methods(names, "Array", cl.array("int", 1))
  for _, name in ipairs(INTERNAL) do
    known[name] = true
  end
  for _, name in ipairs(names) do
    local entry = index.entries()[name]
    if not known[name] then
      local lacks = not entry and "help" or entry.text == "" and "a text"
        or not entry.example and "an example"
      missing[#missing + 1] = lacks and ("%s lacks %s"):format(name, lacks)
        or nil
    end
  end
  table.sort(missing)
  t.eq(missing, {})
end)

t.test("every entry has an example", function()
  for _, entry in ipairs(index.entries()) do
    t.ok(entry.example, entry.name .. " has no example")
  end
end)

t.test("pages name no file of clshell's Lua", function()
  for _, entry in ipairs(index.entries()) do
    t.ok(not entry.text:find("%f[%w]lua/") and
      not entry.text:find("%w%.lua%f[^%w]"), entry.name)
    for _, option in ipairs(entry.options) do
      t.ok(not option.text:find("%w%.lua%f[^%w]"), entry.name)
    end
  end
end)

local function is_set(list)
  local set = {}
  for _, name in ipairs(list or {}) do
    t.ok(not set[name], name .. " is there twice")
    t.ok(name:find "^[%a_][%w_]*$", name)
    set[name] = true
  end
  return set
end

-- The options of a function by its comment.
local function commented(name)
  local list = {}
  for _, option in ipairs(api.options(name)) do
    t.ok(option.text ~= "", name .. ": " .. option.name)
    for word in option.name:gmatch "[%w_]+" do
      list[#list + 1] = word
    end
  end
  return is_set(list)
end

-- Calls of the functions of C with options, by name. `o` has no valid option.
local function calls()
  local q, c, b = cl.context().queue, cl.context(), cl.buffer("int", 4, 0)
  local prog = cl.build "kernel void f(global int *x) { *x = 1; }"
  local l, text, binary = prog.f:range(1), "kernel void f() {}", prog:binary()
  local steps = cl.record(function() l(b) end)
  local pixels = cl.device().image_support
  local img = pixels and cl.image{width = 4, height = 4}
  local list = {
    ["cl.build"] = function(o) cl.build(text, o) end,
    ["cl.build_binary"] = function(o) cl.build_binary(binary, o) end,
    ["cl.build_il"] = function(o) cl.build_il("", o) end,
    ["cl.buffer"] = function(o) cl.buffer("int", 4, 0, o) end,
    ["cl.compile"] = function(o) cl.compile(text, o) end,
    ["cl.files"] = function(o) cl.files("gemm/naive.cl", o) end,
    ["cl.image"] = cl.image, ["cl.queue"] = cl.queue,
    ["cl.kernel"] = function(o) cl.kernel(text, o) end,
    ["cl.link"] = function(o) cl.link({prog}, o) end,
    ["cl.record"] = function(o) cl.record(print, o) end,
    ["cl.sampler"] = cl.sampler, ["cl.user_event"] = cl.user_event,
    ["Buffer:copy"] = function(o) b:copy(cl.buffer("int", 4), o) end,
    ["Buffer:fill"] = function(o) b:fill(1, o) end,
    ["Buffer:map"] = function(o) b:map("read", o) end,
    ["Buffer:migrate"] = function(o) b:migrate(o) end,
    ["Buffer:read"] = function(o) b:read(o) end,
    ["Buffer:write"] = function(o) b:write(1, o) end,
    ["CommandBuffer:run"] = function(o) steps:run(o) end,
    ["Context:image_formats"] = function(o) c:image_formats(o) end,
    ["Device:partition"] = function(o) cl.device():partition(o) end,
    ["Launch:on"] = function(o) l:on(q, o) end,
    ["Launch:work"] = function(o) l:work(o) end,
    ["Program:binary"] = function(o) prog:binary(o) end,
    ["Queue:barrier"] = function(o) q:barrier(o) end,
    ["Queue:marker"] = function(o) q:marker(o) end,
  }
  if img then
    list["Image:copy"] = function(o) img:copy(img, o) end
    list["Image:fill"] = function(o) img:fill(0, o) end
    list["Image:map"] = function(o) img:map("read", o) end
    list["Image:read"] = function(o) img:read(o) end
    list["Image:write"] = function(o) img:write(0, o) end
  end
  return list, img
end

t.test("the comments and the options that C takes agree", function()
  local list, images = calls()
  for name, call in pairs(list) do
    local fine, err = pcall(call, {["0zzzzzzzzz"] = 1})
    t.ok(not fine, name)
    local taken, words = tostring(err):match "there are: ([%w_, ]+)", {}
    for word in (taken or ""):gmatch "[%w_]+" do
      words[#words + 1] = word
    end
    t.eq(commented(name), is_set(words), name .. ": " .. tostring(err))
  end
  for _, entry in ipairs(api.all()) do
    local listed = api.options(entry.name)
    if entry.file:find "^src/cl/" and listed[1]
      and (images or not entry.name:find "^Image:") then
      t.ok(list[entry.name], entry.name .. " is not among these calls")
    end
    local inner = entry.signature:gsub("%->.*", "")
    t.ok(listed[1] or not inner:find "opts", entry.name
      .. " takes options, but its comment lists none")
  end
end)

t.test("what Lua checks has options in its comment", function()
  local quote = require "clshell.base.text".quote
  local pipe <close> = assert(io.popen(("grep -rhoE %s %s"):format(
    quote [=[options\.check\([^"]*"[^"]+"[,)]]=], quote(cl.home .. "/lua"))))
  local count = 0
  for line in pipe:lines() do
    local name = line:match '"([^"]+)".$'
    t.ok(next(commented(name)), name .. " has no options")
    t.raises(function()
      options.check({no_such_option = 1}, name)
    end, "unknown option 'no_such_option'", name)
    count = count + 1
  end
  t.ok(count > 40, count)
end)

t.test("one entry is read as all of them are", function()
  local code = [[local api = require "clshell.base.api"
    local function text(x)
      return require "clshell.json".encode(x)
    end
    local one, none = text(api.entry "Launch:on"), api.entry "no such name"
    api.all()
    print(one == text(api.entry "Launch:on"), none, api.entry "no such name",
      api.entry "Array:sort" == api.entry "Buffer:sort")]]
  t.eq(t.capture(("%s -e '%s'"):format(t.exe, code)),
    "true\tnil\tnil\ttrue\n")
end)

t.test("options have defaults; a function shows the options it shares",
  function()
    local list = help.options "cl.queue"
    t.eq({list[1].name, list[1].default}, {"out_of_order", "false"})
    local fill = {}
    for i, option in ipairs(help.options "Buffer:fill") do
      fill[i] = option.name
    end
    t.eq(fill, {"first, count", "queue, after", "async"})
    has("gemm.bench", "effort", "(quick)", "cache")
    has("check", "Options (default)", "Options of a launch (default)")
    local rung = is_set(options.names "check.rung")
    t.ok(rung.limit and rung.shapes and not rung.shrink)
    t.eq(options.values("sort", "order"), {"ascending", "descending"})
    t.eq(options.names "cl.now", nil)
    t.raises(function()
      options.check({title = 5}, "plot.bar")
    end, "plot.bar: title must be a string; got 5")
  end)

t.test("concepts, by any of their names", function()
  for _, word in ipairs{"ndrange", "local_memory", "local memory",
      "coalescing", "occupancy", "roofline", "work-group", "warps",
      "shared memory", "bank conflict", "barrier", "tiling",
      "segfault"} do
    has(word, "Try: ")
  end
  has("roofline", "roofline([r])", "peak of arithmetic")
  has("occupancy", "occupancy.of(")
end)

t.test("words of OpenCL C, and methods of objects that are not known yet",
  function()
    has("get_global_id", "OpenCL C", "NDRange")
    has("mad", "a * b + c")
    has("barrier", "every work-item of a group")
    has("unknown_object:read", "Buffer:read([dst]")
    has("unknown_object:close", "Buffer:close()", "Array:close()")
    has("unknown_object:reed", "no help on")
  end)

t.test("a name alone leads to rungs, parameters, options of that name",
  function()
    has("tiled", "gemm.tiled ", "transpose.tiled ")
    has("nv_ffma", "gemm.nv_ffma - ", "Parameters")
    has("swizzle", "Parameter 'swizzle' of", "gemm.tiled_swizzled", "xor")
    has("map", "Buffer:map", "gemm.naive", "(col, row)")
    has("out_of_order", "Option", "cl.queue", "(false)")
    has("banded", "dia.banded(n, offsets")
  end)

-- Of earlier versions, where Lua was built with them.
local OLD = {setcstacklimit = true, clonefunction = true, cosh = true,
  sinh = true, tanh = true, pow = true, frexp = true, ldexp = true,
  log10 = true}

t.test("Lua's own functions", function()
  has("string.format", "%5.2f", "section 6.4")
  has("table.concat", "(list [, sep", "section 6.6")
  has("math", "math.sqrt(x)", "section 6.7")
  for library, functions in pairs{[""] = _G, ["string."] = string,
      ["table."] = table, ["math."] = math, ["io."] = io, ["os."] = os,
      ["coroutine."] = coroutine, ["utf8."] = utf8, ["debug."] = debug} do
    for name, value in pairs(functions) do
      if type(value) == "function" and (library ~= "" or
          not debug.getinfo(value, "S").source:find("^@"))
          and debug.getinfo(value, "S").what == "C"
          and not OLD[name] then
        has(library .. name, "reference manual")
      end
    end
  end
end)

-- Adds two numbers,
-- with care.
local function own_sum(first, second, ...)
  return first + second, ...
end

t.test("a function of the user's: place, signature, leading comment",
  function()
    rawset(_G, "own_sum", own_sum)
    has("own_sum", "own_sum(first, second, ...)", "tests/help/help.lua:",
      "Adds two numbers, with care.", "return first + second")
    rawset(_G, "own_sum", {inner = own_sum})
    has("own_sum", "is a table", "inner")
    has("own_sum.inner", "own_sum.inner(first, second, ...)")
    rawset(_G, "own_sum", cl.array("int", 3))
    has("own_sum", "Array:fill(")
    has("own_sum:fill", "Array:fill(value")
    rawset(_G, "own_sum", "text")
    has("own_sum:upper", "string.upper(s)")
    rawset(_G, "own_sum", setmetatable({}, {__index = error}))
    has("own_sum", "is a table", "empty")
    has("own_sum.x", "no help on") -- and error is not called
    rawset(_G, "own_sum", nil)
  end)

t.test("search finds names, options, texts and parameters, best first",
  function()
    local function first(words)
      return help.search(words, {width = 80, height = 50, color = false})
        :match("^%s*(%S+)")
    end
    t.eq(first "tile", "tile")
    t.eq(first "freivalds", "cl.host.gemm_freivalds")
    t.eq(first "out_of_order", "cl.queue")
    t.eq(first "bank conflict", "bank_conflict")
    t.eq(first "gsub", "string.gsub")
    t.ok(help.search "xyzzy":find("nothing about 'xyzzy'", 1, true))
    local short = help.search("matrix", {width = 60, height = 10,
      color = false})
    t.eq(select(2, short:gsub("\n", "")), 6)
    t.ok(short:find("6 of %d+; %?%?matrix"))
    for line in short:gmatch("[^\n]+") do
      t.ok(utf8.len(line) <= 60, line)
    end
  end)

t.test("F1 tells about the name or the call at the cursor", function()
  local function at(text)
    local before, after = text:match("^(.-)|(.*)$")
    local found = help.at(before .. after, #before)
    return found and found:gsub("\27%[%d*m", ""):match("^[%w_.:]+")
  end
  t.eq(at "ge|mm(A, B)", "gemm")
  t.eq(at "gemm(|A, B)", "gemm")
  t.eq(at "gemm(A, cl.buffer('float', |", "cl.buffer")
  t.eq(at "gemm(A, cl.buffer('float', 3), |", "gemm")
  t.eq(at "gemm(A, B, {kernel = 'tiled|_padded'})", "gemm.tiled_padded")
  t.eq(at "local x = string.form|at('%d', 3)", "string.format")
  t.eq(at "cl.build [[ ker|nel", "kernel")
  t.eq(at "gemm(A, B, {alph|a = 2})", "gemm")
  for _, text in ipairs{"", "x = 3 ", ")) } \""} do
    t.eq(help.at(text, #text), "no name and no call at the cursor; help() "
      .. "lists the topics")
  end
  t.eq(help.at("no_such(", 8), "no help on 'no_such'; help() lists the "
    .. "topics, ??word searches")
end)

t.test("F1 shows as much as fits above the input", function()
  for _, text in ipairs{"gemm(", "gemm(A,\n  B,\n", "cl.localmem("} do
    local window = {width = 80, height = 24}
    local found = help.at(text, #text, window)
    local _, lines = (found .. "\n" .. text):gsub("\n", "")
    t.ok(lines < window.height, found)
    local topic = text:match "^[^(]*"
    local more = found:match("\n%.%.%. (%d+) more lines: %?" .. topic .. "$")
    local whole = help.text(topic)
    local _, all = whole:gsub("\n", "")
    if more then
      t.eq(whole:sub(1, 40), found:sub(1, 40))
      t.eq(select(2, found:gsub("\n", "")) + tonumber(more), all + 1)
    end
    t.eq(more ~= nil, topic == "gemm")
    window.height = 1000
    t.eq(help.at(text, #text, window), whole)
  end
end)

t.test("F1 shows the parameters of the kernel that is called", function()
  t.skip_if(#cl.devices() == 0, "no OpenCL device")
  local p <close> = cl.build "kernel void one(global const int *x, int n) {}"
  rawset(_G, "prog_of_test", p)
  local tip = "one(\n  global const int* x,\n  int n)"
  local call = "prog_of_test.one:range{4, 1}("
  for _, text in ipairs{call, call .. "x", call .. "x, ",
      call .. "prog_of_test", call .. "unknown_of_test, 3 * "} do
    t.eq(help.at(text, #text), tip, text)
    t.eq(help.at(text .. ")", #text), tip, text)
  end
  t.ok(help.at(call .. "print", #call + 2):find "^print%(")
  rawset(_G, "prog_of_test", nil)
end)

t.test("a page fits its window and has no colour unless asked", function()
  for _, topic in ipairs{"cl.buffer", "gemm.define", "bench", "local_memory",
      "string.format", "Buffer"} do
    for _, width in ipairs{40, 60, 80} do
      local text = help.text(topic, {width = width})
      t.ok(not text:find("\27"))
      for line in text:gsub("\nExample.*", ""):gmatch("[^\n]+") do
        t.ok(not line:find("^  %S.* %S") or utf8.len(line) <= width,
          ("%s at %d: %s"):format(topic, width, line))
      end
    end
    local color = help.text(topic, {color = true})
    t.eq(color:gsub("\27%[%d*m", ""), help.text(topic))
    t.ok(not color:find("\27%[4%d"), "no background")
  end
end)

t.test("sizes on the command line", function()
  t.eq(script.size "512", 512)
  t.eq(script.size "4k", 4096)
  t.eq(script.shape "127x65x33", {127, 65, 33})
  t.eq(script.gemm_shape "64", {64, 64, 64})
  for _, bad in ipairs{"0", "-1", "1.5", "x", "", "99999999999999", "4q"} do
    local value, message = script.size(bad)
    t.eq(value, nil)
    t.ok(message:find("a size must be", 1, true), message)
  end
  for _, bad in ipairs{"1x", "x1", "1x0x1", "axb"} do
    t.eq(script.shape(bad), nil)
  end
  t.eq(script.gemm_shape "3x4", nil)
end)

t.test("words of hosts in C, Python, CUDA and HIP", function()
  for word, here in pairs{clCreateBuffer = 'cl.buffer("float", n)',
      clenqueuendrangekernel = "k:range(", CL_MEM_READ_ONLY = "read_only",
      clRetainContext = "nothing: an object",
      CL_DEVICE_MAX_CLOCK_FREQUENCY = "cl.device().max_clock_frequency",
      ["cl.enqueue_copy"] = "b:write(h)", to_device = "cl.buffer",
      CLK_LOCAL_MEM_FENCE = "flag of barrier", __local = "address space",
      cudaGetDeviceCount = "#cl.devices()", cudaEventRecord = "an event",
      cudaMemcpyHostToDevice = "b:write(h)", cudaDeviceProp = "cl.device()",
      ["compute capability"] = "nv_compute_capability_major",
      SIMT = "?divergence", hipMalloc = "cl.buffer", hipcc = "cl.build"} do
    has(word, here)
  end
  has("opencl", "clBuildProgram", "cl.create_some_context", "The host in C",
    "The host in Python", "--check host.c")
  has("pyopencl", "cl.CommandQueue")
  has("cudaMalloc(&p, 4); clFinish(queue); q = cl.CommandQueue(c)",
    "1 cudaMalloc", "1 clFinish", "1 cl.CommandQueue")
end)

t.test("the Lua for words of hosts names what is there", function()
  local count = {}
  for _, entry in ipairs(cuda_words.list) do
    if entry.kind == "host" or entry.kind == "cl"
        or entry.kind == "python" then
      count[entry.kind] = (count[entry.kind] or 0) + 1
      local here = " " .. entry.here
      for name in here:gmatch "%f[%w_]cl%.([%l_]+)" do
        t.ok(cl[name] ~= nil, entry.word .. ": cl." .. name)
      end
      for owner, name in here:gmatch "%f[%w](%l+):([%l_]+)[%(%{ ]" do
        local class = ({b = "Buffer", x = "Buffer", A = "Buffer", ev = "Event",
          q = "Queue", img = "Image", k = "Kernel", prog = "Program",
          launch = "Launch"})[owner]
        t.ok(not class or index.entries()[class .. ":" .. name],
          entry.word .. ": " .. owner .. ":" .. name)
      end
      for name in here:gmatch "device%(%)%.([%l_]+)" do
        t.ok(pcall(function() return cl.device()[name] end), name)
      end
    end
  end
  t.ok(count.cl >= 80 and count.python >= 30 and count.host >= 60)
end)

t.test("??words of exercises find a page or a script", function()
  for words_of, found in pairs{["verify my kernel"] = "verify ",
      fft = "fft ", double = "double ", heat = "%run stencil.lua",
      ["conjugate gradient"] = "%run cg.lua", padding = "padding ",
      transfer = "%run bench_transfer.lua", assembly = "assembly ",
      ["non-uniform"] = "non_uniform ",
      ["how do I pad a matrix"] = "Buffer:pad",
      the = "cl."} do
    local list = help.search(words_of, {width = 80, height = 30,
      color = false})
    t.ok(list:find(found, 1, true), list)
  end
  for _, topic in ipairs{"double", "transfer", "assembly", "non-uniform"} do
    has(topic, "Try:")
  end
end)

t.test("the transform on its page is right", function()
  t.device()
  local source = help.text("fft"):match "(kernel void fft.-\n *})"
  local n, re = 16, {}
  local k = cl.kernel(source)
  local x, y = cl.buffer("float2", n), cl.buffer("float2", n)
  x:as "float":random(1)
  local h, s = x:read(), 1
  while s < n do
    k:range(n // 2)(n, s, x, y)
    x, y, s = y, x, 2 * s
  end
  local got = x:read()
  for f = 0, n - 1 do
    re[1], re[2] = 0, 0
    for j = 0, n - 1 do
      local a, v = -2 * math.pi * f * j / n, h[j + 1]
      re[1] = re[1] + v[1] * math.cos(a) - v[2] * math.sin(a)
      re[2] = re[2] + v[1] * math.sin(a) + v[2] * math.cos(a)
    end
    t.near(got[f + 1][1], re[1], 1e-4)
    t.near(got[f + 1][2], re[2], 1e-4)
  end
end)

t.test("the pages of OpenCL's errors have the codes of module cl", function()
  local reference = require "clshell.shell.help.reference"
  local f <close> = assert(io.open(t.here .. "/src/cl/error.c"))
  local source, codes = f:read "a", {CL_PLATFORM_NOT_FOUND_KHR = -1001}
  for list, first in pairs{failures = -1, misuses = -30} do
    local code = first
    for name in source:match(list .. "%[%] = (%b{})"):gmatch '"([%w_]+)"' do
      codes[name], code = code, code - 1
    end
  end
  t.eq({codes.CL_LINK_PROGRAM_FAILURE, codes.CL_INVALID_KERNEL}, {-17, -48})
  for _, entry in ipairs(reference.errors) do
    t.eq(entry.signature, ("%s (%d)"):format(entry.name,
      codes[entry.name] or 0))
  end
end)

t.done()
