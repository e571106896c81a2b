-- shell/prompt/arrays.lua - buffers and host arrays at the prompt: a summary
-- and the corners that fit the window; no other element is read back
-- SPDX-License-Identifier: MIT

local interrupt = require "clshell.base.interrupt"
local matrix_text = require "clshell.shell.prompt.matrix_text"
local printable = require "clshell.shell.prompt.printable"
local quantity = require "clshell.base.quantity"
local style = require "clshell.base.style"

local M = {}

local LONGEST = {char = 4, uchar = 3, short = 6, ushort = 5, long = 20,
  ulong = 20} -- columns of a number; 11 of other types
local PIXELS = 1 << 20 -- pixels of an image that is read as a whole
local HOST = 1 << 28 -- elements of a host array that are

local function times()
  return style.glyphs() and "×" or "x"
end

-- "on" and the device's name without trade marks.
local function on(device)
  return "on " .. printable.clean((device:gsub("%(%a+%)", "")))
end

-- Words on lines of at most `width` columns.
local function join(words, width, indent)
  local lines = {}
  for _, word in ipairs(words) do
    local last = lines[#lines]
    if last and printable.width(last) + 2 + printable.width(word) <= width then
      lines[#lines] = last .. "  " .. word
    else
      local lead = last and indent or ""
      lines[#lines + 1] = lead .. printable.cut(word, width - #lead)
    end
  end
  return lines
end

-- A real in few digits, an integer in all of its digits.
local function brief(x, f)
  if math.type(x) == "integer" then
    return matrix_text.number(x, f)
  end
  return x == math.floor(x) and math.abs(x) < 1e7 and ("%d"):format(x)
    or ("%%.%dg"):format(printable.digits or 4):format(x)
end

local function stats_words(s, f)
  local words = {}
  if s.min then
    words = {"min " .. brief(s.min, f), "mean " .. brief(s.mean, f),
      "max " .. brief(s.max, f)}
  end
  for _, name in ipairs{"nan", "inf"} do
    if s[name] > 0 then
      words[#words + 1] = s[name] == s.count and "all " .. name
        or ("%d %s"):format(s[name], name)
    end
  end
  return words
end

-- Calls fn. A failure gives nil and the first line of the error; Ctrl-C is
-- raised.
local function try(fn, ...)
  local fine, result = interrupt.pcall(fn, ...)
  if fine then
    return result
  end
  local text = type(result) == "table" and rawget(result, "message") or result
  return nil, printable.clean((tostring(text):gsub("\n.*", "")))
end

-- The rectangle of an Array, of one `slice` of it where it has more than two
-- dimensions.
local function read_array(h, src, slice, r1, r2, c1, c2)
  local list = {}
  for i = r1, r2 do
    local before = ((slice - 1) * src.rows + i - 1) * src.cols
    list[#list + 1] = table.move(h, before + c1, before + c2, 1, {})
  end
  return list
end

-- The rectangle of a Buffer, or of one `slice` of it.
local function read_buffer(b, src, slice, r1, r2, c1, c2)
  local view <close> = not b.rows and b:matrix((slice - 1) * src.rows
    * src.cols + 1, src.rows, src.cols) or nil
  local rows, cols = r2 - r1 + 1, c2 - c1 + 1
  local h <close> = (view or b):read{from = {r1, c1}, size = {rows, cols}}
  return read_array(h, {rows = rows, cols = cols}, 1, 1, rows, 1, cols)
end

-- The lines of a vector: all of it, or its beginning and its end.
local function vector_lines(src, f, o, room)
  local n, width = src.count, matrix_text.width(f, src.lanes)
  local per_line = math.min(n, math.max(1, o.width // (width + 2)))
  local count = (n + per_line - 1) // per_line
  local lines = {}
  local function add(first, last)
    local list = src.fetch(1, 1, 1, first, last)[1]
    for i = 1, #list, per_line do
      local texts = {}
      for k = i, math.min(i + per_line - 1, #list) do
        texts[#texts + 1] = matrix_text.text(list[k], f)
      end
      lines[#lines + 1] = "  " .. table.concat(texts, "  ")
    end
  end
  local most = math.min(room, 7)
  local all = matrix_text.ALL // per_line
  if count <= (o.all and all or math.max(room, most)) then
    add(1, n)
    return lines
  end
  local head = o.all and all // 2 or math.max(1, most // 2)
  add(1, head * per_line)
  lines[#lines + 1] = "  " .. printable.ellipsis()
  add(n - head * per_line + 1, n)
  return lines, true
end

-- "[2, 3]" for the number of a slice.
local function slice_name(slice, shape)
  local at, rest = {}, slice - 1
  for d = #shape - 2, 1, -1 do
    at[d] = tostring(rest % shape[d] + 1)
    rest = rest // shape[d]
  end
  return "[" .. table.concat(at, ", ") .. "]"
end

-- Slices of arrays of more than two dimensions, each below its index, as many
-- as fit.
local function block_lines(src, f, o, room)
  local lines, cut = {}, false
  local each = math.min(src.rows, 5)
  local most = math.max(1, o.all and matrix_text.ALL // (src.rows * src.cols)
    or room // (each + 1))
  local shown = math.min(src.slices, most)
  if shown < src.slices then
    room = room - 1
  end
  for slice = 1, shown do
    lines[#lines + 1] = slice_name(slice, src.shape)
    local more, less = matrix_text.lines(src, slice, f, o,
      math.max(1, room // shown - 1))
    table.move(more, 1, #more, #lines + 1, lines)
    cut = cut or less
  end
  if shown < src.slices then
    lines[#lines + 1] = ("%s %d more of %s"):format(printable.ellipsis(),
      src.slices - shown, src.rows .. times() .. src.cols)
  end
  return lines, cut or shown < src.slices
end

-- Lines of the elements, by the number of dimensions.
local function element_lines(src, f, o, room)
  if src.slices > 1 then
    return block_lines(src, f, o, room)
  elseif #src.shape == 1 then
    return vector_lines(src, f, o, room)
  end
  return matrix_text.lines(src, 1, f, o, room)
end

-- The summary, then the elements, or the reason why none are shown.
local function compose(src, o)
  local lines = join(src.words, o.width, "  ")
  lines[1] = style.paint(lines[1], "bold", o.color)
  local stats, why = try(src.stats)
  local f = matrix_text.format(src.scalar, stats)
  local about = stats and stats_words(stats, f) or {}
  if why then
    about[#about + 1] = "min, mean, max: " .. why
  end
  local footer = #about > 0 and join(about, o.width - 2, "") or {}
  local room = math.max(2, o.height - #lines - #footer - 2)
  local shown, cut = {}, nil
  local fine, wrong = try(function()
    shown, cut = element_lines(src, f, o, room)
    return true
  end)
  if not fine then
    footer = join({"not read: " .. wrong}, o.width - 2, "")
  elseif cut then
    about[#about + 1] = o.all and ("no more than %d elements are shown")
      :format(matrix_text.ALL) or ('show(%s, "all")'):format(o.name)
    local longer = join(about, o.width - 2, "")
    footer = (#longer == #footer or #footer == 0) and longer or footer
  end
  table.move(shown, 1, #shown, #lines + 1, lines)
  for _, line in ipairs(footer) do
    lines[#lines + 1] = "  " .. style.paint(line, "dim", o.color)
  end
  return lines
end

local function lanes_of(name)
  local scalar, lanes = name:match "^(%a+)(%d*)$"
  return scalar, math.tointeger(tonumber(lanes)) or 1
end

-- "Buffer x"
local function title(class, o)
  return o.name ~= "_" and class .. " " .. o.name or class
end

-- The description of an open Buffer or Array.
local function source(value, class, o)
  local scalar, lanes = lanes_of(value.type)
  local shape = value.shape
  local n = #shape
  local src = {shape = shape, count = #value, scalar = scalar, lanes = lanes,
    rows = n > 1 and shape[n - 1] or 1, cols = shape[n]}
  src.slices = n > 2 and src.count // (src.rows * src.cols) or 1
  src.words = {title(class, o), value.type .. " "
    .. table.concat(shape, times()),
    quantity.format(value.bytes, "B")}
  return src
end

-- Whether a whole matrix or vector fits the window with numbers of any length.
local function small(src, o)
  local width = matrix_text.width({width = LONGEST[src.scalar] or 11},
    src.lanes)
  return src.slices == 1 and src.rows <= 5
    and src.cols * (width + 2) <= o.width
end

--- arrays.Buffer(b, o [, class]) -> lines
--- A buffer: type, shape, size, device; then its corners, least, mean and
--- largest element. Only the shown rectangles are read; the device finds the
--- least, mean and largest element, or the host where all elements are shown.
function M.Buffer(b, o, class)
  local src = source(b, class or "Buffer", o)
  local info = b:info()
  if b.rows and b.ld > b.cols then
    table.insert(src.words, 3, ("ld %d"):format(b.ld))
  end
  if info.view then
    table.insert(src.words, 2, "view")
  end
  src.words[#src.words + 1] = on(info.device)
  local h <close> = small(src, o) and try(b.read, b) or nil
  function src.stats()
    return h and h:summary() or require "clshell.data.summary".of(b)
  end
  function src.fetch(...)
    return (h and read_array or read_buffer)(h or b, src, ...)
  end
  return compose(src, o)
end

--- arrays.Expression(e, o) -> lines
--- An expression: its elements, which the prompt calculates first.
function M.Expression(e, o)
  local b <close> = e:eval()
  return M.Buffer(b, o, "Expression")
end

--- arrays.Array(h, o) -> lines
--- A host array: the summary and the elements of arrays.Buffer.
function M.Array(h, o)
  local src = source(h, "Array", o)
  src.words[#src.words + 1] = "on the host"
  function src.stats()
    return src.count <= HOST and h:summary() or nil
  end
  function src.fetch(...)
    return read_array(h, src, ...)
  end
  return compose(src, o)
end

-- The rectangle of an Image, or of one `slice` of it.
local function read_image(img, src, slice, r1, r2, c1, c2)
  local n, rows, cols = #src.shape, r2 - r1 + 1, c2 - c1 + 1
  local h <close> = img:read{
    origin = {table.unpack({c1 - 1, r1 - 1, slice - 1}, 1, n)},
    region = {table.unpack({cols, rows, 1}, 1, n)}}
  return read_array(h, {rows = rows, cols = cols}, 1, 1, rows, 1, cols)
end

--- arrays.Image(img, o) -> lines
--- An image: kind, format, shape, size, device; then its corners. Of a large
--- image no other pixel is read: least, mean and largest are missing.
function M.Image(img, o)
  local src = source(img, "Image", o)
  local info = img:info()
  table.insert(src.words, 2, info.kind .. " " .. info.format)
  src.words[#src.words + 1] = on(info.device)
  local h <close> = src.count <= PIXELS and try(img.read, img) or nil
  function src.stats()
    return h and h:summary()
  end
  function src.fetch(...)
    return (h and read_array or read_image)(h or img, src, ...)
  end
  return compose(src, o)
end

M.compose, M.join, M.on, M.times, M.title = compose, join, on, times, title

return M
