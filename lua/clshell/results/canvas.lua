-- results/canvas.lua - a grid of characters to draw on: 2 x 4 braille dots in
-- each, or one ASCII dot, with marks over them
-- SPDX-License-Identifier: MIT

local style = require "clshell.base.style"

local M = {}
local Canvas = {}
Canvas.__index = Canvas

-- The bits of a braille character by the dot's column and row.
local BITS = {[0] = {[0] = 0x01, 0x02, 0x04, 0x40},
  {[0] = 0x08, 0x10, 0x20, 0x80}}

-- canvas.new(width, height, ascii) -> canvas
-- A canvas of so many characters; it has dots_x by dots_y dots, counted from
-- 0 at the upper left.
function M.new(width, height, ascii)
  return setmetatable({
    width = width, height = height, ascii = ascii,
    dots_x = ascii and width or 2 * width,
    dots_y = ascii and height or 4 * height,
    dots = {}, marks = {}, colors = {},
  }, Canvas)
end

function Canvas:cell(x, y)
  if x >= 0 and x < self.dots_x and y >= 0 and y < self.dots_y then
    return self.ascii and y * self.width + x or y // 4 * self.width + x // 2
  end
end

-- canvas:line(x0, y0, x1, y1, color)
-- A straight line of dots; dots beyond the edge are lost.
function Canvas:line(x0, y0, x1, y1, color)
  local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0), 1)
  for i = 0, steps do
    local x = math.floor(x0 + (x1 - x0) * i / steps + 0.5)
    local y = math.floor(y0 + (y1 - y0) * i / steps + 0.5)
    local cell = self:cell(x, y)
    if cell then
      self.dots[cell] = (self.dots[cell] or 0) | BITS[x % 2][y % 4]
      self.colors[cell] = color
    end
  end
end

-- canvas:mark(x, y, char, color, aside)
-- Puts a character in place of a dot. With `aside`, a mark that would cover
-- another goes to the next free place on the right.
function Canvas:mark(x, y, char, color, aside)
  local cell = self:cell(x, y)
  if not cell then
    return
  end
  while aside and self.marks[cell] and (cell + 1) % self.width > 0 do
    cell = cell + 1
  end
  self.marks[cell], self.colors[cell] = char, color
end

-- canvas:row(i, color) -> string
-- The characters of a row, counted from 1, coloured if `color` is true.
function Canvas:row(i, color)
  local parts = {}
  for cell = (i - 1) * self.width, i * self.width - 1 do
    local char = self.marks[cell]
    if not char and self.dots[cell] then
      char = self.ascii and "." or utf8.char(0x2800 + self.dots[cell])
    end
    parts[#parts + 1] = char
      and style.paint(char, self.colors[cell], color) or " "
  end
  return table.concat(parts)
end

return M
