-- html.lua - the report of a run as one page: its text, and how a headless
-- Chromium reads it, light and dark
-- SPDX-License-Identifier: MIT

local t = require "t"
local browse = require "browser".browse
local html = require "clshell.results.html"
local json = require "clshell.base.json"
local plot = require "clshell.plot"
local records = require "records"

local PEAKS = {fma_float = 137e9, copy = 20e9, cache = 90e9}

local function page(list, opts)
  return html.text(list or records.ladder(), opts or {peaks = PEAKS,
    command = "clshell scripts/bench_gemm.lua 1024",
    reading = {"The last rung is bound by compute.", "A < B & C."}})
end

-- The one element that a pattern finds.
local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

t.test("a page has the device, the table, charts and every result", function()
  local text = page()
  t.ok(text:find("<!DOCTYPE html>", 1, true) == 1)
  for _, words in ipairs{"Card &quot;X&quot; &lt;2&gt;", "Some|CL",
      "OpenCL 3.0", "-cl-mad-enable", "00ff", "2026-01-02T03:04:05Z",
      "<title>gemm 1024x1024x1024 float on Card", "gemm.register ★",
      "refused: A has 4194304 bytes", "unconverged", "A &lt; B &amp; C.",
      "GFLOPS", "bench_gemm.lua 1024", "FMA float 137 GFLOPS"} do
    t.ok(text:find(words, 1, true), words)
  end
  t.eq(count(text, "<svg "), 5)
  t.eq(count(text, "<details>"), 5) -- the results, and the refused
  t.eq(count(text, '<tr class="best">'), 1)
end)

t.test("the best and the picture come first, the refused are folded",
  function()
    t.keeps("Device") -- the results are not of it, and get no roofline
    local text = page()
    local last = 0
    for _, part in ipairs{"<h1>", '<b>68.72 GFLOPS</b> gemm.register',
        "16.0 times as fast as gemm.naive", "<svg ", "<table>", "GFLOPS</th>",
        "time ms</th>", "</table>", "<summary>1 refused, and why</summary>",
        "refused: A has 4194304 bytes", "</details>", "<h2>Roofline</h2>",
        "What they say", "Every result", "Device and versions"} do
      local at = text:find(part, last + 1, true)
      t.ok(at, ("%s is not behind the part before it"):format(part))
      last = at or last
    end
    local rows = text:match "<tbody>(.-)</tbody>"
    t.ok(not rows:find("refused", 1, true), rows)
    t.ok(not page(nil, {}):find("<h2>Roofline", 1, true))
  end)

t.test("results of several problems are a part each", function()
  local list = records.ladder()
  for _, r in ipairs(records.ladder()) do
    r.title = r.status == "ok" and "64x64x64 double" or nil
    list[#list + 1] = r
  end
  local text = page(list)
  t.eq(count(text, "<table>"), 2)
  t.eq(count(text, "1 refused, and why"), 2)
  t.ok(text:find("<h2>1024x1024x1024 float</h2>", 1, true))
  t.ok(text:find("<h2>64x64x64 double</h2>", 1, true))
  t.ok(text:find("<h1>gemm on Card &quot;X&quot; &lt;2&gt;</h1>", 1, true))
  local bars = text:match "<svg(.-)</svg>"
  t.ok(bars:find(">register<", 1, true), bars)
  t.ok(not bars:find("…", 1, true), bars)
  local _, points = text:match("<h2>Roofline.-</svg>"):gsub("<g ", "")
  t.eq(points, 2 * 2) -- the best of each, in the chart and in its legend
  list = {}
  for i = 1, 4 do
    list[i] = records.result("tiled", 2^-i, {title = i .. "x1 float"})
  end
  t.eq(count(page(list), "<table>"), 1) -- one result of each: one table
  t.ok(page():find("×4.00", 1, true), "the steps of a ladder")
  t.ok(not page(records.tiles()):find('dx="6">  ×', 1, true),
    "no steps in a sweep")
end)

t.test("the machine, the command line, the doubts and the factors", function()
  local list = records.ladder()
  for _, r in ipairs(list) do
    r.host = {name = "node<7>", os = "An OS, Linux 6.1", cpu = "A CPU",
      cores = 64}
  end
  list[1].verify = "unchecked"
  local text = page(list)
  t.ok(text:find("driver 1.2 · An OS, Linux 6.1 · host node&lt;7&gt; · A CPU "
    .. "· 64 cores · 2026-01-02T03:04:05Z</p>", 1, true), text)
  t.ok(text:find("<code>clshell scripts/bench_gemm.lua 1024</code>", 1, true))
  t.ok(text:find('<td class="words">unchecked</td>', 1, true))
  t.ok(text:find("  unchecked</tspan>", 1, true))
  t.ok(text:find("× naive</th>", 1, true))
  local rows = text:match "<tbody>(.-)</tbody>"
  t.eq({rows:find("> 1.00<", 1, true) ~= nil,
    rows:find(">16.0 <", 1, true) ~= nil}, {true, true})
  t.eq(count(text, '<path class="hatch"'), 1) -- register is unconverged
  t.ok(text:find("hatched: uncertain", 1, true))
  t.ok(html.text(list, {}):find("<code>[^<]*html.lua")) -- of this process
  for _, r in ipairs(list) do
    r.lo, r.hi = nil, nil
  end
  text = page(list)
  t.eq(count(text, '<path class="hatch"'), 3)
  t.ok(text:find("No result is called the best", 1, true))
end)

t.test("every text of a result is escaped", function()
  local foul = "<i class='x'>&\"\0\255"
  local list = records.ladder()
  for i, r in ipairs(list) do
    for key, value in pairs(r) do
      if type(value) == "string" and key ~= "status" then
        r[key] = foul .. (key == "name" and i or "")
      end
    end
    r.flags, r.status = {foul}, r.status == "ok" and "ok" or foul
    r.host = {name = foul, os = foul, cpu = foul}
    r.device = {name = foul, driver = foul, platform = foul, version = foul}
  end
  local text = page(list, {command = foul, title = foul, reading = foul})
  t.ok(not text:find("<i ", 1, true) and not text:find("[%z\255]"))
  t.eq(html.text(list, {}):find("<i ", 1, true), nil)
end)

t.test("nothing is fetched from anywhere", function()
  local text = page()
  t.ok(text:find("default-src 'none'", 1, true))
  for link in text:gmatch("[%w]+://[^\"'%s<]*") do
    t.eq(link, "http://www.w3.org/2000/svg")
  end
  t.ok(not text:find("url%(") and not text:find("@import")
    and not text:find(" src="))
end)

t.test("the results are in it as JSON", function()
  local list = records.ladder()
  list[1].name = "</script><script>alert(1)</script>"
  local text = page(list)
  local data = text:match('id="results">\n(.-)</script>')
  t.eq(json.decode(data).results[1].name, list[1].name)
  t.eq(#json.decode(data).results, 4)
  t.eq(count(text, "<script"), 1)
end)

t.test("one result, no time, charts of one's own", function()
  local text = page(records.result("naive", 0.5), {title = "One"})
  t.ok(text:find("<h1>One</h1>", 1, true))
  t.eq(count(text, "<svg "), 1)
  text = page({records.ladder()[3]}, {})
  t.ok(text:find("refused", 1, true) and not text:find("nan"))
  text = page(records.tiles(), {charts = {
    plot.line(records.tiles(), {x = "tile", by = "pad"})}})
  t.ok(text:find("pad=1", 1, true))
  t.raises(function() html.text({}) end, "at least one")
  t.raises(function() html.text(5) end, "number")
  t.raises(function() html.text(records.tiles(), {titel = "x"}) end,
    "did you mean 'title'")
  t.raises(function() html(records.tiles(), "/nonexistent/x.html") end,
    "cannot write", "/nonexistent")
  local path = t.tmp("r.html")
  t.eq(html(records.tiles(), path), path)
end)

-- The page with a script that tells what the browser made of it.
local function probed(text)
  local bare, n = text:gsub("<meta http%-equiv[^>]*>", "")
  t.eq(n, 1)
  return (bare:gsub("</body>", function() return [[
<pre id="probe"></pre><script>
const css = e => getComputedStyle(e), one = s => document.querySelector(s),
  all = s => [...document.querySelectorAll(s)];
const box = s => one(s).getBoundingClientRect();
const out = all("main > figure text").filter(e => {
  const v = e.ownerSVGElement.viewBox.baseVal, b = e.getBBox();
  return !e.transform.baseVal.numberOfItems
    && (b.x < 0 || b.x + b.width > v.width || b.y + b.height > v.height);
}).map(e => e.textContent).join("; ");
one("#probe").textContent = JSON.stringify({
  face: css(document.body).backgroundColor, ink: css(document.body).color,
  text: css(one(".plot text")).fill, bar: css(one(".plot .s1")).fill,
  scrolls: all(".scroll").some(e => e.scrollWidth > e.clientWidth),
  rows: all("tbody tr").length, plots: all("svg").length,
  wide: box("svg").width, high: box("svg").height, out,
  inner: innerWidth, page: document.documentElement.scrollWidth <= innerWidth,
  results: JSON.parse(one("#results").textContent).results.length,
  fetched: performance.getEntriesByType("resource").length,
});
</script></body>]] end))
end

t.test("a browser shows it without a word on the console", function()
  local dom, console = browse(page())
  t.eq(console, "")
  t.ok(dom:find("gemm.register ★", 1, true))
  t.eq(count(dom, "<table>"), 1)
  t.eq(count(dom, "<svg "), 5)
  local _, complaint = browse((page():gsub("</body>",
    '<img src="http://localhost:9/x.png"></body>')))
  t.ok(complaint:find("Content Security Policy"), "a fetch goes unnoticed")
end)

t.test("light and dark are told apart, and nothing overflows", function()
  local seen = {}
  for theme = 0, 1 do -- dark, light
    local dom, console = browse(probed(page()),
      "--window-size=700,900 --blink-settings=preferredColorScheme="
      .. theme)
    t.eq(console, "")
    local probe = json.decode((dom:match('id="probe">(.-)</pre>')))
    t.eq({probe.rows, probe.plots, probe.results, probe.fetched},
      {3, 5, 4, 0})
    t.ok(probe.wide > 300 and probe.high > 100)
    t.eq(probe.page, true, "the page is wider than its window")
    t.eq(probe.out, "", "text leaves its chart")
    seen[theme] = probe
  end
  t.eq({seen[0].face, seen[1].face}, {"rgb(13, 17, 23)",
    "rgb(255, 255, 255)"})
  for _, part in ipairs{"ink", "text", "bar"} do
    t.ok(seen[0][part] ~= seen[1][part], part)
  end
  for theme = 0, 1 do
    local dom, console = browse(probed(page()),
      "--window-size=400,900 --blink-settings=preferredColorScheme=" .. theme)
    t.eq(console, "")
    local probe = json.decode((dom:match('id="probe">(.-)</pre>')))
    t.eq({probe.page, probe.inner <= 500}, {true, true})
  end
  local list = records.ladder()
  list[4].config = "bm=128 bn=128 bk=16 rm=8 rn=8 vector=64 ahead=32"
  list[4].note = "the kernel alone 0.2945 ms"
  local dom = browse(probed(page(list)), "--window-size=1400,900")
  local probe = json.decode((dom:match('id="probe">(.-)</pre>')))
  t.eq(probe.scrolls, false, "a table scrolls in a wide window")
end)

t.done()
