-- results/page.lua - the frame of every HTML page that clshell writes: its
-- head, its colours, light and dark, and its style sheet, for a report, a
-- trend, a judge's board and the site of `make docs`, each with its own body
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local svg = require "clshell.results.svg"

local M = {}

-- The style sheet of all pages; page.text adds the style sheet of charts.
local CSS = [[
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e;
  --face: #ffffff; --line: #d1d9e0; --band: #f6f8fa; --mark: #0969b5;
  --alarm: #b3261e }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3;
  --soft: #9da7b3; --face: #0d1117; --line: #30363d; --band: #161b22;
  --mark: #58a6ff; --alarm: #ff8a80 } }
body { margin: 2rem auto; max-width: 66rem; padding: 0 1.25rem;
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif;
  color: var(--ink); background: var(--face) }
h1 { font-size: 1.6rem; margin: 0 0 .25rem }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem }
.lead, .soft, caption, figcaption { color: var(--soft) }
.scroll { overflow-x: auto }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
thead th { border-bottom-width: 2px; font-weight: 600; white-space: nowrap }
td.num, th.num { text-align: right; white-space: pre;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .9em }
td.name { white-space: nowrap }
tr { background: var(--face) }
th:first-child, td:first-child { position: sticky; left: 0;
  background: inherit }
td.words, tr.best td.words { color: var(--soft); font-weight: 400;
  font-size: .87em; min-width: 9rem }
tr.best td { font-weight: 700; background: var(--band) }
tr.best td:first-child { box-shadow: inset 3px 0 var(--mark) }
.winner { font-size: 1.05rem; margin: .2rem 0 .6rem }
.winner b { font-size: 1.5rem; color: var(--mark) }
.winner .soft { display: block; font-size: .95rem }
dl { display: grid; grid-template-columns: max-content 1fr;
  gap: .15rem 1.2rem; margin: .5rem 0 }
dt { color: var(--soft) }
dd { margin: 0; overflow-wrap: anywhere }
figure { margin: 1rem 0 1.5rem; overflow-x: auto }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace;
  font-size: .9em; overflow-wrap: anywhere }
.plot { width: 100%; min-width: 560px; max-width: 720px; height: auto;
  display: block }
details { border-top: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer }
@page { margin: 15mm }
@media print { :root { --ink: #000; --soft: #444; --face: #fff;
  --line: #bbb; --band: #eee; --mark: #0969b5; --alarm: #a00;
  color-scheme: light } body { margin: 0; max-width: none; font-size: 10pt }
  figure, tr { break-inside: avoid } h2 { break-after: avoid } }
]]

-- A page may fetch nothing and run nothing.
local POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

-- page.text(title, body [, opts]) -> string
-- A page: its title, which is escaped here, and the HTML of its body, which
-- the caller has escaped (svg.escape). Options: head, more HTML of the head,
-- such as a <style> or a <script> of the caller; policy, the content of the
-- Content-Security-Policy in place of POLICY, for a page with a script.
function M.text(title, body, opts)
  opts = opts or {}
  return ([[
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="clshell %s">
<meta http-equiv="Content-Security-Policy" content="%s">
<link rel="icon" href="data:,">
<title>%s</title>
<style>
%s%s</style>
%s</head>
<body>
%s
</body>
</html>
]]):format(svg.escape(cl.version), opts.policy or POLICY, svg.escape(title),
    CSS, svg.css(), opts.head or "", body)
end

return M
