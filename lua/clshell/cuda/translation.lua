-- cuda/translation.lua - one translation: tokens, edits of the text, problems
-- SPDX-License-Identifier: MIT

local edits = require "clshell.cuda.edits"
local lexer = require "clshell.cuda.cuda_tokens"

local Translation = {}
Translation.__index = Translation

function Translation:problem(token, text, ...)
  local list = self.problems
  list[#list + 1] = {first = token.first, text = text:format(...)}
end

-- Puts a text for tokens i to j; "" takes them out.
function Translation:put(i, new, j)
  self.out:replace(self.tokens[i].first, self.tokens[j or i].last, new)
end

function Translation:insert(i, new)
  self.out:replace(self.tokens[i].first, self.tokens[i].first - 1, new)
end

function Translation:append(i, new)
  self.out:replace(self.tokens[i].last + 1, self.tokens[i].last, new)
end

function Translation:text_of(i, j)
  return self.source:sub(self.tokens[i].first, self.tokens[j].last)
end

-- Takes tokens i to j out, as a range of `left`.
function Translation:leave_out(i, j)
  self:put(i, "", j)
  self.left[#self.left + 1] = {i, j}
end

local M = {}

--- translation.new(source, opts) -> Translation
--- A new translation; opts as for translate.run. Fields: tokens, out (the
--- edits), functions (list, and by name), globals, hidden (arguments that
--- kernels get), and the words of the text that need more: constants,
--- extensions, helpers, wide.
function M.new(source, opts)
  return setmetatable({source = source, problems = {}, left = {},
    tokens = lexer.tokens(source), out = edits.new(source), globals = {},
    functions = {list = {}}, hidden = {}, helpers = {}, named = {},
    constants = {}, extensions = {}, has = opts.has or function() end,
    generic = (opts.options or ""):find "-cl%-std=CL[23]"}, Translation)
end

return M
