-- data/struct.lua - C structs: their layout by OpenCL's rules, and their
-- values as bytes for kernels
-- SPDX-License-Identifier: MIT

local argument = require "clshell.base.argument"
local cl = require "cl"
local options = require "clshell.base.options"
local text = require "clshell.base.text"

-- Struct -> its fields by name; Struct -> the contexts with its layout.
local by_name = setmetatable({}, {__mode = "k"})
local checked = setmetatable({}, {__mode = "k"})

local struct = {}
local meta = {__name = "Struct", __metatable = false, __index = struct}

local build_of = setmetatable({}, {__mode = "k"}) -- its options, defines
local told = setmetatable({}, {__mode = "k"}) -- context -> text -> Struct

local function fail(fmt, ...)
  cl.error("cl.struct: " .. fmt:format(...))
end

-- The name of a field, or of an element of a field, for a message.
local function where(path, name)
  return path == "" and name or path .. "." .. name
end

local pack

-- A list as one of n elements, zeros behind the given ones.
local function filled(v, n, zero, at)
  for key in pairs(v) do
    if math.type(key) ~= "integer" or key < 1 or key > n then
      cl.error(("%s: the list must have at most %d elements; got element %s")
        :format(at, n, tostring(key)))
    end
  end
  local list = {}
  for i = 1, n do
    list[i] = v[i] == nil and zero or v[i]
  end
  return list
end

-- The bytes of a field's value: a number, a vector, a struct or a list.
local function pack_field(f, value, path)
  if value == nil then
    return ("\0"):rep(f.size)
  end
  local dims, name = f.dims or {}, f.type.name
  local lanes = not f.type.fields and math.tointeger(name:match "%d+$")
  local function part(v, level, at)
    if level > #dims then
      return f.type.fields and pack(f.type, v, at)
        or type(v) == "table" and lanes and filled(v, lanes, 0, at) or v
    elseif type(v) ~= "table" and not f.type.fields then
      return v -- an Array, or a fault
    end
    argument.check("cl.struct", at, v, "table")
    local list = filled(v, dims[level], (f.type.fields or lanes
      or level < #dims) and {} or 0, at)
    if f.type.fields or lanes or level < #dims then
      for i, one in ipairs(list) do
        list[i] = part(one, level + 1, ("%s[%d]"):format(at, i))
      end
    end
    return f.type.fields and table.concat(list) or list
  end
  local all = part(value, 1, path)
  if f.type.fields then
    return all
  end
  local fine, a = pcall(cl.array, name, f.dims or 1, f.dims and all or {all})
  return fine and a:tobytes() or cl.error(("%s: %s"):format(path,
    type(a) == "table" and a.message or tostring(a)))
end

function pack(s, values, path)
  argument.check("cl.struct", path == "" and "a value" or path, values,
    "table", "name the fields: {x = 1}")
  for key in pairs(values) do
    if not by_name[s][key] then
      cl.error(("%s%s: %s"):format(path ~= "" and path .. ", " or "",
        s.name or "the struct", text.unknown("field", key,
        text.keys(by_name[s]))))
    end
  end
  local bytes, at = "", 0
  for _, f in ipairs(s.fields) do
    local value = values[f.name]
    if f.offset >= at then
      bytes = bytes .. ("\0"):rep(f.offset - at)
        .. pack_field(f, value, where(path, f.name))
      at = #bytes
    elseif value ~= nil then -- of a union: in place of another's bytes
      bytes = bytes:sub(1, f.offset)
        .. pack_field(f, value, where(path, f.name))
        .. bytes:sub(f.offset + f.size + 1)
      at = #bytes
    end
  end
  return bytes .. ("\0"):rep(s.size - at)
end

local unpack_struct

-- The value of a field in bytes that begin at `at`, counted from 0.
local function unpack_field(f, bytes, at)
  if not f.type.fields then
    local a = cl.array(f.type.name, f.dims or 1, bytes:sub(at + 1,
      at + f.size))
    return f.dims and a:table() or not f.dims and a[1]
  end
  local function part(level, from, size)
    if level > #(f.dims or {}) then
      return unpack_struct(f.type, bytes, from)
    end
    local list = {}
    size = size // f.dims[level]
    for i = 1, f.dims[level] do
      list[i] = part(level + 1, from + (i - 1) * size, size)
    end
    return list
  end
  return part(1, at, f.size)
end

function unpack_struct(s, bytes, at)
  local values = {}
  for _, f in ipairs(s.fields) do
    values[f.name] = unpack_field(f, bytes, at + f.offset)
  end
  return values
end

-- Makes a Struct of a layout that the compiler has told.
local function adopt(s)
  by_name[s] = {}
  for _, f in ipairs(s.fields) do
    by_name[s][f.name] = f
    if f.type.fields then
      adopt(f.type)
    end
  end
  return setmetatable(s, meta)
end

-- The struct of a source, as the compiler of a context lays it out.
local function asked(what, source, name, opts)
  local s = adopt(require "clshell.data.asked_layout".of(what, source, name,
    opts))
  checked[s] = setmetatable({[opts.context] = true}, {__mode = "k"})
  build_of[s] = {options = opts.options, defines = opts.defines}
  return s
end

--- Program:struct(name) -> Struct
--- A struct, a union or a typedef of one in the program's source, as its
--- compiler lays it out: with the program's defines and options, and whatever
--- its types are. See cl.struct.
--- Example:
--- local p = cl.build([[
---   typedef struct { float x[N]; uint id; } box;
---   kernel void ids(global box *b) { b[get_global_id(0)].id += 5; }]],
---   {defines = {N = 3}})
--- local box = p:struct "box"
--- local b = box:buffer{{x = {1}, id = 2}}
--- p.ids:range(1)(b)
--- print(box.size, box:read(b)[1].id) --> 16 7
local function program_struct(p, name)
  argument.check("Program:struct", "the name", name, "string")
  local source = p.source
  if type(source) ~= "string" then
    cl.error("Program:struct: the program must have a source; it is made of "
      .. "a binary")
  end
  return asked("Program:struct", source, name, {context = p.context,
    options = p.options, defines = p.defines})
end

cl.extend("Program", argument.methods("Program", {struct = program_struct},
  "Program"), true)

local WIDTHS = {["8"] = "char", ["16"] = "short", ["32"] = "int",
  ["64"] = "long"}

-- Typedefs of u32, uint32_t and the like that a text uses without its own.
local function width_types(declaration)
  local parts = {}
  for word in declaration:gmatch "%f[%w_][%a_][%w_]*" do
    local sign, bits = word:match "^([uis])(%d+)$"
    if not sign then
      sign, bits = word:match "^(u?)int(%d+)_t$"
    end
    if WIDTHS[bits] and not parts[word]
        and not declaration:find("typedef[^;]*%f[%w_]" .. word .. "%s*;")
        and not declaration:find("#%s*define%s+" .. word .. "%f[^%w_]") then
      parts[word] = true
      parts[#parts + 1] = ("typedef %s%s %s;\n"):format(sign == "u" and "u"
        or "", WIDTHS[bits], word)
    end
  end
  return table.concat(parts)
end

--- cl.struct(text) -> Struct
--- A C struct from its declaration, `struct p {float4 pos; float m; int
--- id[3];};` or `typedef struct {...} p;`: the last struct or union of a text,
--- which may hold others, enums, typedefs and `#define N 4`; u32, uint32_t and
--- the like are known. The compiler of the session's context tells its layout,
--- once for each text (see also Program:struct): vectors are aligned to their
--- size, a vector of 3 as a vector of 4. A pointer is an integer on the host:
--- `b.address` (see ?svm). `s.size` and `s.align`
--- in bytes, `s.fields` (a list of {name, offset, size}), `s.source`: the
--- text, to put before a kernel's text. `s{m = 2}` is a value for a kernel's
--- parameter; fields without a value, and the rest of lists and vectors that
--- are too short, are 0. On the host structs are tables by field: see
--- Struct:buffer, read, write, fill and gather.
--- Example:
--- local particle = cl.struct "struct particle {float4 pos; float m;};"
--- print(particle.size) --> 32
--- local k = cl.kernel(particle.source .. [[
---   kernel void heavier(global struct particle *p, struct particle by) {
---     p[get_global_id(0)].m += by.m;
---   }]])
--- local b = particle:buffer{{pos = {1, 2, 3, 4}, m = 5}, {m = 6}}
--- k:range(2)(b, particle{m = 10})
--- print(particle:read(b)[2].m) --> 16.0
function cl.struct(declaration)
  argument.check("cl.struct", "text", declaration, "string",
    'cl.struct "struct p {float4 pos; float m;};"')
  local context = cl.context()
  told[context] = told[context] or setmetatable({}, {__mode = "v"})
  local s = told[context][declaration] or asked("cl.struct",
    width_types(declaration) .. declaration, nil, {context = context})
  told[context][declaration] = s
  return s
end

--- Struct:check([opts]) -> Struct
--- Compares the layout with another device's, whose compiler is asked. Raises
--- where they differ. Struct:buffer, read and write compare it once for each
--- Context.
--- Options:
---   context  session's  the Context of another device
--- Example: print(cl.struct "struct s {char c; double x;};":check())
function struct:check(opts)
  opts = options.check(opts, "Struct:check")
  local context = opts.context or cl.context()
  if checked[self][context] then
    return self
  end
  local build = build_of[self]
  local there = asked("Struct:check", self.source, self.name, {
    context = context, options = build.options, defines = build.defines})
  if there.size ~= self.size then
    fail("%s has %d bytes on the device, %d here", self.name, there.size,
      self.size)
  end
  for _, f in ipairs(self.fields) do
    local other = by_name[there][f.name]
    if not other or other.offset ~= f.offset then
      fail("%s.%s begins at byte %s on the device, at %d here", self.name,
        f.name, other and other.offset or "none", f.offset)
    end
  end
  checked[self][context] = true
  return self
end

-- The bytes of a list of structs.
local function pack_list(s, list)
  local parts = {}
  for i, values in ipairs(list) do
    parts[i] = pack(s, values, ("[%d]"):format(i))
  end
  return cl.array("uchar", {#parts, s.size}, table.concat(parts))
end

--- Struct:buffer(values [, opts]) -> Buffer
--- A Buffer of structs: of a list of tables by field, or a number of structs
--- of zeros. It is a Buffer of uchar with a row for each struct, and a
--- kernel's parameter `global struct p *` takes it.
--- Options:
---   context  session's  the Context of another device
--- Example: as for cl.struct
function struct:buffer(values, opts)
  opts = options.check(opts, "Struct:buffer")
  self:check(opts)
  if math.type(values) == "integer" then
    return cl.buffer("uchar", {values, self.size}, 0, opts)
  end
  argument.check("Struct:buffer", "values", values, "table",
    "s:buffer(1000), s:buffer{{m = 1}, {m = 2}}")
  local bytes = pack_list(self, values)
  return cl.buffer("uchar", bytes.shape, bytes, opts)
end

-- Raises unless a Buffer holds structs, `count` of them from `first` on.
local function check_buffer(s, name, b, first, count)
  argument.check(name, "buffer", b, "Buffer")
  s:check{context = b.context}
  local n = b.bytes // s.size
  if b.type ~= "uchar" or b.bytes % s.size ~= 0 then
    cl.error(("%s: the Buffer must be of uchar and hold whole structs of %d "
      .. "bytes; got %d bytes of %s"):format(name, s.size, b.bytes, b.type))
  end
  if math.type(first) ~= "integer" or math.type(count) ~= "integer"
      or first < 1 or count < 0 or count > n - first + 1 then
    cl.error(("%s: the structs must be among 1 to %d; got %s from %s on")
      :format(name, n, text.got(count), text.got(first)))
  end
end

--- Struct:read(buffer [, first [, count]]) -> list
--- The structs of a Buffer, from number `first` (default 1) on, as tables by
--- field; a vector or an array is a list.
--- Example: as for cl.struct
function struct:read(b, first, count)
  first = first or 1
  count = count or text.class(b) == "Buffer"
    and b.bytes // self.size - first + 1 or 1
  check_buffer(self, "Struct:read", b, first, count)
  local bytes = b:read{first = (first - 1) * self.size + 1,
    count = count * self.size}:tobytes()
  local list = {}
  for i = 1, count do
    list[i] = unpack_struct(self, bytes, (i - 1) * self.size)
  end
  return list
end

--- Struct:write(buffer, values [, first]) -> Event
--- Writes a list of tables by field to structs of a Buffer, from number
--- `first` (default 1) on.
--- Example:
--- local point = cl.struct "typedef struct {int x, y;} point;"
--- local b = point:buffer(100)
--- point:write(b, {{x = 1}, {x = 2}}, 50)
--- print(point:read(b, 51, 1)[1].x) --> 2
function struct:write(b, values, first)
  first = first or 1
  argument.check("Struct:write", "values", values, "table")
  check_buffer(self, "Struct:write", b, first, #values)
  return b:write(pack_list(self, values):reshape(#values * self.size),
    {first = (first - 1) * self.size + 1, count = #values * self.size})
end

-- The kernels that move whole structs in a context.
local movers = setmetatable({}, {__mode = "k"})

local function mover(s, name, context)
  movers[s] = movers[s] or setmetatable({}, {__mode = "k"})
  local p = movers[s][context]
  if not p then
    local build = build_of[s]
    p = cl.build((build.defines or "") .. s.source .. ([[
      __kernel void clsh_fill(__global TYPE *to, __global const TYPE *from,
                              ulong first) {
        to[first + get_global_id(0)] = from[0];
      }
      __kernel void clsh_gather(__global TYPE *to, __global const TYPE *from,
                                __global const int *index, ulong n) {
        ulong i = get_global_id(0);
        if (index[i] >= 1 && (ulong)index[i] <= n)
          to[i] = from[index[i] - 1];
      }
    ]]):gsub("TYPE", s.name), {context = context, options = build.options,
      name = "cl.struct"})
    movers[s][context] = p
  end
  return p:kernel(name)
end

--- Struct:fill(buffer, values [, first [, count]]) -> Event
--- Sets structs of a Buffer, all or `count` from number `first` on, to one
--- value, a table by field.
--- Example:
--- local point = cl.struct "typedef struct {int x, y;} point;"
--- local b = point:buffer(100)
--- point:fill(b, {y = 7})
--- print(point:read(b, 99)[2].y) --> 7
function struct:fill(b, values, first, count)
  first = first or 1
  count = count or text.class(b) == "Buffer"
    and b.bytes // self.size - first + 1 or 1
  check_buffer(self, "Struct:fill", b, first, count)
  local one <close> = self:buffer({values}, {context = b.context})
  return mover(self, "clsh_fill", b.context):range(count)(b, one, first - 1)
end

--- Struct:gather(buffer, index) -> Buffer
--- A new Buffer with the structs whose numbers, from 1, are in `index`, a
--- list, or a Buffer or an Array of int. A number outside gives a struct of
--- zeros.
--- Example:
--- local point = cl.struct "typedef struct {int x, y;} point;"
--- local b = point:buffer{{x = 1}, {x = 2}, {x = 3}}
--- print(point:read(point:gather(b, {3, 1}))[1].x) --> 3
function struct:gather(b, index)
  check_buffer(self, "Struct:gather", b, 1, 0)
  local class = text.class(index)
  if type(index) == "table" or class == "Array" and index.type == "int" then
    index = cl.buffer("int", #index, index, {context = b.context})
  elseif class ~= "Buffer" or index.type ~= "int" then
    cl.error("Struct:gather: index must be a list of numbers, or a Buffer or "
      .. "an Array of int; got " .. (class and tostring(index)
      or text.got(index)))
  end
  local to = self:buffer(#index, {context = b.context})
  mover(self, "clsh_gather", b.context):range(#index)(to, b, index,
    b.bytes // self.size)
  return to
end

function meta.__call(self, values)
  return cl.bytes(pack(self, values or {}, ""))
end

function meta.__tostring(self)
  local lines = {("%s: %d bytes, aligned to %d"):format(self.name, self.size,
    self.align)}
  for _, f in ipairs(self.fields) do
    lines[#lines + 1] = ("%6d  %s %s%s"):format(f.offset, f.type.name
      or "struct", f.name, f.dims and "[" .. table.concat(f.dims, "][") .. "]"
      or "")
  end
  return table.concat(lines, "\n")
end

argument.methods("Struct", struct, meta.__name)

return cl.struct
