-- shell/prompt/offers.lua - the words besides names that completion offers:
-- element types, devices, rungs, modules, files, and the words of %commands,
-- ?topics and !commands of the system's shell
-- Each function offers words to candidates `c`: c:add, c:name and c:field of
-- complete.lua.
-- SPDX-License-Identifier: MIT

local api = require "clshell.base.api"
local resolve = require "clshell.shell.prompt.resolve"
local cl = require "cl"
local families = require "clshell.ladder.families"
local options = require "clshell.base.options"
local public = require("clshell.base.lazy").public

local folder = require "clshell.system".folder
local loaded, types = package.loaded, cl.types

local M = {}

local SCRIPTS = cl.home .. "/scripts" -- scripts of clshell
local KERNELS = cl.home .. "/kernels"

local function all(c, list)
  for _, word in ipairs(list) do
    c:add(word)
  end
end

--- offers.paths(c [, below])
--- Files of the folder that c.word names, relative to the folder `below`.
function M.paths(c, below)
  local home = os.getenv "HOME"
  local word = c.word
  if home and word:find "^~/" then
    word = home .. word:sub(2)
  end
  if word:find "[\n\r]" or below and word:find "^/" then
    return
  end
  local dir, base = word:match "^(.*/)([^/]*)$"
  dir, base = dir or "", base or word
  local from = below and below .. "/" .. dir or dir
  local list, partial = folder(from == "" and "." or from, base)
  for _, name in ipairs(list or {}) do
    if not c.only_folders or name:sub(-1) == "/" then
      c:add(dir .. name, {show = name, typed = dir .. base})
    end
  end
  c.partial = list and partial or c.partial
end

local function folders(c)
  c.only_folders = true
  M.paths(c)
end

--- offers.sources(c)
--- The argument of cl.build: files, also below clshell's kernels folder.
function M.sources(c)
  M.paths(c)
  M.paths(c, KERNELS)
end

--- offers.types(c)
function M.types(c)
  all(c, types())
end

--- offers.gpus(c)
--- The GPUs that access and occupancy know.
function M.gpus(c)
  all(c, require "clshell.base.gpus".names())
end

--- offers.devices(c)
--- The argument of cl.use. Devices by name only once a driver is open: a
--- driver takes time to open, and the user decides about that.
function M.devices(c)
  local devices = resolve.devices()
  all(c, {"accelerator", "cpu", "gpu"})
  if not devices then
    c.hint = "no driver is open yet; cl.devices() lists the devices"
    return
  end
  all(c, devices)
  for _, name in ipairs(devices) do
    if c.word ~= "" and name:lower():find(c.word:lower(), 2, true) then
      c:add(name, {rank = 3, typed = name:sub(1, #c.word)})
    end
  end
end

-- The rungs of a family by name.
local function rungs(family)
  local by_name = {}
  for _, rung in ipairs(rawget(family, "list")) do
    local name = rawget(rung, "name")
    if type(name) == "string" then
      by_name[name] = rung
    end
  end
  return by_name
end

--- offers.rungs(c, family [, prefix])
--- The rungs of a family, with a prefix.
function M.rungs(c, family, prefix)
  for name in pairs(family and rungs(family) or {}) do
    c:add((prefix or "") .. name)
  end
end

--- offers.family(name) -> the table of a kernel family, or nil
function M.family(name)
  return resolve.family{value = families.peek(name)}
end

--- offers.targets(c)
--- The first argument of bench for a rung: "gemm.tiled".
function M.targets(c)
  for _, name in ipairs(families.names()) do
    M.rungs(c, M.family(name), name .. ".")
  end
end

-- The parameters of a rung; an empty list for an unknown rung.
local function parameters(family, rung)
  local found = type(rung) == "string" and rungs(family)[rung]
  return found and rawget(found, "params") or {}
end

--- offers.parameters(c, family, rung, given)
--- The names of a rung's parameters as fields of a table; `given` is left out.
function M.parameters(c, family, rung, given)
  for _, parameter in ipairs(parameters(family, rung)) do
    local name = rawget(parameter, "name")
    if not given[name] then
      c:field(name)
    end
  end
end

-- The legal values of a rung's parameter or of a family's option, or nil.
local function values_of(family, rung, name)
  local options_of = rawget(rawget(family, "spec") or {}, "options") or {}
  for _, list in ipairs{parameters(family, rung), options_of} do
    for _, one in ipairs(list) do
      if type(one) == "table" and rawget(one, "name") == name then
        return rawget(one, "values")
      end
    end
  end
end

--- offers.values(c, family, rung, name) -> whether there are any
--- The values of a rung's parameter or of a family's option: as Lua writes
--- them, or, in a string (c.quote), only the strings.
function M.values(c, family, rung, name)
  local values = values_of(family, rung, name)
  for i, value in ipairs(values or {}) do
    if not c.quote then
      c:add(math.type(value) == "float" and ("%.14g"):format(value)
        or ("%q"):format(value), {order = i, raw = true})
    elseif type(value) == "string" then
      c:add(value)
    end
  end
  return values ~= nil
end

-- The modules of a template of package.path, such as "./?.lua".
local function modules_of(c, template, inner, base)
  local dir, tail = template:match "^([^?]*)%?([^?]*)$"
  if not dir then
    return
  end
  local path = dir .. inner:gsub("%.", "/")
  local list, partial = folder(path == "" and "." or path, base)
  for _, name in ipairs(list or {}) do
    if name:sub(-1) == "/" then
      if tail == ".lua" then
        c:add(inner .. name:sub(1, -2) .. ".", {open = true})
      end
    elseif #name > #tail and name:sub(-#tail) == tail then
      c:add(inner .. name:sub(1, -#tail - 1))
    end
  end
  c.partial = list and partial or c.partial
end

--- offers.modules(c)
--- The argument of require: loaded modules, and files of package.path and
--- package.cpath; of clshell, the public modules until a room is named.
function M.modules(c)
  local inner, base = c.word:match "^(.*%.)([^.]*)$"
  if inner == "clshell." then
    for _, name in ipairs(public.list) do
      if not public.inner[name] then
        c:add(inner .. name)
      end
    end
    if c.count > 0 then
      return
    end
  end
  for _, list in ipairs{loaded, rawget(package, "preload")} do
    for name in next, type(list) == "table" and list or {} do
      if type(name) == "string" and (inner or not name:find(".", 1, true))
          and name ~= "_G" then
        c:add(name)
      end
    end
  end
  for _, kind in ipairs{"path", "cpath"} do
    local path, looks = rawget(package, kind), 16
    for template in (type(path) == "string" and path or ""):gmatch "[^;]+" do
      looks = looks - 1
      if looks >= 0 then
        modules_of(c, template, inner or "", base or c.word)
      end
    end
  end
end

--- offers.kernel_source(c) -> whether the string is the text of a kernel
--- Words of OpenCL C, and the names in the text.
function M.kernel_source(c)
  local source = c.word
  if not source:find "kernel%s" then
    return false
  end
  c.word = source:match "[%a_][%w_]*$" or ""
  c.first = c.first + #source - #c.word
  c.quote = nil
  if c.word == "" then
    return true
  end
  local hints = {}
  for _, entry in ipairs(require "clshell.shell.help.reference".opencl) do
    c:name(entry.name)
    if entry.name:sub(1, #c.word) == c.word then
      hints[#hints + 1] = entry.signature .. "  " .. entry.text
    end
  end
  c.hint = #hints == 1 and hints[1] or nil
  M.types(c)
  for name in source:sub(1, -#c.word - 1):gmatch "[%a_][%w_]*" do
    c:name(name)
  end
  return true
end

-- A table of the session by its name, raw; the first need of it defines the
-- commands and settings.
local function of_session(name)
  local session = loaded["clshell.shell.prompt"]
  if type(session) ~= "table" then
    return {}
  end
  if name == "commands" then
    pcall(require, "clshell.shell.prompt.commands")
  else
    pcall(require "clshell.shell.prompt.settings".names)
  end
  local list = rawget(session, name)
  return type(list) == "table" and list or {}
end

local function commands(c, how, prefix)
  for name in next, of_session "commands" do
    c:add((prefix or "") .. name, how)
  end
end

--- offers.topics(c)
--- The topics of help: the functions of a module or class, and the rungs of a
--- family, once the word names it.
function M.topics(c)
  local function offer(name)
    local owner = name:match "^[%w_]+[.:]"
    if not owner or c.word:sub(1, #owner) == owner then
      c:add(name)
    else
      c:add(owner:match "^.*:" or owner:sub(1, -2), {open = true})
    end
  end
  local reference = require "clshell.shell.help.reference"
  for _, list in ipairs{require "clshell.shell.help.concepts".list,
      reference.opencl, reference.lua, api.all()} do
    for _, entry in ipairs(list) do
      if not public.inner[entry.name:match "^%w+"] then
        offer(entry.name)
      end
    end
  end
  for _, name in ipairs(families.names()) do
    c:add(name, {open = true})
    if c.word:sub(1, #name + 1) == name .. "." then
      M.rungs(c, M.family(name), name .. ".")
      for _, entry in ipairs(api.all()) do
        c:add(entry.name:match "^family(%..*)" and name
          .. entry.name:match "^family(%..*)")
      end
    end
  end
  c:add("tutorial")
  commands(c, nil, "%")
end

-- The names of settings, or the values of the named setting.
local function settings(c, name)
  local list = of_session "settinglist"
  if not name then
    for known in next, list do
      c:add(known, {append = "="})
    end
    return
  end
  local setting = rawget(list, name)
  for _, value in ipairs(type(setting) == "table"
      and rawget(setting, "values") or {}) do
    c:add(value)
  end
end

local function scripts(c)
  M.paths(c)
  M.paths(c, SCRIPTS)
end

-- The offers of a command's operands, by a word of its usage.
local OPERANDS = {command = commands, file = M.paths, folder = folders,
  gpu = M.devices, kernel = M.paths, module = M.modules, script = scripts,
  value = settings}

-- The offer for the operand of a command; false: none, nil: Lua.
local function offer_of(name)
  pcall(require, "clshell.shell.prompt.commands") -- defines them
  local command = rawget(require "clshell.shell.prompt.session".commands, name)
  local usage = command and command.usage:match "%s(.*)$" or ""
  for word in (command and not command.code and usage or ""):gmatch "%l+" do
    if OPERANDS[word] then
      return OPERANDS[word]
    end
  end
  if command and usage == "" then
    return false
  end
end

-- Offers the options of %bench, such as flop=, after the expression.
local function bench_options(c)
  for _, name in ipairs(options.names "bench") do
    c:add(name, {append = "="})
  end
end

-- The operand of a command: the rest of the line, or else its last word.
local function operand(first, rest, offer)
  local place = {first = first, word = rest, offer = offer}
  local name = rest:match "^([%w_]+)[%s=]"
  if offer == settings and name then
    local before = rest:match "^.*[%s=]"
    place.first, place.word = first + #before, rest:sub(#before + 1)
    place.offer = function(c)
      settings(c, name)
    end
  elseif offer ~= settings then
    local before = rest:match "^.*%s[\"']?"
    place.otherwise = before and {first = first + #before,
      word = rest:sub(#before + 1), quote = before:match "[\"']$",
      offer = offer}
  end
  return place
end

local function percent(text, cursor)
  local first, name, space = text:match "^%s*%%()([%w_]*)(%s*)"
  local last = first + #name + #space - 1
  if cursor < first + #name then
    return {first = first, word = text:sub(first, cursor),
      offer = function(c)
        commands(c, {append = " "})
      end}
  end
  local offer = offer_of(name)
  local family, from = text:sub(last + 1, cursor):match(
    "^([%a_][%w_]*)[%s.]+()[%w_]*$")
  family = name == "check" and family and M.family(family)
  if family then
    return {first = last + from, word = text:sub(last + from, cursor),
      offer = function(c)
        M.rungs(c, family)
      end}
  elseif offer == nil then
    return {skip = last, more = (name == "bench" or name == "timeit")
      and bench_options}
  elseif not offer or cursor < last then
    return nil
  end
  return operand(last + 1, text:sub(last + 1, cursor), offer)
end

local function topic(text, cursor)
  local first = text:match "^%s*%?+%s*()"
  return cursor >= first - 1 and {first = first,
    word = text:sub(first, cursor), offer = M.topics} or nil
end

-- The last word of a command of the shell, without quotes and escapes; its
-- first byte, and its quote.
local function shell_word(line)
  local at, first, quote, word = 1, 1, nil, ""
  while at <= #line do
    local char = line:sub(at, at)
    if quote and char == quote then
      quote = nil
    elseif quote then
      word = word .. char
    elseif char == "'" or char == '"' then
      quote, first = char, word == "" and at + 1 or first
    elseif char == "\\" then
      at = at + 1
      word = word .. line:sub(at, at)
    elseif char:find "[%s;|&<>()]" then
      word, first = "", at + 1
    else
      word = word .. char
    end
    at = at + 1
  end
  return word, first, quote
end

local function shell(text, cursor)
  local from = text:match "^%s*!%s*()"
  if cursor < from - 1 then
    return nil
  end
  local word, first, quote = shell_word(text:sub(from, cursor))
  return {first = from + first - 1, word = word, quote = quote or "shell",
    closing = quote or " ", offer = M.paths}
end

local READERS = {["%"] = percent, ["?"] = topic, ["!"] = shell}

--- offers.command(text, cursor) -> place or nil
--- Where the cursor is in a text that begins with %, ? or !: {first, word,
--- quote, closing, offer(c), otherwise}, with `otherwise` the place to try
--- after a place without candidates; or {skip, more(c)} for Lua that begins
--- after so many bytes.
function M.command(text, cursor)
  return READERS[text:match "%S"](text, cursor)
end

return M
