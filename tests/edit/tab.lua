-- tab.lua - the Tab key on a real terminal's screen; shell/prompt/complete.lua
-- tests the candidates
-- SPDX-License-Identifier: MIT
local t = require "t"
local screen = require "screen"

t.test("Tab completes a name, or lists the candidates", function()
  local s <close> = screen.ready()
  s:send "collectg"
  s:keys "Tab"
  s:wait_screen "cl> collectgarbage"
  s:send "('count') > 0\r"
  s:wait_end "true\ncl>"
  s:send "math.ma"
  s:keys "Tab"
  s:wait "max"
  s:wait "maxinteger"
  s:send "i"
  s:keys "Tab"
  s:wait "math.maxinteger"
  s:send " > 0\r"
  s:wait_end "true\ncl>"
  s:send "no_such_name_"
  s:keys "Tab"
  s:send "at_all\r"
  s:wait "no_such_name_at_all"
  s:wait_end "\ncl>"
end)

t.test("Tab in strings, calls and statements of several lines", function()
  local s <close> = screen.ready()
  s:send "gemm(A, B, {kern"
  s:keys "Tab"
  s:wait "{kernel ="
  s:send "'tiled_pad"
  s:keys "Tab"
  s:wait "{kernel = 'tiled_padded'"
  s:keys "C-c"
  s:wait_end "\ncl>"
  s:run("dir = os.getenv 'HOME'; io.open(dir .. '/a b.txt', 'w'):close()")
  s:send "io.open '~/a"
  s:keys "Tab"
  s:wait "/a b.txt'"
  s:send ":read 'a' == ''\r"
  s:wait_end "true\ncl>"
  s:send "for index_one = 1, 1 do\r"
  s:wait_end "..>"
  s:send "x_of_loop = index_o"
  s:keys "Tab"
  s:wait "x_of_loop = index_one"
  s:send "\rend\r"
  s:wait_end "\ncl>"
  s:run("x_of_loop + 40", "41")
end)

-- ux.md, section 4: "Tab hangs, or runs code".
t.test("Tab neither hangs nor runs code", function()
  local s <close> = screen.ready()
  s:run [[function ran() print 'RAN' while true do end end]]
  s:run [[evil = setmetatable({}, {__index = ran, __pairs = ran})]]
  s:run [[getmetatable(evil).__tostring, getmetatable(evil).__call = ran, ran]]
  s:run [[kept = {string.find, table.sort, next, pairs}]]
  s:run [[string.find, table.sort, next, pairs = ran, ran, ran, ran]]
  for _, text in ipairs{"evil.", "evil.x.y", "evil[1].", "evil:m", "evil.x(",
      "gemm(evil, {ker", "evil(evil, '/"} do
    s:send(text)
    s:keys "Tab"
    s:keys("C-e", "C-u")
    s:wait_end "\ncl>"
  end
  s:run [[for i = 1, 200000 do evil['key' .. i] = i end]]
  s:send "evil."
  s:keys "Tab"
  s:wait "very many"
  s:keys("C-e", "C-u")
  s:wait_end "\ncl>"
  t.ok(not s:text(true):find("\nRAN", 1, true), s:text(true))
  s:run [[string.find, table.sort, next, pairs = table.unpack(kept)]]
  s:run("'on' .. 'ward'", "onward")
end)

t.test("Tab opens no driver", function()
  local s <close> = screen.ready{env = "OCL_ICD_VENDORS=/nonexistent"}
  s:send "cl.use 'g"
  s:keys "Tab"
  s:wait "cl.use 'gpu'"
  s:keys("C-e", "C-u")
  s:send "cl.use '"
  s:keys "Tab"
  s:wait "no driver is open yet"
end)

t.test("Tab again shows the rest of a long list", function()
  local s <close> = screen.ready{height = 8, width = 40}
  s:run "many = {}; for i = 1, 20 do many['a_long_name_' .. i + 10] = i end"
  s:send "many.a"
  s:keys "Tab"
  local seen = s:wait "more: Tab shows them"
  t.ok(seen:find "a_long_name_11" and not seen:find "a_long_name_30", seen)
  local shown, pages = {}, 0
  repeat
    local before = seen
    for name in seen:gmatch "a_long_name_%d%d" do
      shown[name] = true
    end
    s:keys "Tab"
    seen = s:until_true("another page", function(text)
      return text ~= before and text:find "a_long_name_%d%d" and text
    end)
    pages = pages + 1
  until seen:find "a_long_name_11" or pages > 10
  for i = 11, 30 do
    t.ok(shown["a_long_name_" .. i], i)
  end
end)

t.done()
