-- site/reference.lua - the pages of the API by module and class, of the
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

-- The output of an example, and the charts that it drew.
local function output(run)
  local out = run and (run.output or ""):gsub("%s+$", ""):gsub("^\n+", "")
  local parts = {out and out ~= "" and ("<pre class=out>%s</pre>"):format(
    escape(text.visible(out))) or ""}
  for _, svg in ipairs(run and run.charts or {}) do
    parts[#parts + 1] = "<figure>" .. svg .. "</figure>"
  end
  return table.concat(parts, "\n")
end

--- reference.example(code, book) -> HTML
--- An example, with the output of its run where the book has one.
function M.example(code, book)
  local run = book.runs[code]
  return markup.lua(code) .. (run and run.skip
    and ("<p class=soft>Not run where this page was made: it %s.</p>"):format(
    escape(run.skip)) or output(run))
end

local function options(list, book)
  local out, form = {}, false
  for _, option in ipairs(list) do
    if option.form ~= form then
      form = option.form
      out[#out + 1] = (out[1] and "</dl>" or "") .. ("<h3>Options%s</h3>"
        .. "<dl class=opts>"):format(form and " " .. escape(form) or "")
    end
    out[#out + 1] = ("<dt><code>%s</code>%s<dd>%s"):format(escape(option.name),
      option.default and " <span class=soft>(" .. escape(option.default)
      .. ")</span>" or "", markup.inline(option.text, book))
  end
  return out[1] and table.concat(out, "\n") .. "</dl>" or ""
end

--- reference.entry(entry, book) -> HTML
--- The section of a function.
function M.entry(entry, book)
  return ("<section id=\"%s\"><h2><code>%s</code></h2>\n%s\n%s\n%s</section>")
    :format(escape(entry.name), escape(entry.signature),
    markup.text(entry.text, book), options(index.options(entry.name), book),
    entry.example and M.example(entry.example, book) or "")
end

-- The page of each group of functions: "cl", "Buffer", "bench".
local function group_of(entry)
  local group = entry.name:match "^(.-)[.:]" or entry.name
  return group, (group:find "^%u" and "class-" or families.get(group)
    and "family-" or "api-") .. group
end

-- Whether a function has a section: types and OpenCL's functions as methods
-- share the page of a topic.
local function shown(entry)
  return entry.file or not entry.minor
end

local function use_of(group)
  return lazy.public.module(group) and not lazy.session[group]
    and ('<p>In a script: <code>local %s = require "clshell.%s"</code></p>\n')
    :format(group, group) or ""
end

local function lists_of(book, list)
  local out = {}
  for _, page in ipairs(list) do
    local names = {}
    for _, entry in ipairs(page) do
      names[#names + 1] = book:link(entry.name)
    end
    out[#out + 1] = ('<h2><a href="%s.html">%s</a></h2><p class=names>%s</p>')
      :format(page.page, escape(page.group), table.concat(names, " "))
  end
  return table.concat(out, "\n")
end

--- reference.api(book)
--- A page for each module, class and family, and the list of all.
function M.api(book)
  local groups = {}
  for _, entry in ipairs(index.entries()) do
    local group, page = group_of(entry)
    if shown(entry) then
      if not groups[group] then
        groups[group] = {group = group, page = page}
        groups[#groups + 1] = groups[group]
      end
      table.insert(groups[group], entry)
      book:name(entry.name, ("%s.html#%s"):format(page, entry.name))
    end
  end
  for _, name in ipairs(families.names()) do -- the functions of all families
    for _, entry in ipairs(groups.family) do
      local member = entry.name:match "^family%.(.*)$"
      if member and families.get(name)[member] then
        book:name(name .. "." .. member, book.names[entry.name])
      end
    end
  end
  local modules, classes = {}, {}
  for _, group in ipairs(groups) do
    table.insert(group.group:find "^%u" and classes or modules, group)
    book:name(group.group, group.page .. ".html")
    local body = function()
      local out = {use_of(group.group)}
      for i, entry in ipairs(group) do
        out[i + 1] = M.entry(entry, book)
      end
      return table.concat(out, "\n")
    end
    if group.page:find "^family" then
      book.families[group.group] = body
    else
      book:page(group.page, group.group, body)
    end
  end
  table.sort(classes, function(a, b) return a.group < b.group end)
  book:page("api", "Modules, functions and classes", function()
    return "<p>At the prompt, <code>?name</code> shows the same text.</p>\n"
      .. lists_of(book, modules) .. '\n<h1 id="classes">Classes</h1>\n'
      .. lists_of(book, classes)
  end)
end

-- A page of entries in two columns: a signature and its text.
local function table_page(book, name, title, list)
  book:page(name, title, function()
    local out = {}
    for _, item in ipairs(list) do
      out[#out + 1] = ("<dt id=\"%s\"><code>%s</code><dd>%s"):format(
        escape(item.name), escape(item.signature),
        markup.inline(item.text, book))
    end
    return "<dl class=opts>" .. table.concat(out, "\n") .. "</dl>"
  end)
  for _, item in ipairs(list) do
    book:name(item.name, ("%s.html#%s"):format(name, item.name))
  end
end

local function commands()
  require "clshell.shell.prompt"
  require "clshell.shell.prompt.commands"
  local list = {}
  for _, name in ipairs(text.keys(index.commands())) do
    local command = index.commands()[name]
    list[#list + 1] = {name = "%" .. name, signature = command.usage
      or "%" .. name, text = command.help or ""}
  end
  return list
end

local function cuda_words()
  local list = {}
  for _, entry in ipairs(cuda.list) do
    list[#list + 1] = {name = entry.word, signature = ("%s (%s)"):format(
      entry.word, cuda.language(entry)), text = "here: " .. entry.said}
  end
  return list
end

--- reference.words(book)
--- The pages of %commands, and of the words of OpenCL C, Lua, CUDA and hosts.
function M.words(book)
  book.commands = commands()
  table_page(book, "commands", "Commands of the prompt", book.commands)
  table_page(book, "opencl-c", "Words of OpenCL C", reference.opencl)
  table_page(book, "errors-opencl", "OpenCL's errors", reference.errors)
  table_page(book, "lua", "Lua's own words and functions", reference.lua)
  table_page(book, "foreign", "CUDA's words, and hosts in C and Python",
    cuda_words())
end

--- reference.topics(book)
--- A page for each topic, and the glossary.
function M.topics(book)
  for _, entry in ipairs(concepts.list) do
    local page = "topic-" .. entry.name:lower():gsub("[^%w_]", "")
    for name in entry.names:gmatch "[^,%s][^,]*" do
      book:name(name:lower():gsub("[-_%s]+", "_"), page .. ".html")
    end
    entry.page = page
    book:page(page, entry.title:gsub("^%l", string.upper), function()
      local also = entry.names:match "^[^,]+,%s*(.*)$"
      return (also and not entry.guide and "<p class=soft>Also: "
        .. escape(also) .. "</p>\n" or "") .. markup.text(entry.text
        .. (entry.more and "\n\n" .. entry.more() or ""), book)
        .. "\n<p>Try: " .. markup.inline(entry.try, book) .. "</p>"
    end)
  end
  book:page("glossary", "Glossary", function()
    local list, out = {}, {}
    for _, entry in ipairs(concepts.list) do
      for name in entry.names:gmatch "[^,%s][^,]*" do
        list[#list + 1] = not entry.guide and {name, entry} or nil
      end
    end
    table.sort(list, function(a, b) return a[1]:lower() < b[1]:lower() end)
    for i, item in ipairs(list) do
      local title = item[2].title
      out[i] = ('<dt><a href="%s.html">%s</a><dd>%s'):format(item[2].page,
        escape(item[1]), item[1] ~= title and "see " .. escape(title)
        or markup.inline(layout.summary(item[2].text, 400) .. ".", book))
    end
    return "<dl class=opts>" .. table.concat(out, "\n") .. "</dl>"
  end)
end

--- reference.guides() -> list
--- The topics that are pages by task.
function M.guides()
  local list = {}
  for _, entry in ipairs(concepts.list) do
    list[#list + 1] = entry.guide and entry or nil
  end
  return list
end

return M
