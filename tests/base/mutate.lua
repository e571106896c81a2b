-- mutate.lua - small valid texts of every parser, mutated: each mutant gives a
-- value, or a message in plain words, in bounded time and memory
-- CLSHELL_FUZZ is the number of mutants of each text, 80 without it. Calls in
-- a child (parcel) trust their bytes, and are left out.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local json = require "clshell.json"
local script = require "clshell.script"

t.device()
t.keeps("Context", "Queue", "Buffer", "Array", "Program", "Device")

local COUNT = math.tointeger(tonumber(os.getenv "CLSHELL_FUZZ")) or 80
local own = cl.home .. "/lua/"

-- Mutations ---------------------------------------------------------------

local HUGE = {"99999999999999999999", "-1", "0", "1e999", "nan", "0x", "4e9",
  "-9223372036854775808", "2147483648", "1..1e18", ".", "3.5"}
local STRANGE = {"\0", "\xef\xbb\xbf", "\xff\xfe", "\r\n", "\u{a0}", "\\",
  "\"", "'", "%", "%s", "[[", "]]", "{", "}", "(", ")", "/*", "//", "#", "*",
  "--", "\n", " ", ",", ";", ":", "..", "::", "<<<", "=", "\27[31m"}

local function place(s)
  local first = math.random(1, #s + 1)
  return first, math.min(#s, first + math.random(0, 8))
end

local MUTATIONS = {
  function(s) -- a byte
    local i = math.random(1, math.max(#s, 1))
    return s:sub(1, i - 1) .. string.char(math.random(0, 255)) .. s:sub(i + 1)
  end,
  function(s) -- a part less
    local i, j = place(s)
    return s:sub(1, i - 1) .. s:sub(j + 1)
  end,
  function(s) -- a part twice
    local i, j = place(s)
    return s:sub(1, j) .. s:sub(i)
  end,
  function(s) -- a part very often
    local i, j = place(s)
    return s:sub(1, i - 1) .. s:sub(i, j):rep(math.random(2, 2000))
      .. s:sub(j + 1)
  end,
  function(s) -- the end less
    return s:sub(1, math.random(0, #s))
  end,
  function(s) -- another number
    local numbers = select(2, s:gsub("%d+", ""))
    local k = math.random(1, math.max(numbers, 1))
    return (s:gsub("%d+", function(digits)
      k = k - 1
      return k == 0 and HUGE[math.random(#HUGE)] or digits
    end))
  end,
  function(s) -- strange bytes
    local i = math.random(0, #s)
    return s:sub(1, i) .. STRANGE[math.random(#STRANGE)] .. s:sub(i + 1)
  end,
  function(s) -- another order
    local i, j = place(s)
    return s:sub(j + 1) .. s:sub(i, j) .. s:sub(1, i - 1)
  end,
}

local function mutant(s)
  for _ = 1, math.random(1, 3) do
    s = MUTATIONS[math.random(#MUTATIONS)](s):sub(1, 4000)
  end
  return s
end

-- The judge ---------------------------------------------------------------

local INSIDE = {"attempt to ", "bad argument", "stack overflow", "too many ",
  "not enough memory", "malformed pattern", "too complex",
  "invalid option", "string slice", "no integer representation"}

-- Why a message is not plain words; nil: it is.
local function wrong(message)
  local fine, text = pcall(tostring, message)
  if not fine or text == "" or text == "nil" or text:find "^table: " then
    return "no message: " .. tostring(text)
  elseif text:sub(1, #own) == own then
    return "a place inside: " .. text
  end
  for _, piece in ipairs(INSIDE) do
    if text:find(piece, 1, true) then
      return text
    end
  end
  return nil
end

-- Tries a mutant; returns why its parser fails, or nil.
local function fault(parse, s, plain)
  local steps = 0
  debug.sethook(function()
    steps = steps + 1
    if steps > 100 then
      debug.sethook()
      error("attempt to run 10^8 instructions")
    end
  end, "", 1000000)
  local before, clock = collectgarbage "count", os.clock()
  local got = table.pack(pcall(parse, s))
  debug.sethook()
  local seconds, kilobytes = os.clock() - clock, collectgarbage "count"
    - before
  if not got[1] or not got[2] and got[3] then
    local why = wrong(got[got[1] and 3 or 2])
    return not (why and plain and plain(why)) and why or nil
  end
  return seconds > 2 and ("%.1f s"):format(seconds)
    or kilobytes > 3e5 and ("%d KB"):format(kilobytes) or nil
end

local function run(name, seeds, parse, plain, count)
  t.test(name, function()
    for _, seed in ipairs(seeds) do
      for k = 0, count or COUNT do
        local s = k == 0 and seed or mutant(seed)
        local why = fault(parse, s, plain)
        if why then
          t.ok(false, ("%s\nof %q"):format(why:sub(1, 300), s:sub(1, 400)))
        end
      end
    end
  end)
end

-- Files -------------------------------------------------------------------

-- A parser of a file's content.
local function file(ending, read)
  local path = t.tmp("mutant." .. ending)
  return function(s)
    t.write(path, s)
    local value, message = read(path)
    if type(value) == "userdata" and value.close then
      value:close()
    end
    return value, message
  end
end

local MTX = {
  "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 1 2.5\n"
    .. "3 2 -1\n",
  "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n1 1\n3 2\n",
  "%%MatrixMarket matrix coordinate unsigned-integer general\n1 2 1\n1 2 7\n",
}
local ARRAY = "%%MatrixMarket matrix array real general\n2 2\n1\n-2\n3e5\n4\n"
run("sparse .mtx", MTX, file("mtx", csr.load))
run("dense .mtx", {ARRAY, MTX[1]}, file("mtx", matrix.load))
run("diagonals of .mtx", MTX, file("mtx", dia.load))

local path = t.tmp "seed.npy"
local NPY = {}
for i, type in ipairs{"float", "uchar", "half", "long"} do
  local npy = require "clshell.data.npy"
  npy.save(path, cl.array(type, {2, 3}, 1))
  local f <close> = io.open(path, "rb")
  NPY[i] = f:read "a"
end
NPY[5] = NPY[1]:gsub("<f4", ">f8"):gsub("False", "True ")
run(".npy", NPY, file("npy", require "clshell.data.npy".load))
run(".npy in parts", NPY, file("npy", require "clshell.data.npy".open))
run("images", {"P2 # grey\n3 2\n255\n1 2 3 4 5 6\n", "P5 2 2 255\nabcd",
  "P6\n1 1\n65535\nabcdef", "P3 1 1 9 1 2 3"}, file("pgm", matrix.load))

-- Texts -------------------------------------------------------------------

run("JSON", {'{"a": [1, -2.5e3, true, null, "\\u00e9\\n"], "b": {"c": {}}}',
  "[[[[[[[[1]]]]]]]]", '"\\ud83d\\ude00"'}, json.decode)
run("sizes of options", {"64x32x16", "1024", "4K", "2^20", "64..512*2",
  "1e3", "1000000"}, function(s)
  for _, name in ipairs{"size", "integer", "shape", "gemm_shape",
      "matrix_shape"} do
    local value, message = script[name](s)
    if not value then
      assert(not wrong(message), name .. ": " .. tostring(message))
    end
  end
  return pcall(require "clshell.base.argument".range, s, "a range", 100)
end)
run("dates", {"2026-11-27", "3 days", "2026-11-27 10:11:12", "yesterday",
  "2 hours ago"}, require "clshell.store".moment)

local space = require "clshell.tune.space"
run("ranges of a space", {"1..8", "8..64:8", "1..16*2", "-2..1"}, function(s)
  return space.new{a = s}
end)
run("constraints of a space", {"a * b <= 12", "b % a == 0 or c",
  "(a + b) // 2 < 4 and not c"}, function(s)
  return #space.new({a = "1..4", b = {1, 2}, c = {true, false}}, {s})
end, function(message) -- the text's own error, quoted
  return message:find "' raises: " or message:find "' is no Lua expression: "
end)
local recorded = require "clshell.tune.recorded_space"
run("recorded spaces", {"x,y,ms\n1,2,0.5\n2,4,\n1,4,failed\n",
  '"x",time\r\n1,"2"\r\n'}, file("csv", recorded.read))
run("recorded spaces of Kernel Tuner", {[[
{"device_name": "a", "tune_params_keys": ["x"], "tune_params": {"x": [1, 2]},
 "cache": {"1": {"x": 1, "time": 2.5},
           "2": {"x": 2, "time": "CompilationFailedConfig"}}}]]},
  file("json", recorded.read))

local LOG = [[
<kernel>:3:7: error: use of undeclared identifier 'x'
  int y = x;
          ^
a.cl:4:1: warning: unused variable 'z' [-Wunused-variable]
ptxas error   : Entry function 'k' uses too much shared data (0xc400 bytes)
error: linking failed
2 errors generated.
]]
run("build logs", {LOG}, require "clshell.errors.buildlog".parse)
local PTX = [[
.version 7.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0) .maxntid 128, 1, 1 {
  .shared .align 4 .b8 s[16384];
  ld.param.u64 %rd1, [k_param_0];
  wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd1;
  ret;
}
]]
run("PTX", {PTX}, require "clshell.ladder.ptx".edit)
run("units of PTX", {PTX}, require "clshell.ladder.unit".of_text)

local CUDA = [[
#define N 4 // one
struct S { float3 a; enum Kind { A, B } k; };
enum class C : int { X, Y };
__constant__ float c[N];
extern __shared__ char raw[];
__device__ float twice(const float *p, int i) { return 2 * p[i]; }
template <typename T> T id(T x) { return x; }
__global__ void k(float *a, S *s, int n) {
  __shared__ float t[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float *f = reinterpret_cast<float *>(raw);
  t[0] = fmaxf(0.0, a[i]); __syncthreads();
  a[i] = twice(t, 0) + f[0] + sizeof(s->k) + (int)C::X;
  printf("%lld\n", 1LL); atomicAdd(&a[0], 1.0f);
}
int main() { k<<<dim3(2, 1), 64, 32>>>(a, s, 3); cudaMalloc(&a, 4); }
]]
run("CUDA", {CUDA}, require "clshell.cuda".translate)

local question = debug.getregistry()["cl.hooks"].type_question
local STRUCT = [[
#define N 4
typedef float real;
typedef struct __attribute__((packed)) in { real x, *p; char n[N][2]; } in;
#if N > 2
enum e { A, B = 3 };
#endif
static int f(int x) { return x; }
typedef struct { in a[2]; union { int i; float f; } u; enum e k; } out;
]]
run("declarations", {STRUCT}, function(s) return {question(s)} end)

-- Calls f with a compiler that refuses everything.
local function no_compiler(f, ...)
  local build = cl.build
  cl.build = function() cl.error "no compiler" end
  local got = table.pack(pcall(f, ...))
  cl.build = build
  return not got[1] and error(got[2], 0) or table.unpack(got, 2, got.n)
end
run("structs", {STRUCT}, function(s) return no_compiler(cl.struct, s) end)

local x <close> = cl.buffer("float", 4, 1)
run("cl.map", {"y = x == 2 ? 1 : -1", "y = 0; if (x > 2) { y += x; } y++;",
  "#define N 2\nfloat f(float a) { return a * N; }\ny = f(x) // c"},
  function(s)
    return no_compiler(cl.map, s, {x = x, y = x})
  end)

-- Kept files --------------------------------------------------------------

local cachefile = require "clshell.base.cachefile"
local cached = t.tmp "peaks"
function cachefile.path() -- not the user's file
  return cached
end
assert(cachefile.save(cl.device(), {["a.b"] = 1.5, c = 2}))
local peaks <close> = io.open(cached, "rb")
run("kept peaks", {peaks:read "a"}, file("peaks", function(at)
  cached = at
  return cachefile.load(cl.device())
end))
run("journals", {"-- [1]\nx = 1\n-- [2] asks\n-- y = 2\n"}, file("lua",
  require "clshell.shell.prompt.journal".inputs))

-- Lua ---------------------------------------------------------------------

local LUA = [==[
local x <close>, y = cl.buffer("float", 4), {a = 1, ["b"] = [[long]]}
function t.f(a, ...) return a + ..., "s\n\x41\z  q" --[[ c ]] end
for i = 1, 0x1p4 do goto e; bench(x:run(i), {least = 1}) ::e:: end
gemm.bench("tiled", {TILE = 16}, 512).
]==]
local lexer = require "clshell.base.lexer"
local calls = require "clshell.shell.commands.constant_calls"
run("Lua's tokens", {LUA}, function(s)
  lexer.tokens(s)
  return lexer.code(s)
end)
run("calls of a Lua text", {LUA}, function(s)
  calls.strings(s)
  calls.globals(s)
  return calls.find(s, {bench = true, ["gemm.bench"] = true})
end)
run("the prompt's line", {LUA, "x = cl.buffer('float', ", "?gemm.ten",
  "A:su", "%time gemm(A, B"}, function(s)
  local at = math.random(0, #s)
  require "clshell.shell.prompt.highlight".mask(s)
  require "clshell.shell.prompt.indent".at(s, at)
  local spot = require "clshell.shell.prompt.place"
  spot.last_argument(s)
  spot.topics(s, at)
  spot.find(s, at, 0)
  return require "clshell.shell.prompt.complete".at(s, at) or true
end)
run("words of the prompt", {"plain \27[31m \u{a0} é\n"}, function(s)
  local text = require "clshell.base.text"
  text.strange(s)
  text.message(s)
  return text.visible(s)
end)

t.done()
