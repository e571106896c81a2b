-- asm.lua - prog:asm() where no temporary file can be made.
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

t.device()

t.test("without a folder for temporary files asm says so", function()
  local out, err, code = scratch.sh [[TMPDIR=/nonexistent $clshell -e '
    local k = cl.kernel "kernel void f(global int *x) { *x = 1; }"
    print(#k.program:asm() > 0)']]
  if code == 0 or not err:find "temporary" then
    t.skip("the driver's code needs no objdump: " .. out .. err)
  end
  t.eq({out, code}, {"", 1})
  scratch.has(err, "cannot make a temporary file: /nonexistent: No such file",
    "TMPDIR")
end)

scratch.done()
