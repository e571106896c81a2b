#!/usr/bin/env python3
"""A kernel of the ladder run by PyOpenCL, a peer of scripts/bench_peers.lua.

Takes one line at a time and answers with one, as cuda.c does:
  gemm KERNEL.cl N TILE DEVICE   prepares the rung `tiled` with N x N floats on
                                 the device of that name, and checks it
  chain N DEVICE                 prepares |sqrt(2 x + y) - x| of pyopencl.array
                                 on N floats
  cg N DEVICE                    prepares conjugate gradient for the Poisson
                                 problem on N x N points, by pyopencl.array
  launch DEVICE                  prepares a kernel with three arguments on one
                                 work-item; run then tells the host's time
  run COUNT                      COUNT launches on end: the seconds from the
                                 first START to the last END of their events
SPDX-License-Identifier: MIT
"""
import os
import sys
import time

import numpy as np
import pyopencl as cl
import pyopencl.array as cla
from pyopencl import clmath

WARMUP = 10


def find(name):
    for platform in cl.get_platforms():
        for device in platform.get_devices():
            if device.name == name:
                return device
    raise RuntimeError(f"PyOpenCL finds no device '{name}'")


class Gemm:
    """C = A B by kernels/gemm/tiled.cl, on uniform random operands."""

    def __init__(self, path, n, tile, device):
        context = cl.Context([find(device)])
        self.queue = cl.CommandQueue(
            context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        rng = np.random.default_rng(1)
        a, b = (rng.random((n, n), dtype=np.float32) for _ in range(2))
        c = np.full((n, n), np.nan, np.float32)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        self.buffers = [cl.Buffer(context, flags, hostbuf=x)
                        for x in (a, b, c)]
        with open(path, encoding="utf-8") as source:
            program = cl.Program(context, source.read()).build(
                ["-DREAL=float", f"-DTILE={tile}",
                 "-I", os.path.dirname(path)])
        self.kernel = program.gemm
        size = np.int32(n)
        self.kernel.set_args(size, size, size, np.float32(1), self.buffers[0],
                             size, self.buffers[1], size, np.float32(0),
                             self.buffers[2], size)
        edge = (n + tile - 1) // tile * tile
        self.range = (edge, edge), (tile, tile)
        self.run(WARMUP)
        cl.enqueue_copy(self.queue, c, self.buffers[2]).wait()
        truth = a.astype(np.float64) @ b.astype(np.float64)
        self.error = float(np.max(np.abs(c - truth) / truth))
        if not self.error <= 1e-6 * n:  # also where it is NaN
            raise RuntimeError(f"wrong: error {self.error:.1e}")

    def run(self, count):
        events = [cl.enqueue_nd_range_kernel(self.queue, self.kernel,
                                             *self.range)
                  for _ in range(count)]
        cl.wait_for_events(events)
        return (events[-1].profile.end - events[0].profile.start) * 1e-9


class Launch:
    """The host's time of a launch: three arguments set, and enqueued."""

    SOURCE = """kernel void touch(float a, global float *x, global float *y) {
      if (a < 0) y[0] = x[0];
    }"""

    def __init__(self, device):
        context = cl.Context([find(device)])
        self.queue = cl.CommandQueue(
            context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self.kernel = cl.Program(context, self.SOURCE).build().touch
        self.kernel.set_scalar_arg_dtypes([np.float32, None, None])
        self.buffers = [cl.Buffer(context, cl.mem_flags.READ_WRITE, 4096)
                        for _ in range(2)]
        self.run(WARMUP)

    def run(self, count):
        kernel, queue, (x, y) = self.kernel, self.queue, self.buffers
        begin = time.perf_counter()
        for _ in range(count):
            kernel(queue, (1,), (1,), 1, x, y)
        spent = time.perf_counter() - begin
        queue.finish()
        return spent


class Chain:
    """A chain of operations on arrays, timed by the host's clock."""

    def __init__(self, n, device):
        context = cl.Context([find(device)])
        self.queue = cl.CommandQueue(context)
        self.x, self.y = (
            cla.to_device(self.queue, np.full(n, value, np.float32))
            for value in (0.5, 0.25))
        self.run(WARMUP)

    def run(self, count):
        begin = time.perf_counter()
        for _ in range(count):
            abs(clmath.sqrt(2 * self.x + self.y) - self.x)
        self.queue.finish()
        return time.perf_counter() - begin


class Cg:
    """Conjugate gradient by arrays and a product of diagonals, timed by the
    host's clock."""

    SOURCE = """kernel void spmv(int n, int edge, global const float *values,
        global const float *x, global float *y) {
      const int i = get_global_id(0), at[] = {-edge, -1, 0, 1, edge};
      float sum = 0;
      for (int d = 0; d < 5; d++) {
        const int j = i + at[d];
        if (j >= 0 && j < n) sum += values[d * n + i] * x[j];
      }
      y[i] = sum;
    }"""

    def __init__(self, edge, device):
        context = cl.Context([find(device)])
        self.queue = cl.CommandQueue(context)
        self.n, self.edge = edge * edge, edge
        values = np.full((5, edge, edge), -1, np.float32)
        values[2] = 4
        values[1, :, 0] = values[3, :, -1] = 0
        self.values = cla.to_device(self.queue, values)
        self.kernel = cl.Program(context, self.SOURCE).build().spmv
        self.b = cla.to_device(
            self.queue, values.sum(0, dtype=np.float32).reshape(self.n))
        self.run(WARMUP)

    def run(self, count):
        b, q = self.b, cla.empty_like(self.b)
        self.queue.finish()
        begin = time.perf_counter()
        x, r, p = cla.zeros_like(b), b.copy(), b.copy()
        rr = cla.dot(r, r).get()
        for _ in range(count):
            self.kernel(self.queue, (self.n,), None, np.int32(self.n),
                        np.int32(self.edge), self.values.data, p.data, q.data)
            alpha = rr / cla.dot(p, q).get()
            x += alpha * p
            r -= alpha * q
            before, rr = rr, cla.dot(r, r).get()
            p = r + rr / before * p
        self.queue.finish()
        return time.perf_counter() - begin


def main():
    subject = None
    print(f"ok PyOpenCL {cl.VERSION_TEXT}", flush=True)
    for line in sys.stdin:
        words = line.split(None, 4)
        try:
            if len(words) == 5 and words[0] == "gemm":
                subject = Gemm(words[1], int(words[2]), int(words[3]),
                               words[4].strip())
                print(f"ok error {subject.error:.1e}", flush=True)
            elif len(words) >= 2 and words[0] == "launch":
                subject = Launch(line.split(None, 1)[1].strip())
                print("ok", flush=True)
            elif len(words) >= 3 and words[0] == "chain":
                subject = Chain(int(words[1]), line.split(None, 2)[2].strip())
                print("ok", flush=True)
            elif len(words) >= 3 and words[0] == "cg":
                subject = Cg(int(words[1]), line.split(None, 2)[2].strip())
                print("ok by pyopencl.array", flush=True)
            elif len(words) == 2 and words[0] == "run" and subject:
                print(f"{subject.run(int(words[1])):.9g}", flush=True)
            else:
                print("error what is that?", flush=True)
        except (RuntimeError, OSError, ImportError, cl.Error) as e:
            lines = str(e).strip().split("\n")
            told = [x for x in lines if "error:" in x] or lines
            print("error", told[0], flush=True)


if __name__ == "__main__":
    main()
