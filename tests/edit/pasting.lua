-- pasting.lua - text that is pasted at the prompt, and what is kept of it.
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"
local highlight = require "clshell.shell.prompt.highlight"
local paste = require "clshell.shell.prompt.paste"

t.test("paste runs half a block or adds indent: it does neither", function()
  local s <close> = screen.ready()
  s:paste("for i = 1, 2 do\r\n\tif true then\r\n    print('n', i)\n" ..
    "\tend\r\n", true)
  s:wait_screen("cl> for i = 1, 2 do\n..>         if true then\n" ..
    "..>     print('n', i)\n..>         end")
  s:paste "\nend\nprint [[\ta\tb]]\n"
  s:wait_screen("cl> for i = 1, 2 do\n..>         if true then\n" ..
    "..>     print('n', i)\n..>         end\n..> end\n" ..
    "..> print [[        a       b]]")
  s:send "\r"
  s:wait_end "n       1\nn       2\n        a       b\ncl>"
end)

t.test("a paste is undone at once", function()
  local s <close> = screen.ready()
  s:send "x = "
  s:wait "cl> x ="
  s:paste "{1,\n2,\n3}"
  s:wait_screen "cl> x = {1,\n..> 2,\n..> 3}"
  s:keys "C-_"
  s:wait_screen "cl> x ="
  s:paste "1"
  s:send " + 2\r"
  s:run("print(x)", "\n3\n")
end)

t.test("the inputs of a pasted transcript run one after another", function()
  local s <close> = screen.ready{height = 40}
  s:paste("note: some output\n    cl> a = 4\n    cl> a + 1\n    5\n" ..
    "    cl> error 'no'\n    cl> %who\n    cl> for i = 1, 2 do\n" ..
    "    ..>   print(i)\n    ..> end\n    1\n    2\n    cl> \n")
  s:wait_screen("cl> a = 4\ncl> a + 1\ncl> error 'no'\ncl> %who\n" ..
    "cl> for i = 1, 2 do\n..>   print(i)\n..> end")
  s:send "\r"
  s:wait_end "cl> for i = 1, 2 do\n..>   print(i)\n..> end\n1\n2\ncl>"
  local text = s:text()
  for _, part in ipairs{"cl> a = 4\ncl> a + 1\n5\ncl> error 'no'\n",
      "\ncl> %who\na"} do
    t.ok(text:find(part, 1, true), text)
  end
  s:keys("Up", "Up") -- each is an entry of its own
  s:wait_end "\n2\ncl> %who"
end)

t.test("Ctrl-C ends a pasted transcript", function()
  local s <close> = screen.ready()
  s:paste("cl> x = 'ju' .. 'st'\ncl> print('go' .. 'ing') while true do end" ..
    "\ncl> x = 'no'")
  s:wait "cl> x = 'no'"
  s:send "\r"
  s:wait "\ngoing"
  s:keys "C-c"
  s:wait "note: the later inputs of the paste did not run"
  s:run("print(x)", "\njust\n")
end)

t.test("an error ends a pasted transcript where %set paste asks", function()
  local s <close> = screen.ready{options = ""}
  s:run "%set paste stop"
  s:paste "cl> a = 4\ncl> error 'no'\ncl> a = 5\n"
  s:send "\r"
  s:wait "the later inputs of the paste did not run"
  s:send "a\r"
  s:wait "\n4\n"
end)

t.test("the last input of a transcript may be unfinished", function()
  local s <close> = screen.ready()
  s:paste "cl> x = {'[[', 1}\ncl> y = {2,"
  s:wait_screen "cl> x = {'[[', 1}\ncl> y = {2,"
  s:send "\r3}\r"
  s:wait_end "cl> x = {'[[', 1}\ncl> y = {2,\n..>   3}\ncl>"
  s:run("print(#x + #y)", "\n4\n")
end)

t.test("Tab and the colours belong to the input at the cursor", function()
  local edit = require "clshell.shell.prompt.edit"
  local text = "a = '1\ncl> %who\ncl> collectg"
  local first, list = edit.candidates(text, #text)
  t.eq({first, list}, {#text - 7, {"collectgarbage"}})
  t.eq(edit.candidates(text, 9), nil) -- in a prompt
  t.ok(edit.help(text, #text):find("collectg", 1, true))
  t.eq({edit.complete "x = 1\ncl> y = {"}, {false, 5})
  t.eq({edit.complete "x = [[\ncl> y = ]]"}, {true})
  require "clshell.base.style".use "always"
  t.eq(edit.mask "x\ncl> %who", "  >>>>pppp")
  require "clshell.base.style".use "auto"
end)

t.test("a large paste", function()
  local s <close> = screen.ready()
  local lines = {}
  for i = 1, 5000 do
    lines[i] = ("n = (n or 0) + %d -- padded to be long enough"):format(i)
  end
  s:paste(table.concat(lines, "\n"))
  s:wait_end "+ 5000 -- padded to be long enough"
  s:send "\r"
  s:wait_end "\ncl>"
  s:run("print(n)", "\n12502500\n")
end)

t.test("lines that come without brackets are lines", function()
  local s <close> = screen.ready()
  s:send "a = {1,\r2}\rprint(#a)\r"
  s:wait "\n2\ncl>"
  -- io.read has the terminal once its statement prints: a line that comes
  -- earlier is the editor's, one that comes later shows at once
  s:send "do print('re' .. 'ady') x = io.read() end\r"
  s:wait_end "\nready"
  s:send "for the program\r"
  s:wait_end "\nready\nfor the program\ncl>"
  s:run("print(x)", "\nfor the program\ncl>")
end)

t.test("what is typed", function()
  for text, typed in pairs{
    ["x = 1\ny = 2"] = "x = 1\ny = 2",
    ["cl > 1"] = "cl > 1",
    ["cl> x"] = "x",
    ["cl> %time f()\n3 ms"] = "%time f()",
    ["cl> %time f()\n3 ms\ncl> A;\ncl> =b\ncl> c, d"] =
      "%time f()\ncl> A;\ncl> =b\ncl> c, d",
    ["x = 1\ncl> y = 2"] = "x = 1\ncl> y = 2",
    ["x = 1\n1\n2\ncl> y = 2"] = "x = 1\ncl> y = 2",
    ["clshell 0.1 (Lua)   ?help\ndevice 0  pocl\ncl> y = 2"] = "y = 2",
    ["note: it is\n\n```\ncl> y = 2\n```"] = "y = 2",
    ["12\nfor i = 1, 2 do\n..> end"] = "for i = 1, 2 do\nend",
    ["    cl> a\n    1\n\n    cl> f(\n    ..>   1)"] =
      "a\ncl> f(\n  1)",
    ["t = [[\ncl> x\n]]"] = "t = [[\ncl> x\n]]",
    ["cl> t = [[\n..> cl> x\n..> ]]"] = "t = [[\ncl> x\n]]",
    ["17 things\ncl> y = 2"] = "y = 2",
    ["f(1,\n..> 2)\n12\ncl> g()"] = "f(1,\n2)\ncl> g()",
    ["1\n2\ncl> y = 2"] = "y = 2",
    ["cl> f()\nerror: x\n  called from y\ncl> g()"] = "f()\ncl> g()",
    ["cl>\ncl> x = [[\n..>   a\n..>\n..> ]]\n"] = "x = [[\n  a\n\n]]",
    ["> a = 1\n>> b"] = "a = 1\nb",
    ["> a = 1\n5"] = "> a = 1\n5",
    [""] = "", ["\n\n"] = "\n\n",
  } do
    t.eq(paste.clean(text), typed, text)
  end
end)

t.test("classes of characters", function()
  local function eq(text, mask)
    t.eq((highlight.mask(text):gsub(" ", ".")), mask, text)
  end
  eq("local x = 'a' .. 0x10 -- c", "kkkkk.....sss....nnnn.cccc")
  eq("x = 'abc", "....esss")
  eq("x = [==[ a\nb", "....eeeessss")
  eq("--[[ x", "eeeecc")
  eq("%time for", "ppppp.kkk")
  eq("%cd end", "ppp....")
  eq("  ?end", "ppp" .. "kkk")
  eq("end?", "kkkp")
  eq("a.b??", "...pp")
  eq("!ls end", "p......")
  eq("a $ b", "..e..")
  eq("日 = 1", "eee..." .. "n")
  eq("", "")
end)

t.test("any bytes have a mask of their length", function()
  for _ = 1, 300 do
    local bytes = {}
    for i = 1, math.random(0, 60) do
      local some = " \n%?!-[]='\"\\z0xe.$\xE6\xFF\0andfor"
      local at = math.random(#some)
      bytes[i] = some:sub(at, at)
    end
    local text = table.concat(bytes)
    t.eq(#highlight.mask(text), #text, text)
    t.eq(type(paste.clean(text)), "string", text)
  end
end)

t.done()
