-- origin.lua - where a place that an OpenCL compiler names lies for the user:
-- in their kernel file, in a file that it includes, or in the Lua code that
-- holds the kernel's text
-- Module cl carries a copy of this file, for interpreters that have no other
-- part of clshell.
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.excerpt"

local M = {}

local LEVELS = 200 -- callers to look for the kernel's text in
local SHORT = 8    -- bytes of a text too short to be found in another

-- Names that compilers give to the source that they were handed.
local function names_source(file)
  local base = file:match("[^/\\]*$")
  if file == "" or file:find("^%d+$") or file:find("^<kernel>$")
      or file:find("^<program source>$") or file:find("^<source>$")
      or file:find("^<stdin>$") then
    return true
  end
  for _, pattern in ipairs{"^input%.cl$", "^tempfile[%w_]*%.cl$",
      "^OCL[%w_]*%.cl$", "^OCL.*%.tmp%.cl$", "^CompileSource$",
      "^t_%d+_%d+%.cl$", "^program%.cl$", "^source%.cl$"} do
    if base:find(pattern) then
      return true
    end
  end
  return false
end

local function includes(source, base)
  for name in source:gmatch('#%s*include%s*["<]([^">\n]+)[">]') do
    if name:match("[^/]*$") == base then
      return true
    end
  end
  return false
end

-- The text of an included file; nil for what the user cannot open: the
-- compiler's own headers, and macros.
local function included_text(job, file)
  if job.texts[file] == nil then
    job.texts[file] = excerpt.read(file) or false
  end
  return job.texts[file] or nil
end

-- Whether a place lies in the source itself, not in what it includes.
local function in_source(job, d)
  local file = d.file
  local base = file:match("[^/\\]*$")
  if includes(job.source, base) then
    return false
  elseif names_source(file) then
    return true
  elseif file:find("^<") then -- <scratch space>, <command line>
    return false
  end
  local other = included_text(job, file)
  if other then
    return other == job.source
  end
  return not d.included and not file:find("%.%a*h%a*$")
end

-- The number of line breaks in text before byte `at`, and the bytes of the
-- line in front of it.
local function position(chunk, at)
  local before = chunk:sub(1, at - 1)
  local _, breaks = before:gsub("\n", "")
  return breaks, #before:match("[^\n]*$")
end

-- Calls fn(chunk, info) for the text of every chunk that is running, the
-- innermost first, until it returns something.
local function each_chunk(fn)
  local seen = {}
  for level = 2, LEVELS do
    local info = debug and debug.getinfo(level, "Sl")
    if not info then
      return nil
    end
    if info.currentline > 0 and not seen[info.source]
        and not info.source:find("lua/clshell/", 1, true) then
      seen[info.source] = true
      local chunk = excerpt.source(info.source)
      local found = chunk and fn(chunk, info)
      if found then
        return found
      end
    end
  end
end

local function chunk_name(info)
  return info.source:sub(1, 1) == "@" and info.source:sub(2)
    or info.short_src
end

--- origin.literal(source) -> {name, line, column} or nil
--- Where a text stands in the Lua code that is running, as it does in a long
--- string: the chunk's name, line and column of its first byte, from 0.
function M.literal(source)
  if #source < SHORT then
    return nil
  end
  return each_chunk(function(chunk, info)
    local best
    local at = chunk:find(source, 1, true)
    while at do
      local line, column = position(chunk, at)
      if not best or line < info.currentline then
        best = {name = chunk_name(info), line = line, column = column}
      end
      at = chunk:find(source, at + 1, true)
    end
    return best
  end)
end

-- Where one line of a source that was put together stands, if just once.
local function find_line(line)
  local s = line:match("^%s*(.-)%s*$")
  if #s < SHORT then
    return nil
  end
  return each_chunk(function(chunk, info)
    local at = chunk:find(s, 1, true)
    if at and not chunk:find(s, at + 1, true) then
      local n, column = position(chunk, at)
      local indent = #line:match("^%s*")
      return {name = chunk_name(info), line = n + 1,
        column = column - indent}
    end
  end)
end

--- origin.resolve(job, place) -> name, line, column, text, n
--- What to call a place {file, line, column} of a compiler's log, and the
--- text that its line is line n of (nil for a file that cannot be read).
--- `job`: source, name, is_text, literal, texts (a cache), as of
--- diagnostic.lines. No name, where the place has no line.
function M.resolve(job, d)
  if not d.line then
    return nil
  elseif not in_source(job, d) then
    local name = d.file:gsub("^%./", "")
    return name, d.line, d.column, included_text(job, d.file), d.line
  elseif not job.is_text then
    return job.name, d.line, d.column, job.source, d.line
  elseif job.literal then
    local place = job.literal
    local shift = d.line == 1 and place.column or 0
    return place.name, place.line + d.line,
      d.column and d.column + shift, job.source, d.line
  end
  local line = excerpt.line(job.source, d.line)
  local place = line and find_line(line)
  if place then
    return place.name, place.line, d.column and d.column + place.column,
      job.source, d.line
  end
  return job.name, d.line, d.column, job.source, d.line
end

return M
