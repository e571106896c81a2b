-- shell/prompt/measure.lua - %time and %bench, and time(f)
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lexer = require "clshell.base.lexer"
local quantity = require "clshell.base.quantity"
local base_text = require "clshell.base.text"

local M = {}

local DEEPER = {["("] = 1, ["{"] = 1, ["["] = 1, [")"] = -1, ["}"] = -1,
  ["]"] = -1, ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1,
  ["end"] = -1, ["until"] = -1}
local SAME = {flops = "flop"} -- what people call an option

-- The events among the results, and the events of spans, one by one.
local function events_of(values)
  local list = {}
  for i = 1, values.n do
    local value = values[i]
    local class = base_text.class(value)
    if class == "Event" then
      list[#list + 1] = value
    elseif class == "Event span" then
      table.move(value.events, 1, #value.events, #list + 1, list)
    end
  end
  return list
end

-- Waits for the events among the results, or for the default queue. Returns
-- the seconds on the device (nil: unknown) and the number of events.
local function wait(values)
  local list, device = events_of(values), 0
  for _, event in ipairs(list) do
    event:wait()
    device = device and event.ms and device + event.ms * 1e-3
  end
  if #list == 0 and (cl.live().Queue or 0) > 0 then
    cl.context().queue:finish()
  end
  return #list > 0 and device or nil, #list
end

-- The global time, documented in shell/prompt/commands.lua.
function M.time(f, ...)
  local meta = debug.getmetatable(f)
  if type(f) ~= "function" and not (type(meta) == "table" and meta.__call) then
    cl.error(("time: f must be a function, such as in time(gemm, A, B); got "
      .. "%s"):format(base_text.got(f)))
  end
  local cpu, start = os.clock(), cl.now()
  local values = table.pack(f(...))
  local device, count = wait(values)
  local wall = cl.now() - start
  cpu = os.clock() - cpu
  local text = ("wall %s   processor %s"):format(quantity.format(wall, "s"),
    quantity.format(cpu, "s"))
  if device then
    text = ("%s   device %s (%s)"):format(text, quantity.format(device, "s"),
      base_text.count(count, "event"))
  end
  require "clshell.shell.prompt.session".say(text)
  return table.unpack(values, 1, values.n)
end

-- The places of `name =` outside all brackets and blocks, where options begin:
-- a list of {name=, first=, value=}.
local function marks(text)
  local list, depth = {}, 0
  local tokens = lexer.tokens(text)
  for i, token in ipairs(tokens) do
    local word = text:sub(token.first, token.last)
    local known = (token.kind == "op" or token.kind == "keyword")
      and DEEPER[word]
    depth = depth + (known or 0)
    local equals = tokens[i + 1]
    if depth == 0 and i > 1 and token.kind == "name" and equals
        and text:sub(equals.first, equals.last) == "=" then
      list[#list + 1] = {name = word, first = token.first,
        value = equals.last + 1}
    end
  end
  return list
end

--- measure.split(text) -> expression, options
--- The expression and the options of `mm(A, B) flop=2*n^3 name="mm"`: a list
--- of {name, text of the value}.
function M.split(text)
  local list, options = marks(text), {}
  for i, mark in ipairs(list) do
    local stop = list[i + 1] and list[i + 1].first - 1 or #text
    options[i] = {SAME[mark.name] or mark.name,
      text:sub(mark.value, stop):match("^%s*(.-)[%s,]*$")}
  end
  local expression = text:sub(1, list[1] and list[1].first - 1 or #text)
  return expression:match("^%s*(.-)[%s,]*$"), options
end

-- The name of a result where the user gave none.
local function label(expression)
  local name = expression:match("^([%a_][%w_.:]*)%s*[%(\"'{%[]")
    or expression:match("^[%w_.:]+$") or expression
  return (#name > 40 and name:sub(1, 37) .. "..." or name):gsub("%s+", " ")
end

--- measure.bench(text, compile [, effort]) -> function
--- The function that takes one measurement for `%bench text`. The options are
--- evaluated here. `compile` makes a function of the text of an expression;
--- `effort` is bench's option, unless the text has the option.
function M.bench(text, compile, effort)
  local expression, list = M.split(text)
  if expression == "" then
    cl.error(effort and "%timeit needs an expression: %timeit math.sin(1)"
      or "%bench needs an expression: %bench mm(A, B, C) flop=2*n^3")
  end
  local opts = {name = label(expression), effort = effort}
  for _, option in ipairs(list) do
    if option[2] == "" then
      cl.error(("%%bench: option %s has no value"):format(option[1]))
    end
    opts[option[1]] = compile(option[2])()
  end
  local run = compile(expression)
  if expression:find("^[%a_][%w_.]*$") then
    run = run() -- a function, or a launch that takes no arguments
  elseif expression:find("^[\"']") then
    return function()
      return require "clshell.measure.bench"(run(), nil, nil, opts)
    end
  end
  return function()
    return require "clshell.measure.bench"(run, opts)
  end
end

return M
