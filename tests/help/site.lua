-- site.lua - the pages for browsers: built without the runs of examples, their
-- links, their search and their width in a browser, and --manual html
-- SPDX-License-Identifier: MIT

local t = require "t"
local quote = require("clshell.base.text").quote
local scratch = require "scratch"
local site = require "clshell.shell.site"

t.keeps("Device")

local dir, capture = scratch.dir, t.capture
local out = dir .. "/site"

local function read(name)
  return t.read(out .. "/" .. name)
end

local function has(name, words)
  t.ok(read(name):find(words, 1, true), name .. " lacks " .. words)
end

t.test("the pages, with every link checked", function()
  local n = site.build(out, {examples = false})
  t.ok(n > 250, n)
  has("index.html", 'href="family-gemm.html"')
  has("class-Buffer.html", 'id="Buffer:read"')
  has("family-gemm.html", 'href="kernel-gemm-tiled.html#gemm.tiled"')
  has("kernel-gemm-tiled.html", "side of the square tile")
  has("topic-barrier.html", 'href="kernel-gemm-tiled.html#gemm.tiled"')
  has("notes.html", 'id="nv-ffma-float-by-multiply-adds"')
  has("course.html", 'course "A2"')
  has("errors.html", "csr.load")
  has("errors-opencl.html", "CL_OUT_OF_RESOURCES (-5)")
  has("glossary.html", "bank conflict")
  has("commands.html", "%time")
  has("llms.txt", "gemm(A, B [, opts]) -> C, event")
  for name in io.popen("ls " .. quote(out)):lines() do
    t.ok(not read(name):find("table: 0x", 1, true), name)
  end
end)

t.test("a broken link raises", function()
  local book = require "clshell.shell.site.book".new()
  book:page("index", "a", function()
    return '<p id="x"><a href="#x">a</a><a href="no.html">b</a>'
      .. '<a href="index.html#y">c</a><a href="search.html">d</a>'
  end)
  local ok, e = pcall(book.write, book, dir)
  t.ok(not ok and tostring(e):find "broken links on the pages:\n", e)
  for _, link in ipairs{"index.html#y", "no.html", "api.html"} do
    t.ok(tostring(e):find("\nindex.html: " .. link, 1, true), link)
  end
  t.ok(not tostring(e):find "index.html: #x", tostring(e))
end)

t.test("texts as HTML", function()
  local markup = require "clshell.shell.site.markup"
  local book = {url = function(_, name)
    return name == "cl.buffer" and "b.html" or nil
  end}
  local function is(s, want)
    t.eq(markup.text(s, book), want)
  end
  is("a < b\nc", "<p>a &lt; b\nc</p>")
  is("See cl.buffer. **Two** `x < y` ?no",
    '<p>See <a href="b.html">cl.buffer</a>. <b>Two</b> <code>x &lt; y</code> '
    .. "?no</p>")
  is("a:\n  if x\n\n    y\nend", "<p>a:</p>\n<pre>if x\n\n  y</pre>\n"
    .. "<p>end</p>")
  is("- one\n  more\n- two\n\n## A b", "<ul><li>one\nmore<li>two</ul>\n"
    .. '<h2 id="a-b">A b</h2>')
  is("| a | b |\n|---|---|\n| 1 | 2 |", "<div class=scroll><table>\n<tr><th>a"
    .. "<th>b\n<tr><td>1<td>2</table></div>")
end)

t.test("--manual html", function()
  local home = dir .. "/home of mine"
  local function manual(words, environment)
    return capture(("env -u DISPLAY -u WAYLAND_DISPLAY -u BROWSER HOME=%s "
      .. "XDG_CACHE_HOME= CLSHELL_HOME=%s %s %s/clshell --manual html %s")
      :format(quote(home), quote(dir .. "/tree"), environment or "", t.build,
      words))
  end
  -- a tree without the pages that make docs builds
  capture(("mkdir -p %s/tree/build %s && cd %s/tree && for f in lua kernels "
    .. "scripts src; do ln -s %s/$f $f; done; ln -s %s/build/api.lua build/")
    :format(quote(dir), quote(home), quote(dir), quote(t.here), quote(t.here)))
  local pages = "file://" .. dir .. "/home%20of%20mine/.cache/clshell/docs/"
  t.eq(manual "gemm", pages .. "family-gemm.html#gemm\n")
  t.ok(io.open(home .. "/.cache/clshell/docs/family-gemm.html")):close()
  t.eq(manual "bank conflict", pages .. "topic-bank_conflict.html\n")
  t.eq(manual("Buffer:read", "OCL_ICD_VENDORS=/nonexistent"),
    pages .. "class-Buffer.html#Buffer:read\n")
  t.eq(manual("'no such; word'"), "no page is called 'no such; word'; the "
    .. "search:\n" .. pages .. "search.html?q=no%20such%3B%20word\n")
  local opener = scratch.create("opener", "#!/bin/sh\necho \"$1\" >"
    .. quote(dir .. "/opened"))
  capture("chmod +x " .. opener)
  manual("", "BROWSER=" .. opener)
  t.eq(capture(("for i in $(seq 100); do [ -s %s/opened ] && break; sleep "
    .. "0.1; done; cat %s/opened"):format(dir, dir)), pages .. "index.html\n")
end)

-- What Chromium makes of a page.
local function browse(address, options)
  local found = "command -v chromium chromium-browser google-chrome"
  local browser = capture(found):match "^[^\n]+"
  t.skip_if(not browser, "there is no Chromium")
  return capture(("HOME=%s XDG_CONFIG_HOME=%s timeout 120 %s --headless "
    .. "--no-sandbox --disable-gpu --allow-file-access-from-files "
    .. "--virtual-time-budget=20000 %s %s 2>/dev/null"):format(quote(dir),
    quote(dir), browser, options or "--dump-dom", quote("file://" .. out
    .. "/" .. address)))
end

t.test("the search, in a browser", function()
  local function finds(words, first)
    local dom = browse("search.html?q=" .. words)
    t.ok(dom:find('id="found"><li><a href="' .. first, 1, true), words .. ": "
      .. (dom:match 'id="found">.?.?.?.?.?.?.?.?[^\n]*' or dom):sub(1, 300))
  end
  finds("bank+conflict", "topic-bank_conflict.html")
  finds("gemm.tiled", "kernel-gemm-tiled.html#gemm.tiled")
  finds("access:+the+simulator+took+more+than+30+s", "errors.html#m")
  t.ok(browse "search.html?q=zzzz":find("Nothing about 'zzzz'", 1, true))
end)

t.test("no page is wider than a phone; the cheat sheet is one page", function()
  local list = {"index", "api", "class-Buffer", "family-gemm", "notes",
    "errors", "kernel-gemm-tiled", "kernel-gemm-nv_wgmma", "topic-cuda",
    "cheat-sheet", "course", "glossary",
    "search", "commands", "foreign", "api-script"}
  local f <close> = assert(io.open(out .. "/widths.html", "w"))
  f:write(([[<pre id=log></pre><iframe width=400 height=800></iframe><script>
const list = "%s".split(" "), frame = document.querySelector("iframe");
frame.onload = () => { const width = frame.contentDocument &&
  frame.contentDocument.documentElement.scrollWidth;
  log.textContent += list.shift() + (width > 0 && width <= 400 ? " fits;"
  : " is " + width + " wide;"); next(); };
const next = () => { if (list[0]) frame.src = list[0] + ".html"; };
next();</script>]]):format(table.concat(list, " ")))
  f:close()
  local log = browse "widths.html":match '<pre id="log">([^<]*)'
  t.eq(log, table.concat(list, " fits;") .. " fits;")
  browse("cheat-sheet.html", "--print-to-pdf=" .. quote(dir .. "/sheet.pdf"))
  local pdf <close> = assert(io.open(dir .. "/sheet.pdf", "rb"))
  t.eq(pdf:read "a":match "/Count (%d+)", "1")
end)

scratch.done()
