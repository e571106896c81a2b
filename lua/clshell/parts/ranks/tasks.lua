-- parts/ranks/tasks.lua - functions that take turns on one thread: a function
-- that would wait lets the others go on
-- SPDX-License-Identifier: MIT

local M = {}

--- tasks.wait(done, ...)
--- Lets the other tasks go on until done(...) is true.
function M.wait(done, ...)
  while not done(...) do
    coroutine.yield()
  end
end

--- tasks.ended(event) -> boolean
--- Whether a command has ended; raises where it failed.
function M.ended(event)
  local status = event.status
  if status == "complete" or status == "failed" then
    event:wait()
    return true
  end
  return false
end

--- tasks.event(event)
--- Lets the other tasks go on until a command has ended.
function M.event(event)
  M.wait(M.ended, event)
end

--- tasks.run(functions)
--- Runs all functions to their ends, in turns. An error of one function ends
--- all functions and is raised.
function M.run(functions)
  local left = {}
  for i, f in ipairs(functions) do
    left[i] = coroutine.create(f)
  end
  while #left > 0 do
    for i = #left, 1, -1 do
      local fine, e = coroutine.resume(left[i])
      if not fine then
        error(e, 0)
      elseif coroutine.status(left[i]) == "dead" then
        table.remove(left, i)
      end
    end
  end
end

return M
