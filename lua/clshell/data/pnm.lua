-- data/pnm.lua - images of the plain formats PGM (grey) and PPM (colour) to
-- and from host arrays; the numbers stay as the file has them
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local file = require "clshell.base.file"
local host = require "cl.host"

local M = {}

local LANES = {P2 = 1, P5 = 1, P3 = 3, P6 = 3} -- numbers of a pixel
local LITTLE = string.pack("=I2", 1) == "\1\0" -- this machine's byte order

local function fail(path, ...)
  cl.error(path .. ": " .. string.format(...))
end

-- The header's magic, columns, rows and largest value, and the place behind
-- them. A comment goes from # to the end of a line.
local function header(path, s)
  local magic = s:sub(1, 2)
  if not LANES[magic] then
    fail(path, "the file must be a PGM or PPM image and begin with P2, P3, P5 "
      .. "or P6; got %s", magic:find "^%g%g$" and magic or "other bytes")
  end
  local numbers, at = {}, 3
  for k, name in ipairs{"columns", "rows", "largest value"} do
    local skipped = s:match("^[%s]*#[^\n]*()", at)
    while skipped do
      at, skipped = skipped, s:match("^[%s]*#[^\n]*()", skipped)
    end
    local digits, stop = s:match("^%s*(%d+)()", at)
    numbers[k], at = math.tointeger(tonumber(digits)), stop or at
    if (numbers[k] or 0) < 1 or numbers[k] > (k < 3 and 1 << 30 or 65535) then
      fail(path, "the header has no %s; needed is \"%s columns rows 255\"",
        name, magic)
    end
  end
  return magic, numbers[1], numbers[2], numbers[3], at
end

-- An array of the numbers of an image of the text formats.
local function plain(path, s, most, h)
  local k = 0
  for word in s:gsub("#[^\n]*", ""):gmatch "%S+" do
    local v = word:find "^%d+$" and tonumber(word)
    k = k + 1
    if not v or v > most or k > #h then
      fail(path, "number %d, \"%s\"; needed are %d numbers from 0 to %d", k,
        word:sub(1, 60), #h, most)
    end
    h[k] = v
  end
  return k
end

--- pnm.load(path) -> host array; nil, message if the file cannot be opened
--- Reads a PGM or PPM image, as text or bytes, as rows x columns: uchar, or
--- ushort where the largest value is above 255; of PPM uchar4 or ushort4, the
--- fourth component full. matrix.load does it for a Buffer.
--- Example:
--- pnm.save("g.pgm", cl.array("uchar", {2, 3}, 7))
--- print(pnm.load("g.pgm").cols) --> 3
function M.load(path)
  argument.check("pnm.load", "path", path, "string")
  local f <close>, message = file.open(path)
  if f == nil then
    return nil, message
  end
  local s = f:read "a"
  local magic, cols, rows, most, at = header(path, s)
  local lanes, kind = LANES[magic], most > 255 and "ushort" or "uchar"
  local n, text = rows * cols * lanes, magic < "P4"
  local rest = s:sub(at + (text and 0 or 1)) -- behind one blank
  local found = #rest // cl.typesize(kind)
  if text then
    found = (#rest + 1) // 2
  end
  if n <= found then
    local h = text and cl.array(kind, n)
      or cl.array(kind, n, rest:sub(1, n * cl.typesize(kind)))
    found = text and plain(path, rest, most, h) or found
    if not text and kind == "ushort" and LITTLE then
      h:swap()
    end
    if n == found and lanes == 1 then
      return h:reshape{rows, cols}
    elseif n == found then
      local all = cl.array(kind, rows * cols * 4, most)
      host.copy_box(all, h, {rows = rows * cols, cols = 3, to_ld = 4})
      return cl.array(kind .. 4, {rows, cols}, all:tobytes())
    end
  end
  fail(path, "%d x %d pixels take %d numbers; the file has %s%d", rows, cols,
    n, text and n > found and "at most " or "", found)
end

--- pnm.save(path, h)
--- Writes an array of rows x columns as an image: uchar and ushort as PGM,
--- vectors of 3 or 4 of them as PPM, without the fourth component.
--- Example: as for pnm.load
function M.save(path, h)
  argument.check("pnm.save", "the path", path, "string")
  argument.check("pnm.save", "the image", h, "Array")
  local kind, lanes = h.type:match "^(u%l+t?)([34]?)$"
  if kind ~= "uchar" and kind ~= "ushort" or #h.shape ~= 2 or #h == 0 then
    cl.error(("%s: an image must be rows x columns, 1 at least, of uchar or "
      .. "ushort, or of vectors of 3 or 4 of them; got %s"):format(path,
      tostring(h)), {hint = 'matrix.from(A:read():convert "uchar"):save '
        .. '"a.pgm", of whole numbers from 0 to 255'})
  elseif path:lower():match "%.(p[gp]m)$" == (lanes == "" and "ppm" or "pgm")
  then
    cl.error(("%s: %s are the pixels of a %s file"):format(path, h.type,
      lanes == "" and ".pgm" or ".ppm"))
  end
  local n = #h
  local all = cl.array(kind, n * cl.typesize(h.type) // cl.typesize(kind),
    h:tobytes())
  if lanes ~= "" then
    all = host.copy_box(cl.array(kind, n * 3), all, {rows = n, cols = 3,
      from_ld = 4})
  end
  if kind == "ushort" and LITTLE then
    all:swap()
  end
  file.create(path, function(f, check)
    check(f:write(("%s\n%d %d\n%d\n"):format(lanes == "" and "P5" or "P6",
      h.cols, h.rows, kind == "uchar" and 255 or 65535), all:tobytes()))
  end)
end

return M
