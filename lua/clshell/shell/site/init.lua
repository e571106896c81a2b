-- shell/site/init.lua - the site of static pages that `make docs` builds, from
-- the help, the table of the API, the kernels and runs of all examples; and
-- the page of a word in a browser
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local text = require "clshell.base.text"

local M = {}

local function part(name)
  return require("clshell.shell.site." .. name)
end

local NAVIGATION = {{"api", "API"}, {"kernels", "Kernels"},
  {"course", "Course"}, {"errors", "Errors"}, {"glossary", "Glossary"},
  {"gallery", "Gallery"}, {"cheat-sheet", "Cheat sheet"}}

local function navigation()
  local links = {}
  for i, link in ipairs(NAVIGATION) do
    links[i] = ('<a href="%s.html">%s</a>'):format(link[1], link[2])
  end
  return table.concat(links, "\n")
end

-- All pages, without the runs of examples.
local function book_of()
  local book = part "book".new()
  book.runs, book.families = {}, {}
  book.entries = require "clshell.shell.help.index".entries()
  local reference, kernels, sheets = part "reference", part "kernels",
    part "sheets"
  reference.api(book)
  kernels.files(book)
  kernels.families(book)
  reference.topics(book)
  reference.words(book)
  sheets.course(book)
  part "messages".page(book)
  sheets.gallery(book)
  sheets.cheat(book)
  sheets.front(book)
  for _, thing in ipairs(require "clshell.shell.help.pages".everything()) do
    local url = book:url(thing.name)
    if url then
      book:find(thing.name, url, thing.text, thing.keys .. " "
        .. thing.signature, thing.last)
    end
  end
  return book
end

local PROCESSES = 3 -- that run examples, beside each other

-- Runs all examples; the first failures raise.
local function run_all(book)
  local examples, sheets = require "clshell.shell.help.examples", part "sheets"
  local chunks, jobs, finishes = {}, {}, {}
  local function add(i, group)
    chunks[i] = chunks[i] or {}
    for _, job in ipairs(group) do
      job.skip = group.skip
      book.runs[job.code], jobs[#jobs + 1] = job, job
      chunks[i][#chunks[i] + 1] = not job.skip and job or nil
    end
  end
  for i, group in ipairs(examples.groups()) do
    add(examples.of_mpi(group[1].name) and PROCESSES + 1 or i % PROCESSES + 1,
      group)
  end
  add(1, sheets.measured)
  add(2, sheets.sheet)
  for i, chunk in pairs(chunks) do
    finishes[i] = examples.start(chunk)
  end
  local failures = {}
  for _, finish in pairs(finishes) do
    finish()
  end
  for _, job in ipairs(jobs) do
    failures[#failures + 1] = job.failure and ("the example of %s %s"):format(
      job.name, job.failure) or nil
  end
  if failures[1] then
    cl.error(("%s of the pages failed:\n%s"):format(text.count(#failures,
      "example"), table.concat(failures, "\n", 1, math.min(5, #failures))))
  end
  book.device = cl.device().name
end

-- Makes the folder and writes the book; the number of its pages.
local function write(book, folder, lax)
  if not os.execute("mkdir -p " .. text.quote(folder)) then
    cl.error("cannot make the folder " .. folder)
  end
  local n = book:write(folder, navigation(), lax)
  file.write(folder .. "/llms.txt", part "sheets".llms(book), "the page")
  return n
end

--- site.build(folder [, opts]) -> number of pages
--- Writes the site into a folder. A broken link or an example that fails
--- raises.
--- Options:
---   examples  true  false: examples without their output
function M.build(folder, opts)
  local book = book_of()
  if not opts or opts.examples ~= false then
    run_all(book)
  end
  return write(book, folder)
end

local function escaped(s)
  return (s:gsub("[^%w/._~:-]", function(c)
    return ("%%%02X"):format(c:byte())
  end))
end

-- The folder of the installed or built site; else of one that is written now.
local function folder_of(book)
  for _, folder in ipairs{cl.home .. "/docs", cl.home .. "/build/docs"} do
    local f <close> = io.open(folder .. "/index.html")
    if f then
      return folder
    end
  end
  local made, reason = file.make_folder "CACHE"
  if not made then
    cl.error("cannot write the pages: " .. reason)
  end
  local folder = file.folder "CACHE" .. "/docs"
  write(book, folder, true)
  return folder
end

--- site.manual(words) -> string
--- clshell --manual html WORD: opens the page of a word in the browser, where
--- there is a display, and returns its address.
function M.manual(words)
  local word, book = table.concat(words, " "), book_of()
  local _, full = require "clshell.shell.help.pages".alone(word, {width = 80})
  local page = word == "" and "index.html" or book:url(word)
    or full and book:url(full)
  local path, id = (page or ""):match "^([^#]*)(.*)$"
  local url = "file://" .. escaped(folder_of(book) .. "/")
    .. (page and escaped(path) .. id or "search.html?q=" .. escaped(word))
  local open = os.getenv "BROWSER" and "$BROWSER" or (os.getenv "DISPLAY"
    or os.getenv "WAYLAND_DISPLAY") and "xdg-open"
  if open then
    os.execute(("%s %s >/dev/null 2>&1 &"):format(open, text.quote(url)))
  end
  return (page and "" or ("no page is called '%s'; the search:\n"):format(
    word)) .. url .. "\n"
end

return M
