-- shell/commands/constant_calls.lua - calls in a Lua text whose arguments are
-- written out in it, found without running anything
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"
local locals = require "clshell.shell.prompt.locals"

local M = {}

local BRACKETS = lexer.BRACKETS
local PLAIN = {["nil"] = true, ["true"] = true, ["false"] = true,
  ["not"] = true, ["and"] = true, ["or"] = true} -- keywords in constants
local NONE = {}
local MOST = 2^20 -- bytes of the strings of an expression
local ALL = 2^24  -- bytes of all values of a text

-- Calls f(name, before, after, around, i) for each name that is no field: with
-- the tokens beside it, the bracket or block that it stands in, and its place.
local function each_name(tokens, f)
  local open = {}
  for i, t in ipairs(tokens) do
    local before, after = tokens[i - 1] or NONE, tokens[i + 1] or NONE
    local change = lexer.step(t)
    if change > 0 then
      open[#open + 1] = t.text
    elseif change < 0 then
      open[#open] = nil
    elseif t.kind == "name" and before.text ~= "." and before.text ~= ":" then
      f(t, before, after, open[#open], i)
    end
  end
end

-- The number of times each name is bound: by local, =, for, or as a parameter.
-- Names in lists count twice, as their values are not matched.
local function bindings(tokens)
  local count = {}
  local function add(token, n)
    count[token.text] = (count[token.text] or 0) + n
  end
  each_name(tokens, function(t, before, after, around)
    if BRACKETS[around] then
      return
    elseif after.text == "," or before.text == "," or before.text == "for" then
      add(t, 2)
    elseif after.text == "=" or before.text == "local" then
      add(t, 1)
    end
  end)
  for i, t in ipairs(tokens) do
    local j = t.text == "function" and i + 1 -- its name and parameters
    while j and tokens[j] and tokens[j].text ~= ")" do
      add(tokens[j], 2)
      j = j + 1
    end
  end
  return count
end

-- A text to read: `text`, its `tokens`, and the values of the `known` locals.
local Reader = {}
Reader.__index = Reader

function Reader:line(i)
  local _, breaks = self.text:sub(1, self.tokens[i].first - 1):gsub("\n", "")
  return breaks + 1
end

-- The value of tokens first..last: true and the value where they hold only
-- literals, known names and operators on them.
function Reader:evaluate(first, last)
  local tokens, known = self.tokens, self.known
  local bytes = 0
  for i = first, last do
    local t = tokens[i]
    local value = t.kind == "name" and known[t.text]
    bytes = bytes + (type(value) == "string" and #value or 0)
    local fine = t.kind == "string" or t.kind == "number" or PLAIN[t.text]
      or t.kind == "op" and t.text ~= ":" and t.text ~= "..."
        and t.text ~= "::"
      or t.kind == "name" and (known[t.text] ~= nil
        or tokens[i - 1].text == "." or tokens[i + 1].text == "=")
    if not fine or bytes > MOST or self.bytes + bytes > ALL then
      return false -- doublings of a text would take all memory
    end
  end
  self.bytes = self.bytes + bytes
  local chunk = first <= last and load("return " .. self.text:sub(
    tokens[first].first, tokens[last].last), "=(literal)", "t",
    setmetatable({}, {__index = known}))
  if not chunk then
    return false
  end
  return pcall(chunk)
end

-- Finds the locals that are bound once, to an expression of constants.
function Reader:constants()
  local tokens, count = self.tokens, bindings(self.tokens)
  for i, t in ipairs(tokens) do
    local name = tokens[i + 1]
    if t.text == "local" and name.kind == "name"
        and count[name.text] == 1 then
      local at = i + (tokens[i + 2].text == "<" and 5 or 2) -- <const>
      if tokens[at] and tokens[at].text == "=" then
        local ok, value = self:evaluate(at + 1,
          locals.expressions(tokens, at + 1, NONE) - 1)
        self.known[name.text] = ok and value or nil
      end
    end
  end
end

-- An argument: {line, known = true, value} or {line}; a table constructor has
-- `fields` too, each described in the same way.
function Reader:describe(first, last)
  local tokens = self.tokens
  local ok, value = self:evaluate(first, last)
  local about = {line = self:line(first), known = ok or nil,
    value = ok and value or nil}
  if tokens[first].text ~= "{" then
    return about
  end
  local list, close = lexer.parts(tokens, first)
  about.fields = close == last and {} or nil
  for _, part in ipairs(close == last and list or NONE) do
    local a, b = part[1], part[2]
    if tokens[a].text == "[" then
      about.fields["?"] = {line = self:line(a)}
    elseif tokens[a].kind == "name" and tokens[a + 1].text == "=" then
      about.fields[tokens[a].text] = self:describe(a + 2, b)
    else
      table.insert(about.fields, self:describe(a, b))
    end
  end
  return about
end

-- The arguments of the call whose first token after the name is i.
function Reader:arguments(i)
  local t = self.tokens[i]
  local list, close
  if t.text == "(" or t.text == "{" then
    list, close = lexer.parts(self.tokens, i)
  end
  if t.kind == "string" or list and t.text == "{" then
    return {self:describe(i, close or i)}
  end
  for k, part in ipairs(list or NONE) do
    list[k] = self:describe(part[1], part[2])
  end
  return list
end

--- constant_calls.strings(text) -> list of {text, line}
--- The strings in a Lua text.
function M.strings(text)
  local tokens, list = locals.code(text), {}
  local self = setmetatable({text = text, tokens = tokens}, Reader)
  for i, t in ipairs(tokens) do
    if t.kind == "string" then
      list[#list + 1] = {text = t.text:sub(2, -2), line = self:line(i)}
    end
  end
  return list
end

--- constant_calls.globals(text) -> list of {name, line}, set
--- The names in a Lua text that nothing in it binds, each where it stands
--- first; and the names that it binds.
function M.globals(text)
  local tokens, list, seen = locals.code(text), {}, {}
  local self = setmetatable({text = text, tokens = tokens}, Reader)
  local bound = bindings(tokens)
  each_name(tokens, function(t, before, after, around, i)
    if not (bound[t.text] or seen[t.text] or before.text == "::"
        or before.text == "goto" or before.text == "<" and after.text == ">"
        or after.text == "=" and around == "{") then
      seen[t.text] = true
      list[#list + 1] = {name = t.text, line = self:line(i)}
    end
  end)
  return list, bound
end

--- constant_calls.find(text, names) -> list of {name, line, args}
--- The calls in a Lua text of functions by their names, such as {"cl.build",
--- "require"}. An argument is {line =, known = true, value =} where the text
--- has its value, or locals with known values make it; a table constructor has
--- `fields` as well, each described in the same way (the key is "?" for a
--- computed name). args is nil where a function is not called but handed on.
function M.find(text, names)
  local tokens = locals.code(text)
  local self = setmetatable({text = text, tokens = tokens, known = {},
    bytes = 0}, Reader)
  local wanted, list = {}, {}
  for _, name in ipairs(names) do
    wanted[name] = true
  end
  self:constants()
  for i, t in ipairs(tokens) do
    local before = (tokens[i - 1] or NONE).text
    if t.kind == "name" and before ~= "." and before ~= ":"
        and before ~= "function" then
      local name, at = t.text, i + 1
      if tokens[at].text == "." then
        name, at = name .. "." .. tokens[i + 2].text, i + 3
      end
      if wanted[name] then
        list[#list + 1] = {name = name, line = self:line(i),
          args = self:arguments(at)}
      end
    end
  end
  return list
end

return M
