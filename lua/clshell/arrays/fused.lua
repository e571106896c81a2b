-- arrays/fused.lua - one kernel for a calculation on the elements of Buffers:
-- its text, its program, kept by the form of the calculation, and its launch
-- A calculation has
--   name     of the kernel
--   known    a table, the same for all calculations that differ in Buffers,
--            numbers and places alone
--   context  of its Buffers
--   dims     shape of the result, see layout.lua
--   places   false where the elements of all Buffers are those of the result,
--            one by one: it is flat; else a list of the `place`, see
--            layout.lua, of each other Buffer at least
--   args     {count, part, ...}: for each part a number or a Buffer, cl.base
--            of a Buffer that begins inside its memory
--   n        the number of `args`
--   parts    function(c) -> list of {leaf, name, load, store}: variable `name`
--            is loaded from a Buffer, stored to it, or both, and the body may
--            declare it (`declared`); or of {type, name}: a number
--   body     function(c) -> OpenCL C between the loads and the stores; `i` is
--            the number of the element, from 0, and `n` the count
--   build    nil, or options of cl.build, and a text `key` that tells them
--   declare  nil, or function(c) -> OpenCL C before all else
-- A calculation that does not go element by element (reduction.lua, scans.lua)
-- has besides
--   file     of folder kernels, with the kernel `name`, whose parameters begin
--            with SOURCE, the Buffers and numbers of all parts before `own`
--   type     of the value that the body returns for an element
--   words    function(c, rows, element) -> the words that the file expects to
--            be defined, by name. element(i) is the call for element i; with
--            rows, of n1_ elements each, element(k, q) is the call for element
--            k of row q
--   range    function(c, group) -> global and local size; at most `group`
-- Its last parts may be {own = true}: parameters that the file declares.
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local layout = require "clshell.arrays.layout"
local result = require "clshell.base.result"
local tiling = require "clshell.ladder.tiling"
local types = require "clshell.arrays.types"

local unpack = table.unpack

local M = {}

local GROUP = 256 -- work-items of a work-group, at most

-- For each context `kernels`, by their text, and `known`: for the `known` of a
-- calculation its kernels by the form of its places (`forms`), and its plans
-- by the texts of its places (`plans`). A loop over slices would make plans
-- without end: where there are more than PLACES, all are forgotten.
local kept = setmetatable({}, {__mode = "k"})
local PLACES = 4096

local function kept_for(context)
  local made = kept[context]
  if not made then
    made = {kernels = {}, known = {}}
    kept[context] = made
  end
  return made
end

local LARGE = 1 << 26 -- bytes: larger scratch Buffers are not used again

-- The scratch Buffers, a counter among them, of each default queue, and of
-- each CommandBuffer, as its runs may be on any queue. Commands of a queue
-- that was closed may use its Buffers for a while.
local scratch = setmetatable({}, {__mode = "k"})

local function scratch_for(context)
  local owner = result.recording() or context.queue
  local made = scratch[owner]
  if not made then
    made = setmetatable({}, {__mode = "v"})
    scratch[owner] = made
  end
  return made
end

--- fused.scratch(context, type, n) -> Buffer
--- A Buffer for results that later commands of the default queue read, or the
--- host at once. The next call for the type and n returns the same Buffer,
--- since commands run in order; a recording has Buffers of its own. To
--- allocate and free it each time may take longer than the launches (an H200:
--- 0.1 ms). A collection drops it.
function M.scratch(context, type, n)
  local made, key = scratch_for(context), type .. n
  local b = made[key]
  if not b then
    b = cl.buffer(type, n, nil, {context = context})
    made[key] = b.bytes <= LARGE and b or nil
  end
  return b
end

--- fused.counter(context) -> Buffer
--- An int that is 0 before and after each command of the default queue. A
--- collection drops it.
function M.counter(context)
  local made = scratch_for(context)
  local b = made.counter or cl.buffer("int", 1, 0, {context = context})
  made.counter = b
  return b
end

--- fused.serial
--- By type of device, true where the work-items of a work-group run one after
--- another: each work-item reduces or scans alone there.
M.serial = {cpu = true}

--- fused.group(context) -> integer
--- Work-items of a work-group: the device's largest power of two up to 256.
function M.group(context)
  local made = kept_for(context)
  made.group = made.group or tiling.power_of_two(math.min(GROUP,
    context.device.max_work_group_size))
  return made.group
end

--- fused.asks(device) -> boolean
--- Whether work-groups may wait for groups that began before them, and have
--- the atomics for it: on NVIDIA's GPUs. A recording has no such waits, as
--- they need memory that is filled before.
function M.asks(device)
  return not result.recording() and device.nv_warp_size ~= nil
    and device:has "cl_khr_int64_base_atomics"
end

--- fused.each
--- Elements of a work-item, by type of device, in a flat calculation: an H200
--- has 3287 GB/s with 1, 4103 with 2, 4238 with 4 and 4180 with 8 (two
--- Buffers of 2^26 floats read, one written).
M.each = {gpu = 4}

--- fused.STREAMED, fused.STREAM
--- Elements from which on a CPU's results go past its caches, and elements of
--- a work-item there.
M.STREAMED, M.STREAM = 1 << 24, 65536

local NARROW = 64 -- columns: a work-group takes several rows that are shorter

-- Gives part k of a calculation, a Buffer, the index of its element, `at`, as
-- OpenCL C over i1_, i2_ ..., and the names of the parameters in it; adds the
-- values of the parameters to a list. Returns the index.
local function index(part, k, values)
  local words = {}
  part.names = {}
  local function parameter(form, value, d)
    local name = form:format(d or k, k)
    table.insert(part.names, name)
    table.insert(values, value)
    return name
  end
  if part.leaf.start > 0 then
    words[1] = parameter("o%d_", part.leaf.start)
  end
  for d, stride in ipairs(part.strides or {1}) do
    local at, by = ("i%d_"):format(d), part.by and part.by[d]
    if by and stride ~= 0 then
      at = by.step == 1 and at
        or at .. " * " .. parameter("p%d_%d_", by.step, d)
      at = ("around_(%s + %s, %s)"):format(at,
        parameter("r%d_%d_", by.first, d), parameter("m%d_%d_", by.size, d))
    end
    words[#words + 1] = stride ~= 0 and (stride == 1 and at
      or at .. " * " .. parameter("s%d_%d_", stride, d)) or nil
  end
  part.at = words[1] and table.concat(words, " + ") or "0"
  return part.at
end

-- Wraps an index that is outside by less than n to the other end.
local AROUND = [[
static size_t around_(long i_, long n_)
{
  return i_ < 0 ? i_ + n_ : i_ < n_ ? i_ : i_ - n_;
}
]]

-- The element of a work-item, i1_ of row q_. A work-group whose items all have
-- an element compares once for all items, which CPUs need for vectors.
local HEAD = {
  flat = "size_t first_ = get_group_id(0) * size_, end_ = n1_, q_ = 0,\n"
    .. "    i_ = first_ + get_local_id(0), c_ = i_;",
  wide = "size_t groups_ = (n1_ + size_ - 1) / size_, g_ = get_group_id(0),\n"
    .. "    first_ = g_ % groups_ * size_, end_ = n1_, q_ = g_ / groups_,\n"
    .. "    i_ = first_ + get_local_id(0), c_ = i_;",
  narrow = "size_t first_ = get_group_id(0) * size_, end_ = n1_ * rows_,\n"
    .. "    i_ = first_ + get_local_id(0), q_ = i_ / n1_, c_ = i_ % n1_;",
}

-- The coordinates behind the innermost one.
local function coordinates(dims)
  local lines = {dims > 1 and "  size_t i = q_ * n1_ + i1_, n = n1_ * rows_;"
    or "  size_t i = i1_, n = n1_;"}
  for d = 2, dims do
    lines[d] = d == dims and ("  size_t i%d_ = q_;"):format(d)
      or ("  size_t i%d_ = q_ %% n%d_; q_ /= n%d_;"):format(d, d, d)
  end
  return table.concat(lines, "\n")
end

-- The kernel's part behind HEAD: `call` calculates an element.
local function one(call)
  return ("  if (first_ + size_ <= end_) %s;\n  else if (i_ < end_) %s;")
    :format(call, call)
end

-- Where a work-item has `each` elements, the loads of all come before the
-- first store: as a compiler sees it, a store may change what a load gets.
local SEVERAL = [[
  size_t size_ = get_local_size(0), end_ = n1_,
    first_ = get_group_id(0) * size_ * EACH + get_local_id(0);
  if (first_ + (EACH - 1) * size_ < end_) {
    DECLARE
    #pragma unroll
    for (uint k_ = 0; k_ < EACH; k_++) {
      size_t i1_ = first_ + k_ * size_;
      LOAD
    }
    #pragma unroll
    for (uint k_ = 0; k_ < EACH; k_++) {
      size_t i1_ = first_ + k_ * size_;
      element_(i1_, 0, GIVEN LOADED);
    }
  } else
    for (size_t i1_ = first_; i1_ < end_; i1_ += size_)
      element_(i1_, 0, GIVEN PLAIN);]]

-- The texts that a variable $n of type $t, loaded from $f, adds to SEVERAL.
local VALUE = {DECLARE = "$t $n_v[$e]; ", LOAD = "$n_v[k_] = $f; ",
  LOADED = ", $n_v[k_]", PLAIN = ", $f"}

-- Adds the texts of a table of forms, with some values in them, to `words`.
local function add(words, forms, values)
  for word, form in pairs(forms) do
    words[word] = (words[word] or "") .. form:gsub("%$(%a)", values)
  end
end

-- A template with the words put in.
local function fill(template, words)
  return (template:gsub("%u%u+", function(word)
    return words[word] or ""
  end))
end

-- A CPU that writes an element first fetches its line. Stores past the caches
-- save the fetch, which pays where the results are too many to stay in a
-- cache. Such a store takes a whole line: results are collected in pieces.
-- A work-item goes through several parts of its elements side by side and asks
-- for elements ahead, so that more of memory is under way. On a Xeon (two
-- cores) a chain of five operations on 2^26 floats moves 47 GB/s in place of
-- 26, a copy 47.
local STREAM = [[
  const size_t first_ = get_global_id(0) * EACH;
#ifdef __has_builtin
#if __has_builtin(__builtin_nontemporal_store)
  if (first_ + EACH <= n1_ALIGNED) {
    for (size_t p_ = 0; p_ < EACH / STREAMS; p_ += PIECE)
      for (uint s_ = 0; s_ < STREAMS; s_++) {
        const size_t at_ = first_ + s_ * (EACH / STREAMS) + p_;
        DECLARE
        ASK
        for (uint k_ = 0; k_ < PIECE; k_++)
          stream_(at_ + k_, 0, GIVEN TARGETS);
        STORE
      }
    return;
  }
#endif
#endif
  for (size_t i1_ = first_; i1_ < min(first_ + EACH, n1_); i1_++)
    element_(i1_, 0, GIVEN);]]

-- The texts that a result and an operand add to STREAM; $t is the type of slot
-- $k.
local RESULT = {
  ALIGNED = " && (uintptr_t)b$k_ % 64 == 0",
  DECLARE = "union { ulong8 lines[PIECE * sizeof($t) / 64]; "
    .. "$t one[PIECE]; } own$k_; ",
  TARGETS = ", own$k_.one + k_",
  STORE = [[
for (uint k_ = 0; k_ < PIECE * sizeof($t) / 64; k_++)
          __builtin_nontemporal_store(own$k_.lines[k_],
            (global ulong8 *)(b$k_ + at_) + k_);
        ]],
}
local OPERAND = {ASK = [[
for (uint k_ = 0; k_ < PIECE; k_ += 64 / sizeof($t))
          __builtin_prefetch((const void *)(size_t)(b$k_ + at_ + k_ + AHEAD));
        ]]}

-- Whether a part of a calculation is only written, and as it is calculated.
local function is_streamed(part)
  return part.leaf and part.store and not part.load
    and types.calculated(part.leaf.kind.type) == part.leaf.kind.type
end

-- The type of a Buffer's elements in a kernel.
local function in_memory(type)
  return types.bits(type) or type
end

-- The kernel's body for results that go past the caches; `given` are the names
-- of its parameters.
local function stream(parts, given)
  local words = {GIVEN = given, EACH = M.STREAM, STREAMS = 4, PIECE = 128,
    AHEAD = 128}
  for k, part in ipairs(parts) do
    add(words, is_streamed(part) and RESULT or part.leaf and part.load
      and OPERAND or {}, {k = k,
      t = part.leaf and in_memory(part.leaf.kind.type)})
  end
  local text = fill(STREAM, words) -- DECLARE, ASK and STORE have words
  return (text:gsub("%u%u+", words))
end

-- Words as lines of #define, in the order of their names.
local function defines(words)
  local lines = {}
  for word, value in pairs(words) do
    lines[#lines + 1] = ("#define %s %s\n"):format(word, value)
  end
  table.sort(lines)
  return table.concat(lines)
end

-- The text of a kernel file, with the files that it includes in it: PoCL finds
-- no included file where the path has a blank.
local function file_text(name)
  local path = ("%s/kernels/%s"):format(cl.home, name)
  local f <close> = assert(io.open(path, "rb"))
  return (f:read("a"):gsub('#include "(.-)"\n', function(other)
    return file_text(name:match "^.*/" .. other)
  end))
end

-- The text of a calculation over `dims` dimensions, and whether it has
-- doubles. A half is a float between load and store, which every device has.
local function source(c, parts, dims, way, each)
  local parameters, loads, stores = {}, {}, {}
  local targets, own, loaded, words = "", {}, "", {EACH = each}
  local stored
  for d = 1, dims do
    parameters[d] = ("ulong n%d_"):format(d)
  end
  parameters[#parameters + 1] = dims > 1 and "ulong rows_" or nil
  for k, part in ipairs(parts) do
    local leaf, name = part.leaf, part.name
    local type = leaf and leaf.kind.type or part.type
    local variable = type and types.calculated(type) .. " " .. name
    parameters[#parameters + 1] = not leaf and variable
      or leaf and ("global %s%s *b%d_"):format(part.store and "" or "const ",
        in_memory(type), k) or nil
    if leaf then
      local at, half, bits = part.at, type == "half", types.bits(type)
      stored = stored or bits
      for _, word in ipairs(part.names) do
        parameters[#parameters + 1] = "ulong " .. word
      end
      local from = half and ("vload_half(%s, b%d_)"):format(at, k)
        or ("b%d_[%s]"):format(k, at)
      from = bits and ("load_%s(%s)"):format(type, from) or from
      if part.load and not part.declared and way == "flat" and each > 1 then
        loaded = loaded .. ", " .. variable
        add(words, VALUE, {t = types.calculated(type), n = name, f = from,
          e = each})
      elseif not part.declared then
        loads[#loads + 1] = ("  %s%s;"):format(variable,
          part.load and " = " .. from or "")
      end
      local store = part.store and (half
        and ("  vstore_half(%s, %s, b%d_);"):format(name, at, k)
        or ("  b%d_[%s] = %s;"):format(k, at, bits
          and ("store_%s(%s)"):format(type, name) or name)) or nil
      stores[#stores + 1] = store
      if is_streamed(part) then
        targets = ("%s, %s *own%d_"):format(targets, type, k)
        store = ("  *own%d_ = %s;"):format(k, name)
      end
      own[#own + 1] = store
    end
  end
  local list = table.concat(parameters, c.file and ", " or ",\n    ")
  local given = list:gsub("[^,]-([%w_]+)%f[,\0]", "%1")
  local body
  if c.file then
    local of_file = c.words(c, dims > 1, function(i, q)
      return ("element_(%s, %s, %s)"):format(dims > 1 and not q
        and i .. " % n1_" or i, q or dims > 1 and i .. " / n1_" or 0, given)
    end)
    of_file.SOURCE = list
    body = defines(of_file) .. file_text(c.file)
  elseif way == "stream" then
    body = stream(parts, given)
  elseif each > 1 then
    words.GIVEN = given
    body = fill(SEVERAL, words)
  else
    body = "  size_t size_ = get_local_size(0);\n  " .. HEAD[way] .. "\n"
      .. one(("element_(c_, q_, %s)"):format(given))
  end
  -- The text of a function for an element: `more` parameters, `ends` as its
  -- end.
  local function element(name, more, ends)
    return table.concat({("static %s %s(size_t i1_, size_t q_,\n    %s%s)\n{")
      :format(c.type or "void", name, list, more), coordinates(dims),
      table.concat(loads, "\n"), c.body(c), table.concat(ends, "\n"), "}"},
      "\n")
  end
  local text = table.concat({
    list:find "%f[%w]m%d+_" and AROUND or "",
    stored and "#define ELEMENT\n" .. file_text "gemm/stored.cl" or "",
    c.declare and c.declare(c) or "",
    element("element_", loaded, stores),
    way == "stream" and element("stream_", targets, own) or "",
    c.file and body or ("kernel void %s(%s)\n{\n%s\n}\n"):format(c.name, list,
      body),
  }, "\n")
  local code = text:gsub("/%*.-%*/", ""):gsub("//[^\n]*", "")
  local double = code:find "%f[%w]double%d*%f[%W]"
  return (double and "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" or "")
    .. text, double, 8 * #parameters
end

-- Raises where the device has no doubles, or no room for the arguments.
local function check_device(c, double, bytes)
  local device = c.context.device
  if double and not device:has "cl_khr_fp64" then
    cl.error(("%s: double needs the extension cl_khr_fp64, which %s lacks")
      :format(c.name, device.name))
  elseif bytes > device.max_parameter_size then
    cl.error(("%s: %d Buffers and numbers take %d bytes of arguments; the "
      .. "device allows %d; evaluate a part first, with e:eval()"):format(
      c.name, c.n - 1, bytes, device.max_parameter_size))
  end
end

-- The kernel of a calculation over `dims` dimensions: {kernel, group}.
local function new_kernel(c, made, parts, dims, way)
  local each = way == "stream" and M.STREAM or way == "flat" and not c.file
    and M.each[c.context.device.type] or 1
  local text, double, bytes = source(c, parts, dims, way, each)
  local more = c.build or {}
  local name = (more.key or "") .. text
  local k = made.kernels[name]
  if not k then
    check_device(c, double, bytes)
    local program = cl.build(text, {context = c.context, name = c.name,
      defines = more.defines, options = more.options})
    local kernel = program:kernel(c.name)
    k = {kernel = kernel, each = each, group = way == "stream" and 1
      or tiling.power_of_two(math.min(GROUP, kernel.work_group_size))}
    made.kernels[name] = k
  end
  return k
end

-- The plan of a calculation: {kernel, group, each, way}, and of the last
-- launch `n` and `launch`. The plan of a calculation with places also has
-- `order`: for each argument of the kernel its number in c.args, `from`, or
-- else its `value`; and `rows`.
local function new_plan(c, made, own, way)
  local parts, sizes, slots = c.parts(c), {c.dims.count}, {}
  local order = {from = {}, value = {}, rows = 1}
  local from, value = order.from, order.value
  if c.places then
    for _, part in ipairs(parts) do
      slots[#slots + 1] = part.leaf and part or nil
    end
    sizes = layout.lay(c.dims, slots)
    way = sizes[2] and (sizes[1] < NARROW and "narrow" or "wide") or way
    table.move(sizes, 1, #sizes, 1, value)
    order.rows = c.dims.count // sizes[1]
    value[#sizes + 1] = sizes[2] and order.rows
  end
  local form = {#sizes, way}
  for k, part in ipairs(parts) do
    from[#value + 1] = k + 1
    value[#value + 1] = false
    form[#form + 1] = part.leaf and index(part, k, value) or nil
  end
  local key = table.concat(form, " ")
  local k = own.forms[key] or new_kernel(c, made, parts, #sizes, way)
  own.forms[key] = k
  return {kernel = k.kernel, group = k.group, each = k.each, way = way,
    order = c.places and order}
end

-- The plan of a flat calculation whose results go past the caches; false where
-- such stores are of no use.
local function streaming_plan(c, made, own)
  local serial = not c.file and M.serial[c.context.device.type]
  for _, part in ipairs(serial and c.parts(c) or {}) do
    if is_streamed(part) then
      return new_plan(c, made, own, "stream")
    end
  end
  return false
end

-- The launch over n columns and `rows` rows; the plan keeps the last launch.
local function range(c, plan, n, rows)
  local group, size = plan.group, nil
  if c.range then
    size, group = c:range(group)
  end
  if plan.n ~= (size or n) then
    local all = group * plan.each
    local groups = plan.way == "narrow" and (n * rows + group - 1) // group
      or (n + all - 1) // all * rows
    plan.n = nil -- until `launch` and `n` agree: Ctrl-C may come between
    plan.launch = plan.kernel:range(size or groups * group, group)
    plan.n = size or n
  end
  return plan.launch
end

--- fused.run(c) -> Event
--- Launches a calculation on the default queue of its context. Where the
--- caller does not take the Event, the driver is asked for none.
function M.run(c)
  local wanted = result.taken(1)
  if c.dims.count == 0 then -- no element, and so no kernel
    return result.nothing(c.context)
  end
  local made = kept_for(c.context)
  local own = made.known[c.known]
  if not own or own.count > PLACES then
    own = {forms = own and own.forms or {}, plans = {}, count = 0}
    made.known[c.known] = own
  end
  local key = c.places
    and c.dims.text .. " " .. table.concat(c.places, " ") or ""
  local plan = own.plans[key]
  if not plan then
    plan = new_plan(c, made, own, "flat")
    own.plans[key], own.count = plan, own.count + 1
  end
  local args, order = c.args, plan.order
  if not order then
    if args[1] >= M.STREAMED then
      if plan.streaming == nil then
        plan.streaming = streaming_plan(c, made, own)
      end
      plan = plan.streaming or plan
    end
    return result.call(wanted, range(c, plan, args[1], 1),
      unpack(args, 1, c.n))
  end
  local all, from, value = {}, order.from, order.value
  for k = 1, #value do
    all[k] = from[k] and args[from[k]] or value[k]
  end
  return result.call(wanted, range(c, plan, all[1], order.rows),
    unpack(all, 1, #value))
end

return M
