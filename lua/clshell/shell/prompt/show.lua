-- shell/prompt/show.lua - a value as text that fits the window, for results at
-- the prompt; show(value, "all") for the whole
-- A table is laid out on lines: arrays in columns, other keys sorted, nested
-- tables indented, the path in place of a table that was shown before. Access
-- is raw, and the work has a bound for any table.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local lexer = require "clshell.base.lexer"
local options = require "clshell.base.options"
local later = package.loaded["clshell.base.lazy"] -- loaded at first use
local printable = require "clshell.shell.prompt.printable"
local style = require "clshell.base.style"
local system = require "clshell.system"

local M = {}

local LEAST = 20 -- columns of the narrowest window
local MOST = 16 << 20 -- bytes of one string that "all" shows
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

-- The class of a table and a space, or nothing.
local function class_of(t)
  local name = base_text.class(t)
  return type(name) == "string" and printable.cut(printable.clean(name), 40)
    .. " " or ""
end

-- The lines of a table under way: width, color, whole (nothing is cut), depth
-- (of tables), text_room (columns of a string), most and nested (entries of
-- the table, and of tables in it), budget (entries in all), lead (columns
-- before the value under way). `met` has the paths of tables, `cut` tells of
-- entries left out.
local Layout = {}
Layout.__index = Layout

-- The text for a key: its name, or its value in brackets.
local function key_text(key, room)
  if type(key) == "string" and is_name(key) then
    return printable.cut(key, 2 * room)
  end
  return "[" .. (type(key) == "table" and "table" or printable.scalar(key,
    type(key) == "string" and room or 24).text) .. "]"
end

local function step_path(path, key)
  local named = type(key) == "string" and is_name(key)
  return path .. (named and "." .. key or key_text(key, 24))
end

-- A leaf for a table with a __tostring, met before, or too deep.
function Layout:short(t, path, depth)
  if self.met[t] then
    return printable.leaf("<" .. self.met[t] .. ">", "dim")
  end
  local text, wrong = printable.told(t)
  if text then
    self.met[t] = path
    return printable.leaf(printable.line(text, self.text_room))
  elseif depth > self.depth and next(t) ~= nil then
    self.cut = true
    return printable.leaf(class_of(t) .. "{" .. printable.ellipsis() .. "}",
      "dim")
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
    node = printable.scalar(value, self.whole and math.huge or math.min(
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
    node.text = node.open .. base_text.values(node.items, ", ", function(item)
      return item.key .. item.text
    end) .. "}"
      .. self:paint(wrong and " -- " .. wrong or "", "red")
  end
  return node
end

function Layout:line(indent, text)
  self.lines[#self.lines + 1] = (" "):rep(indent)
    .. (self.whole and text or printable.cut(text, self.width - indent))
end

-- The items of an array of short values, in columns.
function Layout:columns(node, indent)
  local items, widest, right = node.items, 1, true
  for _, item in ipairs(items) do
    widest = math.max(widest, item.width)
    right = right and item.colour == printable.NUMBER
  end
  local a_line = math.max(1, (self.width - indent + 1) // (widest + 2))
  for first = 1, #items, a_line do
    local parts, last = {}, math.min(first + a_line - 1, #items)
    for i = first, last do
      local text = items[i].text
        .. (i == #items and node.left == 0 and "" or ",")
      parts[#parts + 1] = base_text.fill(text, widest + (text:sub(-1) == ","
        and 1 or 0), right)
    end
    self:line(indent, (table.concat(parts, " "):gsub(" +$", "")))
    node.done[#self.lines] = last
  end
end

-- The items, each on a line of its own.
function Layout:rows(node, indent)
  for i, item in ipairs(node.items) do
    self:put(item, indent, (i < #node.items or node.left > 0) and "," or "")
    node.done[#self.lines] = i
  end
end

-- "12 more" where a table has more items than are shown.
local function more_of(node, shown)
  return ("%s %s%d more"):format(printable.ellipsis(),
    node.counted and "" or "at least ", node.total - shown)
end

-- Lays a node out from column `indent`. node.done tells by the number of
-- lines how many of its items these show as a whole.
function Layout:put(node, indent, comma)
  local key = node.key or ""
  if not node.items or indent + node.width + printable.width(key) + #comma
      <= self.width then
    return self:line(indent, key .. node.text .. comma)
  end
  self:line(indent, key .. node.open)
  for _, words in ipairs(node.note and base_text.wrap(
      node.note, self.width - indent - INDENT - 3) or {}) do
    self:line(indent + INDENT, self:paint("-- " .. words, "red"))
  end
  node.done = {}
  local items = node.plain and self.columns or self.rows
  items(self, node, indent + INDENT)
  if node.left > 0 and indent > 0 then
    self:line(indent + INDENT, self:paint(more_of(node, #node.items), "dim"))
  end
  if indent > 0 or node.left == 0 then
    self:line(indent, "}" .. comma)
  end
end

-- A table as a list of lines, and the rest in words ("12 more"; nil: the table
-- is whole).
local function table_lines(t, opts)
  local height = opts.all and math.huge or math.max(opts.height, 3)
  local layout = setmetatable({met = {}, lead = 0, lines = {},
    color = opts.color, whole = opts.all, width = opts.width,
    depth = opts.all and 30 or 4,
    text_room = opts.all and 4096 or math.max(opts.width - 4, 12),
    most = opts.all and ALL or height * opts.width // 3 + 1,
    nested = opts.all and ALL or 200,
    budget = opts.all and ALL or 20 * height + opts.width * height // 3,
  }, Layout)
  local node = layout:node(t, opts.name or "_", 1)
  layout:put(node, 0, "")
  local lines = layout.lines
  if not layout.cut and #lines <= height then
    return lines
  end
  local last, shown = math.min(#lines, height - opts.below), 0
  for i = 1, node.done and last or 0 do
    shown = node.done[i] or shown
  end
  return table.move(lines, 1, last, 1, {}), node.done and node.total > shown
    and more_of(node, shown) or printable.ellipsis() .. " more inside"
end

-- The shortest global name of a value, for "show(t, "all")"; "_" is the
-- prompt's own name for its last result.
local function name_of(value)
  local best
  for k, v in next, _G do
    if rawequal(v, value) and type(k) == "string" and k:find "^%a[%w_]*$"
        and (not best or #k < #best or #k == #best and k < best) then
      best = k
    end
  end
  return best or "_"
end

-- The options of a call, with defaults filled in.
local function settings(value, opts)
  opts = opts or {}
  local columns, rows = system.winsize(1)
  columns = math.tointeger(tonumber(os.getenv "COLUMNS")) or columns
  local named = type(value) == "table" or type(value) == "userdata"
    or type(value) == "string"
  local name = opts.name or named and name_of(value) or "_"
  local width = math.max(LEAST, opts.width or columns or 80)
  return setmetatable({
    width = width, height = math.max(5, (opts.height or rows or 24) - 2),
    name = name,
    below = width < #name + 40 and 2 or 1, -- lines that name the cut
  }, {__index = opts})
end

-- Lines cut to the window's height, and the omitted rest in words. A line
-- wider than the window takes several rows; `rest` tells of text behind all
-- lines.
local function fitted(lines, o, rest)
  local rows, shown = 0, 0
  for i, line in ipairs(lines) do
    rows = rows + math.max(1, (printable.width(line) + o.width - 1)
      // o.width)
    shown = rows <= o.height - o.below and i or shown
  end
  if o.all or shown == #lines or rows <= o.height and not rest then
    return lines, rest
  end
  return table.move(lines, 1, shown, 1, {}), rest or ("%s %d more lines")
    :format(printable.ellipsis(), #lines - shown)
end

-- Lines of text that fit the window; the omitted rest in words.
local function text_lines(s, o, clean)
  local room = o.all and MOST or o.height * o.width * 4
  local head = clean(#s > room and s:sub(1, room) or s):gsub("\n$", "")
  local in_all = ("%s %d bytes in all"):format(printable.ellipsis(), #s)
  local lines = base_text.lines(head)
  local shown, rest = fitted(lines, o, #s > room and in_all or nil)
  if #shown == 0 then -- a single line fills the window
    return {printable.cut(lines[1], o.width * (o.height - o.below))}, in_all
  end
  return shown, rest
end

-- A string as Lua source, in quotes, broken between words; a string of several
-- lines, such as a build log, as its lines.
local function string_lines(s, o)
  if s:find("\n", 1, true) then
    return text_lines(s, o, printable.clean)
  end
  local room = o.all and MOST or o.width * (o.height - o.below)
  local quoted, cut = printable.quote(s, room)
  local lines, rest = text_lines(o.all and quoted
    or base_text.fold(quoted, o.width), o, printable.coloured)
  return lines, rest or cut and printable.ellipsis() .. " more" or nil
end

-- The function that describes an object, by its class or its metatable's
-- __name, or nil. A name alone proves no class, as any table may claim it.
local function special(value)
  local mt = debug.getmetatable(value)
  local name = type(mt) == "table" and rawget(mt, "__name")
  if type(name) == "string" and name:find "^%u"
      and rawget(mt, "__metatable") == false
      and (type(value) == "table" or cl.members(value)) then
    return require "clshell.shell.prompt.arrays"[name]
      or require "clshell.shell.prompt.objects"[name]
  end
end

-- The results of a table that has no other values as a list, whose table of
-- results tells more than a line for each.
local function results_of(t)
  local record, keys = package.loaded["clshell.measure.record"], {}
  for key, r in next, record and debug.getmetatable(t) == nil and t or {} do
    if debug.getmetatable(r) ~= record.printing then
      return nil
    end
    keys[#keys + 1] = key
  end
  table.sort(keys, before)
  for i, key in ipairs(keys) do
    local r = t[key]
    keys[i] = math.type(key) and r or setmetatable({label = ("%s = %s"):format(
      key, r.name)}, {__index = r})
  end
  return keys[1] and require "clshell.results.result_list".new(keys)
end

local function lay(value, o)
  local kind = type(value)
  local sentence = base_text.said{n = 1, value}
  if kind == "string" and o.raw then
    return {value}
  elseif sentence then
    return fitted(base_text.wrap(sentence, o.width), o)
  elseif kind == "string" then
    return string_lines(value, o)
  elseif kind == "function" or io.type(value) then
    return require("clshell.shell.prompt.objects")[kind](value, o)
  elseif kind ~= "table" and kind ~= "userdata" then
    return {printable.scalar(value, o.width).text}
  end
  if later then
    later.load(value)
  end
  value = kind == "table" and results_of(value) or value
  local view = special(value)
  if view and not (kind == "userdata" and value.closed) then
    return fitted(view(value, o), o)
  end
  local text, wrong = printable.told(value)
  if text and not text:find("\n", 1, true) and not text:find("  ", 1, true)
  then -- a sentence
    return fitted(base_text.wrap(printable.coloured(text), o.width), o)
  elseif text then
    return text_lines(o.all and text or base_text.fold(text, o.width), o,
      printable.coloured)
  elseif kind == "table" then
    return table_lines(value, o)
  end
  local line = wrong and ("%s (%s)"):format(kind, wrong) or tostring(value)
  return {printable.cut(printable.clean(line), o.width)}
end

-- The line below a shortened value.
local function how(rest, o)
  local line = ('%s: show(%s, "all")'):format(rest, o.name)
  if printable.width(line) > o.width then
    line = ('%s\nshow(%s, "all")'):format(rest, o.name)
  end
  return style.paint(line, "dim", o.color)
end

--- show.text(value [, opts]) -> string
--- A value as text for the prompt, without a line end behind it: numbers with
--- all their digits, strings in quotes (strings of several lines as their
--- lines, with unsafe bytes as escapes), tables laid out on lines, buffers and
--- matrices as a summary and their corners, objects with a description. The
--- text fits the window; its last line tells of omissions. Access is raw: of
--- user code only __tostring runs. Nothing but Ctrl-C raises.
--- Options:
---   width   the width of the window   columns
---   height  the height of the window   rows; two stay for prompt and input
---   color   false                16 colours and weights
---   all     false                everything, up to 100000 entries
---   raw     false                strings as they are
---   brief   false                events on one line
---   name    its global name      how the text calls the value
--- Example:
--- print(require "clshell.shell.prompt.show".text({1, 2, x = "y"}, {width =
--- 60}))
function M.text(value, opts)
  local o = settings(value, opts)
  local fine, lines, rest = interrupt.pcall(lay, value, o)
  if not fine then
    lines, rest = {printable.clean(tostring(lines))}, nil
  end
  lines[#lines + 1] = rest and (o.all and rest or how(rest, o))
  return table.concat(lines, "\n")
end

-- show.values(values [, opts]) -> string
-- The texts of several values, with their number `n`: in one line, or one
-- below the other where a text has lines; the event beside a result takes one
-- line.
-- Options as for show.text.
function M.values(values, opts)
  local parts, gap = {}, "\t"
  local sentence = values.n > 1 and not opts.raw and base_text.said(values)
  values = sentence and {n = 1, (base_text.say(sentence, sentence))} or values
  for i = 1, values.n do
    opts.brief = i > 1
    parts[i] = M.text(values[i], opts)
    gap = parts[i]:find("\n", 1, true) and "\n" or gap
  end
  return table.concat(parts, gap)
end

--- show(value [, "all"])
--- Prints a value as the prompt does, cut to the window; with "all" the whole
--- value, up to 100000 entries of a table or elements of a matrix. On a
--- terminal a long text goes through the pager ($PAGER, or less).
--- Example:
--- show{1, 2, x = "y"}
--- show(cl.array("float", {100, 100}), "all")
return setmetatable(M, {__call = function(_, value, how_much)
  local all = how_much == "all"
  if how_much ~= nil and not all and not options.is_event(how_much) then
    cl.error(('show: the second argument must be "all" or absent; got %s')
      :format(tostring(how_much)))
  end
  local text = M.text(value, {color = style.color(1), all = all})
  if all then
    require "clshell.shell.prompt.session".page(text)
  else
    io.write(text, "\n")
  end
end})
