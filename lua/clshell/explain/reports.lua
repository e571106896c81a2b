-- explain/reports.lua - what the simulator Oclgrind writes to its log, as a
-- list of tables
-- SPDX-License-Identifier: MIT

local M = {}

local SPACE = "(%a+) memory address 0x(%x+)"

-- The titles of reports: a pattern, the kind, and the names of its captures.
local TITLES = {
  {"^Invalid (%a+) of size (%d+) at " .. SPACE, "outside",
    {"access", "size", "space", "address"}},
  {"^Index %((%-?%d+)%) exceeds static array size %((%d+)%)", "index",
    {"index", "count"}},
  {"^(%a+%-write) data race at " .. SPACE, "race",
    {"access", "space", "address"}},
  {"^Work%-group divergence detected %((.-)%)", "divergence", {"access"}},
  {"^Uninitialized value written to " .. SPACE, "unwritten",
    {"space", "address"}},
  {"^Uninitialized address used to (%a+) %a+ " .. SPACE, "unwritten address",
    {"access", "space", "address"}},
  {"^Controlflow depends on uninitialized value", "unwritten branch", {}},
  {"^Instruction depends on an uninitialized index value",
    "unwritten address", {}},
  {"^Invalid memory (%a+) %- source pointer is not aligned", "misaligned",
    {"access"}},
  {"^Invalid write to read%-only buffer", "constant", {}},
  {"^Invalid read from write%-only buffer", "write-only", {}},
  {"^Invalid wait event", "wait", {}},
  {"^Work%-item finished without waiting for events", "events", {}},
}

local NUMBERS = {size = 10, address = 16, index = 10, count = 10}

-- A report without its lines.
local function begin(title)
  for _, entry in ipairs(TITLES) do
    local values = table.pack(title:match(entry[1]))
    if values[1] then
      local r = {kind = entry[2], title = title, places = {}}
      for i, name in ipairs(entry[3]) do
        r[name] = NUMBERS[name] and math.tointeger(tonumber(values[i],
          NUMBERS[name])) or values[i]
      end
      return r
    end
  end
  return {kind = "other", title = title, places = {}}
end

local function triple(x, y, z)
  return {tonumber(x), tonumber(y), tonumber(z)}
end

-- The place that the report's next line is about; a race has two.
local function place_of(r)
  local place = r.places[#r.places]
  if not place then
    place = {}
    r.places[1] = place
  end
  return place
end

local NUMBER3 = "%((%d+),(%d+),(%d+)%)"

-- Adds a line of a report.
local function add(r, line)
  local kernel = line:match "^Kernel:%s*(%S+)"
  if kernel then
    r.kernel = kernel
    return
  elseif line:find "^%a* ?[Ee]ntity:" then
    local place = {}
    r.places[#r.places + 1] = place
    local x, y, z = line:match("Global" .. NUMBER3)
    place.item = x and triple(x, y, z)
    x, y, z = line:match("Group" .. NUMBER3)
    place.group = x and triple(x, y, z)
    return
  end
  local place = place_of(r)
  local x, y, z = line:match("^Work%-group:%s*" .. NUMBER3)
  local some, all = line:match "^Only (%d+) out of (%d+) work%-items"
  local n, column, file = line:match "^At line (%d+) %(column (%d+)%) of (.*):"
  if x then
    place.group = triple(x, y, z)
  elseif some then
    r.some, r.all = tonumber(some), tonumber(all)
  elseif n then
    place.line, place.column = tonumber(n), tonumber(column)
    place.file = file
  elseif not place.line and not place.code
      and line ~= "(location unknown)" then
    place.code = line -- a line of intermediate code
  end
end

--- reports.parse(log) -> list
--- Each report has kind, title, kernel, and what its title tells of access,
--- size, space, address, index, count; `places` has one place, of a race two:
--- {item, group, line, column, file, code}.
function M.parse(log)
  local list = {}
  for line in log:gmatch "[^\r\n]+" do
    local rest = line:match "^\t(.*)$"
    if rest then
      if list[1] and rest ~= "" then
        add(list[#list], rest)
      end
    elseif line:find "%S" and not line:find "suppressing further errors" then
      list[#list + 1] = begin(line)
    end
  end
  return list
end

return M
