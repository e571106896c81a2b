-- shell/commands/manual.lua - the manual page, from the table of options, the
-- facts of --help-all and the options that commands and scripts declare
-- SPDX-License-Identifier: MIT

local declared = require "clshell.shell.commands.declared"
local report = require "clshell.results.tables"
local usage = require "clshell.shell.commands.usage"

local M = {}

-- A text in mdoc: each sentence on lines of its own, and no word taken for a
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
    say(lines, (".It %s %s"):format(macro, (fact[1]:gsub("~", "\\(ti"))),
      prose(fact[2]))
  end
  say(lines, ".El")
end

local function synopsis(lines)
  say(lines, ".Sh SYNOPSIS", ".Nm", ".Op Ar options",
    ".Op Ar script Op Ar argument ...")
  for _, command in ipairs(declared.commands()) do
    say(lines, ".Nm", ".Op Ar options", ".Cm " .. command.name,
      ".Op Ar command options")
  end
end

local function options(lines)
  usage.each_group(declared.all(), function(group, list)
    say(lines, ".Ss " .. (group or "For programs"), ".Bl -tag -width Ds")
    for _, o in ipairs(list) do
      item(lines, o.names, o.arg, o.more)
    end
    say(lines, ".El")
  end)
end

local function described(o)
  local text = o.description:gsub("^%l", string.upper)
  if o.values and not text:find(o.values[1], 1, true) then
    text = text .. ": " .. table.concat(o.values, ", ")
  end
  return text .. "."
end

local function commands(lines)
  say(lines, ".Ss Commands", "Benches are kept with their samples.",
    "All commands but", ".Cm tune", "read what is kept; each has",
    ".Fl -help .")
  for _, c in ipairs(declared.commands()) do
    local line = ".It Cm " .. c.name
    say(lines, ".Bl -tag -width Ds", line .. " Oo Ar options Oc"
      .. (#c.arguments > 0 and " Ar" or ""))
    for _, name in ipairs(c.arguments) do
      lines[#lines] = lines[#lines] .. " " .. name
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
  for _, o in ipairs(declared.shared()) do
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
  local lines = {'.\\" Made by clshell --manual man from its table of '
    .. "options.", ".Dd " .. date(), ".Dt CLSHELL 1", ".Os", ".Sh NAME",
    ".Nm clshell", ".N" .. "d " .. usage.PURPOSE}
  synopsis(lines)
  say(lines, ".Sh DESCRIPTION", ".Nm",
    "runs Lua scripts, or a prompt for Lua, that measure OpenCL kernels.",
    "A script is looked up by its path, then among the installed scripts;",
    "what follows its name is its own, in", ".Va arg", "and in", ".Li ... .",
    "Without a script it opens the interactive shell, or, without a terminal,",
    "runs standard input, as it does for the script", ".Sq - .",
    "In the shell", ".Ic ?tutorial", "is the place to start, and",
    ".Ic ?name", "tells of any function.")
  options(lines)
  commands(lines)
  facts(lines, "ENVIRONMENT", "Ev", usage.ENVIRONMENT)
  facts(lines, "FILES", "Pa", usage.FILES)
  facts(lines, "EXIT STATUS", "Li", usage.EXITS)
  say(lines, ".Sh EXAMPLES")
  for _, fact in ipairs(usage.EXAMPLES) do
    say(lines, prose(fact[2]:gsub("^%l", string.upper) .. ":"),
      ".Dl " .. quoted(fact[1]))
  end
  return table.concat(lines, "\n") .. "\n"
end

return M
