-- worker/phase.lua - what a call is at, for the process that waits for it
-- SPDX-License-Identifier: MIT

local M = {}

-- phase.tell(name, unlimited): set in a worker process.
M.tell = nil

--- phase.begin(name [, unlimited])
--- A phase of the call begins: a verb of the past, as in "while it measured".
--- The time limit starts anew; unlimited = true: this phase has none.
function M.begin(name, unlimited)
  if M.tell then
    M.tell(name, unlimited)
  end
end

return M
