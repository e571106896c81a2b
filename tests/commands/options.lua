-- options.lua - values that no script takes: each ends it with 2, one line
-- that names the value, and the usage, before anything is measured
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local script = require "clshell.base.script"
local text = require "clshell.base.text"

t.device()

-- Runs a script; standard output, standard error and the exit code.
local function run(name, arguments)
  local errors = t.tmp("stderr")
  local pipe <close> = assert(io.popen(("COLUMNS=80 %s %s/scripts/%s.lua %s "
    .. "2>%s </dev/null; echo $?"):format(t.exe, cl.home, name, arguments,
    errors)))
  local out, code = pipe:read("a"):match("^(.*)(%f[%d]%d+)\n$")
  local f <close> = assert(io.open(errors))
  return out, f:read("a"), tonumber(code)
end

local SIZES = {"0", "-- -3", "2147483648", "67108864m"}
local COUNTS = {"0", "1.5", "99999999999m"}

-- Values of an argument or option that are refused, and words about them.
local refused = {
  {"bench_tiles", "", {"0", "-- -3", "1.5", "x", "2147483648", "4096m",
    "999999999999999", "''"}, "a size must be"},
  {"bench_tiles", "65 --seed ", {"1.5", "x", "0x10", "1e3", "''",
    "99999999999999999999"}, "must be a whole number of 64 bits"},
  {"bench_tiles", "", {"1m"}, "global memory"},
  {"bench_gemm", "", SIZES, "a size must be"},
  {"bench_gemm", "", {"-5", "-3x4x5"}, "sizes must be >= 1"},
  {"bench_gemm", "", {"3x4", "3x4x5x6"}, "MxNxK"},
  {"bench_gemm", "", {"3x", "3x-4x5", "axb"}, "a shape must be"},
  {"bench_gemm", "", {"1m", "1x1mx1m"}, "global memory"},
  {"bench_gemm", "64 -k ", {"tild"}, "did you mean 'tiled'"},
  {"bench_gemm", "64 -k simd -k ", {"nonesuch", "''", "gemm.tiled"},
    "There are: naive_global"},
  {"bench_transpose", "", SIZES, "a size must be"},
  {"bench_transpose", "", {"3x4x5"}, "MxN"},
  {"bench_transpose", "64 ", {"1m"}, "global memory"},
  {"bench_spmv", "-r ", COUNTS, "a size must be"},
  {"bench_spmv", "-r ", {"2047m"}, "global memory"},
  {"bench_spmv", "-r 100 ", {"/no/such.mtx"}, "No such file"},
  {"bench_array", "", SIZES, "a size must be"},
  {"bench_sort", "", SIZES, "a size must be"},
  {"bench_transfer", "", SIZES, "a size must be"},
  {"bench_transfer", "1 ", {"1m"}, "global memory"},
  {"bench_launch", "-n ", COUNTS, "a size must be"},
  {"bench_launch", "-r ", COUNTS, "a size must be"},
  {"register_blocking", "", SIZES, "a size must be"},
  {"register_blocking", "", {"1m"}, "global memory"},
  {"claims", "A2 -n ", COUNTS, "a size must be"},
  {"claims", "A2 -n ", {"1m"}, "global memory"},
}

for _, case in ipairs(refused) do
  local name, before, values, words = table.unpack(case)
  t.test(("%s %s%s"):format(name, before, table.concat(values, ", ")),
    function()
      for _, value in ipairs(values) do
        local out, err, code = run(name, before .. value)
        t.eq({out, code}, {"", 2}, value .. " " .. err)
        local first = err:match("^([^\n]*)\nUsage: " .. name)
        t.ok(first and first:find(name .. ".lua: ", 1, true) == 1, err)
        t.ok(first:find(words, 1, true), err)
        local bare = value:gsub("^%-%- ", ""):gsub("'", "")
        t.ok(words == "global memory" or words == "No such file"
          or first:find(bare, 1, true), err)
        t.ok(not err:find("traceback", 1, true), err)
      end
    end)
end

t.test("sizes, shapes, integers, kernels", function()
  t.eq(script.size "2147483647", 2147483647)
  t.eq({script.size "2047m", script.size "1K"}, {2047 << 20, 1024})
  t.eq(script.integer "-7", -7)
  t.eq(script.integer "9223372036854775807", math.maxinteger)
  t.eq(script.matrix_shape "7", {7, 7})
  t.eq(script.matrix_shape "7x8", {7, 8})
  local kernel = script.kernel(gemm)
  t.eq({kernel "tiled", kernel "plain_c"}, {"tiled", "plain_c"})
  t.eq(kernel "nonesuch", nil)
  t.eq(text.quote "it's", [['it'\''s']])
end)

t.test("a seed of any sign", function()
  for _, seed in ipairs{-5, math.maxinteger, math.mininteger} do
    local x = cl.array("float", 2):random(seed)
    t.ok(x[1] >= 0 and x[1] < 1 and x[1] ~= x[2])
  end
end)

t.done()
