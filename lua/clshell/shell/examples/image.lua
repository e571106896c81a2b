-- shell/examples/image.lua - examples that help shows: images and samplers
-- SPDX-License-Identifier: MIT

--- cl.image
local img = cl.image{format = "r float", width = 4, height = 2,
  data = {{1, 2, 3, 4}, {5, 6, 7, 8}}}
print(img, img.type, img.bytes) --> Image 2d r float 4x2 float 32

--- cl.sampler
local img = cl.image{format = "r float", width = 2, data = {10, 20}}
local y = cl.buffer("float", 1)
local k = cl.kernel [[kernel void f(read_only image1d_t i, sampler_t s,
    global float *y) {
  y[0] = read_imagef(i, s, 1.0f).x; // between the middles of two pixels
}]]
k:range(1)(img, cl.sampler{filter = "linear"}, y)
print(y:read()[1]) --> 15.0

--- Context:image_formats
for _, format in ipairs(cl.context():image_formats{kind = "3d"}) do
  if format == "rgba float" then
    print(format) --> rgba float
  end
end

--- Image:info
print(cl.image{width = 8, height = 4}:info().kind) --> 2d

--- Image:read
local img = cl.image{width = 8, height = 8, data = 1}
local corner = img:read{origin = {6, 6}, region = {2, 2}}
print(corner, corner:at(1, 1)[4]) --> Array float4[2][2] 1.0

--- Image:write
local img = cl.image{format = "rgba unorm_int8", width = 2, height = 2}
img:write{{{255, 0, 0, 255}, {0, 255, 0, 255}},
  {{0, 0, 255, 255}, {0, 0, 0, 255}}}
print(img:read():at(2, 1)[3]) --> 255

--- Image:fill
local img = cl.image{format = "rgba unorm_int8", width = 4, height = 4}
img:fill{1, 0.2, 0, 1}
print(table.concat(img:read()[16], " ")) --> 255 51 0 255

--- Image:copy
local img = cl.image{width = 4, height = 4, data = 2}
local b = cl.buffer("float", 64)
img:copy(b)
print(b:read()[64]) --> 2.0

--- Image:map
local img = cl.image{format = "r float", width = 4, height = 2, data = 1}
local h <close> = img:map() -- unmapped where it is closed
h[8] = 5
h:close()
print(img:read():at(2, 4)) --> 5.0

--- Image:unmap
local img = cl.image{format = "r float", width = 4, height = 2, data = 3}
local h = img:map "read"
print(h:at(2, 4)) --> 3.0
img:unmap(h)

--- Image:close
local img <close> = cl.image{width = 64, height = 64}
img:close()
print(img.closed) --> true

--- Sampler:close
local s <close> = cl.sampler{filter = "linear"}
print(s) --> Sampler clamp_to_edge linear
