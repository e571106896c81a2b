-- script.lua - what experiments share: command-line options, sizes, progress
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

--- script.parser(name, description [, epilog]) -> parser
--- An argparse parser for a script: parser:argument(...), parser:option(...),
--- parser:flag(...), then script.parse(parser).
function M.parser(name, description, epilog)
  local ok, argparse = pcall(require, "argparse")
  if not ok then
    cl.error("scripts read their options with argparse, which is missing",
      {hint = "Debian, Ubuntu: apt-get install lua-argparse; "
        .. "else: luarocks install argparse"})
  end
  local parser = argparse(name, description, epilog)
  parser.error = function(self, message)
    io.stderr:write(("%s: %s\n%s\n"):format(name, message,
      self:get_usage()))
    os.exit(2, true)
  end
  return parser
end

--- script.parse(parser) -> table
--- The script's arguments. A mistake there prints one line and the usage on
--- stderr and exits with 2.
function M.parse(parser)
  return parser:parse(arg)
end

--- script.size(text) -> integer, or nil and a message
--- A size from the command line, for `convert` of argparse: "512", "4k".
function M.size(text)
  local digits, unit = text:match("^(%d+)([kKmM]?)$")
  local n = math.tointeger(tonumber(digits))
  if n == nil or n < 1 or #digits > 12 then
    return nil, ("'%s' is no size: a whole number of at least 1, with k or "
      .. "m for 1024 or 1024^2"):format(text)
  end
  local factor = {[""] = 1, k = 1024, m = 1024 * 1024}
  return n * factor[unit:lower()]
end

--- script.shape(text) -> list of integers, or nil and a message
--- Sizes joined by x, for `convert` of argparse: "512", "127x65x33".
function M.shape(text)
  local sizes = {}
  for part in (text .. "x"):gmatch("(.-)x") do
    local n, message = M.size(part)
    if not n then
      return nil, part == text and message
        or ("'%s' is no shape: sizes joined by x, such as 127x65x33")
          :format(text)
    end
    sizes[#sizes + 1] = n
  end
  return sizes
end

--- script.gemm_shape(text) -> {m, n, k}, or nil and a message
--- "512" for square matrices, or "MxNxK".
function M.gemm_shape(text)
  local sizes, message = M.shape(text)
  if sizes and #sizes == 1 then
    return {sizes[1], sizes[1], sizes[1]}
  elseif sizes and #sizes ~= 3 then
    return nil, ("'%s': one size, or three as MxNxK"):format(text)
  end
  return sizes, message
end

local Progress = {}
Progress.__index = Progress

-- Progress is for people: nothing unless stderr is a terminal, nothing in
-- the first half second, at most ten lines a second.
local DELAY, INTERVAL = 0.5, 0.1

--- script.progress(total) -> progress
--- Progress of `total` steps, on stderr if that is a terminal:
--- `progress:step "tiled tile=16"` before each step, `progress:done()` at the
--- end, which erases the line. Also closes itself: local p <close> = ...
function M.progress(total)
  return setmetatable({
    total = total, count = 0, begin = cl.now(), drawn = 0, shown = false,
    active = cl.isatty(2),
  }, Progress)
end

-- Announces the next step.
function Progress:step(label)
  self.count = self.count + 1
  local now = cl.now()
  if not self.active or now - self.begin < DELAY
      or now - self.drawn < INTERVAL then
    return
  end
  local filled = 20 * (self.count - 1) // self.total
  local line = ("[%s%s] %d/%d  %s"):format(("#"):rep(filled),
    ("-"):rep(20 - filled), self.count, self.total, label or "")
  io.stderr:write("\r\27[K", line:sub(1, 78))
  self.drawn, self.shown = now, true
end

-- Erases the line.
function Progress:done()
  if self.shown then
    io.stderr:write("\r\27[K")
    self.shown = false
  end
end

Progress.__close = Progress.done

return M
