-- help/page.lua - lays help out for a window: paragraphs, options, examples
-- SPDX-License-Identifier: MIT

local index = require "clshell.help.index"
local report = require "clshell.report.table"
local style = require "clshell.base.style"

local M = {}

local WIDEST = 96 -- longer lines are hard to read

-- Width and colour of a page: {width =, color =}.
function M.view(opts)
  opts = opts or {}
  return {width = math.max(30, math.min(opts.width or 80, WIDEST)),
    color = opts.color or false, height = opts.height}
end

local function length(s)
  return utf8.len(s) or #s
end

--- A text laid out: paragraphs filled, lines that are indented left alone.
function M.prose(text, view, indent)
  local lines, words = {}, {}
  local function flush()
    if #words > 0 then
      for _, line in ipairs(report.wrap(table.concat(words, " "),
          view.width - #indent)) do
        lines[#lines + 1] = indent .. line
      end
      words = {}
    end
  end
  for line in (text .. "\n"):gmatch("(.-)\n") do
    if line:find("^%S") then
      words[#words + 1] = line
    else
      flush()
      if line ~= "" or lines[#lines] ~= "" then
        lines[#lines + 1] = line == "" and "" or indent .. line
      end
    end
  end
  flush()
  return table.concat(lines, "\n")
end

function M.heading(words, view)
  return style.paint(words, "bold", view.color)
end

-- "name" or, where it does not fit, its own line; then text, wrapped beside.
local function beside(head, wide, text, view, paint)
  local fill = (" "):rep(math.max(0, wide - length(head)))
  local rest = math.max(20, view.width - wide - 4)
  local lines = report.wrap(text, rest)
  local out = {"  " .. (paint and style.paint(head, paint, view.color)
    or head)}
  if length(head) <= wide then
    out[1] = ((out[1] .. fill .. "  " .. (lines[1] or "")):gsub("%s+$", ""))
    table.remove(lines, 1)
  end
  for _, line in ipairs(lines) do
    out[#out + 1] = (" "):rep(wide + 4) .. line
  end
  return table.concat(out, "\n")
end

--- Rows of {head, text} in two columns.
function M.rows(rows, view, widest)
  local wide = 0
  for _, row in ipairs(rows) do
    local n = length(row[1])
    if n <= (widest or 24) then
      wide = math.max(wide, n)
    end
  end
  local lines = {}
  for i, row in ipairs(rows) do
    lines[i] = beside(row[1], wide, row[2], view, "cyan")
  end
  return table.concat(lines, "\n")
end

--- Rows of {signature, text}, the text below the signature.
function M.listing(rows, view)
  local lines = {}
  for _, row in ipairs(rows) do
    for i, line in ipairs(report.wrap(row[1], view.width - 2)) do
      lines[#lines + 1] = (i == 1 and "  " or "      ")
        .. style.paint(line, "cyan", view.color)
    end
    for _, line in ipairs(report.wrap(row[2], view.width - 6)) do
      lines[#lines + 1] = "      " .. line
    end
  end
  return table.concat(lines, "\n")
end

--- Options: {name, default, text} each.
function M.options(list, view)
  local rows, narrow = {}, view.width < 60
  local wide = 0
  for _, o in ipairs(list) do
    wide = math.max(wide, length(o.name))
  end
  for i, o in ipairs(list) do
    local default = o.default and ("(%s) "):format(o.default) or ""
    rows[i] = {o.name, default .. o.text}
  end
  return M.rows(rows, view, narrow and 12 or 24)
end

-- Code of an example: comments dim.
function M.code(code, view)
  local lines = {}
  for line in (code .. "\n"):gmatch("(.-)\n") do
    local before, comment = line:match("^(.-)(%-%-.*)$")
    if comment then
      line = before .. style.paint(comment, "dim", view.color)
    end
    lines[#lines + 1] = line == "" and "" or "  " .. line
  end
  return table.concat(lines, "\n")
end

-- The name of the page's function where it begins a line of the text.
local function renamed(s, from, to)
  return from and (s:gsub(from:gsub("%p", "%%%0"), to)) or s
end

--- The page of an entry; `from` and `to` rename it ("family.", "gemm.").
function M.entry(entry, view, from, to)
  local parts = {M.heading(renamed(entry.signature, from, to), view)}
  if entry.text ~= "" then
    parts[#parts + 1] = M.prose(renamed(entry.text, from, to), view, "  ")
  end
  local options = index.options(entry.name)
  if #options > 0 then
    parts[#parts + 1] = M.heading("Options (default)", view) .. "\n"
      .. M.options(options, view)
  end
  local example = index.examples()[entry.name]
  if example then
    parts[#parts + 1] = M.heading("Example", view) .. "\n"
      .. M.code(example, view)
  end
  return table.concat(parts, "\n\n")
end

--- The first sentence of a text, cut to so many columns.
function M.summary(text, columns)
  local line = text:gsub("%s+", " ")
  local sentence = line
  for at in line:gmatch("()[%.;:]%s") do
    local part = line:sub(1, at - 1)
    if select(2, part:gsub("%(", "")) == select(2, part:gsub("%)", "")) then
      sentence = part
      break
    end
  end
  sentence = sentence:gsub("[%.;:]$", "")
  if length(sentence) > columns then
    local cut = utf8.offset(sentence, math.max(1, columns - 2)) or #sentence
    sentence = sentence:sub(1, cut - 1):gsub("%s*%S*$", "") .. " ..."
  end
  return sentence
end

return M
