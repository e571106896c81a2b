-- base/script.lua - command-line options, sizes and progress for scripts
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local quantity = require "clshell.base.quantity"
local search = require "clshell.base.search"
local base_text = require "clshell.base.text"

local M = {}

local WIDTH = 79 -- columns of a script's help
local LARGEST = 2^31 - 1 | 0
local FACTORS = {[""] = 1, k = 1024, m = 1024 * 1024}

-- argparse reads -3x4 as the letters of options and complains about -3.
-- Returns the message about the whole word, or nil.
local function negative(message)
  local letters = message:match("^unknown option '(%-%d)'")
  for _, word in ipairs(letters and arg or {}) do
    if word:sub(1, 2) == letters then
      return ("no option '%s', and sizes must be >= 1"):format(word)
    end
  end
end

--- script.parser(name, description [, epilog]) -> parser
--- An argparse parser for a script: parser:argument(...), parser:option(...),
--- parser:flag(...), then script.parse(parser). Its --help fits 79 columns.
--- Example:
--- local parser = script.parser("mine", "measures something of mine")
--- parser:argument("n", "side of the matrices"):convert(script.size)
---   :default "512"
function M.parser(name, description, epilog)
  local argparse = search.library "argparse"
  if not argparse then
    cl.error("scripts read their options with argparse, which is missing",
      {hint = "Debian, Ubuntu: apt-get install lua-argparse; elsewhere: "
        .. "luarocks install argparse"})
  end
  local parser = argparse(name, description, epilog)
  parser:help_max_width(WIDTH)
  parser.error = function(self, message)
    io.stderr:write(base_text.message(("%s: %s\n%s\n"):format(name,
      negative(message) or message, self:get_usage())))
    package.loaded.os.exit(2, true) -- the session's: %run replaces it
  end
  return parser
end

-- script.declare(parser, options [, arguments])
-- Declares lists of options and arguments to a parser. A row is {names,
-- description, name of the value, converter}, with flag = true where it takes
-- no value, choices, a default, args = "*" for any number of arguments; or a
-- function that returns a row.
function M.declare(parser, options, arguments)
  for i, list in ipairs{arguments or {}, options} do
    for _, row in ipairs(list) do
      row = type(row) == "function" and row() or row
      local method = row.flag and "flag" or i == 1 and "argument" or "option"
      local entry = parser[method](parser, row[1], row[2], row.default, row[4],
        row.args)
      if row[3] then
        entry:argname(row[3])
      end
      if row.choices then
        entry:choices(row.choices)
      end
    end
  end
end

--- script.parse(parser) -> table
--- The script's arguments. A mistake in them prints a line and the usage on
--- stderr and exits with 2.
--- Example:
--- local parser = script.parser("mine", "measures something of mine")
--- parser:argument("n", "side"):convert(script.size):default "512"
--- print(script.parse(parser).n) -- 512, or what followed the script's name
function M.parse(parser)
  return parser:parse(arg)
end

--- script.find(path) -> path, or nil and a message
--- The path as given, or the path of an installed script.
--- Example:
--- print(script.find "bench_tiles.lua") -- its path
--- print(script.find "none.lua") -- nil and a message
function M.find(path)
  local found, message = io.open(path)
  local installed = ("%s/scripts/%s"):format(cl.home, path)
  if not found and path:sub(1, 1) ~= "/" then
    path, found = installed, io.open(installed)
  end
  if not found then
    return nil, message
  end
  found:close()
  return path
end

--- script.call(path, f, ...) -> results of f
--- Calls f(...) with `arg` as for the script at `path`, and with the modules
--- beside the script in reach of `require`.
--- Example:
--- print(script.call("my.lua", function(n) return arg[0], n end, 512))
function M.call(path, f, ...)
  local args = rawget(_G, "arg")
  local _ <close> = setmetatable({}, {__close = function()
    _G.arg = args
  end})
  _G.arg = {[0] = path, ...}
  local folder = path:match("^(.*)/[^/]*$")
  local _ <close> = search.beside(folder == "" and "/" or folder or ".")
  return f(...)
end

--- script.size(text) -> integer, or nil and a message
--- A size from the command line, for `convert` of argparse: "512", "4k". At
--- most 2147483647, as kernels count in 32 bits.
--- Example: print(script.size "4k") --> 4096
function M.size(text)
  local digits, unit = text:match("^(%d+)([kKmM]?)$")
  local n = math.tointeger(tonumber(digits))
  local factor = FACTORS[(unit or ""):lower()]
  if n == nil or n < 1 or n > LARGEST // factor then
    return nil, ("a size must be a whole number from 1 to %d, with k or m for "
      .. "1024 or 1024^2; got '%s'"):format(LARGEST, text)
  end
  return n * factor
end

--- script.integer(text) -> integer, or nil and a message
--- A whole number of 64 bits, for `convert` of argparse: "7", "-1".
--- Example: print(script.integer "-7") --> -7
function M.integer(text)
  local n = text:find("^[+-]?%d+$") and math.tointeger(tonumber(text))
  if not n then
    return nil, ("must be a whole number of 64 bits; got '%s'"):format(text)
  end
  return n
end

--- script.shape(text) -> list of integers, or nil and a message
--- Sizes joined by x, for `convert` of argparse: "512", "127x65x33".
--- Example: print(script.shape("127x65x33")[2]) --> 65
function M.shape(text)
  local sizes = {}
  for part in (text .. "x"):gmatch("(.-)x") do
    local n, message = M.size(part)
    if not n then
      return nil, (part == text or part:find("^%d+[kKmM]?$")) and message
        or ("a shape must be sizes joined by x, such as 127x65x33; got '%s'")
          :format(text)
    end
    sizes[#sizes + 1] = n
  end
  return sizes
end

-- A shape of `count` sizes; a single size stands for all of them.
local function shape_of(text, count, letters)
  local sizes, message = M.shape(text)
  if sizes and #sizes == 1 then
    for i = 2, count do
      sizes[i] = sizes[1]
    end
  elseif sizes and #sizes ~= count then
    return nil, ("a shape must be one size or %d sizes, %s; got '%s'"):format(
      count, letters, text)
  end
  return sizes, message
end

--- script.gemm_shape(text) -> {m, n, k}, or nil and a message
--- "512" for square matrices, or "MxNxK".
--- Example: print(table.concat(script.gemm_shape "512", " ")) --> 512 512 512
function M.gemm_shape(text)
  return shape_of(text, 3, "MxNxK")
end

--- script.matrix_shape(text) -> {m, n}, or nil and a message
--- "512" for a square matrix, or "MxN".
--- Example: print(table.concat(script.matrix_shape "64x32", " ")) --> 64 32
function M.matrix_shape(text)
  return shape_of(text, 2, "MxN")
end

--- script.kernel(family) -> function
--- For `convert` of argparse: a function that returns the name of a rung of
--- the family or of a routine of the host; for other names nil and a message
--- with the nearest name.
--- Example:
--- local convert = script.kernel(gemm)
--- print(convert "tiled") --> tiled
--- print(select(2, convert "tild"))
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
    return nil, base_text.unknown("kernel", name, names)
  end
end

-- A converter of argparse: the path, if it opens in this mode.
local function opens(mode)
  return function(path)
    local file, message = io.open(path, mode)
    if not file then
      return nil, message
    end
    file:close()
    return path
  end
end

--- script.readable(path) -> path, or nil and a message
--- A file that can be read, for `convert` of argparse.
--- Example: print(script.readable "missing.npy" == nil) --> true
M.readable = opens "rb"

--- script.writable(path) -> path, or nil and a message
--- A file that can be written, for `convert` of argparse; a missing file is
--- made.
--- Example: print(script.writable "results.csv") --> results.csv
M.writable = opens "ab"

--- script.fits(parser, what, bytes)
--- Ends the script with 2, before any measurement, if the arguments
--- ("matrices of 512x512") need more than the device's global memory.
--- Example:
--- script.fits(script.parser("mine", ""), "matrices", 3 * 64 * 64 * 4)
function M.fits(parser, what, bytes)
  local memory = cl.device().global_mem_size
  if bytes > memory then
    parser:error(("%s take %s; the device has %s of global memory"):format(
      what, quantity.format(bytes, "B", 3), quantity.format(memory, "B", 3)))
  end
end

--- script.progress(total) -> progress
--- Progress of `total` steps on standard error, see progress.new:
--- `progress:step "tiled tile=16"` before each step, `progress:done()` at the
--- end. Also closes itself: local p <close> = ...
--- Example:
--- local progress <close> = require "clshell.script".progress(3)
--- for i = 1, 3 do
---   progress:step("part " .. i)
--- end
function M.progress(total)
  return require("clshell.base.progress").new{total = total}
end

return M
