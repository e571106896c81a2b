-- site/sheets.lua - the gallery, the cheat sheet, the course, the front page
-- and llms.txt
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local concepts = require "clshell.shell.help.concepts"
local course = require "clshell.explain.course"
local families = require "clshell.ladder.families"
local layout = require "clshell.shell.help.page_layout"
local markup = require "clshell.shell.site.markup"
local reference = require "clshell.shell.site.reference"
local usage = require "clshell.shell.commands.usage"

local M = {}

local escape = markup.escape

--- sheets.measured
--- Measurements of the gallery, which run where the pages are made.
M.measured = {
  {name = "the rungs of gemm", code = [[
local list = {}
for i, kernel in ipairs{"naive", "tiled", "register", "simd"} do
  list[i] = bench("gemm." .. kernel, {512}, nil, {effort = "quick"})
end
print(require "clshell.plot".ladder(list))]]},
  {name = "a kernel over the size of its tile", code = [[
local list = {}
for i, tile in ipairs{4, 8, 16, 32} do
  list[i] = bench("gemm.tiled", {256}, {tile = tile}, {effort = "quick"})
end
print(require "clshell.plot".line(list, {x = "tile", y = "gflops"}))]]},
  {name = "the rungs of transpose", code = [[
local list = {}
for i, item in ipairs(transpose.kernels()) do
  list[i] = bench("transpose." .. item.name, {1024}, nil, {effort = "quick"})
end
print(require "clshell.plot".bar(list, {y = "gbs"}))]]},
}

--- sheets.sheet
--- The cheat sheet: a title and code each; the code runs as one example.
M.sheet = {
  {name = "Memory", code = [[
x = cl.buffer("float", 1000, 1)     -- ones
y = cl.linspace(0, 1, 1000)         -- on the device
h = y:read()                        -- an Array
y:write(h)                          -- and back
print(#x, x.type, h[1000])]]},
  {name = "Arithmetic", follows = true, code = [[
z = (2 * x + y:sqrt()):eval()       -- one kernel
print(z:sum(), z:max(), z:dot(x))
z:slice(1, 10):set(0)               -- a view
print(z:slice(9, 11):read())
print(y:sort{order = "descending"}:slice(1, 3))]]},
  {name = "A kernel", follows = true, code = [==[
k = cl.kernel [[
kernel void axpy(float a, global const float *x,
                 global float *y) {
  int i = get_global_id(0);
  y[i] += a * x[i];
}]]
ev = k:range(1000, 100)(2, x, y)    -- global, local
print(ev.ms > 0)]==]},
  {name = "Matrices", follows = true, code = [[
A, B = matrix.random(256), matrix.random(256)
C = gemm(A, B)                      -- the best rung
C = gemm(A, B, {kernel = "tiled", tile = 16})
print(C:read():at(1, 1) ~= 0)
S = A:sub(1, 1, 16, 16)             -- a part, no copy
print(A:transpose():sum(1).shape[1])]]},
  {name = "Measure, compare, tune", follows = true, code = [[
r = bench("gemm.tiled", {256}, {tile = 8})
print(r.verify, r.gflops > 0)
c = compare({"gemm.naive", {256}}, {"gemm.tiled", {256}})
print(c.ratio ~= nil)
best = tune("gemm.tiled", {256}, {evaluations = 3})
print(best.params.tile)]]},
  {name = "Understand", follows = true, code = [[
print(#lesson(r) > 0)               -- why it is slow
print(cl.device().name ~= nil)
print(occupancy{gpu = "H100", registers = 64})]]},
}

--- sheets.gallery(book)
--- All charts that examples printed, and the measured charts.
function M.gallery(book)
  book:page("gallery", "Plots that clshell draws", function()
    local out = {"<p>The program drew these while it made the pages, from the "
      .. "code beside them. The measured ones are of " .. escape(
      book.device or "no device: the examples were not run") .. ".</p>"}
    local function add(title, code)
      local run = book.runs[code]
      for i, svg in ipairs(run and run.charts or {}) do
        out[#out + 1] = (i == 1 and "<h2>" .. title .. "</h2>\n"
          .. markup.lua(code) or "") .. "<figure>" .. svg .. "</figure>"
      end
    end
    for _, one in ipairs(M.measured) do
      add(escape(one.name), one.code)
    end
    for _, entry in ipairs(book.entries) do
      if book:url(entry.name) then
        add(book:link(entry.name), entry.example)
      end
    end
    return table.concat(out, "\n")
  end)
end

local function keys(book)
  return markup.text(concepts.list.keys.text, book)
end

--- sheets.cheat(book)
--- The cheat sheet, which prints on one page of A4.
function M.cheat(book)
  book:page("cheat-sheet", "Cheat sheet", function()
    local out = {"<div class=sheet>"}
    local function add(title, html)
      out[#out + 1] = ("<section><h2>%s</h2>%s</section>"):format(title, html)
    end
    local function rows(list)
      local rest = {}
      for i, item in ipairs(list) do
        rest[i] = ("<code>%s</code> %s"):format(escape(item[1]),
          escape(item[2]))
      end
      return "<p>" .. table.concat(rest, "<br>\n") .. "</p>"
    end
    add("Start", rows(usage.EXAMPLES) .. "<p>At the prompt: <code>?name"
      .. "</code> help, <code>??word</code> search, <code>?tutorial</code>, "
      .. "F1 at a call, Tab completes.</p>")
    for _, one in ipairs(M.sheet) do
      add(one.name, reference.example(one.code, book))
    end
    local names, commands = {}, {}
    for i, name in ipairs(families.own()) do
      names[i] = book:link(name)
    end
    for i, command in ipairs(book.commands) do
      commands[i] = book:link(command.name)
    end
    add("Families", "<p>" .. table.concat(names, " ") .. "</p>")
    add("Commands", "<p>" .. table.concat(commands, " ") .. "</p>")
    add("Keys", keys(book))
    add("Exit codes", rows(usage.EXITS))
    return table.concat(out, "\n") .. "</div>"
  end)
end

--- sheets.course(book)
--- The lessons of the course texts, and the exercises.
function M.course(book)
  local claims = require "clshell.explain.claims_list"
  for _, claim in ipairs(claims) do
    book:name(claim.id, "course.html#" .. claim.id)
  end
  book:page("course", "Course: what texts on GPUs claim, to try", function()
    local out, of = {"<p>" .. markup.inline("course \"A2\" at the prompt "
      .. "tries a claim on your device. [GPU]: only a GPU shows it; "
      .. "[simulator]: counted on Oclgrind, on any machine. See ?course.",
      book) .. "</p>"}, nil
    for _, claim in ipairs(claims) do
      local its = claim.id:sub(1, 1)
      if its ~= of then
        of = its
        out[#out + 1] = ("<h2>%s, %s</h2>"):format(of, escape(
          claims.titles[of]))
      end
      out[#out + 1] = ('<p id="%s"><code>course "%s"</code> %s%s</p>'):format(
        claim.id, claim.id, escape(claim.says), claim.needs and " ["
        .. escape(claim.needs) .. "]" or "")
    end
    out[#out + 1] = "<h2>Exercises</h2>"
    for n = 1, course.questions() do
      out[#out + 1] = "<p>" .. escape((course.exercise(n):gsub("\nType: (.*)$",
        " %1"))) .. "</p>"
    end
    return table.concat(out, "\n")
  end)
end

-- The parts of the front page: title, text, links {name or page, words}.
local function parts(book)
  local own, guides = {}, {}
  for i, name in ipairs(families.own()) do
    own[i] = {"family-" .. name, name}
  end
  for _, entry in ipairs(reference.guides()) do
    guides[#guides + 1] = {entry.page, entry.title}
  end
  local notes = book.pages.notes and {"notes", "what was tried"} or nil
  return {
    {"By task", "from the first hour to the merge gate", guides},
    {"Families", "ladders of kernels, each step with its lesson", own},
    {"API", "every function with an example and its output", {
      {"api", "modules, functions and classes"},
      {"commands", "commands of the prompt"}}},
    {"Kernels", "plain OpenCL C, to read and to copy", {
      {"kernels", "all files"}, notes}},
    {"Course", "what texts on GPUs claim, to try", {{"course", "lessons"},
      {book:url "course":match "^(.*)%.html", "about it"}}},
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

--- sheets.front(book)
function M.front(book)
  book:page("index", "clshell", function()
    local out = {("<p class=lead>%s.</p>\n<div class=cards>"):format(escape(
      (usage.PURPOSE:gsub("^%l", string.upper))))}
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
  local out = {"# clshell", "", "> " .. usage.PURPOSE, "",
    "Version " .. cl.version .. ". At its prompt ?name shows the same pages."}
  for _, part in ipairs(parts(book)) do
    out[#out + 1] = ("\n## %s\n"):format(part[1])
    for _, link in ipairs(part[3]) do
      out[#out + 1] = ("- [%s](%s.html)"):format(link[2], link[1])
    end
  end
  out[#out + 1] = "\n## Functions\n"
  for _, entry in ipairs(book.entries) do
    out[#out + 1] = entry.file and ("- [%s](%s): %s"):format(entry.signature,
      book:url(entry.name), layout.summary(entry.text, 200)) or nil
  end
  out[#out + 1] = "\n## Topics\n"
  for _, entry in ipairs(concepts.list) do
    out[#out + 1] = ("- [%s](%s.html): %s"):format(entry.title, entry.page,
      layout.summary(entry.text, 200))
  end
  return table.concat(out, "\n") .. "\n"
end

return M
