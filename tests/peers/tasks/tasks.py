#!/usr/bin/env python3
"""Tasks of tasks.lua by PyOpenCL and Kernel Tuner: tasks.py WHO TASK.

Each task does what a user would, and prints what a user would see.
SPDX-License-Identifier: MIT
"""
import sys
import time

import numpy as np

with open("mm.cl", encoding="utf-8") as f:
    SOURCE = f.read()
WRONG = SOURCE.replace("k < n", "k < n - 1")
TYPO = SOURCE.replace("B[", "b[")
CRASH = SOURCE.replace("C[i * n + j]", "C[(long)i * n * 100000000 + j]")
N = 256
A, B = (np.random.rand(N, N).astype(np.float32) for _ in range(2))


def pyopencl(task):
    import pyopencl as cl
    context = cl.create_some_context(interactive=False)
    queue = cl.CommandQueue(context)
    a, b, c = (cl.Buffer(context, cl.mem_flags.READ_WRITE
                         | cl.mem_flags.COPY_HOST_PTR, hostbuf=x)
               for x in (A, B, np.zeros_like(A)))
    source = {"wrong": WRONG, "typo": TYPO, "crash": CRASH}.get(task, SOURCE)
    mm = cl.Program(context, source).build().mm
    local = {"local": (64, 128), "uneven": (24, 24)}.get(task, (16, 16))
    mm(queue, (N, N), local, np.int32(N), a, b, c).wait()
    out = np.empty_like(A)
    cl.enqueue_copy(queue, out, c)
    print(f"it ran; C[0, 0] = {out[0, 0]:.4g}, A B has {(A @ B)[0, 0]:.4g}")


def tuner(task):
    from kernel_tuner import tune_kernel
    source = {"wrong": WRONG, "typo": TYPO, "crash": CRASH}.get(task, SOURCE)
    space = {"block_size_x": [16], "block_size_y": [16]}
    if task == "same":  # the parameter changes nothing
        space["NOTHING"] = [0, 1, 2, 3]
    elif task == "tune":
        space = {"block_size_x": [4, 8, 16, 32], "block_size_y": [1, 2, 4, 8]}
    elif task in ("local", "uneven"):
        x, y = {"local": (64, 128), "uneven": (24, 24)}[task]
        space = {"block_size_x": [x], "block_size_y": [y]}
    begin = time.perf_counter()
    _, _ = tune_kernel(
        "mm", source, (N, N), [np.int32(N), A, B, np.zeros_like(A)], space,
        lang="OpenCL", answer=[None, None, None, A @ B], atol=1e-2,
        verbose=task in ("local", "uneven"))
    print(f"seconds {time.perf_counter() - begin:.3g}")


{"pyopencl": pyopencl, "tuner": tuner}[sys.argv[1]](sys.argv[2])
