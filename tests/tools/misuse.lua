-- misuse.lua - calls documented functions with odd values in each place, the
-- others being good, and with odd values in all places. Prints the errors
-- that no user should see: those of our own Lua, which tell of an operation
-- on a wrong value or begin with the place of one of our files.
-- Usage: clshell misuse.lua SEED PATTERN..., patterns of names in help
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local index = require "clshell.shell.help.index"
local options = require "clshell.base.options"
local public = require("clshell.base.lazy").public

math.randomseed(math.tointeger(tonumber(arg[1])))

local A, B = matrix.random(8), matrix.random(8)
local M = dia.poisson2d(4, 4)
local csr_matrix = M:to_csr()
local x, h = cl.buffer("float", 16, 1), cl.array("float", 16)
local closed = cl.buffer("float", 16)
closed:close()
local program = cl.build "kernel void f(global float *x) { x[0] = 1; }"
local kernel, queue = program.f, cl.queue()
local launch = kernel:range(16)
local event = launch(x)
local steps = cl.record(function() launch(x) end)
local result = gemm.bench("naive", nil, {A = A, B = B}, {seconds = 0})
local cyclic = {}
cyclic[1] = cyclic

local NIL = {} -- stands for nil in lists
local ODD = {NIL, true, false, 0, -1, 1.5, 3, 0 / 0, 1 / 0, 1 << 62,
  math.mininteger, "", "x", "1", "float", "a\0b", {}, {{}}, {1, 2}, {a = 1},
  {"x"}, cyclic, function() end, function() return 1 end,
  coroutine.create(function() end), closed, A, x, h, M, kernel, launch, queue,
  event, cl.device(), result, gemm, io.tmpfile()}

-- A good value for each name of a parameter in the signatures of help.
local GOOD = {
  n = 4, m = 4, opts = {}, path = "new.npy", shape = {8}, A = A, B = B, M = M,
  x = x, name = "naive", params = {}, operands = {A = A, B = B},
  target = {A = A, B = B}, type = "float", init = 0, value = 1, first = 1,
  last = 2, step = 1, i = 1, j = 1, rows = 4, cols = 4, row = 1, col = 1,
  seed = 1, lo = 0, hi = 1, other = x, file = "new.csv", buffer = x,
  string = "abc", source = "kernel void f(global float *x) {}",
  context = cl.context(), samples = {1, 2}, what = launch, r = result,
  a = {"gemm.naive", {8}}, b = {"gemm.naive", {0}}, results = {result},
  list = {result}, offsets = {-1, 0, 1}, nx = 4, ny = 4, nz = 4, global = 16,
  ["local"] = 4, queue = queue, dst = A, src = h, mode = "read", array = h,
  multiple = 16, t = {{1, 2}}, format = "csv", ratios = {1, 1}, coverage = 0.9,
  device = cl.device(), sel = 1, word = "x", names = {"x"}, f = print,
  values = M.host.values, row_ptr = csr_matrix.host.row_ptr,
  col_ind = csr_matrix.host.col_ind, C = A,
}
local GOOD_CALL = {
  ["csr.from_coo"] = {2, 2, {1, 2}, {1, 2}, {1, 2}, {}},
  ["dia.from_csr"] = {csr_matrix, {}},
  ["plot.line"] = {{result}, {x = "k"}}, ["Buffer:write"] = {h, {}},
  ["Array:max_diff"] = {h}, ["Buffer:copy"] = {x, {}},
}

-- An object for the methods of each class; new where they change it.
local OBJECT = {
  Buffer = function() return cl.buffer("float", {4, 4}, 1) end,
  Array = function() return cl.array("float", {4, 4}) end,
  Csr = function() return csr_matrix end, Dia = function() return M end,
  Split = function()
    return cl.split({{1, 2}, {3, 4}}, {cl.device(), cl.device()})
  end,
  Context = cl.context, Device = cl.device,
  Program = function() return program end,
  Kernel = function() return kernel end, Launch = function() return launch end,
  Queue = function() return queue end, Event = function() return event end,
  CommandBuffer = function() return steps end,
  results = function() return results{result, result} end,
  chart = function() return require("clshell.plot").bar{result} end,
}

-- These change the session, wait, or end what later calls need.
local LEFT_OUT = {["cl.explain_build"] = true, ["cl.extend"] = true,
  ["cl.translate_cuda"] = true,
  ["cl.onchoice"] = true, ["cl.sleep"] = true, ["cl.use"] = true,
  ["cl.kernel"] = true} -- builds as cl.build does
-- Options that may make a measurement take as long as they say.
local LONG = {busy = true, least = true, rounds = true, samples = true,
  seconds = true, warmup = true}

local calls, told = 0, {}
local own = cl.home .. "/lua/"

local function show(args)
  local words = {}
  for i = 1, args.n do
    local value = args[i]
    words[i] = type(value) == "string" and ("%q"):format(value)
      or type(value) == "table" and "{...}" or tostring(value)
  end
  return table.concat(words, ", ")
end

-- Calls f and prints its result; tells an error once for each place.
local function try(name, f, args)
  calls = calls + 1
  local ok, e = pcall(f, table.unpack(args, 1, args.n))
  local printed, text = pcall(tostring, e)
  local inside = not ok and text:find("attempt to", 1, true)
    or text:sub(1, #own) == own
  if (not printed or inside) and not told[name .. text] then
    told[name .. text] = true
    io.stderr:write(("finding: %s(%s): %s\n"):format(name, show(args), text))
  end
end

-- The function or method that help documents under a name, and its class.
local function find(name)
  local class, method = name:match "^(%w+):([%w_]+)$"
  if class then
    local object = OBJECT[class]
    return object and function(...)
      local o = object()
      return o[method](o, ...)
    end, class, method
  end
  local group, member = name:match "^([%w_%.]+)%.([%w_]+)$"
  group = group == "family" and "gemm" or group or name
  local home = package.loaded[group] or public.module(group)
    and require(public.module(group)) or _G[group]
  return member and type(home) == "table" and home[member]
    or not member and (_G[name] or home)
end

-- Good arguments of a function, in a new list.
local function good(name, params)
  local args = {n = #params}
  for i, param in ipairs(params) do
    args[i] = (GOOD_CALL[name] or {})[i]
    if args[i] == nil then
      args[i] = GOOD[param]
    end
  end
  return args
end

local function put(args, i, value)
  args[i] = value ~= NIL and value or nil
  if value == false then
    args[i] = false
  end
  return args
end

local function odd_options(name, f, params, at)
  local names = options.names(name)
    or type(f) == "table" and f.reserved or {}
  for _, option in ipairs(names) do
    for _, value in ipairs(ODD) do
      if not (LONG[option] and math.type(value) and value > 0) then
        local args = good(name, params)
        args.n = at
        try(name, f, put(args, at, put({}, option, value)))
      end
    end
  end
end

local function sweep(entry)
  local name = entry.name
  local f, class, method = find(name)
  local meta = type(f) == "table" and (getmetatable(f) or {})
  if not f or meta and not meta.__call then
    return
  end
  local params = {}
  local list = entry.signature:match("%((.*)") or ""
  for word in list:match("^[^)]*"):gmatch "[%a_][%w_]*" do
    params[#params + 1] = word
  end
  for i, param in ipairs(params) do
    for _, value in ipairs(ODD) do
      try(name, f, put(good(name, params), i, value))
      if i < #params then
        local args = put(good(name, params), i, value)
        args.n = i
        try(name, f, args)
      end
    end
    if param == "opts" then
      odd_options(name, f, params, i)
    end
  end
  for _, value in ipairs{0, "x", {}} do -- one argument too many
    local args = put(good(name, params), #params + 1, value)
    args.n = #params + 1
    try(name, f, args)
  end
  for _ = 1, 40 do
    local args = {n = math.random(0, #params)}
    for i = 1, args.n do
      put(args, i, ODD[math.random(#ODD)])
    end
    try(name, f, args)
  end
  for _, value in ipairs(class and ODD or {}) do -- x.method(value)
    local args = table.pack(value ~= NIL and value or nil,
      table.unpack(good(name, params), 1, #params))
    try(name, OBJECT[class]()[method], args)
  end
end

for _, entry in ipairs(index.entries()) do
  local name, wanted = entry.name, false
  for i = 2, #arg do
    wanted = wanted or name:find(arg[i])
  end
  if wanted and not (LEFT_OUT[name] or entry.minor or name:find ":close$") then
    sweep(entry)
  end
end
io.stderr:write(("%d calls\n"):format(calls))
