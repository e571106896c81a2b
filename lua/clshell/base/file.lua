-- base/file.lua - writes a whole file, replaces one, or makes a temporary one
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local system = require "clshell.system"
local words = require "clshell.base.text"

local M = {}

-- file.write(file, text, what)
-- Writes text to an open file, or to the file of a name. A failure raises
-- "cannot write the results", where `what` is "the results". On a terminal
-- control characters are shown as escapes.
function M.write(file, text, what)
  local named, out = type(file) == "string", file
  if not named and io.type(file) ~= "file" then
    cl.error(("cannot write %s: the file must be a name or an open file; got "
      .. "%s"):format(what, words.got(file)))
  end
  if named then
    local message
    out, message = io.open(file, "wb")
    if not out then
      cl.error(("cannot write %s: %s"):format(what, message))
    end
  elseif out == io.stdout and cl.isatty(1) then
    text = words.visible(text)
  end
  local written, reason = out:write(text)
  local ended, late = out[named and "close" or "flush"](out)
  if not (written and ended) then
    cl.error(("cannot write %s%s: %s"):format(what,
      named and " to " .. file or "", reason or late))
  end
end

-- file.replace(path, text, what) -> true, or nil and a message
-- Writes a file that this user alone may read, in place of an older one. The
-- text is written under another name first, so a reader never sees half of it.
function M.replace(path, text, what)
  local unique = {}
  local own = ("%s.%p.%x"):format(path, unique, os.time())
  local ok, reason = system.private(own)
  if ok then
    ok, reason = pcall(M.write, own, text, what)
  end
  if ok then
    ok, reason = os.rename(own, path)
  end
  if not ok then
    os.remove(own)
    return nil, tostring(reason)
  end
  return true
end

-- file.temporary([suffix]) -> path, value to close
-- A new, empty file that this user alone may read and write. It is removed
-- when the value is closed.
function M.temporary(suffix)
  local path, message = system.temporary(suffix)
  if not path then
    cl.error("cannot make a temporary file: " .. message,
      {hint = "TMPDIR names a folder that can be written"})
  end
  return path, setmetatable({}, {__close = function()
    os.remove(path)
  end})
end

return M
