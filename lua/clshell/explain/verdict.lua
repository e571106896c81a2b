-- explain/verdict.lua - the findings of a check, which print as the messages
-- of a failed build do
-- SPDX-License-Identifier: MIT

local build_error = require "clshell.errors.build_error"
local excerpt = require "clshell.errors.excerpt"
local oclgrind = require "clshell.explain.oclgrind"
local replay = require "clshell.explain.replay"
local system = require "clshell.system"
local text = require "clshell.base.text"
local user_source = require "clshell.errors.user_source"

local M = {}

local BLIND = ("without the simulator only writes next to Buffers are seen, "
  .. "within %s; reads outside, races, barriers and values that were never "
  .. "written are not"):format(text.bytes(replay.BAND))

local Check = {__name = "check"}
Check.__index = Check

--- verdict.build(program) -> table
--- The source of a program as build_error wants it.
function M.build(program)
  local path = program.file
  local source = path and excerpt.read(path) or program.source
  return {source = source, program = program:info().name, log = "",
    is_text = not path, literal = not path and user_source.literal(source)
    or nil}
end

-- A finding as lines: its message and the source, as of a failed build.
local function lines_of(f, build)
  local d = {kind = "error", text = f.text, line = f.line, column = f.column,
    file = f.file, notes = {}, also = {}}
  local o = f.other
  if o and o.line and (o.line ~= f.line or o.column ~= f.column) then
    d.notes[1] = {kind = "note", text = o.text, line = o.line,
      column = o.column, file = o.file, notes = {}, also = {}}
  end
  local lines = f.line and build_error.lines(build, {d})
    or {"error: " .. f.text}
  if f.times and f.times > 1 then
    lines[#lines + 1] = ("  %s%d times%s"):format(f.times >= oclgrind.ERRORS
      and "at least " or "", f.times, f.who and ", first by " .. f.who or "")
  elseif f.who then
    lines[#lines + 1] = "  by " .. f.who
  end
  if f.at then
    lines[#lines + 1] = text.fold("  at " .. table.concat(f.at, "; "),
      build.width or 80)
  end
  return lines
end

function Check:__tostring()
  local width = system.winsize(1)
  local head = table.move(self.head, 1, #self.head, 1, {})
  local lines = {}
  for _, f in ipairs(self.findings) do
    local build = f.build or self.build or {} -- a crash may have none
    build.width = width
    table.move(lines_of(f, build), 1, 99, #lines + 1, lines)
  end
  local notes = self.blind and {"note: " .. BLIND .. (oclgrind.driver() and ""
    or "; it is a package: " .. oclgrind.PACKAGES)} or {}
  for _, list in ipairs{head, notes} do
    for i, line in ipairs(list) do
      list[i] = text.fold(line, width or 80)
    end
  end
  table.move(lines, 1, #lines, #head + 1, head)
  return table.concat(table.move(notes, 1, #notes, #head + 1, head), "\n")
end

--- verdict.new(fields) -> check
--- A result of check: `head`, its first lines, findings, `build` (see
--- verdict.build; the build of a finding wins), blind (whether guard bands,
--- which miss much, made it), and any further fields.
function M.new(fields)
  return setmetatable(fields, Check)
end

--- verdict.count(list) -> string
--- "2 findings", of a list.
function M.count(list)
  return #list == 0 and "no finding" or text.count(#list, "finding")
end

--- verdict.of(launch, added, list, looked) -> check
--- The findings `list` of a launch; `added` is the launch as the job has it,
--- `looked` ends the first line.
function M.of(launch, added, list, looked)
  return M.new{kernel = added.kernel, global = added.global,
    localsize = added.localsize, findings = list, ok = #list == 0,
    build = M.build(launch.kernel.program),
    head = {("check: %s in %s over %s, local %s%s"):format(M.count(list),
      added.kernel, text.shape(added.global), added.localsize
      and text.shape(added.localsize) or "left to the driver", looked)}}
end

return M
