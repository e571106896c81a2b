-- diagnostic.lua - a build that failed, in words: what the compiler's log
-- tells, with the user's file or the line of the script where the kernel's
-- text stands, and the source lines
-- Module cl carries a copy of this file, for interpreters that have no other
-- part of clshell.
-- SPDX-License-Identifier: MIT

local buildlog = require "clshell.diagnose.buildlog"
local excerpt = require "clshell.diagnose.excerpt"
local origin = require "clshell.diagnose.user_source"
local text = require "clshell.base.text"

local M = {}

local ERRORS, WARNINGS = 8, 3 -- shown; the whole log is in e.log
local NOTES = 4               -- of one diagnostic
local PLACES = 4              -- of one text
local LINES = 40              -- of a log that is not understood
local OPTIONS = 160           -- bytes of the build options

-- Names of built-in functions, for those misspelt.
local BUILTINS = {
  "get_global_id", "get_local_id", "get_group_id", "get_global_size",
  "get_local_size", "get_num_groups", "get_global_offset", "get_work_dim",
  "barrier", "mem_fence", "vload4", "vstore4", "vload8", "vstore8",
  "atomic_add", "atomic_inc", "atomic_min", "atomic_max", "atomic_cmpxchg",
  "native_exp", "native_sin", "native_cos", "native_sqrt", "native_recip",
  "convert_float", "convert_int", "as_float", "as_int",
}

local function squeezed(s)
  return (s:gsub("%s+", ""))
end

-- The byte ranges that a line of marks underlines, its caret being at byte
-- `column` of the line.
local function ranges_of(d, column)
  local ranges = {}
  local caret = d.marks and d.marks:find("^", 1, true)
  local from = 1
  while caret do
    local first, last = d.marks:find("[~^]+", from)
    if not first then
      break
    end
    ranges[#ranges + 1] = {column + first - caret, column + last - caret}
    from = last + 1
  end
  return ranges
end

-- Without marks: the word at the place, if the message quotes it.
local function word_range(d, line, column)
  local word = line:match("^[%a_][%w_]*", column)
  if word and (d.text:find("'" .. word .. "'", 1, true)
      or d.text:find('"' .. word .. '"', 1, true)) then
    return {{column, column + #word - 1}}
  end
end

-- The text that a message is shown with and its advice: what was meant.
local function advice(job, d)
  local said, meant = d.text:match("^(.-)[;,] did you mean '([^']+)'%?$")
  if said then
    return said, meant
  end
  local word = d.text:match("undeclared identifier '([%w_]+)'")
    or d.text:match('identifier "([%w_]+)" is undefined')
    or d.text:match("implicit declaration of function '([%w_]+)'")
    or d.text:match("unknown type name '([%w_]+)'")
  if not word then
    return d.text
  end
  local names, seen = {}, {[word] = true}
  for name in job.source:gmatch("%f[%w_][%a_][%w_]*") do
    if not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  table.move(BUILTINS, 1, #BUILTINS, #names + 1, names)
  local edits = #word <= 2 and 0 or #word <= 4 and 1
    or math.max(2, #word // 3)
  return d.text, text.nearest(word, names, edits)
end

-- The byte of a line that the log's marks point to, where its words do not
-- tell: the log may have indented the line in another way.
local function marked_column(d, line)
  local caret = d.marks and d.marks:find("^", 1, true)
  if caret and not d.quoted:find("%S.*\t") then
    return math.max(1, caret - #d.quoted:match("^%s*") + #line:match("^%s*"))
  end
end

-- The source lines of a diagnostic, or what the log quotes where they
-- cannot be had or do not agree (#line).
local function source_lines(job, d, place, meant, before)
  local line = place.text and excerpt.line(place.text, place.n)
  local note = meant and ("did you mean '%s'?"):format(meant)
  if d.quoted and (not line or squeezed(line) ~= squeezed(d.quoted)) then
    local caret = d.marks:find("^", 1, true)
    return excerpt.show(d.quoted, 1, {number = place.line, column = caret,
      ranges = ranges_of(d, caret), width = job.width, note = note})
  elseif not line then
    return note and {"  " .. note} or {}
  end
  local column = d.column or marked_column(d, line)
  local ranges = column and (d.marks and ranges_of(d, column)
    or word_range(d, line, column))
  local lines = excerpt.show(place.text, place.n, {number = place.line,
    column = column, ranges = ranges, width = job.width, note = note,
    before = place.alone and 0 or before})
  if note and not column then
    lines[#lines + 1] = "  " .. note
  end
  return lines
end

local function append(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

local function place_text(place)
  local line = ("%s:%d"):format(place.name, place.line)
  return place.column and ("%s:%d"):format(line, place.column) or line
end

-- "  also at 12:3, 14:7 and 5 more"
local function also_line(job, d, name)
  local places = {}
  for i, other in ipairs(d.also) do
    if i <= PLACES then
      local place = origin.resolve(job, other)
      local s = place_text(place)
      places[i] = place.name == name and s:sub(#name + 2) or s
    end
  end
  local more = #d.also - #places
  return ("  also at %s%s"):format(table.concat(places, ", "),
    more > 0 and (", and %d more like this"):format(more) or "")
end

-- The name that a linker's message is about.
local function linked_name(d)
  local name = d.text:match("symbol:? '?([%w_]+)")
    or d.text:match("reference to [`'\"]?([%w_]+)")
    or d.text:match("[Ff]unction '?([%w_]+)")
    or d.text:match("kernel: '(.-)[('<]")
  local length, rest = (name or ""):match("^_Z(%d+)(.*)$")
  return length and rest:sub(1, tonumber(length)) or name
end

-- The line where a function is defined, else where it is called last.
local function function_place(job, d)
  local name = linked_name(d)
  local pattern = name and "%f[%w_]" .. name .. "%s*%("
  local at = name and job.source:find(pattern:sub(1, -3) .. "%b()%s*{")
  local from = pattern and not at and 1
  while from do
    local found = job.source:find(pattern, from)
    at, from = found or at, found and found + 1
  end
  if at then
    local _, breaks = job.source:sub(1, at):gsub("\n", "")
    return {file = "", line = breaks + 1}
  end
  return d
end

-- What ptxas counts in hexadecimal digits, as everybody else.
local function decimal(s)
  return (s:gsub("%f[%w]0x(%x+)%f[%X]", function(digits)
    return #digits < 12 and tostring(tonumber(digits, 16)) or nil
  end))
end

-- Adds a diagnostic to the lines; `before` lines are shown in front.
local function add(job, lines, d, before)
  local said, meant = advice(job, d)
  local place = origin.resolve(job, d.line and d or function_place(job, d))
  if said:find("^ptxas: ") then
    said = decimal(said)
  end
  if not place then
    lines[#lines + 1] = ("%s: %s"):format(d.kind, said)
    return
  end
  lines[#lines + 1] = ("%s: %s: %s"):format(place_text(place), d.kind, said)
  append(lines, source_lines(job, d, place, meant, before))
  for _, from in ipairs(d.included or {}) do
    lines[#lines + 1] = "  included from "
      .. place_text(origin.resolve(job, from))
  end
  for i, note in ipairs(d.notes) do
    if i <= NOTES and not note.text:find("^instantiated from") then
      add(job, lines, note, 0)
    end
  end
  if d.also and #d.also > 0 then
    lines[#lines + 1] = also_line(job, d, place.name)
  end
end

local function plural(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

-- Counts of errors and warnings, every place of each.
local function count(list)
  local n = {error = 0, warning = 0}
  for _, d in ipairs(list) do
    n[d.kind] = (n[d.kind] or 0) + 1 + #d.also
  end
  return n.error, n.warning
end

-- Adds the diagnostics of a kind, not more than `most`; returns how many
-- are left out.
local function add_kind(job, lines, list, kind, most)
  local shown, left = 0, 0
  for _, d in ipairs(list) do
    if d.kind == kind and shown < most then
      shown = shown + 1
      add(job, lines, d, 1)
    elseif d.kind == kind then
      left = left + 1 + #d.also
    end
  end
  return left
end

local function raw_lines(log)
  local lines, more = {}, 0
  for line in (log .. "\n"):gmatch("(.-)\r?\n") do
    if #lines < LINES then
      lines[#lines + 1] = line
    else
      more = more + 1
    end
  end
  if more > 0 then
    lines[#lines + 1] = ("... %d more lines; all of it is in e.log")
      :format(more)
  end
  return lines
end

local function left_out(errors, warnings)
  local words = {}
  if errors > 0 then
    words[1] = plural(errors, "more error")
  end
  if warnings > 0 then
    words[#words + 1] = plural(warnings, "more warning")
  end
  return #words > 0
    and {("... %s; all of it is in e.log"):format(table.concat(words, ", "))}
    or {}
end

--- diagnostic.lines(job, list) -> list of strings
--- What a list of buildlog.parse tells, laid out. `job`: source (its text),
--- name (path, or what a text is called), is_text (no file), literal (where
--- a text stands in Lua code), log, width.
function M.lines(job, list)
  local lines = {}
  job.texts = {}
  local errors, warnings = count(list)
  if errors + warnings == 0 then
    return raw_lines(job.log)
  end
  local e = add_kind(job, lines, list, "error", ERRORS)
  local w = add_kind(job, lines, list, "warning",
    errors > 0 and WARNINGS or ERRORS)
  append(lines, left_out(e, w))
  return lines
end

-- The build options in a message: not the one that is always there, and not
-- all of a long list.
local function short_options(options)
  options = options:gsub("^%-cl%-kernel%-arg%-info%s*", "")
  if #options > OPTIONS then
    return options:sub(1, 100) .. " ... " .. options:sub(-40)
  end
  return options
end

-- What the source is called, and where a text stands.
local function title(job)
  local place = job.literal
  if not place then
    return job.name
  end
  local name = job.name == "(source)" and "source" or job.name
  return ("%s at %s:%d"):format(name, place.name, place.line + 1)
end

-- "1 error, 2 warnings"; "" where there are neither.
local function counted(list)
  local errors, warnings = count(list)
  local words = {}
  if errors > 0 then
    words[1] = plural(errors, "error")
  end
  if warnings > 0 then
    words[#words + 1] = plural(warnings, "warning")
  end
  return table.concat(words, ", ")
end

--- diagnostic.message(job) -> string, list
--- The message of a build that failed, and the diagnostics. `job`: log,
--- source, name, options, device, is_text, and failure, OpenCL's error.
function M.message(job)
  local list = buildlog.parse(job.log)
  local known, system = pcall(require, "clshell.system")
  job.width = known and system.winsize(2) or nil
  job.literal = job.is_text and origin.literal(job.source) or nil
  local counts, options = counted(list), short_options(job.options)
  local silent = job.log == ""
  local lines = {
    silent and "clBuildProgram: " .. job.failure:gsub(" (%-?%d+)$", " (%1)")
      or ("build error%s (%s)"):format(counts ~= "" and ": " .. counts or "",
        job.failure),
    ("  %s on %s%s"):format(title(job), job.device, options ~= ""
      and (' with options "%s"'):format(options) or ""),
  }
  if silent then
    lines[3] = "the compiler does not say why"
  else
    append(lines, M.lines(job, list))
  end
  return table.concat(lines, "\n"), list
end

return M
