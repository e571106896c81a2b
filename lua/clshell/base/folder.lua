-- base/folder.lua - the user's folders: clshell/ in those that XDG names
-- SPDX-License-Identifier: MIT

local M = {}

local UNSET = {CONFIG = ".config", STATE = ".local/state",
  DATA = ".local/share", CACHE = ".cache"} -- below the home folder

-- folder.of(kind) -> path, or nil without a home
-- The folder clshell in $XDG_<kind>_HOME, or in its place where that is not
-- set to a full path. kind: a name of the table above.
function M.of(kind)
  local base = os.getenv(("XDG_%s_HOME"):format(kind))
  if not base or base:sub(1, 1) ~= "/" then
    local home = os.getenv "HOME"
    base = home and home ~= "" and home .. "/" .. UNSET[kind]
  end
  return base and base .. "/clshell" or nil
end

return M
