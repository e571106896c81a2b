-- shell/prompt/value_layout.lua - tables laid out on lines: arrays in columns,
-- other keys sorted, nested tables indented, the path in place of a table that
-- was shown before
-- Access is raw, and the work has a bound for any table.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local interrupt = require "clshell.base.interrupt"
local lexer = require "clshell.base.lexer"
local printable = require "clshell.shell.prompt.printable"
local style = require "clshell.base.style"

local M = {}

local SORTED = 10000 -- the least number of keys to sort
local COUNTED = 1000000 -- keys; a larger table is not counted through
local ALL = 100000 -- entries that "all" shows
local INDENT = 2

local ORDER = {number = 1, string = 2, boolean = 3, ["function"] = 4,
  table = 5, userdata = 6, thread = 7}

local function is_name(s)
  return s:find "^[%a_][%w_]*$" ~= nil and not lexer.KEYWORDS[s]
end

local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta ~= tb then
    return ORDER[ta] < ORDER[tb]
  elseif ta == "number" or ta == "string" then
    return a < b
  end
  return tostring(a == true) < tostring(b == true)
end

-- The length n of the list in a table, the other keys, sorted (only some of
-- very many), their number, and whether all keys were counted. The border n
-- may be anywhere in the order of next, so the walk meets all keys.
local function keys_of(t, most)
  local n, keys, others, walked = rawlen(t), {}, 0, 0
  most = math.max(most, SORTED)
  for k in next, t do
    walked = walked + 1
    if walked > COUNTED then
      break
    elseif math.type(k) ~= "integer" or k < 1 or k > n then
      others = others + 1
      if others <= most then
        keys[others] = k
      end
    end
  end
  table.sort(keys, before)
  return n, keys, others, walked <= COUNTED
end

-- A function in a few words: the place of its definition.
local function where(f)
  local info = debug.getinfo(f, "S")
  if info.what == "C" then
    return "function (C)"
  end
  local source = info.short_src
  if info.source:sub(1, 1) == "@" or info.source:sub(1, 1) == "=" then
    source = info.source:sub(2):match "([^/]*/?[^/]*)$"
  end
  return ("function (%s:%d)"):format(printable.clean(source),
    info.linedefined)
end

-- The text that a value's __tostring gives, or nil and the error in it.
local function told(value)
  local mt = debug.getmetatable(value)
  if type(mt) ~= "table" or rawget(mt, "__tostring") == nil then
    return nil
  end
  local fine, text = interrupt.pcall(tostring, value)
  if fine then
    return ("%s"):format(text)
  end
  fine, text = pcall(tostring, text)
  return nil, ("error in __tostring: %s"):format(fine
    and text:gsub("\n.*", "") or "?")
end
M.told = told

-- The class of a table and a space, or nothing.
local function class_of(t)
  local name = base_text.class(t)
  return type(name) == "string" and printable.cut(printable.clean(name), 40)
    .. " " or ""
end

-- The first line of a text, cut.
local function line_of(text, room)
  return printable.cut(printable.clean((text:gsub("\n.*", ""))), room)
end

local function leaf(text, colour, kind)
  return {text = text, width = printable.width(text), colour = colour,
    kind = kind}
end

--- value_layout.scalar(value, room) -> {text=, width=, colour=, kind=}
--- A value other than a table, on one line. Strings, functions and objects
--- take at most `room` columns (math.huge: all of them).
function M.scalar(value, room)
  local kind = type(value)
  if kind == "string" then
    return leaf(printable.quote(value, room), "green")
  elseif kind == "number" then
    return leaf(printable.number(value), "cyan", "number")
  elseif kind == "nil" or kind == "boolean" then
    return leaf(tostring(value), "yellow")
  elseif kind == "function" then
    return leaf(printable.cut(where(value), math.max(room, 8)), "dim")
  elseif kind == "thread" then
    return leaf("thread (" .. coroutine.status(value) .. ")", "dim")
  end
  local text, wrong = told(value)
  return leaf(line_of(text or wrong or tostring(value), math.max(room, 8)))
end

-- The lines of a table under way: width, height, color, whole (nothing is
-- cut), depth (of tables), text_room (columns of a string), most and nested
-- (entries of the table, and of tables in it), budget (entries in all), lead
-- (columns before the value under way). `met` has the paths of tables, `cut`
-- tells of entries left out, `full` of lines.
local Layout = {}
Layout.__index = Layout

-- The text for a key: its name, or its value in brackets.
local function key_text(key, room)
  if type(key) == "string" and is_name(key) then
    return printable.cut(key, 2 * room)
  end
  return "[" .. (type(key) == "table" and "table" or M.scalar(key,
    type(key) == "string" and room or 24).text) .. "]"
end

local function step_path(path, key)
  local named = type(key) == "string" and is_name(key)
  return path .. (named and "." .. key or key_text(key, 24))
end

-- A leaf for a table with a __tostring, met before, or too deep.
function Layout:short(t, path, depth)
  if self.met[t] then
    return leaf("<" .. self.met[t] .. ">", "dim")
  end
  local text, wrong = told(t)
  if text then
    self.met[t] = path
    return leaf(line_of(text, self.text_room))
  elseif depth > self.depth and next(t) ~= nil then
    self.cut = true
    return leaf(class_of(t) .. "{" .. printable.ellipsis() .. "}", "dim")
  end
  return nil, wrong
end

-- Adds the items of the list, then the items of the keys: as many as may be.
function Layout:fill(node, t, path, depth)
  local most = depth == 1 and self.most or self.nested
  local n, keys, others, counted = keys_of(t, most)
  node.total, node.counted = n + others, counted
  local shown = math.min(node.total, most)
  for i = 1, shown do
    if self.budget <= 0 then
      break
    end
    self.budget = self.budget - 1
    local key = i <= n and i or keys[i - n]
    local label = i <= n and "" or key_text(key, self.whole and math.huge
      or self.width // 2) .. " = "
    local lead = printable.width(label)
    self.lead = lead
    local item = self:node(rawget(t, key), step_path(path, key), depth + 1)
    item.key, node.items[i] = label, item
    node.width = node.width + lead + item.width + (i > 1 and 2 or 0)
    node.plain = node.plain and not item.items and i <= n
  end
  node.left = node.total - #node.items
end

function Layout:paint(text, colour)
  return style.paint(text, colour, self.color and colour ~= nil)
end

-- The tree of a value, each node with its text and width on one line; of a
-- table that is too wide the text is missing.
function Layout:node(value, path, depth)
  local node, wrong
  if type(value) ~= "table" then
    node = M.scalar(value, self.whole and math.huge or math.min(
      self.text_room, self.width - INDENT * depth - self.lead))
  else
    node, wrong = self:short(value, path, depth)
  end
  if node then
    node.text = self:paint(node.text, node.colour)
    return node
  end
  self.met[value] = path
  node = {open = class_of(value) .. "{", items = {}, plain = true,
    note = wrong, width = wrong and printable.width(wrong) + 4 or 0}
  node.width = node.width + printable.width(node.open) + 1
  self:fill(node, value, path, depth)
  if node.left > 0 then
    node.width, self.cut = math.huge, true
  elseif node.width <= self.width then
    local parts = {}
    for i, item in ipairs(node.items) do
      parts[i] = item.key .. item.text
    end
    node.text = node.open .. table.concat(parts, ", ") .. "}"
      .. self:paint(wrong and " -- " .. wrong or "", "red")
  end
  return node
end

-- Adds a line; false where the lines ran out.
function Layout:line(indent, text)
  self.full = #self.lines >= self.height
  if not self.full then
    self.lines[#self.lines + 1] = (" "):rep(indent)
      .. (self.whole and text or printable.cut(text, self.width - indent))
  end
  return not self.full
end

-- The items of an array of short values, in columns.
function Layout:columns(node, indent)
  local items, widest, right = node.items, 1, true
  for _, item in ipairs(items) do
    widest = math.max(widest, item.width)
    right = right and item.kind == "number"
  end
  local a_line = math.max(1, (self.width - indent + 1) // (widest + 2))
  for first = 1, #items, a_line do
    local parts = {}
    for i = first, math.min(first + a_line - 1, #items) do
      local space = (" "):rep(widest - items[i].width)
      local text = items[i].text
        .. (i == #items and node.left == 0 and "" or ",")
      parts[#parts + 1] = right and space .. text or text .. space
    end
    if not self:line(indent, (table.concat(parts, " "):gsub(" +$", ""))) then
      return first - 1
    end
  end
  return #items
end

-- The items, each on a line of its own; returns the number begun.
function Layout:rows(node, indent)
  for i, item in ipairs(node.items) do
    local comma = (i < #node.items or node.left > 0) and "," or ""
    if not self:put(item, indent, comma) then
      return i - 1
    end
  end
  return #node.items
end

-- "12 more" where a table has more items than are shown.
local function rest(node, shown)
  return ("%s %s%d more"):format(printable.ellipsis(),
    node.counted and "" or "at least ", node.total - shown)
end

-- Lays a node out from column `indent`; false where the lines ran out.
function Layout:put(node, indent, comma)
  local key = node.key or ""
  if not node.items or indent + node.width + printable.width(key) + #comma
      <= self.width then
    return self:line(indent, key .. node.text .. comma)
  elseif not self:line(indent, key .. node.open) then
    return false
  end
  for _, words in ipairs(node.note and base_text.wrap(
      node.note, self.width - indent - INDENT - 3) or {}) do
    self:line(indent + INDENT, self:paint("-- " .. words, "red"))
  end
  local shown = (node.plain and self.columns or self.rows)(self, node,
    indent + INDENT)
  node.shown = shown
  if self.full then
    return false
  end
  if node.left > 0 and indent > 0 then
    self:line(indent + INDENT, self:paint(rest(node, shown), "dim"))
  end
  if not self.full and (indent > 0 or node.left == 0) then
    self:line(indent, "}" .. comma)
  end
  return not self.full
end

--- value_layout.text(t, opts) -> lines, rest
--- A table as a list of lines, and the rest in words ("12 more"; nil: the
--- table is whole). opts: width, height (lines at most), below (lines kept
--- for the words on the rest), color, all, name (the beginning of paths to
--- shared tables).
function M.text(t, opts)
  local height = opts.all and math.huge or math.max(opts.height, 3)
  local layout = setmetatable({met = {}, lead = 0, lines = {}, height = height,
    color = opts.color, whole = opts.all, width = opts.width,
    depth = opts.all and 30 or 4,
    text_room = opts.all and 4096 or math.max(opts.width - 4, 12),
    most = opts.all and ALL or height * opts.width // 3 + 1,
    nested = opts.all and ALL or 200,
    budget = opts.all and ALL or 20 * height + opts.width * height // 3,
  }, Layout)
  local node = layout:node(t, opts.name or "_", 1)
  if layout:put(node, 0, "") and not layout.cut then
    return layout.lines
  elseif not layout.cut or #layout.lines > height - opts.below then
    layout.lines, layout.full = {}, false
    layout.height = height - opts.below
    layout:put(node, 0, "")
  end
  local shown = node.shown
  return layout.lines, shown and node.total > shown and rest(node, shown)
    or printable.ellipsis() .. " more inside"
end

return M
