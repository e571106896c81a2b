-- site/markup.lua - the texts of help, of comments and of kernels/NOTES.md as
-- HTML: paragraphs, lists, tables, headings, indented code; names as links
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"
local svg = require "clshell.results.svg"
local text = require "clshell.base.text"

local escape = svg.escape

local M = {escape = escape}

-- Prose: names that have a page, **bold**, [words](address).
local function words(s, book)
  s = escape(s):gsub("%*%*(.-)%*%*", "<b>%1</b>")
    :gsub("%[([^%]]-)%]%((%a+:[^)]-)%)", '<a href="%2">%1</a>')
  return (s:gsub("(%??)(%%?[%a_][%w_]*)([.:]?)([%w_]*)", function(mark, a, dot,
      b)
    local name = b ~= "" and a .. dot .. b or a
    local url = (mark .. b ~= "" or a:find "^%%") and book:url(name)
    return url and ('<a href="%s">%s</a>%s'):format(url, mark .. name,
      b == "" and dot or "") or nil
  end))
end

--- markup.inline(s, book) -> HTML
--- A line of prose; `code` between backticks is a link where it names a page.
function M.inline(s, book)
  local parts, code = {}, false
  for part in (s .. "`"):gmatch "([^`]*)`" do
    local url = code and book:url(part)
    local shown = code and "<code>" .. escape(part) .. "</code>"
    parts[#parts + 1] = url and ('<a href="%s">%s</a>'):format(url, shown)
      or shown or words(part, book)
    code = not code
  end
  return table.concat(parts)
end

function M.slug(s)
  return (s:lower():gsub("[^%w]+", "-"):gsub("^%-", ""):gsub("%-$", ""))
end

--- markup.terms(list) -> HTML
--- A list of {term, text [, id]}, in HTML.
function M.terms(list)
  local out = {}
  for i, item in ipairs(list) do
    out[i] = ("<dt%s>%s<dd>%s"):format(item[3] and (' id="%s"'):format(
      escape(item[3])) or "", item[1], item[2])
  end
  return out[1] and "<dl class=opts>" .. table.concat(out, "\n") .. "</dl>"
    or ""
end

--- markup.table(rows, book) -> HTML
--- A table of lists of cells in prose; the first row is the head.
function M.table(rows, book)
  local out = {}
  for i, row in ipairs(rows) do
    local cells = {}
    for j, cell in ipairs(row) do
      cells[j] = (i == 1 and "<th>" or "<td>") .. M.inline(cell, book)
    end
    out[i] = "<tr>" .. table.concat(cells)
  end
  return "<div class=scroll><table>\n" .. table.concat(out, "\n")
    .. "</table></div>"
end

local BLOCK = {} -- the HTML of a block of lines, by its kind

function BLOCK.prose(lines, book)
  return "<p>" .. M.inline(table.concat(lines, "\n"), book) .. "</p>"
end

function BLOCK.code(lines)
  local least = math.huge
  for _, line in ipairs(lines) do
    least = line ~= "" and math.min(least, #line:match "^ *") or least
  end
  for i, line in ipairs(lines) do
    lines[i] = line:sub(least + 1)
  end
  return "<pre>" .. escape((table.concat(lines, "\n"):gsub("%s+$", "")))
    .. "</pre>"
end

function BLOCK.list(lines, book)
  local out = {}
  for item in ("\n" .. table.concat(lines, "\n")):gsub("\n%- ", "\0")
      :gmatch "%z([^%z]*)" do
    out[#out + 1] = "<li>" .. M.inline(item:gsub("\n +", "\n"), book)
  end
  return "<ul>" .. table.concat(out) .. "</ul>"
end

function BLOCK.table(lines, book)
  local rows = {}
  for i, line in ipairs(lines) do
    local row = {}
    for cell in line:sub(2):gmatch "%s*([^|]-)%s*|" do
      row[#row + 1] = cell
    end
    rows[#rows + 1] = i ~= 2 and row or nil -- the second is a rule
  end
  return M.table(rows, book)
end

function BLOCK.heading(lines)
  for i, line in ipairs(lines) do
    local marks, title = line:match "^(#+) (.*)$"
    lines[i] = ('<h%d id="%s">%s</h%d>'):format(#marks, M.slug(title),
      escape(title), #marks)
  end
  return table.concat(lines, "\n")
end

--- markup.text(s, book) -> HTML
--- The blocks of a text. book:url(name) gives the address of a name.
function M.text(s, book)
  local out, block, kind = {}, {}, nil
  local function flush(next_kind)
    out[#out + 1] = kind and BLOCK[kind](block, book)
    block, kind = {}, next_kind
  end
  for _, line in ipairs(text.lines(s)) do
    local its = line:find "^#+ " and "heading" or line:find "^|" and "table"
      or line:find "^%- " and "list" or line:find "^%S" and "prose"
      or kind == "list" and line ~= "" and "list"
      or (line ~= "" or kind == "code") and "code" or nil
    if its ~= kind then
      flush(its)
    end
    block[#block + 1] = line
  end
  flush()
  return table.concat(out, "\n")
end

local CLASSES = {keyword = "k", string = "s", comment = "c", number = "n"}

--- markup.lua(code) -> HTML
--- Lua, with its colours.
function M.lua(code)
  local out, done = {}, 0
  for _, token in ipairs(lexer.tokens(code)) do
    out[#out + 1] = ("%s<i class=%s>%s</i>"):format(escape(code:sub(done + 1,
      token.first - 1)), CLASSES[token.kind] or "o", escape(token.text))
    done = token.last
  end
  return "<pre>" .. table.concat(out):gsub("<i class=o>(.-)</i>", "%1")
    .. escape(code:sub(done + 1)) .. "</pre>"
end

--- markup.c(source) -> HTML
--- OpenCL C, with its comments and directives in their colours.
function M.c(source)
  return "<pre>" .. escape(source):gsub("/%*.-%*/", "<i class=c>%0</i>")
    :gsub("%f[^\n\0]#%s*%l+", "<i class=k>%0</i>") .. "</pre>"
end

return M
