-- visible.lua - text from elsewhere never steers a terminal, and a message
-- does not repeat a megabyte.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local scratch = require "scratch"
local terminal = require "converse"
local text = require "clshell.base.text"

local sh = scratch.sh

t.test("control characters and what is no UTF-8 become escapes", function()
  for given, shown in pairs{
    ["plain\ttext\n"] = "plain\ttext\n", [""] = "",
    ["\27[31mred"] = "\\27[31mred", ["\0001\127"] = "\\0001\\127",
    ["a\r\nb\r"] = "a\nb\\13", ["\xc2\x9b5m"] = "\\u{9b}5m",
    ["\x9b\xff"] = "\\x9b\\xff", ["\u{202e}abc"] = "\\u{202e}abc",
    ["é ± \u{1F600} 中"] = "é ± \u{1F600} 中", ["\27\0279"] = "\\27\\0279",
  } do
    t.eq(text.visible(given), shown)
    t.eq(text.visible(shown), shown)
  end
  local every = {}
  for i = 0, 255 do
    every[i + 1] = string.char(i)
  end
  t.ok(not text.visible(table.concat(every)):find "[^\n\t\x20-\x7e]")
end)

t.test("a message shortens the lines that quote much", function()
  local long = ("x"):rep(1 << 20)
  local short = text.message("rule '" .. long .. "'; remedy\nsecond")
  t.ok(#short < 3000 and short:find "^rule 'xxx", #short)
  scratch.has(short, "(1048591 bytes)", "xx'; remedy\nsecond")
  t.ok(utf8.len(text.message(("é"):rep(1 << 20))))
  for _, f in ipairs{function() cl.buffer(long, 1) end,
      function() cl.error("é" .. long .. "é") end,
      function() gemm.rung(long) end,
      function() require "clshell.export".text({}, long) end} do
    local _, e = pcall(f)
    t.ok(#tostring(e) < 3000 and utf8.len(tostring(e)), #tostring(e))
    scratch.has(tostring(e), " bytes) ...")
  end
  t.eq({cl.nearest(long, {"a"}), cl.nearest(long, {"a"}, 1000)}, {})
  t.eq({cl.nearest("at", {"as"}), cl.nearest("ff", {"f"}),
    cl.nearest("AS", {"as"}), cl.nearest("std", {"lt"})}, {nil, "f", "as"})
  t.raises(function() cl.buffer(long, 1) end, "no element type")
  t.ok(not tostring(select(2, pcall(cl.buffer, long, 1))):find "did you mean")
  local message = ("line\n"):rep(2000)
  t.eq(select(2, pcall(cl.error, message)).message, message)
end)

-- Fails if a text has a control character, the escapes of colours too.
local function harmless(said, command)
  t.ok(not said:find "[^\n\t\x20-\x7e\x80-\xff]", command .. ": " .. said)
end

local EVIL = "\27]0;evil\7\27[2J"

t.test("command lines that steer a terminal are shown as text", function()
  local word = "\"$(printf '\\033[2Jx')\""
  local long = "\"$(printf '%100000d' 1)\""
  for _, command in ipairs{"$clshell --WORD", "$clshell -f WORD -p 1",
      "$clshell --timeout WORD", "$clshell WORD", "$clshell -d WORD -p "
      .. "'cl.device()'", "$clshell history --WORD", "$clshell --check WORD",
      "$clshell history --since WORD", "$clshell compare WORD 2 --store a.db",
      "$clshell --store WORD/b history", "$clshell import WORD",
      "$clshell -l WORD", "$clshell -o WORD/x -p 1", "$clshell --manual WORD",
      "$clshell bench_gemm.lua WORD", "$clshell bench_gemm.lua --WORD"} do
    local out, err, code = sh((command:gsub("WORD", word)))
    t.ok(code > 0, command)
    harmless(out .. err, command)
    if not command:find " %-l" then -- the message is Lua's own
      out, err = sh((command:gsub("WORD", long)))
      t.ok(#out + #err < 9000, ("%s: %d bytes"):format(command, #out + #err))
    end
  end
end)

t.test("a name of a file or an error with escapes in it", function()
  scratch.create("a\27[2Jb.lua", "local x = = 1\n")
  scratch.create("c\27[2J.lua", "error('" .. EVIL .. "')")
  scratch.create("k\27[2J.cl", "kernel void f(global int *x) { x = ; }\n")
  for _, command in ipairs{"$clshell a*.lua", "$clshell c*.lua",
      "$clshell --check a*.lua", "$clshell -e 'error(\"\27[2J\\27[2J\")'",
      "$clshell -e 'cl.build \"k\27[2J.cl\"'",
      "$clshell -e 'cl.kernel \"k\27[2J\"'"} do
    local out, err, code = sh(command)
    t.ok(code > 0, command .. out .. err)
    harmless(out .. err, command)
  end
end)

t.test("imported records do not steer the terminal", function()
  t.skip_if(not require "clshell.base.search".library "dbd.sqlite3",
    "SQLite for Lua is missing")
  local json = require "clshell.base.json"
  scratch.create("evil.jsonl", json.encode{name = EVIL, tag = EVIL,
    config = EVIL, title = EVIL, device = {name = EVIL, driver = EVIL},
    median = 0.5, note = EVIL, kernel = EVIL} .. "\n")
  sh "$clshell import evil.jsonl --store evil.db"
  for _, command in ipairs{"history", "best", "compare 1 1",
      "compare nosuch 1", "history -f json"} do
    local out, err = sh(("$clshell %s --store evil.db"):format(command))
    t.ok(out .. err ~= "", command)
    harmless(out .. err, command)
  end
  -- on a terminal also what is for programs
  terminal.run("expect \\\\27]0;evil\\\\7\\\\27[2J\nexit 0\n",
    ("history -f csv --store %s/evil.db"):format(scratch.dir))
  terminal.run("expect \\\\27\\\\]0;evil\\\\7\\\\27\\\\[2J\nexit 0\n",
    ("history -f md --store %s/evil.db"):format(scratch.dir))
  local out = sh "$clshell history -f csv --store evil.db"
  scratch.has(out, EVIL) -- in a pipe as it is
end)

terminal.clean()
scratch.done()
