#!/usr/bin/env clshell
-- claims.lua - tries the claims of course texts on GPU kernels on the device
-- at hand: each holds here, does not hold, or cannot be tried.
-- SPDX-License-Identifier: MIT

local claims = require "clshell.claims"
local output = require "clshell.output"
local script = require "clshell.script"

local parser = script.parser("claims.lua",
  "Tries claims of course texts on this device, each with its factor.",
  "A gain holds if half of the claimed gain shows, and 5 %; \"no gain\" if "
  .. "less than 5 % do. Two kernels are verified, then measured in turns "
  .. "(compare).")
parser:argument("claim", "only these, such as A2 or D (default: all)")
  :args("*")
parser:option("-n --size", "of square matrices; 256 on a CPU, 2048 on a GPU "
  .. "if left out, twice that with --final"):convert(script.size)
parser:flag("--final", "take longer for tighter intervals")
parser:flag("--list", "print the claims and end")
output.options(parser)
local args = script.parse(parser)

local list = claims.new{final = args.final,
  n = args.size or args.list and 1 or nil} -- a list needs no device
local wanted = list:select(args.claim)
if #wanted == 0 then
  parser:error("no claim has the name " .. table.concat(args.claim, " "))
elseif args.list then
  for _, claim in ipairs(wanted) do
    print(("%-4s%s"):format(claim.id, claim.says))
  end
  return
end

script.fits(parser, ("three matrices of %dx%d"):format(list.n, list.n),
  12.0 * list.n * list.n)
local out <close> = output.open(parser, args)
out:heading(("%d claim%s; matrices of %dx%d unless stated otherwise")
  :format(#wanted, #wanted == 1 and "" or "s", list.n, list.n))
peaks()
local count = {}
local progress <close> = script.progress(#wanted)
for _, claim in ipairs(wanted) do
  progress:step(claim.id)
  local r = list:try(claim)
  progress:done()
  out:say(claims.text(r))
  out.results[#out.results + 1] = r
  count[r.verdict] = (count[r.verdict] or 0) + 1
end
out:say(("\n%d hold here, %d do not, %d are unclear, %d cannot be tried.")
  :format(count[claims.HOLDS] or 0, count[claims.NOT] or 0,
    count[claims.UNCLEAR] or 0, count[claims.CANNOT] or 0))
