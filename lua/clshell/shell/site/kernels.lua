-- site/kernels.lua - a page for each file of kernels/ with its rungs and its
-- source, a page for each family, and kernels/NOTES.md by family
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local families = require "clshell.ladder.families"
local index = require "clshell.shell.help.index"
local markup = require "clshell.shell.site.markup"
local text = require "clshell.base.text"

local M = {}

local escape = markup.escape

local function read(path)
  local f <close> = io.open(path, "rb")
  return f and f:read "a"
end

-- The paths of the kernels, below the folder kernels.
local function files()
  local list = {}
  local p <close> = assert(io.popen(("cd %s/kernels && ls -d */*.cl"):format(
    text.quote(cl.home))))
  for path in p:lines() do
    list[#list + 1] = path
  end
  return list
end

-- The section of a rung: its lesson and its parameters.
local function rung_section(item, book)
  local rows = {}
  for i, one in ipairs(item.rung.params) do
    rows[i] = ("<tr><td><code>%s</code><td>%s<td>%s<td>%s"):format(
      escape(one.name), escape(tostring(one.default)),
      escape(text.values(one.values)), markup.inline(one.help, book))
  end
  return ("<section id=\"%s\"><h2>%s</h2>\n<p>%s</p>\n%s</section>"):format(
    escape(item.name), escape(item.name), markup.inline(item.rung.lesson,
    book), rows[1] and "<div class=scroll><table><thead><tr><th>parameter<th>"
    .. "default<th>legal values<th></thead>\n" .. table.concat(rows, "\n")
    .. "</table></div>" or "")
end

--- kernels.files(book)
--- The pages of the files, and the list of all.
function M.files(book)
  local by_path, pages = {}, {}
  for _, item in ipairs(index.rungs()) do
    local path = item.rung.path and item.rung.path:match "kernels/(.*)$" or ""
    by_path[path] = by_path[path] or {}
    table.insert(by_path[path], item)
  end
  for i, path in ipairs(files()) do
    local page = "kernel-" .. path:gsub("/", "-"):gsub("%.cl$", "")
    local rungs = by_path[path] or {}
    local source = read(cl.home .. "/kernels/" .. path)
    pages[i] = {page = page, path = path, about = (source:match
      "^/%* *([^\n]*)" or ""):gsub("^[%w_.]+ %- ", "")}
    book:name("kernels/" .. path, page .. ".html")
    for _, item in ipairs(rungs) do
      book:name(item.name, ("%s.html#%s"):format(page, item.name))
    end
    book:find("kernels/" .. path, page .. ".html", pages[i].about,
      source:match "^/%*.-%*/")
    book:page(page, "kernels/" .. path, function()
      local out = {("<p>%s</p>"):format(escape(pages[i].about))}
      for _, item in ipairs(rungs) do
        out[#out + 1] = rung_section(item, book)
      end
      out[#out + 1] = "<h2>Source</h2>\n" .. markup.c(source)
      return table.concat(out, "\n")
    end)
  end
  book:page("kernels", "Kernels", function()
    local out, folder = {}, nil
    for _, p in ipairs(pages) do
      local its = p.path:match "^[^/]*"
      if its ~= folder then
        out[#out + 1] = (folder and "</dl>" or "") .. ("<h2>%s</h2>"
          .. "<dl class=opts>"):format(families.get(its) and book:link(its)
          or escape(its))
        folder = its
      end
      out[#out + 1] = ('<dt><a href="%s.html">%s</a><dd>%s'):format(p.page,
        escape(p.path:match "[^/]*$"), escape(p.about))
    end
    return table.concat(out, "\n") .. "</dl>"
  end)
end

-- The sections of NOTES.md by family: a section belongs to the family whose
-- name and rungs it names most, a heading counts ten times.
local function notes_of(notes)
  local by, rungs = {}, index.rungs()
  for section in ("\n" .. notes):gsub("\n## ", "\n\0## ")
      :gmatch "%z([^%z]*)" do
    local heading = section:match "^## ([^\n]*)"
    local points, best, most = {}, "general", 0
    local function count(family, word)
      local pattern = "%f[%w_]" .. word:lower():gsub("%p", "%%%0")
        .. "%f[^%w_]"
      local _, n = section:lower():gsub(pattern, "")
      local _, again = heading:lower():gsub(pattern, "")
      points[family] = (points[family] or 0) + n + 10 * again
    end
    for _, item in ipairs(rungs) do
      count(item.family.name, item.short)
    end
    for _, name in ipairs(families.own()) do
      count(name, name)
      if points[name] > most then
        best, most = name, points[name]
      end
    end
    best = most >= 10 and best or "general"
    by[best] = by[best] or {}
    table.insert(by[best], section)
  end
  return by
end

--- kernels.families(book)
--- The pages of the families, and of the notes.
function M.families(book)
  local notes = read(cl.home .. "/kernels/NOTES.md")
  local by = notes and notes_of(notes) or {}
  local order = families.own()
  if notes then
    book:page("notes", "Why the fast kernels are as they are", function()
      local out = {markup.text(notes:match "\n(.-)\n##", book)}
      for _, name in ipairs{"general", table.unpack(order)} do
        out[#out + 1] = by[name] and ('<h1 id="%s">%s</h1>\n'):format(name,
          name) .. markup.text(table.concat(by[name], "\n"), book) or nil
      end
      return table.concat(out, "\n")
    end)
    book:find("notes", "notes.html", "Why the fast kernels are as they are",
      notes)
  end
  for _, name in ipairs(order) do
    local family = families.get(name)
    for _, item in ipairs(index.rungs()) do
      book:name(item.name, item.family == family
        and ("family-%s.html#%s"):format(name, item.name) or nil)
    end
    book:page("family-" .. name, name, function()
      local out = {(book.families[name] or error)(), "<h2>Kernels, from the "
        .. "plain one to the fastest</h2><dl class=opts>"}
      for _, item in ipairs(family.kernels()) do
        local full = name .. "." .. item.name
        local own = book:url(full):find "^family"
        out[#out + 1] = ("<dt%s>%s <code>%s</code><dd>%s"):format(own
          and (' id="%s"'):format(full) or "", own and escape(full)
          or book:link(full), escape(item.parameters or ""),
          markup.inline(item.lesson, book))
      end
      out[#out + 1] = "</dl>"
      if by[name] then
        out[#out + 1] = "<h2>Notes: what was tried</h2><ul>"
        for _, section in ipairs(by[name]) do
          local heading = section:match "^## ([^\n]*)"
          out[#out + 1] = ('<li><a href="notes.html#%s">%s</a>'):format(
            markup.slug(heading), escape(heading))
        end
        out[#out + 1] = "</ul>"
      end
      return table.concat(out, "\n")
    end)
  end
end

return M
