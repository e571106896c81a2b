-- site/messages.lua - the index of the error messages: read from the calls in
-- C and Lua that raise them, with their hints
-- SPDX-License-Identifier: MIT

local build_error = require "clshell.errors.build_error"
local cl = require "cl"
local lexer = require "clshell.base.lexer"
local markup = require "clshell.shell.site.markup"
local text = require "clshell.base.text"

local M = {}

local escape = markup.escape

-- The text of literals with … in place of values; of a long list of words
-- the first line.
local function plain(s)
  return (s:gsub("%%[-+#0 .%d]*l?[%a]", "…"):gsub("%%%%", "%%")
    :gsub("\\n", "\n"):gsub('\\"', '"'):gsub("%s+", " "))
end

-- The literals of a piece of Lua: strings that `..` joins are one.
local function literals(code)
  local list, joined = {}, false
  for _, token in ipairs(lexer.code(code)) do
    if token.kind == "string" then
      local value = load("return " .. token.text)()
      if joined and #list > 0 and list[#list].open then
        list[#list].value = list[#list].value .. value
      else
        list[#list + 1] = {value = value, first = token.first, open = true}
      end
      joined = false
    elseif token.text == ".." then
      joined = true
    elseif #list > 0 then
      list[#list].open, joined = false, false
    end
  end
  return list
end

-- The messages of a file of Lua: cl.error("..."), argument.refuse(...).
local function of_lua(source, add)
  for kind, call in source:gmatch "%f[%w_]([%w_.]+)(%b())" do
    local refuse = kind == "argument.refuse"
    if kind == "cl.error" or refuse then
      local list = literals(call:sub(2, -2))
      local at = call:find "hint%s*="
      local said, hint
      for _, one in ipairs(list) do
        if at and one.first > at - 1 then
          hint = hint or one.value
        elseif refuse or not said then
          said = refuse and #(said or "") > #one.value and said or one.value
        end
      end
      add(said, hint)
    end
  end
end

-- The messages of a file of C: clsh_error(L, "..."), clsh_error_arg, _call.
local function of_c(source, add)
  for call in source:gmatch "clsh_error[a-z_]*(%b())" do
    local longest = ""
    for group in (call:gsub('"%s*\n%s*"', "")):gmatch '"((\\?.)-)"' do
      longest = #group > #longest and group or longest
    end
    add(longest ~= "" and longest or nil)
  end
end

-- All messages, once each: {said =, hint =, from =}, by their words.
local function all()
  local list, seen = {}, {}
  local p <close> = assert(io.popen(("cd %s && find lua src -name '*.lua' -o "
    .. "-name '*.c' 2>/dev/null | LC_ALL=C sort"):format(text.quote(cl.home))))
  for path in p:lines() do
    local f <close> = assert(io.open(cl.home .. "/" .. path, "rb"))
    local read = path:find "c$" and of_c or of_lua
    read(f:read "a", function(said, hint)
      said = said and plain(said):gsub("^[%s:…]+", "")
      if said and #said > 14 and said:find "%l %l" and not seen[said] then
        seen[said] = true
        list[#list + 1] = {said = said, hint = hint and plain(hint),
          from = path:gsub("^lua/clshell/", "")}
      end
    end)
  end
  local function key(one)
    return one.said:gsub("^[^%a]+", ""):lower()
  end
  table.sort(list, function(a, b)
    return key(a) < key(b) or key(a) == key(b) and a.said < b.said
  end)
  return list
end

-- A message in two parts: the rule, and the remedy behind the last ";".
local function parts(one)
  local rule, remedy = one.said:match "^(.*); (.-)$"
  if one.hint or not rule or remedy:find "^got " then
    return one.said, one.hint
  end
  return rule, remedy
end

--- messages.page(book)
--- The page of the errors.
function M.page(book)
  local list = all()
  for i, one in ipairs(list) do
    local rule, remedy = parts(one)
    one.rule, one.remedy = rule, remedy
    book:find(rule, "errors.html#m" .. i, remedy or "", one.said, 3)
  end
  book:page("errors", "Errors and their remedies", function()
    local out = {"<p>A search for a message finds its line here. … stands for "
      .. "a value. " .. '<a href="errors-opencl.html">OpenCL\'s errors</a> '
      .. "and " .. book:link("refused", "the flags of results")
      .. " have pages of their own.</p>\n<h2>Builds on a device that lacks a "
      .. "part of OpenCL C</h2><ul>"}
    for _, remedy in ipairs(build_error.remedies()) do
      out[#out + 1] = "<li>" .. markup.inline(remedy, book)
    end
    out[#out + 1] = "</ul>\n<h2>Messages</h2><dl class=opts>"
    for i, one in ipairs(list) do
      out[#out + 1] = ('<dt id="m%d">%s <span class=soft>%s</span>%s'):format(
        i, escape(one.rule), escape(one.from), one.remedy and "<dd>"
        .. markup.inline(one.remedy, book) or "")
    end
    return table.concat(out, "\n") .. "</dl>"
  end)
end

return M
