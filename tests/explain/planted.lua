-- planted.lua - the kernels of the folder bugs, as launches. The head of each
-- file tells the finding it must give ("outside 6": kind and line; nothing;
-- "guard": guard bands see it, too), its range and its arguments: Buffers
-- ("int 8", with their content behind "="; "constant int 8"), local memory
-- ("local int 8"), numbers, or the Buffer of another argument ("same 1").
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local M = {}

local function numbers(s)
  local list = {}
  for word in s:gmatch "%-?%d+" do
    list[#list + 1] = math.tointeger(word)
  end
  return list
end

local function argument(s, args)
  local same = s:match "^same (%d+)$"
  local space, type, n = s:match "^(%a+) (%a+) (%d+)"
  if same then
    return args[tonumber(same)]
  elseif space == "local" then
    return cl.localmem(type, tonumber(n))
  end
  type, n = s:match "(%a+) (%d+)"
  if not type then
    return tonumber(s)
  end
  local content = s:match "=(.*)$"
  local list = content and numbers(content)
  return cl.buffer(type, tonumber(n), list or function(i) return i - 1 end)
end

--- planted.files() -> list of names, sorted
function M.files()
  local list = {}
  local folder = t.here .. "/tests/explain/bugs"
  for name in t.capture("ls " .. folder):gmatch "([%w_]+)%.cl" do
    list[#list + 1] = name
  end
  return list
end

--- planted.launch(name) -> Launch, args, finding, whether guard bands see it
function M.launch(name)
  local path = ("%s/tests/explain/bugs/%s.cl"):format(t.here, name)
  local f <close> = assert(io.open(path))
  local finds, range, list = f:read "a":match(
    "^// finds: ([^\n]*)\n// range: ([^\n]*)\n// args: ([^\n]*)\n")
  local global, locals = range:match "^(.-) / (.*)$"
  local args = {n = 0}
  for word in list:gmatch "[^,]+" do
    args.n = args.n + 1
    args[args.n] = argument(word:match "^%s*(.-)%s*$", args)
  end
  local guard = finds:find(", guard", 1, true)
  finds = finds:gsub(", guard", "")
  return cl.kernel(path):range(numbers(global), numbers(locals)), args, finds,
    guard ~= nil
end

return M
