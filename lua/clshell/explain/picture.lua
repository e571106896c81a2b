-- explain/picture.lua - drawings of a warp's request: a ruler of the sectors
-- of global memory, the words of local memory by banks; as text and as SVG
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"
local svg = require "clshell.results.svg"
local text = require "clshell.base.text"

local M = {}

local ROWS = 16   -- rows of a drawing; more are counted
local GRAIN = 4   -- bytes of a character on the ruler

-- The lanes that access each piece of `unit` bytes: piece -> list of lanes,
-- and the pieces in order.
local function by_piece(r, size, unit)
  local lanes, list = {}, {}
  for i, at in ipairs(r.at) do
    for piece = at // unit, (at + size - 1) // unit do
      if not lanes[piece] then
        lanes[piece] = {}
        list[#list + 1] = piece
      end
      table.insert(lanes[piece], r.lanes[i])
    end
  end
  table.sort(list)
  return lanes, list
end

-- The numbers of a sorted list as ranges: "0-15, 32".
local function ranges(list)
  table.sort(list)
  local parts, first = {}, 1
  for i = 1, #list do
    if list[i + 1] ~= list[i] + 1 and list[i + 1] ~= list[i] then
      parts[#parts + 1] = list[first] == list[i] and ("%d"):format(list[i])
        or ("%d-%d"):format(list[first], list[i])
      first = i + 1
    end
  end
  return #parts > 6 and text.count(#parts, "range") or table.concat(parts, ",")
end

local function title(row)
  local r = row.worst
  return ("line %d, %s %s: %s of %s"):format(row.line, row.kind, row.code,
    text.count(#r.at, "lane"), text.count(row.size, "byte"))
end

-- The cost of the drawn request in words.
local function cost_words(row)
  local c = row.worst.cost
  if row.space == "global" then
    return c.sectors == c.ideal and text.count(c.sectors, "sector")
      or ("%s; side by side %d"):format(text.count(c.sectors, "sector"),
        c.ideal)
  end
  return c.passes == c.ideal and ("%d pass%s, no conflict"):format(c.passes,
    c.passes == 1 and "" or "es")
    or ("%d passes; without conflicts %d"):format(c.passes, c.ideal)
end

-- The rows of a drawing: each has `first`, its first byte, and cells {mark,
-- class and title (in the SVG), gap (whether space follows)}.

-- The lines of global memory that a request touches, with their lanes.
local function lines_of(m, row)
  local r, unit = row.worst, math.min(GRAIN, m.sector)
  local grains = by_piece(r, row.size, GRAIN)
  local sectors = by_piece(r, row.size, m.sector)
  local lanes, list = by_piece(r, row.size, m.line)
  for i, line in ipairs(list) do
    local cells = {first = r.first + line * m.line, lanes = lanes[line]}
    for at = 0, m.line - 1, unit do
      local byte = line * m.line + at
      local used = grains[byte // GRAIN]
      local moved = sectors[byte // m.sector]
      cells[#cells + 1] = {mark = used and "#" or moved and "." or " ",
        class = used and "s3" or moved and "s5" or "other",
        gap = (at + unit) % m.sector == 0,
        title = ("byte %d: %s"):format(r.first + byte, used and "asked for"
          or moved and "moved besides" or "left alone")}
    end
    list[i] = cells
  end
  return list
end

local function ruler(m, row, color)
  local rows, out = lines_of(m, row), {}
  local digits = #tostring(rows[#rows].first)
  for i = 1, math.min(#rows, ROWS) do
    local parts, marks = {}, ""
    for _, cell in ipairs(rows[i]) do
      marks = marks .. cell.mark
      if cell.gap then
        parts[#parts + 1] = style.paint(marks, "green",
          color and marks:find "%S" ~= nil)
        marks = ""
      end
    end
    out[i] = ("  byte %" .. digits .. "d |%s| lane%s %s"):format(
      rows[i].first, table.concat(parts, "|"), #rows[i].lanes > 1 and "s"
      or "", ranges(rows[i].lanes))
  end
  if #rows > ROWS then
    out[#out + 1] = ("  ... and %d more lines of %d bytes"):format(
      #rows - ROWS, m.line)
  end
  out[#out + 1] = "  # asked for, . moved besides"
  return table.concat(out, "\n")
end

-- A lane as one character: 0-9, A-Z for 10 to 35, a-z, then "+".
local function character(lane)
  return lane < 10 and tostring(lane) or lane < 36 and string.char(55 + lane)
    or lane < 62 and string.char(61 + lane) or "+"
end

-- The colours and the classes of one, two and more words in a bank.
local HUES = {"green", "yellow", "red"}
local CLASSES = {"s3", "s5", "s6"}

-- The words of local memory that a request touches, by rows of all banks; and
-- the number of words in each bank.
local function banks_of(m, row)
  local lanes, list = by_piece(row.worst, row.size, m.bank_bytes)
  local rows, hits = {}, {}
  for _, word in ipairs(list) do
    local first = word // m.banks * m.banks
    hits[word - first] = (hits[word - first] or 0) + 1
    if not rows[1] or rows[#rows].word ~= first then
      rows[#rows + 1] = {word = first, first = first * m.bank_bytes}
    end
  end
  for _, cells in ipairs(rows) do
    for bank = 0, m.banks - 1 do
      local mine, name = lanes[cells.word + bank], ("bank %d"):format(bank)
      cells[bank + 1] = {mark = mine and character(mine[1]) or ".",
        hits = mine and hits[bank],
        class = mine and CLASSES[math.min(hits[bank], 3)] or "other",
        title = mine and ("%s: lanes %s; %s in this bank"):format(name,
          ranges(mine), text.count(hits[bank], "word")) or name}
    end
  end
  return rows, hits
end

local function grid(m, row, color)
  local rows, hits = banks_of(m, row)
  local wide = m.banks <= 32
  -- a line of cells: f(bank) gives the text, and the words in the bank
  local function cells(f)
    local list = {}
    for bank = 0, m.banks - 1 do
      local s, n = f(bank)
      list[#list + 1] = style.paint(text.fill(s, wide and 2 or 1, wide),
        n and HUES[math.min(n, 3)], color and n ~= nil)
    end
    return table.concat(list)
  end
  local out = {"   bank " .. cells(function(bank)
    return wide and (bank % 2 == 0 and tostring(bank) or "")
      or (bank % 8 == 0 and "+" or "")
  end)}
  for i = 1, math.min(#rows, ROWS) do
    out[#out + 1] = ("%7d "):format(rows[i].first) .. cells(function(bank)
      local cell = rows[i][bank + 1]
      return cell.mark, cell.hits
    end)
  end
  if #rows > ROWS then
    out[#out + 1] = ("  ... and %d more rows"):format(#rows - ROWS)
  end
  out[#out + 1] = "  words " .. cells(function(bank)
    local n = hits[bank]
    return n and (wide and tostring(n) or n > 9 and "+" or tostring(n)) or "",
      n
  end)
  out[#out + 1] = "  each mark is a lane (A: 10, B: 11 ...) that asks for a "
    .. "word"
  return table.concat(out, "\n")
end

-- picture.text(m, row, color) -> string
-- The most costly request of a row of access, on machine m.
function M.text(m, row, color)
  local out = {title(row), "  " .. cost_words(row)}
  if row.space == "local" then
    out[#out + 1] = grid(m, row, color)
  elseif row.space == "global" then
    out[#out + 1] = ruler(m, row, color)
  else
    out[#out + 1] = ("  %s ask for %d addresses, one after another"):format(
      text.count(#row.worst.at, "lane"), row.worst.cost.passes)
  end
  return table.concat(out, "\n")
end

local CELL, GAP, LEFT = 11, 24, 56 -- pixels

local function label(out, class, x, y, words, anchor)
  out[#out + 1] = ('<text class="%s" x="%d" y="%d"%s>%s</text>'):format(class,
    x, y, anchor and (' text-anchor="%s"'):format(anchor) or "",
    svg.escape(words))
end

-- Adds the rows of a drawing, each cell with a text under the pointer; returns
-- the y below them.
local function svg_rows(out, rows, x, y)
  for i = 1, math.min(#rows, 2 * ROWS) do
    local at = x + LEFT
    label(out, "soft", at - 6, y + i * CELL - 1, tostring(rows[i].first),
      "end")
    for _, cell in ipairs(rows[i]) do
      out[#out + 1] = ('<rect class="%s" x="%d" y="%d" width="%d" '
        .. 'height="%d" rx="1"><title>%s</title></rect>'):format(cell.class,
        at, y + (i - 1) * CELL, CELL - 1, CELL - 1, svg.escape(cell.title))
      at = at + CELL + (cell.gap and 3 or 0)
    end
  end
  return y + math.min(#rows, 2 * ROWS) * CELL
end

-- picture.svg(panels) -> string
-- Panels {title, machine, rows} side by side, each with its rows one below
-- another.
function M.svg(panels)
  local out, x, height = {}, 8, 0
  for _, panel in ipairs(panels) do
    local m, y, width = panel.machine, 22, 0
    label(out, "title", x, y, panel.title)
    for _, row in ipairs(panel.rows) do
      local banks = row.space == "local" and m.banks
      width = math.max(width, LEFT + (banks or m.line // GRAIN) * CELL + 12,
        7 * #title(row))
      label(out, "bold", x, y + 24, title(row))
      label(out, "soft", x, y + 40, cost_words(row))
      for bank = 0, banks and banks - 1 or -1, 4 do
        label(out, "soft", x + LEFT + bank * CELL, y + 56, tostring(bank))
      end
      y = svg_rows(out, (banks and banks_of or lines_of)(m, row), x, y + 60)
        + 12
    end
    x, height = x + math.max(width, 160) + GAP, math.max(height, y)
  end
  local head = ('<svg class="plot" xmlns="http://www.w3.org/2000/svg" '
    .. 'viewBox="0 0 %d %d" role="img" aria-label="requests of a warp" '
    .. 'width="%d" height="%d">\n<style>\n%s</style>\n<rect class="face" '
    .. 'width="100%%" height="100%%"/>\n'):format(x, height + 8, x,
    height + 8, svg.css())
  return head .. table.concat(out, "\n") .. "\n</svg>\n"
end

return M
