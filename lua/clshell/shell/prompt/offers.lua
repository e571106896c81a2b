-- shell/prompt/offers.lua - the words besides names that completion offers:
-- element types, devices, rungs, modules, files, and the words of %commands,
-- ?topics and !commands of the system's shell
-- Each function offers words to candidates `c`: c:add, c:all, c:name.
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

--- offers.kinds
--- Functions (c, call) that offer the words of an argument or a field, by the
--- kinds of arguments; `call` is the call around the cursor.
M.kinds = {}

local K = M.kinds

-- Files of the folder that c.word names, relative to the folder `below`.
local function paths(c, below)
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

function K.none()
end

function K.path(c)
  paths(c)
end

function K.folder(c)
  c.only_folders = true
  paths(c)
end

-- The argument of cl.build: files, also below clshell's kernels folder.
function K.source(c)
  paths(c)
  paths(c, KERNELS)
end

function K.script(c)
  paths(c)
  paths(c, SCRIPTS)
end

function K.type(c)
  c:all(types())
end

-- The GPUs that access and occupancy know.
function K.gpu(c)
  c:all(require "clshell.base.gpus".names())
end

-- The argument of cl.use. Devices by name only once a driver is open: a driver
-- takes time to open, and the user decides about that.
function K.device(c)
  local devices = resolve.devices()
  c:all{"accelerator", "cpu", "gpu"}
  if not devices then
    c.hint = "no driver is open yet; cl.devices() lists the devices"
    return
  end
  c:all(devices)
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

-- Offers the rungs of a family, with a prefix.
local function offer_rungs(c, family, prefix)
  for name in pairs(family and rungs(family) or {}) do
    c:add((prefix or "") .. name)
  end
end

function K.rung(c, call)
  offer_rungs(c, call.family)
end

-- The argument of Program:kernel.
function K.kernel(c, call)
  c:all(select(3, cl.members(call.thing.owner.value)) or {})
end

--- offers.family(name) -> the table of a kernel family, or nil
function M.family(name)
  return resolve.family{value = families.peek(name)}
end

-- The first argument of bench for a rung: "gemm.tiled".
function K.target(c)
  for _, name in ipairs(families.names()) do
    offer_rungs(c, M.family(name), name .. ".")
  end
end

-- The parameters of a rung; an empty list for an unknown rung.
local function parameters(family, rung)
  local found = type(rung) == "string" and rungs(family)[rung]
  return found and rawget(found, "params") or {}
end

--- offers.parameters(family, rung) -> list of names
--- The names of a rung's parameters.
function M.parameters(family, rung)
  local names = {}
  for i, parameter in ipairs(parameters(family, rung)) do
    names[i] = rawget(parameter, "name")
  end
  return names
end

--- offers.values(c, family, rung, name) -> whether there are any
--- The values of a rung's parameter or of a family's option: as Lua writes
--- them, or, in a string (c.quote), only the strings.
function M.values(c, family, rung, name)
  local values
  for _, list in ipairs{rawget(rawget(family, "spec") or {}, "options") or {},
      parameters(family, rung)} do
    for _, one in ipairs(list) do
      if type(one) == "table" and rawget(one, "name") == name then
        values = rawget(one, "values")
      end
    end
  end
  for i, value in ipairs(values or {}) do
    if not c.quote then
      c:add(math.type(value) == "float" and ("%.14g"):format(value)
        or ("%q"):format(value), {order = i})
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

-- The argument of require: loaded modules, and files of package.path and
-- package.cpath; of clshell, the public modules until a room is named.
function K.module(c)
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
  for _, type in ipairs(types()) do
    if cl[type] then -- kernels have it
      c:name(type)
    end
  end
  for name in source:sub(1, -#c.word - 1):gmatch "[%a_][%w_]*" do
    c:name(name)
  end
  return true
end

-- A table of the session by its name, raw; commands and settings are defined
-- first.
local function of_session(name)
  pcall(require, "clshell.shell.prompt.commands")
  pcall(require, "clshell.shell.prompt.settings")
  local list = rawget(require "clshell.shell.prompt.session", name)
  return type(list) == "table" and list or {}
end

local function commands(c, how)
  for name in next, of_session "commands" do
    c:add(name, how)
  end
end

-- The topics of help: the functions of a module or class, and the rungs of a
-- family, once the word names it.
function K.topic(c)
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
      offer_rungs(c, M.family(name), name .. ".")
      for _, entry in ipairs(api.all()) do
        c:add(entry.name:match "^family(%..*)" and name
          .. entry.name:match "^family(%..*)")
      end
    end
  end
  c:add("tutorial")
  for name in next, of_session "commands" do
    c:add("%" .. name)
  end
end

-- The names of settings, or the values of the named setting.
local function settings(c, name)
  local list = of_session "settinglist"
  for known in next, name and {} or list do
    c:add(known, {append = "="})
  end
  local setting = name and rawget(list, name)
  c:all(type(setting) == "table" and rawget(setting, "values") or {})
end

-- The offers of a command's operands, by a word of its usage.
local OPERANDS = {command = commands, file = K.path, folder = K.folder,
  gpu = K.device, kernel = K.path, module = K.module, script = K.script,
  value = settings}

-- The offer for the operand of a command; false: none, nil: Lua.
local function offer_of(name)
  local command = rawget(of_session "commands", name)
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

-- The operand of a command: the rest of the line, or else its last word.
local function operand(first, rest, offer)
  local place = {first = first, word = rest, offer = offer}
  local name = offer == settings and rest:match "^([%w_]+)[%s=]"
  local before = rest:match(name and "^.*[%s=]" or "^.*%s[\"']?")
  local last = before and {first = first + #before, how = name,
    word = rest:sub(#before + 1), offer = offer}
  if name then
    return last
  elseif offer ~= settings and last then
    last.quote, place.otherwise = before:match "[\"']$", last
  end
  return place
end

local function percent(text, cursor)
  local first, name, space = text:match "^%s*%%()([%w_]*)(%s*)"
  local last = first + #name + #space - 1
  if cursor < first + #name then
    return {first = first, word = text:sub(first, cursor), offer = commands,
      how = {append = " "}}
  end
  local offer, rest = offer_of(name), text:sub(last + 1, cursor)
  local family, from = rest:match "^([%a_][%w_]*)[%s.]+()[%w_]*$"
  family = name == "check" and family and M.family(family)
  if family then
    return {first = last + from, word = rest:sub(from), offer = offer_rungs,
      how = family}
  elseif offer == nil then
    return {skip = last, more = (name == "bench" or name == "timeit")
      and options.names "bench"} -- flop= and others, after the expression
  elseif offer and cursor >= last then
    return operand(last + 1, rest, offer)
  end
end

local function topic(text, cursor)
  local first = text:match "^%s*%?+%s*()"
  return cursor >= first - 1 and {first = first,
    word = text:sub(first, cursor), offer = K.topic} or nil
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
    closing = quote or " ", offer = K.path}
end

local READERS = {["%"] = percent, ["?"] = topic, ["!"] = shell}

--- offers.command(text, cursor) -> place or nil
--- Where the cursor is in a text that begins with %, ? or !: {first, word,
--- quote, closing, offer(c, how), how, otherwise}, with `otherwise` the place
--- to try after a place without candidates; or {skip, more} for Lua that
--- begins after so many bytes, with more names to which "=" gives values.
function M.command(text, cursor)
  return READERS[text:match "%S"](text, cursor)
end

return M
