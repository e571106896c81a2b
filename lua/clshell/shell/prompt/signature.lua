-- shell/prompt/signature.lua - the parameters of the function whose call is at
-- the cursor: of kernels, clshell's and Lua's own functions, and the user's
-- Access is raw, as in resolve.lua.
-- SPDX-License-Identifier: MIT

local resolve = require "clshell.shell.prompt.resolve"
local find_place = require "clshell.shell.prompt.place".find
local index = require "clshell.shell.help.index"
local reference = require "clshell.shell.help.reference"
local system = require "clshell.system"
local text = require "clshell.base.text"

local M = {}

local function made(name, parameters)
  return ("%s(%s)"):format(name, table.concat(parameters, ", "))
end

-- The parameters of a kernel: {name =, args =} as resolve.kernel gives it.
local function of_kernel(kernel)
  local list = {}
  for i, a in ipairs(kernel.args) do
    list[i] = ("%s%s%s %s"):format(a.space and a.space ~= "private"
      and a.space .. " " or "", a.const and a.space == "global"
      and not a.type:find "const" and "const " or "", a.type or "?",
      a.name or "")
  end
  return list
end

-- The signature in help's entries or Lua's reference; `as` is the family of a
-- function that all families have.
local function of_name(name, as)
  local entry = name and (index.entries()[name] or reference.lua[name])
  if entry and entry.signature:find "%(.-%)" then
    return as and entry.signature:gsub("^family", as) or entry.signature
  end
end

local function of_family(family)
  local name, list = rawget(family, "name"), {}
  for i, operand in ipairs(rawget(family, "operands") or {}) do
    list[i] = tostring(operand)
  end
  list[#list + 1] = "[opts]"
  return of_name(name) or made(name, list)
end

-- The signature of a Lua function under the name that the user typed.
local function of_function(f, name)
  if debug.getinfo(f, "S").what ~= "C" then
    return made(name, resolve.parameters(f))
  end
end

-- The signature of a thing (see resolve.lua), and the number of parameters
-- that the call does not write: the `self` of a call with a colon.
local function find(thing, steps)
  local last = steps[#steps]
  local name = last.key or last.base or "function"
  local kernel = resolve.kernel(thing)
  if kernel then
    return made(kernel.name, of_kernel(kernel)), 0
  end
  local family = resolve.family(thing)
  local owner = thing.owner and resolve.family(thing.owner)
  if family then
    return of_family(family), 0
  elseif owner then
    return of_name("family." .. name, rawget(owner, "name")), 0
  end
  local value, known = thing.value, resolve.name(thing)
  if not known and type(value) == "function" then
    known = resolve.of(value)
  end
  local found = of_name(known)
  if found then
    return found, last.colon and not known:find ":" and 1 or 0
  elseif type(value) == "function" then
    return of_function(value, name), last.colon and 1 or 0
  end
  local call = resolve.meta(value, "__call")
  if type(call) == "function" then
    return of_function(call, name), 1
  end
end

-- A signature in one line of `width` columns, its i-th parameter underlined.
-- Where it is wider, it begins with that parameter and is cut. A bracket that
-- opens an optional parameter stays with that parameter.
local function line(signature, i, width)
  local head, inner, tail = signature:match "^([^(]*%()(.-)(%).*)$"
  local list, first = {}, 1
  for parameter in (inner:gsub("%s*%[%s*,%s*", ", [")):gmatch "[^,]+" do
    list[#list + 1] = parameter:match "^%s*(.-)%s*$"
  end
  if i > #list and (list[#list] or ""):find "%.%.%." then
    i = #list
  end
  local whole = head .. table.concat(list, ", ") .. tail
  if list[i] and i > 1 and text.width(whole) > width then
    head, first = head .. "..., ", i
    whole = head .. table.concat(list, ", ", i) .. tail
  end
  local at = list[i] and text.width(head .. table.concat(list, ", ", first,
    i - 1) .. (i > first and ", " or "")) or width
  return text.cut(whole, width) .. (at < width and ("\n%s%s"):format(
    (" "):rep(at), ("^"):rep(math.min(text.width(list[i]), width - at)))
    or "")
end

--- signature.tip(call, locals [, width]) -> string
--- The line that Tab shows for a call (see place.lua): its parameters, in a
--- narrow window from the cursor's on, with a mark below the cursor's
--- parameter; or the words that nothing is known.
function M.tip(call, locals, width)
  local thing, found, own = resolve.thing(call.callee, locals), nil, nil
  if thing then
    found, own = find(thing, call.callee)
  end
  width = width or (system.winsize(1) or 80) - 1
  if found then
    return line(found, call.argument + own, width)
  end
  local last = call.callee and call.callee[#call.callee]
  local name = last and (last.base or last.key)
  return ("nothing is known of %s's parameters"):format(
    type(name) == "string" and name or "this function")
end

--- signature.kernel(input, cursor) -> string or nil
--- For F1: the parameters of the kernel whose argument is at the cursor, a
--- line each; nil on a documented name.
function M.kernel(input, at)
  local place = find_place(input, at, 0)
  local name = place and place.word .. input:match("^[%w_]*", at + 1)
  local call = name and select(2, resolve.path(name)) ~= name and place.call
  local thing = call and resolve.thing(call.callee, place.locals)
  local kernel = thing and resolve.kernel(thing)
  if kernel then
    return ("%s(\n  %s)"):format(kernel.name, table.concat(of_kernel(kernel),
      ",\n  "))
  end
end

return M
