-- shell/help/reference.lua - Lua's own functions and the words of OpenCL C, a
-- line each
-- SPDX-License-Identifier: MIT

local M = {}

-- Lua's functions, by sections of the Lua 5.4 reference manual. Each line has
-- a function's signature, two spaces, and a text.
local SECTIONS = {
{"3.3", [=[
and  a and b: a if it is false or nil, else b; b is not evaluated otherwise
break  leaves the innermost loop: while true do if done() then break end end
do  a block with locals of its own: do local x = 1 print(x) end
else  the block for all other cases: if c then f() else g() end
elseif  a further case: if n < 0 then f() elseif n == 0 then g() end
end  closes function, if, do, for and while
false  one of the two values, with nil, that count as not true
for  for i = 1, 10, 2 do print(i) end; for k, v in pairs(t) do print(k, v) end
function  function add(a, b) return a + b end; also f = function(x) end
goto  goto done jumps to the label ::done:: of the same function
if  if x > 0 then print "more" elseif x < 0 then print "less" else f() end
in  belongs to for: for i, v in ipairs{5, 6} do print(i, v) end
local  local x <const>, y = 1, 2: variables of a block; kept at the prompt
nil  no value; t.x = nil takes a key out of a table
not  not a: true if a is false or nil, else false
or  a or b: a unless it is false or nil, else b; t.x or 0 gives a default
repeat  repeat x = x + 1 until x > 10 runs the block at least once
return  ends a function, with values: return a, b
then  belongs to if: if c then f() end
true  a value that counts as true, as all but false and nil do
until  ends repeat, and may use its locals: repeat x = f() until x
while  while x < 10 do x = x + 1 end
]=]},
{"6.1", [=[
assert(v [, message])  raises message if v is false or nil, else returns all
collectgarbage([what])  "collect" runs a full collection, "count" gives KiB
dofile(path)  runs a file of Lua; its errors are raised
error(message [, level])  raises an error; level 2 blames the caller
getmetatable(v)  the metatable of v, or its __metatable field
ipairs(t)  iterates 1, 2, 3 ... up to the first nil: for i, v in ipairs(t)
load(chunk [, name [, mode [, env]]])  compiles text; nil, message if wrong
loadfile([path [, mode [, env]]])  compiles a file without running it
next(t [, key])  the key and value after `key`; nil at the end
pairs(t)  iterates over all keys and values, in no set order
pcall(f, ...)  calls f; true and its results, or false and the error
print(...)  writes the arguments as text to standard output
rawequal(a, b)  a == b without metamethods
rawget(t, k)  t[k] without metamethods
rawlen(v)  #v without metamethods
rawset(t, k, v)  t[k] = v without metamethods
select(n, ...)  the arguments from the n-th on; "#" counts them
setmetatable(t, mt)  gives t a metatable (nil takes it away); returns t
tonumber(v [, base])  the number a text stands for; nil if none
tostring(v)  v as text; __tostring decides for objects
type(v)  "nil" "number" "string" "boolean" "table" "function" "userdata" ...
warn(message, ...)  writes a warning to standard error, if switched "@on"
xpcall(f, handler, ...)  like pcall; handler(error) runs where it was raised
]=]},
{"6.2", [=[
coroutine.close(co)  ends a suspended coroutine, its to-be-closed variables too
coroutine.create(f)  a coroutine that will run f
coroutine.isyieldable([co])  whether it may yield here
coroutine.resume(co, ...)  runs until the next yield; true, values or an error
coroutine.running()  the running coroutine, and whether it is the main one
coroutine.status(co)  "suspended", "running", "normal" or "dead"
coroutine.wrap(f)  a function that resumes f at each call; raises its errors
coroutine.yield(...)  suspends; the arguments are what resume returns
]=]},
{"6.3", [=[
require(name)  loads a module once: searches package.path, package.cpath
package.loadlib(path, name)  loads a C library's function
package.searchpath(name, path)  the file that require would take; nil, tried
]=]},
{"6.4", [=[
string.byte(s [, i [, j]])  the codes of bytes i to j (i is 1, j is i)
string.char(...)  a string of bytes with these codes
string.dump(f [, strip])  a function as a precompiled chunk
string.find(s, pattern [, init [, plain]])  first, last place; then captures
string.format(format, ...)  values as text: %d %5.2f %g %s %q %x %-8s
string.gmatch(s, pattern [, init])  iterates over all matches
string.gsub(s, pattern, repl [, n])  replaced text and count; repl: text, table
  or function
string.len(s)  bytes in s, the same as #s
string.lower(s)  s with small letters
string.match(s, pattern [, init])  the captures of the first match, or nil
string.pack(format, ...)  values as bytes: "<i4", "d" ...; see cl.bytes
string.packsize(format)  bytes that string.pack would give
string.rep(s, n [, sep])  n times s with sep between
string.reverse(s)  the bytes backwards
string.sub(s, i [, j])  bytes i to j; negative ones count from the end
string.unpack(format, s [, pos])  the values in bytes, and the next position
string.upper(s)  s with capital letters
]=]},
{"6.5", [=[
utf8.char(...)  text of these code points
utf8.codepoint(s [, i [, j]])  code points of the characters that begin there
utf8.codes(s)  iterates over places and code points
utf8.len(s [, i [, j]])  characters in s; nil and the place if it is no UTF-8
utf8.offset(s, n [, i])  the byte where the n-th character begins
]=]},
{"6.6", [=[
table.concat(list [, sep [, i [, j]]])  the elements joined as text
table.insert(list, [pos,] value)  puts value in at pos, or at the end
table.move(a, first, last, to [, b])  copies elements to b (or a) from `to` on
table.pack(...)  the arguments as a table; its field n counts them
table.remove(list [, pos])  takes out the element at pos, or the last one
table.sort(list [, less])  sorts in place; less(a, b) says a comes first
table.unpack(list [, i [, j]])  the elements as separate values
]=]},
{"6.7", [=[
math.abs(x)  |x|
math.acos(x)  arc cosine, in radians
math.asin(x)  arc sine, in radians
math.atan(y [, x])  arc tangent of y / x in the right quadrant, in radians
math.ceil(x)  the smallest integer >= x
math.cos(x)  cosine of x radians
math.deg(x)  radians to degrees
math.exp(x)  e to the power x
math.floor(x)  the largest integer <= x
math.fmod(x, y)  rest of x / y, rounded towards zero
math.log(x [, base])  logarithm; natural without base
math.max(x, ...)  the greatest argument
math.min(x, ...)  the least argument
math.modf(x)  integral and fractional part
math.rad(x)  degrees to radians
math.random([m [, n]])  a float in [0, 1), an integer in [1, m] or [m, n]
math.randomseed([x])  begins another sequence; the same x gives the same one
math.sin(x)  sine of x radians
math.sqrt(x)  square root
math.tan(x)  tangent of x radians
math.tointeger(x)  x as an integer if it has an integral value, else nil
math.type(x)  "integer", "float", or nil if x is no number
math.ult(m, n)  m < n as unsigned integers
]=]},
{"6.8", [=[
io.close([file])  closes a file
io.flush()  writes out what standard output still holds
io.input([file])  the default input; sets it if given
io.lines([path, ...])  iterates over the lines of a file
io.open(path [, mode])  a file handle, or nil, message; modes "r" "w" "a" "rb"
io.output([file])  the default output; sets it if given
io.popen(command [, mode])  runs a command, reads from it or writes to it
io.read(...)  reads from the default input: "l" "n" "a" or a count
io.tmpfile()  a temporary file, gone when it is closed
io.type(v)  "file", "closed file", or nil
io.write(...)  writes to the default output, no spaces or newline added
]=]},
{"6.9", [=[
os.clock()  CPU seconds of this process; for wall time see cl.now
os.date([format [, time]])  a date as text, or as a table for "*t"
os.difftime(t2, t1)  seconds from t1 to t2
os.execute([command])  runs a command in the shell; !command at the prompt
os.exit([code [, close]])  ends the program
os.getenv(name)  an environment variable, or nil
os.remove(path)  deletes a file; nil, message if it cannot
os.rename(old, new)  renames a file; nil, message if it cannot
os.setlocale(locale [, category])  the locale of the C library
os.time([t])  seconds since 1970; t: a table with year, month, day ...
os.tmpname()  a name for a temporary file
]=]},
{"6.10", [=[
debug.debug()  an inner prompt; "cont" leaves it
debug.gethook([co])  the hook that is set
debug.getinfo(f [, what])  a table on a function: source, linedefined, nparams
debug.getlocal(f, n)  name and value of a local variable of a level
debug.getmetatable(v)  the metatable, whatever __metatable says
debug.getregistry()  the registry table
debug.getupvalue(f, n)  name and value of an upvalue
debug.getuservalue(u, n)  a user value of a userdata
debug.sethook(hook, mask [, count])  calls hook at calls, lines or instructions
debug.setlocal(level, n, v)  sets a local variable of a level
debug.setmetatable(v, mt)  sets the metatable of any value
debug.setupvalue(f, n, v)  sets an upvalue
debug.setuservalue(u, v, n)  sets a user value of a userdata
debug.traceback([message])  the call stack as text
debug.upvalueid(f, n)  tells upvalues apart
debug.upvaluejoin(f, n, g, m)  makes f's upvalue n the same as g's upvalue m
]=]},
}

local libraries = {} -- the sections of the manual, by library

-- The words of OpenCL C, in the form of the sections above.
local OPENCL = [[
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
CLK_LOCAL_MEM_FENCE  flag of barrier and mem_fence: local memory is then seen
CLK_GLOBAL_MEM_FENCE  flag of barrier and mem_fence: global memory is then seen
mem_fence(flags)  orders this work-item's own reads and writes; waits for
  nobody
kernel  a function that the host can launch; it returns void
global  address space of buffers: seen by all work-items
local  address space of a work-group: declared in the kernel, or an argument
  (cl.localmem)
constant  address space of small read-only data
private  address space of one work-item: every variable without another one
size_t  an unsigned whole number as wide as a pointer; no kernel's argument
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

-- The errors of OpenCL: the name with the code, the cause, and the remedy.
local ERRORS = [[
CL_DEVICE_NOT_FOUND (-1)  no device of that type: clshell --devices lists all
CL_DEVICE_NOT_AVAILABLE (-2)  another process has the device to itself, or its
  driver stopped: clshell --doctor tells
CL_COMPILER_NOT_AVAILABLE (-3)  the driver compiles no source: build from a
  binary or from SPIR-V (cl.build_il), or take another device
CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)  no memory for a Buffer: b:close() frees
  others; a smaller one, or parts (cl.split), take less
CL_OUT_OF_RESOURCES (-5)  registers, local memory or the device's memory are
  not enough, or an earlier kernel failed: a smaller local size or tile;
  check(launch, ...) finds stores outside a Buffer
CL_OUT_OF_HOST_MEMORY (-6)  the host has no memory left: fewer or smaller
  Arrays, or a limit of the job (ulimit -v) is too low
CL_PROFILING_INFO_NOT_AVAILABLE (-7)  the queue keeps no times: cl.queue() of
  clshell does, a queue of other code may not
CL_MEM_COPY_OVERLAP (-8)  source and target of a copy overlap: copy by a third
  Buffer
CL_IMAGE_FORMAT_NOT_SUPPORTED (-10)  the device has no such pixels: the list is
  ctx:image_formats()
CL_BUILD_PROGRAM_FAILURE (-11)  the source does not compile: the message shows
  the lines, e.log has the whole log
CL_MAP_FAILURE (-12)  the driver could not map the memory: b:read() and
  b:write() copy instead
CL_MISALIGNED_SUB_BUFFER_OFFSET (-13)  a view begins at an address that the
  device refuses: pass cl.base(view) and the offset view.start
CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)  a command that this one
  waited for has failed: look at the error of that one
CL_COMPILE_PROGRAM_FAILURE (-15)  a part of a program does not compile: e.log
CL_LINKER_NOT_AVAILABLE (-16)  the driver links no programs: build one source
CL_LINK_PROGRAM_FAILURE (-17)  a function is missing, or in two of the
  programs that are linked
CL_DEVICE_PARTITION_FAILED (-18)  the device cannot be divided so: see
  dev.partition_properties
CL_INVALID_VALUE (-30)  a size, an offset or a flag that the driver refuses:
  see the limits in cl.device():info()
CL_INVALID_DEVICE (-33)  the device belongs to another context
CL_INVALID_CONTEXT (-34)  objects of two contexts meet: make both in one
CL_INVALID_QUEUE_PROPERTIES (-35)  the device has no such queue: leave out
  order, priority or throttle
CL_INVALID_COMMAND_QUEUE (-36)  the queue is gone, often since a kernel failed:
  %restart begins anew
CL_INVALID_HOST_PTR (-37)  memory of the host that the driver refuses: leave
  out use_host_ptr
CL_INVALID_MEM_OBJECT (-38)  no Buffer of this context, or a closed one
CL_INVALID_IMAGE_FORMAT_DESCRIPTOR (-39)  no such format of pixels:
  ctx:image_formats() has the list
CL_INVALID_IMAGE_SIZE (-40)  the image is larger than the device takes: see
  dev.image2d_max_width
CL_INVALID_BINARY (-42)  the binary is of another device or driver: build from
  source
CL_INVALID_BUILD_OPTIONS (-43)  the compiler does not know an option
CL_INVALID_PROGRAM_EXECUTABLE (-45)  the program is not built for this device
CL_INVALID_KERNEL_NAME (-46)  the program has no such kernel: prog:kernels()
CL_INVALID_KERNEL_DEFINITION (-47)  the kernel's arguments differ from device
  to device
CL_INVALID_ARG_VALUE (-50)  an argument that the kernel cannot take, such as a
  Buffer for local memory
CL_INVALID_ARG_SIZE (-51)  an argument has another size than the kernel's
  type: cl.int(x), cl.float(x) or cl.bytes(s) give one of a definite type
CL_INVALID_KERNEL_ARGS (-52)  an argument was not set: pass all of them
CL_INVALID_WORK_DIMENSION (-53)  an NDRange has one to three dimensions
CL_INVALID_WORK_GROUP_SIZE (-54)  the local size is too large for this kernel,
  or does not divide the global size: k.work_group_size is the limit
CL_INVALID_WORK_ITEM_SIZE (-55)  one dimension of the local size is too large:
  see dev.max_work_item_sizes
CL_INVALID_EVENT_WAIT_LIST (-57)  `after` has an event of another context
CL_INVALID_OPERATION (-59)  the device cannot do this, or the object is in use
CL_INVALID_BUFFER_SIZE (-61)  a Buffer of no bytes, or larger than
  dev.max_mem_alloc_size: cl.split and out_of_core take parts
CL_INVALID_GLOBAL_WORK_SIZE (-63)  an NDRange of no work-items, or of too many
CL_INVALID_PROPERTY (-64)  the driver does not know a property
CL_INVALID_COMPILER_OPTIONS (-66)  the compiler does not know an option
CL_INVALID_LINKER_OPTIONS (-67)  the linker does not know an option
CL_INVALID_DEVICE_PARTITION_COUNT (-68)  more parts than the device has units
CL_PLATFORM_NOT_FOUND_KHR (-1001)  no OpenCL driver is installed: clshell
  --doctor tells which to install
]]

-- Adds the entries of a text to a list, also by name.
local function add(list, text, section)
  for line in text:gsub("\n  ", " "):gmatch "[^\n]+" do
    local signature, meaning = line:match "^(.-)  (.+)$"
    local entry = {name = signature:match "^[%w_.]+", signature = signature,
      text = meaning, section = section}
    list[#list + 1], list[entry.name] = entry, entry
    libraries[entry.name:match "^(%w+)%." or 1] = section
  end
end

--- reference.lua
--- A list of {name, signature, text, section} of Lua's functions, and by name.
M.lua = {}

--- reference.opencl
--- A list of {name, signature, text} of the words of OpenCL C, and by name.
M.opencl = {}

--- reference.errors
--- A list of {name, signature, text} of OpenCL's errors, and by name.
M.errors = {}

for _, section in ipairs(SECTIONS) do
  add(M.lua, section[2], section[1])
end
add(M.opencl, OPENCL)
add(M.errors, ERRORS)

--- reference.name(value) -> name or nil
--- The name of one of Lua's own functions or libraries.
function M.name(value)
  for library in pairs(libraries) do
    if package.loaded[library] == value then
      return library
    end
  end
  for _, entry in ipairs(M.lua) do
    local library, key = entry.name:match "^(%w+)%.(%w+)$"
    local home = package.loaded[library or "_G"]
    if type(home) == "table" and type(value) == "function"
        and rawget(home, key or entry.name) == value then
      return entry.name
    end
  end
end

--- reference.section(library) -> the manual's section, or nil
function M.section(library)
  return libraries[library]
end

return M
