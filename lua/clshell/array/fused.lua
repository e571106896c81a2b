-- array/fused.lua - one kernel for a calculation on the elements of Buffers:
-- its text, its program, kept by the form of the calculation, and its launch
-- A calculation has
--   name     of the kernel
--   known    a table, the same one for all calculations with one text, where
--            not flat also with the same places of elements in memory
--   context  of its Buffers
--   dims     shape of the result, see layout.lua
--   flat     whether the elements of all Buffers are those of the result, one
--            by one
--   args     {count, part, ...}: a Buffer, cl.base of it if it begins inside
--            its memory, or a number for each part; n is their count
--   parts    function(c) -> list of {leaf, name, load, store}: variable `name`
--            is loaded from a Buffer, stored to it, or both, and the body may
--            declare it (`declared`); or of {type, name}: a number
--   body     function(c) -> OpenCL C between the loads and the stores; `i` is
--            the number of the element, from 0, and `n` the count
-- SPDX-License-Identifier: MIT

local cl = require "cl"
local layout = require "clshell.array.layout"
local types = require "clshell.array.types"

local unpack = table.unpack

local M = {}

local GROUP = 256 -- work-items of a work-group, at most
local NARROW = 64 -- columns: work-groups take more than a row of fewer

-- By context: kernels by text, plans by the table `known` of a calculation.
local kept = setmetatable({}, {__mode = "k"})

local function kept_for(context)
  local made = kept[context]
  if not made then
    made = {kernels = {}, plans = {}}
    kept[context] = made
  end
  return made
end

-- Adds the parameters of slot k to a list; returns its element's index.
local function index(slot, k, parameters)
  local words = {}
  local function parameter(name)
    parameters[#parameters + 1] = "ulong " .. name
    return name
  end
  if slot.leaf.start > 0 then
    words[1] = parameter(("o%d_"):format(k))
  end
  for d, stride in ipairs(slot.strides or {1}) do
    local at = ("i%d_"):format(d)
    if slot.by and slot.by[d] > 0 then
      local by = parameter(("r%d_%d_"):format(d, k))
      at = ("(%s < %s ? %s + (n%d_ - %s) : %s - %s)"):format(at, by, at, d,
        by, at, by)
    end
    if stride > 0 then
      words[#words + 1] = stride == 1 and at
        or ("%s * %s"):format(at, parameter(("s%d_%d_"):format(d, k)))
    end
  end
  return words[1] and table.concat(words, " + ") or "0"
end

-- The values of those parameters, in the same order.
local function places(slot, list)
  if slot.leaf.start > 0 then
    list[#list + 1] = slot.leaf.start
  end
  for d, stride in ipairs(slot.strides) do
    if slot.by and slot.by[d] > 0 then
      list[#list + 1] = slot.by[d]
    end
    if stride > 1 then
      list[#list + 1] = stride
    end
  end
end

-- What a work-item does: element i1_ of row q_. A work-group whose items all
-- have an element asks none of them, which CPUs need for vectors.
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

-- The text of a calculation over so many dimensions, and whether it has
-- doubles. A half is a float between load and store, which every device has.
local function source(c, parts, dims, way)
  local parameters, loads, stores = {}, {}, {}
  for d = 1, dims do
    parameters[d] = ("ulong n%d_"):format(d)
  end
  parameters[#parameters + 1] = dims > 1 and "ulong rows_" or nil
  for k, part in ipairs(parts) do
    local leaf, name = part.leaf, part.name
    local type = leaf and leaf.kind.type or part.type
    local variable = types.calculated(type) .. " " .. name
    parameters[#parameters + 1] = not leaf and variable
      or ("global %s%s *b%d_"):format(part.store and "" or "const ", type, k)
    if leaf then
      local at, half = index(part, k, parameters), type == "half"
      local from = half and (" = vload_half(%s, b%d_)"):format(at, k)
        or (" = b%d_[%s]"):format(k, at)
      loads[#loads + 1] = not part.declared and ("  %s%s;"):format(variable,
        part.load and from or "") or nil
      stores[#stores + 1] = part.store and (half
        and ("  vstore_half(%s, %s, b%d_);"):format(name, at, k)
        or ("  b%d_[%s] = %s;"):format(k, at, name)) or nil
    end
  end
  local list = table.concat(parameters, ",\n    ")
  local call = ("element_(c_, q_, %s)"):format(
    list:gsub("[^,]-([%w_]+)%f[,\0]", "%1"))
  local text = table.concat({
    ("static void element_(size_t i1_, size_t q_,\n    %s)\n{"):format(
    list),
    coordinates(dims), table.concat(loads, "\n"), c.body(c),
    table.concat(stores, "\n"), "}",
    ("kernel void %s(%s)\n{"):format(c.name, list),
    "  size_t size_ = get_local_size(0);", "  " .. HEAD[way],
    ("  if (first_ + size_ <= end_) %s;\n  else if (i_ < end_) %s;\n}\n")
      :format(call, call),
  }, "\n")
  local double = text:find "%f[%w]double%d*%f[%W]"
  return (double and "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n" or "")
    .. text, double, 8 * #parameters
end

-- Raises where the device has no doubles, or cannot take the arguments.
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

-- What a calculation launches: {kernel, group, way, and of the last launch n
-- and launch}; where it is not flat also `order`: its arguments, `from` those
-- of the calculation or else `value`, and rows.
local function new_plan(c, kernels)
  local parts, sizes, order, way = c.parts(c), nil, nil, "flat"
  if not c.flat then
    local slots = {}
    for _, part in ipairs(parts) do
      slots[#slots + 1] = part.leaf and part
    end
    sizes = layout.lay(c.dims, slots)
    way = sizes[2] and (sizes[1] < NARROW and "narrow" or "wide") or way
    order = {from = {}, value = table.move(sizes, 1, #sizes, 1, {})}
    order.rows = c.dims.count // sizes[1]
    order.value[#sizes + 1] = sizes[2] and order.rows
    for k, part in ipairs(parts) do
      local value = order.value
      order.from[#value + 1] = k + 1
      value[#value + 1] = false
      if part.leaf then
        places(part, value)
      end
    end
  end
  local text, double, bytes = source(c, parts, sizes and #sizes or 1, way)
  local k = kernels[text]
  if not k then
    check_device(c, double, bytes)
    local program = cl.build(text, {context = c.context, name = c.name})
    k = {kernel = program:kernel(c.name), group = 1}
    while k.group < GROUP and k.group * 2 <= k.kernel.work_group_size do
      k.group = k.group * 2
    end
    kernels[text] = k
  end
  return {kernel = k.kernel, group = k.group, order = order, way = way}
end

-- The launch over n columns and so many rows; that of the call before stays.
local function range(plan, n, rows)
  if plan.n ~= n then
    local group = plan.group
    local groups = plan.way == "narrow" and (n * rows + group - 1) // group
      or (n + group - 1) // group * rows
    plan.n = nil -- Ctrl-C may come between the two that belong together
    plan.launch = plan.kernel:range(groups * group, group)
    plan.n = n
  end
  return plan.launch
end

--- fused.run(c) -> Event
--- Launches a calculation on the default queue of its context.
function M.run(c)
  local made = kept_for(c.context)
  local plan = made.plans[c.known]
  if not plan then
    plan = new_plan(c, made.kernels)
    made.plans[c.known] = plan
  end
  local args, order = c.args, plan.order
  if not order then
    return range(plan, args[1], 1)(unpack(args, 1, c.n))
  end
  local all, from, value = {}, order.from, order.value
  for k = 1, #value do
    all[k] = from[k] and args[from[k]] or value[k]
  end
  return range(plan, all[1], order.rows)(unpack(all, 1, #value))
end

return M
