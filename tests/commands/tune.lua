-- tune.lua - the command `clshell tune`, through real processes: it searches,
-- compares, keeps what is better, and forgets it
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local scratch = require "scratch"
local terminal = require "converse"

t.keeps("Device")

local has = scratch.has

local function sh(command)
  return scratch.sh("export XDG_CONFIG_HOME=$PWD/config COLUMNS=80\n"
    .. command)
end

-- A device that says nothing of itself runs the command too; without any the
-- tests that search are skipped.
local function need_device()
  t.skip_if(#cl.devices() == 0, "no device")
end

-- Two configurations are measured: today's choice, one work-item that does all
-- of the work many times, and the first rung of the ladder.
scratch.create("slow.lua", [[
gemm.define{name = "slow", source = [=[
  kernel void slow(int M, int N, int K, REAL alpha,
                   global const REAL *A, int lda,
                   global const REAL *B, int ldb, REAL beta,
                   global volatile REAL *C, int ldc) {
    for (int times = 0; times < 40; times++)
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
          C[i * ldc + j] = beta == 0 ? 0 : beta * C[i * ldc + j];
          for (int k = 0; k < K; k++)
            C[i * ldc + j] += alpha * A[i * lda + k] * B[k * ldb + j];
        }
  }]=],
  range = function() return {1, 1}, {1, 1} end}
gemm.choices{{rung = "slow"}}
]])
local SEARCH = [[$clshell -q -e 'dofile "slow.lua"' \
  -e ']] .. t.briefly .. [[' tune gemm --sizes 64 --evaluations 2 ]]

t.test("what is better is kept, and calls take it", function()
  need_device()
  local out, err, code = sh(SEARCH .. "--no-keep")
  t.eq(code, 0, out .. err)
  has(out, "1 size", "64x64x64 float", "slow", "tried", "2 of ", "gain",
    "better", "Nothing is kept, as --no-keep asks.")
  t.narrow(out)
  has(sh "$clshell tune --kept gemm", "gemm: no kept choices")
  out, err, code = sh(SEARCH)
  t.eq(code, 0, out .. err)
  has(out, "\n1 kept: calls that name no kernel now take it",
    "`clshell tune --forget` goes back.")
  t.ok(not out:find("better", 1, true), out)
  local kept = sh "$clshell tune --kept gemm"
  has(kept, "64x64x64 float", "naive", "the choice before")
  has((kept:gsub("%s+", " ")), cl.device().name) -- which may be wrapped
  local choice = "$clshell -p 'gemm.choice{m = 50, n = 64, k = 90}'"
  has(sh(choice), "naive_global", "kept by you on ", "x the choice before")
  t.eq(sh "$clshell tune --forget gemm spmv",
    "gemm: 1 forgotten\nspmv: 0 forgotten\n")
  t.ok(not sh(choice):find("kept by you", 1, true))
end)

t.test("the same configuration, and results for programs", function()
  need_device()
  sh "rm -rf config"
  local out, err, code = sh("$clshell -q " .. t.brief .. " -f csv tune "
    .. "transpose spmv --sizes 64 --evaluations 1 --type float")
  t.eq(code, 0, out .. err)
  t.eq(select(2, out:gsub("\n", "")), 1 + 4, out)
  has(out, "\ntranspose.", "\nspmv.")
  out = sh("$clshell -q " .. t.brief .. " tune transpose --sizes 9x70 "
    .. "--evaluations 1 -o all.json")
  has(out, "9x70 float", "the same", "1 results in all.json",
    "Nothing is kept: no kernel found is more than 2 % faster")
  has(scratch.read "all.json", '"transpose.')
  t.eq((sh "ls config 2>/dev/null"), "")
end)

t.test("a mistake in the arguments ends with 2", function()
  need_device()
  for words, parts in pairs{
    ["gem"] = {"no family 'gem'; did you mean 'gemm'?"},
    ["--seconds 0"] = {"must be a number > 0; got '0'"},
    ["--evaluations 1.5"] = {"must be a whole number >= 1; got '1.5'"},
    ["--builders two"] = {"must be a whole number >= 0; got 'two'"},
    ["--type half"] = {"--type", "float"},
    ["gemm --sizes 3x4"] = {"--sizes for gemm: ", "got '3x4'"},
    ["spmv --sizes ,"] = {"--sizes for spmv: ", "got ''"},
    ["gemm --sizes 1024m"] = {"the operands of gemm 1024m take"},
    ["own.lua"] = {"no family 'own.lua'"},
    ["gemm --fresh --resume"] = {"--resume and --fresh exclude each other"},
    ["gemm --strategy locl"] = {"must be one of 'exhaustive'"},
    ["gemm --seed x"] = {"must be a whole number"},
    ["--zeconds 3"] = {"--zeconds", "Usage: clshell tune"},
  } do
    local out, err, code = sh("$clshell tune " .. words)
    t.eq({out, code}, {"", 2}, words .. err)
    has(err, table.unpack(parts))
  end
end)

t.test("a wrong choice of today is a labelled row", function()
  need_device()
  local out, err, code = sh("$clshell -q " .. t.brief .. [[ -e '
    gemm.define{name = "liar", source = [=[kernel void liar(int m, int n,
      int k, REAL alpha, global const REAL *A, int lda, global const REAL *B,
      int ldb, REAL beta, global REAL *C, int ldc) { C[0] = 1; }]=],
      range = function(s) return {s.m, s.n} end}
    gemm.choices{{rung = "liar"}}' tune gemm --sizes 16,17 --evaluations 2]])
  t.eq(code, 0, out .. err)
  has(out, "16x16x16 float", "17x17x17 float")
  t.eq(select(2, out:gsub("%s+", " "):gsub("compare: gemm.liar is wrong",
    "")), 2, out)
end)

t.test("without a device: exit 3, and what is kept can be read", function()
  t.nodevices()
  sh "rm -rf config"
  local _, err, code = sh "OCL_ICD_VENDORS=/nonexistent $clshell tune gemm"
  t.eq(code, 3, err)
  t.eq({sh "OCL_ICD_VENDORS=/nonexistent $clshell tune --kept gemm"},
    {"gemm: no kept choices\n", "", 0})
end)

t.test("Ctrl-C ends the search", function()
  need_device()
  terminal.run("expect 1 size\nexpect best\nsend \\x03\nexit 130",
    "tune gemm --sizes 200 --seconds 1000")
  terminal.clean()
end)

scratch.done()
