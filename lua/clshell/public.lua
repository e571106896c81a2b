-- public.lua - the modules that users know by a short name: json for
-- clshell.base.json. require "clshell.json" gives the same table, and help
-- documents json.encode. Help lists functions in this order.
-- SPDX-License-Identifier: MIT

local MODULES = {
  {"matrix", "data.matrix"},
  {"dia", "data.dia"},
  {"csr", "data.csr"},
  {"gemm", "ladders.gemm"},
  {"spmv", "ladders.spmv"},
  {"transpose", "ladders.transpose"},
  {"reduce", "ladders.reduce"},
  {"scan", "ladders.scan"},
  {"sort", "ladders.sort"},
  {"gemv", "ladders.gemv"},
  {"stencil", "ladders.stencil"},
  {"conv2d", "ladders.conv2d"},
  {"bench", "measure.bench"},
  {"peaks", "measure.peaks"},
  {"compare", "measure.compare"},
  {"tune", "tune"},
  {"check", "explain.check"},
  {"roofline", "measure.roofline"},
  {"lesson", "explain.lesson"},
  {"calibrate", "measure.calibrate"},
  {"runs", "results.runs"},
  {"results", "results.result_list"},
  {"plot", "results.charts"},
  {"export", "results.export"},
  {"html", "results.html"},
  {"stats", "measure.stats"},
  {"report", "results.tables"},
  {"script", "base.script"},
  {"help", "shell.help"},
  {"asm", "ladder.asm"},
  {"cuda", "cuda"},
  {"ranks", "parts.ranks"},
  {"family", "ladder"},
  {"verify", "ladder.verify"},
  {"npy", "data.npy"},
  {"mtx", "data.mtx"},
  {"traffic", "ladder.traffic", "inner"},
  {"occupancy", "explain.occupancy"},
  {"access", "explain.access"},
  {"claims", "explain.claims"},
  {"course", "explain.course"},
  {"output", "results.output"},
  {"target", "measure.workload", "inner"},
  {"timer", "measure.timer", "inner"},
  {"progress", "base.progress"},
  {"json", "base.json"},
  {"store", "results.store"},
  {"quantity", "base.quantity"},
  {"style", "base.style"},
  {"system", "system"}, -- src/shell/system.c
}

-- inner: by short name, whether only authors of ladders and of measurements
-- need the module; Tab does not offer it.
local M = {list = {}, inner = {}}

local by_name = {}

for i, pair in ipairs(MODULES) do
  M.list[i] = pair[1]
  M.inner[pair[1]] = pair[3] ~= nil
  by_name[pair[1]] = "clshell." .. pair[2]
end

--- public.module(name) -> module name or nil
--- "clshell.base.json" for "json" and for "clshell.json".
function M.module(name)
  return by_name[name] or by_name[string.match(name, "^clshell%.(%w+)$")]
end

return M
