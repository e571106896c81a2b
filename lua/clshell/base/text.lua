-- text.lua - words and numbers in messages: nearest names, lists, shapes
-- SPDX-License-Identifier: MIT

local M = {}

-- Edit distance of two short words; two letters that changed places count
-- once (optimal string alignment).
local function distance(a, b)
  local before, row = nil, {}
  for j = 0, #b do
    row[j] = j
  end
  for i = 1, #a do
    local new = {[0] = i}
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      new[j] = math.min(row[j - 1] + (same and 0 or 1), row[j] + 1,
        new[j - 1] + 1)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1)
          and a:byte(i - 1) == b:byte(j) then
        new[j] = math.min(new[j], before[j - 2] + 1)
      end
    end
    before, row = row, new
  end
  return row[#b]
end

-- The name of the list nearest to `word`; nil where none is near: within
-- `most` edits, by default a third of the word and one.
function M.nearest(word, names, most)
  local best, limit = nil, (most or #word // 3 + 1) + 1
  for _, name in ipairs(names) do
    local d = distance(word:lower(), name:lower())
    if d < limit then
      best, limit = name, d
    end
  end
  return best
end

-- "no kernel 'tild'; did you mean 'tiled'? There are: naive, tiled"
function M.unknown(what, word, names)
  local near = M.nearest(tostring(word), names)
  return ("no %s '%s'%s There are: %s"):format(
    what, tostring(word), near and ("; did you mean '%s'?"):format(near)
    or ".", table.concat(names, ", "))
end

-- "16x16" from {16, 16}
function M.shape(sizes)
  return table.concat(sizes, "x")
end

-- The values of a list as one string: "4, 8, 16"
function M.values(list)
  local words = {}
  for i, value in ipairs(list) do
    words[i] = tostring(value)
  end
  return table.concat(words, ", ")
end

-- "64 KiB" where that is a whole number, else "66560 bytes"
function M.bytes(n)
  if n >= 1024 and n % 1024 == 0 then
    for _, unit in ipairs{"GiB", "MiB", "KiB"} do
      local size = unit == "GiB" and 2^30 or unit == "MiB" and 2^20 or 1024
      if n % size == 0 then
        return ("%d %s"):format(n // size, unit)
      end
    end
  end
  return ("%d bytes"):format(n)
end

--- text.quote(s) -> string
--- A word of the shell, whatever is in it.
function M.quote(s)
  return "'" .. s:gsub("'", "'\\''") .. "'"
end

return M
