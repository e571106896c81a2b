-- image.lua - images and samplers: kinds, formats, what moves pixels, what
-- kernels read by formula, and what is refused.
-- SPDX-License-Identifier: MIT
local t = require "t"
local cl = require "cl"

local device = t.device()
t.keeps("Context", "Queue")

-- A test that needs images; its kernels, by `kernel`, end with it.
local function image_test(name, fn)
  t.test(name, function()
    t.skip_if(not device.image_support, "the device has no images")
    local kernels = {}
    fn(function(source)
      kernels[#kernels + 1] = cl.kernel(source)
      return kernels[#kernels]
    end)
    for _, k in ipairs(kernels) do
      k.program:close()
      k:close()
    end
  end)
end

-- Skips where the driver offers no such images.
local function need(format, kind)
  for _, name in ipairs(cl.context():image_formats{kind = kind}) do
    if name == format then
      return
    end
  end
  t.skip(("the driver has no %s images of %s"):format(kind, format))
end

-- The options of a small image of each kind, and its shape on the host.
local KINDS = {
  {"1d", {width = 5}, {5}},
  {"2d", {width = 5, height = 3}, {3, 5}},
  {"3d", {width = 5, height = 3, depth = 2}, {2, 3, 5}},
  {"1d_array", {width = 5, array_size = 3}, {3, 5}},
  {"2d_array", {width = 5, height = 3, array_size = 2}, {2, 3, 5}}}

local function with(options, more)
  local all = {}
  for name, value in pairs(options) do
    all[name] = value
  end
  for name, value in pairs(more) do
    all[name] = value
  end
  return all
end

-- 100 times the last index, 10 times the one before ...
local function place(...)
  local sum = 0
  for i, index in ipairs{...} do
    sum = sum + index * 10^(i - 1)
  end
  return sum
end

image_test("kinds, fields and memory", function()
  local ctx = cl.context()
  for _, case in ipairs(KINDS) do
    local kind, sizes, shape = table.unpack(case)
    need("rgba float", kind)
    local used = ctx.used
    local img <close> = cl.image(sizes)
    local count = #img
    t.eq({img.kind, img.shape, img.type}, {kind, shape, "float4"})
    t.eq({img.width, img.height, img.depth, img.array_size},
      {sizes.width, sizes.height, sizes.depth, sizes.array_size})
    t.eq({img.format, img.bytes}, {"rgba float", 16 * count})
    t.eq(ctx.used, used + img.bytes)
    t.ok(img.context == ctx and img.buffer == nil)
    t.ok(img.row_pitch >= 5 * 16)
    t.eq(img:info().kind, kind)
    t.eq(img:info().device, device.name)
    img:close()
    img:close()
    t.eq(ctx.used, used)
    t.raises(function() return img.width end, "this Image is closed")
    t.raises(function() img:read() end, "this Image is closed")
  end
  local img <close> = cl.image{format = "r unorm_int8", width = 6, height = 4}
  t.eq(tostring(img), "Image 2d r unorm_int8 6x4")
  t.raises(function() return img[1] end, "read them first: img:read()[1]")
  t.raises(function() return img.shap end, "an Image has no field")
  t.raises(function() return img.widht end, "did you mean 'width'?")
  img:close()
  t.eq(tostring(img), "Image 2d r unorm_int8 6x4 (closed)")
end)

image_test("every format keeps its bytes", function()
  local formats = cl.context():image_formats()
  t.ok(#formats > 0)
  for _, format in ipairs(formats) do
    local img <close> = cl.image{format = format, width = 7, height = 3}
    local bytes = {}
    for i = 1, img.bytes do
      bytes[i] = string.char(math.random(0, 126))
    end
    local text = table.concat(bytes)
    img:write(text)
    local h <close> = img:read()
    t.eq({h.type, h.shape, h:tobytes()}, {img.type, {3, 7}, text}, format)
  end
  t.eq(cl.image{format = "rgba unorm_int8", width = 1}.type, "uchar4")
end)

image_test("content of all kinds of values", function()
  local b <close> = cl.buffer("float", 24, function(i) return i end)
  local rows = b:read():table()
  local function expect(img, what)
    local h <close> = img:read()
    for i = 1, 6 do
      t.eq(h[i], {table.unpack(rows, 4 * i - 3, 4 * i)}, what)
    end
    img:close()
  end
  local function made(data)
    return cl.image{width = 3, height = 2, data = data}
  end
  local pixels = {}
  for i = 1, 6 do
    local row = (i - 1) // 3 + 1
    pixels[row] = pixels[row] or {}
    table.insert(pixels[row], {table.unpack(rows, 4 * i - 3, 4 * i)})
  end
  expect(made(pixels), "nested table")
  expect(made(function(i, j) return pixels[i][j] end), "function")
  expect(made(b), "Buffer of channels")
  expect(made(b:as "float4"), "Buffer of pixels")
  expect(made(b:read()), "Array of channels")
  expect(made(b:read():tobytes()), "string")
  expect(made(b:as("float4"):read()), "Array of pixels")
  local seven <close> = made(7)
  t.eq(seven:read()[6], {7, 7, 7, 7})
  local half <close> = cl.array("float", 24)
  seven:read(half)
  t.eq(half[24], 7)
  local ev = seven:write(b, {async = true})
  local h <close>, read = seven:read{async = true, after = ev}
  read:wait()
  t.eq(h[6], {21, 22, 23, 24})
end)

image_test("parts", function()
  for _, case in ipairs(KINDS) do
    local kind, sizes, shape = table.unpack(case)
    need("r float", kind)
    local n = #shape
    local img <close> = cl.image(with(sizes, {format = "r float",
      data = place}))
    local origin, region = {3, 1, 1}, {2, 2, 1}
    for i = n + 1, 3 do
      origin[i], region[i] = nil, nil
    end
    local part = {origin = origin, region = region}
    local h <close> = img:read(part)
    local count = n == 1 and 2 or 4
    t.eq({#h, h[count]}, {count, place(table.unpack(n == 1 and {5}
      or n == 2 and {3, 5} or {2, 3, 5}))}, kind)
    img:write(-1, part)
    t.eq(img:read(part)[1], -1)
    local sum = 0
    for _, v in ipairs(img:read()) do
      sum = sum + (v == -1 and 1 or 0)
    end
    t.eq(sum, count, kind)
    local rest <close> = img:read{origin = origin}
    t.eq(rest[1], -1)
    t.raises(function() img:read{origin = {5, 3, 2}} end, n == 3 and "leaves"
      or "must be a list of " .. n)
  end
  local img <close> = cl.image{width = 8, height = 4, data = 1}
  t.raises(function() img:read{origin = {4, 0}, region = {5, 1}} end,
    "region 5x1 at 4x0 leaves the image of 8x4")
  t.raises(function() img:read{origin = {8, 0}} end, "leaves the image")
  t.raises(function() img:read{region = {1 << 62, 4}} end, "leaves the image")
  t.raises(function() img:read{region = {0, 1}} end,
    "region: must be a list of 2 whole numbers >= 1")
  t.raises(function() img:read{origin = {-1, 0}} end, ">= 0")
  t.raises(function() img:read{origin = 3} end, "got 3")
  t.raises(function() img:fill(1, {orign = {0, 0}}) end,
    "did you mean 'origin'?")
end)

for _, case in ipairs(KINDS) do
  local kind, sizes = table.unpack(case)
  image_test(kind .. ": copies to a Buffer and back", function()
    need("r float", kind)
    local a <close> = cl.image(with(sizes, {format = "r float",
      data = place}))
    local b <close> = cl.image(with(sizes, {format = "r float", data = 0}))
    local flat <close> = cl.buffer("float", #a + 2, -1)
    local fine, err = pcall(a.copy, a, flat, {to = 3})
    if not fine and tostring(err):find("takes no such copy", 1, true) then
      t.skip(tostring(err))
    end
    t.ok(fine, err)
    t.eq(flat:read{first = 1, count = 2}:table(), {-1, -1})
    t.eq(flat:read{first = 3}:table(), a:read():reshape(#a):table())
    b:write(flat, {first = 3})
    t.ok(b:read():equal(a:read()))
  end)
end

image_test("copies", function()
  for _, case in ipairs(KINDS) do
    local kind, sizes, shape = table.unpack(case)
    need("r float", kind)
    local n = #shape
    local a <close> = cl.image(with(sizes, {format = "r float",
      data = place}))
    local b <close> = cl.image(with(sizes, {format = "r float", data = 0}))
    a:copy(b)
    t.ok(b:read():equal(a:read()), kind)
    b:write(0)
    local origin, region, to = {1, 1, 0}, {2, 1, 1}, {3, 2, 1}
    for i = n + 1, 3 do
      origin[i], region[i], to[i] = nil, nil, nil
    end
    a:copy(b, {origin = origin, region = region, to = to})
    t.eq(b:read{origin = to, region = region}:table(),
      a:read{origin = origin, region = region}:table(), kind)
  end
  local a <close> = cl.image{width = 8, height = 8, data = 1}
  local b <close> = cl.buffer("float4", 64, 0)
  t.raises(function() a:copy(a, {region = {4, 4}, to = {3, 3}}) end,
    "CL_MEM_COPY_OVERLAP")
  a:copy(a, {region = {4, 4}, to = {4, 0}})
  local r <close> = cl.image{format = "r float", width = 8, height = 8}
  t.raises(function() a:copy(r) end,
    "the formats must agree; got rgba float and r float")
  t.raises(function() a:copy(b, {to = 2}) end, "more than the Buffer's 1024")
  t.raises(function() a:write(b:as "int4") end,
    "the Buffer must hold float4 without gaps; got int4[64]")
  t.raises(function() a:copy(3) end, "must be an open Image or Buffer")
  t.raises(function() a:write(2, {first = 3}) end, "only a Buffer")
  t.raises(function() b:copy(a) end, "must be a Buffer; got Image")
end)

image_test("a fill takes the color that a kernel writes", function()
  local function filled(format, color)
    need(format, "2d")
    local img <close> = cl.image{format = format, width = 3, height = 2,
      data = 0}
    img:fill(color, {origin = {1, 0}, region = {2, 1}})
    t.eq(img:read{region = {1, 2}}:tobytes():gsub("\0", ""), "")
    return img:read()[3]
  end
  t.eq(filled("rgba float", {1, 2, 3, 4}), {1, 2, 3, 4})
  t.eq(filled("rgba float", 5), {5, 5, 5, 5})
  t.eq(filled("r float", {6, 7, 8, 9}), 6)
  t.eq(filled("rgba unorm_int8", {0, 1, 0.2, 2}), {0, 255, 51, 255})
  t.eq(filled("rgba signed_int8", {-5, 6, -7, 8}), {-5, 6, -7, 8})
  t.eq(filled("rgba unsigned_int16", {1, 2, 65535, 3}), {1, 2, 65535, 3})
  local img <close> = cl.image{width = 2}
  t.raises(function() img:fill{1, 2} end, "float4 takes 4 numbers; got 2")
  t.raises(function() img:fill "red" end, "takes a number or a table of 4")
end)

image_test("an image of a Buffer is its memory", function(kernel)
  need("rgba float", "1d_buffer")
  local b <close> = cl.buffer("float", 40, function(i) return i end)
  local img <close> = cl.image{buffer = b}
  t.eq({img.kind, img.width, img.buffer == b}, {"1d_buffer", 10, true})
  t.eq(img:read{origin = 2, region = 1}[1], {9, 10, 11, 12})
  img:write({{-1, -2, -3, -4}}, {origin = 9})
  t.eq(b:read()[40], -4)
  local short <close> = cl.image{buffer = b, width = 3}
  t.eq(#short, 3)
  t.raises(function() img:fill(1) end, "memory of a Buffer; fill that")
  t.raises(function() cl.image{buffer = b, height = 2} end, "a width alone")
  t.raises(function() cl.image{buffer = b, width = 11} end,
    "the Buffer has 10 pixels; got 11")
  t.raises(function() cl.image{buffer = b:as "int"} end,
    "must hold float4 without gaps; got int[40]")
  t.raises(function() cl.image{buffer = 3} end,
    "buffer: must be a Buffer; got number")
  local k = kernel [[
    kernel void f(read_only image1d_buffer_t i, global float4 *y) {
      int g = get_global_id(0);
      y[g] = 2 * read_imagef(i, g);
    }]]
  local y <close> = cl.buffer("float4", 9)
  k:range(9)(img, y)
  b:close()
  t.eq(y:read()[9], {66, 68, 70, 72})
  img:close()
end)

-- What read_imagef gives at coordinate u of a row of n numbers.
local function addressed(address, i, n)
  if i >= 0 and i < n then
    return i
  elseif address == "clamp_to_edge" then
    return math.max(0, math.min(n - 1, i))
  elseif address == "repeat" then
    return i % n
  elseif address == "mirrored_repeat" then
    i = i % (2 * n)
    return i < n and i or 2 * n - 1 - i
  end
end

image_test("samplers by their formula", function(kernel)
  local W, H = 5, 4
  local img <close> = cl.image{format = "r float", width = W, height = H,
    data = function(i, j) return i * i + 10 * j end}
  local function pixel(address, i, j)
    i, j = addressed(address, i, W), addressed(address, j, H)
    return i and j and (j + 1)^2 + 10 * (i + 1) or 0
  end
  local k = kernel [[
    kernel void f(read_only image2d_t i, sampler_t s, global float2 *at,
                  global float *y) {
      int g = get_global_id(0);
      y[g] = read_imagef(i, s, at[g]).x;
    }]]
  local N = 200
  local at <close> = cl.array("float2", N)
  local y <close> = cl.buffer("float", N)
  local b <close> = cl.buffer("float2", N)
  for _, normalized in ipairs{false, true} do
    -- in 64ths of a pixel, off its edges: GPUs interpolate in 256ths
    for g = 1, N do
      local u = (math.random(-5 * W, 10 * W) * 64 // 5 + 0.5) / 64
      local v = (math.random(-5 * H, 10 * H) * 64 // 5 + 0.5) / 64
      at[g] = normalized and {u / W, v / H} or {u, v}
    end
    b:write(at)
    for _, address in ipairs{"clamp_to_edge", "clamp", normalized
        and "repeat" or nil, normalized and "mirrored_repeat" or nil} do
      for _, filter in ipairs{"nearest", "linear"} do
        local s <close> = cl.sampler{normalized = normalized,
          address = address, filter = filter}
        t.eq({s.normalized, s.address, s.filter},
          {normalized, address, filter})
        k:range(N)(img, s, b, y)
        local got <close> = y:read()
        for g = 1, N do
          local u, v = table.unpack(at[g])
          if normalized then
            u, v = u * W, v * H
          end
          local expected
          if filter == "nearest" then
            expected = pixel(address, math.floor(u), math.floor(v))
          else
            local i, j = math.floor(u - 0.5), math.floor(v - 0.5)
            local a, c = u - 0.5 - i, v - 0.5 - j
            expected = (1 - a) * (1 - c) * pixel(address, i, j)
              + a * (1 - c) * pixel(address, i + 1, j)
              + (1 - a) * c * pixel(address, i, j + 1)
              + a * c * pixel(address, i + 1, j + 1)
          end
          t.ok(math.abs(got[g] - expected) < 0.4, ("%s at %g, %g: got %g, "
            .. "expected %g"):format(s, u, v, got[g], expected))
        end
      end
    end
  end
  t.raises(function() cl.sampler{address = "repeat"} end,
    "address: 'repeat' needs normalized = true")
  t.raises(function() cl.sampler{filter = "cubic"} end,
    "filter: must be one of nearest, linear; got 'cubic'")
  t.raises(function() cl.sampler{filtre = "linear"} end,
    "did you mean 'filter'?")
end)

image_test("3-D and arrays of images in a kernel", function(kernel)
  need("r float", "3d")
  local volume <close> = cl.image{format = "r float", width = 4, height = 3,
    depth = 2, data = function(d, i, j) return 100 * d + 10 * i + j end}
  local s <close> = cl.sampler{filter = "linear"}
  local y <close> = cl.buffer("float", 2)
  local k = kernel [[
    kernel void f(read_only image3d_t i, sampler_t s, global float *y) {
      y[0] = read_imagef(i, s, (float4)(1.75f, 2, 1, 0)).x;
      y[1] = get_image_depth(i) * 100 + get_image_height(i) * 10
        + get_image_width(i);
    }]]
  k:range(1)(volume, s, y)
  t.near(y:read()[1], 150 + 25 + 2.25, 0.02)
  t.eq(y:read()[2], 234)
  need("r signed_int32", "2d_array")
  local pages <close> = cl.image{format = "r signed_int32", width = 4,
    height = 3, array_size = 2,
    data = function(d, i, j) return 100 * d + 10 * i + j end}
  local page = kernel [[
    kernel void f(read_only image2d_array_t i, sampler_t s, global float *y) {
      y[0] = read_imagei(i, s, (int4)(2, 1, 1, 0)).x;
    }]]
  page:range(1)(pages, cl.sampler(), y)
  t.eq(y:read()[1], 223)
end)

image_test("kernels write images", function(kernel)
  local k = kernel [[
    kernel void f(write_only image2d_t f, write_only image2d_t i,
                  write_only image2d_t u) {
      int2 at = (int2)(get_global_id(0), get_global_id(1));
      write_imagef(f, at, (float4)(0.2f, 1, 0, 2));
      write_imagei(i, at, (int4)(at.x, at.y, -3, 4));
      write_imageui(u, at, (uint4)(at.x + 10 * at.y, 0, 0, 0));
    }]]
  need("rgba unorm_int8", "2d")
  need("rgba signed_int16", "2d")
  need("r unsigned_int32", "2d")
  local function image(format)
    return cl.image{format = format, width = 4, height = 3,
      access = "write_only"}
  end
  local f <close> = image "rgba unorm_int8"
  local i <close> = image "rgba signed_int16"
  local u <close> = image "r unsigned_int32"
  k:range{4, 3}(f, i, u)
  t.eq(f:read()[12], {51, 255, 0, 255})
  t.eq(i:read()[12], {3, 2, -3, 4})
  t.eq(u:read()[12], 23)
end)

-- The vector lies in a texture of rows, as SHOC's CSR kernel reads it.
image_test("sparse times a vector in a texture", function(kernel)
  local n, wide = 300, 64
  local x, first, cols, values = {}, {0}, {}, {}
  for i = 1, n do
    x[i] = math.random()
    for _ = 1, math.random(0, 6) do
      cols[#cols + 1] = math.random(0, n - 1)
      values[#values + 1] = math.random()
    end
    first[i + 1] = #cols
  end
  local k = kernel [[
    constant sampler_t nearest = CLK_NORMALIZED_COORDS_FALSE
      | CLK_ADDRESS_NONE | CLK_FILTER_NEAREST;
    kernel void csr(global const int *first, global const int *col,
                    global const float *value, read_only image2d_t x,
                    int wide, global float *y) {
      int i = get_global_id(0);
      float sum = 0;
      for (int k = first[i]; k < first[i + 1]; k++)
        sum += value[k]
          * read_imagef(x, nearest, (int2)(col[k] % wide, col[k] / wide)).x;
      y[i] = sum;
    }]]
  local rows = (n + wide - 1) // wide
  local texture <close> = cl.image{format = "r float", width = wide,
    height = rows, access = "read_only",
    data = function(i, j) return x[(i - 1) * wide + j] or 0 end}
  local y <close> = cl.buffer("float", n)
  local b1 <close> = cl.buffer("int", n + 1, first)
  local b2 <close> = cl.buffer("int", #cols, cols)
  local b3 <close> = cl.buffer("float", #cols, values)
  k:range(n)(b1, b2, b3, texture, wide, y)
  local got <close> = y:read()
  for i = 1, n do
    local sum = 0
    for j = first[i] + 1, first[i + 1] do
      sum = sum + values[j] * x[cols[j] + 1]
    end
    t.near(got[i], sum, 1e-5)
  end
end)

-- Each work-item adds pixels a row apart, as clpeak reads image bandwidth.
image_test("all of an image is read", function(kernel)
  local W, H = 64, 48
  local img <close> = cl.image{width = W, height = H,
    data = function(i, j) return {i, j, 1, 0} end}
  local k = kernel [[
    constant sampler_t s = CLK_NORMALIZED_COORDS_FALSE
      | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
    kernel void f(read_only image2d_t i, global float4 *y) {
      int x = get_global_id(0);
      float4 sum = 0;
      for (int r = 0; r < get_image_height(i); r++)
        sum += read_imagef(i, s, (int2)(x, r));
      y[x] = sum;
    }]]
  local y <close> = cl.buffer("float4", W)
  k:range(W)(img, y)
  t.eq(y:read()[W], {H * (H + 1) / 2, W * H, H, 0})
end)

image_test("arguments are checked", function(kernel)
  local k = kernel [[
    kernel void f(read_only image2d_t i, write_only image2d_t o,
                  sampler_t s, global float *y) {
      y[get_global_id(0)] = 1;
    }]]
  t.ok(tostring(k):find("f(read_only image2d_t i, write_only image2d_t o, "
    .. "sampler_t s, global float* y)", 1, true), tostring(k))
  local img <close> = cl.image{width = 4, height = 4}
  local line <close> = cl.image{width = 4}
  local b <close> = cl.buffer("float", 16)
  local s <close> = cl.sampler()
  local launch = k:range(1)
  launch(img, img, s, b):wait()
  t.raises(function() launch(b, img, s, b) end,
    "argument 1 'i' (read_only image2d_t): must be an Image of kind 2d, by "
    .. "cl.image; got Buffer")
  t.raises(function() launch(line, img, s, b) end, "got Image 1d")
  t.raises(function() launch(img, img, img, b) end,
    "argument 3 's' (sampler_t): must be a Sampler, by cl.sampler; got Image")
  t.raises(function() launch(img, img, s, img) end,
    "argument 4 'y'", "must be a Buffer; got Image")
  t.raises(function() launch(img, nil, s, b) end, "must be an Image of kind")
  local input <close> = cl.image{width = 4, height = 4, access = "read_only"}
  local output <close> = cl.image{width = 4, height = 4, access = "write_only"}
  launch(input, output, s, b):wait()
  t.raises(function() launch(input, input, s, b) end, "argument 2",
    'made with access = "read_only"')
  t.raises(function() launch(output, output, s, b) end, "argument 1",
    'made with access = "write_only"')
  output:close()
  s:close()
  t.raises(function() launch(input, output, s, b) end, "argument 2",
    "this Image is closed")
  t.raises(function() launch(input, img, s, b) end, "argument 3",
    "this Sampler is closed")
  t.raises(function() return s.filter end, "this Sampler is closed")
end)

image_test("a kernel that runs keeps what was closed", function(kernel)
  local k = kernel [[
    kernel void f(read_only image2d_t i, sampler_t s, global float4 *y) {
      float4 sum = 0;
      for (int r = 0; r < 20000; r++)
        sum += read_imagef(i, s, (float2)(get_global_id(0) + 0.5f, 0.5f));
      y[get_global_id(0)] = sum / 20000;
    }]]
  local y <close> = cl.buffer("float4", 64)
  for _ = 1, 8 do
    local img <close> = cl.image{width = 64, height = 64, data = 3}
    local s <close> = cl.sampler()
    k:range(64)(img, s, y)
    img:close()
    s:close()
    local others <close> = cl.image{width = 64, height = 64, data = 4}
    local linear <close> = cl.sampler{filter = "linear", normalized = true}
    t.eq(y:read()[1], {3, 3, 3, 3})
    t.ok(others and linear)
  end
end)

image_test("sizes and formats that are refused", function()
  local function refused(options, ...)
    t.raises(function() cl.image(options) end, ...)
  end
  refused({}, "width: must be a whole number >= 1; got nil")
  refused({width = 0}, "width: must be a whole number >= 1; got 0")
  refused({width = 4, height = 0}, "height: must be a whole number >= 1")
  refused({width = 1.5}, "got 1.5")
  refused({width = 4, depth = 3}, "an image with a depth has a width and a")
  refused({width = 4, height = 4, depth = 3, array_size = 2},
    "and no array_size")
  refused({width = 1 << 62}, "width: the device allows",
    "(image2d_max_width); got 4611686018427387904")
  refused({width = 4, height = 1 << 40}, "(image2d_max_height)")
  refused({width = 4, height = 4, depth = 1 << 40}, "(image3d_max_depth)")
  refused({width = 4, array_size = 1 << 40}, "(image_max_array_size)")
  refused({width = 4, format = "rgba"}, 'such as "rgba float"; got \'rgba\'')
  refused({width = 4, format = "rgba half"}, "types are float, half_float")
  refused({width = 4, format = 7}, "must be the name of a format")
  refused({width = 4, formt = "r float"}, "did you mean 'format'?")
  refused({width = 4, access = "write"}, "must be one of read_write")
  refused({width = 4, data = {1, 2}}, "must have 4 elements; got 2")
  refused({width = 4, data = "abc"}, "must be a string of 64 bytes")
  refused({width = 4, data = cl.array("int", 16)},
    "the pixels of the Image are float4; got an Array of int")
  refused({width = 4, data = cl.array("float4", 5)},
    "has 64 bytes; got an Array of 80")
  refused("rgba", "cl.image takes a table")
  local offered = {}
  for _, format in ipairs(cl.context():image_formats()) do
    offered[format] = true
  end
  for _, format in ipairs{"ra unsigned_int32", "rg float",
      "luminance signed_int8", "argb float"} do
    if not offered[format] then
      refused({width = 4, height = 4, format = format},
        "CL_IMAGE_FORMAT_NOT_SUPPORTED", "no such images in format '"
        .. format .. "'; of that order or type it has: ")
    end
  end
  t.raises(function() cl.context():image_formats{kind = "4d"} end,
    "kind: must be one of")
end)

image_test("scripts that run inside a call", function()
  local img <close> = cl.image{width = 4, height = 4, data = 0}
  t.raises(function()
    img:write(function()
      img:close()
      return 1
    end)
  end, "this Image is closed")
  local b = cl.buffer("float", 16)
  local options = setmetatable({width = 4}, {__index = function(_, key)
    if key == "buffer" then
      return b
    elseif key == "access" then
      b:close()
    end
  end})
  t.raises(function() cl.image(options) end, "this Buffer is closed")
  local h = cl.array("float4", 16)
  local other <close> = cl.image{width = 4, height = 4, data = 0}
  t.raises(function()
    other:read(h, setmetatable({}, {__index = function(_, key)
      if key == "region" then
        h:close()
      end
    end}))
  end, "this Array is closed")
end)

-- Maps an image; skips where the driver maps none.
local function map(img, ...)
  local fine, h = pcall(img.map, img, ...)
  if not fine and h.name == "CL_INVALID_OPERATION" then
    t.skip(h.message)
  end
  return fine and h or error(h)
end

image_test("images of every kind as memory of the host", function()
  for _, case in ipairs(KINDS) do
    local kind, sizes, shape = table.unpack(case)
    local n = #shape
    -- All but the first pixel of a row, of the last rows and the last layer.
    local part = {origin = {table.unpack({1, 1, 1}, 1, n)},
      region = {table.unpack({4, shape[n - 1] and shape[n - 1] - 1,
        shape[n - 2] and shape[n - 2] - 1}, 1, n)}}
    for _, format in ipairs{"r float", "r unorm_int8", "rgba float"} do
      need(format, kind)
      local options = with(sizes, {format = format,
        data = function(...) return place(...) % 256 end})
      local img <close> = cl.image(options)
      local twin <close> = cl.image(options)
      local h <close> = map(img)
      local all <close> = twin:read()
      t.eq({h.type, h.shape, h:table()}, {img.type, shape, all:table()}, kind)
      h[#h], all[#all] = h[1], all[1]
      t.eq(img:unmap(h).command, "unmap")
      t.eq(h.closed, true)
      twin:write(all)
      local piece <close> = map(img, "read", part)
      local same <close> = twin:read(part)
      t.eq({piece.shape, piece:table()}, {same.shape, same:table()}, kind)
      piece:fill(piece[1]) -- is not written back
      piece:close()
      for _, mode in ipairs{"write", "read_write"} do
        local new <close> = map(img, mode, part)
        for k = mode == "write" and 1 or #new, #new do
          new[k], same[k] = all[k % 2 + 1], all[k % 2 + 1]
        end
        new:close()
        twin:write(same, part)
        t.eq(img:read():table(), twin:read():table(), kind)
      end
    end
  end
end)

image_test("what is wrong with a map", function()
  local img <close> = cl.image{format = "r float", width = 4, height = 3}
  local h = map(img, "read", {queue = cl.context().queue})
  t.raises(function() img:unmap(img:read()) end, "no mapping of the Image")
  local row = h:reshape(12)
  t.raises(function() img:unmap(h) end, "still in use")
  row:close()
  img:unmap(h)
  t.raises(function() img:unmap(h) end, "this Array is closed")
  local left = img:map {region = {2, 2}}
  t.raises(function() img:map "writing" end, "must be one of read_write")
  t.raises(function() img:map{async = true} end, "unknown option 'async'")
  t.raises(function() img:map{region = {5, 1}} end, "leaves the image of 4x3")
  img:close() -- before the mapping
  left:close()
  local b <close> = cl.buffer("float", 4, 0)
  need("r float", "1d_buffer")
  local line <close> = cl.image{format = "r float", buffer = b}
  t.raises(function() line:map() end, "is memory of a Buffer; map that")
end)

-- What clshell prints of Lua code, by these words before and behind its name.
local function said(environment, options, code)
  return t.capture(("%s %s %s -e '%s' 2>&1"):format(
    environment, t.exe, options, code))
end

t.test("a device without images says what to use instead", function()
  local layer = ("OPENCL_LAYERS=%s/tests/faultlayer.so CLFAULT=images:1:0")
    :format(t.build)
  t.skip_if(not said(layer, "", "cl.devices()"):find("faultlayer:", 1, true),
    "the OpenCL loader takes no layers (OPENCL_LAYERS)")
  for _, call in ipairs{"cl.image{width = 4}", "cl.sampler()"} do
    local out = said(layer, "", call)
    t.ok(out:find("the device has no images (image_support is false); use a "
      .. "Buffer, and vload4 in the kernel", 1, true), out)
  end
  local out = said(layer, "", "print(#cl.context():image_formats())")
  t.ok(out:find("^0\n"), out)
end)

image_test("two contexts do not mix", function()
  local out = said("POCL_DEVICES='basic basic' CLSHELL_DEVICE=", "", [[
    if #cl.devices() < 2 then
      print "one device"
      return
    end
    local function try(f, ...)
      print(select(2, pcall(f, ...)))
    end
    local two = cl.context(cl.devices()[2])
    local a = cl.image{width = 4, height = 4, data = 1}
    local b = cl.image{width = 4, height = 4, data = 2, context = two}
    local x = cl.buffer("float4", 16, 0, {context = two})
    try(a.copy, a, b)
    try(a.copy, a, x)
    try(a.write, a, x)
    try(a.read, a, nil, {queue = two.queue})
    local k = cl.kernel("kernel void f(read_only image2d_t i, sampler_t s) {}")
    try(k:range(1), b, cl.sampler())
    try(k:range(1), a, cl.sampler{context = two})
    try(cl.image, {buffer = x})]])
  t.skip_if(out:find "one device", "one device")
  for _, text in ipairs{"Images of different contexts", "the Image and the "
      .. "Buffer are of different", "the Image and the Queue are of different",
      "the Image is of another", "the Sampler is of another",
      "the Buffer is of another"} do
    t.ok(out:find(text, 1, true), text .. ": " .. out)
  end
end)

t.done()
