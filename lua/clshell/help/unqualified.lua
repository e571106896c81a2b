-- help/bare.lua - a name without what it belongs to: a rung, a parameter of
-- rungs, an option, a member of modules or classes
-- SPDX-License-Identifier: MIT

local index = require "clshell.help.index"
local names = require "clshell.help.names"
local page = require "clshell.help.page_layout"
local text = require "clshell.base.text"

local M = {}

-- The rungs of that name, and those that have a parameter of that name.
local function rungs(name, found, parameters)
  for _, group in ipairs(names.families()) do
    for _, item in ipairs(names.family(group).kernels()) do
      if item.name == name then
        found[#found + 1] = {group .. "." .. name, item.rung.lesson}
      end
      for _, param in ipairs(item.rung.params) do
        if param.name == name then
          parameters[#parameters + 1] = {("%s.%s"):format(group, item.name),
            ("%s = %s (%s) %s"):format(name, param.default,
              text.values(param.values), param.help)}
        end
      end
    end
  end
end

-- Functions whose last word it is, and those that have an option of it.
local function functions(name, found, options)
  for _, entry in ipairs(index.entries()) do
    if entry.name:match("[.:]([%w_]+)$") == name then
      found[#found + 1] = {entry.name, page.summary(entry.text, 60)}
    end
    for _, option in ipairs(entry.options) do
      if (" " .. option.name:gsub(",", " ") .. " "):find(" " .. name .. " ",
          1, true) then
        options[#options + 1] = {entry.name, ("%s%s"):format(option.default
          and ("(%s) "):format(option.default) or "", option.text)}
      end
    end
  end
end

--- bare.find(name) -> found, parameters, options
--- Lists of {full name, text}: what is called so, rungs with a parameter and
--- functions with an option of that name.
function M.find(name)
  local found, parameters, options = {}, {}, {}
  rungs(name, found, parameters)
  functions(name, found, options)
  return found, parameters, options
end

--- The page of such a name: nil where nothing has it; just the full name
--- where one thing does.
function M.page(name, view)
  local found, parameters, options = M.find(name)
  if #found == 1 and #parameters + #options == 0 then
    return nil, found[1][1]
  end
  local parts = {}
  for _, part in ipairs{{("'%s' is"):format(name), found},
      {("Parameter '%s' of"):format(name), parameters},
      {("Option '%s' of"):format(name), options}} do
    if #part[2] > 0 then
      parts[#parts + 1] = page.heading(part[1], view) .. "\n"
        .. page.rows(part[2], view, 28)
    end
  end
  return #parts > 0 and table.concat(parts, "\n\n") or nil
end

return M
