-- cuda/translation.lua - one translation: the tokens of a text, its problems,
-- and edits of the text, in which every line keeps its number and every column
-- knows its place in the old text
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.cuda.cuda_tokens"
local position = require "clshell.base.text".position

local Translation = {}
Translation.__index = Translation

function Translation:problem(token, text, ...)
  local list = self.problems
  list[#list + 1] = {first = token.first, text = text:format(...)}
end

-- Puts `new`, a text of one line, for the bytes first to last; line ends
-- between them stay. last = first - 1 inserts.
function Translation:replace(first, last, new)
  local list = self.edits
  list[#list + 1] = {first = first, last = last, new = new, n = #list}
end

-- Puts a text for tokens i to j; "" takes them out.
function Translation:put(i, new, j)
  self:replace(self.tokens[i].first, self.tokens[j or i].last, new)
end

function Translation:insert(i, new)
  self:replace(self.tokens[i].first, self.tokens[i].first - 1, new)
end

function Translation:append(i, new)
  self:replace(self.tokens[i].last + 1, self.tokens[i].last, new)
end

function Translation:text_of(i, j)
  return self.source:sub(self.tokens[i].first, self.tokens[j].last)
end

-- Takes tokens i to j out, as a range of `left`.
function Translation:leave_out(i, j)
  self:put(i, "", j)
  self.left[#self.left + 1] = {i, j}
end

-- The edits in order, without edits that lie inside others.
local function sorted(list)
  table.sort(list, function(a, b)
    if a.first ~= b.first then
      return a.first < b.first
    elseif (a.last < a.first) ~= (b.last < b.first) then
      return a.last < a.first -- an insertion comes first
    end
    return a.n < b.n
  end)
  local kept, behind = {}, 1
  for _, edit in ipairs(list) do
    if edit.first >= behind then
      kept[#kept + 1] = edit
      behind = math.max(behind, edit.last + 1)
    end
  end
  return kept
end

-- The byte of a line and column.
local function byte(text, line, column)
  local at = 1
  for _ = 2, line do
    at = (text:find("\n", at, true) or #text) + 1
  end
  return at + column - 1
end

--- Translation:apply() -> string, column
--- The new text, and column(line, column): the column of the old text from
--- which a column of the new text came, in the same line.
function Translation:apply()
  local text, parts, spans = self.source, {}, {}
  local at, size = 1, 0
  local function add(s, from, copied)
    parts[#parts + 1] = s
    spans[#spans + 1] = {size + 1, from, copied}
    size = size + #s
  end
  for _, edit in ipairs(sorted(self.edits)) do
    add(text:sub(at, edit.first - 1), at, true)
    add(edit.new .. text:sub(edit.first, edit.last):gsub("[^\n]", ""),
      edit.first, false)
    at = math.max(at, edit.last + 1)
  end
  add(text:sub(at), at, true)
  local new = table.concat(parts)
  return new, function(line, column)
    local place = byte(new, line, column)
    for i = #spans, 1, -1 do
      local start, from, copied = table.unpack(spans[i])
      if start <= place then
        local at_line, at_column = position(text,
          from + (copied and place - start or 0))
        return at_line == line and at_column or column
      end
    end
    return column
  end
end

-- Vectors of three, which take the room of three numbers in CUDA.
local THREES = {__index = {}}
for word in ([[char uchar short ushort int uint long ulong longlong ulonglong
    float double]]):gmatch "%a+" do
  THREES.__index[word .. "3"] = "vector"
end

local M = {}

--- translation.new(source, opts) -> Translation
--- A new translation; opts as for cuda.translate. Fields: tokens, list (the
--- functions), functions (by name), globals, hidden (arguments that kernels
--- get), and the words of the text that need more: constants, extensions,
--- helpers, wide.
function M.new(source, opts)
  return setmetatable({source = source, problems = {}, left = {}, edits = {},
    tokens = lexer.tokens(source), globals = {}, functions = {}, list = {},
    hidden = {}, helpers = {}, threes = {}, named = {}, constants = {},
    extensions = {}, fields = {}, tags = {}, scopes = {},
    three = setmetatable({}, THREES),
    has = opts.has or function() end,
    generic = (opts.options or ""):find "-cl%-std=CL[23]"}, Translation)
end

return M
