-- help/opencl.lua - words of OpenCL C, the language of kernels, a line each
-- SPDX-License-Identifier: MIT

local M = {}

-- A signature, two spaces, what it is.
local TEXT = [[
get_global_id(d)  place of this work-item in dimension d of the NDRange, from
    0
get_global_size(d)  work-items in dimension d
get_global_offset(d)  the first global id of dimension d
get_local_id(d)  place of this work-item in its work-group, from 0
get_local_size(d)  work-items of a work-group in dimension d
get_group_id(d)  number of this work-group in dimension d, from 0
get_num_groups(d)  work-groups in dimension d
get_work_dim()  dimensions of the NDRange: 1, 2 or 3
barrier(flags)  waits for the whole work-group; CLK_LOCAL_MEM_FENCE or
    CLK_GLOBAL_MEM_FENCE says which memory is then seen
mem_fence(flags)  orders this work-item's own reads and writes; waits for
    nobody
kernel  a function that the host can launch; it returns void
global  address space of buffers: seen by all work-items
local  address space of a work-group: declared in the kernel, or an argument
    (cl.localmem)
constant  address space of small read-only data
private  address space of one work-item: every variable without another one
restrict  a promise that no other pointer reaches what this one points to
reqd_work_group_size(x, y, z)  attribute: the one local size a kernel is for
mad(a, b, c)  a * b + c, fast; rounding is the device's choice
fma(a, b, c)  a * b + c rounded once
dot(a, b)  sum of the products of two vectors' components
clamp(x, lo, hi)  x, but not below lo or above hi
mix(x, y, a)  x + (y - x) * a
select(a, b, c)  b where c is true (vectors: its top bit set), else a
min(x, y)  the lesser; fmin for floats takes care of NaN
max(x, y)  the greater; fmax for floats takes care of NaN
native_sqrt(x)  square root in the device's own precision
native_exp(x)  exponential in the device's own precision
rsqrt(x)  1 / sqrt(x)
convert_float(x)  to float; convert_int_rte, convert_uchar_sat: rounding,
    clamping
as_uint(x)  the same bits as another type of that size
vload4(i, p)  the i-th group of 4 elements at p, aligned or not
vstore4(v, i, p)  writes 4 elements as the i-th group at p
vload_half(i, p)  the i-th half at p as a float
vstore_half(x, i, p)  a float as the i-th half at p
atomic_add(p, x)  adds to *p so that no addition is lost; returns the old
    value
atomic_inc(p)  adds 1 to *p; returns the old value
atomic_cmpxchg(p, old, new)  sets *p to new where it holds old; returns what
    it held
async_work_group_copy(to, from, n, e)  the group copies n elements, global to
    local or back
wait_group_events(n, events)  waits for such copies
printf(format, ...)  prints from a kernel; the order of work-items is open
]]

local entries

--- opencl.entries() -> list
--- {name, signature, text} of each word, and by name.
function M.entries()
  if entries then
    return entries
  end
  entries = {}
  for line in TEXT:gsub("\n    ", " "):gmatch("[^\n]+") do
    local signature, text = line:match("^(.-)  (.+)$")
    local entry = {name = signature:match("^[%w_]+"), signature = signature,
      text = text}
    entries[#entries + 1], entries[entry.name] = entry, entry
  end
  return entries
end

return M
