-- ladder/list.lua - the kernel families by name: those of clshell, whose
-- modules load at their first use, and those that scripts make
-- SPDX-License-Identifier: MIT

local lazy = require "clshell.base.lazy"

local M = {}

local OWN = {"gemm", "spmv", "transpose", "reduce", "scan", "sort", "gemv",
  "stencil", "conv2d"}
local made, by_name = {}, {} -- those of scripts

--- list.own() -> list of names
--- The families that come with clshell.
function M.own()
  return {table.unpack(OWN)}
end

--- list.made() -> list of families
--- The families that scripts made, in their order.
function M.made()
  return {table.unpack(made)}
end

--- list.names() -> list of names
--- All of them, clshell's own first.
function M.names()
  local names = M.own()
  for i, family in ipairs(made) do
    names[#OWN + i] = family.name
  end
  return names
end

--- list.is_own(name) -> boolean
function M.is_own(name)
  for _, own in ipairs(OWN) do
    if own == name then
      return true
    end
  end
  return false
end

--- list.peek(name) -> table or nil
--- The table of a family, which is empty while its module is not loaded.
function M.peek(name)
  return by_name[name] or M.is_own(name) and package.loaded["clshell." .. name]
    or nil
end

--- list.get(name) -> family or nil
function M.get(name)
  return by_name[name] or M.is_own(name)
    and lazy.load(require("clshell." .. name)) or nil
end

--- list.is(value) -> boolean
--- Whether a value is a kernel family that is loaded.
function M.is(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(meta) == "table" and meta.__name == "clshell.family"
end

--- list.add(family)
--- Adds a family of a script, in place of an earlier one of its name.
function M.add(family)
  local old = by_name[family.name]
  by_name[family.name] = family
  for i, other in ipairs(made) do
    if other == old then
      made[i] = family
      return
    end
  end
  made[#made + 1] = family
end

return M
