-- shell/prompt/complete.lua - completion at the prompt: the candidates for the
-- place of the cursor, and their order
-- The session's code never runs (safe_call.lua): tables are read raw, objects
-- by their declared names. The work is bounded: see KEYS, resolve.lua and
-- src/shell/system.c.
-- SPDX-License-Identifier: MIT

local resolve = require "clshell.shell.prompt.resolve"
local api = require "clshell.base.api"
local find_place = require "clshell.shell.prompt.place".find
local safe_call = require "clshell.shell.prompt.safe_call"
local lexer = require "clshell.base.lexer"
local options = require "clshell.base.options"
local offers = require "clshell.shell.prompt.offers"

local M = {}

local KEYS = 8000 -- keys of tables to look at for a completion
local SHOWN = 200 -- candidates in the list, at most

-- Candidates: gathered for place.word, which begins at byte place.first.
-- Ranks: 1 begins as typed, 2 the same in another letter case, 3 others.
local C = {}
C.__index = C

local function candidates(place)
  return setmetatable({first = place.first, word = place.word,
    quote = place.quote, closing = place.closing, ranks = {{}, {}, {}},
    seen = {}, count = 0, partial = false, budget = {left = KEYS}}, C)
end

local NONE = {}

-- c:add(text [, how])
-- Takes a candidate that begins with c.word. how: show (the text for the list,
-- nil: the same), typed (the part before the cursor, nil: c.word), append (the
-- text behind a single candidate), open (no closing quote follows), order (its
-- place among all candidates, of a text without quotes around it), rank.
function C:add(text, how)
  if not text or self.seen[text] then
    return
  end
  how = how or NONE
  local typed = how.typed or self.word
  local start = text:sub(1, #typed)
  local rank = how.rank or start == typed and 1
    or start:lower() == typed:lower() and 2
  if rank then
    self.seen[text] = true
    self.count = self.count + 1
    table.insert(self.ranks[rank], {text = text, show = how.show,
      append = how.append, open = how.open or text:sub(-1) == "/",
      order = how.order, typed = rank < 3 and typed or self.word})
  end
end

function C:all(list, how)
  for _, text in ipairs(list) do
    self:add(text, how)
  end
end

-- Takes a name; a name with a leading _ only if the word has it too. A
-- function gets no "(": the user may mean its value.
function C:name(name)
  if name:find "^[%a_][%w_]*$"
      and (name:sub(1, 1) ~= "_" or self.word:sub(1, 1) == "_") then
    self:add(name)
  end
end

-- Takes names of fields of a table constructor, but for the `given` fields.
function C:fields(names, given)
  for _, name in ipairs(names) do
    self:add(not given[name] and name or nil, {append = " = "})
  end
end

local function before(a, b)
  if a.order and b.order then
    return a.order < b.order
  end
  return a.text < b.text
end

-- The common beginning of a sorted list that replaces the typed part, or nil.
local function common_beginning(list)
  local common, last, typed = list[1].text, list[#list].text, list[1].typed
  local n = 0
  while n < #common and common:byte(n + 1) == last:byte(n + 1) do
    n = n + 1
  end
  common = common:sub(1, n)
  if not utf8.len(common) then -- cut in a character
    common = common:gsub("[\xC0-\xFF][\x80-\xBF]*$", "")
  end
  return common:sub(1, #typed):lower() == typed:lower() and common or nil
end

-- The characters that the string or command line around a text escapes.
local SPECIAL = {['"'] = '[\\"%c]', ["'"] = "[\\'%c]",
  shell = "[^%w_%-./~+,:@%%=\x80-\xFF]"}

function C:encode(item)
  if item.order then
    return item.text
  end
  local special = SPECIAL[self.wrap and '"' or self.quote]
  local text = special and item.text:gsub(special, function(char)
    return char:find "%c" and self.quote ~= "shell"
      and ("\\%03d"):format(char:byte()) or "\\" .. char
  end) or item.text
  return self.wrap and '"' .. text .. '"' or text
end

-- The text to insert for a single candidate, with its continuation.
local function single(self, item, rest)
  local text = self:encode(item)
  local append = item.append or ""
  if self.quote and not item.open then
    append = self.closing or self.quote
  end
  if rest:sub(1, #append) == append
      or append == " = " and rest:find "^%s*=" then
    return text
  end
  return text .. append
end

-- The candidates that fit the rest of the word behind the cursor: the whole
-- word as it stands there, or the candidates that end with the rest.
local function fitting(self, list, tail)
  local ends = {}
  for _, item in ipairs(list) do
    local text = item.text
    if text == self.word .. tail then
      return {{text = self.word, show = text, typed = self.word, open = true}}
    elseif #text > #self.word + #tail and text:sub(-#tail) == tail then
      ends[#ends + 1] = {text = text:sub(1, -#tail - 1), show = text,
        typed = self.word, open = true}
    end
  end
  return #ends > 0 and ends or list
end

-- Characters that would disturb the terminal are shown as "?".
local function shown(item)
  return (item.show or item.text):gsub("%c", "?")
end

-- The best candidates, if any, sorted.
function C:best(tail)
  for _, list in ipairs(self.ranks) do
    if #list > 0 then
      list = tail ~= "" and fitting(self, list, tail) or list
      table.sort(list, before)
      return list
    end
  end
end

-- The result of complete.at; `rest` is the text behind the cursor.
function C:result(rest)
  local list = self:best(rest:match "^[%w_]*")
  local hint = self.hint
  if not list then
    hint = self.partial and "none among the first of very many" or hint
    return hint and self.first, hint and {}, hint
  elseif #list == 1 and not self.partial then
    local text = single(self, list[1], rest)
    return self.first, {text}, hint, text, {(shown(list[1]))}
  end
  local texts, names = {}, {}
  for i = 1, math.min(#list, SHOWN) do
    texts[i], names[i] = self:encode(list[i]), shown(list[i])
  end
  if self.partial then
    hint = "some of very many: type on"
  elseif #list > SHOWN then
    hint = ("%d in all: type on"):format(#list)
  end
  local common = not self.wrap and not self.partial
    and common_beginning(list)
  return self.first, texts, hint, common and self:encode{text = common}
    or nil, names
end

-- The kind of an argument by the name of its parameter: "none" has no words.
-- Any other argument takes options in a table and paths in a string.
local PARAMETERS = {bytes = "none", extension = "none", init = "none",
  launch = "target", list = "none", methods = "none", module = "module",
  n = "none", offsets = "none", operands = "operands", opts = "options",
  params = "params", programs = "none", sel = "device", shape = "none",
  source = "source", t = "none", target = "operands", text = "none",
  topic = "topic", type = "type", values = "none", what = "target"}

-- The kinds of the arguments of functions for which PARAMETERS is wrong.
local KINDS_OF = {bench = {"target"}, check = {"target", "rung"},
  compare = {"target", "target"}, ["Program:kernel"] = {"kernel"},
  require = {"module"}, tune = {"target", "none"}}

-- The kind of the argument at the cursor of a call.
local function kind_of(call)
  local name = call.name or ""
  local entry = api.entry(name)
  local parameter = entry and entry.parameters[call.argument]
  if KINDS_OF[name] and not (name == "bench" and call.first) then
    return KINDS_OF[name][call.argument]
  elseif name:find "^family%." and call.argument == 1
      and parameter == "name" then
    return "rung"
  end
  return PARAMETERS[parameter]
end

-- Adds to the call around the cursor: the called thing, its name, the kind of
-- the argument, and the kernel family and the rung whose parameters the call's
-- table holds.
local function known(call, locals)
  local thing = resolve.thing(call.callee, locals)
  if thing then
    call.thing, call.name = thing, resolve.name(thing)
    call.family = resolve.family(thing)
      or thing.owner and resolve.family(thing.owner)
      or call.owner and resolve.family(resolve.thing(call.owner, locals))
  end
  call.kind = kind_of(call)
  if not call.table then
    return
  elseif call.kind ~= "operands" and call.kind ~= "params"
      and call.kind ~= "none" then
    call.kind = "options" -- also check(gemm, {}), occupancy{}
  end
  call.rung = call.fields.kernel
  if call.kind == "params" then
    call.rung = call.first
    local family, rung = (call.first or ""):match "^(%w+)%.([%w_]+)$"
    if family and not call.family then
      call.family, call.rung = offers.family(family), rung
    end
  end
end

-- Offers the fields of the table around the cursor, if known.
local function fields(c, call)
  local kind, name, family, list = call.kind, call.name, call.family, nil
  if family and (kind == "params" or name == "family") then
    c:fields(offers.parameters(family, call.rung), call.fields)
  end
  if kind == "operands" then
    list = family and rawget(family, "operands")
  elseif kind == "options" and name then
    list = name == "family" and rawget(family, "reserved")
      or options.names(name)
  end
  c:fields(list or {}, call.fields)
end

-- The kinds of values of options, by their names.
local KIND_OF = {as = "gpu", device = "device", gpu = "gpu", type = "type"}

-- Offers the words of an argument or a field; returns whether there are any.
local function of_kind(c, kind, call)
  local offer = offers.kinds[kind]
  if offer and (kind ~= "rung" or call.family) then
    offer(c, call)
    return true
  end
end

-- Offers the values of a field of a call's table; returns whether it has any.
local function value(c, call)
  local key, family, is_option = call.key, call.family, call.kind == "options"
  if not key or call.kind ~= "params" and not (is_option and call.name) then
    return false
  elseif is_option and family and key == "kernel" then
    return of_kind(c, "rung", call)
  elseif family and offers.values(c, family, call.rung, key) then
    return true
  end
  local words = is_option and options.values(call.name, key) or {}
  c:all(words)
  return words[1] ~= nil
    or KIND_OF[key] and of_kind(c, KIND_OF[key], call)
end

-- Offers the words of a call at the cursor; returns whether it has any. Code
-- (c.quote is nil) gets the words with quotes, and only for an empty word.
local function in_call(c, call)
  if call.iskey and not c.quote then
    fields(c, call)
    return true
  end
  local kind = not call.table and call.whole and call.kind
  if not c.quote and (c.word ~= "" or kind == "path" or kind == "source") then
    return false
  end
  c.wrap = not c.quote
  local found = call.table and value(c, call)
    or kind and of_kind(c, kind, call)
  c.wrap = found and c.wrap
  return found
end

local function complete_string(c, place)
  if #place.quote > 1 then
    c.closing = place.quote:gsub("%[", "]")
  else -- the words have no other escapes
    c.word = c.word:gsub("\\([\\\"'])", "%1")
  end
  local call = place.call
  if place.index then
    local thing = resolve.thing(place.owner, place.locals)
    c.closing = c.quote .. "]"
    c:all(thing and resolve.members(thing, false, c.budget) or {})
  elseif not offers.kernel_source(c)
      and not (call and in_call(c, call)) then
    offers.kinds.path(c)
  end
end

-- Shows the function's parameters where an argument of a call begins.
local function tip(c, place)
  if c.word == "" and place.call and place.call.whole then
    c.hint = c.hint or require "clshell.shell.prompt.signature".tip(place.call,
      place.locals)
  end
end

local function complete_name(c, place)
  local call = place.call
  if place.owner then
    local thing = resolve.thing(place.owner, place.locals)
    for _, name in ipairs(thing and resolve.members(thing, place.method,
        c.budget) or {}) do
      c:name(not lexer.KEYWORDS[name] and name or "")
    end
    return
  end
  c.plain = not call
  if call and in_call(c, call) and c.count > 0 then
    return tip(c, place)
  end
  c.wrap = nil
  for _, names in ipairs{place.locals, c.word ~= "" and lexer.KEYWORDS
      or nil} do
    for name in pairs(names) do
      c:name(name)
    end
  end
  for _, name in ipairs(resolve.members({value = _G}, false, c.budget)) do
    c:name(name)
  end
  tip(c, place)
end

-- The candidates in Lua, which begins after `skip` bytes of the text.
local function code(text, at, skip)
  local place = find_place(text, at, skip)
  if not place then
    return nil
  end
  local c = candidates(place)
  if place.call then
    known(place.call, place.locals)
  end
  local complete = place.kind == "string" and complete_string
    or complete_name
  complete(c, place)
  c.partial = c.partial or c.budget.over or false
  return c
end

-- The candidates in a %command, a ?topic or a !command.
local function command(text, at)
  local place, c = offers.command(text, at), nil
  if place and place.skip then
    c = code(text, at, place.skip)
    if c and c.plain and c.word ~= "" then
      c:all(place.more or {}, {append = "="})
    end
    return c
  end
  while place do
    c = candidates(place)
    place.offer(c, place.how)
    place = c.count == 0 and place.otherwise
  end
  return c
end

--- complete.find(text, cursor) -> first, list, hint, common, shown; or nil
--- The result of complete.at, without its precautions.
function M.find(text, at)
  local c = (text:find "^%s*[%%?!]" and command or code)(text, at, 0)
  if c then
    return c:result(text:sub(at + 1))
  end
end

--- complete.at(text, cursor) -> first, list, hint, common, shown; or nil
--- The texts that may replace the bytes from `first` to `cursor`, the number
--- of bytes before the cursor: at most 200, sorted; a single text has its
--- continuation. hint: a line to show with them. common: the text to insert at
--- once, or nil. shown: the text to show for each.
function M.at(text, at)
  return safe_call.run(M.find, text, at)
end

return M
