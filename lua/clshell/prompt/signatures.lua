-- prompt/signatures.lua - what the arguments of public functions are, where
-- they are words out of a list, and what the calls give: for completion
-- SPDX-License-Identifier: MIT

local M = {}

--- calls.arguments
--- By the name of a function, the kind of each argument: "type", "device",
--- "rung", "params", "shape", "operands", "target" (as bench takes them),
--- "class", "module", "topic", "source" (of a program), "options", and
--- "none" where nothing is to be offered. Tables are options, and strings
--- paths, where nothing is said. "family" stands for every kernel family.
M.arguments = {
  bench = {"target"},
  ["cl.array"] = {"type", "none"},
  ["cl.buffer"] = {"type", "none", "none", "options"},
  ["cl.build"] = {"source", "options"},
  ["cl.build_binary"] = {"none", "options"},
  ["cl.extend"] = {"class", "none"},
  ["cl.kernel"] = {"source", "options"},
  ["cl.localmem"] = {"type"},
  ["cl.members"] = {"class"},
  ["cl.option_names"] = {"none"},
  ["cl.queue"] = {"options"},
  ["cl.typesize"] = {"type"},
  ["cl.use"] = {"device"},
  compare = {"target", "target", "options"},
  ["dia.banded"] = {"none", "none", "options"},
  ["family.bench"] = {"rung", "params", "operands", "options"},
  ["family.check"] = {"rung", "params", "operands"},
  ["family.choice"] = {"operands"},
  ["family.kernel"] = {"rung"},
  ["family.rung"] = {"rung"},
  ["family.verify"] = {"rung", "params", "operands"},
  ["Array:convert"] = {"type"},
  ["Device:has"] = {"extension"},
  ["Program:kernel"] = {"kernel"},
  help = {"topic"},
  lesson = {"target", "options"},
  ["matrix.from"] = {"none", "options"},
  require = {"module"},
  results = {"none"},
}

--- calls.of_rung
--- The same for calls whose first argument names a rung: "gemm.tiled".
M.of_rung = {bench = {"target", "shape", "params", "options"}}

--- calls.options
--- Whose options a function takes, where they are not its own.
M.options = {
  ["cl.kernel"] = "cl.build",
  ["family.bench"] = "bench",
  ["results:bar"] = "plot.bar",
  ["results:html"] = "html",
  ["results:ladder"] = "plot.ladder",
  ["results:plot"] = "plot.line",
  ["results:roofline"] = "plot.roofline",
  ["results:table"] = "report.format",
}

--- calls.gives
--- The class of module cl of what a call gives, or of a field ("Class.name").
M.gives = {
  ["cl.array"] = "Array",
  ["cl.buffer"] = "Buffer",
  ["cl.build"] = "Program",
  ["cl.build_binary"] = "Program",
  ["cl.context"] = "Context",
  ["cl.device"] = "Device",
  ["cl.kernel"] = "Kernel",
  ["cl.queue"] = "Queue",
  ["cl.use"] = "Device",
  ["matrix.from"] = "Buffer",
  ["matrix.identity"] = "Buffer",
  ["matrix.load"] = "Buffer",
  ["matrix.ones"] = "Buffer",
  ["matrix.random"] = "Buffer",
  ["matrix.zeros"] = "Buffer",
  ["family"] = "Buffer",
  ["Buffer.context"] = "Context",
  ["Buffer:matrix"] = "Buffer",
  ["Buffer:pad"] = "Buffer",
  ["Buffer:read"] = "Array",
  ["Buffer:sub"] = "Buffer",
  ["Buffer:transposed"] = "Buffer",
  ["Buffer:view"] = "Buffer",
  ["Context.device"] = "Device",
  ["Context.queue"] = "Queue",
  ["Event:wait"] = "Event",
  ["Kernel.program"] = "Program",
  ["Kernel:range"] = "Launch",
  ["Launch.kernel"] = "Kernel",
  ["Launch:on"] = "Launch",
  ["Launch()"] = "Event",
  ["Program.context"] = "Context",
  ["Program:kernel"] = "Kernel",
  ["Queue.context"] = "Context",
}

--- calls.objects
--- What the methods of tables are declared under, by their metatable's name.
M.objects = {["CSR matrix"] = "Csr", ["DIA matrix"] = "Dia",
  ["clshell.results"] = "results"}

return M
