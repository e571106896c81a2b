-- tune/recall.lua - configurations that the run store has already: their
-- records, by the setting that tells equal measurements
-- SPDX-License-Identifier: MIT

local M = {}

--- recall.new(name, device) -> function(config, setting) -> record, or nil
--- Looks for the newest record of a configuration in the session's run store,
--- measured in the same setting: source, driver, device, shape and options.
function M.new(name, device)
  local store = require "clshell.store".default()
  local by_config = {}
  for _, row in ipairs(store and store:list{name = name, device = device}
      or {}) do
    if (row.status == "ok" or row.status == "slow") and row.median then
      local key = row.config or ""
      by_config[key] = by_config[key] or {}
      table.insert(by_config[key], 1, row.id)
    end
  end
  return function(config, setting)
    for _, id in ipairs(by_config[config] or {}) do
      local r = store:usable(id)
      if r and r.setting == setting then
        return r
      end
    end
  end
end

return M
