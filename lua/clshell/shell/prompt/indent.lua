-- shell/prompt/indent.lua - how deep the lines of a statement begin, as it is
-- typed
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.base.lexer"

local M = {}

local STEP = "  "
local TURNS = {["else"] = true, ["elseif"] = true}

--- indent.at(text, cursor) -> here, below; or nil in a string or comment
--- The blanks at the beginning of the cursor's line, nil where they stay, and
--- the blanks of a line after the cursor. A line that closes a block goes
--- back, if it is one step deeper.
function M.at(text, cursor)
  text = text:sub(1, cursor)
  local tokens, open = lexer.tokens(text), {} -- blanks of each
  local last = tokens[#tokens]
  if last and last.kind == "unfinished" and last.what ~= "string" then
    return nil
  end
  local here, start, ended = nil, 1, 0
  for _, token in ipairs(tokens) do
    local first = false -- of its line
    for after in text:sub(ended + 1, token.first - 1):gmatch "\n()" do
      start, here, first = ended + after, nil, true
    end
    local step, outer = lexer.step(token), open[#open]
    local blanks = text:match("^[ \t]*", start)
    if first and (step == -1 or TURNS[token.text]) and outer
        and blanks == outer .. STEP then
      here = outer
    end
    if step == 1 then
      open[#open + 1] = here or blanks
    elseif step == -1 then
      open[#open] = nil
    end
    ended = token.last
  end
  if text:find("\n", ended + 1, true) then
    here = nil
  end
  return here, open[1] and open[#open] .. STEP or ""
end

return M
