-- base/options.lua - the options that each function takes, by the table of
-- the API: for the check of a table of options and for completion
-- SPDX-License-Identifier: MIT

local api = require "clshell.base.api"
local argument = require "clshell.base.argument"
local cl = require "cl"
local class_of = require "clshell.base.text".class

local M = {}

local kept = {} -- by name: the names of the options, and the kinds by name

-- The names of a function's options, and the kinds of their values by name.
local function known(name)
  local found = kept[name]
  if not found then
    found = {names = {}, kinds = {}}
    for _, option in ipairs(api.options(name)) do
      for word in option.name:gmatch "[%w_]+" do
        table.insert(found.names, word)
        found.kinds[word] = option.kind
      end
    end
    kept[name] = found
  end
  return found
end

--- options.names(name) -> list of strings, or nil
--- The options that a function takes, by its name in help, such as "bench",
--- "cl.buffer" or "Buffer:read"; "check.rung" for the form of check that takes
--- a rung. The options of a kernel family's calls are "kernel", the extras of
--- the family, and the parameters of the rung.
function M.names(name)
  local names = known(name).names
  return names[1] and names or nil
end

--- options.values(name, option) -> list of strings, or nil
--- The words that an option of a function takes, for an option of few words.
function M.values(name, option)
  for _, one in ipairs(api.options(name)) do
    if (" " .. one.name .. ","):find("[ ,]" .. option .. ",") then
      return one.values
    end
  end
end

--- options.is_event(x) -> boolean
--- Whether x is an Event, or the span of several. In the place of options, an
--- Event is the second result of the call that gave the argument before, as in
--- gemm(A, gemm(B, C)), and sets nothing.
function M.is_event(x)
  local class = class_of(x)
  return class == "Event" or class == "Event span"
end

--- options.given(opts) -> opts, or an empty table
--- The options of a call; none for nil or an Event.
function M.given(opts)
  return (opts == nil or M.is_event(opts)) and {} or opts
end

--- options.with(opts, more) -> table
--- The options and the values of `more`, which replace them, as a new table.
function M.with(opts, more)
  local all = {}
  for _, t in ipairs{opts or {}, more} do
    for key, value in pairs(t) do
      all[key] = value
    end
  end
  return all
end

--- options.check(opts, name [, shown]) -> opts, or an empty table
--- Raises if the table `opts` (or nil) holds an option that the function
--- `name` does not take, or a value of another kind; the message has the name
--- (or `shown`) and the nearest option. An Event counts as no options.
function M.check(opts, name, shown)
  opts, shown = M.given(opts), shown or name
  if type(opts) == "table" and next(opts) == nil then
    return opts
  end
  local its = known(name)
  cl.options(opts, its.names, shown)
  for option, value in pairs(opts) do
    if its.kinds[option] then
      argument.check(shown, option, value, its.kinds[option])
    end
  end
  return opts
end

return M
