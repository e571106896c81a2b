-- shell/prompt/frames.lua - the calls that led to an error: the user's,
-- repeats folded, or all of them
-- SPDX-License-Identifier: MIT

local excerpt = require "clshell.errors.excerpt"

local M = {}

--- frames.HEAD
--- The count of innermost frames that src/shell/traceback.c keeps.
M.HEAD = 60

local PERIOD = 4  -- functions of the longest cycle that is folded
local VARS = 12   -- variables shown of a frame
local WIDTH = 32  -- bytes shown of a variable

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

local function key(frame)
  return frame.skip and "skip"
    or ("%s:%d%s"):format(frame.source, frame.line, inside(frame))
end

-- The number of frames after i that repeat the cycle of `period` frames from
-- i, and the place of the first frame behind them. Levels left out of a long
-- repetition belong to the repetition.
local function repeats(list, i, period)
  local cycle, skipped = {}, false
  for j = i, i + period - 1 do
    cycle[key(list[j])] = true
  end
  local more, j = 0, i + period
  while list[j] do
    local frame = list[j]
    if frame.skip and more >= period then
      more, skipped = more + frame.skip, true
    elseif not frame.skip and (key(frame) == key(list[j - period])
        or skipped and cycle[key(frame)]) then
      more = more + 1
    else
      break
    end
    j = j + 1
  end
  return more, j
end

-- A list of frames; {more = n} stands for n frames that repeat the few frames
-- before them.
local function fold(list)
  local out, i = {}, 1
  while list[i] do
    local best, more, after = 1, 0, i + 1
    for period = 1, math.min(PERIOD, #list - i) do
      local n, next_one = repeats(list, i, period)
      if n >= 2 * period and n > more then
        best, more, after = period, n, next_one
      end
    end
    table.move(list, i, i + best - 1, #out + 1, out)
    if more > 0 then
      out[#out + 1] = {more = more}
    end
    i = after
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
--- first `most`, and the last.
function M.callers(list, from, most)
  local mine = {}
  for i = from or 1, #list do
    if list[i].skip or M.user(list[i]) then
      mine[#mine + 1] = list[i]
    end
  end
  -- The place of the error belongs to a cycle, too.
  local place = from and from > 1 and list[from - 1]
  if place and not place.skip and M.user(place) then
    table.insert(mine, 1, place)
  end
  local folded = fold(mine)
  if place and folded[1] == place then
    table.remove(folded, 1)
  end
  local lines = {}
  for i, frame in ipairs(folded) do
    if i > most and i < #folded then
      if i == #folded - 1 then
        lines[#lines + 1] = ("  ... %d more calls"):format(#folded - 1 - most)
      end
    else
      lines[#lines + 1] = describe(frame)
    end
  end
  return lines
end

-- A value in a few characters; no metamethod runs.
local function short(kind, value)
  if kind == "string" then
    local s = value:gsub("[\0-\31\127]", "?")
    return #s > WIDTH
      and ('"%s..." (%d bytes)'):format(s:sub(1, WIDTH), #value)
      or ('"%s"'):format(s)
  elseif kind == "number" or kind == "boolean" or kind == "nil" then
    return tostring(value)
  elseif value == nil then
    return kind .. " (collected)"
  elseif kind == "table" then
    local n = 0
    for _ in next, value do
      n = n + 1
    end
    return ("table of %d"):format(n)
  end
  local meta = debug.getmetatable(value)
  local name = type(meta) == "table" and rawget(meta, "__name")
  return kind == "userdata" and type(name) == "string" and name or kind
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
  local text = excerpt.source(frame.source)
  for _, line in ipairs(text and excerpt.show(text, frame.line,
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
