-- shell/commands/check_files.lua - clshell --check: compiles a script, the
-- modules beside it and the kernels that it names, and runs nothing
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local constant_calls = require "clshell.shell.commands.constant_calls"
local families = require "clshell.ladder.families"
local program = require "clshell.ladder.program"
local public = require("clshell.base.lazy").public

local M = {}

local OK, FAILED, USAGE, NODEVICE = 0, 1, 2, 3 -- exit codes
local CALLS = {"cl.build", "cl.kernel", "family.new", "require"}
for _, name in ipairs(families.own()) do
  CALLS[#CALLS + 1] = name .. ".define"
end
local NONE = {}
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

-- A Lua text: its syntax, then the calls in it.
function Check:text(text, file)
  local chunk, message = load(text:gsub("^#[^\n]*", ""), file.chunk)
  if not chunk then
    return self:fail("clshell: " .. message)
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
end

-- A file: Lua, or, by its name, a kernel file.
function Check:file(path)
  if self.seen[path] then
    return
  end
  self.seen[path] = true
  local file = {name = path, chunk = "@" .. path,
    folder = program.folder(path)}
  if path:find("%.cl$") or path:find("%.cu$") or self.cuda then
    return self:compile(file, 1, "it", cl.build, path, {cuda = self.cuda})
  end
  local f <close>, message = io.open(path, "rb")
  local text = f and f:read("a")
  if text then
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
  return setmetatable({seen = {}, kernels = 0, failed = false,
    quiet = cl.commandline and cl.commandline.quiet, nodevice = not found,
    reason = reason}, Check)
end

-- The exit code.
function Check:finish()
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

--- check_files.run([script, ...]) -> exit code
--- Checks a script ("-" is standard input; a .cl or .cu file is compiled) and
--- texts of Lua. 0: all compiles; 1: something does not, which standard error
--- tells; 3: there are kernels, and no device to compile them for.
function M.run(script, ...)
  if not script and select("#", ...) == 0 and cl.isatty(0) then
    return needs("--check", "a script")
  end
  local self = new()
  for _, text in ipairs{...} do
    self:text(text, {name = "(command line)", chunk = "=(command line)",
      folder = ""})
  end
  if script == "-" or not script and select("#", ...) == 0 then
    self:text(io.read("a"), {name = "stdin", chunk = "=stdin", folder = ""})
  elseif script then
    self:file(script)
  end
  return self:finish()
end

return M
