"""A kernel with a template and a static size by grunnur."""

import time

import numpy as np
from grunnur import API, Array, Context, Program, Queue

SOURCE = """
KERNEL void multiply(GLOBAL_MEM int *to, GLOBAL_MEM int *from, int by) {
  const int i = get_global_id(0);
  to[i] = from[i] * by;
}
"""


def main() -> None:
    context = Context.from_devices([API.opencl().platforms[0].devices[0]])
    queue = Queue(context.device)
    program = Program([context.device], SOURCE)
    host = np.arange(1 << 14, dtype=np.int32)
    data = Array.from_host(queue, host)
    result = Array.empty(context.device, host.shape, host.dtype)
    begin = time.perf_counter()
    for step in range(100):
        program.kernel.multiply(queue, host.shape, None, result, data, np.int32(step))
    there = result.get(queue)
    print(f"seconds: {time.perf_counter() - begin}")
    print((there == host * 99).all())


main()
