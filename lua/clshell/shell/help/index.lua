-- shell/help/index.lua - the entries of help: the table of the API, the
-- element types, OpenCL's functions as methods, and the families of scripts;
-- the rungs and the %commands
-- SPDX-License-Identifier: MIT

local api = require "clshell.base.api"
local array = require "clshell.arrays.method_names"
local cl = require "cl"
local families = require "clshell.ladder.families"
local public = require("clshell.base.lazy").public

local M = {}

local entries -- a list, and by name

-- Adds an entry that lists and searches leave out.
local function add_minor(name, signature, text, example)
  entries[name] = {name = name, signature = signature, text = text,
    options = {}, minor = true, example = example}
  entries[#entries + 1] = entries[name]
end

-- Adds cl.float, cl.int4 and so on, one for each type: help lists cl.bytes in
-- their place.
local function add_types()
  for _, type in ipairs(cl.types()) do
    local base, width = type:match("^(%a+)(%d*)$")
    if not cl[type] then
      return -- no kernel has the last types
    end
    local n = tonumber(width) or 1
    add_minor("cl." .. type, ("cl.%s(%s) -> Value"):format(type,
      n > 1 and "x1, ..., x" .. n or "x"),
      ("A kernel argument of type %s, a %s. "
      .. "Needed only where the kernel's own signature is unknown or names "
      .. "a typedef; out of range is an error. Vectors take a number for "
      .. "each component. See also cl.bytes."):format(type,
      n > 1 and ("vector of %d components of %s"):format(n, base)
      or "scalar"),
      ("print(cl.%s(1%s))"):format(type, (", 2"):rep(n - 1)))
  end
end

-- The operands besides x of OpenCL's functions, by their number. Lists have
-- the page of the concept in place of these methods.
local MATH = {"", "y", "y, z"}

local function add_math(names, operands, result, x)
  for _, name in ipairs(names) do
    local values = operands:gsub("%a", {y = x:find "arange" and "3" or "0.5",
      z = "2"})
    add_minor("Buffer:" .. name, ("Buffer:%s(%s) -> Expression"):format(name,
      operands), ("OpenCL's %s(x%s) of each element: %s. "
      .. "Buffers, Arrays and Expressions have it; an operand may be a "
      .. "number. See also ?expression."):format(name,
      operands == "" and "" or ", " .. operands, result),
      ("local x = %s\nlocal y = x:%s(%s):eval()"):format(x, name, values))
  end
end

local function add_all_math()
  local reals, integers = "cl.linspace(0.25, 1, 4)", "cl.arange(1, 4)"
  for n, names in ipairs(array.math) do
    add_math(names, MATH[n], "reals; integers become float", reals)
  end
  for n, names in ipairs(array.integers) do
    add_math(names, MATH[n], "integers alone, in their own type", integers)
  end
  add_math(array.tests, "", "1 or 0, as int", reals)
end

local pages = {} -- of families of scripts, by name

-- Adds the calls of the families that scripts made, as they are now.
local function add_families()
  for _, family in ipairs(families.made()) do
    local name, page = family.name, family.spec.page
    if pages[name] ~= page then
      local old = entries[name]
      entries[name], pages[name] = page, page
      for i, entry in ipairs(entries) do -- the new page takes the old place
        entries[i] = entry == old and page or entry
      end
      entries[#entries + 1] = not old and page or nil
    end
  end
end

--- index.entries() -> list
--- All documented functions in order and by name, as base/api.lua has them;
--- lists and searches leave out the `minor` ones.
function M.entries()
  if not entries then
    entries = {}
    for i, entry in ipairs(api.all()) do
      entries[i], entries[entry.name] = entry, entry
      entry.minor = public.inner[entry.name:match "^%w+"]
    end
    add_types()
    add_all_math()
    for file in pairs(array.methods) do -- Arrays share the pages of Buffers
      for _, name in ipairs(array.of("Array", file)) do
        local own = "Array:" .. name
        entries[own] = entries[own] or entries["Buffer:" .. name]
      end
    end
  end
  add_families()
  return entries
end

--- index.entry(name) -> entry or nil
--- The entry of a documented name; gemm.define has the entry of family.define.
function M.entry(name)
  local group, member = name:match "^(%w+)%.([%w_]+)$"
  local family = group and families.get(group)
  return M.entries()[name] or family and family[member]
    and M.entries()["family." .. member] or nil
end

--- index.rungs() -> list of {name =, short =, family =, rung =}
--- The rungs of all families, with names such as "gemm.tiled" and "tiled".
function M.rungs()
  local list = {}
  for _, name in ipairs(families.names()) do
    local family = families.get(name)
    for _, item in ipairs(family.kernels()) do
      list[#list + 1] = {name = name .. "." .. item.name, short = item.name,
        family = family, rung = item.rung}
    end
  end
  return list
end

--- index.commands() -> table
--- The prompt's %commands by name: {usage =, help =}; none without a prompt.
function M.commands()
  local session = package.loaded["clshell.shell.prompt"]
  local list = type(session) == "table" and rawget(session, "commands")
  return type(list) == "table" and list or {}
end

--- index.options(name) -> list
--- The options of a function, as api.options gives them.
function M.options(name)
  local made = families.peek(name) and M.entries()[name]
  return made and made.options or api.options(name)
end

return M
