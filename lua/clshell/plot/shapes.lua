-- plot/shapes.lua - the elements that charts in SVG are made of
-- SPDX-License-Identifier: MIT

local json = require "clshell.base.json"

local M = {}

local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;",
  ['"'] = "&quot;", ["'"] = "&#39;"}

local function replacement()
  return "\u{FFFD}"
end

-- shapes.valid(text) -> string
-- A text whose bytes that are not UTF-8 become the replacement character.
function M.valid(s)
  return json.utf8(s, replacement)
end

--- shapes.escape(text) -> string
--- Text for HTML and SVG, in elements and in quoted attributes; bytes that
--- are no UTF-8 and control characters, which XML forbids, are replaced.
function M.escape(s)
  return (M.valid(tostring(s)):gsub("[&<>\"']", ENTITIES)
    :gsub("[%z\1-\8\11\12\14-\31]", "\u{FFFD}"))
end

--- shapes.text(x, y, words [, class [, anchor [, title]]]) -> string
function M.text(x, y, words, class, anchor, title)
  return ('<text%s x="%.1f" y="%.1f"%s>%s%s</text>'):format(
    class and (' class="%s"'):format(class) or "", x, y,
    anchor and (' text-anchor="%s"'):format(anchor) or "",
    M.escape(words),
    title and title ~= words and "<title>" .. M.escape(title) .. "</title>"
    or "")
end

--- shapes.segment(class, x1, y1, x2, y2) -> string
function M.segment(class, x1, y1, x2, y2)
  return ('<path class="%s" d="M%.1f %.1fL%.1f %.1f"/>'):format(class, x1,
    y1, x2, y2)
end

--- shapes.polyline(class, points, box) -> string
function M.polyline(class, points, box)
  local path = {}
  for i, p in ipairs(points) do
    path[i] = ("%.1f,%.1f"):format(box.x(p.x), box.y(p.y))
  end
  return ('<polyline class="%s" points="%s"/>'):format(class,
    table.concat(path, " "))
end

-- Outlines around 0, 0: the shape tells series apart without their colour.
local OUTLINES = {
  '<circle class="%s" r="4.5"', '<rect class="%s" x="-4" y="-4" width="8" '
    .. 'height="8"', '<path class="%s" d="M0-5.5L5 4H-5Z"',
  '<path class="%s" d="M0-6L5.5 0L0 6L-5.5 0Z"',
  '<path class="%s" d="M-5-4H5L0 5.5Z"',
  '<path class="%s" d="M-2-6H2V-2H6V2H2V6H-2V2H-6V-2H-2Z"',
}

--- shapes.mark(i, class, x, y [, title]) -> string
--- The mark of the i-th series, with a text to show under the pointer.
function M.mark(i, class, x, y, title)
  local outline = OUTLINES[(i - 1) % #OUTLINES + 1]
  return ('<g transform="translate(%.1f %.1f)">%s>%s</g>'):format(x, y,
    outline:format("s" .. class), title
    and ("<title>%s</title></%s>"):format(M.escape(title),
      outline:match("^<(%a+)"))
    or "</" .. outline:match("^<(%a+)") .. ">")
end

--- shapes.placer() -> function(x, y, text) -> x, anchor
--- Finds a place for the label of each mark: on its right, on its left, or
--- further out, where no earlier label or mark is.
function M.placer()
  local taken = {}
  local function free(x, y, width)
    for _, box in ipairs(taken) do
      if math.abs(box.y - y) < 12 and x < box.x + box.width
          and box.x < x + width then
        return false
      end
    end
    return true
  end
  return function(x, y, text)
    local width = 8 * #text
    for i = 0, 5 do
      for _, side in ipairs{1, -1} do
        local near = 9 + i * 20
        local left = side == 1 and x + near or x - near - width
        if free(left, y, width) then
          taken[#taken + 1] = {x = left, y = y, width = width}
          return side == 1 and left or left + width,
            side == 1 and "start" or "end"
        end
      end
    end
    return x + 9, "start"
  end
end

return M
