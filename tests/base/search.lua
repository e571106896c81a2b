-- search.lua - where modules are found: clshell's own and their libraries
-- where they were installed, those of the user last in the working folder.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local scratch = require "scratch"
local search = require "clshell.base.search"

local create, sh = scratch.create, scratch.sh
local lua = os.getenv "LUA" or "lua5.4"

-- A folder full of files that have the names of clshell's modules and of
-- their libraries; each tells that it ran.
local HOSTILE = {"clshell.lua", "clshell/init.lua", "clshell/gemm.lua",
  "clshell/stats.lua", "clshell/base/lazy.lua", "clshell/base/search.lua",
  "clshell/results/store.lua", "clshell/shell/prompt.lua",
  "clshell/shell/commands/actions.lua", "clshell/shell/prompt/init.lua",
  "clshell/system.lua", "cl.lua", "cl/host.lua", "argparse.lua",
  "argparse/init.lua", "DBI.lua", "DBI/init.lua", "dbd/sqlite3.lua",
  "dbd/sqlite3/init.lua"}

local function plant(folder)
  sh(("for d in clshell/base clshell/results clshell/shell/commands "
    .. "clshell/shell/prompt cl argparse DBI dbd/sqlite3; "
    .. "do mkdir -p %s/$d; done"):format(folder))
  for _, name in ipairs(HOSTILE) do
    create(folder .. "/" .. name, "io.stderr:write('HOSTILE\\n') return {}")
  end
  for _, name in ipairs{"cl", "cl/host", "dbd/sqlite3", "argparse"} do
    create(("%s/%s.so"):format(folder, name), "no library")
  end
end

-- Runs a command among the hostile files; fails unless it ends with 0 and none
-- of them ran.
local function safe(command, ...)
  local out, err, code = sh(command)
  t.ok(not (out .. err):find("HOSTILE", 1, true), command .. ":\n" .. err)
  t.eq(code, 0, command .. ":\n" .. out .. err)
  scratch.has(out, ...)
end

plant "bad"

t.test("commands do not run the working folder's files", function()
  create("runs.jsonl", '{"name":"gemm.mine","median":0.5}\n')
  local go = "cd bad; export CLSHELL_STORE=../kept.db; $clshell "
  t.skip_if(not search.library "dbd.sqlite3", "SQLite for Lua is missing")
  safe(go .. "import ../runs.jsonl")
  create("bad/history", "io.stderr:write('HOSTILE\n')")
  safe(go .. "history", "gemm.mine")
  safe(go .. "best", "gemm.mine")
  safe(go .. "compare 1 1", "gemm.mine")
  safe(go .. "export", "gemm.mine")
  safe(go .. "prune --keep 1")
  safe(go .. "-l clshell.stats -p 'clshell == nil, #history()'", "1")
  safe(go .. "--manual bash", "complete")
  safe(go .. "--help", "clshell")
end)

t.test("--doctor, -e, -l, -I and the prompt do not either", function()
  for _, options in ipairs{"", "-I . ", "-I '' ", '-I "$PWD" '} do
    local go = "cd bad; $clshell " .. options
    safe(go .. "-e 'require \"clshell.gemm\" gemm.kernels()'")
    safe(go .. "-l clshell.gemm -p 'require\"clshell.stats\".median ~= nil'",
      "true")
    safe(go .. "-p 'cl == require \"cl\", type(require \"cl.host\".blas)'",
      "true\tfunction")
    safe("cd bad; echo 'require(\"clshell.script\").parser(\"x\")\n"
      .. "#gemm.kernels() > 3' | $clshell -n -i " .. options, "true")
  end
  safe "cd bad; $clshell --doctor || [ $? = 3 ]"
end)

t.test("a relative CLSHELL_HOME stays the folder that it named", function()
  safe(("cd %s; CLSHELL_HOME=. $clshell -e 'require \"clshell.system\".chdir "
    .. "\"%s/bad\" print(type(gemm.kernels))'"):format(cl.home, scratch.dir),
    "function")
end)

t.test("a script does not run such files beside it", function()
  create("bad/script.lua", [[
    local parser = require "clshell.script".parser("x")
    require "clshell.store".open("none.db", {create = false})
    print(#gemm.kernels() > 3, gemm == require "clshell.gemm",
      require "clshell.stats".median ~= nil, type(require "argparse"),
      require "cl" == cl, pcall(require, "dbd.sqlite3"))]])
  safe("$clshell bad/script.lua", "true\ttrue\ttrue")
  safe("cd bad; $clshell script.lua", "true\ttrue\ttrue")
  safe("cd bad; $clshell <script.lua", "true\ttrue\ttrue")
  safe("echo '%run bad/script.lua' | $clshell -n -i", "true\ttrue\ttrue")
  safe("cd bad; LUA_PATH_5_4=';;' $clshell script.lua", "true\ttrue\ttrue")
  safe("cd bad; LUA_PATH_5_4='./?.lua;;' $clshell script.lua",
    "true\ttrue\ttrue")
end)

t.test("libraries are not taken from the path of the user", function()
  safe("cd bad; LUA_PATH_5_4='?.lua;./?.lua' LUA_CPATH_5_4='./?.so' "
    .. "$clshell -e 's = require \"clshell.base.search\" "
    .. "print(s.library \"argparse\", s.library \"dbd.sqlite3\")'",
    "nil\tnil")
end)

t.test("a user's module beside the script is found", function()
  sh "mkdir -p app/part clshell away; cd app; mkdir clshell"
  create("app/mine.lua", "return 'beside'")
  create("app/part/init.lua", "return 'part'")
  create("app/gemm.lua", "return 'their gemm'")
  create("app/clshell/mine.lua", "return 'their clshell.mine'")
  create("app/clshell/gemm.lua", "error 'never'")
  create("away/mine.lua", "return 'here'")
  create("away/only.lua", "return 'only here'")
  create("app/main.lua", [[print((require "mine"), (require "part"),
    (require "gemm"), (require "clshell.mine"),
    require "clshell.gemm" == gemm, select(2, pcall(require, "only")))]])
  local expected = "beside\tpart\ttheir gemm\ttheir clshell.mine\ttrue\t"
  safe("cd away; $clshell ../app/main.lua", expected .. "only here")
  safe("cd away; echo '%run ../app/main.lua\npackage.path' | $clshell -n -i",
    expected .. "only here", "/?/init.lua;./?.lua;./?/init.lua")
  safe("cd away; $clshell -p '(require \"mine\")'", "here")
  safe("cd away; $clshell -I ../app -p '(require \"mine\")'", "beside")
  create("away/tool", "print 'their tool'")
  safe("cd away; $clshell tool", "their tool")
  safe("$clshell -I app -I away -l mine -l only -p mine -p only",
    "beside\nonly here")
end)

t.test("an installed C module comes before a Lua file here", function()
  t.skip_if(not search.library "dbd.sqlite3", "SQLite for Lua is missing")
  create("bad/c.lua", "print(type((require 'dbd.sqlite3').New))")
  safe("cd bad; $clshell c.lua", "function")
  safe("cd bad; $clshell -p 'type((require \"dbd.sqlite3\").New)'",
    "function")
  safe("$clshell -p '(require \"dbd.sqlite3\") ~= nil'", "true")
end)

t.test("stock Lua looks where its own paths say", function()
  local out, err = sh(([[cd bad; LUA_PATH_5_4=/no/?.lua LUA_CPATH='%s/?.so' \
    %s -e 'print(require "cl".version, type(require "cl.host".gemm_loop))'
    ]]):format(t.build, lua))
  t.ok(out:find("^%d+%.%d+%.%d+\tfunction") ~= nil, out .. err)
end)

scratch.done()
