-- explain/findings.lua - the defects that a launch shows, each once and in
-- words, from the log of the simulator Oclgrind or from guard bands; they
-- print as the messages of a failed build do
-- SPDX-License-Identifier: MIT

local build_error = require "clshell.errors.build_error"
local excerpt = require "clshell.errors.excerpt"
local jobs = require "clshell.explain.job"
local oclgrind = require "clshell.explain.oclgrind"
local system = require "clshell.system"
local text = require "clshell.base.text"
local user_source = require "clshell.errors.user_source"

local M = {}

-- The simulator's log --------------------------------------------------------

local SPACE = "(%a+) memory address 0x(%x+)"

-- The titles of reports: a pattern, the kind, and the names of its captures.
local TITLES = {
  {"^Invalid (%a+) of size (%d+) at " .. SPACE, "outside",
    "access size space address"},
  {"^Index %((%-?%d+)%) exceeds static array size %((%d+)%)", "index",
    "index count"},
  {"^(%a+%-write) data race at " .. SPACE, "race", "access space address"},
  {"^Work%-group divergence detected %((.-)%)", "divergence", "access"},
  {"^Uninitialized value written to " .. SPACE, "unwritten", "space address"},
  {"^Uninitialized address used to (%a+) %a+ " .. SPACE, "unwritten address",
    "access space address"},
  {"^Controlflow depends on uninitialized value", "unwritten branch", ""},
  {"^Instruction depends on an uninitialized index value",
    "unwritten address", ""},
  {"^Invalid memory (%a+) %- source pointer is not aligned", "misaligned",
    "access"},
  {"^Invalid write to read%-only buffer", "constant", ""},
  {"^Invalid read from write%-only buffer", "write-only", ""},
  {"^Invalid wait event", "wait", ""},
  {"^Work%-item finished without waiting for events", "events", ""},
}

local BASES = {address = 16, index = 10, count = 10, size = 10}

-- A report without its lines.
local function begin(title)
  for _, entry in ipairs(TITLES) do
    local values = table.pack(title:match(entry[1]))
    if values[1] then
      local r, i = {kind = entry[2], title = title, places = {}}, 0
      for name in entry[3]:gmatch "%a+" do
        i = i + 1
        r[name] = BASES[name] and tonumber(values[i], BASES[name])
          or values[i]
      end
      return r
    end
  end
  return {kind = "other", title = title, places = {}}
end

-- The three numbers behind a label, or nil.
local function triple(line, label)
  local x, y, z = line:match(label .. "%((%d+),(%d+),(%d+)%)")
  return x and {tonumber(x), tonumber(y), tonumber(z)}
end

-- Adds a line of a report to its last place; a race has two places.
local function add(r, line)
  if line:find "^Kernel:" then
    return
  elseif line:find "^%a* ?[Ee]ntity:" then
    table.insert(r.places, {item = triple(line, "Global"),
      group = triple(line, "Group")})
    return
  end
  local place = r.places[#r.places] or {}
  r.places[math.max(1, #r.places)] = place
  local group = triple(line, "^Work%-group:%s*")
  local some, all = line:match "^Only (%d+) out of (%d+) work%-items"
  local n, column, file = line:match "^At line (%d+) %(column (%d+)%) of (.*):"
  if group then
    place.group = group
  elseif some then
    r.some, r.all = tonumber(some), tonumber(all)
  elseif n then
    place.line, place.column = tonumber(n), tonumber(column)
    place.file = file
  elseif not place.line and not place.code
      and line ~= "(location unknown)" then
    place.code = line -- a line of intermediate code
  end
end

-- The bytes "0-7 16-23" as a list of {first, last}; `more`: and others.
local function ranges(words)
  local list = {more = words:find("more", 1, true) ~= nil}
  for first, last in words:gmatch "(%d+)%-(%d+)" do
    list[#list + 1] = {tonumber(first), tonumber(last)}
  end
  return list
end

-- The reports of a log: each has kind, title, what its title tells of access,
-- size, space, address, index, count, and places: {item, group, line, column,
-- file, code}. And the bytes used, by number of memory: {read =, written =}.
local function parse(log)
  local list, used = {}, {}
  for line in log:gmatch "[^\r\n]+" do
    local rest = line:match "^\t(.*)$"
    local memory, read, written = line:match
      "^Memory (%d+) read(.*) written(.*)$"
    if memory then
      used[tonumber(memory)] = {read = ranges(read),
        written = ranges(written)}
    elseif not rest and line:find "%S"
        and not line:find "suppressing further errors"
        and not line:find "^Accesses are ordered by atomics" then
      list[#list + 1] = begin(line)
    elseif list[1] and rest and rest ~= "" then
      add(list[#list], rest)
    end
  end
  return list, used
end

-- Words ----------------------------------------------------------------------

local OFFSET = 48       -- bits of an address below the number of its memory
local NEAR = 1 << 47    -- the reach of an argument's address space, in bytes

-- "(3, 1)" or "3", as the launch has dimensions.
local function index(launch, ids)
  local n = #launch.global
  return n == 1 and tostring(ids[1])
    or ("(%s)"):format(table.concat(ids, ", ", 1, n))
end

local function item(launch, place)
  if place.item then
    return "work-item " .. index(launch, place.item)
  end
  return place.group and (place.line and "work-group "
    or "an asynchronous copy of work-group ") .. index(launch, place.group)
    or "a work-item"
end

-- What an access does, by the intermediate code.
local function does(place)
  local code = place.code or ""
  if code:find "^%s*%%?[%w._]*%s*=?%s*load" then
    return "reads"
  end
  return not code:find "^%s*store" and code:find "atomic" and "changes"
    or "writes"
end

-- What the n-th access of a race does. A copy has no code: it reads if the
-- other access must be the write.
local function races(f, n)
  if f.places[n].code or f.access:find "^Write"
      or does(f.places[3 - n]) == "reads" then
    return does(f.places[n])
  end
  return "reads"
end

-- "x[8]", by the offset in bytes.
local function element(a, offset)
  local rest = offset % a.size
  return ("%s[%d]%s"):format(a.name, offset // a.size,
    rest > 0 and (" + %d bytes"):format(rest) or "")
end

-- The elements of a finding's argument, or the name of its memory.
local function place_of(f)
  local a = f.argument
  if not a then
    return (f.space == "local" or f.space == "private") and f.space
      .. " memory" or "global memory"
  end
  local from = f.kind == "race" and f.first - f.first % a.size or f.first
  local last = f.last - f.last % a.size
  return last <= from and element(a, from)
    or ("%s to %s"):format(element(a, from), element(a, last))
end

-- The words of each kind of finding, or a function that makes them.
local words = {
  ["unwritten address"] = "the address depends on a value that was never "
    .. "written",
  ["unwritten branch"] = "the branch depends on a value that was never "
    .. "written",
  ["write-only"] = "read of a Buffer that kernels may only write",
  wait = "a wait for an event that no copy has given",
  events = "an asynchronous copy that nobody waits for",
}

function words.outside(f)
  local a = f.argument
  if a and (f.first < 0 or f.last >= a.bytes) then
    return ("%s outside '%s': %s; it has %s"):format(f.access, a.name,
      place_of(f), text.count(a.count, "element"))
  elseif f.space == "global" and f.address >> OFFSET == 0 then
    return ("%s through a pointer to no Buffer: address 0x%x"):format(
      f.access, f.address)
  end
  return ("%s outside an array in %s"):format(f.access,
    place_of{space = f.space})
end

function words.constant(f)
  local a = f.argument
  return a and ("write to '%s', %s: %s"):format(a.name, a.kept, place_of(f))
    or "write to memory that the kernel may only read"
end

function words.index(f)
  return ("index %s outside an array of %s"):format(f.low == f.high
    and tostring(f.low) or ("%d to %d"):format(f.low, f.high),
    text.count(f.count, "element"))
end

function words.race(f, launch)
  return ("race on %s: %s %s, and %s %s"):format(place_of(f),
    item(launch, f.places[1]), races(f, 1),
    item(launch, f.places[2]), races(f, 2))
end

function words.divergence(f, launch)
  local group = f.places[1] and f.places[1].group
  local whose = group and " of work-group " .. index(launch, group) or ""
  local call = f.access == "barrier" and "a barrier" or "an " .. f.access
  if f.some then
    return ("%s in divergent code: %d of the %d work-items%s reach it")
      :format(call, f.some, f.all, whose)
  end
  return ("%s in divergent code: the work-items%s reach different ones")
    :format(call, whose)
end

function words.unwritten(f)
  return "a value that was never written goes to " .. place_of(f)
end

function words.misaligned(f)
  local align = (f.places[1] and f.places[1].code or ""):match "align (%d+)"
  return ("misaligned %s: the address must be a multiple of %s"):format(
    f.access == "store" and "write" or "read", align
    and text.count(tonumber(align), "byte") or "the type's size")
end

function words.other(f)
  return f.title
end

-- Findings -------------------------------------------------------------------

-- The bytes of an argument that a launch has used, by the list of its memory:
-- how many, the first and the last, and the elements and the first element
-- that have unused bytes.
local function used_of(launch, i, what)
  local a, base = launch.args[i], launch.addresses[i]
  local u = launch.used[base >> OFFSET]
  local from = base & ((1 << OFFSET) - 1)
  local count, first, last, free, hole, at = 0, nil, nil, 0, nil, 0
  local function gap(stop) -- unused bytes, from `at`
    local n, past = at // a.size, (stop + a.size - 1) // a.size
    if stop > at then
      free, hole = free + past - n, hole or n
    end
  end
  for _, range in ipairs(u and u[what] or {}) do
    local low = math.max(range[1] - from, 0)
    local high = math.min(range[2] - from, a.bytes - 1)
    if low <= high then
      gap(low)
      count, first, last = count + high - low + 1, first or low, high
      at = high + 1
    end
  end
  if not (u and u[what].more) then
    gap(a.bytes)
  end
  return {count = count, first = first, last = last, free = free,
    hole = hole}
end

-- Places a write to memory that kernels only read in the only such argument
-- that was written.
local function locate_constant(r, launch)
  for i, a in ipairs(launch.used and launch.args or {}) do
    local u = a.kept and used_of(launch, i, "written")
    if u and u.count > 0 then
      if r.argument then
        r.argument = nil
        return
      end
      r.argument, r.first, r.last = a, u.first, u.last
    end
  end
end

-- Places a report's address in the argument that holds the address, or else in
-- the nearest argument: first and last are bytes from its beginning.
local function locate(r, launch)
  local least
  for i, a in ipairs(r.space == "global" and r.address and launch.args or {})
      do
    local from = launch.addresses[i]
    local d = from and r.address - from
    if d and d > -NEAR and d < NEAR then
      local off = d < 0 and -d or math.max(0, d - a.bytes + 1)
      if not least or off < least then
        least, r.argument, r.first = off, a, d
        r.last = d + (r.size or 1) - 1
      end
    end
  end
  if r.kind == "constant" then
    locate_constant(r, launch)
  end
  r.low, r.high = r.index, r.index
  local p, q = r.places[1], r.places[2]
  if q and q.line and not p.line then -- the place in the source comes first
    r.places = {q, p}
  end
end

-- The key that all repetitions of a defect share.
local function key_of(r)
  local parts = {r.kind, r.argument and r.argument.name or r.space or "",
    r.kind == "other" and r.title or "", r.count or 0}
  local places = {}
  for i, p in ipairs(r.places) do
    places[i] = ("%s:%s:%s"):format(p.file, p.line, p.column)
  end
  table.sort(places)
  return table.concat(parts, "|") .. table.concat(places, "|")
end

-- Adds a repetition to a finding.
local function join(f, r)
  f.times = f.times + 1
  if r.access and f.kind == "outside"
      and not f.access:find(r.access, 1, true) then
    f.access = "read and write"
  end
  if r.first then
    f.first, f.last = math.min(f.first, r.first), math.max(f.last, r.last)
  end
  if r.index then
    f.low, f.high = math.min(f.low, r.index), math.max(f.high, r.index)
  end
end

-- Kinds whose accesses give values that then count as never written.
local CAUSES = {outside = true, index = true, misaligned = true, race = true,
  wait = true}

-- Whether a finding only repeats or follows from another: an index outside an
-- array is an access outside as well; a value that was read outside,
-- misaligned or too early counts as never written.
local function follows(f, list)
  for _, other in ipairs(list) do
    if f.kind == "outside" and not f.argument and other.kind == "index"
        and other.line == f.line and other.file == f.file
        or f.kind:find "^unwritten" and CAUSES[other.kind] then
      return true
    end
  end
  return false
end

-- The reports of a launch as findings, each once.
local function fold(reported, launch)
  local list, known = {}, {}
  for _, r in ipairs(reported) do
    locate(r, launch)
    local key = key_of(r)
    if known[key] then
      join(known[key], r)
    else
      known[key], list[#list + 1], r.times = r, r, 1
      local p, q = r.places[1] or {}, r.places[2]
      r.line, r.column, r.file, r.item = p.line, p.column, p.file, p.item
      r.other = q and {line = q.line, column = q.column, file = q.file,
        item = q.item, text = ("%s %s here"):format(item(launch, q),
        races(r, 2))}
    end
  end
  local out = {}
  for _, f in ipairs(list) do
    local unsure = launch.unsure and f.kind:find "^unwritten"
    if not (unsure or follows(f, list)) then
      local said = words[f.kind]
      f.text = type(said) == "string" and said or said(f, launch)
      f.who = f.kind ~= "race" and f.kind ~= "divergence" and f.item
        and item(launch, f.places[1]) or nil
      out[#out + 1] = f
    end
  end
  table.sort(out, function(a, b)
    if (a.line or 0) ~= (b.line or 0) then
      return (a.line or 0) < (b.line or 0)
    end
    return a.text < b.text
  end)
  return out
end

--- findings.of(launch, result) -> list
--- The findings of a launch of a job, by its result (see job.run): of guard
--- bands, or of the log, each once: kind, text, times (how often), line,
--- column, file, item (the first work-item) and, of a race, `other` (line,
--- column, item of the second access).
function M.of(launch, result)
  if not result.bands then
    local reports, used = parse(result.log)
    launch.addresses = result.addresses
    launch.used = oclgrind.plugin() and used
    return fold(reports, launch)
  end
  local list = {}
  for i, band in ipairs(result.bands) do
    local a = launch.args[band.arg]
    list[i] = {kind = band.kept and "constant" or "outside",
      access = "write", space = "global", places = {}, times = 1,
      argument = a, first = band.first - band.first % a.size,
      last = band.last - band.last % a.size}
    list[i].text = words[list[i].kind](list[i])
  end
  return list
end

--- findings.unwritten(launch, list) -> notes
--- After findings.of: adds findings to the list for outputs that the launch
--- has never written, Buffers that it may write and has not read either, or
--- all of them where it has written nothing. Returns lines on elements left as
--- they were in Buffers that were written and not read.
function M.unwritten(launch, list)
  local notes, some, names, outside = {}, false, {}, {}
  local function put(said)
    list[#list + 1] = {kind = "never written", places = {}, times = 1,
      text = said}
  end
  for _, f in ipairs(list) do
    outside[f.kind == "outside" and f.argument or f] = true
  end
  for i, a in ipairs(launch.used and launch.args or {}) do
    if a.memory and not a.kept and not outside[a] then
      local w = used_of(launch, i, "written")
      local read = used_of(launch, i, "read").count > 0
      names[#names + 1], some = "'" .. a.name .. "'", some or w.count > 0
      if w.count == 0 and not read and a.count > 1 then -- 1: as a flag may be
        put(("'%s' was never written, nor read"):format(a.name))
      elseif w.count > 0 and w.free > 0 and not read then
        notes[#notes + 1] = ("%d of the %s of '%s' were not written, the "
          .. "first %s[%d]"):format(w.free, text.count(a.count, "element"),
          a.name, a.name, w.hole)
      end
    end
  end
  if names[1] and not some and not list[1] then
    put("no Buffer was written; the kernel may write "
      .. table.concat(names, ", "))
  end
  return notes
end

--- findings.merge(list, fresh, at)
--- Adds the findings of another launch of the same kernels to the list; `at`,
--- a list, tells where each was found.
function M.merge(list, fresh, at)
  for _, f in ipairs(fresh) do
    local key, known = key_of(f), nil
    for _, other in ipairs(list) do
      known = known or key_of(other) == key and other
    end
    if not known then
      f.at = {}
      list[#list + 1], known = f, f
    else
      known.times = known.times + f.times
    end
    if known.at[#known.at] ~= at then
      known.at[#known.at + 1] = at
    end
  end
end

-- The result of a check ------------------------------------------------------

local BLIND = ("without the simulator only writes next to Buffers are seen, "
  .. "within %s; reads outside, races, barriers and values that were never "
  .. "written are not"):format(text.bytes(jobs.BAND))

local Check = {__name = "check"}
Check.__index = Check

--- findings.build(program) -> table
--- The source of a program as build_error wants it.
function M.build(program)
  local path = program.file
  local source = path and excerpt.read(path) or program.source
  return {source = source, program = program:info().name, log = "",
    is_text = not path, literal = not path and user_source.literal(source)
    or nil}
end

-- A place of a finding as a diagnostic of a compiler.
local function diagnostic(kind, f)
  return {kind = kind, text = f.text, line = f.line, column = f.column,
    file = f.file, notes = {}, also = {}}
end

-- Adds a finding to the lines: its message and the source, as of a failed
-- build.
local function add_finding(lines, f, build)
  local d, o = diagnostic("error", f), f.other
  if o and o.line and (o.line ~= f.line or o.column ~= f.column) then
    d.notes[1] = diagnostic("note", o)
  end
  local own = f.line and build_error.lines(build, {d})
    or {"error: " .. f.text}
  table.move(own, 1, #own, #lines + 1, lines)
  if f.times and f.times > 1 then
    lines[#lines + 1] = ("  %s%d times%s"):format(f.times >= oclgrind.ERRORS
      and "at least " or "", f.times, f.who and ", first by " .. f.who or "")
  elseif f.who then
    lines[#lines + 1] = "  by " .. f.who
  end
  lines[#lines + 1] = f.at and text.fold("  at " .. table.concat(f.at, "; "),
    build.width or 80)
end

function Check:__tostring()
  local width, lines = system.winsize(1), {}
  local function put(line)
    lines[#lines + 1] = text.fold(line, width or 80)
  end
  for _, line in ipairs(self.head) do
    put(line)
  end
  for _, f in ipairs(self.findings) do
    local build = f.build or self.build or {} -- a crash may have none
    build.width = width
    add_finding(lines, f, build)
  end
  for _, note in ipairs(self.notes or {}) do
    put("note: " .. note)
  end
  if self.blind then
    put("note: " .. BLIND .. (oclgrind.driver() and ""
      or "; it is a package: " .. oclgrind.PACKAGES))
  end
  return table.concat(lines, "\n")
end

--- findings.check(fields) -> check
--- A result of check: `head`, its first lines, findings, notes, `build` (see
--- findings.build; the build of a finding wins), blind (whether guard bands,
--- which miss much, made it), and any further fields.
function M.check(fields)
  return setmetatable(fields, Check)
end

--- findings.count(list) -> string
--- "2 findings", of a list.
function M.count(list)
  return #list == 0 and "no finding" or text.count(#list, "finding")
end

--- findings.check_of(launch, added, list, looked, notes) -> check
--- The findings `list` of a launch; `added` is the launch as the job has it,
--- `looked` ends the first line, notes are lines below.
function M.check_of(launch, added, list, looked, notes)
  return M.check{kernel = added.kernel, global = added.global, notes = notes,
    localsize = added.localsize, findings = list, ok = #list == 0,
    build = M.build(launch.kernel.program),
    head = {("check: %s in %s over %s, local %s%s"):format(M.count(list),
      added.kernel, text.shape(added.global), added.localsize
      and text.shape(added.localsize) or "left to the driver", looked)}}
end

return M
