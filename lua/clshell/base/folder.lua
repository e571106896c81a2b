-- base/folder.lua - the user's folders: clshell/ in the folders of XDG
-- SPDX-License-Identifier: MIT

local system = require "clshell.system"

local M = {}

local UNSET = {CONFIG = ".config", STATE = ".local/state",
  DATA = ".local/share", CACHE = ".cache"} -- below the home folder

-- folder.of(kind) -> path, or nil without a home
-- The folder clshell in $XDG_<kind>_HOME, or in its default where the variable
-- is not set to a full path. kind: a name of the table above.
function M.of(kind)
  local base = os.getenv(("XDG_%s_HOME"):format(kind))
  if not base or base:sub(1, 1) ~= "/" then
    local home = os.getenv "HOME"
    base = home and home:sub(1, 1) == "/" and home .. "/" .. UNSET[kind]
  end
  return base and base .. "/clshell" or nil
end

-- folder.make(kind) -> true, or nil and a message
-- Makes the folder of `kind`, for this user alone.
function M.make(kind)
  local path = M.of(kind)
  if not path then
    return nil, ("neither XDG_%s_HOME nor HOME is set to a full path"):format(
      kind)
  end
  return system.private(path .. "/")
end

return M
