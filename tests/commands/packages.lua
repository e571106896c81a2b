-- packages.lua - .ci/deps on a machine that has nothing of a group: it names
-- each package, and installs none without apt-get
-- SPDX-License-Identifier: MIT
local t = require "t"
local scratch = require "scratch"

-- What .ci/deps says of a group, and its exit code: with the commands of
-- a bare system alone.
local function missing(group)
  local out, _, code = scratch.sh(([[mkdir -p bin; rm -f bin/*
    for f in sh cat tr sed grep head uname; do
      ln -s "$(command -v $f)" bin/$f; done
    env -i PATH="$PWD/bin" OCL_ICD_VENDORS=/none sh %s/.ci/deps %s 2>&1]])
    :format(t.here, group))
  return out, code
end

t.test("each package of each group is named", function()
  local names = {run = {"gcc", "liblua5.4-dev"},
    check = {"clang", "lua5.4", "tmux"}, lint = {"lua-check", "codespell"},
    simulate = {"oclgrind"}}
  for group, packages in pairs(names) do
    local out, code = missing(group)
    t.eq(code, 2, out)
    for _, name in ipairs(packages) do
      t.ok(out:find("apt%-get install[^\n]* " .. name:gsub("%p", "%%%0")),
        group .. ": " .. name .. ": " .. out)
    end
  end
end)

scratch.done()
