-- shell/prompt/tutorial_lessons.lua - the lessons of ?tutorial;
-- tutorial_steps.lua tells the fields of a step
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local steps = require "clshell.shell.prompt.tutorial_steps"

local times = steps.times

-- A test for a step: all the named rungs of a family have been measured.
local function measured(family, ...)
  local wanted = {...}
  return function(s)
    local seen, missing = {}, nil
    for _, r in ipairs(s.measured()) do
      if r.family == family and r.ok then
        seen[r.kernel] = true
      end
    end
    for _, name in ipairs(wanted) do
      missing = missing or not seen[name] and name
    end
    return not missing or nil, next(seen) and missing
      and ("Now %s.%s."):format(family, missing) or nil
  end
end

local banks = {title = "banks and local memory",
  {title = "Room for tiles", text = [[
Local memory belongs to a work-group, and there is little of it. gemm.tiled
with tile = 32 keeps two tiles of 32 x 32 floats there, 8 KiB; a group that
wants more than the device has does not start. Ask your device, in bytes.]],
    code = "cl.device().local_mem_size",
    done = function(s)
      return s.results[1] == cl.device().local_mem_size
    end},

  {title = "A column of a tile", text = function()
      return [[
A GPU's local memory lies in banks, on NVIDIA 32 of 4 bytes, and each serves
one address at a time. transpose.tiled writes its tile by rows and reads it by
columns: in rows of 32 floats a column lies in a single bank. tiled_padded has
rows one element longer, so that a column meets all banks. Measure both.]]
        .. (cl.device().type == "cpu" and [[

This device is a CPU: it has no banks, so expect no gain from padding.]]
        or "")
    end,
    code = 'bench("transpose.tiled", {1024, 1024})\n'
      .. 'bench("transpose.tiled_padded", {1024, 1024})',
    after = times("transpose", {"tiled"}, {"tiled_padded"}),
    done = measured("transpose", "tiled", "tiled_padded")},

  {title = "The same without the extra element", text = [[
tiled_swizzled keeps rows of 32 and puts element (r, c) of the tile into column
c xor r: a column of the matrix meets all banks as well, and no local memory is
lost. ?transpose.tiled_swizzled has the kernel's text. Measure it.]],
    code = 'bench("transpose.tiled_swizzled", {1024, 1024})',
    after = times("transpose", {"tiled"}, {"tiled_padded"},
      {"tiled_swizzled"}),
    done = measured("transpose", "tiled_swizzled")},
}

local BIG = [[
x = cl.buffer("float", 4000000); h = cl.array("float", #x):random(1)]]

local transfers = {title = "transfers between host and device",
  {title = "To the device", text = [[
write copies from the host to a buffer, read back again. Both wait for the
data. The event of a write knows how long the copy took; ev:gbs(bytes) is its
rate, in GB/s.]],
    code = BIG .. "\nev = x:write(h)\nev:gbs(x.bytes)",
    done = function(s)
      local written
      for _, ev in ipairs(s.of "Event") do
        written = written or ev.command == "write"
      end
      return written and math.type(s.results[1]) == "float" or nil,
        written and "It is written: ask its event, ev:gbs(x.bytes)." or nil
    end},

  {title = "Only a part", text = [[
To see a little, read a little: first and count take elements in order, from
and size a rectangle of a matrix. The prompt does the same when it shows the
corners of a buffer.]],
    need = function(s)
      return #s.of "Buffer" == 0
    end,
    again = BIG,
    code = "x:read{first = 1, count = 10}",
    done = function(s)
      local part, whole = s.of "Array", s.of "Buffer"
      for _, b in ipairs(whole) do
        if part[1] and s.results[1] == part[1] and #part[1] < #b then
          return true
        end
      end
      return nil
    end},

  {title = "The way, and the work", text = [[
A kernel that does little for each byte may take less time than the way there.
Measure the copy to the device, and a fill of the same buffer on the device:
bytes = gives both a rate. What has to come from the host counts as well.]],
    need = function(s)
      return #s.of "Buffer" == 0 or #s.of "Array" == 0
    end,
    again = BIG,
    code = "bench(function() return x:write(h) end, {bytes = x.bytes})\n"
      .. "bench(function() return x:fill(0) end, {bytes = x.bytes})",
    done = function(s)
      local n = 0
      for _, r in ipairs(s.measured()) do
        n = n + (r.ok and not r.family and r.bytes and 1 or 0)
      end
      return n >= 2, n == 1 and "One of them is measured; now the other."
        or nil
    end},
}

local SPARSE = [[
M = dia.poisson2d(256, 256); x = cl.buffer("float", M.cols, 1)]]

local function no_matrix()
  return rawget(_G, "M") == nil or rawget(_G, "x") == nil
end

local sparse = {title = "sparse matrices: SpMV by diagonals",
  {title = "A matrix of five diagonals", text = [[
dia.poisson2d makes the matrix of a grid with four neighbours each: 65536 rows,
five diagonals, stored as five dense rows of values. spmv multiplies it by a
vector. Inside the grid each row sums to 0: 4 - 1 - 1 - 1 - 1.]],
    code = SPARSE .. "\ny = spmv(M, x)\ny",
    done = function(s)
      local y, x = s.results[1], rawget(_G, "x")
      return s.class(y) == "Buffer" and #y.shape == 1 and x ~= y
        and s.input:find "%a" ~= nil and rawget(_G, "M") ~= nil
        and #y == rawget(_G, "M").rows or nil
    end},

  {title = "Memory decides", text = [[
Each entry is read once and takes part in two operations: far fewer for a byte
than a matrix product has, so memory limits and the rate to look at is GB/s.
The caches are cold. specialised has the offsets compiled in and tests no index
inside. Measure both.]],
    need = no_matrix, again = SPARSE,
    code = 'bench("spmv.naive", {M = M, x = x})\n'
      .. 'bench("spmv.specialised", {M = M, x = x})',
    after = times("spmv", {"naive"}, {"specialised"}),
    done = measured("spmv", "naive", "specialised")},
}

local store = {title = "the store of results, and comparisons",
  {title = "A result is kept", text = [[
Each bench is kept on disk, with device, driver, time and the kernel's hash. A
tag finds it again.]],
    code = 'r = bench("gemm.tiled", {128, 128, 128}, {tile = 8}, '
      .. '{tag = "mine"})\nr',
    done = function(s)
      for _, r in ipairs(s.measured()) do
        if r.tag and r.ok then
          return true
        end
      end
      return nil, #s.measured() > 0 and "Give it a tag: {tag = \"mine\"}."
        or nil
    end},

  {title = "What was measured before", text = [[
history lists the runs kept, also of earlier sessions; best the fastest of each
kernel. In a shell, `clshell history` and `clshell compare` do the same.]],
    code = 'history{tag = "mine"}',
    done = function(s)
      local list = s.results[1]
      return type(list) == "table" and type(list[1]) == "table"
        and list[1].id ~= nil
    end},

  {title = "Is it faster?", text = [[
Two results taken one after the other also differ by what else the machine did.
compare runs both in turns, and says FASTER, SLOWER, SAME or UNCLEAR with an
interval.]],
    code = 'compare({"gemm.tiled", {128, 128, 128}, {tile = 8}},\n'
      .. '  {"gemm.tiled", {128, 128, 128}, {tile = 16}})',
    done = function(s)
      local c = s.results[1]
      return type(c) == "table" and type(c.verdict) == "string"
    end},
}

return {steps, banks, transfers, sparse, store}
