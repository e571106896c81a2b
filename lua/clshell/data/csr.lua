-- data/csr.lua - sparse matrices in compressed sparse row format, made of
-- triplets and of files; sparse.lua has their methods
-- SPDX-License-Identifier: MIT
local argument = require "clshell.base.argument"
local cl = require "cl"
local host = require "cl.host"
local mtx = require "clshell.data.mtx"
local options = require "clshell.base.options"
local sparse = require "clshell.data.sparse"
local text = require "clshell.base.text"

local M = require "clshell.base.lazy".table(...)

local INT_MAX = 0x7fffffff -- row_ptr and col_ind are int

-- Raises unless the triplets make a matrix that int can index, and a buffer
-- of the device can hold its row_ptr.
local function check(rows, cols, is, js, vs, context)
  argument.integer("csr.from_coo", "rows", rows, 1, INT_MAX)
  argument.integer("csr.from_coo", "cols", cols, 1, INT_MAX)
  for k, list in ipairs{is or false, js or false, vs or false} do
    if type(list) ~= "table" and text.class(list) ~= "Array" then
      cl.error(("csr.from_coo: %s must be a table or an Array; got %s"):format(
        ("ijv"):sub(k, k), list and (text.class(list) or type(list))
        or "nothing"))
    end
  end
  local device = (context or cl.context()).device
  if 4 * (rows + 1) > device.max_mem_alloc_size then
    cl.error(("csr.from_coo: row_ptr of %d rows takes %d bytes, a buffer on "
      .. "%s has at most %d"):format(rows, 4 * (rows + 1), device.name,
      device.max_mem_alloc_size))
  end
  if #is ~= #js or #is ~= #vs then
    cl.error(("csr.from_coo: %d row indices, %d column indices and %d values")
      :format(#is, #js, #vs))
  elseif #is > INT_MAX then
    cl.error(("csr.from_coo: %d entries, at most %d can be indexed")
      :format(#is, INT_MAX))
  end
end

-- A number as an integer; nil for other values.
local function whole(x)
  return math.type(x) and math.tointeger(x)
end

-- The places of the entries sorted by row, as a Lua table, and row_ptr:
-- a counting sort, stable.
local function by_row(rows, cols, is, js, vs)
  local n = #is
  local ptr = cl.array("int", rows + 1)
  for k = 1, n do
    local i, j = whole(is[k]), whole(js[k])
    if not (i and j) then
      cl.error(("csr.from_coo: the indexes of entry %d must be integers; got "
        .. "(%s, %s)"):format(k, is[k], js[k]))
    elseif i < 1 or i > rows or j < 1 or j > cols then
      cl.error(("csr.from_coo: entry %d is at (%s, %s), outside %d x %d")
        :format(k, i, j, rows, cols))
    elseif not math.type(vs[k]) then
      cl.error(("csr.from_coo: the value of entry %d must be a number; got %s")
        :format(k, type(vs[k])))
    end
    ptr[i + 1] = ptr[i + 1] + 1
  end
  for i = 2, rows + 1 do
    ptr[i] = ptr[i] + ptr[i - 1]
  end
  local order = {}
  for k = 1, n do
    order[k] = 0
  end
  for k = 1, n do -- ptr[i] moves from the start of row i to its end
    local at = ptr[is[k]] + 1
    order[at], ptr[is[k]] = k, at
  end
  for i = rows, 1, -1 do
    ptr[i + 1] = ptr[i]
  end
  ptr[1] = 0
  return order, ptr
end

-- Sorts order[first..last] by column; entries of one column stay in place.
local function sort_row(order, js, first, last)
  local sorted = true
  for q = first + 1, last do
    if js[order[q]] < js[order[q - 1]] then
      sorted = false
      break
    end
  end
  if sorted then
    return
  end
  local keys = {} -- column and place in one integer: no comparison function
  for q = first, last do
    keys[q - first + 1] = js[order[q]] << 32 | order[q]
  end
  table.sort(keys)
  for q = first, last do
    order[q] = keys[q - first + 1] & 0xffffffff
  end
end

-- The first n elements as an array of their own.
local function head(h, n)
  local short = cl.array(h.type, n, function(k) return h[k] end)
  h:close()
  return short
end

local from_coo

--- csr.from_coo(rows, cols, i, j, v [, opts]) -> Csr
--- The CSR matrix of the triplets (i[k], j[k], v[k]), Lua tables or host
--- arrays of one length: 1-based indices in any order, entries given twice add
--- up (in double, integers as integers). The matrix has rows, cols, nnz, type,
--- format ("csr"), row_max (the entries of the longest row, by which a plain
--- spmv takes its kernel), the buffers row_ptr (int, rows + 1, 0-based),
--- col_ind (int, nnz, 0-based, ascending in a row) and values (nnz), and host
--- arrays with the content of these buffers in `host`. A matrix without
--- entries is legal; its col_ind and values then hold one unused element. A
--- finite value that would become infinite in the element type is an error.
--- Options:
---   type     float      element type, of numbers
---   context  session's  the Context of another device
--- Example:
--- local M = csr.from_coo(2, 3, {1, 2, 2}, {1, 1, 3}, {5, 6, 7})
--- print(M.rows, M.cols, M.nnz) --> 2 3 3
function M.from_coo(rows, cols, is, js, vs, opts)
  return from_coo("csr.from_coo", rows, cols, is, js, vs, opts)
end

-- Makes the matrix; `name` stands before the error of a value.
function from_coo(name, rows, cols, is, js, vs, opts)
  opts = options.check(opts, "csr.from_coo")
  check(rows, cols, is, js, vs, opts.context)
  local kind = sparse.real("csr.from_coo", opts.type)
  local order, ptr = by_row(rows, cols, is, js, vs)
  local room = math.max(#order, 1)
  local col, val = cl.array("int", room), cl.array(kind, room)
  local n, first = 0, 1
  for i = 1, rows do
    local last = ptr[i + 1]
    if last > first then
      sort_row(order, js, first, last)
    end
    local q = first
    while q <= last do
      local k = order[q]
      local j, v = js[k], vs[k]
      q = q + 1
      while q <= last and js[order[q]] == j do
        v, q = mtx.sum(v, vs[order[q]], kind == "ulong"), q + 1
      end
      n = n + 1
      col[n], val[n] = j - 1, v
      mtx.fit(name, val[n], v, i, j, kind)
    end
    ptr[i + 1], first = n, last + 1
  end
  if n > 0 and n < room then -- some entries were added up
    col, val = head(col, n), head(val, n)
  end
  return sparse.csr(rows, cols, n,
    {row_ptr = ptr, col_ind = col, values = val}, opts.context)
end

-- A matrix of a pattern of cl.host, with random values.
local function generated(kind, n, degree, opts)
  local what = "csr." .. kind
  opts = options.check(opts, what)
  argument.integer(what, "n", n, 1, INT_MAX)
  local block = opts.block or kind == "fem" and math.min(n, 3) or 1
  argument.integer(what, "block", block, 1, n)
  argument.integer(what, "seed", opts.seed or 1)
  degree = opts.degree or degree
  if math.type(degree) == nil or not (degree >= 0 and degree <= 65536) then
    argument.refuse(what, "degree", "must be a number from 0 to 65536; got %s",
      text.got(degree))
  elseif degree * n > INT_MAX then
    cl.error(("%s: %d rows of about %g entries, at most %d entries can be "
      .. "indexed"):format(what, n, degree, INT_MAX), {arg = "n"})
  end
  local ptr, col = host.csr_pattern(kind, n, degree, opts.seed or 1, block)
  local values = cl.array(sparse.real(what, opts.type), #col)
  values:random(opts.seed or 1, opts.lo or 0.5, opts.hi or 1.5)
  return sparse.csr(n, n, ptr[n + 1],
    {row_ptr = ptr, col_ind = col, values = values}, opts.context)
end

--- csr.rmat(n [, opts]) -> Csr
--- A matrix of n rows like a graph of people or pages, by the recursive model
--- R-MAT of Chakrabarti, Zhan and Faloutsos (57, 19, 19 and 5 percent): few
--- rows have very many entries, and most entries lie in few columns. Entries
--- drawn twice count once, so rows have fewer than `degree`. Values are random
--- from [0.5, 1.5); all is the same for the same seed.
--- Options:
---   degree   16       entries of a row, on average
---   seed     1        of the pattern and of the values
---   type     float    element type, of numbers
---   lo, hi   0.5, 1.5  the range of the values
---   context  session's  the Context of another device
--- Example: print(csr.rmat(1000, {degree = 8}).rows) --> 1000
function M.rmat(n, opts)
  return generated("rmat", n, 16, opts)
end

--- csr.road(n [, opts]) -> Csr
--- A matrix of n rows like a network of roads: a plane grid of crossings, each
--- linked to at most four neighbours, where links miss at random; numbers are
--- near for neighbours, in no order. The pattern is symmetric. Options as for
--- csr.rmat.
--- Options:
---   degree  2.5  entries of a row, on average, at most 4
--- Example: print(csr.road(10000):info().row_max) --> 4
function M.road(n, opts)
  return generated("road", n, 2.5, opts)
end

--- csr.fem(n [, opts]) -> Csr
--- A matrix of n rows like a mesh of finite elements in three dimensions:
--- nodes of `block` rows each, linked to themselves and to some of 26
--- neighbours in dense blocks. The pattern is symmetric. Options as for
--- csr.rmat.
--- Options:
---   degree  45  entries of a row, on average, at most 27 block
---   block   3   rows of a node
--- Example: print(csr.fem(3000):info().row_min % 3) --> 0
function M.fem(n, opts)
  return generated("fem", n, 45, opts)
end

--- csr.zipf(n [, opts]) -> Csr
--- A matrix of n rows whose lengths follow a power law: of rows longer than k
--- there are about k^-1.2 as many; the longest may have an eighth of all
--- columns, which are random. Options as for csr.rmat.
--- Options:
---   degree  12  entries of a row, on average
--- Example: print(csr.zipf(1000, {seed = 2}).rows) --> 1000
function M.zipf(n, opts)
  return generated("zipf", n, 12, opts)
end

--- csr.load(path [, opts]) -> Csr; nil, message if it cannot be opened
--- Reads a Matrix Market file (see mtx.read) into a CSR matrix. Entries given
--- twice add up. Options as for csr.from_coo.
--- Example:
--- dia.poisson2d(4, 4):save "p.mtx"
--- print(csr.load("p.mtx").nnz) --> 64
function M.load(path, opts)
  argument.check("csr.load", "path", path, "string")
  local m, message = mtx.read(path)
  if m == nil then
    return nil, message
  end
  if type(opts) == "table" and opts.type == "ulong" then
    for k = 1, #m.v do
      m.v[k] = mtx.value(m, k, "ulong")
    end
  end
  return from_coo(path, m.rows, m.cols, m.i, m.j, m.v, opts)
end

return M
