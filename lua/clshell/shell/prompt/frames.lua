-- shell/prompt/frames.lua - the calls that led to an error: the user's,
-- repeats folded, or all of them
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.errors.excerpt"
local printable = require "clshell.shell.prompt.printable"
local text = require "clshell.base.text"

local M = {}

--- frames.HEAD
--- The count of innermost frames that src/shell/traceback.c keeps.
M.HEAD = 60

local PERIOD = 4  -- frames of the longest cycle that is folded
local VARS = 12   -- variables shown of a frame
local WIDTH = 48  -- columns of a string

--- frames.user(frame) -> boolean
--- Whether a frame is the user's: a Lua function that is not clshell's own.
function M.user(frame)
  return frame.line ~= nil and frame.line > 0
    and not excerpt.own(frame.source)
end

-- "in f", or nothing for a chunk itself.
local function inside(frame)
  if frame.what == "main" or frame.what == "C" and not frame.name then
    return ""
  elseif frame.namewhat == "metamethod" then
    return (", in metamethod '%s'"):format(frame.name)
  elseif frame.name and frame.name:find("^[%a_][%w_]*$") then
    return ", in " .. frame.name
  end
  return frame.defined < 0 and ""
    or (", in the function of line %d"):format(frame.defined)
end

--- frames.place(frame) -> string
--- "file:line, in f"
function M.place(frame)
  return ("%s:%d%s"):format(excerpt.name(frame.source, frame.short),
    frame.line, inside(frame))
end

-- Whether a frame repeats one of the few frames before place i of a list.
local function repeated(frame, list, i)
  for j = math.max(1, i - PERIOD), i - 1 do
    if not list[j].skip and frame.source == list[j].source
        and frame.line == list[j].line and inside(frame) == inside(list[j])
    then
      return true
    end
  end
  return false
end

-- A list of frames; {more = n} stands for n frames that repeat the few frames
-- before them. Levels left out of a long repetition belong to it.
local function fold(list)
  local out, i = {}, 1
  while list[i] do
    local shown, more, j = #out + 1, 0, i
    while list[j] and (list[j].skip and more > 1 or not list[j].skip
        and repeated(list[j], out, shown)) do
      more, j = more + (list[j].skip or 1), j + 1
    end
    if more > 2 then
      out[shown], i = {more = more}, j
    else
      out[shown], i = list[i], i + 1
    end
  end
  return out
end

local function describe(frame)
  if frame.more then
    return ("  ... %d more"):format(frame.more)
  elseif frame.skip then
    return ("  ... %d levels left out"):format(frame.skip)
  end
  return "  called from " .. M.place(frame)
end

--- frames.callers(list, from, most) -> list of strings
--- The user's frames of a list from place `from` on, a line each: at most the
--- first `most`, and the last. The place before, of the error itself, belongs
--- to a repetition, too.
function M.callers(list, from, most)
  local mine, lines = {}, {}
  for i = math.max(1, from - 1), #list do
    if list[i].skip or M.user(list[i]) then
      mine[#mine + 1] = list[i]
    end
  end
  mine = fold(mine)
  if from > 1 then
    table.remove(mine, 1)
  end
  for i, frame in ipairs(mine) do
    if i <= most or i == #mine then
      lines[#lines + 1] = describe(frame)
    elseif i == #mine - 1 then
      lines[#lines + 1] = ("  ... %d more calls"):format(#mine - 1 - most)
    end
  end
  return lines
end

-- A value in a few characters; no metamethod runs.
local function short(kind, value)
  if kind == "string" or kind == "number" or kind == "boolean"
      or kind == "nil" then
    return kind == "string" and printable.quote(value, WIDTH)
      or tostring(value)
  elseif value == nil then
    return kind .. " (collected)"
  elseif kind == "table" then
    local n = 0
    for _ in next, value do
      n = n + 1
    end
    return ("table of %d"):format(n)
  end
  return kind == "userdata" and text.class(value) or kind
end

-- "x = 5, t = table of 3": the variables of a frame, the innermost first.
local function variables(frame)
  local words = {}
  for i = #frame.vars, 1, -1 do
    local name = frame.vars[i]
    if #words < VARS and name ~= "_ENV" and name ~= "_tail_" then
      words[#words + 1] = ("%s = %s"):format(name,
        short(frame.vars[name], frame.values[name]))
    end
  end
  return table.concat(words, ", ")
end

--- frames.settle(list)
--- Words the variables of the user's frames, and lets go of their values.
function M.settle(list)
  for _, frame in ipairs(list) do
    if frame.vars then
      frame.shown = not excerpt.own(frame.source) and variables(frame) or nil
      frame.values, frame.vars = nil, nil
    end
  end
end

-- The lines about one frame of a full traceback.
local function frame_lines(lines, frame, width)
  local what = frame.what == "C" and "[C]"
    or ("%s:%d"):format(excerpt.name(frame.source, frame.short), frame.line)
  lines[#lines + 1] = ("  %s%s%s"):format(what, inside(frame),
    frame.tail and ", by a tail call" or "")
  if frame.line <= 0 then
    return
  end
  local source = excerpt.source(frame.source)
  for _, line in ipairs(source and excerpt.show(source, frame.line,
      {width = width and width - 2}) or {}) do
    lines[#lines + 1] = "  " .. line
  end
  if frame.shown and frame.shown ~= "" then
    lines[#lines + 1] = "         | " .. frame.shown
  end
end

--- frames.all(list [, width]) -> list of strings
--- Every frame with its source line and, of the user's, the variables.
function M.all(list, width)
  local lines = {"traceback, the innermost call first:"}
  for _, frame in ipairs(fold(list)) do
    if frame.more or frame.skip then
      lines[#lines + 1] = describe(frame)
    else
      frame_lines(lines, frame, width)
    end
  end
  return lines
end

return M
