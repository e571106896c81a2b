-- help.lua - help at the prompt, out of the comments that the code carries:
-- /** blocks of the C files, --- blocks of the Lua files, heads of kernels
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local report = require "clshell.report"
local text = require "clshell.text"

local M = {}

local MODULES = {"matrix", "dia", "csr", "gemm", "spmv", "transpose", "bench",
  "peak", "compare", "roofline", "lesson", "calibrate", "runs", "results",
  "plot", "export", "html", "stats", "report", "script", "help"}
local OTHERS = {"family", "verify", "npy", "mtx", "traffic", "occupancy",
  "claims", "output", "target", "timer"}
local FAMILIES = {gemm = true, spmv = true, transpose = true}

local function read(path)
  local f = io.open(path, "rb")
  if f then
    local content = f:read("a")
    f:close()
    return content
  end
end

-- Adds an entry: its first line is the signature.
local function add(entries, block)
  local signature, body = block:match("^([^\n]*)\n?(.*)$")
  -- a signature may go on: while a bracket is open or after an arrow
  while body ~= "" and select(2, signature:gsub("[%(%[{]", ""))
      > select(2, signature:gsub("[%)%]}]", "")) do
    local more, rest = body:match("^%s*([^\n]*)\n?(.*)$")
    signature, body = signature .. " " .. more, rest
  end
  local name = signature:match("^([%a_][%w_%.:]*)[%({]")
  if name then
    name = name:gsub("^A:", "Buffer:") -- what a matrix can do besides
    entries[#entries + 1] = {name = name, signature = signature,
      text = body:gsub("%s+$", "")}
    entries[name] = entries[name] or entries[#entries]
  end
end

local function scan_c(entries, source)
  for block in source:gmatch("/%*%* ?(.-)%*/") do
    add(entries, (block:gsub("\n %* ?", "\n"):gsub("%s+$", "")))
  end
end

local function scan_lua(entries, source)
  local block
  for line in (source .. "\n"):gmatch("(.-)\n") do
    local words = line:match("^%s*%-%-%- ?(.*)$")
    if words then
      block = block or {}
      block[#block + 1] = words
    elseif block then
      add(entries, table.concat(block, "\n"))
      block = nil
    end
  end
end

-- The C files: installed as one text, in place as the Makefile lists them.
local function c_sources()
  local installed = read(cl.home .. "/doc/cl.txt")
  if installed then
    return {installed}
  end
  local sources = {}
  for name in (read(cl.home .. "/Makefile") or ""):gmatch("src/[%w_]+%.c") do
    sources[#sources + 1] = read(("%s/%s"):format(cl.home, name))
  end
  return sources
end

local entries

-- All entries, by name and in order; read at the first need.
local function index()
  if entries then
    return entries
  end
  entries = {}
  for _, source in ipairs(c_sources()) do
    scan_c(entries, source)
  end
  for _, list in ipairs{MODULES, OTHERS} do
    for _, name in ipairs(list) do
      scan_lua(entries,
        read(("%s/lua/clshell/%s.lua"):format(cl.home, name)) or "")
    end
  end
  return entries
end

local function show(entry)
  return entry.text == "" and entry.signature
    or ("%s\n\n%s"):format(entry.signature,
      entry.text:gsub("([^\n]+)", "  %1"))
end

-- The signatures of the entries that `wanted` accepts, sorted.
local function signatures(wanted)
  local list = {}
  for _, entry in ipairs(index()) do
    if wanted(entry.name) then
      list[#list + 1] = "  " .. entry.signature
    end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

local function family_of(name)
  return FAMILIES[name] and require("clshell." .. name) or nil
end

-- The head comment of a kernel file, without its markers.
local function head(source)
  local block = source:match("^%s*/%*(.-)%*/") or ""
  return (block:gsub("\n%s*%*%* ?", "\n"):gsub("^ ", "")
    :gsub("SPDX[^\n]*\n", ""):gsub("%s+$", ""))
end

local function rung_text(family, rung)
  local lines = {("%s.%s - %s"):format(family.name, rung.name, rung.lesson)}
  if #rung.params > 0 then
    lines[#lines + 1] = "\nParameters:"
  end
  for _, param in ipairs(rung.params) do
    lines[#lines + 1] = ("  %s = %s  (%s)"):format(param.name, param.default,
      text.values(param.values))
    for _, line in ipairs(report.wrap(param.help, 72)) do
      lines[#lines + 1] = "      " .. line
    end
  end
  lines[#lines + 1] = "\n" .. (rung.path or "source text") .. ":"
  lines[#lines + 1] = head(rung.source or read(rung.path) or "")
  return table.concat(lines, "\n")
end

local function family_text(family)
  local entry = index()[family.name]
  local methods = signatures(function(name)
    return name:find("^family%.") ~= nil
  end)
  return ("%s\n\nKernels (help \"%s.naive\" tells more):\n%s\n\n%s"):format(
    show(entry), family.name,
    tostring(family.kernels()), (methods:gsub("family%.",
      family.name .. ".")))
end

-- A class ("Buffer") or a module ("matrix"): what is in it.
local function group_text(name)
  local entry = index()[name]
  local list = signatures(function(other)
    return other:match("^(.-)[%.:]") == name
  end)
  if list == "" then
    return entry and show(entry)
  end
  return entry and ("%s\n\n%s"):format(show(entry), list)
    or ("%s\n%s"):format(name, list)
end

local function overview()
  local lines = {"help \"topic\" or help(value): what it is and how to call "
    .. "it.", ""}
  local groups, seen = {}, {}
  for _, entry in ipairs(index()) do
    local group = entry.name:match("^(.-)[%.:]") or entry.name
    if group ~= "family" and not seen[group] then
      seen[group] = true
      groups[#groups + 1] = group
    end
  end
  table.sort(groups)
  local classes, modules = {}, {}
  for _, group in ipairs(groups) do
    local list = group:find("^%u") and classes or modules
    list[#list + 1] = group
  end
  for _, part in ipairs{{"Modules and functions", modules},
      {"Objects", classes}} do
    lines[#lines + 1] = part[1] .. ":"
    for _, line in ipairs(report.wrap(table.concat(part[2], " "), 74)) do
      lines[#lines + 1] = "  " .. line
    end
  end
  lines[#lines + 1] = "\nFor example: help \"cl\", help(cl.buffer), "
    .. "help \"Buffer\", help \"Buffer:read\",\nhelp(gemm), "
    .. "help \"gemm.tiled_padded\"."
  return table.concat(lines, "\n")
end

local function unknown(topic)
  local names = {}
  for _, entry in ipairs(index()) do
    names[#names + 1] = entry.name
    names[#names + 1] = entry.name:match("^(.-)[%.:]")
  end
  for name in pairs(FAMILIES) do
    for _, rung in ipairs(family_of(name).kernels()) do
      names[#names + 1] = name .. "." .. rung.name
    end
  end
  local near = text.nearest(topic, names)
  return ("no help on '%s'%s"):format(topic, near
    and ("; did you mean '%s'?"):format(near) or "; help() lists the topics")
end

-- The text on a topic given by its name.
local function by_name(topic)
  local group, member = topic:match("^(%w+)[%.:](.+)$")
  local family = family_of(group or topic)
  if family and not group then
    return family_text(family)
  elseif index()[topic] and group then
    return show(index()[topic])
  elseif family then
    for _, item in ipairs(family.kernels()) do
      if item.name == member then
        return rung_text(family, item.rung)
      end
    end
    local entry = index()["family." .. member]
    return entry and (show(entry):gsub("family%.", group .. "."))
      or unknown(topic)
  end
  return group_text(topic) or unknown(topic)
end

-- The value that a documented name stands for, or nil.
local function value_of(name)
  local group, member = name:match("^([%w_]+)%.([%w_]+)$")
  local home = group == "cl" and cl or package.loaded["clshell." ..
    (group or name)]
  if group and type(home) == "table" then
    return rawget(home, member)
  end
  return not group and home or nil
end

-- The name of a documented function, module or object.
local function name_of(value)
  for name in pairs(FAMILIES) do
    local family = package.loaded["clshell." .. name]
    if family == value then
      return name
    end
    for key, member in pairs(type(family) == "table" and family or {}) do
      if member == value then
        return name .. "." .. key
      end
    end
  end
  for _, entry in ipairs(index()) do
    if value_of(entry.name) == value or _G[entry.name] == value then
      return entry.name
    end
  end
  for _, name in ipairs(MODULES) do
    if package.loaded["clshell." .. name] == value then
      return name == "peak" and "peaks" or name
    end
  end
  if value == cl then
    return "cl"
  elseif type(value) == "userdata" then
    return tostring(value):match("^%a+")
  end
end

--- help.text([topic]) -> string
--- What help prints on a topic.
function M.text(topic)
  if topic == nil then
    return overview()
  elseif type(topic) == "string" then
    return by_name(topic)
  end
  local name = name_of(topic)
  return name and by_name(name)
    or ("no help on this %s; help() lists the topics"):format(type(topic))
end

return setmetatable(M, {
  --- help([topic])
  --- Prints help: on a name such as "gemm", "gemm.tiled_padded", "cl.buffer"
  --- or "Buffer:read", on a function or object itself, or, without a topic,
  --- what there is.
  __call = function(_, topic)
    print(M.text(topic))
  end,
})
