-- shell/commands/check_files.lua - clshell --check: compiles a script, the
-- modules beside it and the kernels that it names, and runs nothing
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local constant_calls = require "clshell.shell.commands.constant_calls"
local excerpt = require "clshell.errors.excerpt"
local families = require "clshell.ladder.families"
local plan = require "clshell.ladder.plan"
local program = require "clshell.ladder.program"
local public = require("clshell.base.lazy").public
local workload = require "clshell.ladder.workload"

local M = {}

local OK, FAILED, USAGE, NODEVICE = 0, 1, 2, 3 -- exit codes
local CALLS = {"cl.build", "cl.kernel", "family.new", "require"}
for _, name in ipairs(families.own()) do
  CALLS[#CALLS + 1] = name .. ".define"
end
local NONE = {}
local PUBLIC = base_text.set "arg _ENV _G _ self"
for _, name in ipairs(public.session) do
  PUBLIC[name] = true
end
for name in pairs(_G) do
  PUBLIC[name] = true
end
-- The options that compiling depends on.
local OPTIONS = {"defines", "options", "include", "cuda"}

local Check = {}
Check.__index = Check

function Check:say(format, ...)
  if not self.quiet then
    print(base_text.visible(format:format(...)))
  end
end

function Check:fail(message)
  io.stdout:flush()
  io.stderr:write(base_text.message(message), "\n")
  self.failed = true
end

-- Reports a call whose arguments are computed.
function Check:unknown(file, line, format, ...)
  self:say("%s:%d: %s: known only when it runs", file.name, line,
    format:format(...))
end

-- The value of an option in an argument; nil, and the option's name, where it
-- is computed.
local function option(fields, name)
  local field = fields[name]
  if field == nil then
    return nil
  elseif field.known then
    return field.value
  end
  for key, inner in pairs(field.fields or {}) do
    if not inner.known then
      return nil, ("%s.%s"):format(name, key)
    end
  end
  return nil, name
end

-- Compiles a source by cl.build or cl.kernel as if line `line` of the file
-- called it, so that the call looks for files beside the file and errors name
-- it. Reports the result.
function Check:compile(file, line, what, call, source, options)
  self.kernels = self.kernels + 1
  if self.nodevice then
    return
  end
  local code = ("%slocal f, s, o = ... local p = f(s, o) return p"):format(
    ("\n"):rep(line - 1))
  local ok, built = pcall(assert(load(code, file.chunk)), call, source,
    options)
  if not ok then
    return self:fail(tostring(built))
  end
  local whole = call == cl.build
  self:say("%s:%d: %s compiles: %s", file.name, line, what, whole
    and table.concat(built:kernels(), ", ") or tostring(built))
  local cuda = whole and built.cuda or {launches = {}, notes = {}}
  for _, launch in ipairs(cuda.launches) do
    self:say("%s:%d: launch: prog.%s", file.name, (launch.line or 1) + line
      - 1, launch.text)
  end
  for _, note in ipairs(cuda.notes) do
    self:say("%s:%d: %s", file.name, note.line + line - 1, note.text)
  end
  built:close()
end

local function shown(source)
  return source:find("[\n{]") and "source text" or ("'%s'"):format(source)
end

-- cl.build(source, options) or cl.kernel.
function Check:build(file, call)
  local source, opts, options = call.args[1], call.args[2] or NONE, {}
  if not source or not source.known or type(source.value) ~= "string" then
    return self:unknown(file, call.line, "the source of %s", call.name)
  end
  local what = ("%s %s"):format(call.name, shown(source.value))
  if call.args[2] and not opts.fields
      and not (opts.known and opts.value == nil) then
    return self:unknown(file, call.line, "the options of %s", what)
  end
  for _, name in ipairs(OPTIONS) do
    local value, computed = option(opts.fields or NONE, name)
    if computed then
      return self:unknown(file, call.line, "%s of %s", computed, what)
    end
    options[name] = value
  end
  self:compile(file, source.line, what:gsub(" ", " of ", 1),
    call.name == "cl.build" and cl.build or cl.kernel, source.value, options)
end

-- The defines that the ladder makes of the parameters of a rung.
local function rung_defines(params)
  local defines = {REAL = "float"}
  for _, param in ipairs(params or {}) do
    local value = param.default
    if value == nil then
      value = (param.values or NONE)[1]
    end
    defines[tostring(param.name):upper()] = value
  end
  return defines
end

-- gemm.define{...}: its file or source, with the defaults of its parameters.
function Check:rung(file, call)
  local fields = call.args[1] and call.args[1].fields or NONE
  local what = ("%s '%s'"):format(call.name, option(fields, "name") or "?")
  local path, source = option(fields, "file"), option(fields, "source")
  local params, computed = option(fields, "params")
  if fields.defines or fields.options or fields["?"] or computed then
    return self:unknown(file, call.line, "the defines of %s", what)
  elseif not path and not source then
    return self:unknown(file, call.line, "the source of %s", what)
  end
  local folder
  if path then
    local ok, found = pcall(program.locate, path, {file.folder, "",
      ("%s/kernels/%s/"):format(cl.home, call.name:match("^%a+"))}, what)
    if not ok then
      return self:fail(("%s:%d: %s"):format(file.name, call.line,
        tostring(found)))
    end
    folder, source = program.folder(found), found
  end
  self:compile(file, call.line, what, cl.build, source, {
    defines = rung_defines(params), include = folder ~= "" and folder or nil})
end

-- family.new{...}: its rungs.
function Check:family(file, call)
  local rungs = call.args[1] and call.args[1].fields
    and call.args[1].fields.rungs
  if not (rungs and rungs.fields) then
    return self:unknown(file, call.line, "the rungs of family.new")
  end
  for _, rung in ipairs(rungs.fields) do
    self:rung(file, {name = call.name, line = rung.line, args = {rung}})
  end
end

-- Checks a required module that lies beside the script.
function Check:module(file, call)
  local name = call.args[1]
  if not (name and name.known and type(name.value) == "string") then
    return self:unknown(file, call.line, "the name of a required module")
  end
  local path = package.searchpath(name.value, ("%s?.lua;%s?/init.lua"):format(
    file.folder, file.folder))
  if path then
    self:file(path)
  elseif not public.module(name.value)
      and not package.searchpath(name.value, package.path)
      and not package.searchpath(name.value, package.cpath)
      and not package.loaded[name.value] and not package.preload[name.value]
  then
    self:say("%s:%d: there is no module '%s' here", file.name, call.line,
      name.value)
  end
end

-- Compiles the rung of a family with its defaults, once.
function Check:own_rung(file, line, name, family, rung)
  if self.seen[name] then
    return
  end
  self.seen[name] = true
  if not family.spec.dims then
    return self:unknown(file, line, "the operands of %s", name)
  end
  self.kernels = self.kernels + 1
  if self.nodevice then
    return
  end
  local context = cl.context()
  local ok, kernel, reason = pcall(function()
    local s = family.spec.shape(workload.shape(workload.sizes(family, 256),
      family.spec.dims, name))
    s.context = context
    return plan.kernel(family, rung, plan.parameters(family, rung, {}, s), s)
  end)
  if not ok then
    self:fail(("%s:%d: %s: %s"):format(file.name, line, name,
      tostring(kernel)))
  elseif kernel then
    self:say("%s:%d: %s compiles: %s", file.name, line, name, kernel.name)
  else
    self:say("%s:%d: %s: not here: %s", file.name, line, name, reason)
  end
end

-- The rungs that a text names: "gemm.tiled", or "tiled" beside gemm.
function Check:rungs(text, file, names)
  local used = {}
  for _, one in ipairs(names) do
    used[one.name] = true
  end
  for _, word in ipairs(constant_calls.strings(text)) do
    local first, last = word.text:match "^(%a%w*)%.([%a_][%w_]*)$"
    for _, name in ipairs(families.own()) do
      if first == name or not first and used[name] then
        local family = families.get(name)
        for _, rung in ipairs(family.list) do
          if rung.name == (last or word.text) then
            self:own_rung(file, word.line, ("%s.%s"):format(name, rung.name),
              family, rung)
          end
        end
      end
    end
  end
end

-- Tells the names that no file checked binds, and that no session has.
function Check:unbound()
  for _, one in ipairs(self.names) do
    if not self.bound[one.name] and not PUBLIC[one.name] then
      local near = base_text.nearest(one.name, base_text.keys(PUBLIC))
      self:say("%s:%d: nothing sets the global '%s'%s", one.file, one.line,
        one.name, near and ("; did you mean '%s'?"):format(near) or "")
    end
  end
end

-- A Lua text: its syntax, then the calls in it.
function Check:text(text, file)
  text = text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", "")
  local chunk, message = load(text, file.chunk)
  if not chunk then
    local n = tonumber(message:match ":(%d+): .* near '<\\%d+>'$")
    local line = n and excerpt.line(text, n)
    local strange = line and base_text.strange(line)[1]
    return self:fail(("clshell: %s%s"):format(message, strange
      and ("\n  column %d: %s"):format(strange.at, strange.words) or ""))
  end
  self:say("%s: Lua is fine", file.name)
  for _, call in ipairs(constant_calls.find(text, CALLS)) do
    local name = call.name
    if call.args then
      local check = name == "require" and self.module or name == "family.new"
        and self.family or name:find "%.define$" and self.rung or self.build
      check(self, file, call)
    elseif name ~= "require" then
      self:unknown(file, call.line, "the use of %s as a value", name)
    end
  end
  local names, bound = constant_calls.globals(text)
  for _, one in ipairs(names) do
    one.file = file.name
    table.insert(self.names, one)
  end
  for name in pairs(bound) do
    self.bound[name] = true
  end
  self:rungs(text, file, names)
end

local HOSTS = base_text.set "c cc cpp cxx h hpp py"

-- A file: Lua, or, by its name, kernels or a host's listing.
function Check:file(path)
  if self.seen[path] then
    return
  end
  self.seen[path] = true
  local file = {name = path, chunk = "@" .. path,
    folder = program.folder(path)}
  if path:find("%.cl$") or path:find("%.cu$") or self.cuda then
    return self:compile(file, 1, "it", cl.build, path, {cuda = self.cuda,
      defines = self.defines, options = self.options, include = self.include})
  end
  local f <close>, message = io.open(path, "rb")
  local text = f and f:read("a")
  if text and HOSTS[path:match "%.(%a+)$"] then
    local listing = require "clshell.cuda.host".listing(text)
    for _, one in ipairs(listing) do
      self:say("%s:%d: %s: %s", file.name, one.line, one.word, one.here)
    end
    self:say("%s: host code with %s; the host here is Lua", file.name,
      base_text.count(#listing, "word"))
  elseif text then
    self:text(text, file)
  else
    self:fail("clshell: cannot open " .. (message or path))
  end
end

local function needs(name, what)
  io.stderr:write(("clshell: %s needs %s (try 'clshell --help')\n"):format(
    name, what))
  return USAGE
end

local function new()
  local found, reason = pcall(cl.device)
  return setmetatable({seen = {}, kernels = 0, failed = false, names = {},
    bound = {},
    quiet = cl.commandline and cl.commandline.quiet, nodevice = not found,
    reason = reason}, Check)
end

-- The exit code.
function Check:finish()
  self:unbound()
  if self.failed then
    return FAILED
  elseif self.nodevice and self.kernels > 0 then
    io.stderr:write(("clshell: %d program%s not compiled: %s\n"):format(
      self.kernels, self.kernels == 1 and "" or "s", tostring(self.reason)))
    return NODEVICE
  end
  return OK
end

--- check_files.cuda(file) -> exit code
--- Compiles a file of CUDA ("-" is standard input). Exit codes as for
--- check_files.run.
function M.cuda(file)
  if not file then
    return needs("--cuda", "a file")
  end
  local self = new()
  self.cuda = true
  if file == "-" then
    self:compile({name = "stdin", chunk = "=stdin"}, 1, "it", cl.build,
      io.read("a") .. "\n", {cuda = true, name = "stdin"})
  else
    self:file(file)
  end
  return self:finish()
end

-- Takes the options for files of kernels, of the command line and among the
-- words behind the script. Returns the files; nil and an exit code where a
-- word is no option.
local function take_words(self, script, words)
  local given = cl.commandline or NONE
  local files, defines, include, options = {script}, {}, {}, {}
  local function take(letter, value)
    if letter == "I" then
      include[#include + 1] = value
    elseif letter == "D" then
      local name, text = value:match "^([^=]+)=(.*)$"
      defines[name or value] = text or 1
    else
      options[#options + 1] = value
    end
  end
  for letter, name in pairs{I = "include", D = "defines", O = "options"} do
    for _, value in ipairs(given[name] or NONE) do
      take(letter, value)
    end
  end
  local i = 1
  while words[i] do
    local word = words[i]
    local letter, value = word:match "^%-([ID])(.*)$"
    if word:find "^%-%-options" then
      letter, value = "O", word:match "^%-%-options=(.*)$" or ""
    elseif word:find "^%-cl%-" then
      letter, value = "O", word
    elseif word:find "^%-." and not letter then
      io.stderr:write(("clshell: --check takes -D, -I and --options behind "
        .. "the first file; got '%s'\n"):format(word))
      return nil, USAGE
    end
    if value == "" then
      i = i + 1
      value = words[i]
      if not value then
        return nil, needs(word, "a value")
      end
    end
    if letter then
      take(letter, value)
    else
      files[#files + 1] = word
    end
    i = i + 1
  end
  self.defines = next(defines) and defines or nil
  self.include = include[1] and include or nil
  self.options = options[1] and table.concat(options, " ") or nil
  return files
end

--- check_files.run([script, ...]) -> exit code
--- Checks scripts ("-" is standard input; .cl and .cu files are compiled), as
--- the words of the command line name them, and texts of Lua. 0: all compiles;
--- 1: something does not, which standard error tells; 3: there are kernels,
--- and no device to compile them for.
function M.run(script, ...)
  if not script and select("#", ...) == 0 and cl.isatty(0) then
    return needs("--check", "a script")
  end
  local self = new()
  local files, code = take_words(self, script, script and arg or NONE)
  if not files then
    return code
  end
  for _, text in ipairs{...} do
    self:text(text, {name = "(command line)", chunk = "=(command line)",
      folder = ""})
  end
  if not script and select("#", ...) == 0 then
    files[1] = "-"
  end
  for _, file in ipairs(files) do
    if file == "-" then
      self:text(io.read("a"), {name = "stdin", chunk = "=stdin", folder = ""})
    else
      self:file(file)
    end
  end
  return self:finish()
end

return M
