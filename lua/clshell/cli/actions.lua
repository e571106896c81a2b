-- cli/actions.lua - what the command line offers besides scripts and code:
-- each function here takes texts and returns the exit code
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local M = {}

local OK, USAGE = 0, 2

-- The value of an option of clshell itself, such as --format.
local function said(name)
  return cl.commandline and cl.commandline[name]
end

local function human(format)
  return format == nil or format == "table"
end

-- What takes the output: standard output, or the file of -o.
local function opened()
  local path = said "output"
  if not path then
    return io.stdout
  end
  local file, message = io.open(path, "wb")
  if not file then
    io.stderr:write(("clshell: cannot write the results: %s\n"):format(
      message))
    os.exit(USAGE, true)
  end
  return file
end

-- One device as it is listed for programs, in base units.
local DEVICE = {
  {"index", "index"}, {"name", "name"}, {"type", "type"},
  {"platform", "platform"}, {"vendor", "vendor"}, {"version", "version"},
  {"driver", "driver_version"}, {"compute_units", "max_compute_units"},
  {"clock_Hz", "max_clock_frequency", 1000000},
  {"global_mem_B", "global_mem_size"}, {"local_mem_B", "local_mem_size"},
  {"max_work_group_size", "max_work_group_size"},
}

local function listed(d)
  local row = {}
  for _, entry in ipairs(DEVICE) do
    local value = d[entry[2]]
    row[entry[1]] = value and entry[3] and value * entry[3] or value
  end
  row.double = d:has "cl_khr_fp64"
  return row
end

--- tool.devices() -> exit code
--- --devices: one line each, or in the format of --format. No device raises,
--- and says what to install.
function M.devices()
  local devices, format = cl.devices(), said "format"
  if #devices == 0 then
    cl.device()
  end
  local out = opened()
  if human(format) then
    for i, d in ipairs(devices) do
      out:write(("%d  %s  %s  %s  %d units  %.1f GiB\n"):format(i, d.name,
        d.type, d.platform, d.max_compute_units, d.global_mem_size / 2^30))
    end
  else
    local rows, order = {}, {}
    for i, d in ipairs(devices) do
      rows[i] = listed(d)
    end
    for i, entry in ipairs(DEVICE) do
      order[i] = entry[1]
    end
    order[#order + 1] = "double"
    out:write(require("clshell.report.export_values").rows(rows, format,
      order))
  end
  out:flush()
  return OK
end

local printed -- the file of -o, which further -p go to

--- tool.print(...)
--- -p: the values of an expression, in the format of --format.
function M.print(...)
  local format = said "format"
  printed = printed or opened()
  if human(format) then
    local words = table.pack(...)
    for i = 1, words.n do
      words[i] = tostring(words[i])
    end
    if words.n > 0 then
      printed:write(table.concat(words, "\t"), "\n")
    end
  else
    printed:write(require("clshell.report.export_values").text(
      table.pack(...), format))
  end
  printed:flush()
end

--- tool.scripts() -> list of strings
--- The names of the scripts that came along.
function M.scripts()
  local names = {}
  local quote = require("clshell.base.text").quote
  local p <close> = assert(io.popen(("ls %s 2>/dev/null"):format(
    quote(cl.home .. "/scripts"))))
  for name in p:lines() do
    names[#names + 1] = name:match("^.*%.lua$")
  end
  return names
end

-- What there is no script of this name, nor command.
local function missing(name)
  local words = require "clshell.base.text"
  local names, commands = M.scripts(), {}
  for _, command in ipairs(require("clshell.cli.store_commands").names) do
    names[#names + 1], commands[command] = command, true
  end
  local bare = name:match("[^/]*$")
  local near = words.nearest(bare, names)
  for _, known in ipairs(names) do
    near = known == bare .. ".lua" and known or near
  end
  if not near then
    near = words.nearest(bare .. ".lua", names)
  end
  return ("cannot open %s: not there, nor in %s/scripts%s"):format(name,
    cl.home, near and ("; did you mean %s%s?"):format(commands[near]
      and "the command " or "", near) or "")
end

--- tool.command(name, args) -> exit code or message
--- Runs a command such as history, or says that there is none.
function M.command(name, args)
  if name:find("/", 1, true) then
    return missing(name)
  end
  return require("clshell.cli.store_commands").run(name, args) or missing(name)
end

--- tool.doctor() -> exit code
function M.doctor()
  return require("clshell.cli.doctor").run()
end

--- tool.check(script, ...) -> exit code
function M.check(...)
  return require("clshell.cli.check").run(...)
end

--- tool.manual(kind) -> exit code
--- --manual: the manual page or the completion of a shell.
function M.manual(kind)
  return require("clshell.cli.manual").run(kind)
end

--- tool.complete(kind) -> exit code
--- --complete: the words that a shell completes with.
function M.complete(kind)
  return require("clshell.cli.manual").complete(kind)
end

return M
