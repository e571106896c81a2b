-- site/markup.lua - the texts of help, of comments and of kernels/NOTES.md as
-- HTML: paragraphs, lists, tables, headings, indented code; names as links
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"
local svg = require "clshell.results.svg"
local text = require "clshell.base.text"

local M = {escape = svg.escape}

local escape = svg.escape

-- Prose: names that have a page, **bold**, [words](address).
local function words(s, book)
  s = escape(s):gsub("%*%*(.-)%*%*", "<b>%1</b>")
    :gsub("%[([^%]]-)%]%((%a+:[^)]-)%)", '<a href="%2">%1</a>')
  return (s:gsub("(%??)(%%?[%a_][%w_]*)([.:]?)([%w_]*)", function(mark, a, dot,
      b)
    local name = b ~= "" and a .. dot .. b or a
    local url = (mark ~= "" or b ~= "" or a:find "^%%") and book:url(name)
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

local function slug(s)
  return (s:lower():gsub("[^%w]+", "-"):gsub("^%-", ""):gsub("%-$", ""))
end

M.slug = slug

-- A row of a table; cells[i] is "th" or "td".
local function row(line, cell, book)
  local out = {}
  for s in line:gsub("^|", ""):gmatch "([^|]*)|" do
    out[#out + 1] = ("<%s>%s</%s>"):format(cell,
      M.inline(s:match "^%s*(.-)%s*$", book), cell)
  end
  return "<tr>" .. table.concat(out) .. "</tr>\n"
end

-- The HTML of a block of lines, by its kind.
local BLOCK = {}

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
  for i, line in ipairs(lines) do
    lines[i] = line:gsub("^%- ", "\0"):gsub("^%s+", " ")
  end
  local out = {}
  for item in table.concat(lines, "\n"):gmatch "%z([^%z]*)" do
    out[#out + 1] = "<li>" .. M.inline(item, book)
  end
  return "<ul>" .. table.concat(out) .. "</ul>"
end

function BLOCK.table(lines, book)
  local out = {"<div class=scroll><table>\n"}
  for i, line in ipairs(lines) do
    local ruled = (lines[2] or ""):find "^|[%s:|-]+$"
    out[#out + 1] = not (ruled and i == 2)
      and row(line, ruled and i == 1 and "th" or "td", book) or nil
  end
  return table.concat(out) .. "</table></div>"
end

function BLOCK.heading(lines)
  local out = {}
  for i, line in ipairs(lines) do
    local marks, title = line:match "^(#+) (.*)$"
    local n = math.max(2, #marks)
    out[i] = ("<h%d id=\"%s\">%s</h%d>"):format(n, slug(title), escape(title),
      n)
  end
  return table.concat(out, "\n")
end

local function kind_of(line, last)
  return line:find "^#+ " and "heading" or line:find "^|" and "table"
    or line:find "^%- " and "list"
    or line:find "^%s" and (last == "list" and "list" or "code") or "prose"
end

--- markup.text(s, book) -> HTML
--- The blocks of a text. book:url(name) gives the address of a name.
function M.text(s, book)
  local out, block, kind = {}, {}, nil
  local function flush(next_kind)
    if kind and kind ~= "blank" then
      out[#out + 1] = BLOCK[kind](block, book)
    end
    block, kind = {}, next_kind
  end
  for _, line in ipairs(text.lines(s)) do
    if line ~= "" then
      local its = kind_of(line, kind)
      if its ~= kind then
        flush(its)
      end
      block[#block + 1] = line
    elseif kind == "code" then
      block[#block + 1] = line
    else
      flush "blank"
    end
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
    local class, piece = CLASSES[token.kind], escape(token.text)
    out[#out + 1] = escape(code:sub(done + 1, token.first - 1))
    out[#out + 1] = class and ("<i class=%s>%s</i>"):format(class, piece)
      or piece
    done = token.last
  end
  return "<pre>" .. table.concat(out) .. escape(code:sub(done + 1)) .. "</pre>"
end

--- markup.c(source) -> HTML
--- OpenCL C, with its comments and directives in their colours.
function M.c(source)
  local s = escape(source):gsub("/%*.-%*/", "<i class=c>%0</i>")
    :gsub("%f[^\n\0]#%s*%l+", "<i class=k>%0</i>")
  return "<pre>" .. s .. "</pre>"
end

return M
