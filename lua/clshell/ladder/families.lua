-- ladder/families.lua - the kernel families by name: clshell's families, whose
-- modules load at their first use, and families of scripts; and the methods
-- that rooms above the engine give to all families
-- SPDX-License-Identifier: MIT

local lazy = require "clshell.base.lazy"

local M = {}

local own, made = {}, {} -- names, in order: clshell's, and those of scripts
local by_name = {}       -- tables; a table of clshell may wait for its load

--- families.offer(name, table)
--- Makes a family of clshell known: the table of its module, see lazy.module.
function M.offer(name, table)
  own[#own + 1], own[name] = name, true
  by_name[name] = table
end

--- families.own() -> list of names
--- The families that come with clshell.
function M.own()
  return {table.unpack(own)}
end

--- families.made() -> list of families
--- The families that scripts made, in their order.
function M.made()
  local list = {}
  for i, name in ipairs(made) do
    list[i] = by_name[name]
  end
  return list
end

--- families.names() -> list of names
--- The names of all families, clshell's own first.
function M.names()
  return table.move(made, 1, #made, #own + 1, M.own())
end

--- families.is_own(name) -> boolean
function M.is_own(name)
  return own[name] or false
end

--- families.peek(name) -> table or nil
--- The table of a family, which is empty while its module is not loaded.
function M.peek(name)
  return by_name[name]
end

--- families.get(name) -> family or nil
function M.get(name)
  return by_name[name] and lazy.load(by_name[name])
end

--- families.is(value) -> boolean
--- Whether a value is a kernel family that is loaded.
function M.is(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(meta) == "table" and meta.__name == "clshell.family"
end

--- families.add(family)
--- Adds a family of a script; it replaces an earlier family of its name.
function M.add(family)
  made[#made + 1] = not by_name[family.name] and family.name or nil
  by_name[family.name] = family
end

--- families.methods
--- Methods that rooms above the engine give to families, see init.lua: of all
--- families, and of a family by its name. Each takes the family first.
M.methods = {all = {}, gemm = {}}

return M
