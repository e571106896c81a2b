-- manual.lua - the manual page, from the table of options and from what the
-- commands on kept runs declare
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local command = require "clshell.cli.store_commands"
local report = require "clshell.report.table"
local words = require "clshell.base.text"

local M = {}

local Entry, Recorder = {}, {}
Entry.__index, Recorder.__index = Entry, Recorder

-- A parser that only notes what is declared to it, as argparse's are told.
local function recorder(name, description)
  return setmetatable({name = name, description = description, options = {},
    arguments = {}}, Recorder)
end

function Recorder:option(names, description, default)
  local entry = setmetatable({names = {}, description = description,
    default = default}, Entry)
  for name in names:gmatch("%S+") do
    entry.names[#entry.names + 1] = name
  end
  entry.arg = names:match("%-%-?([%w-]+)$"):upper()
  self.options[#self.options + 1] = entry
  return entry
end

function Recorder:argument(name, description)
  local entry = setmetatable({arg = name:upper(), description = description},
    Entry)
  self.arguments[#self.arguments + 1] = entry
  return entry
end

function Entry:argname(name)
  self.arg = name
  return self
end

function Entry:choices(list)
  self.values = list
  return self
end

function Entry:convert()
  return self
end

-- What completes the value of an option that scripts or commands declare.
local KINDS = {FILE = "file", TIME = "none", N = "none", PERCENT = "none",
  NAME = "none", TAG = "none"}

--- manual.commands() -> list of {name, description, options, arguments}
--- The commands such as history. An option has `names`, `arg`, `description`
--- and `kind` or `values`, which tell what completes its value.
function M.commands()
  local list = {}
  for i, name in ipairs(command.names) do
    local c = command.declared(name, recorder)
    c.name = name
    for _, o in ipairs(c.options) do
      o.kind = o.names[1] == "--device" and "device" or KINDS[o.arg]
    end
    list[i] = c
  end
  return list
end

--- manual.shared() -> list of options
--- The options that all scripts share which measure.
function M.shared()
  local r = recorder("")
  require("clshell.report.output").options(r)
  for _, o in ipairs(r.options) do
    o.kind = KINDS[o.arg]
  end
  return r.options
end

-- A text as mdoc has it: a sentence on lines of its own, nothing taken for a
-- macro.
local function prose(s)
  s = s:gsub("\\", "\\e"):gsub("`", "\\(ga"):gsub("~", "\\(ti")
    :gsub("%^", "\\(ha"):gsub("%s+", " ")
  local lines = {}
  for sentence in s:gsub("([.?!]) (%u)", "%1\n%2"):gmatch("[^\n]+") do
    for _, line in ipairs(report.wrap(sentence, 76)) do
      lines[#lines + 1] = line:gsub("^[.']", "\\&%0")
    end
  end
  return table.concat(lines, "\n")
end

-- Words as the arguments of a macro.
local function quoted(s)
  s = s:gsub("\\", "\\e"):gsub('"', '""'):gsub("~", "\\(ti")
    :gsub("`", "\\(ga"):gsub("%^", "\\(ha")
  return '"' .. s .. '"'
end

local function say(lines, ...)
  for _, line in ipairs{...} do
    lines[#lines + 1] = line
  end
end

-- An entry of a list of options: its names, each with its value.
local function item(lines, names, arg, text)
  local parts = {}
  for i, name in ipairs(names) do
    parts[i] = "Fl " .. name:gsub("^%-", "") .. (arg and " Ar " .. arg or "")
  end
  say(lines, ".It " .. table.concat(parts, " , "), prose(text))
end

local function facts(lines, title, macro, list)
  say(lines, ".Sh " .. title)
  if title == "EXIT STATUS" then
    say(lines, "The exit code is one of:")
  end
  say(lines, ".Bl -tag -width Ds")
  for _, fact in ipairs(list) do
    say(lines, (".It %s %s"):format(macro, macro == "Pa" and fact.name
      :gsub("~", "\\(ti") or fact.name), prose(fact.text))
  end
  say(lines, ".El")
end

local function synopsis(lines)
  say(lines, ".Sh SYNOPSIS", ".Nm", ".Op Ar options",
    ".Op Ar script Op Ar argument ...")
  for _, name in ipairs(command.names) do
    say(lines, ".Nm", ".Op Ar options", ".Cm " .. name,
      ".Op Ar command options")
  end
end

local function options(lines, list)
  local group
  for _, o in ipairs(list) do
    local title = o.group or "For programs"
    if title ~= group then
      if group then
        say(lines, ".El")
      end
      say(lines, ".Ss " .. title, ".Bl -tag -width Ds")
      group = title
    end
    local names = {o.letter and "-" .. o.letter, o.name and "--" .. o.name}
    if not names[1] then
      names = {names[2]}
    end
    item(lines, names, o.arg, o.more)
  end
  say(lines, ".El")
end

local function described(o)
  local text = o.description
  text = text:sub(1, 1):upper() .. text:sub(2)
  if o.values and not text:find(o.values[1], 1, true) then
    text = text .. ": " .. table.concat(o.values, ", ")
  end
  return text .. "."
end

local function commands(lines)
  say(lines, ".Ss Commands", "Benches are kept with their samples.",
    "These commands read what is kept; each has", ".Fl -help .")
  for _, c in ipairs(M.commands()) do
    local line = ".It Cm " .. c.name
    say(lines, ".Bl -tag -width Ds", line .. " Oo Ar options Oc"
      .. (#c.arguments > 0 and " Ar" or ""))
    for _, a in ipairs(c.arguments) do
      lines[#lines] = lines[#lines] .. " " .. a.arg
    end
    say(lines, prose(c.description), ".Bl -tag -width Ds")
    for _, o in ipairs(c.options) do
      item(lines, o.names, o.arg, described(o))
    end
    say(lines, ".El", ".El")
  end
  say(lines, ".Ss Scripts that measure",
    "Scripts take options of their own, after their name; their",
    ".Fl -help", "lists them.", "Those that measure share these:",
    ".Bl -tag -width Ds")
  for _, o in ipairs(M.shared()) do
    item(lines, o.names, o.arg, described(o))
  end
  say(lines, ".El")
end

local function date()
  local at = math.tointeger(tonumber(os.getenv "SOURCE_DATE_EPOCH" or ""))
    or os.time()
  local months = {"January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December"}
  local t = os.date("!*t", at)
  return ("%s %d, %d"):format(months[t.month], t.day, t.year)
end

--- manual.page() -> string
--- The manual page of clshell, in mdoc.
function M.page()
  local t = require "clshell.optiontable"
  local lines = {'.\\" Made by clshell --manual man from its table of '
    .. "options.", ".Dd " .. date(), ".Dt CLSHELL 1", ".Os", ".Sh NAME",
    ".Nm clshell", ".N" .. "d write, run and tune OpenCL kernels from Lua"}
  synopsis(lines)
  say(lines, ".Sh DESCRIPTION", ".Nm",
    "runs Lua scripts, or a prompt for Lua, that measure OpenCL kernels.",
    "A script is looked up by its path, then among the installed scripts;",
    "what follows its name is its own, in", ".Va arg", "and in", ".Li ... .",
    "Without a script it opens the interactive shell, or, without a terminal,",
    "runs standard input, as it does for the script", ".Sq - .",
    "In the shell", ".Ic ?tutorial", "is the place to start, and",
    ".Ic ?name", "tells of any function.")
  options(lines, t.options)
  commands(lines)
  facts(lines, "ENVIRONMENT", "Ev", t.environment)
  facts(lines, "FILES", "Pa", t.files)
  facts(lines, "EXIT STATUS", "Li", t.exits)
  say(lines, ".Sh EXAMPLES")
  for _, fact in ipairs(t.examples) do
    say(lines, prose(fact.text:sub(1, 1):upper() .. fact.text:sub(2) .. ":"),
      ".Dl " .. quoted(fact.name))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- manual.run(kind) -> exit code
--- Prints what make install installs: "man", or the completion for "bash",
--- "zsh" or "fish".
function M.run(kind)
  local completion = require "clshell.cli.completion"
  if kind == "man" then
    io.write(M.page())
  elseif completion[kind] then
    io.write(completion[kind]())
  else
    io.stderr:write("clshell: ", words.unknown("manual", kind, {"man", "bash",
      "zsh", "fish"}), "\n")
    return 2
  end
  return 0
end

local WORDS = {}

function WORDS.device()
  local list, seen = {}, {}
  local devices = cl.devices()
  for _, key in ipairs{"type", "name"} do
    for _, d in ipairs(devices) do
      local word = tostring(d[key])
      if not seen[word] then
        list[#list + 1], seen[word] = word, true
      end
    end
  end
  return list
end

function WORDS.script()
  return require("clshell.cli.actions").scripts()
end

function WORDS.command()
  return command.names
end

function WORDS.format()
  return require("clshell.optiontable").formats
end

function WORDS.option()
  local list = {}
  for _, o in ipairs(require("clshell.optiontable").options) do
    list[#list + 1] = o.letter and "-" .. o.letter
    list[#list + 1] = o.name and o.group and "--" .. o.name
  end
  return list
end

--- manual.complete(kind) -> exit code
--- Prints the words of a kind (device, script, command, format, option), one
--- a line, for the completions of shells.
function M.complete(kind)
  if not WORDS[kind] then
    local kinds = {}
    for name in pairs(WORDS) do
      kinds[#kinds + 1] = name
    end
    table.sort(kinds)
    io.stderr:write("clshell: ", words.unknown("words", kind, kinds), "\n")
    return 2
  end
  for _, word in ipairs(WORDS[kind]()) do
    io.write(word, "\n")
  end
  return 0
end

return M
