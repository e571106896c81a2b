-- tune/demand.lua - `clshell tune script.lua`: options that stand above those
-- of the script's searches, and the reader of their results
-- SPDX-License-Identifier: MIT

local M = {}

local above, reader

--- demand.set(opts, take) -> value to close
--- Has options stand above those of all searches, and take(result) called for
--- each result, until the value is closed.
function M.set(opts, take)
  above, reader = opts, take
  return setmetatable({}, {__close = function()
    above, reader = nil, nil
  end})
end

--- demand.over(opts) -> table
--- The options of a search, with those that stand above them.
function M.over(opts)
  if above == nil then
    return opts
  end
  local all = {}
  for _, list in ipairs{opts or {}, above} do
    for name, value in pairs(list) do
      all[name] = value
    end
  end
  return all
end

--- demand.answer(result) -> result
--- Shows a result to the reader.
function M.answer(result)
  if reader then
    reader(result)
  end
  return result
end

return M
