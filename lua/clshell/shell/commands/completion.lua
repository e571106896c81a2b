-- shell/commands/completion.lua - completion after `clshell` in bash, zsh and
-- fish: their files, made from the declared options, and the words that these
-- ask for
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local declared = require "clshell.shell.commands.declared"
local text = require "clshell.base.text"

local M = {}

--- completion.files
--- The files that make install makes, by functions that return their texts:
--- the completion of each shell and the manual page.
M.files = {}

function M.files.man()
  return require "clshell.shell.commands.manual".page()
end

-- The names of options, those that take a value, or all.
local function names_of(options, valued)
  local names = {}
  for _, o in ipairs(options) do
    if o.arg or not valued then
      table.move(o.names, 1, #o.names, #names + 1, names)
    end
  end
  return names
end

-- Calls f(name, options, files, words) for clshell itself, whose name is "",
-- for each command and for scripts: may files follow, and which words?
local function each_scope(f)
  f("", declared.own(), false, "")
  for _, c in ipairs(declared.commands()) do
    f(c.name, c.options, c.files, table.concat(c.words, " "))
  end
  f("script", declared.shared(), true, "")
end

-- Places $NAME$ in a template are replaced by the texts of a table.
local function filled(template, parts)
  return (template:gsub("%$(%u+)%$", parts))
end

-- bash -----------------------------------------------------------------------

local BASH = [==[
# bash completion for clshell; made by clshell --manual bash
_clshell_words() { # the lines that begin with the word to complete
  local word
  while IFS= read -r word; do
    [[ $word == "$cur"* ]] && COMPREPLY+=("$(printf %q "$word")")
  done
}
_clshell_files() {
  local IFS=$'\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY+=($(compgen "$@" -- "$cur"))
}
_clshell_value() { # of option $1 behind script or command $2
  case $2:$1 in
$VALUES$  *) return 1 ;;
  esac
}
_clshell() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local program=$1 script='' word='' i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    case $word in
      $VALUED$)
        [[ ${COMP_WORDS[i+1]} == = ]] && ((i++)); ((i++)) ;;
      -?*) ;;
      *) script=$word; break ;;
    esac
  done
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  script=${script##*/}
  [[ $script == *.lua ]] && script=script
  _clshell_value "$prev" "$script" && return
  local options='' files=yes words=''
  case $script in
$OPTIONS$  esac
  if [[ $options && $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ ! $script ]]; then
    _clshell_words < <("$program" --complete command 2>/dev/null
      "$program" --complete script 2>/dev/null)
    _clshell_files -f -X '!*.lua'
    _clshell_files -d
  else
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    [[ $files ]] && _clshell_files -f
  fi
}
complete -F _clshell clshell
]==]

local BASH_KINDS = {
  device = [[_clshell_words < <("${program:-clshell}" --complete device \
      2>/dev/null)]],
  dir = "_clshell_files -d", file = "_clshell_files -f",
  store = "_clshell_files -f",
}

local function bash_value(scope, o)
  local patterns = {}
  for i, name in ipairs(o.names) do
    patterns[i] = scope .. ":" .. name
  end
  local action = BASH_KINDS[o.kind] or ":"
  if o.values then
    action = ("COMPREPLY=($(compgen -W '%s' -- \"$cur\"))"):format(
      table.concat(o.values, " "))
  end
  return ("  %s) %s ;;\n"):format(table.concat(patterns, " | "), action)
end

function M.files.bash()
  local values, scopes = {}, {}
  each_scope(function(scope, options, files, words)
    for _, o in ipairs(options) do
      values[#values + 1] = o.arg and bash_value(scope, o) or nil
    end
    scopes[#scopes + 1] = ("    '%s') options='%s%s'%s%s ;;\n"):format(scope,
      table.concat(names_of(options), " "), scope == "" and "" or " --help",
      files and "" or " files=", words ~= "" and (" words='%s'"):format(words)
      or "")
  end)
  return filled(BASH, {VALUES = table.concat(values),
    VALUED = table.concat(names_of(declared.own(), true), " | "),
    OPTIONS = table.concat(scopes)})
end

-- zsh ------------------------------------------------------------------------

local ZSH = [==[
#compdef clshell
# zsh completion for clshell; made by clshell --manual zsh
_clshell_device() {
  local -a names
  names=(${(f)"$($words_program --complete device 2>/dev/null)"})
  compadd -a names
}
_clshell_script() {
  local -a commands scripts
  commands=(${(f)"$($words_program --complete command 2>/dev/null)"})
  scripts=(${(f)"$($words_program --complete script 2>/dev/null)"})
  _alternative 'commands:command:compadd -a commands' \
    'scripts:script:compadd -a scripts' 'files:script:_files -g "*.lua"'
}
_clshell() {
  local curcontext=$curcontext state line words_program=${(Q)words[1]}
  typeset -A opt_args
  _arguments -s -S -C \
$OPTIONS$    '1:script or command:_clshell_script' \
    '*:: :->rest' && return
  [[ $state == rest ]] || return
  case $line[1] in
$COMMANDS$  esac
}
_clshell "$@"
]==]

local ZSH_KINDS = {device = "_clshell_device", dir = "_files -/",
  file = "_files", store = "_files"}

-- The argument of _arguments for files and words that may follow.
local function zsh_rest(files, words)
  if files and words ~= "" then
    return (" '*: :_alternative \"words:word:(%s)\" files:file:_files'")
      :format(words)
  elseif words ~= "" then
    return (" '*:word:(%s)'"):format(words)
  end
  return files and " '*:file:_files'" or ""
end

-- The arguments of _arguments for options, one a line.
local function zsh_options(options, indent)
  local lines = {}
  for _, o in ipairs(options) do
    local action = o.values and "(" .. table.concat(o.values, " ") .. ")"
      or ZSH_KINDS[o.kind] or ""
    for _, name in ipairs(o.names) do
      local long = name:find("^%-%-")
      lines[#lines + 1] = ("%s'*%s%s[%s]%s' \\\n"):format(indent, name,
        o.arg and (long and "=" or "+") or "",
        o.description:gsub("[%[%]\\:]", "\\%0"):gsub("'", "'\\''"),
        o.arg and (":%s:%s"):format(o.arg, action) or "")
    end
  end
  return table.concat(lines)
end

function M.files.zsh()
  local own, arms = nil, {}
  each_scope(function(scope, options, files, words)
    if scope == "" then
      own = zsh_options(options, "    ")
      return
    end
    arms[#arms + 1] = ("    %s) _arguments -s -S \\\n%s      "
      .. "'--help[its options]'%s ;;\n"):format(scope == "script" and "*.lua"
      or scope, zsh_options(options, "      "), zsh_rest(files, words))
  end)
  return filled(ZSH, {OPTIONS = own,
    COMMANDS = table.concat(arms) .. "    *) _files ;;\n"})
end

-- fish -----------------------------------------------------------------------

local FISH = [==[
# fish completion for clshell; made by clshell --manual fish
function __clshell_script -d 'the script or command on the command line'
  set -l words (commandline -opc)
  set -l value no
  for word in $words[2..-1]
    if test $value = yes
      set value no
      continue
    end
    switch $word
      case $VALUED$
        set value yes
      case '-?*'
      case '*.lua'
        echo script
        return 0
      case '*'
        echo $word
        return 0
    end
  end
  return 1
end
function __clshell_first
  not __clshell_script >/dev/null
end
function __clshell_in
  test (__clshell_script; or echo) = $argv[1]
end
complete -c clshell -n __clshell_first -a '(clshell --complete command)' \
  -d command
complete -c clshell -n __clshell_first -a '(clshell --complete script)' \
  -d script
]==]

local FISH_KINDS = {device = "-x -a '(clshell --complete device)'",
  dir = "-x -a '(__fish_complete_directories)'", file = "-r", store = "-r"}

local function fish_options(lines, options, condition)
  for _, o in ipairs(options) do
    local parts = {"complete -c clshell -n", condition}
    for _, name in ipairs(o.names) do
      parts[#parts + 1] = name:gsub("^%-%-", "-l "):gsub("^%-(%a)$", "-s %1")
    end
    if o.values then
      parts[#parts + 1] = ("-x -a '%s'"):format(table.concat(o.values, " "))
    elseif o.arg then
      parts[#parts + 1] = FISH_KINDS[o.kind] or "-x"
    end
    parts[#parts + 1] = "-d '" .. o.description:gsub("[\\']", "\\%0") .. "'"
    lines[#lines + 1] = table.concat(parts, " ") .. "\n"
  end
end

function M.files.fish()
  local lines = {}
  each_scope(function(scope, options, files, words)
    local condition = scope == "" and "__clshell_first"
      or ("'__clshell_in %s'"):format(scope)
    fish_options(lines, options, condition)
    if scope ~= "" and not files then
      lines[#lines + 1] = ("complete -c clshell -n %s -f\n"):format(condition)
    end
    if words ~= "" then
      lines[#lines + 1] = ("complete -c clshell -n %s -a '%s'\n"):format(
        condition, words)
    end
  end)
  return filled(FISH, {VALUED = table.concat(names_of(declared.own(), true),
    " ")}) .. table.concat(lines)
end

-- words ----------------------------------------------------------------------

--- completion.words
--- The words of each kind, by functions that return lists.
M.words = {}

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
--- The names of the scripts that come along.
function M.words.script()
  local names = {}
  local p <close> = assert(io.popen(("ls %s 2>/dev/null"):format(
    text.quote(cl.home .. "/scripts"))))
  for name in p:lines() do
    names[#names + 1] = name:match("^.*%.lua$")
  end
  return names
end

function M.words.command()
  return require "clshell.shell.commands.commands".names
end

function M.words.format()
  return require "clshell.optiontable".formats
end

function M.words.option()
  return names_of(declared.own())
end

return M
