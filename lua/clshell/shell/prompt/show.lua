-- shell/prompt/show.lua - a value as text that fits the window, for results at
-- the prompt; show(value, "all") for the whole
-- SPDX-License-Identifier: MIT

local base_text = require "clshell.base.text"
local cl = require "cl"
local interrupt = require "clshell.base.interrupt"
local layout = require "clshell.shell.prompt.value_layout"
local options = require "clshell.base.options"
local later = package.loaded["clshell.base.lazy"] -- loaded at first use
local printable = require "clshell.shell.prompt.printable"
local style = require "clshell.base.style"
local system = require "clshell.system"

local M = {}

local LEAST = 20 -- columns of the narrowest window
local MOST = 16 << 20 -- bytes of one string that "all" shows

-- The shortest global name of a value, for "show(t, "all")"; "_" is the
-- prompt's own name for its last result.
local function name_of(value)
  local best
  for k, v in next, _G do
    if rawequal(v, value) and type(k) == "string" and k:find "^%a[%w_]*$"
        and (not best or #k < #best or #k == #best and k < best) then
      best = k
    end
  end
  return best or "_"
end

-- The options of a call, with defaults filled in.
local function settings(value, opts)
  opts = opts or {}
  local columns, rows = system.winsize(1)
  columns = math.tointeger(tonumber(os.getenv "COLUMNS")) or columns
  local named = type(value) == "table" or type(value) == "userdata"
    or type(value) == "string"
  local name = opts.name or named and name_of(value) or "_"
  local width = math.max(LEAST, opts.width or columns or 80)
  return setmetatable({
    width = width, height = math.max(5, (opts.height or rows or 24) - 2),
    name = name,
    below = width < #name + 40 and 2 or 1, -- lines that name the cut
  }, {__index = opts})
end

-- Lines of text that fit the window; the omitted rest in words.
local function text_lines(s, o, clean)
  local room = o.all and MOST or o.height * o.width * 4
  local head = clean(#s > room and s:sub(1, room) or s):gsub("\n$", "")
  local lines, rows, at = {}, 0, 1
  local in_all = ("%s %d bytes in all"):format(printable.ellipsis(), #s)
  while at <= #head + 1 do
    local stop = head:find("\n", at, true) or #head + 1
    local line = head:sub(at, stop - 1)
    rows = rows + math.max(1, (printable.width(line) + o.width - 1)
      // o.width)
    local last = stop > #head and #s <= room
    if not o.all and rows > o.height - (last and 0 or o.below) then
      if #lines == 0 then -- a single line fills the window
        return {printable.cut(line, o.width * (o.height - o.below))}, in_all
      end
      local _, breaks = head:gsub("\n", "")
      return lines, #s > room and in_all or ("%s %d more lines"):format(
        printable.ellipsis(), breaks + 1 - #lines)
    end
    lines[#lines + 1], at = line, stop + 1
  end
  return lines, #s > room and in_all or nil
end

-- A string as Lua source, in quotes, broken between words; a string of several
-- lines, such as a build log, as its lines.
local function string_lines(s, o)
  if s:find("\n", 1, true) then
    return text_lines(s, o, printable.clean)
  end
  local room = o.all and MOST or o.width * (o.height - o.below)
  local quoted, _, cut = printable.quote(s, room)
  local lines, rest = text_lines(o.all and quoted
    or base_text.fold(quoted, o.width), o, printable.coloured)
  return lines, rest or cut and printable.ellipsis() .. " more" or nil
end

-- The function that describes an object, by its class or its metatable's
-- __name, or nil. A name alone proves no class, as any table may claim it.
local function special(value)
  local mt = debug.getmetatable(value)
  local name = type(mt) == "table" and rawget(mt, "__name")
  if type(name) == "string" and name:find "^%u"
      and rawget(mt, "__metatable") == false
      and (type(value) == "table" or cl.members(value)) then
    return require "clshell.shell.prompt.arrays"[name]
      or require "clshell.shell.prompt.objects"[name]
  end
end

-- Lines cut to the window's height.
local function fitted(lines, o)
  if #lines <= o.height or o.all then
    return lines
  end
  local shown = o.height - o.below
  return table.move(lines, 1, shown, 1, {}), ("%s %d more lines"):format(
    printable.ellipsis(), #lines - shown)
end

local function lay(value, o)
  local kind = type(value)
  if kind == "string" and o.raw then
    return {value}
  elseif kind == "string" then
    return string_lines(value, o)
  elseif kind == "function" or io.type(value) then
    return require("clshell.shell.prompt.objects")[kind](value, o)
  elseif kind ~= "table" and kind ~= "userdata" then
    return {layout.scalar(value, o.width).text}
  end
  if later then
    later.load(value)
  end
  local view = special(value)
  if view and not (kind == "userdata" and value.closed) then
    return fitted(view(value, o), o)
  end
  local text, wrong = layout.told(value)
  if text and not text:find("\n", 1, true) and not text:find("  ", 1, true)
  then -- a sentence
    return fitted(base_text.wrap(printable.coloured(text), o.width), o)
  elseif text then
    return text_lines(o.all and text or base_text.fold(text, o.width), o,
      printable.coloured)
  elseif kind == "table" then
    return layout.text(value, o)
  end
  local line = wrong and ("%s (%s)"):format(kind, wrong) or tostring(value)
  return {printable.cut(printable.clean(line), o.width)}
end

-- The line below a shortened value.
local function how(rest, o)
  local line = ('%s: show(%s, "all")'):format(rest, o.name)
  if printable.width(line) > o.width then
    line = ('%s\nshow(%s, "all")'):format(rest, o.name)
  end
  return style.paint(line, "dim", o.color)
end

--- show.text(value [, opts]) -> string
--- A value as text for the prompt, without a line end behind it: numbers with
--- all their digits, strings in quotes (strings of several lines as their
--- lines, with unsafe bytes as escapes), tables laid out on lines, buffers and
--- matrices as a summary and their corners, objects with a description. The
--- text fits the window; its last line tells of omissions. Access is raw: of
--- user code only __tostring runs. Nothing but Ctrl-C raises.
--- Options:
---   width   the width of the window   columns
---   height  the height of the window   rows; two stay for prompt and input
---   color   false                16 colours and weights
---   all     false                everything, up to 100000 entries
---   raw     false                strings as they are
---   brief   false                events on one line
---   name    its global name      how the text calls the value
--- Example:
--- print(require "clshell.shell.prompt.show".text({1, 2, x = "y"}, {width =
--- 60}))
function M.text(value, opts)
  local o = settings(value, opts)
  local fine, lines, rest = interrupt.pcall(lay, value, o)
  if not fine then
    lines, rest = {printable.clean(tostring(lines))}, nil
  end
  lines[#lines + 1] = rest and (o.all and rest or how(rest, o))
  return table.concat(lines, "\n")
end

-- show.values(values [, opts]) -> string
-- The texts of several values, with their number `n`: in one line, or one
-- below the other where a text has lines; the event beside a result takes one
-- line.
-- Options as for show.text.
function M.values(values, opts)
  local parts, gap = {}, "\t"
  for i = 1, values.n do
    opts.brief = i > 1
    parts[i] = M.text(values[i], opts)
    gap = parts[i]:find("\n", 1, true) and "\n" or gap
  end
  return table.concat(parts, gap)
end

--- show(value [, "all"])
--- Prints a value as the prompt does, cut to the window; with "all" the whole
--- value, up to 100000 entries of a table or elements of a matrix. On a
--- terminal a long text goes through the pager ($PAGER, or less).
--- Example:
--- show{1, 2, x = "y"}
--- show(cl.array("float", {100, 100}), "all")
return setmetatable(M, {__call = function(_, value, how_much)
  local all = how_much == "all"
  if how_much ~= nil and not all and not options.is_event(how_much) then
    cl.error(('show: the second argument must be "all" or absent; got %s')
      :format(tostring(how_much)))
  end
  local text = M.text(value, {color = style.color(1), all = all})
  if all then
    require "clshell.shell.prompt.session".page(text)
  else
    io.write(text, "\n")
  end
end})
