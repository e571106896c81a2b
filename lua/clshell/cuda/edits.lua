-- cuda/edits.lua - a text with some of its bytes replaced, in which every line
-- keeps its number and every column knows its place in the old text
-- SPDX-License-Identifier: MIT

local Edits = {}
Edits.__index = Edits

local M = {}

--- edits.new(text) -> Edits
function M.new(text)
  return setmetatable({text = text, list = {}}, Edits)
end

--- Edits:replace(first, last, new)
--- Puts `new`, a text of one line, for the bytes first to last; line ends
--- between them stay. last = first - 1 inserts.
function Edits:replace(first, last, new)
  local list = self.list
  list[#list + 1] = {first = first, last = last, new = new, n = #list}
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

-- The line and column of a byte; the byte of a line and column.
local function position(text, at)
  local before = text:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return breaks + 1, #before:match "[^\n]*$" + 1
end

local function byte(text, line, column)
  local at = 1
  for _ = 2, line do
    at = (text:find("\n", at, true) or #text) + 1
  end
  return at + column - 1
end

--- Edits:line(at) -> line
--- The line of a byte of the text, and its column.
function Edits:line(at)
  return position(self.text, at)
end

--- Edits:apply() -> string, column
--- The new text, and column(line, column): the column of the old text from
--- which a column of the new text came, in the same line.
function Edits:apply()
  local text, parts, spans = self.text, {}, {}
  local at, size = 1, 0
  local function add(s, from, copied)
    parts[#parts + 1] = s
    spans[#spans + 1] = {size + 1, from, copied}
    size = size + #s
  end
  for _, edit in ipairs(sorted(self.list)) do
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
      if spans[i][1] <= place then
        local span = spans[i]
        local old = span[2] + (span[3] and place - span[1] or 0)
        local at_line, at_column = position(text, old)
        return at_line == line and at_column or column
      end
    end
    return column
  end
end

return M
