-- shell/help/page_layout.lua - lays help out for a window: paragraphs,
-- options, examples
-- SPDX-License-Identifier: MIT

local index = require "clshell.shell.help.index"
local style = require "clshell.base.style"
local text = require "clshell.base.text"

local M = {}

local WIDEST = 96 -- longer lines are hard to read

--- page_layout.view([opts]) -> {width =, color =, height =}
function M.view(opts)
  opts = opts or {}
  return {width = math.max(30, math.min(opts.width or 80, WIDEST)),
    color = opts.color or false, height = opts.height}
end

--- page_layout.prose(s, view, indent) -> string
--- A text with its paragraphs filled; indented lines stay as they are.
function M.prose(s, view, indent)
  local lines, words = {}, {}
  local function flush()
    for _, line in ipairs(words[1] and text.wrap(table.concat(words, " "),
        view.width - #indent) or {}) do
      lines[#lines + 1] = indent .. line
    end
    words = {}
  end
  for _, line in ipairs(text.lines(s)) do
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

--- page_layout.heading(words, view [, body]) -> string
--- A heading, with the body below it.
function M.heading(words, view, body)
  return style.paint(words, "bold", view.color) .. (body and "\n" .. body
    or "")
end

--- page_layout.page(heading, s, view) -> string
--- The page of a heading and a paragraph.
function M.page(heading, s, view)
  return M.heading(heading, view) .. "\n\n" .. M.prose(s, view, "  ")
end

--- page_layout.sections(lead, list, view) -> string or nil
--- The page of a text, or nil, and of sections {title, body}; a section
--- without a body is left out.
function M.sections(lead, list, view)
  local parts = {lead}
  for _, section in ipairs(list) do
    local title, body = section[1], section[2] or ""
    parts[#parts + 1] = body ~= "" and M.heading(title, view, body) or nil
  end
  return parts[1] and table.concat(parts, "\n\n")
end

--- page_layout.rows(rows, view [, widest]) -> string
--- Rows of {head, text} in two columns; a head wider than `widest` has a line
--- of its own.
function M.rows(rows, view, widest)
  local wide = 0
  for _, row in ipairs(rows) do
    local n = text.width(row[1])
    wide = n <= (widest or 24) and math.max(wide, n) or wide
  end
  local out = {}
  for _, row in ipairs(rows) do
    local head = "  " .. style.paint(row[1], "cyan", view.color)
    local fill = wide - text.width(row[1])
    if fill < 0 then
      out[#out + 1], head = head, nil
    end
    local lines = text.wrap(row[2], math.max(20, view.width - wide - 4))
    for i = 1, head and math.max(1, #lines) or #lines do
      local left = i == 1 and head and head .. (" "):rep(fill + 2)
        or (" "):rep(wide + 4)
      out[#out + 1] = (left .. (lines[i] or "")):gsub("%s+$", "")
    end
  end
  return table.concat(out, "\n")
end

--- page_layout.listing(rows, view) -> string
--- Rows of {signature, text}, the text below the signature.
function M.listing(rows, view)
  local lines = {}
  for _, row in ipairs(rows) do
    for i, line in ipairs(text.wrap(row[1], view.width - 2)) do
      lines[#lines + 1] = (i == 1 and "  " or "      ")
        .. style.paint(line, "cyan", view.color)
    end
    for _, line in ipairs(text.wrap(row[2], view.width - 6)) do
      lines[#lines + 1] = "      " .. line
    end
  end
  return table.concat(lines, "\n")
end

--- page_layout.code(code, view) -> string
--- The code of an example: comments dim.
function M.code(code, view)
  local lines = text.lines(code)
  for i, line in ipairs(lines) do
    line = line:gsub("%-%-.*$", function(comment)
      return style.paint(comment, "dim", view.color)
    end)
    lines[i] = line == "" and "" or "  " .. line
  end
  return table.concat(lines, "\n")
end

-- The options as sections, one for each form of the call: "of a launch".
local function options(list, view)
  local forms = {}
  for _, option in ipairs(list) do
    local form = option.form and " " .. option.form or ""
    if not forms[form] then
      forms[form] = {}
      forms[#forms + 1] = {("Options%s (default)"):format(form), forms[form]}
    end
    table.insert(forms[form], {option.name, (option.default
      and "(" .. option.default .. ") " or "") .. option.text})
  end
  for _, section in ipairs(forms) do
    section[2] = M.rows(section[2], view, view.width < 60 and 12 or 24)
  end
  return forms
end

--- page_layout.entry(entry, view [, from, to [, example [, section]]])
---   -> string
--- The page of an entry; `from` and `to` rename it ("family.", "gemm.").
--- `example` replaces the entry's own, and `section` comes in front of it.
function M.entry(entry, view, from, to, example, section)
  local function renamed(s)
    return from and s:gsub(from:gsub("%p", "%%%0"), to) or s
  end
  local list = options(index.options(entry.name), view)
  list[#list + 1] = section
  example = example or entry.example
  list[#list + 1] = example and {from and not example:find(to, 1, true)
    and "Example, of another family" or "Example", M.code(example, view)}
  return M.sections(M.heading(renamed(entry.signature), view)
    .. (entry.text ~= "" and "\n\n"
      .. M.prose(renamed(entry.text), view, "  ") or ""), list, view)
end

--- page_layout.summary(s, columns) -> string
--- The first sentence of a text, cut to so many columns.
function M.summary(s, columns)
  local line = s:gsub("%s+", " ")
  local sentence = line
  for at in line:gmatch("()[%.;:]%s") do
    local part = line:sub(1, at - 1)
    if #part:gsub("[^(]", "") == #part:gsub("[^)]", "") then
      sentence = part
      break
    end
  end
  sentence = sentence:gsub("[%.;:]$", "")
  if text.width(sentence) > columns then
    sentence = text.cut(sentence, columns - 3):gsub("%s*%S*$", "") .. " ..."
  end
  return sentence
end

return M
