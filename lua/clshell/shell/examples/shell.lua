-- shell/examples/shell.lua - examples that help shows: the shell itself
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
local show = require "clshell.shell.prompt.show"
print(show.text({1, 2, x = "y"}, {width = 60}))

--- show
show{1, 2, x = "y"}
show(cl.array("float", {100, 100}), "all")

--- tutorial.start
require("clshell.shell.prompt.tutorial").start() -- ?tutorial at the prompt

--- time
print(time(function(a, b) return a * b end, 6, 7))

--- commands.define
local commands = require "clshell.shell.prompt.commands"
commands.define("hello", function(rest)
  return "hello " .. rest
end, "name\ngreets somebody") -- at the prompt: %hello world

--- commands.help
require "clshell.shell.prompt.commands".help "time" -- at the prompt: ?%time

--- commands.run
local path = os.tmpname()
local file <close> = io.open(path, "w")
file:write("print(...) return select('#', ...)")
file:close()
print(require "clshell.shell.prompt.commands".run(path, "a", "b")) --> 2
os.remove(path)

--- commands.reload
local commands = require "clshell.shell.prompt.commands"
local text = require "clshell.base.text"
print(commands.reload "clshell.base.text" == text) --> true

--- commands.edit
-- at the prompt: %edit, %edit name_of_a_function, %edit kernel.cl

--- commands.cd
local system = require "clshell.system"
print(require "clshell.shell.prompt.commands".cd "." == system.cwd()) --> true

--- commands.shell
require "clshell.shell.prompt.commands".shell "uname -m" -- at the prompt: !uname -m

--- commands.save
-- at the prompt: %save session.lua, and then: clshell session.lua

--- commands.restore
-- at the prompt of a new session, after one was killed: %restore

--- commands.restart
-- at the prompt, where a GPU was lost: %restart

--- commands.who
_G.x = 5
require "clshell.shell.prompt.commands".who() -- at the prompt: %who
_G.x = nil

--- commands.history
require "clshell.shell.prompt.commands".history(5) -- at the prompt: %history 5

--- commands.paste
-- at the prompt: %paste, the lines, and then -- on a line of its own

--- commands.set
-- at the prompt: %set color=off, %set locals=lua, or %set for what there is
require "clshell.shell.prompt.commands".set()

--- commands.tb
require "clshell.shell.prompt.commands".tb() -- at the prompt: %tb

--- commands.device
require "clshell.shell.prompt.commands".device() -- at the prompt: %device

--- cl.nearest
print(cl.nearest("doubles", {"float", "double", "int"})) --> double
