-- base/search.lua - the places of modules. clshell's own modules and their
-- libraries lie where they were installed, never in the working folder or
-- beside a script. `require` of the user finds installed modules first, then
-- modules beside the script, then modules in the working folder.
-- SPDX-License-Identifier: MIT

local cl = require "cl"

local find, gmatch, sub = string.find, string.gmatch, string.sub
local concat, insert = table.concat, table.insert
local loadfile, loadlib, setmetatable = loadfile, package.loadlib, setmetatable
local package, searchpath = package, package.searchpath

local M = {}

-- The templates of the Lua files in a folder.
local function lua_in(folder)
  return ("%s/?.lua;%s/?/init.lua"):format(folder, folder)
end

-- Templates joined to one path, without the empty ones.
local function join(...)
  local list = {}
  for template in gmatch(concat({...}, ";"), "[^;]+") do
    list[#list + 1] = template
  end
  return concat(list, ";")
end

-- The templates of a path that a pattern fits, and the others.
local function parted(path, pattern)
  local fit, rest = {}, {}
  for template in gmatch(path, "[^;]+") do
    insert(find(template, pattern) and fit or rest, template)
  end
  return concat(fit, ";"), concat(rest, ";")
end

local OWN = lua_in(cl.home .. "/lua")

-- The places of Lua and LUA_PATH, the working folder apart. Libraries are
-- installed under full paths.
local lua_here, lua_path = parted(package.path, "^%./%?")
local so_here, so_path = parted(package.cpath, "^%./%?")
local LUA_LIBRARIES = parted(lua_path, "^/")
local SO_LIBRARIES = parted(so_path, "^/")

--- search.own(name) -> path, or nil
--- The file of a module of clshell, whatever package.path says.
function M.own(name)
  return searchpath(name, OWN)
end

local libraries = {} -- by name: libraries that are loaded

--- search.library(name) -> module, or nil
--- A library that clshell itself uses, from the folders in which libraries
--- are installed; nil where there is none. `require` of the same name may
--- give the user another one.
function M.library(name)
  if libraries[name] == nil then
    local path = searchpath(name, LUA_LIBRARIES)
    local load = path and loadfile(path)
    if not path then
      path = searchpath(name, SO_LIBRARIES)
      load = path and loadlib(path, "luaopen_" .. name:gsub("%.", "_"))
    end
    libraries[name] = load and load(name, path)
  end
  return libraries[name]
end

local last = lua_here -- of package.path: templates beside a script, and here

-- A path up to the templates `tail`, or the whole path where it lacks them.
local function before(path, tail)
  local at = tail ~= "" and find(path, tail, 1, true)
  return at and sub(path, 1, at - 1) or path
end

--- search.beside(folder) -> value to close
--- Lets `require` find the Lua modules in the folder of a script, behind the
--- installed modules, until the value is closed.
function M.beside(folder)
  local path, tail = package.path, last
  local head = before(path, tail)
  last = join(lua_in(folder), tail)
  package.path = join(head, last, sub(path, #head + #tail + 1))
  return setmetatable({}, {__close = function()
    package.path, last = path, tail
  end})
end

local load_so = package.searchers[3]

-- An installed C module comes before a Lua file beside the script or here.
insert(package.searchers, 2, function(name)
  if not searchpath(name, before(package.path, last))
      and searchpath(name, before(package.cpath, so_here)) then
    return load_so(name)
  end
end)

local folders, so_folders = {}, {} -- of options -I
for i, folder in ipairs(cl.commandline.include) do
  folders[i], so_folders[i] = lua_in(folder), folder .. "/?.so"
end
package.path = join(concat(folders, ";"), lua_path, last)
package.cpath = join(concat(so_folders, ";"), so_path, so_here)
if cl.commandline.folder then
  M.beside(cl.commandline.folder)
end

return M
