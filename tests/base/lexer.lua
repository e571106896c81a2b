-- lexer.lua - the tokens of the prompt's editor, against Lua's own reading.
-- SPDX-License-Identifier: MIT
local t = require "t"
local lexer = require "clshell.base.lexer"

local function words(text)
  local list = {}
  for _, token in ipairs(lexer.tokens(text)) do
    list[#list + 1] = token.kind .. " " .. text:sub(token.first, token.last)
      .. (token.what and " " .. token.what or "")
  end
  return list
end

t.test("kinds of tokens", function()
  t.eq(words "local x = 0x1p-4 + 3e+2 .. 'a\\'b' --[[c]] //2", {
    "keyword local", "name x", "op =", "number 0x1p-4", "op +", "number 3e+2",
    "op ..", "string 'a\\'b'", "comment --[[c]]", "op //", "number 2"})
  t.eq(words "#t::a::b~=c~d<<2>=1 ...", {"op #", "name t", "op ::", "name a",
    "op ::", "name b", "op ~=", "name c", "op ~", "name d", "op <<",
    "number 2", "op >=", "number 1", "op ..."})
  t.eq(words "a/b/=c:d()", {"name a", "op /", "name b", "op /", "op =",
    "name c", "op :", "name d", "op (", "op )"})
  t.eq(words ".5 3..2 0xg 1_000 t.end1", {"number .5", "bad 3..2", "bad 0xg",
    "bad 1_000", "name t", "op .", "name end1"})
  t.eq(words "'a\\\nb' [==[x]]\n]==] -- rest", {"string 'a\\\nb'",
    "string [==[x]]\n]==]", "comment -- rest"})
  t.eq(words "'a\\z \n b' \"\\\r\nc\"", {"string 'a\\z \n b'",
    "string \"\\\r\nc\""})
end)

t.test("unfinished tokens", function()
  t.eq(words "x = 'ab\ny", {"name x", "op =", "unfinished 'ab string",
    "name y"})
  t.eq(words "[[a\nb", {"unfinished [[a\nb long string"})
  t.eq(words "--[=[a]]", {"unfinished --[=[a]] long comment"})
  t.eq(words "\"a\\", {"unfinished \"a\\ string"})
  t.eq(words "'a\\z  ", {"unfinished 'a\\z   string"})
  t.eq(words "[=x", {"op [", "op =", "name x"})
end)

t.test("characters that Lua does not know", function()
  t.eq(words "? ä !x", {"bad ?", "bad ä", "bad !", "name x"})
  t.eq(words "", {})
  t.eq(words " \n\t", {})
end)

-- The text again from its tokens, comments left out, line breaks kept.
local function rebuilt(text)
  local parts, done = {}, 0
  local function gap(last)
    return text:sub(done + 1, last):gsub("[^\n]", "") .. " "
  end
  for _, token in ipairs(lexer.tokens(text)) do
    if token.kind ~= "comment" then
      parts[#parts + 1] = gap(token.first - 1)
      parts[#parts + 1] = text:sub(token.first, token.last)
      done = token.last
    end
  end
  return table.concat(parts)
end

t.test("every file of the project reads as Lua reads it", function()
  local count = 0
  local list <close> = assert(io.popen(
    "find lua scripts tests -name '*.lua' | sort"))
  for path in list:lines() do
    local file <close> = assert(io.open(path))
    local text = file:read("a"):gsub("^#![^\n]*", "")
    for _, token in ipairs(lexer.tokens(text)) do
      t.ok(token.kind ~= "bad" and token.kind ~= "unfinished",
        ("%s: %s %q"):format(path, token.kind,
          text:sub(token.first, token.last)))
    end
    local ours = assert(load(rebuilt(text), "=x"))
    t.eq(string.dump(ours, true), string.dump(load(text, "=x"), true))
    count = count + 1
  end
  t.ok(count > 100, "only " .. count .. " files")
end)

t.test("any bytes: all in order, none lost, never an error", function()
  local pieces = {"'", '"', "\\", "\n", "\r", "[[", "]]", "[=[", "]=]", "--",
    "0x", "1e", ".", "..", "a", "end", " ", "\xC3", "\xA4", "\0", "~", "=",
    ":", "<", "z"}
  for _ = 1, 3000 do
    local parts = {}
    for i = 1, math.random(20) do
      parts[i] = pieces[math.random(#pieces)]
    end
    local text = table.concat(parts)
    local at = 0
    for _, token in ipairs(lexer.tokens(text)) do
      t.ok(token.first > at and token.last >= token.first
        and not text:sub(at + 1, token.first - 1):find("%S"), text)
      at = token.last
    end
    t.ok(at <= #text and not text:sub(at + 1):find("%S"), text)
    -- where Lua finds no fault in the words, neither does the lexer
    local fine = true
    for _, token in ipairs(lexer.tokens(text)) do
      fine = fine and token.kind ~= "bad" and token.kind ~= "unfinished"
    end
    t.ok(fine or not load(text), text)
  end
end)

t.done()
