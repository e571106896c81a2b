-- manual.lua - what is generated from the table of options: the manual page
-- and the completions, tried in the shells themselves, and their installation
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"
local quote = require("clshell.base.text").quote
local scratch = require "scratch"

t.keeps("Device")

local build, capture = t.build, t.capture
local clshell = build .. "/clshell"
local contains, create, dir = scratch.has, scratch.create, scratch.dir

local function need(program)
  if capture("command -v " .. program) == "" then
    t.skip(program .. " is not installed")
  end
end

local function manual(kind)
  local out = capture(clshell .. " --manual " .. kind)
  t.ok(#out > 500, out)
  return create(kind, out), out
end

local declared = require "clshell.shell.commands.subcommands"

t.test("the manual page is clean mdoc", function()
  local path = manual "man"
  need "mandoc"
  t.eq(capture("mandoc -Tlint <" .. path .. " 2>&1"), "")
end)

t.test("every option is in the page and completed", function()
  local _, man = manual "man"
  local words = require "clshell.shell.commands.completion".words
  local function listed(options, before)
    t.ok(#options > 0)
    table.insert(before, "-")
    local lines = "\n" .. table.concat(words.line(before), "\n")
    for _, o in ipairs(options) do
      for _, name in ipairs(o.names) do
        contains(man, "Fl " .. name:sub(2))
        contains(lines, "\n" .. name .. (o.arg and name:find "^%-%-" and "="
          or "") .. "\t" .. o.description)
      end
    end
  end
  local own = declared.own()
  t.ok(#own > 15)
  listed(own, {})
  for _, o in ipairs(declared.own(true)) do
    contains(man, "Fl " .. o.names[#o.names]:sub(2))
  end
  for _, c in ipairs(declared.list()) do
    contains(man, ".It Cm " .. c.name)
    listed(c.options, {"-d", "cpu", c.name})
  end
  listed(declared.shared(), {"bench_tiles.lua"})
end)

t.test("--complete", function()
  local function words(kind)
    return capture(clshell .. " --complete " .. kind)
  end
  contains(words "script", "bench_tiles.lua\n")
  contains(words "command", "tune\nhistory\nbest\ncompare\n")
  contains(words "format", "json\n")
  contains(words "option", "-d\n--device\n")
  local devices = words "device"
  for _, d in ipairs(cl.devices()) do
    contains("\n" .. devices, "\n" .. d.name .. "\n")
    contains("\n" .. devices, "\n" .. d.type .. "\n")
  end
  contains(capture(clshell .. " --complete divice 2>&1; echo $?"),
    "did you mean 'device'?")
  contains(capture(clshell .. " --complete divice 2>&1; echo $?"), "2\n")
  contains(capture(clshell .. " --manual x 2>&1; echo $?"), "2\n")
end)

-- What each shell offers after words; what it is asked is checked for one
-- word of the answer and one that must not be there.
local ASKED = {
  {"clshell --fo", "--format", "--device"},
  {"clshell --format js", "json", "csv"},
  {"clshell his", "history", "best"},
  {"clshell bench_ti", "bench_tiles.lua", "hello.lua"},
  {"clshell -d cpu -q history --sin", "--since", "--help-all"},
  {"clshell history --format js", "json", "csv"},
  {"clshell compare --fail", "--fail-on-regression", "--since"},
  {"clshell bench_tiles.lua --for", "--format", "--since"},
  {"clshell tune --ev", "--evaluations", "--since"},
  {"clshell tune tr", "transpose", "gemm"},
  {"clshell prune --older", "--older-than", "--device"},
}

-- A folder of files, and the program as `clshell` in PATH.
local function place()
  create("own.lua", "")
  create("own.txt", "")
  os.execute(("mkdir -p %s/folder"):format(dir))
  return ("cd %s; PATH=%s:$PATH HOME=%s TERM=xterm"):format(quote(dir),
    quote(build), quote(dir))
end

local function asks(answer)
  for _, a in ipairs(ASKED) do
    local out = answer(a[1])
    contains(out, a[2])
    t.ok(not ("\n" .. out):find("\n" .. a[3]:gsub("%p", "%%%0")),
      a[1] .. ": " .. out)
  end
  contains(answer "clshell own", "own.lua")
  contains(answer "clshell bench_tiles.lua -o own", "own.txt")
  for _, d in ipairs(cl.devices()) do
    contains(answer "clshell -d ", d.type)
    local begin = d.name:match("^[%w-]+")
    contains(answer("clshell -d " .. begin), begin)
  end
end

t.test("bash completes", function()
  need "bash"
  local path = manual "bash"
  local script = create("ask.sh", ([==[
source %s
COMP_LINE=$1 COMP_POINT=${#1}
read -ra COMP_WORDS <<<"${1//=/ = }"
[[ $1 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_clshell clshell
printf '%%s\n' "${COMPREPLY[@]}"
]==]):format(quote(path)))
  local function answer(line)
    return capture(("%s bash %s %s 2>&1"):format(place(), script,
      quote(line)))
  end
  asks(answer)
  t.eq(answer "clshell --color=al", "always\n")
  t.eq(answer "clshell --color=never his", "history\n")
  t.eq(answer "clshell -e 'print(1)' --qu", "--quiet\n")
  local out = answer "clshell -I "
  contains(out, "folder")
  t.ok(not out:find("own", 1, true), out)
end)

-- Types steps of tests/pty at the prompt of a shell.
local function at_prompt(shell, steps)
  local out = capture(("%s PS1='ready ' %s/tests/pty -t 300 %s <%s 2>&1 && "
    .. "echo fine"):format(place(), build, shell, create("steps", steps)))
  t.ok(out:match("fine\n$"), out)
end

t.test("bash, at its prompt", function()
  need "bash"
  at_prompt("bash --norc --noprofile -i", ([[
expect ready
send source %s\r
expect ready
send clshell --he\t\x01echo \x05\r
expect clshell --help
send clshell histo\t\x01echo \x05\r
expect clshell history
send exit\r
exit 0]]):format(manual "bash"))
end)

t.test("zsh completes", function()
  need "zsh"
  manual "zsh"
  os.execute(("mkdir -p %s/functions && mv %s/zsh %s/functions/_clshell")
    :format(dir, dir, dir))
  at_prompt("zsh -f -i", [[
expect ready
send fpath=($PWD/functions $fpath); autoload -Uz compinit\r
expect ready
send compinit -u -d $PWD/dump && echo loaded=$?\r
expect loaded=0
send clshell --fo\t
expect --format=
send js\t
expect json
send \x15clshell histo\t
expect history
send --sin\t
expect --since=
send \x15clshell bench_ti\t
expect bench_tiles.lua
send \x15clshell ow\t
expect own.lua
send \x15exit\r
exit 0]])
end)

t.test("fish completes", function()
  need "fish"
  local path = manual "fish"
  asks(function(line)
    return capture(("%s fish --no-config -c %s 2>&1"):format(place(),
      quote(("source %s; complete -C %s"):format(path, quote(line)))))
  end)
end)

t.test("installed with the program, and removed", function()
  need "make"
  local make = ("make -C %s BUILD=%s PREFIX=/opt/of\\ mine DESTDIR=%s/stage ")
    :format(quote(t.here), quote(build), quote(dir))
  local out = capture(make .. "install-files 2>&1 && echo fine")
  t.ok(out:match("fine\n$"), out)
  local root = dir .. "/stage/opt/of mine/"
  for _, file in ipairs{"share/man/man1/clshell.1",
    "share/bash-completion/completions/clshell",
    "share/zsh/site-functions/_clshell",
    "share/fish/vendor_completions.d/clshell.fish"} do
    local f <close> = assert(io.open(root .. file))
    t.ok(#f:read("a") > 500, file)
  end
  t.eq(capture("CLSHELL_HOME= " .. quote(root .. "bin/clshell")
    .. " -p 'cl.home'"), root .. "share/clshell\n")
  capture(make .. "uninstall 2>&1")
  t.eq(capture(("find %s/stage -type f"):format(quote(dir))), "")
end)

scratch.done()
