-- base/api.lua - the table of the API, which the build makes of the comments
-- of all public functions (src/api.lua): a line for each function
-- An entry has name, signature, parameters (their names), class (of the
-- result, where it has one), text, example, file, and options: {name ("flop,
-- bytes" for two alike), default, text, values, kind (of the value), form (of
-- the call that takes it, "of a launch")}. `as` names the function whose
-- options the function takes as well, apart from the options in `but`.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local all            -- the entries, in order and by name
local entries = {}   -- until then the entries that were asked for; false: none

local function read()
  local f = io.open(cl.home .. "/api.lua") -- installed, or else in the tree
    or assert(io.open(cl.home .. "/build/api.lua"),
      "the table of the API is missing; make all makes it")
  local source = f:read "a"
  f:close()
  return source
end

-- The entry of one name, without the work for the others.
local function find(name)
  local source = read()
  local at = source:find(("\n{name=%q,"):format(name), 1, true)
  return at and load("return " .. source:match("(.-),\n", at), "=api.lua", "t",
    {})() or false
end

--- api.all() -> list
--- The entries of all functions, in order and by name.
function M.all()
  if not all then
    all = assert(load(read(), "=api.lua", "t", {}))()
    for _, entry in ipairs(all) do
      all[entry.name] = entry
    end
  end
  return all
end

--- api.entry(name) -> entry or nil
--- The entry of a function. An Array has the methods of a Buffer.
function M.entry(name)
  local known = all or entries
  if not all and known[name] == nil then
    known[name] = find(name)
  end
  return known[name] or name:find "^Array:"
    and M.entry("Buffer" .. name:sub(6)) or nil
end

local function words(text)
  return (text or ""):gmatch "[%w_]+"
end

--- The options of a function, then the options of the function that it refers
--- to ("Options as for ..."). check.rung: the options of the form of check
--- that takes a rung.
function M.options(name)
  local entry, form = M.entry(name), nil
  if not entry then
    name, form = name:match "^(.*)%.(%w+)$"
    entry = name and M.entry(name) or {}
  end
  local list, taken = {}, {}
  for word in words(entry.but) do
    taken[word] = true
  end
  for _, option in ipairs(entry.options or {}) do
    for word in words(option.name) do
      taken[word] = true
    end
    if not form or (option.form or form):match "%w+$" == form then
      list[#list + 1] = option
    end
  end
  for _, option in ipairs(entry.as and M.options(entry.as) or {}) do
    if not taken[option.name:match "[%w_]+"] then
      list[#list + 1] = option
    end
  end
  return list
end

return M
