-- candidates.lua - what may stand at the cursor, gathered, and ordered
-- Ranks: 1 begins as typed, 2 the same in another letter case, 3 others.
-- SPDX-License-Identifier: MIT

-- Held here, as a session may change these.
local byte, find, gsub, lower = string.byte, string.find, string.gsub,
  string.lower
local format, match, sub = string.format, string.match, string.sub
local setmetatable, sort, length = setmetatable, table.sort, utf8.len

local M = {}

local SHOWN = 200     -- at most
local GATHERED = 2000 -- to choose these from

local C = {}
C.__index = C

--- candidates.new(first, word) -> c
--- To gather what may stand instead of `word`, which begins at byte `first`.
function M.new(first, word)
  return setmetatable({first = first, word = word, ranks = {{}, {}, {}},
    seen = {}, count = 0, partial = false}, C)
end

local NONE = {}

--- c:add(text [, how])
--- A candidate, unless it does not begin as c.word does. how: show (in the
--- list, nil: the text), typed (what is there of it, nil: c.word), append
--- (behind it, if it is the only one), open (it goes on: no closing quote),
--- order (the place among all), rank, raw (as it is, without quotes).
function C:add(text, how)
  if not text or self.seen[text] then
    return
  end
  how = how or NONE
  local typed = how.typed or self.word
  local start, rank = sub(text, 1, #typed), how.rank
  if start == typed then
    rank = rank or 1
  elseif not rank and lower(start) == lower(typed) then
    rank = 2
  end
  if not rank then
    return
  elseif self.count == GATHERED then
    self.partial = true
    return
  end
  self.seen[text] = true
  self.count = self.count + 1
  local list = self.ranks[rank]
  list[#list + 1] = {text = text, show = how.show, append = how.append,
    open = how.open or sub(text, -1) == "/", order = how.order,
    typed = rank < 3 and typed or self.word, raw = how.raw}
end

--- c:name(name) -> whether no more are taken
--- A name; one that begins with _ only if the word does. A function gets no
--- "(": it may be meant as a value, and who calls it types one.
function C:name(name)
  local word = self.word
  local start = sub(name, 1, #word)
  if (start == word or lower(start) == lower(word))
      and find(name, "^[%a_][%w_]*$")
      and (sub(name, 1, 1) ~= "_" or sub(word, 1, 1) == "_") then
    self:add(name)
  end
  return self.partial
end

--- c:field(name)
--- A field of a table to be written.
function C:field(name)
  self:add(name, {append = " = "})
end

--- c:empty() -> boolean
--- Whether nothing has been found that begins as the word does.
function C:empty()
  return #self.ranks[1] + #self.ranks[2] + #self.ranks[3] == 0
end

local function before(a, b)
  if a.order and b.order then
    return a.order < b.order
  end
  return a.text < b.text
end

local function common_beginning(list)
  local common = list[1].text
  for i = 2, #list do
    local text, n = list[i].text, #common
    while sub(text, 1, n) ~= sub(common, 1, n) do
      n = n - 1
    end
    common = sub(common, 1, n)
  end
  if not length(common) then -- cut in a character
    common = gsub(common, "[\xC0-\xFF][\x80-\xBF]*$", "")
  end
  local typed = list[1].typed
  return lower(sub(common, 1, #typed)) == lower(typed) and common or nil
end

local function escaped(c)
  return find(c, "%c") and format("\\%03d", byte(c)) or "\\" .. c
end

-- Text as the string or command line around it has it.
local ENCODERS = {}

ENCODERS['"'] = function(s)
  return (gsub(s, '[\\"%c]', escaped))
end

ENCODERS["'"] = function(s)
  return (gsub(s, "[\\'%c]", escaped))
end

function ENCODERS.shell(s)
  return (gsub(s, "[^%w_%-./~+,:@%%=\x80-\xFF]", "\\%0"))
end

-- The candidate to insert when it is the only one, with what follows it.
local function single(self, item, rest)
  local text = self:encode(item)
  local append = item.append or ""
  if self.quote and not item.open then
    append = self.closing or self.quote
  end
  if append == "" or sub(rest, 1, #append) == append
      or append == " = " and find(rest, "^%s*=") then
    return text
  end
  return text .. append
end

function C:encode(item)
  if item.raw then
    return item.text
  end
  local encoder = self.wrap and ENCODERS['"'] or ENCODERS[self.quote or ""]
  local text = encoder and encoder(item.text) or item.text
  return self.wrap and '"' .. text .. '"' or text
end

-- What of the candidates fits the rest of the word behind the cursor: one
-- that is there already, or those that end with it.
local function fitting(self, list, tail)
  local ends = {}
  for i = 1, #list do
    local text = list[i].text
    if text == self.word .. tail then
      return {{text = self.word, show = text, open = true}}
    elseif #text > #self.word + #tail and sub(text, -#tail) == tail then
      ends[#ends + 1] = {text = sub(text, 1, -#tail - 1), show = text,
        open = true}
    end
  end
  return #ends > 0 and ends or list
end

-- Characters that would disturb the terminal are shown as "?".
local function shown(item)
  return (gsub(item.show or item.text, "%c", "?"))
end

--- c:result(rest) -> first, list, hint, common, shown; or nil
--- `rest` is what follows the cursor. See complete.at.
function C:result(rest)
  local list
  for rank = 3, 1, -1 do
    list = #self.ranks[rank] > 0 and self.ranks[rank] or list
  end
  if not list then
    local hint = self.partial and "none among the first of very many"
      or self.hint
    return hint and self.first, hint and {}, hint
  end
  local tail = match(rest, "^[%w_]*")
  if tail ~= "" then
    list = fitting(self, list, tail)
  end
  sort(list, before)
  if #list == 1 and not self.partial then
    local text = single(self, list[1], rest)
    return self.first, {text}, self.hint, text, {shown(list[1])}
  end
  local texts, names = {}, {}
  for i = 1, #list < SHOWN and #list or SHOWN do
    texts[i], names[i] = self:encode(list[i]), shown(list[i])
  end
  local hint = self.hint
  if self.partial then
    hint = "some of very many: type on"
  elseif #list > SHOWN then
    hint = format("%d in all: type on", #list)
  end
  local common = not self.wrap and not self.partial
    and common_beginning(list) or nil
  return self.first, texts, hint, common and self:encode{text = common}
    or nil, names
end

return M
