-- errors/build_error.lua - a failed build in words: each diagnostic of the
-- compiler's log, with its place in the user's file or script and the source
-- lines
-- SPDX-License-Identifier: MIT

local buildlog = require "clshell.errors.buildlog"
local cuda = require "clshell.cuda.words"
local excerpt = require "clshell.errors.excerpt"
local system = require "clshell.system"
local text = require "clshell.base.text"
local user_source = require "clshell.errors.user_source"

local M = {}

local ERRORS, WARNINGS = 8, 3 -- shown in a message; the whole log is in e.log
local NOTES = 4               -- of one diagnostic
local PLACES = 4              -- of one text
local LINES = 40              -- of an unknown kind of log
local OPTIONS = 160           -- bytes of the build options

-- Names of built-in functions, to correct misspelt names.
local BUILTINS = {
  "get_global_id", "get_local_id", "get_group_id", "get_global_size",
  "get_local_size", "get_num_groups", "get_global_offset", "get_work_dim",
  "barrier", "mem_fence", "vload4", "vstore4", "vload8", "vstore8",
  "atomic_add", "atomic_inc", "atomic_min", "atomic_max", "atomic_cmpxchg",
  "native_exp", "native_sin", "native_cos", "native_sqrt", "native_recip",
  "convert_float", "convert_int", "as_float", "as_int",
}

-- Phrases of logs about a part of OpenCL C that the device lacks, or that its
-- compiler offers by an option alone; and the remedy. NVIDIA's compiler names
-- a part in the line of source that it quotes.
local LACKS = {
  {{"of type '[^']*%f[%w]half%f[%W][^']*' is not allowed",
    "to type '[^']*%f[%w]half%f[%W][^']*' is not allowed",
    "requires cl_khr_fp16", "unknown type name 'half%d",
    "undeclared identifier 'half%d"},
    "the device has no half arithmetic (cl_khr_fp16): pass `global half *`, "
    .. "and calculate in float by vload_half and vstore_half"},
  {{"undeclared identifier 'enqueue_kernel'", "symbol '__enqueue_kernel",
    "unknown type name 'queue_t'", "blocks support disabled",
    "pointer arguments to kernel functions[^\n]*\n[^\n]*%f[%w]queue_t%f[%W]"},
    "kernels launch no kernels here: launch the next kernel from Lua"},
  {{"undeclared identifier '[%w_]*sub_group_",
    "function '[%w_]*sub_group_"},
    "sub-groups need a device with cl_khr_subgroups and options = "
    .. '"-cl-std=CL3.0"; else local memory serves, with a barrier'},
  {{"undeclared identifier 'work_group_", "function 'work_group_"},
    "work_group_ functions need a device with "
    .. "dev.work_group_collective_functions_support and options = "
    .. '"-cl-std=CL3.0"; else local memory serves, with a barrier'},
  {{"the 'pipe' type qualifier", "only be used for pipe and image type",
    "expected parameter declarator\n[^\n]*%f[%w]pipe%f[%W]"},
    "kernels take no pipes here: a Buffer serves, with an index that "
    .. "atomic_inc moves"},
}

-- The byte ranges that a line of marks underlines, if its caret is at byte
-- `column` of the line.
local function marked_ranges(marks, column)
  local ranges = {}
  local caret = marks:find("^", 1, true)
  for first, last in marks:gmatch("()[~^]+()") do
    ranges[#ranges + 1] = {column + first - caret, column + last - 1 - caret}
  end
  return ranges
end

-- Without marks: the word at the place, if the message quotes it.
local function word_range(d, line, column)
  local word = line:match("^[%a_][%w_]*", column)
  if word and d.text:find("['\"]" .. word .. "['\"]") then
    return {{column, column + #word - 1}}
  end
end

local function did_you_mean(name)
  return name and ("did you mean '%s'?"):format(name)
end

-- The capture of the first of some patterns that a text has, or nil.
local function first_match(s, patterns)
  for _, pattern in ipairs(patterns) do
    local found = s:match(pattern)
    if found then
      return found
    end
  end
end

-- Messages about a name that the compiler does not know.
local UNKNOWN = {"undeclared identifier '([%w_]+)'",
  'identifier "([%w_]+)" is undefined',
  "implicit declaration of function '([%w_]+)'",
  "unknown type name '([%w_]+)'"}

-- Messages of linkers, with a name.
local LINKED = {"symbol:? '?([%w_]+)", "reference to [`'\"]?([%w_]+)",
  "[Ff]unction '?([%w_]+)", "kernel: '(.-)[('<]"}

local function place_text(place)
  return ("%s:%d%s"):format(place.name, place.line, place.column
    and (":%d"):format(place.column) or "")
end

-- The source with blanks in place of comments, strings and the backslashes of
-- long macros: each byte stays on its line.
local function code_of(build)
  if not build.code then
    local function blank(s)
      return (s:gsub("[^\n]", " "))
    end
    local parts, at, s = {}, 1, build.source
    while at <= #s do
      local first = s:find("[/\"']", at) or #s + 1
      parts[#parts + 1] = s:sub(at, first - 1)
      local mark, last = s:sub(first, first), first
      if s:find("^//", first) then
        last = (s:find("\n", first, true) or #s + 1) - 1
      elseif s:find("^/%*", first) then
        last = select(2, s:find("*/", first + 2, true)) or #s
      elseif mark == '"' or mark == "'" then
        repeat
          last = s:find("[\\\n" .. mark .. "]", last + 1) or #s
          local escaped = s:sub(last, last) == "\\"
          last = escaped and last + 1 or last
        until not escaped or last >= #s
      end
      parts[#parts + 1] = mark == "/" and last == first and mark
        or blank(s:sub(first, last))
      at = last + 1
    end
    build.code = table.concat(parts)
  end
  return build.code
end

-- Words on a name that nothing declares, by the way in which it is used.
local function undeclared(build, d, word)
  local place = d.line and user_source.resolve(build, d)
  local line = place and place.text and excerpt.line(place.text, place.n)
    or ""
  if word == "MARK" or word == "MARK_EACH" then
    return "put MARKS behind the last parameter of the kernel"
  elseif d.text:find("function", 1, true)
      or line:find("%f[%w_]" .. word .. "%s*%(") then
    return ("declare or define %s above"):format(word)
  elseif d.text:find("type name", 1, true)
      or line:find("%f[%w_]" .. word .. "%s*%**%s*[%a_][%w_]*%s*[;=,]") then
    return ("no typedef or struct %s above"):format(word)
  elseif word:find "^[%u_][%u%d_]*$" then
    return ("nothing declares it: defines = {%s = ...}"):format(word)
  end
  return ("declare it first: int %s = ...;"):format(word)
end

-- The body of the last function that ends before a line: {name, first, last};
-- nil within a function, before all of them, and in a source without a brace
-- that closes nothing.
local function body_before(build, line)
  local code, depth, n, at = code_of(build), 0, 1, 1
  local body, name, extra
  code = code:gsub("%f[^\n\0]%s*#[^\n]*", function(s)
    return (s:gsub("[^\n]", " "))
  end)
  local found
  for before, mark in code:gmatch "([^{}]*)([{}])" do
    n = n + select(2, before:gsub("\n", ""))
    if n > line and not found then
      found = {depth == 0 and body or nil}
    end
    if mark == "{" then
      if depth == 0 then
        name = before:match "([%a_][%w_]*)%s*%b()%s*$"
        at = n
      end
      depth = depth + 1
    elseif depth == 0 then
      extra = true
    else
      depth = depth - 1
      body = depth == 0 and name and {name = name, first = at, last = n}
        or depth > 0 and body or nil
    end
  end
  found = found or {body}
  return extra and found[1] or nil
end

-- Messages of compilers about a statement that stands outside of functions.
local OUTSIDE = {"extraneous closing brace", "expected external declaration",
  "^expected identifier or '%('", "type specifier missing",
  "^unknown type name", "expected parameter declarator",
  "expected function body", "declaration is required here",
  "requires a type specifier", "^expected '%)'$"}

-- A line on the first error that stands behind a function which ended too
-- early.
local function early_end(build, list)
  for _, d in ipairs(list) do
    if d.kind == "error" and d.line and first_match(d.text, OUTSIDE) then
      local place = user_source.resolve(build, d)
      local body = place.text == build.source and body_before(build, place.n)
      local function at(line)
        return place_text(user_source.resolve(build, {file = "", line = line}))
      end
      return body and ("function %s of %s ends at the brace of %s: a } too "
        .. "many stands there or above, or a { is missing"):format(body.name,
        at(body.first), at(body.last)) or nil
    end
  end
end

-- Lines on characters of the code that cannot be seen or look like others.
local function strange(build)
  local lines, n = {}, 0
  for line in (code_of(build) .. "\n"):gmatch "([^\n]*)\n" do
    n = n + 1
    for _, char in ipairs(text.strange(line)) do
      if #lines < PLACES then
        local place = user_source.resolve(build, {file = "", line = n,
          column = char.at})
        lines[#lines + 1] = ("%s: %s"):format(place_text(place), char.words)
      end
    end
  end
  return lines
end

-- The text of a diagnostic, and a note or nil: the name that was probably
-- meant, or the word here for a word of CUDA's.
local function advice(build, d)
  local said, meant = d.text:match("^(.-)[;,] did you mean '([^']+)'%?$")
  local ambiguous = build.cuda
    and d.text:gsub("_cl_", ""):match("call to '([%w_]+)' is ambiguous")
  if said or ambiguous then
    local foreign = (said or ""):match "'([%w_]+)'"
    return said or d.text, cuda.advice(ambiguous or foreign)
      or ambiguous and ("CUDA: %s; here: %s of reals of one type: (float)n, "
        .. "2.0f"):format(ambiguous, ambiguous) or did_you_mean(meant)
  end
  local word = first_match(d.text, UNKNOWN)
  if not word or cuda.advice(word) then
    return d.text, word and cuda.advice(word)
  end
  local names = {}
  for name in code_of(build):gmatch("%f[%w_][%a_][%w_]*") do
    if not build.unknown[name] then
      names[#names + 1] = name
    end
  end
  table.move(BUILTINS, 1, #BUILTINS, #names + 1, names)
  return d.text, did_you_mean(text.nearest(word, names,
    text.misspellings(word))) or undeclared(build, d, word)
end

-- The byte of a line that the log's marks point to: the log may have indented
-- the line in another way.
local function marked_column(d, line)
  local caret = d.marks and d.marks:find("^", 1, true)
  if caret and not d.quoted:find("%S.*\t") then
    return math.max(1, caret - #d.quoted:match("^%s*") + #line:match("^%s*"))
  end
end

-- The source lines of a diagnostic. The log's own quote replaces a source that
-- cannot be read or that disagrees with the quote (#line).
local function source_lines(d, place, note, before, width)
  local line = place.text and excerpt.line(place.text, place.n)
  local opts = {number = place.line, width = width, note = note}
  if d.quoted and not excerpt.alike(line, d.quoted) then
    opts.column = d.marks:find("^", 1, true)
    opts.ranges = marked_ranges(d.marks, opts.column)
    return excerpt.show(d.quoted, 1, opts)
  end
  local lines = {}
  if line then
    opts.column = d.column or marked_column(d, line)
    opts.ranges = opts.column and (d.marks
      and marked_ranges(d.marks, opts.column)
      or word_range(d, line, opts.column))
    opts.before = place.alone and 0 or before
    lines = excerpt.show(place.text, place.n, opts)
  end
  if note and not opts.column then
    lines[#lines + 1] = "  " .. note
  end
  return lines
end

local function append(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

-- "  also at 12:3, 14:7, and 5 more like this"
local function also_line(build, d, name)
  local places = {}
  for i = 1, math.min(#d.also, PLACES) do
    local place = user_source.resolve(build, d.also[i])
    local s = place_text(place)
    places[i] = place.name == name and s:sub(#name + 2) or s
  end
  local more = #d.also - #places
  return ("  also at %s%s"):format(table.concat(places, ", "),
    more > 0 and (", and %d more like this"):format(more) or "")
end

-- The line that defines the function in a linker's message, or else the last
-- line that calls it.
local function function_place(build, d)
  local name = first_match(d.text, LINKED)
  local length, rest = (name or ""):match("^_Z(%d+)(.*)$")
  name = length and rest:sub(1, tonumber(length)) or name
  local at = name
    and build.source:find("%f[%w_]" .. name .. "%s*%b()%s*{")
  if name and not at then
    for found in build.source:gmatch("()%f[%w_]" .. name .. "%s*%(") do
      at = found
    end
  end
  if at then
    return {file = "", line = (text.position(build.source, at))}
  end
  return d
end

-- The hexadecimal amounts of ptxas as decimal numbers.
local function decimal(s)
  return (s:gsub("%f[%w]0x(%x+)%f[%X]", function(digits)
    return #digits < 12 and tostring(tonumber(digits, 16)) or nil
  end))
end

-- Adds a diagnostic to the lines, with `before` source lines before its line.
local function add(build, lines, d, before)
  local said, note = advice(build, d)
  local place = user_source.resolve(build,
    d.line and d or function_place(build, d))
  if said:find("^ptxas: ") then
    said = decimal(said)
  end
  if not place then
    lines[#lines + 1] = ("%s: %s"):format(d.kind, said)
    return
  end
  lines[#lines + 1] = ("%s: %s: %s"):format(place_text(place), d.kind, said)
  append(lines, source_lines(d, place, note, before, build.width))
  for _, from in ipairs(d.included or {}) do
    lines[#lines + 1] = "  included from "
      .. place_text(user_source.resolve(build, from))
  end
  for i, more in ipairs(d.notes) do
    if i <= NOTES and not more.text:find("^instantiated from") then
      add(build, lines, more, 0)
    end
  end
  if d.also and #d.also > 0 then
    lines[#lines + 1] = also_line(build, d, place.name)
  end
end

-- Adds at most `most` diagnostics of a kind; returns the count of the others.
local function add_kind(build, lines, list, kind, most)
  local shown, left = 0, 0
  for _, d in ipairs(list) do
    if d.kind == kind and shown < most then
      shown = shown + 1
      add(build, lines, d, 1)
    elseif d.kind == kind then
      left = left + 1 + #d.also
    end
  end
  return left
end

-- Counts of errors and warnings; each place of a diagnostic counts.
local function count(list)
  local n = {error = 0, warning = 0}
  for _, d in ipairs(list) do
    n[d.kind] = (n[d.kind] or 0) + 1 + #d.also
  end
  return n.error, n.warning
end

-- "1 error, 2 warnings"; "" for none.
local function amounts(errors, warnings, more)
  local words = {}
  for i, n in ipairs{errors, warnings} do
    words[#words + 1] = n > 0 and text.count(n, (more or "")
      .. (i == 1 and "error" or "warning")) or nil
  end
  return table.concat(words, ", ")
end

local function raw_lines(log)
  local lines = buildlog.lines(log)
  local more = #lines - LINES
  if more > 0 then
    lines = table.move(lines, 1, LINES, 1, {})
    lines[LINES + 1] = ("... %d more lines; all of it is in e.log")
      :format(more)
  end
  return lines
end

--- build_error.lines(build, list) -> list of strings
--- The diagnostics of a log, as buildlog.parse gives them, laid out. `build`:
--- source (the text), program (path, or name of the text), is_text (no file),
--- literal (where the text stands in Lua code), cuda (see cl.explain_build),
--- log, width.
function M.lines(build, list)
  local lines = {}
  build.unknown = {}
  for _, d in ipairs(list) do
    build.unknown[first_match(d.text, UNKNOWN) or ""] = true
  end
  local errors, warnings = count(list)
  if errors + warnings == 0 then
    return raw_lines(build.log)
  end
  local left = amounts(add_kind(build, lines, list, "error", ERRORS),
    add_kind(build, lines, list, "warning",
      errors > 0 and WARNINGS or ERRORS), "more ")
  if left ~= "" then
    lines[#lines + 1] = ("... %s; all of it is in e.log"):format(left)
  end
  return lines
end

-- The user's defines and build options in a message; of a long list only a
-- part.
local function short_options(e)
  local words = {}
  for name, value in (e.defines or ""):gmatch "#define (%S+) ([^\n]*)\n" do
    words[#words + 1] = ("-D %s=%s"):format(name, value)
  end
  words[#words + 1] = e.options:gsub("^%-cl%-kernel%-arg%-info", "")
    :match "^%s*(.+)"
  local options = table.concat(words, " ")
  if #options > OPTIONS then
    return options:sub(1, 100) .. " ... " .. options:sub(-40)
  end
  return options
end

-- The name of the source, and the place of a text in a Lua file.
local function title(build)
  local place, name = build.literal, build.program
  return place and ("%s at %s:%d"):format(name == "(source)" and "source"
    or name, place.name, place.line + 1) or name
end

-- A line for each part of OpenCL C that the log says the device lacks.
local function missing(log)
  local lines = {}
  for _, part in ipairs(LACKS) do
    local found = false
    for _, pattern in ipairs(part[1]) do
      found = found or log:find("error[^\n]*" .. pattern) ~= nil
        or log:find("fatal[^\n]*" .. pattern) ~= nil -- an assembler's word
    end
    lines[#lines + 1] = found and part[2] or nil
  end
  return lines
end

--- build_error.remedies() -> list of strings
--- The remedies for the parts of OpenCL C that a device may lack.
function M.remedies()
  local list = {}
  for i, part in ipairs(LACKS) do
    list[i] = part[2]
  end
  return list
end

--- build_error.explain(e)
--- Words the error of a failed build: sets its message, and `diagnostics`
--- (see buildlog.parse). Its fields are those of cl.explain_build.
function M.explain(e)
  local list = buildlog.parse(e.log)
  user_source.renumber(list, e.source, e.given)
  if e.cuda then
    user_source.untranslate(list, e.cuda.column)
  end
  local build = {log = e.log, source = e.source, program = e.program,
    is_text = e.is_text, width = system.winsize(2), cuda = e.cuda,
    literal = e.is_text and user_source.literal(e.source) or nil}
  local counts, options = amounts(count(list)), short_options(e)
  local silent = e.log == ""
  local lines = {
    silent and ("%s: %s (%d)"):format(e.call, e.name, e.code)
      or ("build error%s (%s %d)"):format(counts ~= "" and ": " .. counts
        or "", e.name, e.code),
    ("  %s on %s%s"):format(title(build), e.device, options ~= ""
      and (' with options "%s"'):format(options) or ""),
  }
  append(lines, silent and {e.name == "CL_LINK_PROGRAM_FAILURE"
    and "each function must be in exactly one of the Programs"
    or "the compiler gives no reason"}
    or M.lines(build, list))
  if not silent and not e.cuda then
    append(lines, strange(build))
    lines[#lines + 1] = early_end(build, list)
  end
  if not e.cuda and e.source:find "%f[%w_]__global__%f[^%w_]"
      and not e.log:find "error: CUDA: " then
    lines[#lines + 1] = "the text is CUDA's: cuda = true in the options of "
      .. "cl.build translates it"
  end
  append(lines, missing(e.log))
  e.message, e.diagnostics = table.concat(lines, "\n"), list
end

return M
