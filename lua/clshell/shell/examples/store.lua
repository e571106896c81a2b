-- shell/examples/store.lua - examples that help shows: the run store, JSON,
-- units, progress
-- SPDX-License-Identifier: MIT

--- store.open
local store = require "clshell.store"
local s <close> = assert(store.open "runs.db") -- made if there is none
print(#s:list{} >= 0) --> true

--- store.moment
local store = require "clshell.store"
print(store.moment "2026-01-31") --> 2026-01-31
print(store.moment "7d")

--- store.location
print(require("clshell.store").location())

--- store.default
local s, why = require("clshell.store").default()
print(s ~= nil or why)

--- store.use
local store = require "clshell.store"
store.use "mine.db"
print(store.location()) --> mine.db
store.use(nil) -- what the environment says again

--- store.keep
local store = require "clshell.store"
print(store.keep(bench.of("mine", {0.011, 0.010})))

--- s:keep
local s <close> = assert(require("clshell.store").open "kept.db")
local id = s:keep(bench.of("mine", {0.011, 0.010}))
print(s:get(id).name) --> mine

--- s:list
local s <close> = assert(require("clshell.store").open "kept.db")
s:keep(bench.of("mine", {0.011, 0.010}))
for _, run in ipairs(s:list{name = "mine", limit = 5}) do
  print(run.id, run.time, run.median)
end

--- s:get
local s <close> = assert(require("clshell.store").open "kept.db")
local id = s:keep(bench.of("mine", {0.25}))
print(s:get(id).median) --> 0.25

--- s:runs
local s <close> = assert(require("clshell.store").open "kept.db")
for r in s:runs{name = "mine", since = "7d"} do
  print(r.name, r.median, #r.samples)
end

--- s:remove
local s <close> = assert(require("clshell.store").open "kept.db")
local id = s:keep(bench.of("mine", {0.25}))
print(s:remove{[id] = true}) --> 1

--- s:export
local s <close> = assert(require("clshell.store").open "kept.db")
s:keep(bench.of("mine", {0.25}))
local file <close> = assert(io.open("runs.ndjson", "w"))
print(s:export(file, {name = "mine"}) >= 1) --> true

--- s:import
local store = require "clshell.store"
local a <close> = assert(store.open "a.db")
a:keep(bench.of("mine", {0.25}))
local file <close> = assert(io.tmpfile())
a:export(file)
file:seek("set")
local b <close> = assert(store.open "b.db")
print((b:import(file)) >= 1) --> true

--- s:close
local s = assert(require("clshell.store").open "kept.db")
s:close()

--- json.encode
local json = require "clshell.json"
print(json.encode{name = "tiled", sizes = {8, 16}})
--> {"name":"tiled","sizes":[8,16]}

--- json.decode
local json = require "clshell.json"
print(json.decode('{"sizes": [8, 16]}').sizes[2]) --> 16

--- json.list
local json = require "clshell.json"
print(json.encode{flags = json.list{}}) --> {"flags":[]}

--- json.object
local json = require "clshell.json"
print(json.encode(json.object{{"n", 64}, {"k", 8}})) --> {"n":64,"k":8}

--- json.raw
local json = require "clshell.json"
print(json.encode{json.raw "0.10"}) --> [0.10]

--- json.null
local json = require "clshell.json"
print(json.encode{1, json.null, 3}) --> [1,null,3]

--- quantity.number
local quantity = require "clshell.quantity"
print(quantity.number(1234.5678), quantity.number(0.5, 3)) --> 1235 0.500

--- quantity.digits
local quantity = require "clshell.quantity"
print(quantity.digits(0.05)) --> 3

--- quantity.prefix
local quantity = require "clshell.quantity"
print(quantity.prefix(5.53e10, "FLOP/s")) --> 1000000000.0 GFLOP/s

--- quantity.format
local quantity = require "clshell.quantity"
print(quantity.format(65536, "B"), quantity.format(1.234e-3, "s"))
--> 64 KiB 1.234 ms

--- style.use
local style = require "clshell.style"
style.use "never" -- like --color never
style.use "auto"

--- style.color
local style = require "clshell.style"
print(style.color(1) and "coloured" or "plain")

--- style.utf8
print(require("clshell.style").utf8())

--- style.glyphs
print(require("clshell.style").glyphs())

--- style.paint
local style = require "clshell.style"
print(style.paint("fastest", "bold", style.color(1)))

--- progress.new
local progress = require "clshell.progress"
local p <close> = progress.new{total = 3}
for i = 1, 3 do
  p:step("part " .. i)
end

--- progress:step
local p <close> = require("clshell.progress").new{total = 1}
p:step "tiled tile=16"

--- progress:note
local p <close> = require("clshell.progress").new{total = 1}
p:note "best 61.2 GFLOP/s"

--- progress:done
local p = require("clshell.progress").new{total = 1}
p:step "the only one"
p:done()
