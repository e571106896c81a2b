-- lib/patterns.lua - ten seeded patterns of sparse matrices: two kinds of
-- graphs and networks, meshes, and rows of very different lengths
-- SPDX-License-Identifier: MIT

local csr = require "clshell.data.csr"
local text = require "clshell.base.text"

-- Kind, entries in a row, rows of a node.
local TEN = {{"rmat", 8}, {"rmat", 16}, {"rmat", 48}, {"road", 2.2},
  {"road", 3.6}, {"fem", 15, 1}, {"fem", 45, 3}, {"fem", 80, 6}, {"zipf", 6},
  {"zipf", 20}}

--- patterns(entries, type) -> iterator of name, text, make
--- The patterns in turn, each of about so many entries: make() -> Csr.
return function(entries, type)
  local at = 0
  return function()
    at = at + 1
    if not TEN[at] then
      return nil
    end
    local kind, degree, block = table.unpack(TEN[at])
    return ("%s %g"):format(kind, degree),
      ("%s, about %g entries in a row%s"):format(kind, degree,
        block and ", nodes of " .. text.count(block, "row") or ""), function()
        return csr[kind](math.max(8, math.floor(entries / degree)),
          {type = type, degree = degree, block = block})
      end
  end
end
