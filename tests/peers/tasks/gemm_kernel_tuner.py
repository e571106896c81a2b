import numpy as np
from kernel_tuner import tune_kernel

n = 256
a, b = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
c = np.zeros((n, n), np.float32)
tune_kernel(
    "mm", "mm.cl", (n, n), [np.int32(n), a, b, c],
    {"block_size_x": [16], "block_size_y": [16]}, lang="OpenCL",
    answer=[None, None, None, a @ b], atol=1e-2,
    metrics={"GFLOPS": lambda p: 2 * n**3 / p["time"] * 1e-6})
