-- site/messages.lua - the index of the error messages: read from the calls in
-- C and Lua that raise them, with their hints
-- SPDX-License-Identifier: MIT

local build_error = require "clshell.errors.build_error"
local cl = require "cl"
local file = require "clshell.base.file"
local lexer = require "clshell.base.lexer"
local markup = require "clshell.shell.site.markup"
local text = require "clshell.base.text"

local M = {}

-- The words of a format: … in place of values and before leading names.
local function plain(s)
  return (s:gsub("%%[-+#0 .%d]*l?[%a]", "…"):gsub("%%%%", "%%")
    :gsub("\\n", " "):gsub('\\"', '"'):gsub("%s+", " ")
    :gsub("^[%s:…]+", ""))
end

-- The literals of a call in C or Lua: neighbours, also across "..", are one.
-- The hint of a call is the literal behind `hint =`.
local function literals(call)
  local list, hint, last = {}, nil, nil
  for _, token in ipairs((lexer.code(call))) do
    if token.kind == "string" then
      local value = load("return " .. token.text)
      value = value and value() or ""
      if last == "string" then
        list[#list] = list[#list] .. value
      elseif last == "hint" then
        hint = #list + 1
        list[hint] = value
      else
        list[#list + 1] = value
      end
      last = "string"
    elseif token.text == "hint" or token.text == "=" and last == "hint" then
      last = "hint"
    elseif token.text ~= ".." then
      last = nil
    end
  end
  return list, hint and table.remove(list, hint)
end

-- The longest literal of a call is its message.
local function message(list)
  table.sort(list, function(a, b) return #a > #b end)
  return list[1]
end

local CALLS = {"clsh_error[a-z_]*(%b())", "cl%.error(%b())",
  "argument%.refuse(%b())"}

-- All messages, once each, by their words: {said =, hint =, from =}.
local function all()
  local list, seen = {}, {}
  local p <close> = assert(io.popen(("cd %s && find lua src -name '*.lua' -o "
    .. "-name '*.c' 2>/dev/null | LC_ALL=C sort"):format(text.quote(cl.home))))
  for path in p:lines() do
    local source, calls = assert(file.read(cl.home .. "/" .. path)), {}
    for _, pattern in ipairs(CALLS) do
      for call in source:gmatch(pattern) do
        calls[#calls + 1] = call
      end
    end
    for _, call in ipairs(calls) do
      local words, hint = literals(call)
      local said = plain(message(words) or "")
      if #said > 14 and said:find "%l %l" and not seen[said] then
        seen[said] = true
        hint = hint and plain(hint)
        list[#list + 1] = {said = said, from = path,
          hint = hint and hint:find "%a" and hint,
          key = said:gsub("^[^%a]+", ""):lower() .. said}
      end
    end
  end
  table.sort(list, function(a, b) return a.key < b.key end)
  return list
end

--- messages.page(book)
--- The page of the errors. A message without a hint has its remedy behind the
--- last ";".
function M.page(book)
  local rows, remedies = {}, {}
  for i, one in ipairs(all()) do
    local rule, remedy = one.said:match "^(.*); (.-)$"
    if one.hint or not rule or remedy:find "^got " then
      rule, remedy = one.said, one.hint or ""
    end
    book:find(rule, "errors.html#m" .. i, remedy, one.said, 3)
    rows[i] = {rule, remedy, one.from}
  end
  book:page("errors", "Errors and their remedies", function()
    for i, row in ipairs(rows) do
      rows[i] = {("%s <span class=soft>%s</span>"):format(
        markup.escape(row[1]), row[3]), markup.inline(row[2], book), "m" .. i}
    end
    for i, remedy in ipairs(build_error.remedies()) do
      remedies[i] = "- " .. remedy
    end
    return "<p>The search finds a message that is pasted there. … stands for "
      .. 'a value. <a href="errors-opencl.html">OpenCL\'s errors</a> and '
      .. book:link("refused", "the states of results") .. " have pages of "
      .. "their own.</p>\n<h2>A build on a device that lacks a part of OpenCL "
      .. "C</h2>\n" .. markup.text(table.concat(remedies, "\n"), book)
      .. "\n<h2>Messages</h2>\n" .. markup.terms(rows)
  end)
end

return M
