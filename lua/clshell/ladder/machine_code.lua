-- ladder/machine_code.lua - the machine code of a kernel as a result that
-- prints: its counts, its loops, its source lines; and two of them side by
-- side
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.errors.excerpt"
local text = require "clshell.base.text"
local text_table = require "clshell.base.text_table"

local M = {}

local Code = {__name = "machine code"}
Code.__index = Code
local Pair = {__name = "machine codes"}
Pair.__index = Pair

-- The class of an instruction with the width of its access.
local function kind_of(i)
  return i.bytes and (i.class:find "loads$" or i.class:find "stores$"
    or i.class:find "copies") and ("%s of %d B"):format(i.class, i.bytes)
    or i.class
end

local function mnemonic_of(i)
  return i.op
end

-- The entry {name, count} of a list that has its entries also by their names.
local function entry(list, name)
  if not list[name] then
    list[name] = {name = name, count = 0}
    list[#list + 1] = list[name]
  end
  return list[name]
end

-- Sorts entries, the highest count first.
local function most_first(list)
  table.sort(list, function(a, b)
    return a.count > b.count or a.count == b.count and a.name < b.name
  end)
  return list
end

-- Instructions by the names that name_of gives them: entries with the list of
-- the instructions, and how many are in loops.
local function groups_of(list, name_of)
  local groups = {}
  for _, i in ipairs(list) do
    local group = entry(groups, name_of(i))
    group.count = group.count + 1
    group.looped = (group.looped or 0) + (i.depth and 1 or 0)
    group.list = group.list or {}
    table.insert(group.list, i)
  end
  return most_first(groups)
end

-- "112 FP32 arithmetic, 14 global loads of 4 B, ...": `most` groups in words.
local function words_of(groups, most)
  local words = {}
  for n, group in ipairs(groups) do
    if most and n > most then
      words[n] = "..."
      break
    end
    words[n] = ("%d %s"):format(group.count, group.count == 1
      and group.name:gsub("(load)s", "%1"):gsub("(store)s", "%1")
      or group.name)
  end
  return table.concat(words, ", ")
end

-- machine_code.new(fields) -> Code
-- The result of asm: fields has the list and the loops of listing.lua, kernel,
-- form, notes, source (the texts of the lines; nil: unknown), unit (whose
-- lines they are), and the figures of the compiler. Adds classes, lines, and
-- the instructions of the loops.
function M.new(fields)
  local code = setmetatable(fields, Code)
  code.instructions, code.lines = #code.list, {}
  code.classes = groups_of(code.list, kind_of)
  local called = 0
  for _, i in ipairs(code.list) do
    if i.line and i.line > 0 then
      local key = i.file and ("%s:%d"):format(i.file:match "[^/]*$", i.line)
        or i.line
      code.lines[key] = code.lines[key] or {}
      table.insert(code.lines[key], i)
    end
    called = called + (i.called and 1 or 0)
  end
  local notes = code.notes
  notes[#notes + 1] = called > 0 and ("%s in functions of the compiler that "
    .. "the kernel calls, such as a division"):format(text.count(called,
    "instruction")) or nil
  notes[#notes + 1] = not next(code.lines) and "the compiler tells no lines "
    .. "of this kernel" or nil
  for _, loop in ipairs(code.loops) do
    local list = {}
    for n, place in ipairs(loop.places) do
      list[n] = code.list[place]
    end
    loop.instructions, loop.classes = #list, groups_of(list, kind_of)
  end
  return code
end

-- What the compiler tells, besides the registers.
local FIGURES = {
  {key = "spilled", words = "%s spilled and loaded again",
    none = "nothing spilled"},
  {key = "stack", words = "%s of stack"},
  {key = "local_bytes", words = "%s of local memory"},
}

-- The head of a code: what it is, how much, what the compiler tells of it.
local function head_of(code)
  local words = {code.registers and text.count(code.registers, "register")}
  for _, figure in ipairs(FIGURES) do
    local n = code[figure.key]
    words[#words + 1] = n == 0 and figure.none
      or n and n > 0 and figure.words:format(text.bytes(n)) or nil
  end
  return ("%s: %s of %s%s"):format(code.kernel, text.count(code.instructions,
    "instruction"), code.form, words[1] and "; " .. table.concat(words, ", ")
    or "")
end

local COLUMNS = {
  {key = "name", title = "class"},
  {key = "count", title = "count", align = "right"},
  {key = "looped", title = "in loops", align = "right"},
  {title = "instructions", wrap = true, key = function(class)
    return words_of(groups_of(class.list, mnemonic_of), 4)
  end},
}

local function place_of(code, loop)
  local first, last = loop.line, loop.last_line
  return first and (last > first and ("%ss %d to %d"):format(code.unit, first,
    last) or ("%s %d"):format(code.unit, first)) .. (loop.file and " of "
    .. loop.file:match "[^/]*$" or "") or "unknown lines"
end

--- Code:table([width]) -> string
--- What asm tells of a machine code, in so many columns (the window's): the
--- compiler's figures, the classes of instructions, the loops.
--- Example:
--- local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
--- local ok, code = pcall(asm, k) -- an error where a tool is missing
--- print(ok and code:table(60) or code)
function Code:table(width)
  width = width or text_table.width()
  local lines = {text.hang("", head_of(self), width)}
  if self.list[1] then
    lines[2] = text_table.format(self.classes, COLUMNS, {width = width})
  end
  for _, loop in ipairs(self.loops) do
    lines[#lines + 1] = text.hang(("  "):rep(loop.depth - 1) .. "loop, ",
      ("%s: %s, %s"):format(place_of(self, loop),
      text.count(loop.instructions, "instruction"),
      words_of(loop.classes, 5)), width)
  end
  for _, note in ipairs(self.notes) do
    lines[#lines + 1] = text.hang("note: ", note, width)
  end
  return table.concat(lines, "\n")
end

Code.__tostring = Code.table

-- The text of the line that an instruction is of, without its indent; "" where
-- it is not known.
local function source_line(code, i)
  local line = not i.file and code.source and code.source[i.line]
  if i.file then
    code.files = code.files or {}
    code.files[i.file] = code.files[i.file]
      or text.lines(excerpt.read(i.file) or "")
    line = code.files[i.file][i.line]
  end
  return line and line:match "^%s*(.-)%s*$" or ""
end

-- The keys of the lines that have instructions: those of the kernel's own text
-- first.
local function keys_of(code)
  local keys = {}
  for key in pairs(code.lines) do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    local one, other = code.lines[a][1], code.lines[b][1]
    if one.file ~= other.file then
      return (one.file or "") < (other.file or "")
    end
    return one.line < other.line
  end)
  return keys
end

-- An instruction with a mark for each loop that it is in.
local function row_of(i)
  return ("  %6s %-3s %s"):format(i.address, ("|"):rep(i.depth or 0), i.text)
end

--- Code:line(n) -> string
--- The instructions of line n of the source, or of a line of a file that it
--- includes, such as "nv_hopper.cl:430", with the text of the line; each loop
--- that an instruction is in is a mark before it. Raises where the line has
--- none.
--- Example:
--- local k = cl.kernel [[kernel void one(global int *x) {
---   *x = 1;
--- }]]
--- local ok, words = pcall(function() return asm(k):line(2) end)
--- print(words)
function Code:line(n)
  local list = self.lines[n]
  if not list then
    local cl, known = require "cl", keys_of(self)
    cl.error(("asm: %s %s of %s has no instructions%s"):format(self.unit,
      tostring(n), self.kernel, known[1]
      and "; those that have: " .. text.values(known) or ""), {arg = "n"})
  end
  return ("%s %s: %s\n  %s: %s\n%s"):format(self.unit, n,
    source_line(self, list[1]), text.count(#list, "instruction"),
    words_of(groups_of(list, mnemonic_of)), text.values(list, "\n", row_of))
end

--- Code:listing() -> string
--- All instructions in the order of the machine's code, a line of the source
--- before the instructions made of it; each loop that an instruction is in is
--- a mark before it.
--- Example:
--- local k = cl.kernel "kernel void one(global int *x) { *x = 1; }"
--- print(pcall(function() return asm(k):listing() end))
function Code:listing()
  local lines, file, line = {}, nil, nil
  for _, i in ipairs(self.list) do
    if i.line and (i.line ~= line or i.file ~= file) then
      line, file = i.line, i.file
      lines[#lines + 1] = ("%s %s%d: %s"):format(self.unit, file
        and file:match "[^/]*$" .. ":" or "", line, source_line(self, i))
    end
    lines[#lines + 1] = row_of(i)
  end
  return table.concat(lines, "\n")
end

-- machine_code.narrow(code) -> table, or nil
-- The line with the most loads of 4 bytes or fewer in loops, or in a code
-- without loops, and no wider load: {line, file (nil: the kernel's own text),
-- bytes, count, looped, op (an example), text (of the line)}. Of the code
-- for a GPU loads of global memory count, of a CPU's those of floats, as
-- addresses and counters have loads as well. nil where no line has them, and
-- where the lines are not those of the source.
function M.narrow(code)
  local best
  for _, key in ipairs(code.unit == "line" and keys_of(code) or {}) do
    local first = code.lines[key][1]
    local one = {line = first.line, file = first.file, bytes = 0, count = 0,
      text = source_line(code, first), looped = #code.loops > 0}
    for _, i in ipairs(code.lines[key]) do
      local loads = i.class == "global loads" or i.access == "memory loads"
        and (i.bytes and i.bytes > 8 or i.op:find "s[sd]$"
          or i.op:find "^v?gather") and i.whole
      if loads and i.bytes and (i.depth or not one.looped) then
        one.count, one.op = one.count + 1, one.op or i.op
        one.bytes = math.max(one.bytes, i.bytes)
      end
    end
    if one.count > 0 and one.bytes <= 4
        and (not best or one.count > best.count) then
      best = one
    end
  end
  return best
end

-- The keys of a code's lines, and the texts to compare them by.
local function texts_of(code)
  local keys, texts = keys_of(code), {}
  for n, key in ipairs(keys) do
    local s = source_line(code, code.lines[key][1])
    texts[n] = s ~= "" and s or key
  end
  return keys, texts
end

local MOST = 1e6 -- pairs of lines to compare

-- The lines of two codes side by side, {a = key, b = key}, in the order of the
-- longest common part of their texts; by the keys where there are many.
local function aligned(a, b)
  local one, left = texts_of(a)
  local other, right = texts_of(b)
  local rows = {}
  if #one * #other > MOST then
    for _, key in ipairs(one) do
      rows[#rows + 1] = {a = key, b = b.lines[key] and key}
    end
    for _, key in ipairs(other) do
      rows[#rows + 1] = not a.lines[key] and {b = key} or nil
    end
    return rows
  end
  local length = {} -- of the common part from the lines i and j on
  for i = #one + 1, 1, -1 do
    length[i] = {}
    for j = #other + 1, 1, -1 do
      length[i][j] = not (left[i] and right[j]) and 0
        or left[i] == right[j] and length[i + 1][j + 1] + 1
        or math.max(length[i + 1][j], length[i][j + 1])
    end
  end
  local i, j = 1, 1
  while one[i] or other[j] do
    local row = {a = one[i], b = other[j]}
    if left[i] ~= right[j] then
      local first = not row.b or row.a and length[i + 1][j] >= length[i][j + 1]
      row[first and "b" or "a"] = nil
    end
    i, j = i + (row.a and 1 or 0), j + (row.b and 1 or 0)
    rows[#rows + 1] = row
  end
  return rows
end

-- The counts of two lists of groups side by side, as entries with a and b.
local function beside(one, other)
  local rows = {}
  for side, groups in pairs{a = one, b = other} do
    for _, group in ipairs(groups) do
      local row = entry(rows, group.name)
      row.a, row.b = row.a or 0, row.b or 0
      row[side], row.count = group.count, math.max(row.count, group.count)
    end
  end
  return most_first(rows)
end

-- "FFMA 16 -> 32, LDS 4 -> 0": the mnemonics whose counts differ, or nil.
local function changes(one, other)
  local words = {}
  for _, row in ipairs(beside(groups_of(one, mnemonic_of),
      groups_of(other, mnemonic_of))) do
    words[#words + 1] = row.a ~= row.b and ("%s %d -> %d"):format(row.name,
      row.a, row.b) or nil
  end
  return words[1] and table.concat(words, ", ")
end

-- machine_code.compare(a, b) -> table
-- The difference of two machine codes, which prints: counts, a list of {name,
-- a, b} of the figures and classes, and lines, a list of {line_a, line_b,
-- words, text}, the mnemonics of each line of the source whose instructions
-- differ.
function M.compare(a, b)
  local p = setmetatable({a = a, b = b, counts = {}, lines = {}}, Pair)
  local function put(name, one, other)
    p.counts[#p.counts + 1] = one and other and {name = name, a = one,
      b = other} or nil
  end
  put("instructions", a.instructions, b.instructions)
  put("registers", a.registers, b.registers)
  for _, figure in ipairs(FIGURES) do
    put(figure.key:gsub("_", " "), a[figure.key], b[figure.key])
  end
  put("loops", #a.loops, #b.loops)
  local classes = beside(a.classes, b.classes)
  table.move(classes, 1, #classes, #p.counts + 1, p.counts)
  for _, row in ipairs(aligned(a, b)) do
    local one, other = a.lines[row.a], b.lines[row.b]
    local words = words_of(groups_of(one or other, mnemonic_of))
    if one and other then
      words = changes(one, other)
    end
    if words then
      table.insert(p.lines, {line_a = row.a, line_b = row.b, words = words,
        text = one and source_line(a, one[1]) or source_line(b, other[1])})
    end
  end
  return p
end

local COUNTS = {
  {key = "name", title = "of the machine's code"},
  {key = "a", title = "a", align = "right"},
  {key = "b", title = "b", align = "right"},
  {title = "b - a", align = "right", key = function(row)
    return row.a == row.b and "" or ("%+d"):format(row.b - row.a)
  end},
}

function Pair:__tostring()
  local width = text_table.width()
  local lines = {text.hang("a: ", head_of(self.a), width),
    text.hang("b: ", head_of(self.b), width),
    text_table.format(self.counts, COUNTS, {width = width})}
  for _, row in ipairs(self.lines) do
    local a, b = row.line_a, row.line_b
    local at = a == b and a or not b and a .. " of a" or not a and b .. " of b"
      or ("%s, of b %s"):format(a, b)
    lines[#lines + 1] = text.cut(("%s %s: %s"):format(self.a.unit, at,
      row.text), width, "...")
    lines[#lines + 1] = text.hang("  ", row.words, width)
  end
  if not self.lines[1] then
    lines[#lines + 1] = "no line has other instructions"
  end
  local said = {}
  for _, code in ipairs{self.a, self.b} do
    for _, note in ipairs(code.notes) do
      lines[#lines + 1] = not said[note] and text.hang("note: ", note, width)
        or nil
      said[note] = true
    end
  end
  return table.concat(lines, "\n")
end

return M
