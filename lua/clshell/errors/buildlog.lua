-- errors/buildlog.lua - the log of an OpenCL compiler as a list of
-- diagnostics. Every driver has a format of its own; most are clang's with
-- another name for the source.
-- SPDX-License-Identifier: MIT

local M = {}

-- The words for a diagnostic's kind, in any driver's log.
local KINDS = {
  ["error"] = "error", ["fatal error"] = "error", ["Error"] = "error",
  ["ERROR"] = "error", ["catastrophic error"] = "error",
  ["internal error"] = "error", ["fatal"] = "error",
  ["LLVM ERROR"] = "error", ["ld.lld: error"] = "error",
  ["lld: error"] = "error", ["warning"] = "warning", ["Warning"] = "warning",
  ["note"] = "note", ["remark"] = "note", ["info"] = "info",
}

-- Lines that sum up, announce a step, or repeat that the build failed.
local SUMMARIES = {
  "^%d+ errors? generated", "^%d+ warnings? generated",
  "^%d+ warnings? and %d+ errors? generated",
  "errors? detected in the compilation of", "^Compilation %a+$",
  "^Linking %a+$", "^Device build %a+$", "^Build %a+$", "^Done%.?$",
  "^[Ff]cl build %d", "^Options used by backend compiler",
  "^Error%(s%) while linking", "^Failed to build device program",
  "failed to build the program$",
  "^error: backend compiler failed build", "^Frontend phase failed",
  "^[Ee]rror: Failed to compile ", "^Errors in precompilation",
  "^[Ee]rror: [Cc]ompiler frontend failed", "^[Ee]rror: Clang front%-end",
  "^[Ii]nternal error: %a+ compiler invocation failed",
  "^Error: Compiling CL to IR", "^error: front end compiler failed build",
  "^Kernel <.*> was .*vectorized", "^ptxas fatal%s*: Ptx assembly aborted",
}

local function summary(line)
  for _, pattern in ipairs(SUMMARIES) do
    if line:find(pattern) then
      return true
    end
  end
end

-- The kind and the rest of "kind: rest" or "kind : rest".
local function split_kind(s)
  local word, rest = s:match("^([%a. ]-%a)%s*: (.*)$")
  if word and word:find("^l?ld") then
    word, rest = s:match("^([%a.]+: %a+): (.*)$")
  end
  if KINDS[word] then
    return KINDS[word], rest
  end
end

-- PoCL: "error: /tmp/x.cl:5:10 <Spelling=/tmp/x.cl:4:22>: text"
local function pocl(line)
  local kind, rest = split_kind(line)
  local file, n, column, at, text = (rest or ""):match
    "^(.-):(%d+):(%d+)(.-): (.*)$"
  local from, m, c = (at or ""):match "^ <Spelling=(.-):(%d+):(%d+)>$"
  if not file or at ~= "" and not from then
    return nil
  end
  return {kind = kind, file = file, line = n, column = column, text = text,
    notes = from and from ~= "<scratch space>" and {{kind = "note",
      file = from, line = tonumber(m), column = tonumber(c),
      text = "expanded from this macro", notes = {}}} or nil}
end

-- clang, whatever it calls the source: "<kernel>:3:49: error: text", and
-- ":3:49:", "1:3:49:", "3:49:" and "x.cl:3:" as well
local function clang(line)
  for _, pattern in ipairs{"^(.-):(%d+):(%d+): (.*)$",
      "^()(%d+):(%d+): (.*)$", "^(.-):(%d+)(): (.*)$"} do
    local file, n, column, rest = line:match(pattern)
    local kind, text = split_kind(rest or "")
    if kind and KINDS[file] == nil then
      return {kind = kind, file = type(file) == "string" and file or "",
        line = n, column = type(column) == "string" and column or nil,
        text = text}
    end
  end
end

-- AMD's older drivers: '"/tmp/OCL1.cl", line 3: error: text', the text going
-- on for several lines
local function edg(line)
  local file, n, rest = line:match('^"(.-)", line (%d+): (.*)$')
  if not file then
    return nil
  end
  local kind, text = split_kind(rest .. " ")
  if not kind then
    local word = rest:match("^(%a+) #")
    kind, text = KINDS[word], rest:match("^%a+ #[%w-]+: (.*)$")
  end
  return kind and {kind = kind, file = file, line = n,
    text = (text or rest):gsub("%s+$", ""), wrapped = true}
end

-- NVIDIA's assembler and linker, which know no source.
local function ptxas(line)
  local n, word, text = line:match("^ptxas .-, line (%d+); (%a+)%s*: (.*)$")
  if n then
    return {kind = KINDS[word] or "error",
      text = ("ptxas: line %s of the PTX: %s"):format(n, text)}
  end
  word, text = line:match("^ptxas (%a+)%s*: (.*)$")
  return word and {kind = KINDS[word] or "error", text = "ptxas: " .. text}
end

-- Messages without a place, from linkers or about options.
local function loose(line)
  local kind, text = split_kind(line)
  if kind then
    return {kind = kind, text = text}
  end
  local symbol = line:match("^Cannot find symbol (.-) in kernel library")
  local name = symbol and ("cannot find symbol '%s'"):format(symbol)
    or line:match("^undefined reference to .+$")
    or line:match("^[Uu]nresolved .+$") or line:match("^undefined symbol.+$")
    or line:match("external function .-, that could not be found")
  return name and {kind = "error", text = name}
end

local READERS = {edg, ptxas, pocl, clang, loose}

-- The diagnostic in a line of a log, or nil.
local function read(line)
  if line:find("^%s") then
    return nil
  end
  for _, reader in ipairs(READERS) do
    local d = reader(line)
    if d then
      d.line, d.column = tonumber(d.line), tonumber(d.column)
      d.notes = d.notes or {}
      return d
    end
  end
end

--- buildlog.lines(log) -> list of strings
function M.lines(log)
  local lines = {}
  for line in (log .. "\n"):gmatch("(.-)\r?\n") do
    lines[#lines + 1] = line
  end
  return lines
end

-- A line without the gutter of new versions of clang: "    3 | source".
local function bare(line)
  return line and (line:match("^%s*%d+ | (.*)$") or line:match("^%s+| (.*)$")
    or line:match("^%s+|$") and "" or line)
end

local function is_marks(line)
  return line ~= nil and line:find("^[%s~^]*%^[%s~^]*$") ~= nil
end

-- Whether a line begins a new message.
local function begins(line)
  return line:find("^In file included from ") or summary(line)
    or read(line) ~= nil
end

-- Takes the source line, the line of marks below it and a fix that follow a
-- diagnostic; where `wrapped`, the lines before them continue its text.
-- Returns the place of the next line.
local function take_excerpt(d, lines, i)
  local stop = i
  while lines[stop] and stop < i + 12 and not is_marks(bare(lines[stop]))
      and lines[stop] ~= "" and not begins(lines[stop]) do
    stop = stop + 1
  end
  local marked = stop > i and is_marks(bare(lines[stop]))
  for j = i, d.wrapped and (marked and stop - 2 or stop - 1) or 0 do
    d.text = d.text .. " " .. lines[j]:match("^%s*(.-)%s*$")
  end
  if marked then
    d.quoted, d.marks = bare(lines[stop - 1]), bare(lines[stop])
    i = stop + 1
    if lines[i] and lines[i]:find("^%s+%S") and not lines[i]:find("^%s*%d+ |")
        and not lines[i]:find("^%s+from ") then
      i = i + 1 -- a fix-it
    end
  elseif d.wrapped then
    i = stop
  end
  d.text = d.text:gsub("^%s+", "")
  return i
end

-- Where an included file comes from: "In file included from x.cl:57:"
local function include(line)
  local file, n = line:match("^In file included from (.-):(%d+)[:,]?")
  if not file then
    file, n = line:match("^%s+from (.-):(%d+)[:,]?")
  end
  return file and {file = file, line = tonumber(n)}
end

local function same(a, b)
  return a.kind == b.kind and a.text == b.text and a.file == b.file
    and a.line == b.line and a.column == b.column
end

-- Whether a list has a diagnostic that is the same.
local function has(list, d)
  for _, other in ipairs(list) do
    if same(other, d) then
      return true
    end
  end
end

-- Adds a diagnostic to a list. A repeated diagnostic is counted; the same text
-- at another place adds a place to the first diagnostic. `seen`: kind and text
-- -> the first diagnostic.
local function add(list, seen, d)
  local key = d.kind .. d.text
  local other = seen[key]
  if not other or not d.line and not same(other, d) then
    d.count, d.also, seen[key] = 1, {}, other or d
    list[#list + 1] = d
    return d
  elseif same(other, d) then
    other.count = other.count + 1
    return other
  end
  if has(other.also, d) then
    return other
  end
  table.insert(other.also, d)
  return d
end

-- A line that begins no message may continue the diagnostic before it.
local function continue(last, line)
  local where = line:match("^in %a+:? .+$")
  if last and where and not last.text:find(where, 1, true) then
    last.text = last.text .. ", " .. where
  end
end

--- buildlog.parse(log) -> list of diagnostics
--- The diagnostics of a compiler's log, each {kind = "error" or "warning",
--- file, line, column (nil where the log has none), text, notes = list of
--- diagnostics, also = list of places with the same text, count = its repeats
--- in the log, quoted = the source line and marks = the line of marks below
--- it, included = list of {file, line}}. The formats are those of PoCL, NVIDIA
--- (with ptxas), Intel (CPU and GPU), AMD (ROCm and older), Apple, Mesa and
--- any other driver that keeps clang's format.
function M.parse(log)
  local lines, list, seen = M.lines(log), {}, {}
  local last, included
  local i = 1
  while lines[i] do
    local line = lines[i]
    local place = include(line)
    local d = not place and not summary(line) and read(line) or nil
    i = i + 1
    if place then
      included = included or {}
      table.insert(included, 1, place)
    elseif d then
      i = take_excerpt(d, lines, i)
      if d.kind == "note" then
        if last and not has(last.notes, d) then
          table.insert(last.notes, d)
        end
      elseif d.kind ~= "info" then
        d.included = included
        last = add(list, seen, d)
      end
      included = nil
    else
      continue(last, line)
    end
  end
  return list
end

return M
