-- ladder/binary_cache.lua - the binaries of programs as files, so that another
-- process need not compile. It is for drivers that keep no builds themselves.
-- PoCL keeps its builds: a kernel takes 170 ms in the first process and 40 ms
-- in another one. From this cache it takes 4 ms there, but 700 ms in the first
-- process, as PoCL makes a binary by compiling again.
-- SPDX-License-Identifier: MIT
--
-- The folder has a fixed number of places. The key of a program names its
-- place, and the program replaces an earlier one there: so the folder stays
-- below 256 MB, and nobody has to clean it. The key is a hash of the text, the
-- included files, the defines, the options, the device and its driver.

local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local file = require "clshell.base.file"
local folder = require "clshell.base.folder"
local interrupt = require "clshell.base.interrupt"
local system = require "clshell.system"

local M = {}

local PLACES = 512
local LARGEST = 1 << 19    -- bytes of a file
local FORMAT = "<s4s4s4s4" -- a sum of key, parameters and log; parameters;
                           -- log; the binary, which has a sum of its own

-- identity of a device -> true: its binaries lose the parameters of kernels
local unfit = {}

-- The parameters of a program's kernels as text.
local function signature(program)
  local words = {}
  for _, name in ipairs(program:kernels()) do
    words[#words + 1] = name
    for _, a in ipairs(program:kernel(name).args) do
      words[#words + 1] = ("%s %s %s %s"):format(a.type, a.name, a.space,
        a.const)
    end
  end
  return table.concat(words, "\n")
end

-- The folder of the cache with its slash, or nil.
local function place()
  local parent = folder.of "CACHE"
  return parent and parent .. "/programs/"
end

local function path_of(key)
  return ("%s%03x"):format(place(), tonumber(key:sub(1, 8), 16) % PLACES)
end

-- The parameters, the log and the binary under a key, or nil.
local function load_kept(key)
  local f <close> = place() and io.open(path_of(key), "rb")
  local ok, sum, parameters, log, binary = pcall(string.unpack, FORMAT,
    f and f:read "a" or "")
  if ok and sum == cachefile.hash(key .. parameters .. log) then
    return {parameters = parameters, log = log, binary = binary}
  end
end

-- Writes a program to the folder; a folder or a disk that refuses is no error.
local function save(key, program)
  local ok, binary = pcall(program.binary, program)
  if not ok or #binary > LARGEST or not place() then
    return
  end
  local parameters, log = signature(program), program.log
  if system.private(place()) then
    file.replace(path_of(key), FORMAT:pack(cachefile.hash(key .. parameters
      .. log), parameters, log, binary), "the binary")
  end
end

--- binary_cache.build(source, opts) -> Program
--- Builds a program as cl.build does, from the binary of an earlier build
--- where there is one. A binary is not used if it is damaged, if the driver
--- refuses it or if it loses the parameters of kernels. opts must name the
--- context.
function M.build(source, opts)
  local identity = cachefile.identity(opts.context.device)
  if unfit[identity] then
    return cl.build(source, opts)
  end
  local key, kept
  function opts.binary(hash)
    key = cachefile.hash(hash .. identity)
    kept = load_kept(key)
    if kept then
      return kept.binary, kept.log
    end
  end
  local ok, program = pcall(cl.build, source, opts)
  opts.binary = nil
  if not ok and (not kept or interrupt.is(program)) then
    error(program, 0)
  end
  if ok and kept then
    if signature(program) == kept.parameters then
      return program
    end
    unfit[identity] = true
    program:close()
  end
  if kept then
    program = cl.build(source, opts)
  end
  if not unfit[identity] then
    save(key, program)
  end
  return program
end

return M
