-- results/intervals.lua - sets of moments: sorted lists of {from, to} that do
-- not meet, in whole ns
-- SPDX-License-Identifier: MIT

local M = {}

--- intervals.union(list) -> set
--- All moments of any {from, to} of a list.
function M.union(list)
  table.sort(list, function(a, b)
    return a[1] < b[1]
  end)
  local out, last = {}, nil
  for _, i in ipairs(list) do
    if last and i[1] <= last[2] then
      last[2] = math.max(last[2], i[2])
    elseif i[2] > i[1] then
      last = {i[1], i[2]}
      out[#out + 1] = last
    end
  end
  return out
end

--- intervals.both(a, b) -> set
--- The moments of both sets.
function M.both(a, b)
  local out, i, j = {}, 1, 1
  while a[i] and b[j] do
    local from, to = math.max(a[i][1], b[j][1]), math.min(a[i][2], b[j][2])
    if from < to then
      out[#out + 1] = {from, to}
    end
    if a[i][2] < b[j][2] then
      i = i + 1
    else
      j = j + 1
    end
  end
  return out
end

--- intervals.minus(a, b) -> set
--- The moments of a that are not in b.
function M.minus(a, b)
  local out, j = {}, 1
  for _, whole in ipairs(a) do
    local from = whole[1]
    while b[j] and b[j][2] <= from do
      j = j + 1
    end
    local k = j
    while b[k] and b[k][1] < whole[2] do
      if b[k][1] > from then
        out[#out + 1] = {from, b[k][1]}
      end
      from = math.max(from, b[k][2])
      k = k + 1
    end
    if from < whole[2] then
      out[#out + 1] = {from, whole[2]}
    end
  end
  return out
end

--- intervals.length(set) -> integer
function M.length(set)
  local sum = 0
  for _, i in ipairs(set) do
    sum = sum + i[2] - i[1]
  end
  return sum
end

return M
