-- screen.lua - the program on the screen of a tmux server of its own: keys
-- go in, what a person would see comes out. A helper, not a test file.
-- Every wait is for something to be seen, for as long as `limit` at most.
-- SPDX-License-Identifier: MIT
local cl = require "cl"
local t = require "t"

local screen = {}

local Screen = {}
Screen.__index = Screen

-- Seconds that a wait may take: far more than the slowest machine needs.
local limit = tonumber(os.getenv "CLSHELL_WAIT" or "") or 300

local build = os.getenv "CLSHELL_BUILD" or "build"

local quote = require("clshell.base.text").quote

local function capture(command)
  local p <close> = assert(io.popen(command .. " 2>&1"))
  local text = p:read "a"
  return text, p:close()
end

local function write(path, text)
  local f <close> = assert(io.open(path, "wb"))
  f:write(text)
end

local CONF = [[
set -g status off
set -g remain-on-exit on
set -g history-limit 5000
set -g default-terminal screen
set -s escape-time 0
]]

-- The environment that makes a run like any other; `env` comes after it. The
-- caches of kernels and peaks stay, though HOME is another.
local PLAIN = "env -u NO_COLOR -u FORCE_COLOR -u CLICOLOR_FORCE -u TMUX " ..
  "-u TMUX_PANE -u COLUMNS -u LINES LC_ALL=C.UTF-8 INPUTRC=/dev/null " ..
  "CLSHELL_STORE=none " ..
  'XDG_CACHE_HOME="${XDG_CACHE_HOME:-$HOME/.cache}" '

function Screen:tmux(command)
  local text, fine = capture(("tmux -u -S %s/socket -f %s/conf %s"):format(
    self.dir, self.dir, command))
  if not fine then
    error("tmux " .. command .. ": " .. text, 2)
  end
  return text
end

--- screen.open([options]) -> screen, to be closed
--- Starts the program. Options:
---   options  the program's, "-q" if not given
---   command  a shell command instead of the program
---   env      assignments for the program, "TERM=dumb NO_COLOR=1"
---   width, height  of the window, 80 by 24
---   dir      a folder for its state; a new one, removed at the end, if not
---            given. It is HOME and holds state/ and config/.
--- Skips the test where there is no tmux.
function screen.open(options)
  options = options or {}
  t.skip_if(capture "command -v tmux" == "", "no tmux")
  local dir = capture("mktemp -d"):gsub("\n", "")
  local self = setmetatable({dir = dir}, Screen)
  local home = options.dir or dir
  local here = capture("pwd"):gsub("\n", "")
  local program = build:find "^/" and build or here .. "/" .. build
  local command = options.command
    or program .. "/clshell " .. (options.options or "-q")
  write(dir .. "/conf", CONF)
  write(dir .. "/start", ("trap : INT QUIT\n%s HOME=%s " ..
    "XDG_STATE_HOME=%s/state XDG_CONFIG_HOME=%s/config %s %s\n" ..
    "echo $? >%s/ended && mv %s/ended %s/status\n"):format(PLAIN, home, home,
    home, options.env or "", command, dir, dir, dir))
  self:tmux(("new-session -d -x %d -y %d sh %s/start"):format(
    options.width or 80, options.height or 24, dir))
  return self
end

--- screen.ready([options]) -> screen, to be closed
--- The same once the prompt is there.
function screen.ready(options)
  local s = screen.open(options)
  s:wait "cl>"
  return s
end

--- s:send(text)
--- Types text as it is; "\r" is the Enter key.
function Screen:send(text)
  for piece, enter in text:gmatch "([^\r]*)(\r?)" do
    if piece ~= "" then
      self:tmux("send-keys -l -- " .. quote((piece:gsub(";$", "\\;"))))
    end
    if enter ~= "" then
      self:tmux("send-keys Enter")
    end
  end
end

--- s:keys(...)
--- Presses keys by the names that tmux has for them: "Up", "C-a", "M-Enter",
--- "PPage", "F1", "BSpace", "Tab".
function Screen:keys(...)
  local quoted = {}
  for i, key in ipairs{...} do
    quoted[i] = quote(key)
  end
  self:tmux("send-keys " .. table.concat(quoted, " "))
end

--- s:paste(text [, raw])
--- Pastes as a terminal does: bracketed, where the program has asked for it,
--- "\r" for each end of a line unless `raw`.
function Screen:paste(text, raw)
  write(self.dir .. "/paste", text)
  self:tmux(("load-buffer -b p %s/paste"):format(self.dir))
  self:tmux("paste-buffer -p -d -b p" .. (raw and " -r" or ""))
end

--- s:resize(width, height)
function Screen:resize(width, height)
  self:tmux(("resize-window -x %d -y %d"):format(width, height))
end

--- s:text([scrollback]) -> string
--- What is on the screen, without trailing blanks and empty lines at the
--- end; with what has scrolled off it in front if `scrollback`.
function Screen:text(scrollback)
  return (self:tmux("capture-pane -p" .. (scrollback and " -S -" or ""))
    :gsub(" +\n", "\n"):gsub("\n+$", ""))
end

--- s:colors() -> string
--- The same with the escape sequences of colours and weights; a background
--- is told where it is not the terminal's own.
function Screen:colors()
  return (self:tmux("capture-pane -p -e"):gsub("\n+$", "")
    :gsub("\27%[49m", ""))
end

--- s:cursor() -> column, row
--- Where the cursor is; both begin at 0.
function Screen:cursor()
  local x, y = self:tmux("display-message -p '#{cursor_x} #{cursor_y}'")
    :match "(%d+) (%d+)"
  return math.tointeger(x), math.tointeger(y)
end

--- s:ask(format) -> string
--- A value of tmux, such as "#{bracketed_paste_flag}" or "#{pane_pid}".
function Screen:ask(format)
  return (self:tmux("display-message -p " .. quote(format)):gsub("\n$", ""))
end

--- s:until_true(what, fn) -> what fn returns
--- Asks until fn(screen text) is true; fails, with the screen, if it never
--- is.
function Screen:until_true(what, fn)
  local stop = cl.now() + limit
  while true do
    local text = self:text()
    local value = fn(text)
    if value then
      return value
    elseif cl.now() > stop then
      error(("never came: %s\n--- the screen:\n%s\n---"):format(what, text), 0)
    end
    os.execute "sleep 0.02"
  end
end

--- s:wait(text) -> screen text
--- Waits until the screen shows a text, plain.
function Screen:wait(text)
  return self:until_true(text, function(seen)
    return seen:find(text, 1, true) and seen
  end)
end

--- s:wait_gone(text) -> screen text
--- Waits until the screen no longer shows it.
function Screen:wait_gone(text)
  return self:until_true("the end of " .. text, function(seen)
    return not seen:find(text, 1, true) and seen
  end)
end

--- s:wait_end(text) -> screen text
--- Waits until the screen ends with a text; the blanks at the end of lines
--- do not count, so that a prompt is "cl>".
function Screen:wait_end(text)
  return self:until_true("at the end: " .. text, function(seen)
    return seen:sub(-#text) == text and seen
  end)
end

--- s:wait_screen(text)
--- Waits until the screen is this text and nothing else.
function Screen:wait_screen(text)
  return self:until_true("the whole screen: " .. text, function(seen)
    return seen == text
  end)
end

--- s:run(line [, text]) -> screen text
--- At a prompt, types a line with Enter, and waits for the text if given,
--- then for the next prompt at the end.
function Screen:run(line, text)
  local before = self:text(true)
  self:send(line .. "\r")
  if text then
    self:wait(text)
  end
  return self:until_true("a prompt after " .. line, function()
    local all = self:text(true) -- one picture: the prompt and the change
    return all ~= before and all:sub(-4) == "\ncl>" and self:text()
  end)
end

--- s:record()
--- From now on the bytes that the program writes are kept, for s:raw().
function Screen:record()
  self:tmux("pipe-pane 'cat >>" .. self.dir .. "/raw'")
end

--- s:raw(text) -> string
--- Waits until what was recorded has a text, and returns all of it.
function Screen:raw(text)
  return self:until_true("in the output: " .. text, function()
    local f <close> = io.open(self.dir .. "/raw", "rb")
    local raw = f and f:read "a"
    return raw and raw:find(text, 1, true) and raw
  end)
end

--- s:status() -> exit code
--- Waits for the program's end; 128 + N where signal N ended it.
function Screen:status()
  local stop = cl.now() + limit
  while true do
    local f <close> = io.open(self.dir .. "/status")
    local code = f and f:read "n"
    if code then
      return code
    elseif cl.now() > stop then
      error("still running\n--- the screen:\n" .. self:text(), 0)
    end
    os.execute "sleep 0.02"
  end
end

--- s:close()
--- Ends the program and the server.
function Screen:close()
  capture(("tmux -S %s/socket kill-server"):format(self.dir))
  capture("rm -rf " .. self.dir)
end
Screen.__close = Screen.close

return screen
