-- site/sheets.lua - the gallery, the cheat sheet, the course, the front page
-- and llms.txt
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local concepts = require "clshell.shell.help.concepts"
local course = require "clshell.explain.course"
local families = require "clshell.ladder.families"
local layout = require "clshell.shell.help.page_layout"
local markup = require "clshell.shell.site.markup"
local entries = require "clshell.shell.site.entries"
local text = require "clshell.base.text"
local usage = require "clshell.shell.commands.usage"

local M = {}

local escape = markup.escape

--- sheets.measured
--- The measurements of the gallery: the examples of help draw the others.
M.measured = {
  {name = "The rungs of gemm", code = [[
local list = {}
for i, rung in ipairs{"naive", "tiled", "register", "simd"} do
  list[i] = bench("gemm." .. rung, {512}, nil, {effort = "quick"})
end
print(require "clshell.plot".ladder(list))]]},
  {name = "A kernel over the size of its tile", code = [[
local list = {}
for i, tile in ipairs{4, 8, 16, 32} do
  list[i] = bench("gemm.tiled", {256}, {tile = tile}, {effort = "quick"})
end
print(require "clshell.plot".line(list, {x = "tile", y = "gflops"}))]]},
}

--- sheets.sheet
--- The code of the cheat sheet, which runs as one example.
M.sheet = {
  {name = "Memory", code = [[
x = cl.buffer("float", 1000, 1) -- ones
y = cl.linspace(0, 1, 1000)
h = y:read()                    -- an Array
y:write(h)                      -- and back
print(#x, x.type, h[1000])]]},
  {name = "Arithmetic", follows = true, code = [[
z = (2 * x + y:sqrt()):eval()   -- one kernel
print(z:sum(), z:max(), z:dot(x))
z:slice(1, 10):set(0)           -- a view
print(y:sort():slice(1, 3):read()[3])]]},
  {name = "A kernel", follows = true, code = [==[
k = cl.kernel [[
kernel void axpy(float a,
    global const float *x, global float *y) {
  int i = get_global_id(0);
  y[i] += a * x[i];
}]]
launch = k:range(1000, 100)     -- global, local
ev = launch(2, x, y)
print(y:read()[1000], ev.ms < 1000)]==]},
  {name = "Matrices", follows = true, code = [[
A, B = matrix.random(256), matrix.random(256)
C = gemm(A, B)                  -- the best rung
C = gemm(A, B, {kernel = "tiled", tile = 16})
S = A:sub(1, 1, 16, 16)         -- no copy
print(S.rows, A:transpose():sum(1).shape[1])]]},
  {name = "Measure, compare, tune, plot", follows = true, code = [[
r = bench("gemm.tiled", {256}, {tile = 8})
print(lesson(r))                -- what limits it
a, b = {"gemm.naive", {256}}, {"gemm.simd", {256}}
print(compare(a, b))
best = tune("gemm.tiled", {256}, {evaluations = 3})
print(best.params.tile)
results{r}:bar():save "bars.svg" -- a picture
require "clshell.html"(r, "report.html")]]},
}

--- sheets.gallery(book)
--- All charts that examples printed, and the measured charts.
function M.gallery(book)
  book:page("gallery", "Plots that clshell draws", function()
    local out = {"<p>The program drew these while it made the pages, each by "
      .. "the code above it" .. escape(book.device and ". Measured on "
      .. book.device or "; here the examples were not run") .. ".</p>"}
    local function add(title, code)
      out[#out + 1] = #(book.runs[code] or {charts = ""}).charts > 0
        and "<h2>" .. title .. "</h2>\n" .. entries.example(code, book)
        or nil
    end
    for _, one in ipairs(M.measured) do
      add(one.name, one.code)
    end
    for _, entry in ipairs(book.entries) do
      add(book:url(entry.name) and book:link(entry.name), entry.example)
    end
    return table.concat(out, "\n")
  end)
end

--- sheets.cheat(book)
--- The cheat sheet, which prints on one page of A4.
function M.cheat(book)
  local function rows(list)
    return text.values(list, "<br>\n", function(item)
      return ("<code>%s</code> %s"):format(escape(item[1]), escape(item[2]))
    end)
  end
  local function links(list)
    return text.values(list, " ", function(item)
      return book:link(item.name or item)
    end)
  end
  book:page("cheat-sheet", "Cheat sheet", function()
    local out = {"<div class=sheet>"}
    local function add(title, html)
      out[#out + 1] = ("<section><h2>%s</h2>%s</section>"):format(title, html)
    end
    add("Start", rows(usage.EXAMPLES) .. "<p>At the prompt: <code>?name"
      .. "</code> help, <code>??word</code> search, <code>?tutorial</code>, "
      .. "F1 at a call, Tab completes.</p>")
    for _, one in ipairs(M.sheet) do
      add(one.name, entries.example(one.code, book))
    end
    add("Families", links(families.own()))
    add("Commands", links(book.commands))
    add("Keys", markup.text(concepts.list.keys.text, book))
    add("Exit codes", rows(usage.EXITS))
    return table.concat(out, "\n") .. "</div>"
  end)
end

--- sheets.course(book)
--- The lessons of the course texts, and the exercises.
function M.course(book)
  local claims = require "clshell.explain.claims_list"
  book:page("course", "Course: what texts on GPUs claim, to try", function()
    local out, lists = {"<p>" .. markup.inline("`course \"A2\"` at the prompt "
      .. "tries a claim on your device, and `%exercise` asks. [GPU]: only a "
      .. "GPU shows it; [simulator]: counted on Oclgrind, on any machine. See "
      .. "?course.", book) .. "</p>"}, {}
    for _, claim in ipairs(claims) do
      local of = claim.id:sub(1, 1)
      if not lists[of] then
        lists[of], lists[#lists + 1] = {}, of
      end
      table.insert(lists[of], {("<code>course %q</code>"):format(claim.id),
        escape(claim.says .. (claim.needs and " [" .. claim.needs .. "]"
        or "")), claim.id})
    end
    for _, of in ipairs(lists) do
      out[#out + 1] = ("<h2>%s, %s</h2>\n%s"):format(of,
        escape(claims.titles[of]), markup.terms(lists[of]))
    end
    out[#out + 1] = "<h2>Exercises</h2>"
    for n = 1, course.questions() do
      out[#out + 1] = "<p>" .. escape((course.exercise(n):gsub("\nType: ",
        " "))) .. "</p>"
    end
    return table.concat(out, "\n")
  end)
end

-- The parts of the front page: title, text, links {page, words}.
local function parts(book)
  local own, guides = {}, {}
  for i, name in ipairs(families.own()) do
    own[i] = {"family-" .. name, name}
  end
  for _, entry in ipairs(concepts.list) do
    guides[#guides + 1] = entry.guide and {entry.page, entry.title} or nil
  end
  return {
    {"By task", "from the first hour to the merge gate", guides},
    {"Families", "ladders of kernels, each step with its lesson", own},
    {"API", "every function with an example and its output", {
      {"api", "modules, functions and classes"},
      {"commands", "commands of the prompt"}}},
    {"Kernels", "plain OpenCL C, to read and to copy", {
      {"kernels", "all files"}, book.pages.notes
      and {"notes", "what was tried"} or nil}},
    {"Course", "what texts on GPUs claim, to try", {{"course", "lessons"},
      {concepts.list.course.page, "about it"}}},
    {"Errors", "messages and remedies", {{"errors", "clshell's errors"},
      {"errors-opencl", "OpenCL's errors"}}},
    {"Words", "of the field, of OpenCL C, Lua and CUDA", {
      {"glossary", "glossary"}, {"opencl-c", "OpenCL C"}, {"lua", "Lua"},
      {"foreign", "CUDA, C, Python"}}},
    {"Pictures", "drawn while these pages were made", {
      {"gallery", "gallery of plots"}}},
    {"One page", "to print", {{"cheat-sheet", "cheat sheet"}}},
  }
end

local START = [[
<p>Type experiments at a prompt, or run them as scripts: build matrices, choose
a kernel, set its tile and local size, and read milliseconds, GFLOPS and GB/s.
A result is compared with float64 before its rate is printed. New kernels are
plain <code>.cl</code> files; nothing is compiled on the host.</p>
<pre>make run        # installs what is missing, builds, measures
build/clshell   # the prompt; ?first_hour shows the way</pre>
]]

--- sheets.front(book)
function M.front(book)
  book:page("index", "clshell", function()
    local out = {("<p class=lead>%s.</p>\n"):format(escape(
      (usage.PURPOSE:gsub("^%l", string.upper)))) .. START
      .. entries.example(M.measured[1].code, book) .. "<div class=cards>"}
    for _, part in ipairs(parts(book)) do
      local links = {}
      for i, link in ipairs(part[3]) do
        links[i] = ('<a href="%s.html">%s</a>'):format(link[1],
          escape(link[2]))
      end
      out[#out + 1] = links[1] and ("<section><h2>%s</h2><p class=soft>%s</p>"
        .. "<p>%s</p></section>"):format(part[1], part[2],
        table.concat(links, ", ")) or nil
    end
    return table.concat(out, "\n") .. "</div>"
  end)
end

--- sheets.llms(book) -> string
--- The pages for programs that read: llms.txt, in Markdown.
function M.llms(book)
  local out = {"# clshell\n\n> " .. usage.PURPOSE .. "\n\nVersion "
    .. cl.version .. ". At its prompt ?name shows the same texts."}
  local function add(words, url, about)
    out[#out + 1] = ("- [%s](%s)%s"):format(words, url, about and ": "
      .. layout.summary(about, 200) or "")
  end
  for _, part in ipairs(parts(book)) do
    out[#out + 1] = ("\n## %s\n"):format(part[1])
    for _, link in ipairs(part[3]) do
      add(link[2], link[1] .. ".html")
    end
  end
  out[#out + 1] = "\n## Functions\n"
  for _, entry in ipairs(book.entries) do
    if entry.file then
      add(entry.signature, book:url(entry.name), entry.text)
    end
  end
  out[#out + 1] = "\n## Topics\n"
  for _, entry in ipairs(concepts.list) do
    add(entry.title, entry.page .. ".html", entry.text)
  end
  return table.concat(out, "\n") .. "\n"
end

return M
