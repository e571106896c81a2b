-- base/file.lua - writes a whole file or raises
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

-- file.write(file, text, what)
-- Writes text to an open file, or to the file of a name. A failure raises
-- "cannot write the results", where `what` is "the results".
function M.write(file, text, what)
  local named, out = type(file) == "string", file
  if named then
    local message
    out, message = io.open(file, "wb")
    if not out then
      cl.error(("cannot write %s: %s"):format(what, message))
    end
  end
  local written, reason = out:write(text)
  local ended, late = out[named and "close" or "flush"](out)
  if not (written and ended) then
    cl.error(("cannot write %s%s: %s"):format(what,
      named and " to " .. file or "", reason or late))
  end
end

return M
