-- shell/examples/array.lua - examples that help shows: calculations on Buffers
-- SPDX-License-Identifier: MIT

--- Expression:eval
local x = cl.arange(1, 4)
local y = (2 * x + 1):eval()
print(y, y:read()[4]) --> Buffer int[4] 9

--- Expression:read
local x = cl.arange(1, 4)
print((x * x):read()[3]) --> 9

--- Buffer:set
local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
y:set(2 * x + y)
print(y:read()[1]) --> 12

--- Buffer:axpy
local x, y = cl.arange(1, 4), cl.buffer("int", 4, 10)
y:axpy(2, x)
print(y:read()[4]) --> 18

--- Buffer:astype
local x = cl.linspace(0, 1, 3)
print((x * 7):astype "int":read()[2]) --> 3

--- Buffer:shift
local x = cl.arange(1, 4)
x:set(x:shift(1))
print(x:read()[1], x:read()[2]) --> 4 1

--- Buffer:slice
local x = cl.arange(1, 10)
print((x:slice(2, -1) - x:slice(1, -2)):read()[9]) --> 1
x:slice(1, -1, 2):set(0) -- every other element
local A = x:reshape{2, 5}
print(A:slice({}, 2), A:slice({}, 2):read()[2]) --> Expression int[2] 0

--- Buffer:transpose
local A = cl.arange(1, 6):reshape{2, 3}
print(A:transpose(), A:transpose():read():at(3, 1)) --> Expression int[3][2] 3

--- Buffer:diagonal
local A = cl.buffer("float", {3, 3}, 0)
A:diagonal():set(1)
print(A:read():at(2, 2)) --> 1.0

--- Buffer:tile
print(cl.arange(1, 3):tile(2):read()[4]) --> 1

--- Expression:reshape
local x = cl.arange(1, 6)
print((2 * x):reshape{2, 3}:read():at(2, 1)) --> 8

--- Buffer:clone
local x = cl.arange(1, 4)
local y = x:clone()
x:fill(0)
print(y:read()[4]) --> 4

--- Buffer:reshape
local A = cl.arange(1, 6):reshape{2, 3}
print(A, A:read():at(2, 1)) --> Buffer int[2][3] view 4

--- Buffer:abs
print((cl.arange(-2, 2)):abs():read()[1]) --> 2

--- Buffer:fmin
print(cl.arange(1, 4):fmin(2):read()[4]) --> 2

--- Buffer:fmax
print(cl.arange(1, 4):fmax(2):read()[1]) --> 2

--- Buffer:sum
local A = cl.arange(1, 6):reshape{2, 3}
print(A:sum(), A:sum(1):read()[3], (A * A):sum()) --> 21 9 91

--- Buffer:mean
local A = cl.arange(1, 6):reshape{2, 3}
print(A:mean(), A:mean(2):read()[2]) --> 3.5 5.0

--- Buffer:min
local A = cl.arange(1, 6):reshape{2, 3}
print(A:min(), (A - 4):abs():min(), A:min(2):read()[2]) --> 1 0 4

--- Buffer:max
local A = cl.arange(1, 6):reshape{2, 3}
print(A:max(), A:max(1):read()[2]) --> 6 5

--- Buffer:argmin
print((cl.arange(1, 9) - 4):abs():argmin()) --> 4

--- Buffer:argmax
local A = cl.arange(6, 1, -1):reshape{2, 3}
print(A:argmax(), A:argmax(2):read()[2]) --> 1 1

--- Buffer:any
print(cl.arange(1, 4):gt(3):any()) --> true

--- Buffer:all
print(cl.arange(1, 4):gt(3):all()) --> false

--- Buffer:dot
local x = cl.arange(1, 4)
print(x:dot(x), x:dot(x, 1):read()[1]) --> 30 30

--- Buffer:nrm2
print(cl.buffer("float", 2, {3, 4}):nrm2()) --> 5.0

--- Buffer:var
local A = cl.arange(1, 6):reshape{2, 3}
print(A:reshape(6):var(), A:var(1):read()[1]) --> 2.9166666666667 2.25

--- Buffer:std
local x = cl.buffer("float", 4, {1, 1, 3, 3})
print(x:std(), (2 * x):std(), x:var{ddof = 1} > 1) --> 1.0 2.0 true

--- Buffer:reduce
print(cl.arange(1, 5):reduce{op = "a * b", identity = 1}) --> 120

--- Buffer:clamp
local x = cl.arange(1, 9):clamp(3, 5)
print(x:read()[1], x:read()[9]) --> 3 5

--- Buffer:where
local x = cl.arange(-2, 2)
print(x:lt(0):where(-x, x):read()[1]) --> 2

--- Buffer:lt
print(cl.arange(1, 4):lt(3):read()[2]) --> 1

--- Buffer:le
print(cl.arange(1, 4):le(3):read()[3]) --> 1

--- Buffer:gt
print(cl.arange(1, 4):gt(3):read()[3]) --> 0

--- Buffer:ge
print(cl.arange(1, 4):ge(3):read()[3]) --> 1

--- Buffer:eq
print(cl.arange(1, 4):eq(3):read()[3]) --> 1

--- Buffer:ne
print(cl.arange(1, 4):ne(3):read()[3]) --> 0

--- Buffer:sort
local x, y = cl.buffer("int", 3, {30, 10, 20}), cl.arange(1, 3)
print(x:sort():read()[1]) --> 10
local keys, values = x:sort{order = "descending", values = y}
print(keys:read()[1], values:read()[3]) --> 30 2

--- Buffer:argsort
print(cl.buffer("int", 3, {30, 10, 20}):argsort():read()[1]) --> 2

--- Buffer:unique
local values, counts = cl.buffer("int", 4, {7, 5, 7, 7}):unique()
print(#values, values:read()[2], counts:read()[2]) --> 2 7 3

--- Buffer:histogram
local x = cl.linspace(0, 1, 5)
print(x:histogram{bins = 4, from = 0, to = 1}:read()[4]) --> 2

--- Buffer:random
local x = cl.buffer("float", 1000)
x:random(7, -1, 1)
local h = x:read()
print(h[1] >= -1 and h[1] < 1) --> true

--- Buffer:normal
local x = cl.buffer("float", 100000)
x:normal(7, 10, 2)
print(math.abs(x:read():summary().mean - 10) < 0.1) --> true

--- cl.random
local dice = cl.random(1000, {type = "int", lo = 1, hi = 6, seed = 7})
print(#dice:unique()) --> 6

--- cl.map
local x, y = cl.arange(1, 4), cl.buffer("float", 4, 10)
cl.map("float y = a * x + y", {a = 2, x = x, y = y}) -- in place
local z, square = cl.map([[
  private float half_x = 0.5f * x;
  float z = half_x + i;
  int square = x * x]], {x = x}) -- two new Buffers
print(y:read()[4], z:read()[2], square:read()[4]) --> 18.0 2.0 16

--- cl.arange
print(cl.arange(10, 1, -3):read()[4]) --> 1

--- cl.linspace
print(cl.linspace(0, 1, 5):read()[2]) --> 0.25

--- cl.stack
local A = cl.stack{cl.arange(1, 3), cl.arange(4, 6)}
print(A, A:read():at(2, 1)) --> Buffer int[2][3] 4

--- cl.concatenate
local x = cl.concatenate{cl.arange(1, 3), cl.arange(7, 9)}
print(x, x:read()[4]) --> Buffer int[6] 7

--- Buffer:cumsum
print(cl.arange(1, 4):cumsum():read()[4]) --> 10

--- Buffer:scan
local x = cl.buffer("int", 4, {2, 5, 3, 7})
local y = x:scan{op = "max(a, b)", identity = "INT_MIN"}
print(y:read()[3]) --> 5

--- Buffer:gather
local x = cl.arange(10, 40, 10)
print(x:gather{4, 1}:read()[1], x:gather(x // 10):read()[2]) --> 40 20

--- Buffer:scatter
local x = cl.arange(10, 40, 10)
x:scatter({4, 1}, 0)
print(x:sum()) --> 50

--- Buffer:compact
local x = cl.arange(-2, 5)
local y, n = x:compact(x:gt(2))
print(n, y:read()[1]) --> 3 3
