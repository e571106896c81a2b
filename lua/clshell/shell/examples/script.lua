-- shell/examples/script.lua - examples that help shows: scripts and their
-- output
-- SPDX-License-Identifier: MIT

--- script.parser
local script = require "clshell.script"
local parser = script.parser("mine", "measures something of mine")
parser:argument("n", "side of the matrices"):convert(script.size)
  :default "512"

--- script.parse
local script = require "clshell.script"
local parser = script.parser("mine", "measures something of mine")
parser:argument("n", "side"):convert(script.size):default "512"
print(script.parse(parser).n) -- 512, or what followed the script's name

--- script.find
local script = require "clshell.script"
print(script.find "bench_tiles.lua") -- its path
print(script.find "none.lua") -- nil and a message

--- script.call
local script = require "clshell.script"
print(script.call("my.lua", function(n) return arg[0], n end, 512))

--- script.size
local script = require "clshell.script"
print(script.size "4k") --> 4096

--- script.integer
local script = require "clshell.script"
print(script.integer "-7") --> -7

--- script.shape
local script = require "clshell.script"
print(script.shape("127x65x33")[2]) --> 65

--- script.gemm_shape
local script = require "clshell.script"
print(table.concat(script.gemm_shape "512", " ")) --> 512 512 512

--- script.matrix_shape
local script = require "clshell.script"
print(table.concat(script.matrix_shape "64x32", " ")) --> 64 32

--- script.kernel
local script = require "clshell.script"
local convert = script.kernel(gemm)
print(convert "tiled") --> tiled
print(select(2, convert "tild"))

--- script.readable
local script = require "clshell.script"
print(script.readable "missing.npy" == nil) --> true

--- script.fits
local script = require "clshell.script"
script.fits(script.parser("mine", ""), "matrices of 64x64", 3 * 64 * 64 * 4)

--- progress.notice
local notice <close> = require("clshell.progress").notice("building, once",
  "building: ")
notice:step "the first program"

--- script.progress
local script = require "clshell.script"
local progress <close> = script.progress(3)
for i = 1, 3 do
  progress:step("part " .. i)
end

--- output.options
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "measures something of mine")
output.options(parser) -- --format, --output, --store, --tag, --color

--- output.said
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "a script with a format of its own")
parser:option("--format", "how to print"):choices{"csv", "json"}
local args = parser:parse{"--format", "csv"}
output.said(args) -- what `clshell --format` and -o said, where it is nil
print(args.format) --> csv

--- output.open
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "measures something of mine")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
out:say "what comes next"

--- out:say
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
out:say "only for people: not with --format csv"

--- out:mute
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
out:mute(cl.commandline.rank > 0)
out:say "once" --> once

--- out:add
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
out:add(bench.of("a", {0.01})) -- in no table; in the file of -o

--- out:heading
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
out:heading "Matrices of 64x64"

--- out:part
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
do
  local part <close> = out:part{columns = {"name", "time"}, steps = 1}
  part:step "a"
  part:add(bench.of("a", {0.01}))
end

--- part:step
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
local part <close> = out:part{columns = {"name", "time"}, steps = 2}
part:step "the first of two"

--- part:add
local output, script = require "clshell.output", require "clshell.script"
local parser = script.parser("mine", "")
output.options(parser)
local out <close> = output.open(parser, parser:parse{})
local part <close> = out:part{columns = {"name", "time"}}
part:add(bench.of("a", {0.01}))

--- script.writable
local script = require "clshell.script"
print(script.writable "results.csv") --> results.csv
