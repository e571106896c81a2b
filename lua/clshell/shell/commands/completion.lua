-- shell/commands/completion.lua - completion after `clshell` in bash, zsh and
-- fish: their files, which ask `clshell --complete line`, and the words that
-- it answers
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local subcommands = require "clshell.shell.commands.subcommands"
local text = require "clshell.base.text"

local M = {}

--- completion.files
--- The files that make install makes, as texts or functions that return them:
--- the completion of each shell and the manual page; html opens a page. Each
--- shell passes the words from the second word to the word at the cursor, and
--- gets lines: a word, or a tab and its description behind it, or :file,
--- :folder or :lua for the files that the shell itself knows. --name=value
--- gets the value.
M.files = {
  man = require "clshell.shell.commands.usage".manual,
  html = function(words)
    return require "clshell.shell.site".manual(arg[-1] and words or {})
  end,
  bash = [==[
# bash completion for clshell; made by clshell --manual bash
_clshell_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "$@" -- "$cur"))
}
_clshell() {
  local cur=${COMP_WORDS[COMP_CWORD]} line
  COMPREPLY=()
  [[ $cur == = ]] && cur=
  while IFS= read -r line; do
    case $line in
      :file) _clshell_files -f ;;
      :folder) _clshell_files -d ;;
      :lua) _clshell_files -f -X '!*.lua'; _clshell_files -d ;;
      *) COMPREPLY+=("$(printf %q "${line%%$'\t'*}")") ;;
    esac
  done < <("$1" --complete line -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
}
complete -F _clshell clshell
]==],
  zsh = [==[
#compdef clshell
# zsh completion for clshell; made by clshell --manual zsh
local line tab=$'\t' program=${(Q)words[1]}
local -a asked plain open
asked=("${(@Q)words[2,CURRENT]}")
[[ $words[CURRENT] == --*=* ]] && compset -P '*='
for line in ${(f)"$($program --complete line -- "${asked[@]}" 2>/dev/null)"}
do
  case $line in
    :file) _files ;;
    :folder) _files -/ ;;
    :lua) _files -g '*.lua' ;;
    *) line=${${line//:/\\:}/$tab/:}
      [[ ${line%%:*} == *= ]] && open+=($line) || plain+=($line) ;;
  esac
done
_describe clshell plain
_describe clshell open -S ''
]==],
  fish = [==[
# fish completion for clshell; made by clshell --manual fish
function __clshell_lines
  set -l current (commandline -ct)
  set -l head (string match -r -- '^--[a-z-]+=' $current)
  set -l value (string replace -r -- '^--[a-z-]+=' '' $current)
  for line in (clshell --complete line -- (commandline -opc)[2..-1] \
      "$current" 2>/dev/null)
    switch $line
      case :file
        set line (__fish_complete_path "$value")
      case :folder
        set line (__fish_complete_directories "$value" '')
      case :lua
        set line (__fish_complete_suffix "$value" .lua)
    end
    for word in $line
      echo "$head$word"
    end
  end
end
complete -c clshell -f -a '(__clshell_lines)'
]==],
}

-- words ----------------------------------------------------------------------

--- completion.words
--- The words of each kind, as lists or functions that return lists.
M.words = {command = subcommands.names,
  format = require "clshell.optiontable".formats}

M.words.gpu = require "clshell.base.gpus".names

function M.words.device()
  local list, seen = {}, {}
  local devices = cl.devices()
  for _, key in ipairs{"type", "name"} do
    for _, d in ipairs(devices) do
      local word = tostring(d[key])
      list[#list + 1] = not seen[word] and word or nil
      seen[word] = true
    end
  end
  return list
end

--- completion.words.script() -> list
--- The names of clshell's own scripts.
function M.words.script()
  local names = {}
  local p <close> = assert(io.popen(("ls %s 2>/dev/null"):format(
    text.quote(cl.home .. "/scripts"))))
  for name in p:lines() do
    names[#names + 1] = name:match("^.*%.lua$")
  end
  return names
end

function M.words.option()
  local names = {}
  for _, o in ipairs(subcommands.own()) do
    table.move(o.names, 1, #o.names, #names + 1, names)
  end
  return names
end

-- The scope of the words behind `clshell`, or behind the word of a script or
-- command: the options that are known there, the words, and the kind of files
-- that may follow.
local function scope_of(word)
  if not word then
    local scripts, words = M.words.script(), {table.unpack(subcommands.names)}
    return {options = subcommands.own(), files = ":lua", first = true,
      words = table.move(scripts, 1, #scripts, #words + 1, words)}
  end
  word = word:match "[^/]*$"
  for _, c in ipairs(subcommands.list()) do
    if c.name == word then
      return {options = c.options, words = c.words,
        files = c.files and ":file"}
    end
  end
  return {options = word:find "%.lua$" and subcommands.shared() or {},
    words = {}, files = ":file"}
end

-- The option of a name that takes a value, or nil.
local function find(options, name)
  for _, o in ipairs(options) do
    for _, known in ipairs(o.names) do
      if known == name then
        return o.arg and o
      end
    end
  end
end

-- Reads a line up to the word at the cursor, in which bash splits
-- "--name=value" into three words. Returns the scope there, and the option
-- whose value the word is, if any.
local function read(words)
  local scope, option = scope_of(), nil
  for i = 1, #words - 1 do
    local word = words[i]
    if not option then
      option = find(scope.options, word)
      scope = scope.first and not word:find "^-." and scope_of(word) or scope
    elseif word ~= "=" then
      option = nil
    end
  end
  return scope, option
end

local FILES = {dir = ":folder", file = ":file", store = ":file"}

-- The lines for an option's name; its value follows a "=".
local function option_lines(scope)
  local list = {not scope.first and "--help\tits options" or nil}
  for _, o in ipairs(scope.options) do
    for _, name in ipairs(o.names) do
      list[#list + 1] = ("%s%s\t%s"):format(name, o.arg
        and name:find "^%-%-" and "=" or "", o.description)
    end
  end
  return list
end

--- completion.words.line(words) -> list
--- The lines for the last of the words behind `clshell`.
function M.words.line(words)
  local scope, option = read(words)
  local word = words[#words] or ""
  word = word ~= "=" and word or ""
  local name, value = word:match "^(%-%-[%w-]+)=(.*)$"
  if not option and name then
    option, word = find(scope.options, name), value
  end
  local list, lines = {}, scope.words
  if option then
    lines = option.values or (option.kind == "device" or option.kind == "gpu")
      and M.words[option.kind]() or {FILES[option.kind]}
  elseif word:find "^%-" then
    lines = option_lines(scope)
  else
    list[1] = scope.files or nil
  end
  for _, line in ipairs(lines) do
    if line:find "^:" or line:sub(1, #word) == word then
      list[#list + 1] = line
    end
  end
  return list
end

return M
