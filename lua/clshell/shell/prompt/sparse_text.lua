-- shell/prompt/sparse_text.lua - DIA and CSR matrices at the prompt: a summary
-- and the corners, with a point for each place that is not stored; it reads
-- only the values of the corners
-- SPDX-License-Identifier: MIT

local arrays = require "clshell.shell.prompt.arrays"
local printable = require "clshell.shell.prompt.printable"
local quantity = require "clshell.base.quantity"
local summary = require "clshell.data.summary"

local M = {}

local DIAGONALS = 64 -- diagonals that are summed up one by one

local function empty_rows(r1, r2, c1, c2)
  local list = {}
  for i = r1, r2 do
    list[i - r1 + 1] = {}
    for j = c1, c2 do
      list[i - r1 + 1][j - c1 + 1] = false
    end
  end
  return list
end

-- The corner of a DIA matrix, read from each diagonal that crosses it.
local function read_dia(m, r1, r2, c1, c2)
  local list = empty_rows(r1, r2, c1, c2)
  for d = 1, m.ndiags do
    local offset = m.host.offsets[d]
    local first = math.max(r1, c1 - offset)
    local last = math.min(r2, c2 - offset)
    if first <= last then
      local h <close> = m.values:read{from = {d, first},
        size = {1, last - first + 1}}
      for i = first, last do
        list[i - r1 + 1][i + offset - c1 + 1] = h[i - first + 1]
      end
    end
  end
  return list
end

-- The elements of all diagonals, without the places outside the matrix.
local function dia_stats(m)
  if m.ndiags > DIAGONALS then
    return summary.of(m.values)
  end
  local all = {count = 0, nan = 0, inf = 0, whole = true}
  local sum = 0
  for d = 1, m.ndiags do
    local offset = m.host.offsets[d]
    local first = math.max(1, 1 - offset)
    local last = math.min(m.rows, m.cols - offset)
    local view <close> = m.values:matrix((d - 1) * m.pitch + first, 1,
      last - first + 1)
    local s = summary.of(view)
    for _, name in ipairs{"count", "nan", "inf"} do
      all[name] = all[name] + s[name]
    end
    if s.min then
      all.min = math.min(all.min or s.min, s.min)
      all.max = math.max(all.max or s.max, s.max)
      sum = sum + s.mean * (s.count - s.nan - s.inf)
    end
    all.whole = all.whole and s.whole
  end
  all.mean = sum / (all.count - all.nan - all.inf)
  return all
end

-- The offsets of the first diagonals and of the last.
local function offsets_words(m)
  local words = {}
  for d = 1, math.min(m.ndiags, 9) do
    words[d] = tostring(m.host.offsets[d])
  end
  if m.ndiags > 9 then
    words[9] = printable.ellipsis()
    words[10] = tostring(m.host.offsets[m.ndiags])
  end
  return ("%d diagonals (%s)"):format(m.ndiags, table.concat(words, " "))
end

-- The first entry of a row from column c (from 0) on, of entries first..last.
local function seek(col, first, last, c)
  while first < last do
    local middle = (first + last) // 2
    if col[middle] < c then
      first = middle + 1
    else
      last = middle
    end
  end
  return first
end

local function read_csr(m, r1, r2, c1, c2)
  local list = empty_rows(r1, r2, c1, c2)
  local ptr, col = m.host.row_ptr, m.host.col_ind
  for i = r1, r2 do
    local behind = ptr[i + 1] + 1
    local first = seek(col, ptr[i] + 1, behind, c1 - 1)
    local last = seek(col, first, behind, c2) - 1
    if first <= last then
      local h <close> = m.values:read{first = first, count = last - first + 1}
      for k = first, last do
        list[i - r1 + 1][col[k] + 2 - c1] = h[k - first + 1]
      end
    end
  end
  return list
end

local function csr_stats(m)
  return m.nnz > 0 and summary.of(m.values) or nil
end

-- Defines the description of a class; words(m): the words of this class alone.
local function define(class, words, stats, fetch)
  M[class] = function(m, o)
    if m.values.closed then
      return {tostring(m) .. " (closed)"}
    end
    local list = {arrays.title(class, o), ("%s %d%s%d"):format(m.type, m.rows,
      arrays.times(), m.cols), words and words(m)}
    table.move({("%d entries"):format(m.nnz),
      quantity.format(m:info().bytes, "B"),
      arrays.on(m.values.context.device.name)}, 1, 3, #list + 1, list)
    return arrays.compose({shape = {m.rows, m.cols}, rows = m.rows,
      cols = m.cols, slices = 1, lanes = 1, scalar = m.type, words = list,
      stats = function()
        return stats(m)
      end,
      fetch = function(_, ...)
        return fetch(m, ...)
      end}, o)
  end
end

define("DIA matrix", offsets_words, dia_stats, read_dia)
define("CSR matrix", nil, csr_stats, read_csr)

return M
