-- errors/user_source.lua - a place of a compiler's log as a place in the
-- user's own files: the kernel file, a file that it includes, or the Lua code
-- that holds the kernel's text
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.errors.excerpt"
local position = require "clshell.base.text".position

local M = {}

local LEVELS = 200 -- callers to look for the kernel's text in
local SHORT = 8    -- bytes of a text too short to be found in another

-- The names, without folder, that compilers give to the source.
local SOURCE_NAMES = {"^$", "^%d+$", "^<kernel>$", "^<program source>$",
  "^<source>$", "^<stdin>$", "^input%.cl$", "^tempfile[%w_]*%.cl$",
  "^OCL[%w_]*%.cl$", "^OCL.*%.tmp%.cl$", "^CompileSource$",
  "^t_%d+_%d+%.cl$", "^program%.cl$", "^source%.cl$"}

-- user_source.names_source(base) -> true, or nil
-- Whether a name without folder is one that compilers give to the source.
function M.names_source(base)
  for _, pattern in ipairs(SOURCE_NAMES) do
    if base:find(pattern) then
      return true
    end
  end
end

local function includes(source, base)
  for name in source:gmatch('#%s*include%s*["<]([^">\n]+)[">]') do
    if name:match("[^/]*$") == base then
      return true
    end
  end
  return false
end

-- The text of an included file; nil where the user cannot open it: a header of
-- the compiler, or a macro.
local function included_text(build, file)
  build.texts = build.texts or {}
  if build.texts[file] == nil then
    build.texts[file] = excerpt.read(file) or false
  end
  return build.texts[file] or nil
end

-- Whether a place lies in the source itself, not in an included file.
local function in_source(build, d)
  local file = d.file
  local base = file:match("[^/\\]*$")
  if includes(build.source, base) then
    return false
  elseif M.names_source(base) then
    return true
  elseif file:find("^<") then -- <scratch space>, <command line>
    return false
  end
  local other = included_text(build, file)
  if other then
    return other == build.source
  end
  return not d.included and not file:find("%.%a*h%a*$")
end

-- Calls fn(chunk, info) for the text of every chunk that is running, the
-- innermost first, until it returns something.
local function each_chunk(fn)
  local seen = {}
  for level = 2, LEVELS do
    local info = debug.getinfo(level, "Sl")
    if not info then
      return nil
    end
    if info.currentline > 0 and not seen[info.source]
        and not excerpt.own(info.source) then
      seen[info.source] = true
      local chunk = excerpt.source(info.source)
      local found = chunk and fn(chunk, info)
      if found then
        return found
      end
    end
  end
end

--- user_source.literal(source) -> {name, line, column} or nil
--- The place of a text in the running Lua code, as of a long string: the
--- chunk's name, line and column of its first byte, from 0.
function M.literal(source)
  if #source < SHORT then
    return nil
  end
  return each_chunk(function(chunk, info)
    local best
    local at = chunk:find(source, 1, true)
    while at do
      local line, column = position(chunk, at)
      if not best or line <= info.currentline then
        best = {name = excerpt.name(info.source, info.short_src),
          line = line - 1, column = column - 1}
      end
      at = chunk:find(source, at + 1, true)
    end
    return best
  end)
end

-- The place of one line of a source that was put together from pieces; nil
-- where the line occurs more than once. The user's line may lack a semicolon.
local function find_line(line)
  local indent, s = line:match("^(%s*)(.-)%s*$")
  local without = s:match("^(.-)%s*;$")
  return each_chunk(function(chunk, info)
    for _, text in ipairs{s, without} do
      local at = #text >= SHORT and chunk:find(text, 1, true)
      if at and not chunk:find(text, at + 1, true) then
        local n, column = position(chunk, at)
        return {name = excerpt.name(info.source, info.short_src), line = n,
          column = column - 1 - #indent}
      end
    end
  end)
end

--- user_source.numbered(source [, accepts]) -> list
--- The lines of a source as its #line directives number them: {text, line,
--- file (nil before a directive with a name), directive (whether the line is a
--- directive), named (whether a directive stands before it)}. accepts(name)
--- tells whether a directive with that name counts; without it each does.
function M.numbered(source, accepts)
  local list, file, line, named = {}, nil, 1, false
  for text in source:gmatch("([^\n]*)\n?") do
    local number, name = text:match('^%s*#%s*line%s+(%d+)%s*"?([^"\r]*)')
    if not number then
      number, name = text:match('^%s*#%s*(%d+)%s+"([^"]*)"')
    end
    list[#list + 1] = {text = text:match "^[^\r]*", file = file, line = line,
      named = named, directive = number ~= nil}
    line = line + 1
    if number and (not accepts or accepts(name)) then
      file, line, named = name ~= "" and name or file, tonumber(number), true
    end
  end
  return list
end

local function alike(text, n, quoted)
  return excerpt.alike(excerpt.line(text, n), quoted)
end

-- The file and the number of the line that has a diagnostic's place by #line
-- directives; nil without directives, and where the log's quote shows that the
-- compiler ignores them.
local function directed(build, d)
  if d.quoted and alike(build.source, d.line, d.quoted) then
    return nil
  end
  build.numbered = build.numbered or M.numbered(build.source)
  for n, place in ipairs(build.numbered) do
    if place.named and not place.directive and place.line == d.line
        and (place.file == d.file
          or not place.file and in_source(build, d)) then
      return n, place.file
    end
  end
end

-- Calls fn for all places of diagnostics, and of their notes.
local function each_place(list, fn)
  for _, d in ipairs(list) do
    fn(d)
    each_place(d.also or {}, fn)
    each_place(d.included or {}, fn)
    each_place(d.notes or {}, fn)
  end
end

--- user_source.renumber(list, source, given)
--- Gives diagnostics the lines of the user's files where the compiler counts
--- the lines of the text it got and ignores #line directives (NVIDIA's does):
--- its quotes of source lines show that.
function M.renumber(list, source, given)
  if not given or given == source then
    return
  end
  local ignores = false
  each_place(list, function(d)
    ignores = ignores or d.line and d.quoted and M.names_source(d.file)
      and alike(given, d.line, d.quoted)
      and not alike(source, d.line, d.quoted)
  end)
  -- clshell's own directives: before the source, and around included files
  local places = ignores and M.numbered(given, function(name)
    return name:find "^<" or excerpt.read(name)
  end)
  each_place(ignores and list or {}, function(d)
    local place = d.line and M.names_source(d.file) and places[d.line]
    if place then
      d.file, d.line = place.file or "<kernel>", place.line
    end
  end)
end

--- user_source.untranslate(list, column)
--- Gives diagnostics of a translated text, whose lines are the user's lines,
--- the columns of the user's text: column(line, column).
function M.untranslate(list, column)
  each_place(list, function(d)
    if d.line and d.file and M.names_source(d.file:match "[^/\\]*$") then
      d.column = d.column and column(d.line, d.column)
      d.quoted, d.marks = nil, nil
    end
  end)
end

-- A place in the source itself.
local function own_place(build, line, column)
  local place = {name = build.program, line = line, column = column,
    text = build.source, n = line}
  local literal = build.literal
  if literal then
    place.name, place.line = literal.name, literal.line + line
    if line == 1 and column then
      place.column = column + literal.column
    end
    return place
  end
  local text = build.is_text and excerpt.line(build.source, line)
  local found = text and find_line(text)
  if found then
    place.name, place.line, place.alone = found.name, found.line, true
    place.column = column and column + found.column
  end
  return place
end

--- user_source.resolve(build, place) -> table or nil
--- The user's place for a place {file, line, column} of a compiler's log:
--- {name, line, column, text, n}, its line being line n of the text (nil for
--- an unreadable file); `alone` where the lines around it have other numbers.
--- nil for a place without a line. `build`: as in build_error.lines.
function M.resolve(build, d)
  if not d.line then
    return nil
  end
  local n, file = directed(build, d)
  if n and not file then
    return own_place(build, n, d.column)
  elseif n then
    return {name = d.file, line = d.line, column = d.column,
      text = build.source, n = n, alone = true}
  elseif in_source(build, d) then
    return own_place(build, d.line, d.column)
  end
  local name = d.file:gsub("^%./", "")
  return {name = name, line = d.line, column = d.column,
    text = included_text(build, d.file), n = d.line}
end

return M
