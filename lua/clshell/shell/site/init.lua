-- shell/site/init.lua - the pages for browsers that `make docs` builds, from
-- the help, the table of the API, the kernels and runs of all examples; and
-- the page of a word in a browser
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local file = require "clshell.base.file"
local text = require "clshell.base.text"

local M = {}

local PROCESSES = 3 -- that run examples, beside each other

local function part(name)
  return require("clshell.shell.site." .. name)
end

-- All pages, without the runs of examples.
local function book_of()
  local book = part "book".new()
  book.entries = require "clshell.shell.help.index".entries()
  local entries, kernels = part "entries", part "kernels"
  entries.api(book)
  kernels.files(book)
  kernels.families(book)
  entries.topics(book)
  entries.words(book)
  part "messages".page(book)
  for _, sheet in ipairs{"course", "gallery", "cheat", "front"} do
    part "sheets"[sheet](book)
  end
  for _, one in ipairs(require "clshell.shell.help.pages".everything()) do
    local url = book:url(one.name)
    if url then
      book:find(one.name, url, one.text, one.keys .. " " .. one.signature,
        one.last)
    end
  end
  return book
end

-- Runs all examples; the first failures raise.
local function run_all(book)
  local examples, sheets = require "clshell.shell.help.examples", part "sheets"
  local chunks, failures, finishes = {}, {}, {}
  local function add(i, group)
    chunks[i] = chunks[i] or {}
    for _, job in ipairs(group) do
      job.skip, book.runs[job.code] = group.skip, job
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
  for i, finish in pairs(finishes) do
    finish()
    for _, job in ipairs(chunks[i]) do
      failures[#failures + 1] = job.failure and ("the example of %s %s")
        :format(job.name, job.failure) or nil
    end
  end
  if failures[1] then
    cl.error(("%s of the pages failed:\n%s"):format(text.count(#failures,
      "example"), table.concat(failures, "\n", 1, math.min(5, #failures))))
  end
  book.device = cl.device().name
end

-- Makes a folder for pages; the pages of an older site go.
local function prepare(folder)
  if not os.execute(("mkdir -p %s && cd %s && rm -f api-*.html class-*.html "
      .. "family-*.html kernel-*.html topic-*.html"):format(
      text.quote(folder), text.quote(folder))) then
    cl.error("cannot make the folder " .. folder)
  end
end

local function write(book, folder, lax)
  file.write(folder .. "/llms.txt", part "sheets".llms(book), "the page")
  return book:write(folder, lax)
end

--- site.build(folder [, opts]) -> number of pages
--- Writes the site into a folder. A broken link or an example that fails
--- raises.
--- Options:
---   examples  true  false: examples without their output
function M.build(folder, opts)
  local book = book_of()
  prepare(folder)
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
  prepare(folder)
  write(book, folder, true)
  return folder
end

--- site.manual(words) -> string
--- clshell --manual html WORD: opens the page of a word in the browser, where
--- there is a display, and returns its address; of an unknown word the search.
function M.manual(words)
  local word, book = table.concat(words, " "), book_of()
  local page = word == "" and "index.html" or book:url(word)
  local path, id = (page or ""):match "^([^#]*)(.*)$"
  local url = "file://" .. escaped(folder_of(book) .. "/" .. path)
    .. (page and id or "search.html?q=" .. escaped(word))
  local open = os.getenv "BROWSER" and "$BROWSER" or (os.getenv "DISPLAY"
    or os.getenv "WAYLAND_DISPLAY") and "xdg-open"
  if open then
    os.execute(("%s %s >/dev/null 2>&1 &"):format(open, text.quote(url)))
  end
  return (page and "" or ("no page is called '%s'; the search:\n"):format(
    word)) .. url .. "\n"
end

return M
