-- course.lua - the exercises of scripts/course: the judge tells of each
-- listing what its head says, and the heads name claims and texts that exist
-- SPDX-License-Identifier: MIT
local t = require "t"
local claims = require "clshell.explain.claims_list"
local oclgrind = require "clshell.explain.oclgrind"

t.device()
t.keeps("Context", "Queue", "Program", "Kernel", "Buffer")

local folder = t.here .. "/scripts/course/"

-- Calls fn(task, path, verdict, finding, head) for each listing.
local function each(fn)
  local paths = t.capture(("cd %s; ls scripts/course/*.cl "
    .. "kernels/course/dia.cl kernels/course/edge.cl"):format(t.here))
  for path in paths:gmatch "%S+" do
    path = t.here .. "/" .. path
    local f <close> = assert(io.open(path))
    local head = f:read "a":match "^/%*.-%*/"
    local verdict, finding = head:match "Judged: (%u+):? ?([^\n]*)"
    local task = head:match "Task: (%w+%.lua)"
      or path:find "dia" and "diagonals.lua" or "edge.lua"
    fn(folder .. task, path, verdict or "RIGHT", finding, head)
  end
end

t.test("the heads name claims, and their texts by title", function()
  local known = {}
  for _, claim in ipairs(claims) do
    known[claim.id] = claims.titles[claim.id:sub(1, 1)]
  end
  each(function(_, path, _, _, head)
    head = head:gsub("\n%*%* ", " ")
    for id in head:gmatch '"(%u%d+)"' do
      t.ok(known[id] and head:find("(" .. known[id], 1, true),
        path .. ": " .. id)
    end
  end)
end)

t.test("the judge says of each listing what its head says", function()
  t.skip_if(not oclgrind.driver(), "the simulator Oclgrind is not installed")
  local count = 0
  each(function(task, path, verdict, finding)
    local size = ({diagonals = 30, edge = 100, sum = 200,
      transpose = "9x17"})[task:match "(%w+)%.lua$"] or 17
    local r = judge(task, path, {keep = false, seed = t.seed,
      repro = verdict == "RIGHT" and size .. ":3" or nil})[1]
    t.eq(r.verdict, verdict, path .. ": " .. tostring(r.reason))
    local said = (r.reason or "") .. (r.finding or "")
    t.ok(not finding or said:find(finding, 1, true), path .. ": " .. said)
    count = count + 1
  end)
  t.eq(count, 17)
end)

t.done()
