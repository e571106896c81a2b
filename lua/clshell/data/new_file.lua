-- data/new_file.lua - a file that is written anew, part by part
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"

-- Creates the file `path`, calls fill(f, check) and closes it. `check` takes
-- the results of a write and raises where it failed.
return function(path, fill)
  argument.check("save", "path", path, "string")
  local f <close>, message = io.open(path, "wb")
  if f == nil then
    cl.error("cannot write " .. message)
  end
  local function check(ok, reason)
    if not ok then
      cl.error(("cannot write %s: %s"):format(path, reason))
    end
  end
  fill(f, check)
  check(f:close())
end
