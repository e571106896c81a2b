-- site/book.lua - the pages of a site: their frame, the addresses of names,
-- the index of the search, and the check of every link
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local json = require "clshell.base.json"
local layout = require "clshell.shell.help.page_layout"
local markup = require "clshell.shell.site.markup"
local page = require "clshell.results.page"
local text = require "clshell.base.text"

local Book = {}
Book.__index = Book

local POLICY = "default-src 'none'; style-src 'self' file: 'unsafe-inline'; "
  .. "script-src 'self' file:; img-src data:"

local FRAME = [[
<header class=site><a class=name href="index.html">clshell</a>
<nav><a href="api.html">API</a> <a href="kernels.html">Kernels</a>
<a href="course.html">Course</a> <a href="errors.html">Errors</a>
<a href="glossary.html">Glossary</a> <a href="gallery.html">Gallery</a>
<a href="cheat-sheet.html">Cheat sheet</a></nav>
<form action="search.html"><input type=search name=q aria-label="Search"
placeholder="Search"></form></header>
<main>
<h1>%s</h1>
%s
</main>
<footer class=soft>clshell %s, made by make docs</footer>]]

local CSS = [[
:root { --key: #cf222e; --word: #0a3069; --count: #0550ae }
@media (prefers-color-scheme: dark) { :root { --key: #ff7b72;
  --word: #a5d6ff; --count: #79c0ff } }
body { margin-top: 1rem }
a { color: var(--mark); text-decoration: none }
a:hover { text-decoration: underline }
main { min-height: 60vh; overflow-wrap: anywhere }
footer { margin-top: 3rem; font-size: .87em }
.site, .site nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem;
  align-items: center }
.site { border-bottom: 1px solid var(--line); padding-bottom: .6rem;
  margin-bottom: 1.5rem }
.site nav { flex: 1 1 20rem }
.site .name { font-weight: 700; color: var(--ink) }
input { font: inherit; color: inherit; background: var(--band); width: 11rem;
  border: 1px solid var(--line); border-radius: 6px; padding: .2rem .6rem }
pre, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .9em }
pre { overflow-x: auto; padding: .6rem .8rem; background: var(--band);
  border-radius: 6px; overflow-wrap: normal; margin: .5rem 0 }
pre.out { border-left: 3px solid var(--line); background: none }
pre i { font-style: normal } .c { color: var(--soft) }
.k { color: var(--key) } .s { color: var(--word) } .n { color: var(--count) }
:target { background: var(--band) }
.opts { display: block } .opts dt { color: var(--ink) }
.opts dd { margin: 0 0 .3rem 1.2rem }
.cards { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)) }
.cards h2, .sheet h2 { margin: 1rem 0 .2rem } .cards p { margin: .2rem 0 }
td, th { overflow-wrap: normal }
.sheet { columns: 24rem } .sheet section { break-inside: avoid }
.sheet pre { font-size: .78em; white-space: pre-wrap }
@media print { .site, footer { display: none } .sheet { columns: 3;
  font-size: 6.4pt; line-height: 1.25 } .sheet h2 { font-size: 8pt;
  margin: 1.5mm 0 .5mm } .sheet p { margin: 0 } .sheet pre { margin: .5mm 0;
  font-size: 5.6pt; padding: .6mm 1mm } }
]]

-- Scores as shell/help/pages.lua does. Where no page has all words, the pages
-- with most of them come first, as for a pasted error message.
local SCRIPT = [==[
"use strict";
const skip = new Set(("a an and do does for how i in is my of on the to with "
  + "got must be").split(" "));
function points([name, , , words, last], word) {
  const n = name.toLowerCase(), tail = n.replace(/^.*[.:%]/, "");
  return ((n === word || tail === word ? 100 : tail.startsWith(word) ? 60
    : n.includes(word) ? 40 : 0) + (words.includes(" " + word) ? 12
    : words.includes(word) ? 4 : 0)) / last;
}
function find(text) {
  const all = text.toLowerCase().split(/[\s"'();,]+/).filter(w => w);
  const some = all.filter(w => !skip.has(w) && !/^[\d.]+$/.test(w));
  const found = INDEX.map(e => {
    const each = (some.length ? some : all).map(w => points(e, w));
    return {e, met: each.filter(p => p).length,
      p: each.reduce((a, b) => a + b, 0)};
  });
  const most = Math.max(1, ...found.map(f => f.met));
  return found.filter(f => f.met === most).sort((a, b) => b.p - a.p
    || (a.e[0] < b.e[0] ? -1 : 1)).slice(0, 60);
}
function show(text) {
  const hits = find(text);
  document.getElementById("found").replaceChildren(...hits.map(({e}) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    [link.href, link.textContent] = [e[1], e[0]];
    item.append(link, " ", e[2]);
    return item;
  }));
  document.getElementById("count").textContent = !text.trim() ? ""
    : hits.length ? hits.length + (hits.length === 60 ? " or more found"
    : " found") : "Nothing about '" + text + "'.";
}
const box = document.querySelector("input");
box.value = new URLSearchParams(location.search).get("q") || "";
box.addEventListener("input", () => show(box.value));
box.form.addEventListener("submit", e => e.preventDefault());
show(box.value);
]==]

local SEARCH = [[<p id=count class=soft>The search is a script of this page.
<ul id=found></ul>
<script src="search-index.js"></script><script src="search.js"></script>]]

--- book:page(name, title, body)
--- Adds a page `name`.html; body() gives its HTML once all pages are known.
function Book:page(name, title, body)
  assert(not self.pages[name], name)
  self.pages[name] = {title = title, body = body}
end

--- book:name(name, address)
--- The address of a name; the first one that is given stays.
function Book:name(name, address)
  self.names[name] = self.names[name] or address
end

--- book:url(name) -> address or nil
--- The address of a name as help takes it, such as "A:sub" or "Local memory".
function Book:url(name)
  return self.names[name] or self.names[(name:gsub("^A:", "Buffer:"))]
    or self.names[name:lower():gsub("[-_%s]+", "_")]
end

--- book:link(name [, words]) -> HTML
function Book:link(name, words)
  return ('<a href="%s">%s</a>'):format(self:url(name), markup.escape(words
    or name))
end

--- book:find(name, address, s [, words [, last]])
--- Makes a name known to the search, with a text and further words; `last`
--- divides its points.
function Book:find(name, address, s, words, last)
  local seen, list = {}, {""}
  for word in (s .. " " .. (words or "")):lower():gmatch "[%w_]+" do
    list[#list + 1] = #word > 2 and not seen[word] and word or nil
    seen[word] = true
  end
  self.index[#self.index + 1] = {name, address, layout.summary(s, 90),
    table.concat(list, " "), last or 1}
end

-- The links of all pages that lead nowhere, a line each.
local function broken(texts)
  local ids, bad = {}, {}
  for name, s in pairs(texts) do
    ids[name .. ".html#"] = true
    for id in s:gmatch ' id="([^"]*)"' do
      ids[name .. ".html#" .. id] = true
    end
  end
  for name, s in pairs(texts) do
    for url in s:gmatch ' href="([^":]*[#.][^":]*)"' do
      local to = (url:find "^#" and name .. ".html" or "") .. url
      bad[#bad + 1] = not url:find "%.css$" and not ids[to:find "#" and to
        or to .. "#"] and ("%s.html: %s"):format(name, url) or nil
    end
  end
  table.sort(bad)
  return bad
end

--- book:write(folder [, lax]) -> number of pages
--- Writes all pages into a folder that exists. Raises where a link is broken,
--- unless it is `lax`.
function Book:write(folder, lax)
  local texts, n = {}, 0
  self:page("search", "Search", function()
    return SEARCH
  end)
  for name, p in pairs(self.pages) do
    texts[name], n = page.text(p.title .. " - clshell", FRAME:format(
      markup.escape(p.title), p.body(), markup.escape(cl.version)),
      {policy = POLICY, head = '<link rel="stylesheet" href="site.css">\n'}),
      n + 1
  end
  local bad = lax and {} or broken(texts)
  if #bad > 0 then
    cl.error(("%s on the pages:\n%s"):format(text.count(#bad, "broken link"),
      table.concat(bad, "\n", 1, math.min(#bad, 20))))
  end
  local function write(name, s)
    file.write(folder .. "/" .. name, s, "the page")
  end
  for name, s in pairs(texts) do
    write(name .. ".html", s)
  end
  write("site.css", CSS)
  write("search.js", SCRIPT)
  write("search-index.js", "const INDEX = " .. json.encode(self.index)
    .. ";\n")
  return n
end

return {new = function()
  return setmetatable({pages = {}, names = {}, index = {}, runs = {},
    families = {}}, Book)
end}
