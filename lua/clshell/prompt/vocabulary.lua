-- words.lua - the words that are completed besides names: element types,
-- devices, rungs and their parameters, modules, files
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local pristine = require "clshell.prompt.pristine"
local reach = require "clshell.prompt.chain"

-- Held here, as a session may change these.
local find, gmatch, gsub, lower = string.find, string.gmatch, string.gsub,
  string.lower
local match, require, sub = string.match, require, string.sub
local concat, getenv, next, rawget = table.concat, os.getenv, next, rawget
local format, mathtype, type = string.format, math.type, type
local folder = require "clshell.system".folder
local loaded, package, types = package.loaded, package, cl.types

local M = {}

--- words.scripts
--- The folder of the scripts that come along.
M.scripts = cl.home .. "/scripts"

local ALL_FAMILIES = {"gemm", "spmv", "transpose"}

--- words.home(path) -> path
--- The path with the home folder instead of a leading ~.
function M.home(path)
  local home = getenv "HOME"
  if home and find(path, "^~/") then
    return home .. sub(path, 2)
  end
  return path
end

--- words.paths(c [, below])
--- Offers the files that begin as c.word does, in the folder that it names;
--- relative to the folder `below`, where that is given.
function M.paths(c, below)
  local word = M.home(c.word)
  if find(word, "[\n\r]") or below and find(word, "^/") then
    return
  end
  local dir, base = match(word, "^(.*/)([^/]*)$")
  dir, base = dir or "", base or word
  local from = below and below .. "/" .. dir or dir
  local list, partial = folder(from == "" and "." or from, base)
  for i = 1, list and #list or 0 do
    if not c.only_folders or sub(list[i], -1) == "/" then
      c:add(dir .. list[i], {show = list[i], typed = dir .. base})
    end
  end
  c.partial = list and partial or c.partial
end

--- words.folders(c)
--- Offers the folders among them.
function M.folders(c)
  c.only_folders = true
  M.paths(c)
end

--- words.sources(c)
--- Offers what cl.build takes: files, also below clshell's kernels folder.
function M.sources(c)
  M.paths(c)
  M.paths(c, cl.home .. "/kernels")
end

local function all(c, list)
  for i = 1, #list do
    c:add(list[i])
  end
end

function M.types(c)
  all(c, types())
end

--- words.devices(c)
--- Offers what cl.use takes. Devices by name only once a driver is open:
--- opening one takes its time, and is the user's decision.
function M.devices(c)
  local devices = reach.devices()
  all(c, {"accelerator", "cpu", "gpu"})
  if not devices then
    c.hint = "no driver is open yet; cl.devices() lists the devices"
    return
  end
  for i = 1, #devices do
    local name = devices[i]
    c:add(name)
    local at = c.word ~= "" and find(lower(name), lower(c.word), 2, true)
    if at then
      c:add(name, {rank = 3, typed = sub(name, 1, #c.word)})
    end
  end
end

-- The rung of a family by its name, and all of them.
local function rungs(family)
  local list, by_name = rawget(family, "list"), {}
  for i = 1, #list do
    local name = rawget(list[i], "name")
    if type(name) == "string" then
      by_name[name] = list[i]
    end
  end
  return by_name
end

--- words.family(name) -> the table of a kernel family, or nil
function M.family(name)
  return reach.family{value = loaded["clshell." .. name]}
end

--- words.rungs(c, family [, before])
--- Offers the rungs of a family, with `before` in front.
function M.rungs(c, family, before)
  for name in next, family and rungs(family) or {} do
    c:add((before or "") .. name)
  end
end

--- words.targets(c)
--- Offers what bench takes for a rung: "gemm.tiled".
function M.targets(c)
  for i = 1, #ALL_FAMILIES do
    local name = ALL_FAMILIES[i]
    M.rungs(c, M.family(name), name .. ".")
  end
end

-- The parameters of a rung; an empty list where there is none.
local function parameters(family, rung)
  local def = type(rung) == "string" and rungs(family)[rung]
  return def and rawget(def, "params") or {}
end

--- words.parameters(c, family, rung, given)
--- Offers the names of a rung's parameters as fields of a table, but for
--- those that are given.
function M.parameters(c, family, rung, given)
  local list = parameters(family, rung)
  for i = 1, #list do
    local name = rawget(list[i], "name")
    if not given[name] then
      c:field(name)
    end
  end
end

--- words.kernels(c, thing)
--- Offers the names of a program's kernels.
function M.kernels(c, thing)
  all(c, reach.names(thing))
end

-- A value as Lua writes it; without tostring, which a metatable may change.
local function written(value)
  if type(value) == "string" then
    return format("%q", value)
  elseif type(value) == "boolean" then
    return value and "true" or "false"
  elseif mathtype(value) then
    return format(mathtype(value) == "integer" and "%d" or "%.14g", value)
  end
end

--- words.values(c, family, rung, name) -> whether there are any
--- Offers the values of a rung's parameter: as Lua writes them, or in a
--- string (c.quote) the strings among them.
function M.values(c, family, rung, name)
  local list = parameters(family, rung)
  for i = 1, #list do
    if rawget(list[i], "name") == name then
      local values = rawget(list[i], "values")
      for v = 1, #values do
        if not c.quote then
          c:add(written(values[v]), {order = v, raw = true})
        elseif type(values[v]) == "string" then
          c:add(values[v])
        end
      end
      return true
    end
  end
  return false
end

-- Offers the modules of one template of package.path, such as "./?.lua".
local function modules_of(c, template, inner, base)
  local dir, tail = match(template, "^([^?]*)%?(.*)$")
  if not dir or find(tail, "?", 1, true) then
    return
  end
  local path = gsub(inner, "%.", "/")
  local list, partial = folder(dir .. path == "" and "." or dir .. path, base)
  for i = 1, list and #list or 0 do
    local name = list[i]
    if sub(name, -1) == "/" then
      if tail == ".lua" then
        c:add(inner .. sub(name, 1, -2) .. ".", {open = true})
      end
    elseif #name > #tail and sub(name, -#tail) == tail then
      c:add(inner .. sub(name, 1, -#tail - 1))
    end
  end
  c.partial = list and partial or c.partial
end

--- words.modules(c)
--- Offers what require finds: loaded modules, and files of package.path and
--- package.cpath.
function M.modules(c)
  local inner, base = match(c.word, "^(.*%.)([^.]*)$")
  for _, list in next, {loaded, rawget(package, "preload")} do
    for name in next, type(list) == "table" and list or {} do
      if type(name) == "string" and (inner or not find(name, ".", 1, true))
          and name ~= "_G" then
        c:add(name)
      end
    end
  end
  for _, kind in next, {"path", "cpath"} do
    local path = rawget(package, kind)
    local at, looks = 1, 16
    while type(path) == "string" and at <= #path and looks > 0 do
      local stop = find(path, ";", at, true) or #path + 1
      modules_of(c, sub(path, at, stop - 1), inner or "", base or c.word)
      at, looks = stop + 1, looks - 1
    end
  end
end

--- words.kernel_source(c) -> whether the string is one
--- In the text of a kernel: words of OpenCL C, and the names in the text.
function M.kernel_source(c)
  local source = c.word
  if not find(source, "kernel%s") then
    return false
  end
  c.word = match(source, "[%a_][%w_]*$") or ""
  c.first = c.first + #source - #c.word
  c.quote = nil
  if c.word == "" then
    return true
  end
  local list = pristine()
    and require "clshell.help.opencl".entries() or {}
  for i = 1, #list do
    local entry = list[i]
    c:name(entry.name)
    if entry.name == c.word or sub(entry.name, 1, #c.word) == c.word then
      c.hint = c.hint == nil and entry.signature .. "  " .. entry.text
    end
  end
  c.hint = c.hint or nil
  all(c, types())
  for name in gmatch(sub(source, 1, -#c.word - 1), "[%a_][%w_]*") do
    c:name(name)
  end
  return true
end

--- words.signature(thing, argument) -> string or nil
--- A kernel's parameters, the one to come in brackets.
function M.signature(thing, argument)
  local parts, name = reach.signature(thing)
  if not parts then
    return nil
  end
  for i = 1, #parts do
    parts[i] = i == argument and "[" .. parts[i] .. "]" or parts[i]
  end
  return (name or "") .. "(" .. concat(parts, ", ") .. ")"
end

return M
