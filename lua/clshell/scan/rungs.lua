-- scan/rungs.lua - the ladder of scans, as data
-- Each rung names its file in kernels/scan/, its one-line lesson, its
-- parameters and its NDRange. A first launch scans within work-groups; where
-- those are several, a second one scans their sums and a third adds these.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local tiling = require "clshell.family.tiling"

local groups, param = tiling.groups, tiling.param

local SECOND = 256 -- work-items of a work-group of the later launches

local wg = param("wg", {32, 64, 128, 256, 512}, 256,
  "work-items in a work-group")

-- A rung whose work-groups of size(p) work-items scan each(p) elements.
local function rung(def, size, each)
  local fixed = def.pad
  def.pad = nil
  function def.defines(p, s)
    local list = {INCLUSIVE = s.kind == "inclusive" and 1 or 0, PAD = fixed}
    for name, value in pairs(p) do
      list[name:upper()] = value
    end
    return list
  end
  function def.range(s, p)
    return {groups(s.n, each(p)) * size(p)}, {size(p)}
  end
  function def.args(s, _, o)
    return {s.n, o.x, o.y, o.sums}
  end
  function def.prepare(s, p)
    return {sums = cl.buffer(s.type, groups(s.n, each(p)), nil,
      {context = s.context})}
  end
  function def.finish(s, p, own, run)
    local n = groups(s.n, each(p))
    if n > 1 then
      local most = tiling.power_of_two(math.min(SECOND,
        s.context.device.max_work_group_size))
      local defines = {REAL = s.type, WG = most}
      run("offsets.cl", "offsets", defines, {most}, {most}, n, own.sums)
      run("offsets.cl", "add", defines, {each(p), n - 1},
        {math.min(most, each(p)), 1}, s.n, each(p), own.y, own.sums)
    end
  end
  return def
end

local function wg_of(p)
  return p.wg
end

local function twice(p)
  return 2 * p.wg
end

-- One launch for all, after one that clears the words by which work-groups
-- tell their sums.
local lookback = {
  name = "lookback", file = "lookback.cl",
  params = {wg, param("each", {4, 8, 16, 32}, 16, "elements per work-item")},
  lesson = "work-groups ask those before them: each element is read and "
    .. "written once",
  accepts = function(dev)
    return not dev:has "cl_khr_int64_base_atomics"
      and "it needs the extension cl_khr_int64_base_atomics" or nil
  end,
  defines = function(p, s)
    return {INCLUSIVE = s.kind == "inclusive" and 1 or 0, WG = p.wg,
      EACH = p.each}
  end,
  range = function(s, p)
    return {groups(s.n, p.wg * p.each) * p.wg}, {p.wg}
  end,
  local_bytes = function(s, p)
    return (p.wg * p.each * 33 // 32 + 2 * p.wg + 2) * s.esize
  end,
  prepare = function(s, p, _, run)
    local words = 1 + groups(s.n, p.wg * p.each) * s.esize // 4
    local state = cl.buffer("ulong", words, nil, {context = s.context})
    run("clear.cl", "clear", {}, {words}, nil, words, state)
    return {state = state}
  end,
  args = function(s, _, o)
    return {s.n, o.x, o.y, o.state}
  end,
}

return {
  rung({
    name = "doubling", file = "doubling.cl", params = {wg},
    lesson = "each step adds the element twice as far away: few steps, many "
      .. "additions",
    local_bytes = function(s, p) return 2 * p.wg * s.esize end,
  }, wg_of, wg_of),
  rung({
    name = "tree", file = "tree.cl", params = {wg}, pad = 0,
    lesson = "sums go up a tree, what lies to the left comes down: fewer "
      .. "additions, bank conflicts",
    local_bytes = function(s, p) return 2 * p.wg * s.esize end,
  }, wg_of, twice),
  rung({
    name = "tree_padded", file = "tree.cl", params = {wg}, pad = 1,
    lesson = "a cell is left out after each 32: the columns of the tree part",
    local_bytes = function(s, p) return 2 * p.wg * 33 // 32 * s.esize end,
  }, wg_of, twice),
  rung({
    name = "registers", file = "registers.cl",
    params = {wg, param("each", {2, 4, 8, 16}, 8, "elements per work-item")},
    lesson = "each work-item scans neighbours in registers; only their sums "
      .. "meet in local memory",
    local_bytes = function(s, p)
      return (p.wg * p.each * 33 // 32 + 2 * p.wg) * s.esize
    end,
  }, wg_of, function(p)
    return p.wg * p.each
  end),
  lookback,
  rung({
    name = "blocks", file = "blocks.cl",
    params = {param("block", {4096, 16384, 65536, 262144}, 65536,
      "elements per work-item")},
    lesson = "for CPU devices: a loop over a block per work-item",
    accepts = tiling.cpu_only,
  }, function()
    return 1
  end, function(p)
    return p.block
  end),
}
