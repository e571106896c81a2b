-- shell/commands/manual.lua - the manual page, from the table of options, the
-- facts of --help-all and the options that commands and scripts declare
-- SPDX-License-Identifier: MIT

local report = require "clshell.results.tables"
local subcommands = require "clshell.shell.commands.subcommands"
local usage = require "clshell.shell.commands.usage"

local M = {}

-- Characters that mdoc takes for its own.
local OWN = {["\\"] = "\\e", ["`"] = "\\(ga", ["~"] = "\\(ti", ["^"] = "\\(ha"}

-- A text in mdoc: each sentence on lines of its own, and no word taken for a
-- macro.
local function prose(s)
  s = s:gsub("[\\`~^]", OWN):gsub("%s+", " ")
  local lines = {}
  for sentence in s:gsub("([.?!]) (%u)", "%1\n%2"):gmatch("[^\n]+") do
    for _, line in ipairs(report.wrap(sentence, 76)) do
      lines[#lines + 1] = line:gsub("^[.']", "\\&%0")
    end
  end
  return table.concat(lines, "\n")
end

-- Words as one argument of a macro.
local function quoted(s)
  return '"' .. s:gsub("[\\`~^]", OWN):gsub('"', '""') .. '"'
end

local function say(lines, ...)
  for _, line in ipairs{...} do
    lines[#lines + 1] = line
  end
end

-- A list of options: the names of each, with its value, and its text.
local function items(lines, list, text_of)
  say(lines, ".Bl -tag -width Ds")
  for _, o in ipairs(list) do
    local parts = {}
    for i, name in ipairs(o.names) do
      parts[i] = "Fl " .. name:gsub("^%-", "")
        .. (o.arg and " Ar " .. o.arg or "")
    end
    say(lines, ".It " .. table.concat(parts, " , "), prose(text_of(o)))
  end
  say(lines, ".El")
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
  for _, command in ipairs(subcommands.list()) do
    say(lines, ".Nm", ".Op Ar options", ".Cm " .. command.name,
      ".Op Ar command options")
  end
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
  for _, c in ipairs(subcommands.list()) do
    say(lines, ".Bl -tag -width Ds", (".It Cm %s Oo Ar options Oc%s%s")
      :format(c.name, #c.arguments > 0 and " Ar " or "",
      table.concat(c.arguments, " ")), prose(c.description))
    items(lines, c.options, described)
    say(lines, ".El")
  end
  say(lines, ".Ss Scripts that measure",
    "Scripts take options of their own, after their name; their",
    ".Fl -help", "lists them.", "Those that measure share these:")
  items(lines, subcommands.shared(), described)
end

local function date()
  local at = math.tointeger(tonumber(os.getenv "SOURCE_DATE_EPOCH" or ""))
    or os.time()
  return (os.date("!%B %d, %Y", at):gsub(" 0", " "))
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
  for _, group in ipairs(usage.groups()) do
    say(lines, ".Ss " .. group.title)
    items(lines, group, function(o)
      return o.more
    end)
  end
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
