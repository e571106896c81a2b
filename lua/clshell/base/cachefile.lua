-- base/cachefile.lua - measurements of a device, kept between sessions: a
-- text file for each device and driver, "name value" a line
-- SPDX-License-Identifier: MIT

local file = require "clshell.base.file"
local text = require "clshell.base.text"

local M = {}

local FIRST = "clshell measurements 4"
local LAST = "end\n"

-- The identity of a device: a change of any property makes another file. Its
-- memory is left out: a CPU device's size changes with the host's free memory.
function M.identity(dev)
  return ("%s | %s | %s | %s | %d units"):format(dev.name,
    tostring(dev.platform), dev.version, dev.driver_version,
    dev.compute_units)
end

--- cachefile.hash(s) -> string
--- The FNV-1a hash of a text, 64 bits as 16 hexadecimal digits: it tells texts
--- apart, and is no protection against forgery.
function M.hash(s)
  local h = 0xcbf29ce484222325
  for i = 1, #s do
    h = (h ~ s:byte(i)) * 0x100000001b3
  end
  return ("%016x"):format(h)
end

--- cachefile.path(dev) -> string, or nil without a home
--- The file of a device, in $XDG_CACHE_HOME/clshell (~/.cache/clshell).
function M.path(dev)
  local words = dev.name:lower():gsub("%W+", "-"):sub(1, 40)
  local dir = file.folder "CACHE"
  return dir and ("%s/%s-%s"):format(dir, words, M.hash(M.identity(dev)))
end

-- The first lines of the file of a device.
local function head_of(dev)
  return ("%s\ndevice %s\n"):format(FIRST, M.identity(dev))
end

--- cachefile.load(dev) -> table; nil, reason
--- The kept numbers of a device; nil alone without a file. A file that is cut
--- off, damaged or of another version is not used, and the reason says so.
function M.load(dev)
  local path = M.path(dev)
  local f = path and io.open(path, "r")
  if not f then
    return nil
  end
  local content = f:read("a") or ""
  f:close()
  local head, values = head_of(dev), {}
  local lines = content:sub(1, #head) == head
    and content:match("^(.*)" .. LAST .. "$", #head + 1)
  local rest = lines and lines:gsub("([%w_%.]+) (%S+)\n", function(name, value)
    values[name] = tonumber(value)
    return values[name] and ""
  end)
  if rest ~= "" then
    return nil, ("%s is damaged or of another version; it is measured anew")
      :format(path)
  end
  return values
end

--- cachefile.save(dev, values) -> true; nil, reason
--- Keeps numbers of a device, beside the other numbers of its file. The file
--- is replaced whole, so a reader never sees half a file.
function M.save(dev, values)
  local ok, reason = file.make_folder "CACHE"
  if not ok then
    return nil, "measurements are not kept: " .. reason
  end
  local path = M.path(dev)
  local all = M.load(dev) or {}
  for name, value in pairs(values) do
    all[name] = value
  end
  local lines = {head_of(dev)}
  for _, name in ipairs(text.keys(all)) do
    lines[#lines + 1] = ("%s %.17g\n"):format(name, all[name])
  end
  return file.replace(path, table.concat(lines) .. LAST, "measurements")
end

return M
