import numpy as np
import pyopencl as cl

n = 256
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(
    context, properties=cl.command_queue_properties.PROFILING_ENABLE)
a, b = (np.random.rand(n, n).astype(np.float32) for _ in range(2))
c = np.full((n, n), np.nan, np.float32)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
A, B, C = (cl.Buffer(context, flags, hostbuf=x) for x in (a, b, c))
with open("mm.cl") as source:
    mm = cl.Program(context, source.read()).build().mm
times = []
for _ in range(50):
    event = mm(queue, (n, n), (16, 16), np.int32(n), A, B, C)
    event.wait()
    times.append((event.profile.end - event.profile.start) * 1e-6)
cl.enqueue_copy(queue, c, C)
np.testing.assert_allclose(c, a @ b, rtol=1e-4)
ms = np.median(times)
print(f"{ms:.3g} ms  {2 * n**3 / ms * 1e-6:.3g} GFLOPS")
