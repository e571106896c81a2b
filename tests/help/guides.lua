-- guides.lua - runs the pages by task: each command and each input of their
-- examples, in a folder and a session of its own, and compares what they print
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"
local concepts = require "clshell.shell.help.concepts"
local quote = require("clshell.base.text").quote
local screen = require "screen"

t.keeps "Device"

-- Pages whose blocks are tables.
local TABLES = {glossary = true, compared = true, how_to = true}

local CACHE = os.getenv "XDG_CACHE_HOME" or os.getenv "HOME" .. "/.cache"
local simulated = require "clshell.explain.trace".plugin()

-- The blocks of indented lines of a text, without the indentation.
local function blocks_of(text)
  local list, block = {}, nil
  for line in (text .. "\n\n"):gmatch "([^\n]*)\n" do
    local code = line:match "^  (.*)$"
    if code and not block then
      block = {}
      list[#list + 1] = block
    end
    if code then
      block[#block + 1] = code
    else
      block = nil
    end
  end
  return list
end

-- The steps of a block: {kind =, input =, want =}.
local function steps_of(block)
  local steps = {}
  for _, line in ipairs(block) do
    local sign, rest = line:match "^(cl>) (.*)$"
    if not sign then
      sign, rest = line:match "^(%$) (.*)$"
    end
    local last = steps[#steps]
    if sign then
      steps[#steps + 1] = {kind = sign, input = rest, want = ""}
    elseif last and line:find "^%.%.> " then
      last.input = last.input .. "\n" .. line:sub(5)
    elseif last then
      last.want = last.want .. line .. "\n"
    end
  end
  return steps
end

-- A text without what load changes in it: the verdict of a comparison and its
-- sentence, the interval of a median, which needs samples, and their number;
-- and the part of a roof at the clock, which not all machines tell.
local function steady(s)
  return (s:gsub(" SAME time,\n", " ")
    :gsub("[^\n]* times [^\n]*\n(  a: )", "%1")
    :gsub("%u+", {FASTER = "VERDICT", SLOWER = "VERDICT", SAME = "VERDICT",
    UNCLEAR = "VERDICT"}):gsub(" %[[%d.e+-]+, [%d.e+-]+%]", "")
    :gsub(" 95%%", ""):gsub("%(%d+ dropped%)", ""):gsub("min [%d.]+", "")
    :gsub("%S+ at its clock", ""))
end

-- A word as it is compared: numbers and the prefixes of units vary.
local UNITS = {s = "s", ms = "s", us = "s", ["µs"] = "s", ns = "s",
  MFLOPS = "F", GFLOPS = "F", TFLOPS = "F"}
local function plain(word, before)
  return UNITS[word] or before ~= "code" and word:find "%d" and "#" or word
end

-- The words of a text, an exit code as it is.
local function words_of(text)
  local list, before = {}, nil
  for word in text:gmatch "%S+" do
    list[#list + 1], before = plain(word, before), word
  end
  return list
end

-- Fails unless a text has the words wanted, in this order; ... stands for any.
local function check(step, text)
  local got, want = words_of(steady(text)), words_of(steady(step.want))
  if step.input:find "gate.sh" and text:find "1 UNCLEAR" then
    return -- passes the gate: load kept a run from ten samples
  end
  local at, free, part = 1, false, {}
  local function find()
    local last = free and #got - #part + 1 or at
    for from = at, last do
      local same = true
      for i, word in ipairs(part) do
        same = same and got[from + i - 1] == word
      end
      if same then
        at = from + #part
        return true
      end
    end
    return #part == 0
  end
  local function matched()
    t.ok(find(), ("%s\nshould print\n%s\nbut prints\n%s"):format(step.input,
      step.want, text))
    part = {}
  end
  for _, word in ipairs(want) do
    if word == "..." then
      matched()
      free = true
    else
      part[#part + 1] = word
    end
  end
  if #part > 0 or not free then
    local most = #got - #part + 1
    if free then
      at = math.max(at, most) -- the last part ends the text
    end
    matched()
    t.ok(at > #got, ("%s\nprints more than\n%s\n%s"):format(step.input,
      step.want, text))
  end
end

-- The text behind the last input: what it printed.
local function typed(s, step)
  local before = #s:text(true)
  s:paste(step.input)
  s:send "\r"
  local text = s:until_true("a prompt after " .. step.input, function()
    local all = s:text(true)
    return #all > before and all:sub(-4) == "\ncl>" and all
  end)
  local _, breaks = step.input:gsub("\n", "")
  local rest = text:sub(before + 1):gsub("\ncl>$", "")
  for _ = 1, breaks do
    rest = rest:gsub("^[^\n]*\n", "", 1)
  end
  return (rest:gsub("^[^\n]*", "", 1))
end

local PROGRAM = t.build .. "/clshell"

-- A new folder, removed when it is closed.
local function new_folder()
  local path = t.capture "mktemp -d":gsub("\n$", "")
  t.capture(("mkdir %s/bin && ln -s %s %s/bin/clshell"):format(quote(path),
    quote(PROGRAM), quote(path)))
  return setmetatable({path = path}, {__close = function()
    os.execute("rm -rf " .. quote(path))
  end})
end

local function open(folder)
  local s = screen.ready{width = 74, height = 60, command =
    ("sh -c %s"):format(quote(("cd %s && exec %s -q"):format(folder.path,
    PROGRAM))), env = ("PAGER=cat CLSHELL_HOME=%s CLSHELL_STORE=%s/runs.db")
    :format(quote(cl.home), folder.path)}
  return s
end

-- What a page needs and does not say: a repository with a commit.
local function commit(folder)
  t.capture(("cd %s && git init -q && git add -A && git -c user.name=t "
    .. "-c user.email=t@t commit -qm t"):format(quote(folder.path)))
end

local function shell(folder, step)
  if step.input:find "gate.sh" and not folder.committed then
    commit(folder)
    folder.committed = true
  end
  local status = t.capture(("cd %s && export HOME=$PWD XDG_STATE_HOME=$PWD/s "
    .. "XDG_CONFIG_HOME=$PWD/c XDG_CACHE_HOME=%s CLSHELL_HOME=%s "
    .. "CLSHELL_STORE=$PWD/runs.db "
    .. "COLUMNS=80 PATH=$PWD/bin:$PATH && { %s\n } 2>&1; echo \"exit $?\"")
    :format(quote(folder.path), quote(CACHE), quote(cl.home), step.input))
  local text, code = status:match "^(.*)exit (%d+)\n$"
  t.eq(code, step.code or "0", step.input .. "\n" .. status)
  return text
end

-- A block that begins with the comment of a file's name is that file.
local function write(folder, block)
  local name = block[1]:match "^[-/#]+ ([%w_.]+%.%w+)$"
  if name then
    t.write(folder.path .. "/" .. name, table.concat(block, "\n"), "\n")
  end
  return name
end

for _, entry in ipairs(concepts.list) do
  if entry.guide then
    t.test("the examples of ?" .. entry.name, function()
      local needs = entry.text:find "%%check" or entry.text:find "%%access"
      t.skip_if(needs and not simulated,
        "there is no simulator, or no plugin for it")
      t.skip_if(cl.device().type ~= "cpu", "the outputs are of a CPU")
      local folder <close> = new_folder()
      local session <close> = setmetatable({}, {__close = function(self)
        if self.screen then
          self.screen:close()
        end
      end})
      for _, block in ipairs(blocks_of(entry.text)) do
        local steps = steps_of(block)
        t.ok(write(folder, block) or #steps > 0 or TABLES[entry.name],
          "a block without a command: " .. block[1])
        for _, step in ipairs(steps) do
          if step.kind == "$" then
            check(step, shell(folder, step))
          else
            session.screen = session.screen or open(folder)
            check(step, typed(session.screen, step))
          end
        end
      end
    end)
  end
end

t.test("the programs of ?compared have as many lines as it says", function()
  local folder = t.here .. "/tests/peers/tasks"
  local row = concepts.find "compared".text:match "GEMM, lines ([^\n]*)"
  local counts = {}
  for _, name in ipairs{".lua", "_pyopencl.py", "_kernel_tuner.py",
      "_nvbench.py"} do
    counts[#counts + 1] = t.capture(("grep -cv '^ *$' %s/gemm%s"):format(
      quote(folder), name)):match "%d+"
  end
  t.eq(table.concat(counts, " "), row:gsub("%s+", " "))
  local out = t.capture(("cd %s && CLSHELL_HOME=%s CLSHELL_STORE=none %s "
    .. "gemm.lua 2>&1"):format(quote(folder), quote(cl.home), quote(PROGRAM)))
  t.ok(out:find("GFLOPS", 1, true) and out:find("error", 1, true), out)
end)

t.done()
