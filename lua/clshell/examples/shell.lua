-- examples/shell.lua - examples that help shows: the shell itself
-- SPDX-License-Identifier: MIT

--- help
help "gemm.tiled" -- at the prompt: ?gemm.tiled
help(cl.buffer)

--- help.text
print(help.text("cl.queue", {width = 60}):match "^[^\n]*")
--> cl.queue([opts]) -> Queue

--- help.of
local function twice(x) return 2 * x end
print(help.of(twice):match "^[^ ]*") --> This(x)

--- help.page
print(help.page "local memory")

--- help.search
print(help.search("bank conflict", {width = 80, height = 10}))

--- help.at
local line = "gemm(A, B, {kernel = 'tiled'})"
print(help.at(line, 10):match "^[^\n]*") --> gemm(A, B [, opts]) -> C, event

--- help.options
for _, option in ipairs(help.options "cl.queue") do
  print(option.name, option.default, option.text)
end

--- show
local t = {}
for i = 1, 1000 do t[i] = i end
show(t)
show(t, "all")

--- show.text
local show = require "clshell.prompt.show"
print(show.text({1, 2, x = "y"}, {width = 60}))

--- show
show{1, 2, x = "y"}
show(cl.array("float", {100, 100}), "all")

--- tutorial.start
require("clshell.prompt.tutorial").start() -- ?tutorial at the prompt
