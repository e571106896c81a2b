-- shell/help/init.lua - help at the prompt, out of the comments in the code
-- and the examples. index: the entries; reference, concepts: short texts;
-- pages, page_layout: the pages.
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local options = require "clshell.base.options"
local resolve = require "clshell.shell.prompt.resolve"

local M = require "clshell.base.lazy".table(...)

-- The files beside this one, loaded at their first use.
local room = setmetatable({}, {__index = function(_, file)
  return require("clshell.shell.help." .. file)
end})

-- The error of an unknown topic, with the nearest name that has help.
local function unknown(topic)
  local all = {}
  for _, entry in ipairs(room.index.entries()) do
    all[#all + 1] = entry.name
    all[#all + 1] = entry.name:match("^(.-)[%.:]")
  end
  for _, item in ipairs(room.index.rungs()) do
    all[#all + 1] = item.name
  end
  local near = base_text.nearest(topic, all,
    base_text.misspellings(topic:match "[^.:]*$"))
  return ("no help on '%s'%s"):format(topic, near
    and ("; did you mean '%s'?"):format(near)
    or "; help() lists the topics, ??word searches")
end

-- The page of a family's member: a rung, or a function that all families have.
local function of_family(family, member, view)
  for _, item in ipairs(family.kernels()) do
    if item.name == member then
      return room.pages.rung(family, item.rung, view)
    end
  end
  local entry = room.index.entry(family.name .. "." .. member)
  if member == "define" then
    return room.pages.define(family, entry, view)
  end
  return entry and room.page_layout.entry(entry, view, "family.",
    family.name .. ".")
end

-- The page of a documented name, or nil.
local function documented(topic, view)
  local group, member = topic:match("^(%w+)[%.:](.+)$")
  local family = require "clshell.ladder.families".get(group or topic)
  if family and not group then
    return room.pages.family(family, view)
  end
  local entry = group and (room.index.entries()[topic]
    or room.index.entries()[(topic:gsub("^A:", "Buffer:"))])
  if entry then
    return room.page_layout.entry(entry, view)
  elseif family then
    return of_family(family, member, view)
  end
  return room.pages.group(topic, view) or room.pages.lua(topic, view)
end

local function command(topic, view)
  local found = room.index.commands()[topic:match("^%%(.*)$")]
  return found and room.page_layout.page(found.usage or topic,
    found.help or "", view)
end

-- The page of a variable of the user's; nil for a name that help documents.
local function own(topic, view)
  local value, name = resolve.path(topic)
  if name == topic then
    return nil
  end
  local page = name and documented(name, view)
  if page and type(value) == "userdata" then
    return ("%s: %s\n\n%s"):format(topic, tostring(value):match "^[^\n]*",
      page)
  end
  return page or value ~= nil and room.pages.value(value, topic, view)
end

-- Whether neither the session nor help tells the class of a name.
local function unowned(name, view)
  return resolve.path(name) == nil and not documented(name, view)
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
  local concept = room.concepts.find(topic)
  concept = concept and room.pages.concept(concept, view)
  local found = {concept, text}
  if not concept or room.index.entries()[topic] then
    found = {text, concept}
  end
  found[#found + 1] = room.pages.opencl(topic, view)
  return found[1] and table.concat(found, "\n\n")
    or command("%" .. topic, view)
    or room.pages.field(topic, view)
    or topic:find(":") and unowned(topic:match "^[^:]*", view)
    and room.pages.method(topic:match(":([%w_]+)$"), view)
    or room.pages.cuda(topic, view)
    or topic:find "[%s.(]" and room.pages.host(topic, view)
end

-- The page of a topic, also of a name without its owner: "tiled", "map",
-- "read".
local function by_name(topic, view)
  local page, name = by_full_name(topic, view), nil
  if not page and topic:find("^[%a_][%w_]*$") then
    page, name = room.pages.alone(topic, view)
  end
  return page or name and documented(name, view)
end

-- Breaks lines that are wider than the window, such as lines of code.
local function fold(page, view)
  return base_text.fold(page, view.width)
end

--- help.text([topic [, opts]]) -> string
--- The page on a topic by its name, or on a value; without a topic the list of
--- topics.
--- Options:
---   width  80     columns
---   color  false  16 colours of a terminal
--- Example:
--- print(help.text("cl.queue", {width = 60}):match "^[^\n]*")
--- --> cl.queue([opts]) -> Queue
function M.text(topic, opts)
  local view = room.page_layout.view(opts)
  if topic == nil or topic == "" then
    return fold(room.pages.overview(view), view)
  elseif type(topic) == "string" then
    return fold(by_name(topic, view) or unknown(topic), view)
  end
  return M.of(topic, opts)
end

--- help.of(value [, opts]) -> string
--- The page on a value: a documented function, module or object, or a
--- function or variable of your own. Options as for help.text.
--- Example:
--- local function twice(x) return 2 * x end
--- print(help.of(twice):match "^[^ ]*") --> This(x)
function M.of(value, opts)
  local view = room.page_layout.view(opts)
  local name = resolve.of(value)
  return fold(name and by_name(name, view)
    or room.pages.value(value, "This", view), view)
end

-- Width, height and colour of standard output.
local function window()
  local _, height = require "clshell.system".winsize(1)
  return {width = require "clshell.results.tables".width(), height = height,
    color = require "clshell.base.style".color(1)}
end

-- The view of the window, changed by the options.
local function chosen(opts)
  return room.page_layout.view(options.with(window(), opts))
end

--- help.page([topic]) -> string
--- The text of ?topic: help.text as wide and as coloured as the window.
--- Example: print(help.page "local memory")
function M.page(topic)
  return M.text(topic, window())
end

--- help.search(words [, opts]) -> string
--- The text of ??words: topics that have all of the words in their names,
--- signatures, options or texts, best first, as many as the window holds.
--- Options:
---   width   window  columns
---   height  window  lines
---   color   window  16 colours of a terminal
--- Example: print(help.search("bank conflict", {width = 80, height = 10}))
function M.search(words, opts)
  local view = chosen(opts)
  return fold(room.pages.search(words, view), view)
end

-- A page above the input: as many lines as the window has left, the last of
-- which names the whole page.
local function above(page, topic, text, view)
  local lines = base_text.lines(page)
  local _, breaks = text:gsub("\n", "")
  local most = math.max(3, (view.height or #lines) - breaks - 2)
  if #lines <= most then
    return page
  end
  return ("%s\n... %d more lines%s"):format(table.concat(lines, "\n", 1,
    most - 1), #lines - most + 1, topic and ": ?" .. topic or "")
end

--- help.at(text, cursor [, opts]) -> string
--- The text of F1: the page on the name at the cursor, or on the call around
--- it, or a note that there is no page. `cursor` is the number of bytes before
--- it. As many lines as fit above the input; the last line names the page.
--- Options:
---   width   window  columns
---   height  window  lines
---   color   window  16 colours of a terminal
--- Example:
--- local line = "gemm(A, B, {kernel = 'tiled'})"
--- print(help.at(line, 10):match "^[^\n]*")
--- --> gemm(A, B [, opts]) -> C, event
function M.at(text, cursor, opts)
  local view = chosen(opts)
  local kernel = require "clshell.shell.prompt.signature".kernel(text, cursor)
  if kernel then
    return above(kernel, nil, text, view)
  end
  local topics = require "clshell.shell.prompt.place".topics(text, cursor)
  for _, find in ipairs{by_full_name, by_name} do
    for _, topic in ipairs(topics) do
      local found = find(topic, view)
      if found then
        return above(fold(found, view), topic, text, view)
      end
    end
  end
  return topics[1] and topics[1]:find "^[%a_]" and unknown(topics[1])
    or "no name and no call at the cursor; help() lists the topics"
end

--- help.options(name) -> list
--- The options of a documented function: {name, default, text} of each.
--- Example:
--- for _, option in ipairs(help.options "cl.queue") do
---   print(option.name, option.default, option.text)
--- end
function M.options(name)
  return room.index.options(name)
end

return setmetatable(M, {
  --- help([topic])
  --- Prints help: on a name such as "gemm", "gemm.tiled_padded", "cl.buffer"
  --- or "Buffer:read", on a function or object itself, or, without a topic,
  --- the list of topics.
  --- Example:
  --- help "gemm.tiled" -- at the prompt: ?gemm.tiled
  --- help(cl.buffer)
  __call = function(_, topic)
    require "clshell.shell.prompt.session".page(M.text(topic, window()))
  end,
})
