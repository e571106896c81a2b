-- help.lua - help at the prompt, out of the comments that the code carries
-- and the examples beside it; the parts are in folder help
-- SPDX-License-Identifier: MIT

local M = require "clshell.base.lazy".table(...)

local function part(name)
  return require("clshell.help." .. name)
end

-- Names that are near, of everything that has help.
local function unknown(topic)
  local all = {}
  for _, entry in ipairs(part "index".entries()) do
    all[#all + 1] = entry.name
    all[#all + 1] = entry.name:match("^(.-)[%.:]")
  end
  for _, name in ipairs(part "names".families()) do
    for _, rung in ipairs(part "names".family(name).kernels()) do
      all[#all + 1] = name .. "." .. rung.name
    end
  end
  local near = require "clshell.base.text".nearest(topic, all)
  return ("no help on '%s'%s"):format(topic, near
    and ("; did you mean '%s'?"):format(near)
    or "; help() lists the topics, ??word searches")
end

-- A member of a family: a rung, or a function that all families have.
local function of_family(family, member, view)
  for _, item in ipairs(family.kernels()) do
    if item.name == member then
      return part "page_kinds".rung(family, item.rung, view)
    end
  end
  local entry = part "index".entries()["family." .. member]
  return entry and part "page_layout".entry(entry, view, "family.",
    family.name .. ".")
end

-- The page of a documented name, or nil.
local function documented(topic, view)
  local index, kinds = part "index", part "page_kinds"
  local group, member = topic:match("^(%w+)[%.:](.+)$")
  local family = part "names".family(group or topic)
  if family and not group then
    return kinds.family(family, view)
  end
  local entry = index.entries()[topic]
    or index.entries()[(topic:gsub("^A:", "Buffer:"))]
  if entry and group then
    return part "page_layout".entry(entry, view)
  elseif family then
    return of_family(family, member, view)
  end
  return kinds.group(topic, view) or kinds.lua(topic, view)
end

local function command(topic, view)
  local found = part "search".commands()[topic:match("^%%(.*)$")]
  return found and ("%s\n\n%s"):format(part "page_layout".heading(found.usage
    or topic, view), part "page_layout".prose(found.help or "", view, "  "))
end

-- A variable of the user's, unless it holds what is documented by that name.
local function own(topic, view)
  local value, method = part "names".value(topic)
  if method then
    return documented(method, view)
  elseif value == nil then
    return nil
  end
  local name = part "names".of(value)
  if name then
    return name ~= topic and documented(name, view) or nil
  end
  return part "page_kinds".value(value, topic, view)
end

-- The page on a name without what it belongs to: "tiled", "map", "read".
local function bare(topic, view)
  if topic:find("^[%a_][%w_]*$") then
    local text, name = part "unqualified".page(topic, view)
    return text or name and documented(name, view)
  end
end

-- The page on a topic given by its name, or nil.
local function by_full_name(topic, view)
  topic = topic:match("^%s*(.-)%s*$")
  if topic:find("^%%") then
    return command(topic, view)
  end
  local mine = own(topic, view)
  if mine then
    return mine
  end
  local text = documented(topic, view)
  local concept = part "concepts".find(topic)
  concept = concept and part "page_kinds".concept(concept, view)
  if text and concept then
    return part "index".entries()[topic] and text .. "\n\n" .. concept
      or concept .. "\n\n" .. text
  end
  return text or concept or part "page_kinds".opencl(topic, view)
    or command("%" .. topic, view)
    or topic:find(":")
    and part "page_kinds".method(topic:match(":([%w_]+)$"), view)
    or nil
end

local function by_name(topic, view)
  return by_full_name(topic, view) or bare(topic, view)
end

--- help.text([topic [, opts]]) -> string
--- The page on a topic by its name, or on a value; what there is, without.
--- Options:
---   width  80     columns
---   color  false  16 colours of a terminal
function M.text(topic, opts)
  local view = part "page_layout".view(opts)
  if topic == nil or topic == "" then
    return part "page_kinds".overview(view)
  elseif type(topic) == "string" then
    return by_name(topic, view) or unknown(topic)
  end
  return M.of(topic, opts)
end

--- help.of(value [, opts]) -> string
--- The page on a value: a documented function, module or object, or what a
--- function or variable of your own is. Options as for help.text.
function M.of(value, opts)
  local view = part "page_layout".view(opts)
  local name = part "names".of(value)
  return name and by_name(name, view)
    or part "page_kinds".value(value, "This", view)
end

-- Width, height and colour of standard output.
local function window()
  local _, height = require "clshell.system".winsize(1)
  return {width = require "clshell.report.table".width(), height = height,
    color = require "clshell.base.style".color(1)}
end

--- help.page([topic]) -> string
--- What ?topic prints: help.text as wide and as coloured as the window.
function M.page(topic)
  return M.text(topic, window())
end

--- help.search(words [, opts]) -> string
--- What ??words prints: topics that have all of the words in their names,
--- signatures, options or texts, best first, as many as the window holds.
--- Options:
---   width   window  columns
---   height  window  lines
---   color   window  16 colours of a terminal
function M.search(words, opts)
  local view = window()
  for key, value in pairs(opts or {}) do
    view[key] = value
  end
  return part "search".page(words, part "page_layout".view(view))
end

--- help.at(text, cursor) -> string or nil
--- What F1 prints: the page on the name at the cursor, or on the call that
--- it is in. `cursor` is the number of bytes before it.
function M.at(text, cursor)
  local view = part "page_layout".view(window())
  local topics = part "cursor".topics(text, cursor)
  for _, find in ipairs{by_full_name, by_name} do
    for _, topic in ipairs(topics) do
      local found = find(topic, view)
      if found then
        return found
      end
    end
  end
end

--- help.options(name) -> list
--- The options of a documented function: {name, default, text} of each.
function M.options(name)
  return part "index".options(name)
end

return setmetatable(M, {
  --- help([topic])
  --- Prints help: on a name such as "gemm", "gemm.tiled_padded", "cl.buffer"
  --- or "Buffer:read", on a function or object itself, or, without a topic,
  --- what there is.
  __call = function(_, topic)
    require "clshell.prompt.pager".print(M.text(topic, window()))
  end,
})
