#!/usr/bin/env clshell
-- devices.lua - the devices that OpenCL offers on this machine: all in a list,
-- or all values of one device.
-- SPDX-License-Identifier: MIT

local report = require "clshell.report"
local script = require "clshell.script"

local parser = script.parser("devices.lua",
  "Lists the OpenCL devices, or all values of one device.")
parser:argument("device", "index, type or part of a name"):args("?")
local args = script.parse(parser)

local function mib(bytes)
  return ("%.0f MiB"):format(bytes / 2^20)
end

local function list()
  local rows = {}
  for i, d in ipairs(cl.devices()) do
    rows[i] = {
      index = i, type = d.type,
      name = ("%s (%s)"):format(d.name, d.platform),
      units = d.compute_units, clock = d.max_clock_frequency .. " MHz",
      memory = mib(d.global_mem_size), ["local"] = mib(d.local_mem_size),
      group = d.max_work_group_size,
      double = d:has "cl_khr_fp64" and "yes" or "no",
    }
    if d.local_mem_size < 2^20 then
      rows[i]["local"] = ("%.0f KiB"):format(d.local_mem_size / 2^10)
    end
  end
  if #rows == 0 then
    cl.device() -- says what to install
  end
  report(rows, {
    {key = "index", title = "", align = "right"}, {key = "type"},
    {key = "units", align = "right"},
    {key = "clock", align = "right", drop = 2},
    {key = "memory", align = "right"}, {key = "local", align = "right"},
    {key = "group", align = "right", drop = 1},
    {key = "double", drop = 3}, {key = "name", below = true},
  })
end

local function details(d)
  local rows = {}
  for name, v in pairs(d:info()) do
    if type(v) == "table" then
      local words = {}
      for key, value in pairs(v) do
        words[#words + 1] = math.type(key) and tostring(value) or key
      end
      table.sort(words)
      v = table.concat(words, " ")
    end
    rows[#rows + 1] = {name = name, value = tostring(v):gsub(";", " ")}
  end
  table.sort(rows, function(a, b)
    return a.name < b.name
  end)
  print(table.concat(report.wrap(tostring(d), report.width()), "\n"))
  report(rows, {{key = "name"}, {key = "value", wrap = true}})
end

if args.device then
  details(cl.use(args.device))
else
  list()
end
