-- complete.lua - completion at the prompt: what may stand at the cursor
-- It never runs what a session has made: tables are read raw, objects by
-- their declared names, no collection takes place meanwhile. The work is
-- bounded: see candidates.lua, prompt/chain.lua and folder.c.
-- SPDX-License-Identifier: MIT

local calls = require "clshell.prompt.signatures"
local candidates = require "clshell.prompt.candidates"
local commands = require "clshell.prompt.complete_commands"
local lexer = require "clshell.prompt.lexer"
local options = require "clshell.base.options"
local places = require "clshell.prompt.cursor_context"
local reach = require "clshell.prompt.chain"
local scope = require "clshell.prompt.scope"
local words = require "clshell.prompt.vocabulary"

-- Held here, as a session may change these.
local collectgarbage, pcall, next, rawget = collectgarbage, pcall, next,
  rawget
local find, gsub, match, sub = string.find, string.gsub, string.match,
  string.sub
local gethook, sethook, type = debug.gethook, debug.sethook, type

local M = {}

local KEYS = 12000 -- of tables, looked at for one completion
local KEYWORDS = lexer.KEYWORDS

-- What the call around a place is: its declared name, the thing, its family.
local function about(call, locals)
  local thing = call and reach.thing(call.callee, locals)
  if not thing then
    return {}
  end
  local owner = thing.owner and reach.family(thing.owner)
  return {thing = thing, name = reach.name(thing),
    family = reach.family(thing) or owner}
end

-- The kind of the argument that a call has at a place.
local function argument(call, info)
  local name = info.name or ""
  local list = call.first and calls.of_rung[name] or calls.arguments[name]
  return list and list[call.argument]
end

-- The family and the rung that the first argument of a call names.
local function first_rung(call, info)
  local first = call.first
  if info.family or not first then
    return info.family, first
  end
  local family, rung = match(first, "^(%w+)%.([%w_]+)$")
  return family and words.family(family), rung
end

-- Offers the fields that the table around the cursor may have; whether it is
-- known which.
local function fields(c, call, info)
  local kind = argument(call, info) or "options"
  local list
  if kind == "params" then
    local family, rung = first_rung(call, info)
    if family and rung then
      words.parameters(c, family, rung, call.fields)
    end
    return family ~= nil
  elseif kind == "operands" then
    list = info.family and rawget(info.family, "operands")
  elseif kind == "options" and info.name == "family" then
    list = rawget(info.family, "reserved")
    words.parameters(c, info.family, call.fields.kernel, call.fields)
  elseif kind == "options" and info.name then
    list = options.names(calls.options[info.name] or info.name)
  end
  for i = 1, list and #list or 0 do
    if not call.fields[list[i]] then
      c:field(list[i])
    end
  end
  return list ~= nil
end

local KINDS = {device = words.devices, module = words.modules,
  path = words.paths, source = words.sources, target = words.targets,
  topic = commands.topics, type = words.types}

function KINDS.rung(c, info)
  words.rungs(c, info.family)
end

function KINDS.kernel(c, info)
  words.kernels(c, info.thing.owner)
end

-- Offers the words that an argument or a field takes; whether it takes any.
local function of_kind(c, kind, info)
  local offer = KINDS[kind]
  if not offer or kind == "rung" and not info.family then
    return kind == "none"
  end
  offer(c, info)
  return true
end

-- The same for the value of a field of a call's table.
local function value(c, call, info)
  local key = call.key
  local kind = argument(call, info) or "options"
  local family, rung = info.family, call.fields.kernel
  if kind == "params" then
    family, rung = first_rung(call, info)
  elseif kind ~= "options" or not info.name then
    return false
  elseif family and key == "kernel" then
    return of_kind(c, "rung", info)
  end
  if family and words.values(c, family, rung, key) then
    return true
  elseif options.values[key] then
    for _, word in next, options.values[key] do
      c:add(word)
    end
    return true
  end
  return (key == "type" or key == "device") and of_kind(c, key, info)
end

-- What a call takes where the cursor is. In code (c.quote is nil) the words
-- come with their quotes, and only where nothing has been typed.
local function in_call(c, call, info)
  if call.iskey and not c.quote then
    return fields(c, call, info)
  end
  local kind = not call.table and call.whole and argument(call, info)
  if not c.quote then
    if c.word ~= "" or kind == "path" or kind == "source" then
      return false
    end
    c.wrap = true
  end
  local known
  if call.table then
    known = call.key and value(c, call, info)
  else
    known = kind and of_kind(c, kind, info)
  end
  c.wrap = known and c.wrap
  return known
end

-- A string as it stands for itself; the words in it have no other escapes.
local function unescaped(s)
  return (gsub(s, "\\([\\\"'])", "%1"))
end

local function complete_string(c, place, locals)
  c.quote = place.quote
  if #place.quote > 1 then
    c.closing = gsub(place.quote, "%[", "]")
  else
    c.word = unescaped(c.word)
  end
  if place.index then
    local thing = reach.thing(place.owner, locals)
    c.closing = c.quote .. "]"
    if thing then
      reach.members(thing, false, c.budget, function(name)
        c:add(name)
        return c.partial
      end)
    end
    return
  end
  local call = place.call
  if not words.kernel_source(c)
      and not (call and in_call(c, call, about(call, locals))) then
    words.paths(c)
  end
end

local function members(c, place, locals)
  local thing = reach.thing(place.owner, locals)
  if thing then
    reach.members(thing, place.method, c.budget, function(name)
      return not KEYWORDS[name] and c:name(name)
    end)
  end
end

local function complete_name(c, place, locals)
  if place.owner then
    return members(c, place, locals)
  end
  local call = place.call
  local info = about(call, locals)
  c.plain = not call
  if call and in_call(c, call, info) and not c:empty() then
    return
  end
  c.wrap = nil
  for name in next, locals do
    c:name(name)
  end
  for word in next, c.word ~= "" and KEYWORDS or {} do
    c:name(word)
  end
  reach.members(reach.globals(), false, c.budget, function(name)
    return c:name(name)
  end)
  if c.word == "" and call and call.whole and info.thing then
    c.hint = words.signature(info.thing, call.argument)
  end
end

-- Completes Lua, which begins after `skip` bytes of the text.
local function code(text, cursor, skip)
  local place = places.find(text, cursor, skip)
  if not place then
    return nil
  end
  local c = candidates.new(place.first, place.word)
  c.budget = {left = KEYS}
  local locals = scope.names(place.p.text, place.p.tokens,
    place.before or #place.p.tokens)
  local complete = place.kind == "string" and complete_string
    or complete_name
  complete(c, place, locals)
  c.partial = c.partial or c.budget.over or false
  return c
end

--- complete.find(text, cursor) -> first, list, hint, common, shown; or nil
--- complete.at without its precautions.
function M.find(text, cursor)
  local c
  if find(text, "^%s*[%%?!]") then
    c = commands.complete(text, cursor, code)
  else
    c = code(text, cursor, 0)
  end
  if c then
    return c:result(sub(text, cursor + 1))
  end
end

-- Runs fn with the session's debug hook and the collector held: a hook, and
-- what __gc calls, are the user's code as well.
local function apart(fn, ...)
  local running = collectgarbage "isrunning"
  local hook, mask, count = gethook()
  local mine = type(hook) == "function"
  collectgarbage "stop"
  if mine then
    sethook()
  end
  local fine, first, list, hint, common, shown = pcall(fn, ...)
  if mine then
    sethook(hook, mask, count)
  end
  if running then
    collectgarbage "restart"
  end
  if fine then
    return first, list, hint, common, shown
  end
end

--- complete.at(text, cursor) -> first, list, hint, common, shown; or nil
--- What may stand instead of the bytes from `first` to `cursor`, the number
--- of bytes before the cursor: at most 200 texts, sorted; a single one
--- comes with what follows it. hint: a line to show with them. common: what
--- to insert at once, nil for nothing. shown: what to show for each text.
function M.at(text, cursor)
  return apart(M.find, text, cursor)
end

return M
