-- shell/examples/memory.lua - examples that help shows: arrays and buffers
-- SPDX-License-Identifier: MIT

--- cl.class
print(cl.class(cl.array("int", 4)), cl.class(5)) --> Array nil

--- cl.array
local h = cl.array("float", {2, 3}, function(i, j) return 10 * i + j end)
print(h:at(2, 3), h[1], #h) --> 23.0 11.0 6

--- Array:at
local h = cl.array("int", {2, 2}, {{1, 2}, {3, 4}})
print(h:at(2, 1)) --> 3

--- Array:set
local h = cl.array("int", {2, 2})
h:set(2, 1, 5)
print(h:at(2, 1), h[3]) --> 5 5

--- Array:tobytes
local h = cl.array("ushort", 2, {0x4142, 0x4344})
print(h:tobytes()) --> BADC

--- Array:reshape
local h = cl.array("int", 6, function(i) return i end)
print(h:reshape({2, 3}):at(2, 1)) --> 4

--- Array:copy
local h = cl.array("int", 3, 1)
local other = h:copy()
other[1] = 9
print(h[1], other[1]) --> 1 9

--- Array:convert
local h = cl.array("float", 3, 2)
print(h:convert("int").type) --> int

--- Array:fill
local h = cl.array("int", 6):fill(7)
h:fill(0, 1, 6, 2) -- elements 1, 3 and 5
print(h[1], h[2]) --> 0 7

--- Array:table
local rows = cl.array("int", {2, 2}, {{1, 2}, {3, 4}}):table()
print(rows[2][1]) --> 3

--- Array:random
local h = cl.array("float", 1000):random(1, -1, 1)
print(h[1] >= -1 and h[1] < 1) --> true

--- Array:normal
local h = cl.array("float", 1000):normal(1, 10, 0.1)
print(h:min() > 9 and h:max() < 11) --> true

--- Array:equal
local a, b = cl.array("int", 3, 1), cl.array("int", 3, 1)
b[2] = 5
print(a:equal(b)) --> false 2

--- Array:max_diff
local a, b = cl.array("float", 3, 1), cl.array("float", 3, 1)
b[2] = 1.5
print(a:max_diff(b)) --> 0.5 2

--- Array:swap
local h = cl.array("ushort", 1, 1)
print(h:swap()[1]) --> 256

--- Array:summary
local s = cl.array("int", 4, {3, 1, 2, 6}):summary()
print(s.min, s.mean, s.max) --> 1 3.0 6

--- Array:tostring
print(#cl.array("float", 3):tostring()) --> 12

--- Array:readfile
local f <close> = assert(io.tmpfile())
cl.array("int", 3, 4):writefile(f)
f:seek("set")
print(cl.array("int", 3):readfile(f)[3]) --> 4

--- Array:writefile
local f <close> = assert(io.tmpfile())
cl.array("float", 10, 1):writefile(f)
print(f:seek()) --> 40

--- Array:close
local h <close> = cl.array("float", 1000)
h:close()
print(h.closed) --> true

--- cl.buffer
local b = cl.buffer("float", {2, 3}, {{1, 2, 3}, {4, 5, 6}})
print(b.bytes, b:read():at(2, 3)) --> 24 6.0
local padded = cl.buffer("float", {2, 3}, 0, {ld = 16})
print(padded.ld, padded.bytes) --> 16 128

--- Buffer:info
local b = cl.buffer("float", {4, 4}, 0)
print(b:info().bytes, b:info().view) --> 64 false

--- Buffer:read
local b = cl.buffer("int", {3, 3}, function(i, j) return 10 * i + j end)
print(b:read():at(3, 1)) --> 31
local corner = b:read{from = {2, 2}, size = {2, 2}}
print(corner[1]) --> 22

--- Buffer:write
local b = cl.buffer("int", 3)
b:write({1, 2, 3})
b:write({9}, {first = 2, count = 1})
print(b:read()[2]) --> 9

--- Buffer:fill
local b = cl.buffer("float", 8, 0)
b:fill(1, {first = 5, count = 4})
print(b:read()[4], b:read()[5]) --> 0.0 1.0

--- Buffer:copy
local a, b = cl.buffer("int", 4, 7), cl.buffer("int", 8, 0)
a:copy(b, {first = 1, count = 4, to = 5})
print(b:read()[4], b:read()[5]) --> 0 7

--- Buffer:map
local b = cl.buffer("int", 4, 0)
local h <close> = b:map("read_write") -- unmapped where it is closed
h[1] = 5
h:close()
print(b:read()[1]) --> 5

--- Buffer:unmap
local b = cl.buffer("int", 4, 3)
local h = b:map("read")
print(h[4]) --> 3
b:unmap(h)

--- Buffer:view
local b = cl.buffer("float", 4096, 1)
local front = b:view(1, 1024)
front:fill(2)
print(b:read()[1024], b:read()[1025]) --> 2.0 1.0

--- Buffer:as
local b = cl.buffer("float", {2, 8}, 1)
local quads = b:as "float4" -- 2 x 4 becomes 2 x 2 vectors, the same memory
quads:fill(3)
print(quads.shape[2], b:read():at(2, 8)) --> 2 3.0

--- Array:as
local a = cl.array("float", 2, 1)
print(("%08x"):format(a:as "uint"[1])) --> 3f800000

--- Buffer:matrix
local b = cl.buffer("float", 100, function(i) return i end)
local m = b:matrix(1, 3, 4, 10) -- 3 x 4, rows 10 elements apart
print(m:read():at(2, 1)) --> 11.0

--- Buffer:overlaps
local b = cl.buffer("int", 4096)
print(b:overlaps(b:view(1, 1024))) --> true

--- Buffer:close
local b <close> = cl.buffer("float", 1000) -- freed where the block ends
b:close()
print(b.closed) --> true

--- Array:summary
local s = cl.array("float", 3, {1, 2, 6}):summary()
print(s.min, s.mean, s.max, s.nan) --> 1.0 3.0 6.0 0

--- Buffer:migrate
local b = cl.buffer("int", 1000, 7)
local fine, event = pcall(b.migrate, b) -- to the device of the default queue
print(fine and event:wait().command) -- migrate

--- cl.struct
local particle = cl.struct "struct particle {float4 pos; float m;};"
print(particle.size) --> 32
local k = cl.kernel(particle.source .. [[
  kernel void heavier(global struct particle *p, struct particle by) {
    p[get_global_id(0)].m += by.m;
  }]])
local b = particle:buffer{{pos = {1, 2, 3, 4}, m = 5}, {m = 6}}
k:range(2)(b, particle{m = 10})
print(particle:read(b)[2].m) --> 16.0

--- Struct:buffer
local point = cl.struct "typedef struct {int x, y;} point;"
local b = point:buffer{{x = 1, y = 2}, {x = 3}}
print(b) --> Buffer uchar[2][8]

--- Struct:read
local point = cl.struct "typedef struct {int x, y;} point;"
local list = point:read(point:buffer{{x = 1, y = 2}, {x = 3}})
print(list[1].y, list[2].y) --> 2 0

--- Struct:write
local point = cl.struct "typedef struct {int x, y;} point;"
local b = point:buffer(100)
point:write(b, {{x = 1}, {x = 2}}, 50)
print(point:read(b, 51, 1)[1].x) --> 2

--- Struct:check
print(cl.struct "struct s {char c; double x;};":check())
