-- shell/help/find_topics.lua - ??word: the topics of help that answer to some
-- words, best first
-- SPDX-License-Identifier: MIT

local concepts = require "clshell.shell.help.concepts"
local cuda = require "clshell.cuda.words"
local index = require "clshell.shell.help.index"
local layout = require "clshell.shell.help.page_layout"
local reference = require "clshell.shell.help.reference"

local M = {}

-- The names and texts of options or parameters, as one string.
local function keys(list, text)
  local words = {}
  for i, item in ipairs(list) do
    words[i] = item.name .. " " .. item[text]
  end
  return table.concat(words, " ")
end

-- All topics: {name, signature, text, keys, last}.
local function everything()
  local all = {}
  local function add(name, signature, text, words, last)
    all[#all + 1] = {name = name, signature = signature, text = text,
      keys = words, last = last}
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
    add(entry.word, "", "CUDA's, here " .. entry.said, "", true)
  end
  for name, command in pairs(index.commands()) do
    add("%" .. name, command.usage or "", command.help or "", "")
  end
  for _, list in ipairs{reference.opencl, reference.lua} do
    for _, entry in ipairs(list) do
      add(entry.name, entry.signature, entry.text, "", true)
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
  return points > 0 and thing.last and points / 2 or points
end

-- The topics that answer to all of the words, best first.
local function find(words)
  local found = {}
  for _, thing in ipairs(everything()) do
    thing.score = 0
    local all = words:find("%S") ~= nil
    for word in words:lower():gmatch("%S+") do
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

--- find_topics.page(words, view) -> string
--- The page of a search, cut to the window.
function M.page(words, view)
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

return M
