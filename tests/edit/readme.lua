-- readme.lua - the blocks of README.md, pasted at the prompt as they stand.
-- SPDX-License-Identifier: MIT

local t = require "t"
local terminal = require "converse"

terminal.device()

local blocks = {} -- {language, text}
do
  local f <close> = assert(io.open "README.md")
  for language, text in f:read("a"):gmatch "\n```(%w*)\n(.-)\n```" do
    blocks[#blocks + 1] = {language, text}
  end
end

-- Pastes a block, in the test's folder, and goes on with the steps.
local function paste(text, steps, before, env)
  terminal.run(("expect cl>\nsend %%cd %s\\r\nexpect cl>\n%s"
    .. "send \\e[200~%s\\e[201~\nsend \\r\n%s\nexpect cl>\nsend \\x04\nexit 0")
    :format(terminal.folder(), before or "", text:gsub("\\", "\\\\")
    :gsub("\n", "\\r"), steps), t.brief .. " -i", "CLSHELL_STORE=none "
    .. (env or ""))
end

t.test("the session, with its one mistake", function()
  t.eq(blocks[1][1], "")
  local text = blocks[1][2]
  t.eq(select(2, text:gsub("\ncl> ", "")), 8)
  os.remove "/tmp/mm.lua"
  paste(text:gsub("2048 or 512", "2048 or 64"), [[
expect build error: 1 error
refute attempt to
expect use of undeclared identifier 'b'
expect did you mean 'B'?
expect GFLOPS
expect gemm.register bm=64
expect GFLOPS
expect wrote
expect (1 that failed left as comments)]])
  os.remove "/tmp/mm.lua"
end)

t.test("the few lines of an experiment", function()
  t.eq(blocks[2][1], "lua")
  paste(blocks[2][2], "expect 7.0\nrefute input:")
end)

t.test("the lines for several processes, in one", function()
  t.skip_if(not io.open(terminal.build .. "/mpi.so"),
    "module mpi is not built")
  t.eq(blocks[3][1], "lua")
  t.eq(#blocks, 3)
  paste(blocks[3][2], "expect 0\t1\t1.5\nrefute input:", [[
send for _, n in ipairs{"a", "b"} do matrix.random(16):save(n .. ".npy") end\r
expect cl>
]], 'ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"') -- MPI's own
end)

terminal.clean()
t.done()
