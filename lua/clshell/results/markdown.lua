-- results/markdown.lua - records as a table of Markdown
-- SPDX-License-Identifier: MIT

local csv = require "clshell.results.csv"

local M = {}

-- markdown.escape(text) -> string
-- Text that Markdown shows as it stands, in one line.
function M.escape(s)
  return (s:gsub("[|\\`*_<]", "\\%0"):gsub("%s+", " "))
end

-- markdown.text(columns, records [, format]) -> string
-- columns: a list of {title, from, rule}; the title stands as it is, the rule
-- ("---:") aligns. format(value, record) may return the text of a cell.
function M.text(columns, records, format)
  local head, rule, cells = {}, {}, {}
  for i, column in ipairs(columns) do
    head[i], rule[i] = column[1], column[3] or "---"
  end
  local lines = {table.concat(head, " | "), table.concat(rule, " | ")}
  for _, record in ipairs(records) do
    for i, column in ipairs(columns) do
      local value = csv.value(record, column[2])
      cells[i] = format and format(value, record)
        or M.escape(csv.plain(value))
    end
    lines[#lines + 1] = table.concat(cells, " | ")
  end
  return "| " .. table.concat(lines, " |\n| ") .. " |\n"
end

return M
