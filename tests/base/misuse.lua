-- misuse.lua - wrong calls of every function that help documents: each error
-- is one of ours, with the user's line
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local quote = require("clshell.base.text").quote

t.device()
t.keeps("Program", "Kernel", "Buffer", "Context", "Queue", "Array", "Launch",
  "Event", "Device")

-- Sanitizers, and drivers of GPUs, reserve more addresses than any limit that
-- would help has.
local reserved = (os.getenv "CLSHELL_BUILD" or ""):find("asan", 1, true)
for _, device in ipairs(cl.devices()) do
  reserved = reserved or device.type ~= "cpu"
end
local MEMORY = reserved and "" or "ulimit -v 16000000;" -- KiB

-- Runs tests/tools/misuse.lua in a process and a folder of its own.
local function sweep(...)
  local words = {}
  for i, pattern in ipairs{...} do
    words[i] = quote(pattern)
  end
  local exe = t.exe:find "^/" and t.exe or t.here .. "/" .. t.exe
  local folder = quote(t.tmp "misuse")
  local out = t.capture(("%s mkdir -p %s && cd %s && "
    .. "CLSHELL_STORE=none %s %s %s %d %s 2>&1 >/dev/null </dev/null; "
    .. "rm -rf %s"):format(MEMORY, folder, folder, quote(exe), t.brief,
    quote(t.here .. "/tests/tools/misuse.lua"), t.seed,
    table.concat(words, " "), folder))
  t.ok(tonumber(out:match "(%d+) calls\n$" or 0) > 100,
    "the calls did not end: " .. out:sub(-2000))
  t.ok(not out:find "finding: ", out:sub(-4000))
end

for _, group in ipairs{
    {"^gemm$", "^spmv$", "^transpose$", "^family%."},
    {"^matrix%.", "^dia%.", "^csr%.", "^Dia:", "^Csr:", "^Split:"},
    {"^cl%."},
    {"^Array:", "^Buffer:"},
    {"^Context:", "^Device:", "^Event:", "^Kernel:", "^Launch:", "^Program:",
      "^Queue:"},
    {"^bench%.", "^compare%.verdict$", "^time$", "^lesson",
      "^roofline", "^history$", "^best$", "^prune$", "^runs%."},
    {"^show$", "^plot", "^results", "^chart", "^export", "^html"}} do
  t.test("wrong calls of " .. table.concat(group, " "):gsub("[%^$%%]", ""),
    function()
      sweep(table.unpack(group))
    end)
end

t.done()
