-- script.lua - what experiments share: command-line options, sizes, progress
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local quantity = require "clshell.base.quantity"
local words = require "clshell.base.text"

local M = {}

local LARGEST = 2^31 - 1 | 0
local FACTORS = {[""] = 1, k = 1024, m = 1024 * 1024}

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
    package.loaded.os.exit(2, true) -- the session's: %run replaces it
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
--- A size from the command line, for `convert` of argparse: "512", "4k". At
--- most 2147483647, as kernels count in 32 bits.
function M.size(text)
  local digits, unit = text:match("^(%d+)([kKmM]?)$")
  local n = math.tointeger(tonumber(digits))
  local factor = FACTORS[(unit or ""):lower()]
  if n == nil or n < 1 or n > LARGEST // factor then
    return nil, ("'%s' is no size: a whole number from 1 to %d, with k or m "
      .. "for 1024 or 1024^2"):format(text, LARGEST)
  end
  return n * factor
end

--- script.integer(text) -> integer, or nil and a message
--- A whole number of 64 bits, for `convert` of argparse: "7", "-1".
function M.integer(text)
  local n = text:find("^[+-]?%d+$") and math.tointeger(tonumber(text))
  if not n then
    return nil, ("'%s' is no whole number of 64 bits"):format(text)
  end
  return n
end

--- script.shape(text) -> list of integers, or nil and a message
--- Sizes joined by x, for `convert` of argparse: "512", "127x65x33".
function M.shape(text)
  local sizes = {}
  for part in (text .. "x"):gmatch("(.-)x") do
    local n, message = M.size(part)
    if not n then
      return nil, (part == text or part:find("^%d+[kKmM]?$")) and message
        or ("'%s' is no shape: sizes joined by x, such as 127x65x33")
          :format(text)
    end
    sizes[#sizes + 1] = n
  end
  return sizes
end

-- A shape of one size, which stands for all, or of as many as `letters`.
local function shape_of(text, count, letters)
  local sizes, message = M.shape(text)
  if sizes and #sizes == 1 then
    for i = 2, count do
      sizes[i] = sizes[1]
    end
  elseif sizes and #sizes ~= count then
    return nil, ("'%s': one size, or %d as %s"):format(text, count, letters)
  end
  return sizes, message
end

--- script.gemm_shape(text) -> {m, n, k}, or nil and a message
--- "512" for square matrices, or "MxNxK".
function M.gemm_shape(text)
  return shape_of(text, 3, "MxNxK")
end

--- script.matrix_shape(text) -> {m, n}, or nil and a message
--- "512" for a square matrix, or "MxN".
function M.matrix_shape(text)
  return shape_of(text, 2, "MxN")
end

--- script.kernel(family) -> function
--- For `convert` of argparse: a function that takes the name of a rung of the
--- family, or of a routine of the host; of other names it gives nil and a
--- message with the nearest one.
function M.kernel(family)
  return function(name)
    local names = {}
    for _, k in ipairs(family.kernels()) do
      names[#names + 1] = k.name
    end
    for _, host in ipairs(family.spec.hosts) do
      names[#names + 1] = host.name
    end
    for _, known in ipairs(names) do
      if name == known then
        return name
      end
    end
    return nil, words.unknown("kernel", name, names)
  end
end

--- script.readable(path) -> path, or nil and a message
--- A file that can be read, for `convert` of argparse.
function M.readable(path)
  local file, message = io.open(path, "rb")
  if not file then
    return nil, message
  end
  file:close()
  return path
end

--- script.writable(path) -> path, or nil and a message
--- A file that can be written, made if there is none.
function M.writable(path)
  local file, message = io.open(path, "ab")
  if not file then
    return nil, message
  end
  file:close()
  return path
end

--- script.fits(parser, what, bytes)
--- Ends the script with 2, before anything is measured, if what was asked for
--- ("matrices of 512x512") needs more than the device's global memory.
function M.fits(parser, what, bytes)
  local memory = cl.device().global_mem_size
  if bytes > memory then
    parser:error(("%s take %s, the device has %s of global memory"):format(
      what, quantity.format(bytes, "B", 3), quantity.format(memory, "B", 3)))
  end
end

--- script.progress(total) -> progress
--- Progress of `total` steps on standard error, see progress.new:
--- `progress:step "tiled tile=16"` before each step, `progress:done()` at the
--- end. Also closes itself: local p <close> = ...
function M.progress(total)
  return require("clshell.base.progress").new{total = total}
end

return M
