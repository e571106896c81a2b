-- ladder/program.lua - kernel files: finding them, and the programs built of
-- them. Programs are kept by context, path or text, defines and options; each
-- use asks whether the files changed, so an edit takes effect at once.
-- SPDX-License-Identifier: MIT

local cachefile = require "clshell.base.cachefile"
local cl = require "cl"
local text = require "clshell.base.text"

local M = {}

--- program.seconds
--- The seconds that all successful builds of this process took.
M.seconds = 0

--- program.patience
--- A build that takes more seconds is new to the driver: it has those of
--- earlier processes in its cache.
M.patience = 0.03

local build_early = debug.getregistry()["cl.hooks"].build_early
local built = setmetatable({}, {__mode = "k"}) -- context -> key -> program
-- program made by ptx.lua -> the program of the file that it was made from
local before_edit = setmetatable({}, {__mode = "k"})

--- program.original(program) -> Program
--- The program of the file that ptx.lua made a program of; the program itself
--- where ptx.lua did not make it.
function M.original(program)
  return before_edit[program] or program
end

local function read(path)
  local f <close> = io.open(path, "rb")
  return f and f:read("a") -- nil for a folder
end

-- The folder part of a path, with its last slash; "" where there is none.
function M.folder(path)
  return path:match("^.*/") or ""
end

-- The folder of a function's file; nil for text and for clshell's own code.
local function folder_of(info)
  if info.source:sub(1, 1) == "@"
      and not info.source:find("lua/clshell/", 1, true) then
    return M.folder(info.source:sub(2))
  end
end

-- The folder of the innermost script on the stack that is not clshell's own
-- Lua code, and the folder of function f (nil: none). The latter serves where
-- no script is on the stack: a script that returns the call has left it.
function M.script_folder(f)
  local own = f and folder_of(debug.getinfo(f, "S"))
  for level = 2, math.huge do
    local info = debug.getinfo(level, "S")
    local folder = info and folder_of(info)
    if folder or not info then
      return folder or own or "", own or ""
    end
  end
end

-- The path of `file` in the first of `folders` that has it. Raises where no
-- folder has it.
function M.locate(file, folders, what)
  if file:sub(1, 1) == "/" then
    folders = {""}
  end
  local tried, seen = {}, {}
  for _, folder in ipairs(folders) do
    if read(folder .. file) then
      return folder .. file
    end
    tried[#tried + 1] = not seen[folder] and folder .. file or nil
    seen[folder] = true
  end
  cl.error(("%s: no kernel file '%s'"):format(what, file),
    {hint = "looked for " .. table.concat(tried, ", ")})
end

--- program.current(program) -> boolean
--- Whether a program is open and built from the present text of its files.
function M.current(program)
  return not program.closed
    and not (before_edit[program] or program):changed()
end

-- The program of `from`, {path =} or {source =, name =, ptx =}, for a
-- context. With ptx the program is edited and built again, see ptx.lua; nil
-- and the reason where that fails. later: the program only if it is built;
-- with true its build begins on another thread, for the next call; a list,
-- see program.patience, gets a function that does so, once a program took so
-- long that the driver has no builds of an earlier process.
function M.get(context, from, defines, options, later)
  local key = table.concat({
    from.path or "", from.source or "",
    table.concat(text.fields(defines), "\0"), options or "",
    from.ptx and "ptx" or "",
  }, "\1")
  local programs = built[context] or {}
  built[context] = programs
  if programs[key] and M.current(programs[key]) then
    return programs[key]
  elseif from.path and not read(from.path) then
    cl.error(("cannot read kernel file '%s'"):format(from.path))
  end
  local name, begin = from.path or from.name, cl.now()
  local folder = M.folder(from.path or "")
  local opts = {context = context, defines = defines, options = options,
    name = name, include = folder ~= "" and folder or nil}
  if later == true then
    programs["begun" .. key] = true
    build_early(from.path or from.source, opts)
    return nil
  elseif later and later.slow and not programs["begun" .. key] then
    later[#later + 1] = function()
      M.get(context, from, defines, options, true)
    end
    return nil
  end
  local program, reason = cl.build(from.path or from.source, opts), nil
  if from.ptx then
    local source = program
    program, reason = require "clshell.ladder.ptx".rebuild(source,
      {context = context, options = options, name = name})
    if program then
      before_edit[program] = source
    end
  end
  programs[key], programs["begun" .. key] = program, nil
  local seconds = cl.now() - begin
  M.seconds = M.seconds + seconds
  if later then
    later.slow = later.slow or seconds > M.patience
  end
  return program, reason
end

--- program.forget(list)
--- Drops these programs. A later call builds its program from the present text
--- of the file anyway.
function M.forget(list)
  local gone = {}
  for _, program in ipairs(list) do
    gone[program] = true
  end
  for _, programs in pairs(built) do
    for key, program in pairs(programs) do
      programs[key] = not gone[program] and program or nil
    end
  end
end

local hashes = {} -- by text

--- program.source(rung [, opts]) -> text, hash; or nil
--- The text of a rung's kernel file, and a hash of it and of the files that it
--- includes; the include folders among opts of cl.build help to find them.
function M.source(rung, opts)
  local source = rung.source
  if source then
    hashes[source] = hashes[source] or cachefile.hash(source)
    return source, hashes[source]
  end
  source = read(rung.path)
  if source then
    local words, files = {}, cl.files(rung.path, opts)
    for i, path in ipairs(files) do
      words[i] = ("%016x"):format(files[path])
    end
    return source, #words == 1 and words[1]
      or cachefile.hash(table.concat(words))
  end
end

-- A new kernel object of a program: the kernel `name`, or the only kernel.
function M.kernel(program, name)
  if name == nil then
    local names = program:kernels()
    if #names ~= 1 then
      cl.error(("the file has %d kernels: %s; say which with 'kernel'")
        :format(#names, table.concat(names, ", ")))
    end
    name = names[1]
  end
  return program:kernel(name)
end

return M
