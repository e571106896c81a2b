-- page.lua - a search as a page: its text, and how a headless Chromium reads
-- it, narrow and wide, light and dark, after clicks on values
-- SPDX-License-Identifier: MIT

local t = require "t"
local browser = require "browser"
local json = require "clshell.base.json"
local page = require "clshell.tune.page"
local spaces = require "clshell.tune.space"

-- The result of a search over all points: tile = 32 is refused.
local function search(params, name)
  local space = spaces.new(params or {tile = {32, 4, 8, 16}, pad = {0, 1},
    order = {"row", "column"}})
  local rows = {}
  for i = 1, #space do
    local p = space:point(i)
    local ms = p.tile ~= 32 and 8 / p.tile + (p.pad or 0) / 4
      + (p.order == "row" and 0 or 1) or nil
    rows[i] = {point = p, config = space:tostring(p), value = ms, ms = ms,
      status = ms and "ok" or "refused", rel = ms and 0.01, n = ms and 7,
      reason = not ms and "32 x 32 work-items <256" or nil}
  end
  table.sort(rows, function(a, b) return a.config < b.config end)
  return {space = space, rows = rows, name = name or "gemm.<tiled>",
    ended = "space", evaluations = #rows, title = "512x512x512 float"}
end

local function count(text, pattern)
  return select(2, text:gsub(pattern, ""))
end

t.test("a page has the effects, a chart for each parameter, every row",
  function()
    local best = search()
    local text = page.text(best)
    for _, words in ipairs{"<title>tune gemm.&lt;tiled&gt;</title>",
        "512x512x512 float", "32 fails", "1.000 ms",
        "refused: 32 x 32 work-items &lt;256"} do
      t.ok(text:find(words, 1, true), words)
    end
    t.eq(count(text, "<svg "), 5)
    t.eq(count(text, "<circle class=\"point"), 3 * 12)
    t.eq(count(text, "<path class=\"way"), 12)
    t.eq(count(text, "<input "), 8)
    local data = json.decode((text:match('id="results">\n(.-)</script>')))
    t.eq(#data.rows, 16)
    t.eq(data.rows[1].params, best.rows[1].point)
  end)

t.test("nothing is fetched and no script runs", function()
  local best = search()
  best.rows[1].reason = "</script><script>alert(1)</script>"
  local text = page.text(best)
  t.ok(text:find("default-src 'none'", 1, true))
  for link in text:gmatch("[%w]+://[^\"'%s<]*") do
    t.eq(link, "http://www.w3.org/2000/svg")
  end
  t.eq(count(text, "<script"), 1)
  t.ok(not text:find("url%(") and not text:find(" on%w+="))
end)

t.test("searches of other kinds: all failed, rungs, many rows", function()
  local best = search{tile = {32}, pad = {0, 1}}
  local text = page.text(best)
  t.eq(count(text, "<svg "), 0)
  t.ok(text:find("refused", 1, true))
  best.rows = {}
  t.raises(function() page.text(best) end, "at least one evaluation")
  best = search()
  best.rows[1].value = -1
  t.ok(not page.text(best):find("<h2>Effects", 1, true), "signs that differ")

  local naive, tiled = search{order = {"row", "column"}, tile = {4}},
    search{tile = {4, 8}}
  for i, part in ipairs{naive, tiled} do
    for _, row in ipairs(part.rows) do
      row.rung = i == 1 and "naive" or "tiled"
      best.rows[#best.rows + 1] = row
    end
  end
  naive.space = spaces.new{order = {"row", "column"}}
  naive.rows[1].point.tile, naive.rows[2].point.tile = nil, nil
  best.spaces = {naive = naive.space, tiled = tiled.space}
  best.rung = "tiled"
  text = page.text(best)
  t.ok(text:find('class="v1_1 v2_1 v3_0', 1, true), "naive row")
  t.ok(text:find("<legend>rung</legend>", 1, true))

  text = page.text(search{x = "1..1000", tile = {8, 16}})
  t.ok(text:find("best 300 of 2000 rows, and 300 spread", 1, true))
  t.eq(count(text, "<path class=\"way"), 600)
  t.eq(count(text, "<input "), 2, "1000 values are not for clicks")
  t.raises(function() page.write(search(), "/nonexistent/x.html") end,
    "cannot write")
  local path = t.tmp("s.html")
  t.eq(page.write(search(), path), path)
end)

-- The page with a script that clicks and tells what became of it.
local function probed(text)
  local bare, n = text:gsub("<meta http%-equiv[^>]*>", "")
  t.eq(n, 1)
  return (bare:gsub("</body>", function()
    return [==[
<pre id="probe"></pre><script>
const all = s => [...document.querySelectorAll(s)];
const shown = s => all(s).filter(
  e => getComputedStyle(e).display != "none").length;
const state = () => [shown(".rows tbody tr"), shown("circle.point"),
  shown("path.way")];
const out = all("main .plot text").filter(e => {
  const v = e.ownerSVGElement.viewBox.baseVal, b = e.getBBox();
  return b.x < 0 || b.x + b.width > v.width || b.y + b.height > v.height;
}).map(e => e.textContent).join("; ");
const result = {out, page: document.documentElement.scrollWidth <= innerWidth,
  face: getComputedStyle(document.body).backgroundColor,
  dot: getComputedStyle(document.querySelector("circle.s1")).fill,
  smallest: Math.min(...all(".small svg").map(e => e.clientWidth)),
  fetched: performance.getEntriesByType("resource").length};
const click = name => all("label.value").find(e =>
  e.closest("fieldset").textContent.startsWith(name[0])
  && e.textContent == name[1]).click();
result.states = [state()];
for (const name of [["tile", "8"], ["tile", "16"], ["pad", "1"]]) {
  click(name);
  result.states.push(state());
}
document.querySelector("button[type=reset]").click();
result.states.push(state());
document.querySelector("#probe").textContent = JSON.stringify(result);
</script></body>]==]
  end))
end

t.test("a browser: clicks leave the rows with the values, nothing overflows",
  function()
    local dots = {}
    for theme, size in pairs{[0] = "400,900", [1] = "1400,900"} do
      local dom, console = browser.browse(probed(page.text(search())),
        ("--window-size=%s --blink-settings=preferredColorScheme=%d"):format(
        size, theme))
      t.eq(console, "")
      local probe = json.decode((dom:match('id="probe">(.-)</pre>')))
      t.eq(probe.states, {{16, 36, 12}, {4, 12, 4}, {8, 24, 8}, {4, 12, 4},
        {16, 36, 12}})
      t.eq({probe.page, probe.out, probe.fetched}, {true, "", 0}, size)
      t.ok(probe.smallest > 200, size)
      t.eq(probe.face, theme == 0 and "rgb(13, 17, 23)"
        or "rgb(255, 255, 255)")
      dots[theme] = probe.dot
    end
    t.ok(dots[0] ~= dots[1])
  end)

t.test("a browser says nothing about the page", function()
  local _, console = browser.browse(page.text(search()))
  t.eq(console, "")
end)

t.done()
