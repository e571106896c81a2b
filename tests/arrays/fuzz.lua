-- fuzz.lua - random expressions of all types over Buffers, with views, rows,
-- columns, numbers and results in place, against NumPy
-- CLSHELL_FUZZ is the number of expressions, 2000 without it. Forty of them
-- share a form, and so a kernel, and differ in numbers and elements.
-- SPDX-License-Identifier: MIT

local t = require "t"
local cl = require "cl"

t.device()
t.keeps("Program", "Kernel", "Context", "Queue", "Device", "Launch")

local COUNT = math.tointeger(tonumber(os.getenv "CLSHELL_FUZZ")) or 2000
local SIZES = {char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4,
  long = 8, ulong = 8, half = 2, float = 4, double = 8}
local NEAR = {half = 2e-3, float = 1e-6, double = 1e-14}

-- The first Python that has NumPy, or nil.
local function python()
  for _, name in ipairs{"python3", "/usr/bin/python3"} do
    if os.execute(name .. " -c 'import numpy' >/dev/null 2>&1") then
      return name
    end
  end
  return nil
end

local function elements(shape)
  local n = 1
  for _, size in ipairs(shape) do
    n = n * size
  end
  return n
end

-- The next elements of a file, as an Array.
local function take(f, type, shape)
  local bytes = elements(shape) * SIZES[type]
  return cl.array(type, shape, assert(f:read(bytes)))
end

-- The number of the first element that differs, or nil.
local function differs(form, found, right)
  found, right = found:reshape(#found), right:reshape(#right)
  for i = 1, #right do
    local a, b = found[i], right[i]
    local near = not form.exact
      and math.abs(a - b) <= NEAR[form.kind] * math.abs(b)
    if a ~= b and (a == a or b == b) and not near then
      return i
    end
  end
  return nil
end

-- The result of a form for a case: into an operand of its type and shape where
-- there is one, else into a new Buffer.
local function result(form, case, operands)
  local e = load(form.code)(operands, case.k)
  for _, x in ipairs(operands) do
    if case.by % 2 == 0 and x.type == form.kind
        and table.concat(x.shape, "x") == table.concat(form.shape, "x") then
      x:set(e)
      return x:read()
    end
  end
  return e:read()
end

local function check(form, f)
  local looks = {}
  for k, operand in ipairs(form.operands) do
    looks[k] = load("local y, k = ... return "
      .. operand[3]:gsub("{y}", "y"):gsub("{k}", "k"))
  end
  for _, case in ipairs(form.cases) do
    local buffers, operands = {}, {}
    for k, operand in ipairs(form.operands) do
      local h <close> = take(f, operand[1], operand[2])
      buffers[k] = cl.buffer(operand[1], operand[2], h)
      operands[k] = looks[k](buffers[k], case.by)
    end
    local right <close> = take(f, form.kind, form.shape)
    local found <close> = result(form, case, operands)
    local i = differs(form, found, right)
    if i then
      local types = {}
      for k, operand in ipairs(form.operands) do
        types[k] = operand[1] .. " " .. operand[3]
      end
      error(("%s of %s, k = {%s}: element %d is %s, not %s; seed %d"):format(
        form.code, table.concat(types, ", "), table.concat(case.k, ", "), i,
        found:reshape(#found)[i], right:reshape(#right)[i], t.seed))
    end
    for _, b in ipairs(buffers) do
      b:close()
    end
  end
end

t.test("random expressions have NumPy's values", function()
  local name = python()
  if not name then
    return t.skip "no Python with NumPy: apt-get install python3-numpy"
  end
  local out = os.tmpname()
  t.eq(os.execute(("%s tests/tools/expressions.py %d %d %s"):format(name,
    t.seed, COUNT, out)), true)
  local f <close> = assert(io.open(out .. ".bin", "rb"))
  local forms, wrong = dofile(out .. ".lua"), {}
  for _, file in ipairs{out, out .. ".lua", out .. ".bin"} do
    os.remove(file)
  end
  local double = cl.device():has "cl_khr_fp64"
  for _, form in ipairs(forms) do
    local text = form.code .. form.kind
    for _, operand in ipairs(form.operands) do
      text = text .. operand[1]
    end
    if double or not text:find "double" then
      local ok, message = pcall(check, form, f)
      wrong[#wrong + 1] = not ok and message or nil
      if not ok then break end
    else
      for _ = 1, #form.cases do
        for _, operand in ipairs(form.operands) do
          take(f, operand[1], operand[2]):close()
        end
        take(f, form.kind, form.shape):close()
      end
    end
  end
  t.eq(wrong, {})
end)

t.done()
