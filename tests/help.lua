-- help.lua - help finds everything that is documented, and documents
-- everything that is public; scripts' sizes
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local gemm = require "clshell.gemm"
local help = require "clshell.help"
local script = require "clshell.script"

local INTERNAL = {wrap = true} -- shared by two modules only

local function has(topic, ...)
  local text = help.text(topic)
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
  has("target.of", "bench and compare")
end)

t.test("topics by value", function()
  t.eq(help.text(gemm), help.text "gemm")
  t.eq(help.text(cl.buffer), help.text "cl.buffer")
  t.eq(help.text(cl), help.text "cl")
  t.eq(help.text(gemm.define), help.text "gemm.define")
  t.eq(help.text(require "clshell.bench"), help.text "bench")
  t.eq(help.text(require("clshell.matrix").random), help.text "matrix.random")
  t.eq(help.text(require "clshell.peak"), help.text "peaks")
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

t.test("a rung of one's own has help as well", function()
  gemm.define{
    name = "helped", lesson = "what it teaches", range = function() end,
    params = {{name = "size", values = {1, 2}, help = "how big it is"}},
    source = "/* helped.cl - the head\n** SPDX-License-Identifier: MIT\n"
      .. "** formula */\nkernel void helped(void) {}",
  }
  has("gemm.helped", "what it teaches", "size = 1  (1, 2)", "how big it is",
    "the head", "formula")
end)

t.test("every public function is documented", function()
  local missing = {}
  for name, value in pairs(cl) do
    if type(value) == "function"
        and help.text("cl." .. name):find("^no help")
        and not pcall(cl.typesize, name) then
      missing[#missing + 1] = "cl." .. name
    end
  end
  for _, module in ipairs{"matrix", "dia", "csr", "report", "script",
      "output"} do
    for name, value in pairs(require("clshell." .. module)) do
      if type(value) == "function" and not INTERNAL[name]
          and help.text(module .. "." .. name):find("^no help") then
        missing[#missing + 1] = module .. "." .. name
      end
    end
  end
  table.sort(missing)
  t.eq(missing, {})
end)

t.test("sizes on the command line", function()
  t.eq(script.size "512", 512)
  t.eq(script.size "4k", 4096)
  t.eq(script.shape "127x65x33", {127, 65, 33})
  t.eq(script.gemm_shape "64", {64, 64, 64})
  for _, bad in ipairs{"0", "-1", "1.5", "x", "", "99999999999999", "4q"} do
    local value, message = script.size(bad)
    t.eq(value, nil)
    t.ok(message:find("is no size", 1, true), message)
  end
  for _, bad in ipairs{"1x", "x1", "1x0x1", "axb"} do
    t.eq(script.shape(bad), nil)
  end
  t.eq(script.gemm_shape "3x4", nil)
end)

t.done()
