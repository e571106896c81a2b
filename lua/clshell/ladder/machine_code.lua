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

local function counts_of(list)
  local counts = {}
  for _, i in ipairs(list) do
    counts[i.op] = (counts[i.op] or 0) + 1
  end
  return counts
end

-- "16 FFMA, 4 LDS.128": how often each of the mnemonics stands in a list.
local function mnemonics(list, most)
  local counts, words = counts_of(list), {}
  local names = text.keys(counts)
  table.sort(names, function(a, b)
    if counts[a] ~= counts[b] then
      return counts[a] > counts[b]
    end
    return a < b
  end)
  for n, name in ipairs(names) do
    if most and n > most then
      words[n] = "..."
      break
    end
    words[n] = ("%d %s"):format(counts[name], name)
  end
  return table.concat(words, ", ")
end

-- The classes of a list of instructions, the most frequent first.
local function classes_of(list)
  local classes, by = {}, {}
  for _, i in ipairs(list) do
    local name = kind_of(i)
    local class = by[name]
    if not class then
      class = {name = name, count = 0, looped = 0, list = {}}
      by[name], classes[#classes + 1] = class, class
    end
    class.count = class.count + 1
    class.looped = class.looped + (i.depth and 1 or 0)
    table.insert(class.list, i)
  end
  table.sort(classes, function(a, b)
    if a.count ~= b.count then
      return a.count > b.count
    end
    return a.name < b.name
  end)
  return classes
end

-- machine_code.new(fields) -> Code
-- The result of asm: fields has the list and the loops of listing.lua, kernel,
-- form, notes, source (the texts of the lines; nil: unknown), unit (whose
-- lines they are), and the figures of the compiler. Adds classes, lines, and
-- the instructions of the loops.
function M.new(fields)
  local code = setmetatable(fields, Code)
  code.instructions, code.lines = #code.list, {}
  code.classes = classes_of(code.list)
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
    loop.instructions, loop.classes = #list, classes_of(list)
  end
  return code
end

-- "112 FP32 arithmetic, 14 global loads of 4 B"
local function words_of(classes, most)
  local words = {}
  for n, class in ipairs(classes) do
    if n > most then
      words[n] = "..."
      break
    end
    words[n] = ("%d %s"):format(class.count, class.count == 1
      and class.name:gsub("(load)s", "%1"):gsub("(store)s", "%1")
      or class.name)
  end
  return table.concat(words, ", ")
end

-- What the compiler tells: "32 registers, nothing spilled, ..."
local function figures_of(code)
  local words = {}
  local function put(value, format)
    words[#words + 1] = value and format:format(text.bytes(value)) or nil
  end
  words[1] = code.registers and text.count(code.registers, "register") or nil
  if code.spilled == 0 then
    words[#words + 1] = "nothing spilled"
  else
    put(code.spilled, "%s spilled and loaded again")
  end
  put(code.stack ~= 0 and code.stack, "%s of stack")
  put(code.local_bytes ~= 0 and code.local_bytes, "%s of local memory")
  return table.concat(words, ", ")
end

-- The head of a code: what it is, how much, what the compiler tells of it.
local function head_of(code)
  local figures = figures_of(code)
  return ("%s: %s of %s%s"):format(code.kernel, text.count(code.instructions,
    "instruction"), code.form, figures ~= "" and "; " .. figures or "")
end

local COLUMNS = {
  {key = "name", title = "class"},
  {key = "count", title = "count", align = "right"},
  {key = "looped", title = "in loops", align = "right"},
  {title = "instructions", wrap = true, key = function(class)
    return mnemonics(class.list, 4)
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

function Code:__tostring()
  return self:table()
end

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
  local lines = {("%s %s: %s"):format(self.unit, n,
    source_line(self, list[1])),
    ("  %s: %s"):format(text.count(#list, "instruction"), mnemonics(list))}
  for _, i in ipairs(list) do
    lines[#lines + 1] = ("  %6s %-3s %s"):format(i.address,
      ("|"):rep(i.depth or 0), i.text)
  end
  return table.concat(lines, "\n")
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
    lines[#lines + 1] = ("  %6s %-3s %s"):format(i.address,
      ("|"):rep(i.depth or 0), i.text)
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
  local function alike(i, j)
    return left[i] == right[j]
  end
  local best = {}
  for i = #one + 1, 1, -1 do
    best[i] = {}
    for j = #other + 1, 1, -1 do
      best[i][j] = (i > #one or j > #other) and 0
        or alike(i, j) and best[i + 1][j + 1] + 1
        or math.max(best[i + 1][j], best[i][j + 1])
    end
  end
  local i, j = 1, 1
  while i <= #one or j <= #other do
    if i <= #one and j <= #other and alike(i, j) then
      rows[#rows + 1] = {a = one[i], b = other[j]}
      i, j = i + 1, j + 1
    elseif j > #other or i <= #one and best[i + 1][j] >= best[i][j + 1] then
      rows[#rows + 1] = {a = one[i]}
      i = i + 1
    else
      rows[#rows + 1] = {b = other[j]}
      j = j + 1
    end
  end
  return rows
end

-- "FFMA 16 -> 32, LDS 4 -> 0": the mnemonics whose counts differ, or nil.
local function changes(one, other)
  local a, b, all, words = counts_of(one), counts_of(other), {}, {}
  for _, counts in ipairs{a, b} do
    for name in pairs(counts) do
      all[name] = true
    end
  end
  for _, name in ipairs(text.keys(all)) do
    if a[name] ~= b[name] then
      words[#words + 1] = ("%s %d -> %d"):format(name, a[name] or 0,
        b[name] or 0)
    end
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
    if one and other then
      table.insert(p.counts, {name = name, a = one, b = other})
    end
  end
  put("instructions", a.instructions, b.instructions)
  for _, name in ipairs{"registers", "spilled", "stack", "local_bytes"} do
    put(name:gsub("_", " "), a[name], b[name])
  end
  put("loops", #a.loops, #b.loops)
  local counts, names = {{}, {}}, {}
  for n, code in ipairs{a, b} do
    for _, class in ipairs(code.classes) do
      counts[n][class.name] = class.count
      names[class.name] = math.max(names[class.name] or 0, class.count)
    end
  end
  local sorted = text.keys(names)
  table.sort(sorted, function(one, other)
    if names[one] ~= names[other] then
      return names[one] > names[other]
    end
    return one < other
  end)
  for _, name in ipairs(sorted) do
    put(name, counts[1][name] or 0, counts[2][name] or 0)
  end
  for _, row in ipairs(aligned(a, b)) do
    local one, other = row.a and a.lines[row.a], row.b and b.lines[row.b]
    local words
    if one and other then
      words = changes(one, other)
    else
      words = mnemonics(one or other)
    end
    if words then
      table.insert(p.lines, {line_a = row.a, line_b = row.b, words = words,
        text = row.a and source_line(a, one[1]) or source_line(b, other[1])})
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
    local at = row.line_a and row.line_b and row.line_a ~= row.line_b
      and ("%s, of b %s"):format(row.line_a, row.line_b)
      or row.line_a and row.line_b and tostring(row.line_a)
      or row.line_a and ("%s of a"):format(row.line_a)
      or ("%s of b"):format(row.line_b)
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
