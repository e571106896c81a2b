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
  if #cl.devices() == 0 then
    t.skip "no device"
  end
end

-- Two configurations are measured: today's choice, the slowest rung of all,
-- and the next one of the ladder.
local SEARCH = [[$clshell -q -e 'gemm.choices{{rung = "naive_global"}}' \
  -e ']] .. t.briefly .. [[' tune gemm --sizes 128 --evaluations 2 ]]

t.test("what is better is kept, and calls take it", function()
  need_device()
  local out, err, code = sh(SEARCH .. "--no-keep")
  t.eq(code, 0, out .. err)
  has(out, "1 size", "128x128x128 float", "naive_global", "gain", "better")
  t.narrow(out)
  has(sh "$clshell tune --kept gemm", "gemm: no kept choices")
  out, err, code = sh(SEARCH)
  t.eq(code, 0, out .. err)
  has(out, "kept")
  t.ok(not out:find("better", 1, true), out)
  has(sh "$clshell tune --kept gemm", "128x128x128 float", "naive",
    "the choice before", cl.device().name)
  local choice = "$clshell -p 'gemm.choice{m = 100, n = 128, k = 200}'"
  has(sh(choice), "naive map=", "kept by you on ", "x the choice before")
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
  has(out, "9x70 float", "the same", "1 results in all.json")
  has(scratch.read "all.json", '"transpose.')
  t.eq((sh "ls config 2>/dev/null"), "")
end)

t.test("a mistake in the arguments ends with 2", function()
  need_device()
  for words, parts in pairs{
    ["gem"] = {"no family 'gem'; did you mean 'gemm'?"},
    ["--seconds 0"] = {"must be a number > 0; got '0'"},
    ["--evaluations 1.5"] = {"must be a whole number >= 1; got '1.5'"},
    ["--type half"] = {"--type", "float"},
    ["gemm --sizes 3x4"] = {"--sizes for gemm: ", "got '3x4'"},
    ["spmv --sizes ,"] = {"--sizes for spmv: ", "got ''"},
    ["gemm --sizes 1024m"] = {"the operands of gemm 1024m take"},
    ["--zeconds 3"] = {"--zeconds", "Usage: clshell tune"},
  } do
    local out, err, code = sh("$clshell tune " .. words)
    t.eq({out, code}, {"", 2}, words .. err)
    has(err, table.unpack(parts))
  end
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
