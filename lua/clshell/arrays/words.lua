-- arrays/words.lua - what the methods and fields of NumPy's and PyOpenCL's
-- arrays are here, for the errors of names that there are not
-- SPDX-License-Identifier: MIT

local names = require "clshell.arrays.names"

local WORDS = {
  T = "x:transpose()", argwhere = "x:compact(mask)", clip = "x:clamp(lo, hi)",
  concatenate = "cl.concatenate{x, y}", cumprod =
  'x:scan{op = "a * b", identity = 1}', dtype = "x.type",
  flatten = "x:reshape(#x)", maximum = "x:fmax(y)", minimum = "x:fmin(y)",
  nbytes = "x.bytes", ndim = "#x.shape", norm = "x:nrm2()", pow = "x ^ y",
  power = "x ^ y", prod = 'x:reduce{op = "a * b", identity = 1}', put =
  "x:scatter(index, values)", ravel = "x:reshape(#x)", roll = "x:shift(k)",
  size = "#x", squeeze = "x:reshape(shape)", take = "x:gather(index)",
}

-- Those that differ: a Buffer's elements are on the device.
local OWN = {
  Array = {get = "x[i], as x is on the host", item = "x[1]",
    tolist = "x:table()"},
  Buffer = {get = "x:read()", item = "x:read()[1]",
    tolist = "x:read():table()"},
}
OWN.Expression = OWN.Buffer

-- Functions of NumPy's module, looked for in module cl.
OWN.cl = {empty = "cl.buffer(type, shape)", full = "cl.buffer(type, shape, x)",
  ones = "cl.buffer(type, shape, 1)", zeros = "cl.buffer(type, shape, 0)"}
for _, name in ipairs(names.methods) do
  OWN.cl[name] = not name:find "^__" and ("x:%s(...)"):format(name) or nil
end

--- words(class, key) -> string or nil
--- What a user of NumPy means by x.key, for a Buffer, an Array, an Expression
--- or module cl.
return function(class, key)
  return OWN[class] and (OWN[class][key] or WORDS[key])
end
