-- shell/prompt/errors.lua - the report of an error: the message, the source
-- line with a caret, and the user's calls that led there. It is loaded at the
-- first error; src/shell/traceback.c has recorded the stack by then.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local caret = require "clshell.shell.prompt.caret"
local excerpt = require "clshell.errors.excerpt"
local printable = require "clshell.shell.prompt.printable"
local style = require "clshell.base.style"
local system = require "clshell.system"

local M = {}

local LINES = 60 -- lines of a message in a window; %tb has the rest
local CALLS = 8  -- places that led to the error
local HEAD = 60  -- innermost frames that src/shell/traceback.c keeps
local PERIOD = 4 -- frames of the longest cycle that is folded
local VARS = 12  -- variables shown of a frame
local WIDTH = 48 -- columns of a string

--- errors.last
--- The record of the failure reported last; nil before the first.
M.last = nil

-- Whether a frame is the user's: a Lua function that is not clshell's own.
local function is_user(frame)
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

-- "file:line, in f"
local function place_of(frame)
  return ("%s:%d%s"):format(excerpt.name(frame.source, frame.short),
    frame.line, inside(frame))
end

-- Whether a frame repeats one of the few frames before place i of a list.
local function repeated(frame, list, i)
  for j = math.max(1, i - PERIOD), i - 1 do
    if list[j].source and place_of(frame) == place_of(list[j]) then
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
  return "  called from " .. place_of(frame)
end

-- The user's frames of a list from place `from` on, a line each: at most the
-- first CALLS, and the last. The place before, of the error itself, belongs to
-- a repetition, too.
local function callers(list, from)
  local mine, lines = {}, {}
  for i = math.max(1, from - 1), #list do
    if list[i].skip or is_user(list[i]) then
      mine[#mine + 1] = list[i]
    end
  end
  mine = fold(mine)
  if from > 1 then
    table.remove(mine, 1)
  end
  for i, frame in ipairs(mine) do
    if i <= CALLS or i == #mine then
      lines[#lines + 1] = describe(frame)
    elseif i == #mine - 1 then
      lines[#lines + 1] = ("  ... %d more calls"):format(#mine - 1 - CALLS)
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
  return kind == "userdata" and base_text.class(value) or kind
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

-- Words the variables of the user's frames, and lets go of their values.
local function settle(list)
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

-- All frames as lines, with their source lines and, of the user's, variables.
local function all_frames(list, width)
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

-- The message of an error value of any type.
local function message_of(value)
  local kind, meta = type(value), debug.getmetatable(value)
  if kind == "string" or kind == "number" then
    return tostring(value)
  elseif type(meta) ~= "table" or rawget(meta, "__tostring") == nil then
    return ("(error object is a %s value)"):format(kind)
  end
  local fine, text = pcall(tostring, value)
  return fine and text
    or ("(error object is a %s value, whose __tostring fails: %s)"):format(
      kind, type(text) == "string" and text or type(text))
end

-- The frame whose position a message begins with, and the message without the
-- position.
local function placed(record, message)
  for i, frame in ipairs(record.frames) do
    local head = ("%s:%d: "):format(frame.short, frame.line)
    if frame.line > 0 and message:sub(1, #head) == head then
      return i, message:sub(#head + 1)
    end
  end
end

-- The position in a syntax error's message as a frame, and the rest.
local function parsed(message)
  local name, line, rest = message:match("^([^\n]-):(%d+): ([^\n]*)$")
  if not name then -- the form that require raises
    name, line, rest = message:match("^error loading module '[^\n]*\n"
      .. "\t(.-):(%d+): ([^\n]*)$")
  end
  if not name then
    return nil
  end
  for _, source in ipairs{"=" .. name, "@" .. name} do
    if excerpt.source(source) then
      return {source = source, short = name, line = tonumber(line)}, rest
    end
  end
  local script = arg and arg[0] -- a long path is cut in front
  if type(script) == "string" and name:sub(1, 3) == "..."
      and script:sub(3 - #name) == name:sub(4) then
    return {source = "@" .. script, short = name, line = tonumber(line)}, rest
  end
end

-- Sets record.place (a frame), `from` (where its callers begin), and `rest`
-- (the message without position).
local function locate(record)
  local message = record.message
  local i, rest = placed(record, message)
  if i and is_user(record.frames[i]) then
    record.place, record.from, record.rest = record.frames[i], i + 1, rest
    return
  end
  -- An error of clshell's own code may be about a file of the user's.
  record.place, record.rest = parsed(rest or message)
  record.from, record.fault = 1, i ~= nil and not record.place
  record.rest = record.rest or message
  for j, frame in ipairs(record.place and {} or record.frames) do
    if is_user(frame) then
      record.place, record.from, record.bare = frame, j + 1, true
      break
    end
  end
end

-- Puts the frames of a failure inside a coroutine first, and drops the
-- position that coroutine.wrap put in front of the message.
local function unwrap(record)
  local inner = record.inner
  if not inner then
    return
  end
  unwrap(inner)
  if type(inner.value) == "string" then
    record.message = inner.message or inner.value
  end
  local all = table.move(inner.frames, 1, #inner.frames, 1, {})
  if not inner.whole then -- else the same stack, when it was higher
    if inner.skipped > 0 then
      table.insert(all, HEAD + 1, {skip = inner.skipped})
    end
    table.move(record.frames, 1, #record.frames, #all + 1, all)
  end
  record.frames, record.inner = all, nil
end

local function append(lines, more)
  table.move(more, 1, #more, #lines + 1, lines)
end

-- The source line of the block or string that a syntax error calls open.
local function opening_lines(text, message, shown, width)
  local word, n = message:match("%(to close '(.-)' at line (%d+)%)")
  n = tonumber(n or message:match("%(starting at line (%d+)%)"))
  if not n or n == shown then
    return {}
  end
  local column, last = caret.word(text, n, word)
  return excerpt.show(text, n, {width = width, column = column,
    ranges = column and {{column, last}}})
end

-- The last line up to n with more than white space: the end of a text that
-- ends too early.
local function last_line(text, n)
  while n > 1 and not (excerpt.line(text, n) or ""):find("%S") do
    n = n - 1
  end
  return n
end

-- The name of the C function that raised the error about its caller.
local function raised_by(record)
  local frame = record.frames[record.from - 2]
  local name = frame and frame.what == "C" and frame.name
  return name ~= "error" and name ~= "assert" and name or nil
end

-- Whether a stack has the chunk itself.
local function has_main(record)
  for _, frame in ipairs(record.frames) do
    if frame.what == "main" then
      return true
    end
  end
end

-- Finds the error's place in its source line, and the name that was meant.
local function examine(record)
  local place = record.place
  local text = place and excerpt.source(place.source)
  local own = type(record.value) == "table"
  if own and rawget(record.value, "log") then
    return -- a build log has its own excerpts
  end
  if text then
    record.line = record.rest:find(" near <eof>$")
      and last_line(text, place.line) or place.line
  end
  if record.bare and not own
      and not record.rest:find("^attempt to index") then
    text = nil -- the message is about another line
  end
  record.column, record.stop, record.near = caret.find(text, record.line,
    record.rest, {own = own, called = raised_by(record),
      frame = place and place.vars and place or nil})
end

-- Habits of other languages: a pattern of the line that fails, the Lua for it.
local MODULE = 'in Lua: m = require "name"; cl, gemm ... are there already'
local IDIOMS = {
  {"^%s*import%s", MODULE}, {"^%s*from%s.-%simport%s", MODULE},
  {"^%s*using%s", MODULE}, {"^%s*def%s", "in Lua: function f(x) ... end"},
  {"^%s*for%s.*:%s*$", "in Lua: for i = 1, n do ... end"},
  {"^%s*e?l?if%s.*:%s*$", "in Lua: if x > 0 then ... elseif ... end"},
  {"^%s*while%s.*:%s*$", "in Lua: while x > 0 do ... end"},
  {"%f[%w]lambda%s", "in Lua: function(x) return ... end"},
  {"[%w_%])]%s*([-+*/%%|&^])=", "Lua has no %s=: x = x %s 1"},
  {"[%w_%])](%+%+)", "Lua has no ++: x = x + 1"},
  {"!=", "in Lua: a ~= b"}, {"&&", "in Lua: a and b"},
  {"||", "in Lua: a or b"}, {"^%s*//", "in Lua a remark begins with --"},
  {"^%s*#%s", "in Lua a remark begins with --"},
  {"%f[%w]len%s*%(", "in Lua the length of x is #x"},
}
local PROGRAMS = base_text.set "cat chmod clear clinfo cp df du echo find \z
  git grep head htop less ll make man mkdir more mv nano nvidia ps pip \z
  python python3 rm rmdir tail top touch vi vim"

-- The Lua for a line in the habit of another language, or nil.
local function idiom(line, message)
  local word, rest = line:match "^%s*(%w+)(.*)$"
  local value = word and rawget(_G, word)
  local syntax = message:find("syntax error", 1, true)
    or message:find(" near ", 1, true)
  if PROGRAMS[word] and value == nil and not rest:find "^%s*[=.,:(%[]" then
    return ("! runs a command of the system: !%s"):format(line:match "%S.*")
  elseif not syntax and not message:find("'len'", 1, true) then
    return nil
  end
  for _, known in ipairs(IDIOMS) do
    local found = line:match(known[1])
    if found then
      return known[2]:format(found, found)
    end
  end
  local argument = rest and rest:match "^%s+([%w_.]+)%s*$"
  if argument and (type(value) == "function" or type(value) == "table") then
    return ("a call has brackets: %s(%s)"):format(word, argument)
  end
end

-- The words on a Lua string [[...]] that ended at a ]] of its kernel.
local function cut_string(text)
  for _, token in ipairs(require "clshell.base.lexer".tokens(text)) do
    local inner = token.kind == "string" and token.text:match "^%[%[(.*)%]%]$"
    local _, opened = (inner or ""):gsub("%[", "")
    local _, closed = (inner or ""):gsub("%]", "")
    if opened > closed then
      return "the Lua string [[ ... ends at its first ]]; [=[ ... ]=] may "
        .. "hold a ]]"
    end
  end
end

--- errors.absent(code) -> string or nil
--- What to tell of an expression whose value is nil: a name that no variable
--- has, or the element 0 of a list.
function M.absent(code)
  local name = code:match "^%s*([%a_][%w_]*)%s*$"
  local lua = ({None = "nil", True = "true", False = "false"})[name]
  if code:find "%[%s*0%s*%]%s*$" then
    return "a list of Lua begins at 1: x[1]"
  elseif lua then
    return ("in Lua: %s"):format(lua)
  elseif name and name ~= "nil" and rawget(_G, name) == nil then
    local near = not PROGRAMS[name] and cl.nearest(name,
      base_text.keys(require "clshell.base.lazy".session))
    return PROGRAMS[name] and idiom(name, "") or ("no variable is called "
      .. "'%s'%s"):format(name, near and ("; did you mean '%s'?"):format(near)
      or "")
  end
end

-- The name that was meant, the Lua for another language's habit, or the words
-- on a launch in CUDA's syntax.
local function note_of(record, text)
  local byte = record.rest:match " near '<\\(%d+)>'$"
  local line = byte and text and excerpt.line(text, record.line)
  local strange = line and base_text.strange(line)[1]
  local name = record.rest:match " value %(%l+ '([%a_][%w_]*)'%)"
  local words = name and name:find "[%u_]" and require "clshell.cuda.words"
  if words and text and (excerpt.line(text, record.line) or ""):find("cl."
      .. name, 1, true) then
    name = "cl." .. name
  end
  if words and words.host(name) then
    return words.advice(name)
  end
  local source = record.place and excerpt.source(record.place.source)
  local habit = text and idiom(excerpt.line(text, record.line) or "",
    record.rest)
  local built = type(record.value) == "table" and rawget(record.value, "log")
  if source and (built or record.rest:find(" near ", 1, true))
      and cut_string(source) then
    return cut_string(source)
  elseif habit then
    return habit
  elseif record.near then
    return ("did you mean '%s'?"):format(record.near)
  elseif strange then
    record.column = record.column or strange.at
    return strange.words
  elseif record.rest:find("^syntax error near '<<'")
      and text and (excerpt.line(text, record.line) or ""):find("<<<", 1, true)
  then
    return require "clshell.cuda.words".advice "<<<>>>"
  end
end

-- The source line with a caret, and a note.
local function source_lines(record, width)
  local text = record.line and excerpt.source(record.place.source)
  local note = note_of(record, text)
  local lines = text and excerpt.show(text, record.line, {
    column = record.column, width = width, note = note,
    ranges = record.stop and {{record.column, record.stop}},
  }) or {}
  if note and not (text and record.column) then
    lines[#lines + 1] = "  " .. note
  end
  if text then
    append(lines, opening_lines(text, record.rest, record.line, width))
  end
  return lines
end

--- errors.record(value) -> record
--- The record of an error value that a run ended with: message, frames and
--- place. Never raises.
function M.record(value)
  local record = debug.getregistry()["clshell.failure"]
  if type(record) ~= "table" or not rawequal(record.value, value) then
    record = {value = value, frames = {}, skipped = 0}
  end
  if record.message then
    return record
  end
  if record.skipped > 0 then
    table.insert(record.frames, HEAD + 1, {skip = record.skipped})
  end
  record.message = message_of(value)
  -- A __close handler raised the error after an earlier error: the chunk has
  -- been left by then. The other errors that the message handler saw were
  -- caught, as load does.
  record.closing = record.before and has_main(record.before)
    and not has_main(record)
  unwrap(record)
  for _, frame in ipairs(record.frames) do
    frame.short, frame.line = frame.short or "", frame.line or 0
  end
  locate(record)
  examine(record)
  settle(record.frames)
  return record
end

-- The position in front of a message, with the full path where Lua cut it.
local function position(place)
  return ("%s:%d: "):format(excerpt.name(place.source, place.short),
    place.line)
end

-- Folds the list of places where a module was looked for.
local function fold_places(message)
  local n = 0
  return (message:gsub("\n\tno [^\n]*", function()
    n = n + 1
    return n > 2 and "" or nil
  end)) .. (n > 2 and ("\n\tnor in %d more places"):format(n - 2) or "")
end

-- A line of a message, folded to the window; excerpts of a source stay whole.
local function folded(line, width, all)
  if line:find "^[ >]+%d* | " then
    return {line}
  elseif #line > 8 * width and not all then
    line = line:sub(1, 8 * width) .. "..."
  end
  return base_text.lines(base_text.fold(line, width))
end

-- A message as lines, LINES of them at most in a window.
local function message_lines(record, width, all, lead)
  local message = record.message
  local place = record.place
  if place and not record.bare then
    message = position(place) .. record.rest
  end
  if not all and message:find("module '.-' not found:") then
    message = base_text.message(fold_places(message))
  end
  local lines, more = {}, 0
  for line in ((lead or "") .. message .. "\n"):gmatch("(.-)\r?\n") do
    if not width then
      lines[#lines + 1] = line
    elseif #lines >= LINES and not all then
      more = more + 1
    else
      append(lines, folded(line, width, all))
    end
  end
  if more > 0 then
    lines[#lines + 1] = ("... %d more lines; %%tb shows them"):format(more)
  end
  return lines
end

-- The content of a table that was raised and has no message.
local function object_lines(record, width)
  local lines, value = {}, record.value
  local fine, text = pcall(function()
    return type(value) == "table" and record.message:find("^%(error object")
      and require "clshell.shell.prompt.show".text(value,
        {width = width or 79, height = 10}) .. "\n"
  end)
  for line in (fine and text or ""):gmatch("(.-)\n") do
    lines[#lines + 1] = "  " .. line
  end
  return lines
end

local KINDS = {error = "red", warning = "yellow", note = "cyan"}

-- A line of a report in colours; the first line has the message.
local function painted(line, is_first)
  local paint = style.paint
  local place, rest = line:match("^(.-:%d+: )(.*)$")
  if is_first then
    return paint(place or "", "bold", true) .. paint(rest or line, "red", true)
  end
  local bar, source = line:match("^([ >]+%d* | )(.*)$")
  local at, kind, text = line:match("^(.-:%d+:%d+: )(%a+): (.*)$")
  if bar then
    return paint(bar, "dim", true)
      .. paint(source, "red", not bar:find("%d"))
  elseif KINDS[kind] then
    return paint(at, "bold", true) .. paint(kind .. ": ", KINDS[kind], true)
      .. text
  end
  local dim = line:find("^  called from ") or line:find("^  %.%.%. %d")
  return paint(line, "dim", dim ~= nil)
end

--- errors.text(record [, opts]) -> string
--- The report of a failure: its message, the source line with a caret, and the
--- user's calls.
--- Options:
---   color  false  16 colours and weights
---   width  -      columns of the window; without it nothing is cut
---   all    false  the whole message, and every frame, C and clshell's own
---                 included, with its source line and the user's variables
function M.text(record, opts)
  opts = opts or {}
  local lines = message_lines(record, opts.width, opts.all, opts.lead)
  append(lines, object_lines(record, opts.width))
  if record.bare and not opts.all then
    lines[#lines + 1] = (record.fault and "  called from "
      or "  raised at ") .. place_of(record.place)
  end
  append(lines, source_lines(record, opts.width))
  append(lines, opts.all and all_frames(record.frames, opts.width)
    or callers(record.frames, record.from))
  if record.closing then
    lines[#lines + 1] = "  while closing variables after: "
      .. message_of(record.before.value):match("^[^\n]*")
  end
  for i, line in ipairs(lines) do
    line = base_text.visible(line)
    lines[i] = opts.color and painted(line, i == 1) or line
  end
  return table.concat(lines, "\n")
end

--- errors.report(value [, progname]) -> string
--- The report of an error value that a run ended with, as standard error
--- takes it; errors.last is its record.
function M.report(value, progname)
  local record = M.record(value)
  M.last = record
  return M.text(record, {color = style.color(2), width = system.winsize(2),
    lead = progname and progname .. ": "})
end

return M
