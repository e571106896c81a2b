-- site/kernels.lua - a page for each file of kernels/ with its rungs and its
-- source, a page for each family, and kernels/NOTES.md by family
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local families = require "clshell.ladder.families"
local file = require "clshell.base.file"
local index = require "clshell.shell.help.index"
local markup = require "clshell.shell.site.markup"
local text = require "clshell.base.text"

local M = {}

local escape = markup.escape

-- The section of a rung: its lesson and its parameters.
local function rung_section(item, book)
  local rows = {{"parameter", "default", "legal values", ""}}
  for i, one in ipairs(item.rung.params) do
    rows[i + 1] = {one.name, tostring(one.default), text.values(one.values),
      one.help}
  end
  return ('<section id="%s"><h2>%s</h2>\n<p>%s</p>\n%s</section>'):format(
    item.name, item.name, markup.inline(item.rung.lesson, book),
    rows[2] and markup.table(rows, book) or "")
end

--- kernels.files(book)
--- The pages of the files, and the list of all.
function M.files(book)
  local rungs, lists = {}, {}
  for _, item in ipairs(index.rungs()) do
    local path = item.rung.path and item.rung.path:match "kernels/(.*)$" or ""
    rungs[path] = rungs[path] or {}
    table.insert(rungs[path], item)
  end
  local p <close> = assert(io.popen(("cd %s/kernels && ls -d */*.cl"):format(
    text.quote(cl.home))))
  for path in p:lines() do
    local page = "kernel-" .. path:gsub("/", "-"):gsub("%.cl$", "")
    local source = file.read(cl.home .. "/kernels/" .. path)
    local about = (source:match "^/%* *([^\n]*)" or ""):gsub("^%S+ %- ", "")
    local folder, name = path:match "(.*)/(.*)"
    if not lists[folder] then
      lists[#lists + 1] = folder
      lists[folder] = {}
    end
    table.insert(lists[folder], {('<a href="%s.html">%s</a>'):format(page,
      name), escape(about)})
    for _, item in ipairs(rungs[path] or {}) do
      book:name(item.name, ("%s.html#%s"):format(page, item.name))
    end
    book:find("kernels/" .. path, page .. ".html", about,
      source:match "^/%*.-%*/")
    book:page(page, "kernels/" .. path, function()
      local out = {"<p>" .. escape(about) .. "</p>"}
      for _, item in ipairs(rungs[path] or {}) do
        out[#out + 1] = rung_section(item, book)
      end
      return table.concat(out, "\n") .. "<h2>Source</h2>\n" .. markup.c(source)
    end)
  end
  book:page("kernels", "Kernels", function()
    for i, folder in ipairs(lists) do
      lists[i] = ("<h2>%s</h2>\n"):format(families.get(folder)
        and book:link(folder) or folder) .. markup.terms(lists[folder])
    end
    return table.concat(lists, "\n")
  end)
end

-- The sections of NOTES.md by family: a section belongs to the family whose
-- name and rungs it names most, where a heading counts ten times.
local function notes_of(notes)
  local by = {}
  for section in ("\n" .. notes):gsub("\n## ", "\n\0## ")
      :gmatch "%z([^%z]*)" do
    local points, best = {general = 9}, "general"
    local words = section:lower() .. section:match "[^\n]*":lower():rep(10)
    local function count(family, word)
      local _, n = words:gsub("%f[%w_]" .. word .. "%f[^%w_]", "")
      points[family] = (points[family] or 0) + n
      best = points[family] > points[best] and family or best
    end
    for _, item in ipairs(index.rungs()) do
      count(item.family.name, item.short)
    end
    for _, name in ipairs(families.own()) do
      count(name, name)
    end
    by[best] = by[best] or {}
    table.insert(by[best], section)
  end
  return by
end

--- kernels.families(book)
--- The pages of the families, and of the notes.
function M.families(book)
  local notes = file.read(cl.home .. "/kernels/NOTES.md")
  local by, order = notes and notes_of(notes) or {}, families.own()
  if notes then
    book:find("notes", "notes.html", "Why the fast kernels are as they are",
      notes)
    book:page("notes", "Why the fast kernels are as they are", function()
      local out = {markup.text(notes:match "\n(.-)\n##", book)}
      for _, name in ipairs{"general", table.unpack(order)} do
        out[#out + 1] = by[name] and ('<h1 id="%s">%s</h1>\n'):format(name,
          name) .. markup.text(table.concat(by[name], "\n"), book) or nil
      end
      return table.concat(out, "\n")
    end)
  end
  for _, name in ipairs(order) do
    local items = families.get(name).kernels()
    for _, item in ipairs(items) do -- without a file of its own
      local full = name .. "." .. item.name
      book:name(full, ("family-%s.html#%s"):format(name, full))
    end
    book:page("family-" .. name, name, function()
      local rows, listed = {}, {}
      for i, item in ipairs(items) do
        local full = name .. "." .. item.name
        rows[i] = {("%s <code>%s</code>"):format(book:link(full),
          escape(item.parameters or "")), markup.inline(item.lesson, book),
          full}
      end
      for i, section in ipairs(by[name] or {}) do
        local heading = section:match "^## ([^\n]*)"
        listed[i] = ('<li><a href="notes.html#%s">%s</a>'):format(
          markup.slug(heading), escape(heading))
      end
      local first, rest = book.families[name]()
      return first .. "<h2>Kernels, from the plain one to the fastest</h2>\n"
        .. markup.terms(rows) .. (listed[1] and "<h2>What was tried</h2><ul>"
        .. table.concat(listed) .. "</ul>\n" or "") .. rest
    end)
  end
end

return M
