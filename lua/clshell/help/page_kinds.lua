-- help/kinds.lua - the pages of help that are more than one function: rungs,
-- families, groups, concepts, Lua's library, and the user's own values
-- SPDX-License-Identifier: MIT

local concepts = require "clshell.help.concepts"
local index = require "clshell.help.index"
local lualib = require "clshell.help.lualib"
local page = require "clshell.help.page_layout"
local text = require "clshell.base.text"

local M = {}

-- The head comment of a kernel file, without its markers.
local function head(source)
  local block = source:match("^%s*/%*(.-)%*/") or ""
  return (block:gsub("\n%s*%*%* ?", "\n"):gsub("^ ", "")
    :gsub("SPDX[^\n]*\n", ""):gsub("%s+$", ""))
end

local function indented(s)
  return (s:gsub("([^\n]+)", "  %1"))
end

--- The page of a rung: its lesson, its parameters, the head of its file.
function M.rung(family, rung, view)
  local parts = {("%s - %s"):format(page.heading(family.name .. "."
    .. rung.name, view), rung.lesson)}
  parts[1] = page.prose(parts[1], view, "")
  local rows = {}
  for i, param in ipairs(rung.params) do
    rows[i] = {("%s = %s"):format(param.name, param.default),
      ("(%s) %s"):format(text.values(param.values), param.help)}
  end
  if #rows > 0 then
    parts[#parts + 1] = page.heading("Parameters: default, legal values",
      view) .. "\n" .. page.rows(rows, view)
  end
  parts[#parts + 1] = page.heading(rung.path or "Source text", view) .. "\n"
    .. indented(head(rung.source or index.read(rung.path) or ""))
  local p = rung.params[1]
  local call = family.name == "gemm" and "local C, event = gemm(A, B, "
    or family.name == "spmv" and "local y, event = spmv(M, x, "
    or ("local B, event = %s(A, "):format(family.name)
  parts[#parts + 1] = page.heading("Example", view) .. "\n"
    .. page.code(('%s{kernel = "%s"%s})'):format(call, rung.name,
      p and (", %s = %s"):format(p.name, type(p.default) == "string"
        and ("%q"):format(p.default) or p.default) or ""), view)
  return table.concat(parts, "\n\n")
end

-- The signatures of the entries that `wanted` accepts, with what they do.
local function list(wanted, view, from, to)
  local rows = {}
  for _, entry in ipairs(index.entries()) do
    if wanted(entry.name) and not entry.minor then
      local signature = from and entry.signature:gsub(from, to)
        or entry.signature
      rows[#rows + 1] = {signature,
        page.summary(entry.text, view.width - 8)}
    end
  end
  table.sort(rows, function(a, b) return a[1] < b[1] end)
  return page.listing(rows, view), #rows
end

--- The page of a family: the call, its rungs, its functions.
function M.family(family, view)
  local functions = list(function(name)
    return name:find("^family%.") ~= nil
  end, view, "family%.", family.name .. ".")
  local rungs = {}
  for i, item in ipairs(family.kernels()) do
    rungs[i] = {("%s  %s"):format(item.name, item.parameters)
      :gsub("%s+$", ""), item.lesson}
  end
  return ("%s\n\n%s\n%s\n\n%s\n%s"):format(
    page.entry(index.entries()[family.name], view),
    page.heading(("Kernels: ?%s.naive tells more"):format(family.name), view),
    page.listing(rungs, view),
    page.heading("Functions", view), functions)
end

--- A class ("Buffer") or a module ("matrix"): what is in it. nil if neither.
function M.group(name, view)
  local entry = index.entries()[name]
  local members, n = list(function(other)
    return other:match("^(.*)[%.:]") == name
  end, view)
  if n == 0 then
    return entry and page.entry(entry, view)
  end
  local what = page.heading(entry and "Functions" or name, view) .. "\n"
    .. members
  return entry and page.entry(entry, view) .. "\n\n" .. what or what
end

--- The page of a concept.
function M.concept(entry, view)
  local also = entry.names:match("^[^,]+,%s*(.*)$")
  local first = page.heading(entry.title, view)
    .. (also and (" (%s)"):format(also) or "")
  return ("%s\n\n%s\n\n  Try: %s"):format(first,
    page.prose(entry.text, view, "  "), entry.try)
end

--- A word of OpenCL C; nil if it is none.
function M.opencl(name, view)
  local entry = require("clshell.help.opencl").entries()[name]
  return entry and ("%s\n\n%s"):format(page.heading(entry.signature, view),
    page.prose(("In kernels, OpenCL C: %s."):format(entry.text), view, "  "))
end

--- The methods of that name, of whatever class; nil without one.
function M.method(name, view)
  local found = {}
  for _, entry in ipairs(index.entries()) do
    if entry.name:match(":([%w_]+)$") == name then
      found[#found + 1] = page.entry(entry, view)
    end
  end
  return #found > 0 and table.concat(found, "\n\n", 1, math.min(3, #found))
    or nil
end

--- One of Lua's own functions, or a library of them; nil if it is neither.
function M.lua(name, view)
  local entry = lualib.entries()[name]
  if entry then
    local text_ = entry.text:gsub("^%l", string.upper)
    return ("%s\n\n%s"):format(page.heading(entry.signature, view),
      page.prose(("%s. (Lua 5.4 reference manual, section %s.)"):format(
        text_, entry.section), view, "  "))
  end
  local section, rows = lualib.section(name), {}
  if not section then
    return nil
  end
  for _, e in ipairs(lualib.entries()) do
    if e.section == section and e.name ~= "require" then
      rows[#rows + 1] = {e.signature, e.text}
    end
  end
  return ("%s\n%s"):format(page.heading(("%s: Lua 5.4 reference manual, "
    .. "section %s"):format(name, section), view), page.rows(rows, view, 34))
end

-- The comment that ends above line `at`.
local function leading(lines, at)
  local first = at
  while lines[first - 1] and lines[first - 1]:find("^%s*%-%-") do
    first = first - 1
  end
  local words = {}
  for i = first, at - 1 do
    words[#words + 1] = lines[i]:match("^%s*%-%-+ ?(.*)$")
  end
  return table.concat(words, "\n")
end

local function parameters(f, info)
  local list_ = {}
  for i = 1, info.nparams do
    list_[i] = debug.getlocal(f, i)
  end
  if info.isvararg then
    list_[#list_ + 1] = "..."
  end
  return table.concat(list_, ", ")
end

local function own_function(f, name, view)
  local info = debug.getinfo(f, "Su")
  if info.what == "C" then
    return ("%s is a function written in C"):format(name)
  end
  local content = require "clshell.diagnose.excerpt".source(info.source)
  local lines = {}
  for line in ((content or "") .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = line
  end
  local parts = {("%s   %s:%d"):format(page.heading(("%s(%s)"):format(name,
    parameters(f, info)), view), info.short_src, info.linedefined)}
  local comment = leading(lines, info.linedefined)
  if comment ~= "" then
    parts[2] = page.prose(comment, view, "  ")
  end
  local body = table.move(lines, info.linedefined, math.min(
    info.lastlinedefined, info.linedefined + 11), 1, {})
  if body[1] then
    if info.lastlinedefined > info.linedefined + 11 then
      body[#body + 1] = "..."
    end
    parts[#parts + 1] = page.code(table.concat(body, "\n"), view)
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

--- What a value of the user's is.
function M.value(value, name, view)
  local kind = type(value)
  if kind == "function" then
    return own_function(value, name, view)
  elseif kind == "table" then
    return ("%s is a table\n%s"):format(name,
      page.prose(next(value) ~= nil and "Fields: " .. keys_of(value)
        or "It is empty.", view, "  "))
  end
  local shown = kind == "string" and ("%q"):format(value)
    or kind == "number" and tostring(value) or kind == "boolean"
    and tostring(value)
  return shown and ("%s is a %s: %s"):format(name, kind, shown)
    or ("%s is a %s"):format(name, kind)
end

--- What there is to ask for.
function M.overview(view)
  local groups, seen, objects = {}, {family = true}, {}
  for _, entry in ipairs(index.entries()) do
    local group = entry.name:match("^(.-)[%.:]") or entry.name
    if not seen[group] then
      groups[#groups + 1] = group
      seen[group] = true
    end
    objects[group] = entry.name:find(":", 1, true) ~= nil
  end
  table.sort(groups)
  local classes, modules, words = {}, {}, {}
  for _, group in ipairs(groups) do
    local where = objects[group] and classes or modules
    where[#where + 1] = group
  end
  for i, entry in ipairs(concepts.entries()) do
    words[i] = entry.name
  end
  table.sort(words)
  local commands = {}
  for name in pairs(require("clshell.help.search").commands()) do
    commands[#commands + 1] = "%" .. name
  end
  table.sort(commands)
  local parts = {page.prose("help \"topic\" or help(value), at the prompt "
    .. "?topic or topic?: what it is and how to call it. ??word searches "
    .. "all of it, F1 tells about the call at the cursor, ?tutorial teaches "
    .. "the shell in ten steps.", view, "")}
  for _, part in ipairs{{"Modules and functions", modules},
      {"Objects", classes}, {"Concepts", words}, {"Commands", commands}} do
    parts[#parts + 1] = #part[2] > 0 and page.heading(part[1], view) .. "\n"
      .. page.prose(table.concat(part[2], " "), view, "  ") or nil
  end
  parts[#parts + 1] = page.prose("For example: ?cl ?cl.buffer ?Buffer "
    .. "?Buffer:read ?gemm ?gemm.tiled_padded ?local_memory "
    .. "?string.format, and help \"%time\" on a command.", view, "")
  return table.concat(parts, "\n\n")
end

return M
