-- base/file.lua - files that are written whole, by parts, in place of an older
-- file, or for a while; and the user's folders, clshell/ in the folders of XDG
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local system = require "clshell.system"
local words = require "clshell.base.lazy".module "clshell.base.text"

local M = {}

local UNSET = {CONFIG = ".config", STATE = ".local/state",
  DATA = ".local/share", CACHE = ".cache"} -- below the home folder

-- file.write(file, text, what)
-- Writes text to an open file, or to the file at a path. A failure raises
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

-- file.read(path) -> string; nil and a message
-- The bytes of a file, whole; nil for a folder, too.
function M.read(path)
  local f <close>, message = io.open(path, "rb")
  if not f then
    return nil, message
  end
  return f:read "a"
end

-- file.open(path [, opened]) -> file, or nil and a message
-- Opens a file to read its bytes at any place: a pipe, which has no places, is
-- copied into a temporary file first. `opened`, if given, is the result.
function M.open(path, opened)
  if opened then
    return opened
  end
  local f, message = io.open(path, "rb")
  if f == nil then
    return nil, message
  end
  local empty, reason, code = f:read(0) -- a folder opens, and fails here
  if empty == nil and code then
    f:close()
    return nil, ("%s: %s"):format(path, reason)
  elseif f:seek() then
    return f
  end
  local copy = assert(io.tmpfile())
  for part in f:lines(2 ^ 16 | 0) do
    assert(copy:write(part))
  end
  f:close()
  copy:seek("set")
  return copy
end

-- file.create(path, fill)
-- Creates the file `path`, calls fill(f, check) and closes it. `check` takes
-- the results of a write and raises where it failed.
function M.create(path, fill)
  if type(path) ~= "string" then
    cl.error("save: path must be a string; got " .. words.got(path),
      {arg = "path"})
  end
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

-- file.folder(kind) -> path, or nil without a home
-- The folder clshell in $XDG_<kind>_HOME, or in its default where the variable
-- is not set to a full path. kind: a name of the table above.
function M.folder(kind)
  local base = os.getenv(("XDG_%s_HOME"):format(kind))
  if not base or base:sub(1, 1) ~= "/" then
    local home = os.getenv "HOME"
    base = home and home:sub(1, 1) == "/" and home .. "/" .. UNSET[kind]
  end
  return base and base .. "/clshell" or nil
end

-- file.make_folder(kind) -> true, or nil and a message
-- Makes the folder of `kind`, for this user alone.
function M.make_folder(kind)
  local path = M.folder(kind)
  if not path then
    return nil, ("neither XDG_%s_HOME nor HOME is set to a full path"):format(
      kind)
  end
  return system.private(path .. "/")
end

return M
