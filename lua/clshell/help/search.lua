-- help/search.lua - ??word: what help has on some words, best first
-- SPDX-License-Identifier: MIT

local concepts = require "clshell.help.concepts"
local index = require "clshell.help.index"
local lualib = require "clshell.help.lualib"
local names = require "clshell.help.names"
local page = require "clshell.help.page_layout"

local M = {}

-- Everything there is to find: {name, signature, text, keys}.
local function functions(all)
  for _, entry in ipairs(index.entries()) do
    local keys = {}
    for i, o in ipairs(entry.options) do
      keys[i] = o.name .. " " .. o.text
    end
    all[#all + 1] = not entry.minor and {name = entry.name,
      signature = entry.signature, text = entry.text,
      keys = table.concat(keys, " ")} or nil
  end
end

local function rungs(all)
  for _, name in ipairs(names.families()) do
    for _, item in ipairs(names.family(name).kernels()) do
      local keys = {}
      for i, param in ipairs(item.rung.params) do
        keys[i] = param.name .. " " .. param.help
      end
      all[#all + 1] = {name = name .. "." .. item.name, signature = "",
        text = item.rung.lesson, keys = table.concat(keys, " ")}
    end
  end
end

local function everything()
  local all = {}
  functions(all)
  rungs(all)
  for _, entry in ipairs(concepts.entries()) do
    all[#all + 1] = {name = entry.name, signature = "", text = entry.text,
      keys = entry.names}
  end
  for name, command in pairs(M.commands()) do
    all[#all + 1] = {name = "%" .. name, signature = command.usage or "",
      keys = "", text = command.help or ""}
  end
  for _, entry in ipairs(require "clshell.help.opencl".entries()) do
    all[#all + 1] = {name = entry.name, signature = entry.signature,
      text = entry.text, keys = "", last = true}
  end
  for _, entry in ipairs(lualib.entries()) do
    all[#all + 1] = {name = entry.name, signature = entry.signature,
      text = entry.text, keys = "", last = true}
  end
  return all
end

--- The prompt's % commands by name: {usage =, help =}; none without a prompt.
function M.commands()
  local session = package.loaded["clshell.prompt"]
  local list = type(session) == "table" and rawget(session, "commands")
  return type(list) == "table" and list or {}
end

-- How well a thing answers to one word; 0 if it does not.
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
  return points > 0 and thing.last and points / 2 or points
end

--- search.find(words) -> list
--- What answers to all of the words, best first: {name, text, score}.
function M.find(words)
  local found = {}
  for _, thing in ipairs(everything()) do
    local sum, all = 0, words:find("%S") ~= nil
    for word in words:lower():gmatch("%S+") do
      local points = score(thing, word)
      sum, all = sum + points, all and points > 0
    end
    if all then
      found[#found + 1] = {name = thing.name, text = thing.text, score = sum}
    end
  end
  table.sort(found, function(a, b)
    return a.score > b.score or a.score == b.score and a.name < b.name
  end)
  return found
end

--- The page of a search, cut to the window.
function M.page(words, view)
  local found = M.find(words)
  if #found == 0 then
    return ("nothing about '%s'; ? alone lists the topics"):format(words)
  end
  local room = math.max(5, (view.height or 24) - 4)
  local wide, rows = 0, {}
  for i = 1, math.min(room, #found) do
    wide = math.max(wide, #found[i].name)
  end
  for i = 1, math.min(room, #found) do
    rows[i] = {found[i].name, page.summary(found[i].text,
      math.max(20, view.width - math.min(wide, 26) - 4))}
  end
  local rest = #found > room and ("\n%d of %d; ??%s and another word narrows "
    .. "it"):format(room, #found, words) or ""
  return page.rows(rows, view, 26) .. rest
end

return M
