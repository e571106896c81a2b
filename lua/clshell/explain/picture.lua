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
  return c.passes == c.ideal and ("%d passes, no conflict"):format(c.passes)
    :gsub("^1 passes", "1 pass")
    or ("%d passes; without conflicts %d"):format(c.passes, c.ideal)
end

-- The lines of global memory that a request touches: a list of {first (byte),
-- lanes, sectors: list of {touched, used: list of booleans}}.
local function lines_of(m, row)
  local r = row.worst
  local grains = by_piece(r, row.size, GRAIN)
  local sectors = by_piece(r, row.size, m.sector)
  local lanes, list = by_piece(r, row.size, m.line)
  local rows = {}
  for i, line in ipairs(list) do
    local parts = {}
    for s = 0, m.line // m.sector - 1 do
      local sector = line * m.line // m.sector + s
      local used = {}
      for g = 0, math.max(1, m.sector // GRAIN) - 1 do
        used[g + 1] = grains[sector * m.sector // GRAIN + g] ~= nil
      end
      parts[s + 1] = {touched = sectors[sector] ~= nil, used = used}
    end
    rows[i] = {first = r.first + line * m.line, lanes = lanes[line],
      sectors = parts}
  end
  return rows
end

local function ruler(m, row, color)
  local rows, out = lines_of(m, row), {}
  local digits = #tostring(rows[#rows].first)
  for i = 1, math.min(#rows, ROWS) do
    local parts = {}
    for s, sector in ipairs(rows[i].sectors) do
      local cells = {}
      for g, used in ipairs(sector.used) do
        cells[g] = used and "#" or sector.touched and "." or " "
      end
      parts[s] = style.paint(table.concat(cells), "green", color
        and sector.touched)
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

-- The words of local memory that a request touches, by rows of all banks: a
-- list of {row, lanes: bank -> list of lanes}, and the words of each bank.
local function banks_of(m, row)
  local lanes, list = by_piece(row.worst, row.size, m.bank_bytes)
  local rows, hits = {}, {}
  for _, word in ipairs(list) do
    local n, bank = word // m.banks, word % m.banks
    if not rows[1] or rows[#rows].row ~= n then
      rows[#rows + 1] = {row = n, lanes = {}}
    end
    rows[#rows].lanes[bank] = lanes[word]
    hits[bank] = (hits[bank] or 0) + 1
  end
  return rows, hits
end

-- A lane as one character: 0-9, A-Z for 10 to 35, a-z, then "+".
local function character(lane)
  return lane < 10 and tostring(lane) or lane < 36 and string.char(55 + lane)
    or lane < 62 and string.char(61 + lane) or "+"
end

local HUES = {"green", "yellow", "red"}

-- The colour of a bank with so many words.
local function hue(n)
  return n <= 1 and 1 or n == 2 and 2 or 3
end

local function grid(m, row, color)
  local rows, hits = banks_of(m, row)
  local wide = m.banks <= 32
  local function cells(f)
    local list = {}
    for bank = 0, m.banks - 1 do
      local s, n = f(bank)
      list[#list + 1] = style.paint(text.fill(s, wide and 2 or 1, wide),
        n and HUES[hue(n)], color and n ~= nil)
    end
    return table.concat(list)
  end
  local out = {"   bank " .. cells(function(bank)
    return wide and (bank % 2 == 0 and tostring(bank) or "")
      or (bank % 8 == 0 and "+" or "")
  end)}
  for i = 1, math.min(#rows, ROWS) do
    out[#out + 1] = ("%7d "):format(rows[i].row * m.banks * m.bank_bytes)
      .. cells(function(bank)
        local lanes = rows[i].lanes[bank]
        return lanes and character(lanes[1]) or ".",
          lanes and hits[bank]
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

-- Adds a rectangle with a text under the pointer.
local function box(out, class, x, y, w, h, words)
  out[#out + 1] = ('<rect class="%s" x="%d" y="%d" width="%d" height="%d" '
    .. 'rx="1"><title>%s</title></rect>'):format(class, x, y, w, h,
    svg.escape(words))
end

local function label(out, class, x, y, words, anchor)
  out[#out + 1] = ('<text class="%s" x="%d" y="%d"%s>%s</text>'):format(class,
    x, y, anchor and (' text-anchor="%s"'):format(anchor) or "",
    svg.escape(words))
end

-- The classes of one, two and more words in a bank.
local CLASSES = {"s3", "s5", "s6"}

local function svg_grid(out, m, row, x, y)
  local rows, hits = banks_of(m, row)
  for bank = 0, m.banks - 1, 4 do
    label(out, "soft", x + LEFT + bank * CELL, y - 4, tostring(bank))
  end
  for i = 1, math.min(#rows, 2 * ROWS) do
    label(out, "soft", x + LEFT - 6, y + i * CELL - 1,
      tostring(rows[i].row * m.banks * m.bank_bytes), "end")
    for bank = 0, m.banks - 1 do
      local lanes = rows[i].lanes[bank]
      box(out, lanes and CLASSES[hue(hits[bank])] or "other",
        x + LEFT + bank * CELL, y + (i - 1) * CELL, CELL - 1, CELL - 1,
        lanes and ("bank %d: lanes %s; %s in this bank"):format(bank,
          ranges(lanes), text.count(hits[bank], "word"))
        or ("bank %d"):format(bank))
    end
  end
  return y + math.min(#rows, 2 * ROWS) * CELL
end

local function svg_ruler(out, m, row, x, y)
  local rows = lines_of(m, row)
  for i = 1, math.min(#rows, 2 * ROWS) do
    local at, grains = x + LEFT, 0
    label(out, "soft", at - 6, y + i * CELL - 1, tostring(rows[i].first),
      "end")
    for _, sector in ipairs(rows[i].sectors) do
      for _, used in ipairs(sector.used) do
        box(out, used and "s3" or sector.touched and "s5" or "other",
          at + grains * CELL, y + (i - 1) * CELL, CELL - 1, CELL - 1,
          ("byte %d: %s"):format(rows[i].first + grains * GRAIN,
          used and "asked for" or sector.touched and "moved besides"
          or "left alone"))
        grains = grains + 1
      end
      at = at + 3
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
      local cells = row.space == "local" and m.banks or m.line // GRAIN
      width = math.max(width, LEFT + cells * CELL + 12, 7 * #title(row))
      label(out, "bold", x, y + 24, title(row))
      label(out, "soft", x, y + 40, cost_words(row))
      y = (row.space == "local" and svg_grid or svg_ruler)(out, m, row, x,
        y + 60) + 12
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
