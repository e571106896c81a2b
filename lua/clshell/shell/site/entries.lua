-- site/entries.lua - the pages of the API by module and class, of the
-- topics, the %commands, the words of Lua, OpenCL C and CUDA, the glossary
-- SPDX-License-Identifier: MIT

local concepts = require "clshell.shell.help.concepts"
local cuda = require "clshell.cuda.words"
local families = require "clshell.ladder.families"
local index = require "clshell.shell.help.index"
local layout = require "clshell.shell.help.page_layout"
local lazy = require "clshell.base.lazy"
local markup = require "clshell.shell.site.markup"
local reference = require "clshell.shell.help.reference"
local text = require "clshell.base.text"

local M = {}

local escape = markup.escape

--- entries.example(code, book) -> HTML
--- An example, with the output and the charts of its run.
function M.example(code, book)
  local run = book.runs[code] or {}
  local out = (run.output or ""):gsub("%s+$", ""):gsub("^\n+", "")
  local parts = {markup.lua(code), run.skip and ("<p class=soft>Not run where "
    .. "this page was made: it %s.</p>"):format(escape(run.skip)) or out ~= ""
    and ("<pre class=out>%s</pre>"):format(escape(text.visible(out))) or ""}
  for _, svg in ipairs(run.charts or {}) do
    parts[#parts + 1] = "<figure>" .. svg .. "</figure>"
  end
  return table.concat(parts, "\n")
end

local function options(list, book)
  local forms, out = {}, {}
  for _, option in ipairs(list) do
    local form = option.form and " " .. escape(option.form) or ""
    if not forms[form] then
      forms[form], forms[#forms + 1] = {}, form
    end
    table.insert(forms[form], {("<code>%s</code>%s"):format(
      escape(option.name), option.default and " <span class=soft>("
      .. escape(option.default) .. ")</span>" or ""),
      markup.inline(option.text, book)})
  end
  for i, form in ipairs(forms) do
    out[i] = ("<h3>Options%s</h3>%s"):format(form, markup.terms(forms[form]))
  end
  return table.concat(out, "\n")
end

-- The section of a function.
local function section(entry, book)
  return ('<section id="%s"><h2><code>%s</code></h2>\n%s\n%s\n%s</section>')
    :format(escape(entry.name), escape(entry.signature),
    markup.text(entry.text, book), options(index.options(entry.name), book),
    entry.example and M.example(entry.example, book) or "")
end

-- The functions of all groups, such as cl, Buffer or bench, with a section
-- each: types and OpenCL's functions as methods share the page of a topic.
local function groups_of(entries)
  local groups = {}
  for _, entry in ipairs(entries) do
    local name, mark = entry.name:match "^(.-)([.:])"
    name = name or entry.name
    if (entry.file or not entry.minor) and not groups[name] then
      local object = mark == ":" and not lazy.public.module(name)
      groups[name] = {name = name, object = object,
        page = (object and "class-" or families.get(name) and "family-"
        or "api-") .. name}
      groups[#groups + 1] = groups[name]
    end
    if entry.file or not entry.minor then
      table.insert(groups[name], name == entry.name and 1
        or #groups[name] + 1, entry)
    end
  end
  return groups
end

-- The body of a group's page; of a family its first section, and the others.
local function body_of(group, book)
  local out = {}
  for i, entry in ipairs(group) do
    out[i] = section(entry, book)
  end
  local name = group.name
  local use = lazy.public.module(name) and not lazy.session[name]
    and ('<p>In a script: <code>local %s = require "clshell.%s"</code></p>\n')
    :format(name, name) or ""
  return use .. out[1], table.concat(out, "\n", 2)
end

--- entries.api(book)
--- A page for each module and class, and the list of all. The pages of
--- families are of kernels.families, which calls book.families[name]().
function M.api(book)
  local groups = groups_of(book.entries)
  for _, group in ipairs(groups) do
    for _, entry in ipairs(group) do
      book:name(entry.name, ("%s.html#%s"):format(group.page, entry.name))
    end
    book:name(group.name, group.page .. ".html")
    book.families[group.name] = function()
      return body_of(group, book)
    end
    if not group.page:find "^family%-" then
      book:page(group.page, group.name, function()
        return table.concat({body_of(group, book)}, "\n")
      end)
    end
  end
  for _, name in ipairs(families.names()) do -- the functions of all families
    for _, entry in ipairs(groups.family) do
      book:name(entry.name:gsub("^family", name), book.names[entry.name])
    end
  end
  book:page("api", "Modules, functions and classes", function()
    local lists = {[true] = {}, [false] = {}}
    for _, group in ipairs(groups) do
      local names = {}
      for i, entry in ipairs(group) do
        names[i] = book:link(entry.name)
      end
      table.insert(lists[group.object], {('<a href="%s.html"><b>%s</b></a>')
        :format(group.page, group.name), table.concat(names, " ")})
    end
    return "<p>At the prompt, <code>?name</code> shows the same text.</p>\n"
      .. markup.terms(lists[false]) .. '\n<h2 id="classes">Objects</h2>\n'
      .. markup.terms(lists[true])
  end)
end

-- A page of entries {name =, signature =, text =}.
local function words(book, page, title, list)
  for _, item in ipairs(list) do
    book:name(item.name, ("%s.html#%s"):format(page, item.name))
  end
  book:page(page, title, function()
    local rows = {}
    for i, item in ipairs(list) do
      rows[i] = {"<code>" .. escape(item.signature) .. "</code>",
        markup.inline(item.text, book), item.name}
    end
    return markup.terms(rows)
  end)
end

--- entries.words(book)
--- The pages of %commands, and of the words of OpenCL C, Lua, CUDA and hosts.
function M.words(book)
  local foreign = {}
  book.commands = {}
  require "clshell.shell.prompt" -- then its commands are known
  require "clshell.shell.prompt.commands"
  for i, name in ipairs(text.keys(index.commands())) do
    local command = index.commands()[name]
    book.commands[i] = {name = "%" .. name, signature = command.usage
      or "%" .. name, text = command.help or ""}
  end
  for i, entry in ipairs(cuda.list) do
    foreign[i] = {name = entry.word, signature = ("%s (%s)"):format(entry.word,
      cuda.language(entry)), text = "here: " .. entry.said}
  end
  words(book, "commands", "Commands of the prompt", book.commands)
  words(book, "opencl-c", "Words of OpenCL C", reference.opencl)
  words(book, "errors-opencl", "OpenCL's errors", reference.errors)
  words(book, "lua", "Lua's own words and functions", reference.lua)
  words(book, "foreign", "CUDA's words, and hosts in C and Python", foreign)
end

--- entries.topics(book)
--- A page for each topic, and the glossary.
function M.topics(book)
  local list = {}
  for _, entry in ipairs(concepts.list) do
    entry.page = "topic-" .. entry.name:lower():gsub("[^%w_]", "")
    for name in entry.names:gmatch "[^,%s][^,]*" do
      book:name(name:lower():gsub("[-_%s]+", "_"), entry.page .. ".html")
      list[#list + 1] = not entry.guide and {name, entry, name:lower()} or nil
    end
    book:page(entry.page, entry.title:gsub("^%l", string.upper), function()
      local also = not entry.guide and entry.names:match "^[^,]+,%s*(.*)$"
      return (also and "<p class=soft>Also: " .. escape(also) .. "</p>\n"
        or "") .. markup.text(entry.text .. (entry.more and "\n\n"
        .. entry.more() or ""), book) .. "\n<p>Try: "
        .. markup.inline(entry.try, book) .. "</p>"
    end)
  end
  table.sort(list, function(a, b) return a[3] < b[3] end)
  book:page("glossary", "Glossary", function()
    local rows = {}
    for i, item in ipairs(list) do
      local title = item[2].title
      rows[i] = {('<a href="%s.html">%s</a>'):format(item[2].page,
        escape(item[1])), item[1] ~= title and "see " .. escape(title)
        or markup.inline(layout.summary(item[2].text, 400) .. ".", book)}
    end
    return markup.terms(rows)
  end)
end

return M
