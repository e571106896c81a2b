-- cuda/host.lua - the host's part of a CUDA text: the Lua for its calls, and
-- its launches as lines of Lua; the Lua for listings of hosts in any language
-- SPDX-License-Identifier: MIT

local hang = require "clshell.base.text".hang
local split = require "clshell.cuda.cuda_tokens".split
local tokens_of = require "clshell.cuda.cuda_tokens".tokens
local words = require "clshell.cuda.words"

local M = {}

local SIZES = {char = 1, bool = 1, short = 2, int = 4, unsigned = 4, uint = 4,
  float = 4, double = 8, long = 8, float2 = 8, float4 = 16}

-- The text of tokens first to last as Lua: whole numbers divide by //.
local function expression(host, first, last)
  local parts, tokens = {}, host.tokens
  for i = first, last do
    local token, before = tokens[i], tokens[i - 1]
    if i > first and before.last + 1 < token.first then
      parts[#parts + 1] = " "
    end
    parts[#parts + 1] = token.text == "/" and "//" or token.text
  end
  return (table.concat(parts):gsub("sizeof%s*%(%s*(%w+)%s*%)", function(type)
    return SIZES[type] and tostring(SIZES[type])
  end))
end

-- The expressions in the brackets that open at token i.
local function inner(host, i)
  local list = {}
  for n, range in ipairs(split(host.tokens, i + 1,
      (host.tokens[i].other or i) - 1)) do
    list[n] = expression(host, range[1], range[2])
  end
  return list
end

-- The dimensions in a declaration `dim3 name(x, y)` or `dim3 name = ...`; nil
-- without a declaration.
local function declared(host, name)
  local tokens = host.tokens
  for i = 1, #tokens do
    if tokens[i].text == name and (tokens[i - 1].text == "dim3"
        or tokens[i - 1].text == ",") then
      local open = tokens[i + 1].text == "=" and (tokens[i + 2].text == "dim3"
        and i + 3 or i + 2) or i + 1
      if tokens[open].text == "(" or tokens[open].text == "{" then
        return inner(host, open)
      end
    end
  end
end

-- The list of sizes that an argument of <<<>>> stands for.
local function sizes(host, range)
  local tokens, first = host.tokens, range[1]
  if first == range[2] then
    return declared(host, tokens[first].text)
      or {expression(host, first, first)}
  elseif tokens[first].text == "dim3" then
    return inner(host, first + 1)
  end
  return {expression(host, first, range[2])}
end

-- Whether an expression has + or the like outside of brackets.
local function sum(s)
  return s:gsub("%b()", ""):find "[-+<>?|&]" ~= nil
end

local function product(a, b)
  if not a or a == "1" then
    return b or "1"
  elseif not b or b == "1" then
    return a
  end
  local factor = b:gsub("%b()", ""):find "[^%w_.()]" and "(" .. b .. ")" or b
  return (sum(a) and "(" .. a .. ")" or a) .. " * " .. factor
end

local function list(items)
  return ("{%s}"):format(table.concat(items, ", "))
end

-- The extra argument of a kernel that a launch gives.
local function extra(host, hidden, bytes)
  if hidden.space ~= "local" then
    return hidden.rows and ("cl.any(%s)"):format(hidden.name) or hidden.name
  end
  local n = "n"
  if bytes then
    local text = expression(host, bytes[1], bytes[2])
    local size = SIZES[hidden.type]
    n = size and text:match("^(.*%S)%s*%*%s*" .. size .. "$")
      or size and ("%s // %d"):format(sum(text) and "(" .. text .. ")"
        or text, size) or text
  end
  return ('cl.localmem("%s", %s)'):format(hidden.type, n)
end

-- The launch `name<<<...>>>(...)` whose <<< is token i: {name, line, text}.
local function launch(host, i)
  local tokens = host.tokens
  local stop = i
  while stop < #tokens and tokens[stop].text ~= ">>>" do
    stop = stop + 1
  end
  local kernel = host.kernels[tokens[i - 1].text]
  if not kernel or tokens[stop + 1].text ~= "(" then
    return nil
  end
  local args = split(tokens, i + 1, stop - 1)
  if #args < 2 then
    return nil
  end
  local grid, block = sizes(host, args[1]), sizes(host, args[2])
  local global = {}
  for d = 1, math.max(#grid, #block) do
    global[d] = product(grid[d], block[d])
    block[d] = block[d] or "1"
  end
  local values = inner(host, stop + 1)
  for _, hidden in ipairs(kernel.hidden) do
    values[#values + 1] = extra(host, hidden, args[3])
  end
  return {name = kernel.name, first = tokens[i].first,
    text = ("%s:range(%s, %s)(%s)"):format(kernel.new, list(global),
      list(block), table.concat(values, ", "))}
end

--- host.launches(host) -> list of {name, first, text}
--- The launches of a text as Lua, for prog.text. `host`: tokens, and `kernels`
--- by name: {name, new (name here), params, hidden}. A kernel that the text
--- does not launch gets a line with CUDA's words, without `first`.
function M.launches(host)
  local found, seen = {}, {}
  for i = 1, #host.tokens do
    local one = host.tokens[i].text == "<<<" and launch(host, i)
    if one then
      found[#found + 1], seen[one.name] = one, true
    end
  end
  for _, kernel in ipairs(host.kernels) do
    if not seen[kernel.name] then
      local values = {}
      for n, p in ipairs(kernel.params) do
        values[n] = p.name or "?"
      end
      for _, hidden in ipairs(kernel.hidden) do
        values[#values + 1] = extra(host, hidden)
      end
      found[#found + 1] = {name = kernel.name,
        text = ("%s:range({grid * block}, {block})(%s)"):format(kernel.new,
          table.concat(values, ", "))}
    end
  end
  return found
end

--- host.calls(tokens, ranges) -> list of {first, text}
--- The Lua for each of CUDA's words in the ranges {first, last} of tokens that
--- are left out: the first token of a word, and a sentence about it.
function M.calls(tokens, ranges)
  local found, seen = {}, {}
  for _, range in ipairs(ranges) do
    for i = range[1], range[2] do
      local word = tokens[i].text == "<<<" and "<<<>>>" or tokens[i].text
      local entry = words.host(word)
      if entry and entry.kind == "host" and not seen[word] then
        seen[word] = true
        found[#found + 1] = {first = tokens[i].first,
          text = words.advice(word)}
      end
    end
  end
  return found
end

local OWNERS = {pyopencl = "cl", numpy = "np", mem_flags = "mf"}

-- The word of host code at token i, also in two parts ("cl.Buffer", and
-- "mf.READ_ONLY" of any name for flags), and its entry.
local function host_word(tokens, i)
  local word = tokens[i].text
  if tokens[i].kind ~= "name" then
    return word == "<<<" and words.list["<<<>>>"] or nil
  end
  local part = tokens[i + 1].text == "." and tokens[i + 2]
  if part and part.kind == "name" then
    local owner = OWNERS[word] or word
    return words.list[("%s.%s"):format(owner, part.text)] or words.host(word)
      or tokens[i + 3].text == "(" and tokens[i + 4].text == "queue"
      and not words.host(part.text) and words.list["prg.name(queue, ...)"]
  end
  return words.host(word)
end

--- host.listing(text) -> list of {line, word, here}
--- The Lua for each word of host code in a listing of C, CUDA, HIP or Python,
--- line by line, each word once in a line.
function M.listing(text)
  local found, tokens, seen = {}, tokens_of(text), {}
  local line, at = 1, 1
  for i = 1, #tokens do
    local entry = host_word(tokens, i)
    if entry then
      local _, breaks = text:sub(at, tokens[i].first - 1):gsub("\n", "")
      line, at = line + breaks, tokens[i].first
      local key = line .. " " .. entry.word
      found[#found + 1] = not seen[key] and {line = line, word = entry.word,
        here = entry.said} or nil
      seen[key] = true
    end
  end
  return found
end

--- host.page(text, width) -> string or nil
--- The listing as lines of so many columns; nil without such words.
function M.page(text, width)
  local lines = {}
  for i, one in ipairs(M.listing(text)) do
    lines[i] = hang(("%4d  %-24s  "):format(one.line, one.word), one.here,
      width)
  end
  return lines[1] and table.concat(lines, "\n")
end

return M
