-- cuda/spaces.lua - the address space of each pointer of a CUDA text. CUDA's
-- pointers may point anywhere; here the type tells the space. A kernel's
-- pointers are global; any other pointer has the space of its values: the
-- values that it is set to, and the arguments of calls of its function.
-- SPDX-License-Identifier: MIT

local lexer = require "clshell.cuda.cuda_tokens"
local set = require("clshell.base.text").set

local M = {}

local behind, split = lexer.behind, lexer.split

local NO_TYPE = set "return else case goto sizeof do"
local SKIPPED = set "const volatile __restrict__ __restrict restrict"
local BEGINS = set "{ } ;"
local ENDS = set ", ; ) ] }"
local VALUES = set "= , ( return"
local DECLARES = set "= ; , [ ( :"

local function skip(tokens, i)
  while tokens[i].text == "*" or SKIPPED[tokens[i].text] do
    i = i + 1
  end
  return i
end

--- spaces.expression_end(tokens, i, last) -> place
--- The last token of an expression that begins at token i.
function M.expression_end(tokens, i, last)
  while i <= last and not ENDS[tokens[i].text] do
    i = behind(tokens, i)
  end
  return i - 1
end

local expression_end = M.expression_end

-- A new symbol: {space =, sites = {token}, sources = {{first, last}}, type}.
local function symbol(fn, name, fields)
  local s = fn.symbols[name]
  if not s then
    s = {name = name, fn = fn, sites = {}, sources = {}, spaces = {}}
    fn.symbols[name] = s
  end
  for key, value in pairs(fields) do
    s[key] = value
  end
  return s
end

-- The declarators from token i on, whose type begins at token `site`.
local function declarators(tokens, fn, site, i, last, type)
  local shared = type:find "%f[%w_]__shared__%f[^%w_]" ~= nil
  while i <= last do
    local at = skip(tokens, i)
    local name = tokens[at]
    if name.kind ~= "name" then
      return
    end
    local next_text = tokens[at + 1].text
    local pointer = at > i and tokens[i].text == "*"
    local s = symbol(fn, name.text, {pointer = pointer or next_text == "[",
      star = pointer, type = type})
    if shared or not pointer then
      s.fixed = true
      s.spaces[shared and "local" or ""] = true
    else
      s.sites[#s.sites + 1] = site
    end
    i = at + 1
    while tokens[i].text == "[" do
      i = behind(tokens, i)
    end
    if tokens[i].text == "=" then
      local stop = expression_end(tokens, i + 1, last)
      if pointer then
        s.sources[#s.sources + 1] = {i + 1, stop}
      end
      i = stop + 1
    end
    if tokens[i].text ~= "," then
      return
    end
    i = i + 1
  end
end

-- A declaration that begins at token i, if one does.
local function declaration(tokens, fn, i, last)
  local at = i
  while at <= last and tokens[at].kind == "name" do
    if NO_TYPE[tokens[at].text] then
      return
    end
    at = at + 1
  end
  local first = at -- of the declarator
  if at == i or at > last then
    return
  elseif tokens[at].text ~= "*" then
    first = at - 1
    if first == i or not DECLARES[tokens[at].text] then
      return
    end
  else
    local name = skip(tokens, at)
    if tokens[name].kind ~= "name"
        or not DECLARES[tokens[name + 1].text] then
      return
    end
  end
  local words = {}
  for j = i, first - 1 do
    words[#words + 1] = tokens[j].text
  end
  declarators(tokens, fn, i, first, last, table.concat(words, " "))
end

-- The last token of the type in a cast to a pointer at token i, "(" or "<".
local function cast(tokens, i)
  local at = i + 1
  while tokens[at].kind == "name" do
    at = at + 1
  end
  if at > i + 1 and tokens[at].text == "*" then
    local stop = skip(tokens, at)
    local text = tokens[stop].text
    return (text == ")" or text == ">") and stop or nil
  end
end

-- Adds the value of a cast, whose type begins at token `site`.
local function add_cast(fn, site, first, last)
  table.insert(fn.casts, {fn = fn, sites = {site}, spaces = {},
    sources = {{first, last}}})
end

-- The declarations, assignments, casts and results in a function's body.
local function body(tokens, fn)
  local first, last = fn.body + 1, fn.last - 1
  local values = 0 -- the end of braces around values
  for i = first, last do
    local token, before = tokens[i], tokens[i - 1]
    if token.text == "{" and VALUES[before.text] then
      values = math.max(values, token.other or 0)
    elseif token.kind == "name" and i > values and (BEGINS[before.text]
        or before.text == "(" and tokens[i - 2].text == "for") then
      declaration(tokens, fn, i, last)
    end
    if token.text == "(" and before.text ~= "sizeof" then
      local stop = cast(tokens, i)
      if stop then
        add_cast(fn, i + 1, stop + 1, expression_end(tokens, stop + 1, last))
      end
    elseif token.text:find "_cast$" and tokens[i + 1].text == "<" then
      local stop = cast(tokens, i + 1)
      if stop and tokens[stop + 1].other then
        add_cast(fn, i + 2, stop + 1, tokens[stop + 1].other)
      end
    elseif token.text == "=" and before.kind == "name"
        and fn.symbols[before.text] and fn.symbols[before.text].pointer
        and (BEGINS[tokens[i - 2].text] or tokens[i - 2].text == ",") then
      local s = fn.symbols[before.text]
      s.sources[#s.sources + 1] = {i + 1, expression_end(tokens, i + 1, last)}
    elseif token.text == "return" and fn.result then
      local sources = fn.result.sources
      sources[#sources + 1] = {i + 1, expression_end(tokens, i + 1, last)}
    end
  end
end

--- spaces.base(world, fn, first, last) -> symbol or nil
--- The symbol that the value of an expression points into.
function M.base(world, fn, first, last)
  local tokens, i = world.tokens, first
  while i <= last do
    local token, before = tokens[i], tokens[i - 1]
    local stop = token.text == "[" and token.other
    if token.kind == "name" and before.text ~= "." and before.text ~= "->" then
      local s = fn.symbols[token.text] or world.globals[token.text]
      local call = tokens[i + 1].text == "("
      local called = call and world.functions[token.text]
      if called and called.result then
        return called.result
      elseif call then
        stop = not token.text:find "ldg$" and tokens[i + 1].other or nil
      elseif s and (s.pointer or before.text == "&") then
        return s
      end
    end
    i = (stop or i) + 1
  end
end

-- The arguments of each call of a function of the text are sources of its
-- parameters.
local function calls(world, fn)
  local tokens = world.tokens
  for i = fn.body + 1, fn.last - 1 do
    local called = tokens[i].kind == "name" and tokens[i + 1].text == "("
      and world.functions[tokens[i].text]
    local arguments = called and tokens[i + 1].other
      and split(tokens, i + 2, tokens[i + 1].other - 1)
    for n, range in ipairs(arguments or {}) do
      local param = called.params[n]
      local s = param and param.name and called.symbols[param.name]
      if s and param.pointer and not s.fixed then
        s.sources[#s.sources + 1] = {range[1], range[2], fn}
      end
    end
  end
end

local function prepare(world, fn)
  local tokens = world.tokens
  fn.symbols, fn.casts = {}, {}
  for _, p in ipairs(fn.params) do
    if p.name then
      local s = symbol(fn, p.name, {pointer = p.pointer, star = p.pointer,
        type = table.concat(p.words, " ")})
      s.fixed = fn.kernel or not p.pointer
      if s.fixed then
        s.spaces[p.pointer and "global" or ""] = true
      end
      s.parameter = p.pointer
    end
  end
  for j = fn.head, fn.list - 1 do
    if tokens[j].text == "*" then
      fn.result = {fn = fn, sites = {fn.head}, sources = {}, spaces = {}}
    end
  end
end

-- Adds to a symbol the spaces of its sources; returns whether it changed.
local function flow(world, s)
  local changed = false
  for _, source in ipairs(s.fixed and {} or s.sources) do
    local from = M.base(world, source[3] or s.fn, source[1], source[2])
    for space in pairs(from and from.spaces or {}) do
      changed = changed or not s.spaces[space]
      s.spaces[space] = true
    end
  end
  return changed
end

--- spaces.each(world, visit)
--- Calls visit(symbol) for all symbols, casts and results.
function M.each(world, visit)
  for _, fn in ipairs(world.list) do
    for _, s in pairs(fn.symbols) do
      visit(s)
    end
    for _, s in ipairs(fn.casts) do
      visit(s)
    end
    if fn.result then
      visit(fn.result)
    end
  end
end

--- spaces.infer(world, before)
--- Finds the symbols of the functions of a text. `world`, a translation, has
--- tokens, `list` (the device's functions, as parse gives them, with
--- `kernel`), `functions` (by name) and `globals` (symbols of file scope).
--- Each function gets `symbols` by name, `casts` and `result`; each symbol has
--- `spaces`, a set of "global", "local", "constant" and "", and `sites`, the
--- tokens to name it at. before(function) may add symbols.
function M.infer(world, before)
  for _, fn in ipairs(world.list) do
    prepare(world, fn)
    before(fn)
  end
  for _, fn in ipairs(world.list) do
    if fn.body then
      body(world.tokens, fn)
      calls(world, fn)
    end
  end
  local changed
  repeat
    changed = false
    M.each(world, function(s)
      changed = flow(world, s) or changed
    end)
    if not changed then -- a parameter without any source
      M.each(world, function(s)
        if s.parameter and next(s.spaces) == nil then
          s.spaces.global, changed = true, true
        end
      end)
    end
  until not changed
end

return M
