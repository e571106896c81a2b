-- shell/commands/judge_command.lua - the command `clshell judge`: a verdict on
-- each kernel that is handed in for a task, and the board
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local export = require "clshell.results.export"
local file = require "clshell.base.file"

local OK, FAILED = 0, 1 -- exit codes

local function seed(word)
  local n = math.tointeger(tonumber(word))
  return n, not n and ("a seed must be a whole number; got '%s'"):format(word)
    or nil
end

local function format_option()
  return {"-f --format", "how to print", choices = {"table", "html",
    table.unpack(export.formats)}}
end

local COMMAND = {"Judges kernels for a task: RIGHT, WRONG, INVALID, SLOW or "
  .. "UNCLEAR, with points and reasons. Without submissions it shows the "
  .. "task.",
  epilog = "Exit code 0: all are RIGHT. At the prompt ?task tells "
    .. "what a task's file has, ?judge what is judged, and how.",
  arguments = {
    {"task", "file of the task", files = true},
    {"submissions", "files of OpenCL C, and folders of them", "FILE",
      args = "*", files = true}},
  options = {format_option,
    {"-o --output", "file to write; a name that ends in .html, .json, .csv or "
      .. ".md tells the format", "FILE"},
    {"--repro", "one run again, as a failure prints it", "SIZE:SEED"},
    {"--seed", "of all inputs and orders, as a board prints it", "N", seed},
    {"--store", "file of the run store", "FILE"}}}

function COMMAND.run(o)
  local judge = require "clshell.judge"
  local said = cl.commandline or {}
  local path = o.output or said.output
  local format = o.format or path and path:match "%.(%w+)$" or said.format
  if #o.submissions == 0 then
    local task = require "clshell.judge.task".load(o.task)
    io.write(tostring(task), "\n", task:skeleton_text())
    return OK
  elseif o.store then
    require "clshell.results.store".use(o.store)
  end
  local out = path and (io.open(path, "ab") or cl.error("cannot write the "
    .. "board to " .. path)) -- before a class is judged, not after it
  if out then
    out:close()
  end
  local board = judge(o.task, o.submissions, {repro = o.repro, seed = o.seed})
  file.write(path or io.stdout, board:text(format), "the board")
  if path and not said.quiet then
    io.write(tostring(board), "\n")
  end
  return board.ok and OK or FAILED
end

return COMMAND
