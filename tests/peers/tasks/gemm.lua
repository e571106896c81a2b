local n = 256
local A, B, C = matrix.random(n), matrix.random(n), matrix.zeros(n)
local mm = cl.build("mm.cl").mm:range({n, n}, {16, 16})
print(bench(mm, {args = {n, A, B, C}, flop = 2 * n^3, expect = gemm(A, B)}))
