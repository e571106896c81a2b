-- shell/help/pages.lua - the pages of help: rungs, families, classes and
-- modules, concepts, Lua's library, names that stand alone, the user's own
-- values, and searches
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local concepts = require "clshell.shell.help.concepts"
local cuda = require "clshell.cuda.words"
local file = require "clshell.base.file"
local index = require "clshell.shell.help.index"
local layout = require "clshell.shell.help.page_layout"
local lazy = require "clshell.base.lazy"
local reference = require "clshell.shell.help.reference"
local resolve = require "clshell.shell.prompt.resolve"
local text = require "clshell.base.text"

local M = {}

-- The head comment of a file of kernels or of Lua, indented, without comment
-- markers.
local function head(source)
  local block = source:match("^%s*/%*(.-)%*/")
    or (source:match "^#![^\n]*(\n.-)\n%s*\n" or ""):gsub("\n%-%-", "\n**")
  return (block:gsub("\n%s*%*%* ?", "\n"):gsub("^ ", "")
    :gsub("SPDX[^\n]*\n", ""):gsub("%s+$", ""):gsub("([^\n]+)", "  %1"))
end

--- pages.rung(family, rung, view) -> string
--- The page of a rung: its lesson, its parameters, the head of its file.
function M.rung(family, rung, view)
  local rows, param = {}, rung.params[1]
  for i, one in ipairs(rung.params) do
    rows[i] = {("%s = %s"):format(one.name, one.default),
      ("(%s) %s"):format(text.values(one.values), one.help)}
  end
  local source = rung.source or file.read(rung.path) or ""
  local first = head(source)
  return layout.sections(layout.prose(("%s - %s"):format(layout.heading(
    family.name .. "." .. rung.name, view), rung.lesson), view, ""), {
    {"Parameters: default, legal values", layout.rows(rows, view)},
    {rung.path or "Source text", first:find "%S" and first
      or layout.code(source, view)},
    {"Example", layout.code(
      ('local %s, event = %s(%s, {kernel = "%s"%s})'):format(
      family.spec.output, family.name, table.concat(family.spec.inputs, ", "),
      rung.name, param and (", %s = %s"):format(param.name,
      type(param.default) == "string" and ("%q"):format(param.default)
      or param.default) or ""), view)}}, view)
end

-- The example of `define` of families other than gemm.
local DEFINE = [[
NAME.define{
  name = "mine", lesson = "what it teaches", file = "mine.cl",
  params = {{name = "wg", values = {64, 128}, help = "work-group size"}},
  range = function(s, p) return (s.SIZE + p.wg - 1) // p.wg * p.wg, p.wg end,
}]]

--- pages.define(family, entry, view) -> string
--- The page of a family's `define`: the entry of family.define, and the
--- kernel that it takes.
function M.define(family, entry, view)
  local name, spec = family.name, family.spec
  local kernels = {}
  for line in spec.signature:gmatch "[^\n]+" do
    kernels[#kernels + 1] = "  " .. table.concat(text.wrap(
      ("kernel void mine(%s)"):format(line), view.width - 6), "\n      ")
  end
  local example = name ~= "gemm" and DEFINE:gsub("NAME", name):gsub("SIZE",
    (spec.dims or {"rows"})[1]) or nil
  return layout.entry(entry, view, "family.", name .. ".", example,
    {("A kernel of %s"):format(name), table.concat(kernels, "\n")})
end

-- The signatures of a group's entries, with their summaries; with a family,
-- only the entries that the family has.
local function members_of(group, view, family)
  local rows = {}
  for _, entry in ipairs(index.entries()) do
    local owner, member = entry.name:match "^(.*)[%.:](.*)$"
    if owner == group and not entry.minor
        and not (family and not family[member]) then
      rows[#rows + 1] = {family
        and entry.signature:gsub("family%.", family.name .. ".")
        or entry.signature, layout.summary(entry.text, view.width - 8)}
    end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return layout.listing(rows, view)
end

--- pages.family(family, view) -> string
--- The page of a family: the call, its rungs, its functions.
function M.family(family, view)
  local rungs = {}
  for i, item in ipairs(family.kernels()) do
    rungs[i] = {("%s  %s"):format(item.name, item.parameters)
      :gsub("%s+$", ""), item.lesson}
  end
  return layout.sections(layout.entry(index.entries()[family.name], view), {
    {("Kernels: ?%s.%s tells more"):format(family.name,
      family.list[#family.list].name), layout.listing(rungs, view)},
    {"Functions", members_of("family", view, family)}}, view)
end

--- pages.group(name, view) -> string or nil
--- The page of a class ("Buffer") or a module ("matrix") with its functions.
function M.group(name, view)
  local entry, members = index.entries()[name], members_of(name, view)
  if members ~= "" and lazy.public.module(name)
      and not lazy.session[name] then
    members = ("%s\n\n  local %s = require \"clshell.%s\""):format(members,
      name, name)
  end
  return layout.sections(entry and layout.entry(entry, view),
    {{entry and "Functions" or name, members}}, view)
end

--- pages.concept(entry, view) -> string
function M.concept(entry, view)
  local also = entry.names:match("^[^,]+,%s*(.*)$")
  return ("%s\n\n%s\n\n  Try: %s"):format(layout.heading(entry.title, view)
    .. (also and (" (%s)"):format(also) or ""),
    layout.prose(entry.text .. (entry.more and "\n" .. entry.more() or ""),
      view, "  "), entry.try)
end

--- pages.cuda(word, view) -> string or nil
--- The page of a word of CUDA's, or of a host in C or Python.
function M.cuda(word, view)
  local entry = cuda.find(word)
  local language = entry and cuda.language(entry)
  return entry and layout.page(("%s (%s)"):format(entry.word, language),
    ("Here: %s. ?%s has all words."):format(entry.said,
    language:find "OpenCL" and "opencl" or "cuda"), view)
end

-- The text of a listing by its path, or the listing itself.
local function listing(topic)
  local path = topic:match "^%S+%.[chpy][chpxyu]*$"
  return not path and topic or file.read(path) or ""
end

--- pages.host(topic, view) -> string or nil
--- The Lua for a listing of a host in C, CUDA or Python, or for such a file.
function M.host(topic, view)
  local found = require "clshell.cuda.host".page(listing(topic), view.width)
  return found and "Host code, line by line, in Lua:\n" .. found
end

--- pages.opencl(name, view) -> string or nil
--- The page of a word of OpenCL C, or of an error of OpenCL.
function M.opencl(name, view)
  local failure = reference.errors[name]
  if failure then
    return layout.page(failure.signature, failure.text:gsub("^%l",
      string.upper) .. ".", view)
  end
  local entry = reference.opencl[name:match "^__(.*)" or name]
  return entry and layout.page(entry.signature,
    ("In kernels, OpenCL C: %s."):format(entry.text), view)
end

-- The sentence of a text around the place `at`, as one line.
local function sentence(s, at)
  s = s:gsub("\n", " ")
  local first = 1
  for stop in s:sub(1, at):gmatch "()[%.:;] " do
    first = stop + 2
  end
  return s:sub(first, (s:find("[%.;]%f[%s\0]", at) or #s))
end

--- pages.field(topic, view) -> string or nil
--- The sentences on a field of an object, such as "A.rows", in the pages of
--- functions.
function M.field(topic, view)
  local field = topic:match "^[%a_]%w*%.([%a_][%w_]*)$"
  local rows = {}
  for _, entry in ipairs(field and index.entries() or {}) do
    local at = entry.text:find("`%w+%." .. field .. "%f[^%w_]")
    if at and #rows < 3 then
      rows[#rows + 1] = {"?" .. entry.name, sentence(entry.text, at)}
    end
  end
  return rows[1] and layout.heading(("Field '%s'"):format(field), view,
    layout.listing(rows, view))
end

--- pages.method(name, view) -> string or nil
--- The methods of that name, of all classes.
function M.method(name, view)
  local found = {}
  for _, entry in ipairs(index.entries()) do
    if #found < 3 and entry.name:match(":([%w_]+)$") == name then
      found[#found + 1] = layout.entry(entry, view)
    end
  end
  return found[1] and table.concat(found, "\n\n")
end

--- pages.lua(name, view) -> string or nil
--- The page of one of Lua's own functions, or of a library.
function M.lua(name, view)
  local entry = reference.lua[name]
  if entry then
    return layout.page(entry.signature,
      ("%s. (Lua 5.4 reference manual, section %s.)"):format(
      entry.section == "3.3" and entry.text -- begins with code
      or entry.text:gsub("^%l", string.upper), entry.section), view)
  end
  local section, rows = reference.section(name), {}
  for _, other in ipairs(section and reference.lua or {}) do
    if other.section == section and other.name ~= "require" then
      rows[#rows + 1] = {other.signature, other.text}
    end
  end
  return section and layout.heading(("%s: Lua 5.4 reference manual, "
    .. "section %s"):format(name, section), view,
    layout.rows(rows, view, 34))
end

--- pages.alone(name, view) -> page, full name; or nil
--- The page of a name without its owner, "tiled" or "map": functions and rungs
--- of that name, rungs with such a parameter, functions with such an option.
--- Where only one function or rung has the name, just its full name.
function M.alone(name, view)
  local found, parameters, options = {}, {}, {}
  for _, item in ipairs(index.rungs()) do
    if item.short == name then
      found[#found + 1] = {item.name, item.rung.lesson}
    end
    for _, param in ipairs(item.rung.params) do
      if param.name == name then
        parameters[#parameters + 1] = {item.name, ("%s = %s (%s) %s"):format(
          name, param.default, text.values(param.values), param.help)}
      end
    end
  end
  for _, entry in ipairs(index.entries()) do
    if not entry.minor and entry.name:match("[.:]([%w_]+)$") == name then
      found[#found + 1] = {entry.name, layout.summary(entry.text, 60)}
    end
    for _, option in ipairs(entry.options) do
      if option.name:find("%f[^%s,\0]" .. name .. "%f[%s,\0]") then
        options[#options + 1] = {entry.name, (option.default
          and ("(%s) "):format(option.default) or "") .. option.text}
      end
    end
  end
  if #found == 1 and #parameters + #options == 0 then
    return nil, found[1][1]
  end
  return layout.sections(nil, {
    {("'%s' is"):format(name), layout.rows(found, view, 28)},
    {("Parameter '%s' of"):format(name), layout.rows(parameters, view, 28)},
    {("Option '%s' of"):format(name), layout.rows(options, view, 28)}}, view)
end

-- The comment that ends above line `at`.
local function leading(lines, at)
  local words = {}
  while lines[at - 1] and lines[at - 1]:find "^%s*%-%-" do
    at = at - 1
    table.insert(words, 1, lines[at]:match "^%s*%-%-+ ?(.*)$")
  end
  return table.concat(words, "\n")
end

local function own_function(f, name, view)
  local info = debug.getinfo(f, "Su")
  if info.what == "C" then
    return ("%s is a function written in C"):format(name)
  end
  local lines = text.lines(require "clshell.errors.excerpt".source(
    info.source) or "")
  local parts = {("%s   %s:%d"):format(layout.heading(("%s(%s)"):format(name,
    table.concat(resolve.parameters(f), ", ")), view), info.short_src,
    info.linedefined)}
  local comment = leading(lines, info.linedefined)
  parts[2] = comment ~= "" and layout.prose(comment, view, "  ") or nil
  local last = info.lastlinedefined
  local body = table.move(lines, info.linedefined, math.min(last,
    info.linedefined + 11), 1, {})
  if body[1] then
    body[#body + 1] = last > info.linedefined + 11 and "..." or nil
    parts[#parts + 1] = layout.code(table.concat(body, "\n"), view)
  end
  return table.concat(parts, "\n\n")
end

-- A sorted list of a table's keys, raw, cut.
local function keys_of(t)
  local keys = {}
  for key in next, t do
    keys[#keys + 1] = type(key) == "string" and key
      or ("[%s]"):format(tostring(key))
  end
  table.sort(keys)
  local more = #keys > 40 and (" ... %d in all"):format(#keys) or ""
  return table.concat(keys, " ", 1, math.min(40, #keys)) .. more
end

--- pages.value(value, name, view) -> string
--- The page of a value of the user's.
function M.value(value, name, view)
  local kind = type(value)
  if kind == "function" then
    return own_function(value, name, view)
  elseif kind == "table" then
    return ("%s is a table\n%s"):format(name,
      layout.prose(next(value) ~= nil and "Fields: " .. keys_of(value)
        or "It is empty.", view, "  "))
  end
  local shown = kind == "string" and (": %q"):format(value)
    or (kind == "number" or kind == "boolean") and ": " .. tostring(value)
  return ("%s is a %s%s"):format(name, kind, shown or "")
end

-- The names and texts of options or parameters, as one string.
local function keys(list, field)
  return text.values(list, " ", function(item)
    return item.name .. " " .. item[field]
  end)
end

--- pages.everything() -> list
--- All topics: {name, signature, text, keys, last}; `last` divides the points
--- of a search.
function M.everything()
  local all = {}
  local function add(name, signature, about, words, last)
    all[#all + 1] = {name = name, signature = signature, text = about,
      keys = words, last = last or 1}
  end
  for _, entry in ipairs(index.entries()) do
    if not entry.minor then
      add(entry.name, entry.signature, entry.text,
        keys(entry.options, "text"))
    end
  end
  for _, item in ipairs(index.rungs()) do
    add(item.name, "", item.rung.lesson, keys(item.rung.params, "help"))
  end
  for _, entry in ipairs(concepts.list) do
    add(entry.name, "", entry.text, entry.names)
  end
  for _, entry in ipairs(cuda.list) do
    local language = cuda.language(entry)
    add(entry.word, "", ("%s, here %s"):format(language, entry.said), "",
      language:find "OpenCL" and 8 or 2)
  end
  for name, command in pairs(index.commands()) do
    add("%" .. name, command.usage or "", command.help or "", "")
  end
  for _, name in ipairs(require
      "clshell.shell.commands.completion".words.script()) do
    add("%run " .. name, "", head(file.read(("%s/scripts/%s"):format(cl.home,
      name)) or ""):gsub("^%s*[%w_.]+ %- ", ""), name)
  end
  for _, list in ipairs{reference.opencl, reference.errors,
      reference.lua} do
    for _, entry in ipairs(list) do
      add(entry.name, entry.signature, entry.text, "", 2)
    end
  end
  return all
end

-- The points of a topic for a word; 0 for a topic without the word.
local function score(thing, word)
  local name = thing.name:lower()
  local tail = name:match("[^.:%%]*$")
  local points = 0
  if name == word or tail == word then
    points = 100
  elseif tail:find(word, 1, true) == 1 then
    points = 60
  elseif name:find(word, 1, true) then
    points = 40
  end
  if thing.keys:lower():find(word, 1, true) then
    points = points + 15
  end
  if thing.signature:lower():find(word, 1, true) then
    points = points + 8
  end
  local _, n = thing.text:lower():gsub((word:gsub("%p", "%%%0")), "")
  points = points + math.min(10, 3 * n)
  return points / thing.last
end

local FILLERS = text.set
  "a an and do does for how i in is my of on the to with"

-- The words to search for: without fillers, where others are left.
local function wanted(words)
  local list, all = {}, {}
  for word in words:lower():gmatch("%S+") do
    all[#all + 1] = word
    list[#list + 1] = not FILLERS[word] and word or nil
  end
  return list[1] and list or all
end

-- The topics that answer to all of the words, best first.
local function find(words)
  local found, list = {}, wanted(words)
  for _, thing in ipairs(M.everything()) do
    thing.score = 0
    local all = list[1] ~= nil
    for _, word in ipairs(list) do
      local points = score(thing, word)
      thing.score, all = thing.score + points, all and points > 0
    end
    found[#found + 1] = all and thing or nil
  end
  table.sort(found, function(a, b)
    return a.score > b.score or a.score == b.score and a.name < b.name
  end)
  return found
end

--- pages.search(words, view) -> string
--- The page of a search, cut to the window.
function M.search(words, view)
  local found = find(words)
  if #found == 0 then
    return ("nothing about '%s'; ? alone lists the topics"):format(words)
  end
  local room = math.min(#found, math.max(5, (view.height or 24) - 4))
  local wide, rows = 0, {}
  for i = 1, room do
    wide = math.max(wide, #found[i].name)
  end
  for i = 1, room do
    rows[i] = {found[i].name, layout.summary(found[i].text,
      math.max(20, view.width - math.min(wide, 26) - 4))}
  end
  local rest = #found > room and ("\n%d of %d; ??%s and another word narrows "
    .. "the search"):format(room, #found, words) or ""
  return layout.rows(rows, view, 26) .. rest
end

--- pages.overview(view) -> string
--- The list of the topics.
function M.overview(view)
  local modules, further, classes, words, commands, guides = {}, {}, {}, {},
    {}, {}
  local lists = {} -- by group
  for _, entry in ipairs(index.entries()) do
    local group, mark = entry.name:match("^(.-)([%.:])")
    group = group or entry.name
    if not entry.minor and (mark ~= ":" or group:find "^%u") then
      lists[group] = mark == ":" and classes
        or lazy.session[group] and modules
        or lazy.public.module(group) and further or nil
    end
  end
  for group, its in pairs(lists) do
    its[#its + 1] = group
  end
  for _, entry in ipairs(concepts.list) do
    table.insert(entry.guide and guides or words, entry.name)
  end
  for name in pairs(index.commands()) do
    commands[#commands + 1] = "%" .. name
  end
  local sections = {{"By task", guides}, {"Modules and functions", modules},
    {"Modules for require: local json = require \"clshell.json\"", further},
    {"Objects", classes}, {"Concepts", words}, {"Commands", commands}}
  for _, section in ipairs(sections) do
    table.sort(section[2])
    section[2] = layout.prose(table.concat(section[2], " "), view, "  ")
  end
  return layout.sections(layout.prose("help \"topic\" or help(value), at the "
    .. "prompt ?topic or topic?: its meaning and how to call it. ??word "
    .. "searches all of help, F1 tells about the call at the cursor, "
    .. "?tutorial teaches the shell in lessons.", view, ""), sections, view)
    .. "\n\n" .. layout.prose("For example: ?cl ?cl.buffer ?Buffer "
    .. "?Buffer:read ?gemm ?gemm.tiled_padded ?local_memory "
    .. "?string.format, and help \"%time\" on a command.", view, "")
end

return M
