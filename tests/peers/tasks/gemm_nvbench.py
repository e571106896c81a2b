import sys
import cuda.bench as bench
import cupy as cp

n = 256


def gemm(state):
    a, b = (cp.random.rand(n, n, dtype=cp.float32) for _ in range(2))
    c = cp.full((n, n), cp.nan, cp.float32)
    with open("mm.cu") as source:
        mm = cp.RawKernel(source.read(), "mm")

    def launch(launch):
        with cp.cuda.ExternalStream(launch.get_stream().addressof()):
            mm((n // 16, n // 16), (16, 16), (cp.int32(n), a, b, c))
    state.add_element_count(2 * n**3, "flop")
    state.exec(launch)
    cp.cuda.Device().synchronize()
    cp.testing.assert_allclose(c, a @ b, rtol=1e-4)


bench.register(gemm)
bench.run_all_benchmarks(sys.argv)
