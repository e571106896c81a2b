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

local HEAD = '<link rel="stylesheet" href="site.css">\n'

local FRAME = [[
<header class=site><a class=name href="index.html">clshell</a>
<nav>%s</nav>
<form action="search.html"><input type=search name=q aria-label="Search"
placeholder="Search"></form></header>
<main>
<h1>%s</h1>
%s
</main>
<footer class=soft>clshell %s, made by make docs</footer>]]

local CSS = [[
:root { --key: #cf222e; --word: #0a3069; --note: #59636e; --count: #0550ae }
@media (prefers-color-scheme: dark) { :root { --key: #ff7b72;
  --word: #a5d6ff; --note: #9da7b3; --count: #79c0ff } }
body { margin-top: 1rem }
a { color: var(--mark); text-decoration: none }
a:hover { text-decoration: underline }
main { min-height: 60vh; overflow-wrap: anywhere }
footer { margin: 3rem 0 1rem; border-top: 1px solid var(--line);
  padding-top: .5rem; font-size: .87em }
.site { display: flex; flex-wrap: wrap; gap: .4rem 1.2rem;
  align-items: center; border-bottom: 1px solid var(--line);
  padding-bottom: .6rem; margin-bottom: 1.5rem }
.site .name { font-weight: 700; color: var(--ink) }
.site nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem; flex: 1 }
input { font: inherit; color: inherit; background: var(--band);
  border: 1px solid var(--line); border-radius: 6px; padding: .2rem .6rem;
  width: 11rem; max-width: 100% }
pre, code { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .9em }
pre { overflow-x: auto; padding: .6rem .8rem; background: var(--band);
  border-radius: 6px; line-height: 1.4; overflow-wrap: normal;
  margin: .5rem 0 }
pre.out { border-left: 3px solid var(--line); background: none }
pre i { font-style: normal }
.k { color: var(--key) } .s { color: var(--word) } .c { color: var(--note) }
.n { color: var(--count) }
h2 code { font-size: .95em }
:target { background: var(--band) }
.opts { display: block } .opts dt { color: var(--ink) }
.opts dd { margin: 0 0 .3rem 1.2rem }
.cards { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)) }
.cards h2 { margin: 1.2rem 0 .2rem } .cards p { margin: .2rem 0 }
.names a { white-space: nowrap }
.sheet { columns: 20rem; column-gap: 1.2rem }
.sheet section { break-inside: avoid } .sheet h2 { margin: .6rem 0 .2rem }
.sheet pre { font-size: .78em; padding: .35rem .5rem }
@media print { .site, footer { display: none } h1 { font-size: 14pt }
  .sheet { columns: 3; column-gap: 5mm; font-size: 6.4pt; line-height: 1.25 }
  .sheet h2 { font-size: 8pt; margin: 1.5mm 0 .5mm }
  .sheet p { margin: 0 } .sheet pre { font-size: 5.6pt; padding: .6mm 1mm;
  margin: .5mm 0; white-space: pre-wrap; line-height: 1.2 } }
]]

-- Scores as shell/help/pages.lua does; where no page has all words, the pages
-- with most of them come first, as for a pasted error message.
local SCRIPT = [==[
"use strict";
const skip = new Set(("a an and do does for how i in is my of on the to with "
  + "got must be").split(" "));
function points([name, , , words, last], word) {
  const n = name.toLowerCase(), tail = n.replace(/^.*[.:%]/, "");
  const p = n === word || tail === word ? 100 : tail.startsWith(word) ? 60
    : n.includes(word) ? 40 : 0;
  return (p + (words.includes(" " + word) ? 12 : words.includes(word) ? 4 : 0))
    / last;
}
function find(text) {
  const all = text.toLowerCase().split(/[\s"'();,]+/).filter(w => w);
  const some = all.filter(w => !skip.has(w) && !/^[\d.]+$/.test(w));
  const words = some.length ? some : all;
  const found = INDEX.map(e => {
    const each = words.map(w => points(e, w));
    const met = each.filter(p => p).length;
    return {e, met, p: each.reduce((a, b) => a + b, 0)};
  }).filter(f => f.met);
  const most = Math.max(0, ...found.map(f => f.met));
  return found.filter(f => f.met === most).sort((a, b) => b.p - a.p
    || (a.e[0] < b.e[0] ? -1 : 1)).slice(0, 60);
}
function show(text) {
  const list = document.getElementById("found"), hits = find(text);
  list.replaceChildren(...hits.map(({e}) => {
    const item = document.createElement("li");
    const link = document.createElement("a");
    [link.href, link.textContent] = [e[1], e[0]];
    item.append(link, " ", e[2]);
    return item;
  }));
  document.getElementById("count").textContent = text.trim() === "" ? ""
    : hits.length === 0 ? "Nothing about '" + text + "'." : hits.length + (
      hits.length === 60 ? " or more" : "") + " found";
}
const box = document.querySelector("input");
box.value = new URLSearchParams(location.search).get("q") || "";
box.addEventListener("input", () => show(box.value));
box.form.addEventListener("submit", e => e.preventDefault());
show(box.value);
]==]

local function new()
  return setmetatable({pages = {}, names = {}, index = {}}, Book)
end

--- book:page(name, title, body [, script])
--- Adds a page `name`.html; body() gives its HTML once all pages are known.
function Book:page(name, title, body, script)
  assert(not self.pages[name], name)
  self.pages[#self.pages + 1] = {name = name, title = title, body = body,
    script = script}
  self.pages[name] = self.pages[#self.pages]
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
  return ('<a href="%s">%s</a>'):format(self:url(name)
    or error("no page of " .. name), markup.escape(words or name))
end

-- The words of a text, each once, in lower case.
local function once(s)
  local seen, list = {}, {""}
  for word in s:lower():gmatch "[%w_]+" do
    if #word > 2 and not seen[word] then
      seen[word] = true
      list[#list + 1] = word
    end
  end
  return table.concat(list, " ")
end

--- book:find(name, address, s [, words [, last]])
--- Makes a name known to the search, with a text and further words.
function Book:find(name, address, s, words, last)
  self.index[#self.index + 1] = {name, address, layout.summary(s, 90),
    once(s .. " " .. (words or "")), last or 1}
end

local SCRIPTS = '<script src="search-index.js"></script>\n'
  .. '<script src="search.js"></script>\n'

local function html(p, navigation)
  local title = markup.escape(p.title)
  return page.text(p.title .. " - clshell", FRAME:format(navigation, title,
    p.body(), markup.escape(cl.version)) .. (p.script and SCRIPTS or ""),
    {policy = POLICY, head = HEAD})
end

-- The links of all pages that lead nowhere, a line each.
local function broken(texts)
  local ids, bad = {}, {}
  for name, s in pairs(texts) do
    ids[name] = {[""] = true}
    for id in s:gmatch ' id="([^"]*)"' do
      ids[name][id] = true
    end
  end
  for name, s in pairs(texts) do
    for url in s:gmatch ' href="([^"]*)"' do
      local to, id = url:match "^([^#?]*)%.html#?(.*)$"
      to, id = to or url:find "^#" and name, id or url:match "^#(.*)$"
      if to and not (ids[to] and ids[to][id]) then
        bad[#bad + 1] = ("%s.html: %s"):format(name, url)
      end
    end
  end
  table.sort(bad)
  return bad
end

--- book:write(folder, navigation [, lax]) -> number of pages
--- Writes all pages into a folder that exists. Raises where a link is broken,
--- unless it is `lax`.
function Book:write(folder, navigation, lax)
  self:page("search", "Search", function()
    return '<p id=count class=soft>The search runs in the browser.</p>\n'
      .. "<ul id=found></ul>"
  end, true)
  local texts = {}
  for _, p in ipairs(self.pages) do
    texts[p.name] = html(p, navigation)
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
  return #self.pages
end

return {new = new}
