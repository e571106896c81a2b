-- measure/power.lua - the energy of a launch, where something tells the power
-- of its device: nvidia-smi for the devices of NVIDIA
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local stats = require "clshell.measure.stats"

local M = {}
local Meter = {}
Meter.__index = Meter

local SECONDS = 2      -- of launches; the readings of the second half count
local READINGS = 5     -- at least
local EVERY = 50       -- ms between readings
local STEP = 0.02      -- seconds of launches between looks at the clock

-- The columns of each device that nvidia-smi lists for a query.
local function query(names, more)
  local pipe = io.popen(("nvidia-smi --query-gpu=%s --format=csv,noheader,"
    .. "nounits %s 2>/dev/null"):format(names, more or ""))
  local rows = {}
  for line in pipe:lines() do
    local row = {}
    for cell in (line .. ","):gmatch "%s*(.-)%s*," do
      row[#row + 1] = cell
    end
    rows[#rows + 1] = row
  end
  pipe:close()
  return rows
end

-- The name of a device of NVIDIA as nvidia-smi writes it, or nil.
local function name_of(device)
  local id = device.nv_warp_size and device:info().uuid
  return id and ("GPU-%s-%s-%s-%s-%s"):format(id:sub(1, 8), id:sub(9, 12),
    id:sub(13, 16), id:sub(17, 20), id:sub(21)) or nil
end

--- power.meter(device) -> meter, or nil and the reason
--- A meter that reads the power of a device.
function M.meter(device)
  local at = name_of(device)
  for _, row in ipairs(at and query "uuid,power.draw" or {}) do
    if row[1] == at and tonumber(row[2]) then
      return setmetatable({at = at}, Meter)
    end
  end
  return nil, ("nothing tells the power of %s; nvidia-smi does for devices of "
    .. "NVIDIA"):format(device.name)
end

--- meter:joule(subject) -> joules of a launch
--- Launches a subject of the protocol for two seconds, and multiplies the
--- median of the power by the time of a launch.
function Meter:joule(subject)
  local pipe = io.popen(("timeout %g nvidia-smi -i %s -lms %d "
    .. "--query-gpu=power.draw --format=csv,noheader,nounits 2>/dev/null")
    :format(SECONDS, self.at, EVERY))
  local begin, count, n = cl.now(), 0, 1
  local passed
  repeat
    subject.sample(n)
    count, passed = count + n, cl.now() - begin
    n = math.max(1, math.min(10000, math.ceil(STEP * count / passed)))
  until passed >= SECONDS
  local watts = {}
  for line in pipe:lines() do
    watts[#watts + 1] = tonumber(line)
  end
  pipe:close()
  if #watts < READINGS then
    cl.error(("energy: nvidia-smi gave %d readings in %g s; %d are needed")
      :format(#watts, SECONDS, READINGS))
  end
  return stats.median({table.unpack(watts, #watts // 2 + 1)}) * passed / count
end

return M
