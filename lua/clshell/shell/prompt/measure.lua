-- shell/prompt/measure.lua - time(f), and the texts of calls that %commands
-- take: an expression with options, or a launch that does not run
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local lexer = require "clshell.base.lexer"
local quantity = require "clshell.base.quantity"
local base_text = require "clshell.base.text"
local session = require "clshell.shell.prompt.session"

local M = {}

local SAME = {flops = "flop"} -- what people call an option

-- Waits for the Events among the results, one by one where a span has several,
-- or for the default queue where there is none. Returns the seconds on the
-- device (nil: unknown) and the number of Events.
local function wait(values)
  local count, device = 0, 0
  for i = 1, values.n do
    local class = base_text.class(values[i])
    for _, event in ipairs(class == "Event" and {values[i]}
        or class == "Event span" and values[i].events or {}) do
      event:wait()
      count, device = count + 1, device and event.ms
        and device + event.ms * 1e-3
    end
  end
  if count == 0 and (cl.live().Queue or 0) > 0 then
    cl.context().queue:finish()
  end
  return count > 0 and device or nil, count
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
  session.say(("wall %s   processor %s%s"):format(quantity.format(wall, "s"),
    quantity.format(os.clock() - cpu, "s"), device
    and ("   device %s (%s)"):format(quantity.format(device, "s"),
      base_text.count(count, "event")) or ""))
  return table.unpack(values, 1, values.n)
end

local function trimmed(text)
  return text:match "^%s*(.-)[%s,]*$"
end

-- The tokens of a text, each with the number of brackets and blocks that are
-- open behind it.
local function tokens_of(text)
  local list, depth = lexer.tokens(text), 0
  for _, token in ipairs(list) do
    depth = depth + lexer.step(token)
    token.depth = depth
  end
  return list
end

--- measure.split(text) -> expression, options
--- The expression and the options of `mm(A, B) flop=2*n^3 name="mm"`: a list
--- of {name, text of the value}.
function M.split(text)
  local tokens, options, stop = tokens_of(text), {}, #text
  for i = #tokens - 1, 2, -1 do
    local token, equals = tokens[i], tokens[i + 1]
    if token.kind == "name" and token.depth == 0 and equals.text == "=" then
      table.insert(options, 1, {SAME[token.text] or token.text,
        trimmed(text:sub(equals.last + 1, stop))})
      stop = token.first - 1
    end
  end
  return trimmed(text:sub(1, stop)), options
end

-- The name of a result where the user gave none.
local function label(expression)
  local name = expression:match("^([%a_][%w_.:]*)%s*[%(\"'{%[]")
    or expression:match("^[%w_.:]+$") or expression
  return (#name > 40 and name:sub(1, 37) .. "..." or name):gsub("%s+", " ")
end

-- "k:range(n)" and ", x, y" of `k:range(n)(x, y)`: the last call of a text.
local function last_call(text)
  local tokens = tokens_of(text)
  local last = tokens[#tokens]
  for i = #tokens, 2, -1 do
    local token = tokens[i]
    if last.text ~= ")" or last.depth ~= 0 then
      return nil
    elseif token.depth == 1 and tokens[i - 1].depth == 0 then
      local args = text:sub(token.last + 1, last.first - 1)
      return trimmed(text:sub(1, token.first - 1)),
        args:find "%S" and ", " .. args or ""
    end
  end
end

--- measure.launch(text) -> launch, arguments; nil
--- "k:range(n)" and ", x, y" of `k:range(n)(x, y)`, or of the arguments of
--- check, `k:range(n), x, y`.
function M.launch(text)
  for _, token in ipairs(tokens_of(text)) do
    if token.text == "," and token.depth == 0 then
      return trimmed(text:sub(1, token.first - 1)), text:sub(token.first)
    end
  end
  return last_call(text)
end

-- The launch of a text and its arguments, as from table.pack; nil for another
-- text. In an old input only the name of a Launch, and calls of range, on and
-- work, are evaluated: nothing runs twice.
local function evaluate(text, old)
  local launch, args = (old and last_call or M.launch)(text)
  if not launch or old and not (launch:find "^[%a_][%w_%.]*$"
      or launch:find "^[%a_][%w_%.]*:range%b()$"
      or launch:find "^[%a_][%w_%.]*:range%b():%a+%b()$") then
    return nil
  end
  local values = table.pack(session.compile(launch .. args)())
  return base_text.class(values[1]) == "Launch" and values or nil
end

-- The launch of a text, its arguments as the option args; nil without one.
local function launch_of(text, opts)
  local values = evaluate(text)
  if values then
    opts.args = table.pack(table.unpack(values, 2, values.n))
  end
  return values and values[1]
end

-- The value of expect=, which is calculated before the launch runs.
local function late(value)
  return function(inputs)
    local right = value()
    return type(right) == "function" and right(inputs) or right
  end
end

--- measure.bench(text [, effort]) -> function
--- The function that takes one measurement for `%bench text`. The options are
--- evaluated here, but expect= before the launch runs, which must then be a
--- call such as k:range(n)(x, y); `effort` is bench's option, unless the text
--- has the option.
function M.bench(text, effort)
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
    local value = session.compile(option[2])
    opts[option[1]] = option[1] == "expect" and late(value) or value()
  end
  local run = opts.expect and launch_of(expression, opts)
    or session.compile(expression)
  if expression:find("^[%a_][%w_.]*$") then
    run = run() -- a function, or a launch that takes no arguments
  end
  return function()
    if expression:find("^[\"']") then
      return require "clshell.measure.bench"(run(), nil, nil, opts)
    end
    return require "clshell.measure.bench"(run, opts)
  end
end

-- The launch of the newest input that launched a kernel, with its arguments.
local function newest()
  for i = #session.inputs, 1, -1 do
    local input = session.inputs[i]
    local text = input.kind ~= "command" and (input.code or input.text):gsub(
      "^%s*local%s+", ""):gsub("^%s*[%w_, ]+=%s*", ""):gsub("[%s;]+$", "")
      :gsub(":wait%(%)$", "")
    local ok, values = pcall(evaluate, text or "", true)
    if ok and values then
      return values
    end
  end
end

--- measure.launched(command, text) -> launch, arguments
--- The launch of the text of a call, `l(x, y)`, and its arguments, for a
--- %command of that name; an empty text stands for the newest input with a
--- launch.
function M.launched(command, text)
  local given = text:find "%S"
  local values
  if given then
    values = evaluate(text)
  else
    values = newest()
  end
  if not values then
    cl.error(given
      and "the text must be a launch with its arguments; got " .. text
      or "no input has launched a kernel",
      {hint = ("%%%s k:range(n)(x, y), or a rung: %%%s gemm tiled"):format(
        command, command)})
  end
  return table.unpack(values, 1, values.n)
end

return M
