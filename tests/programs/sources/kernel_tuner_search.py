"""kernel-tuner tries three sizes of work-groups of a vector addition, and checks each result."""

import time

import kernel_tuner
import numpy as np

SOURCE = """
kernel void add(global float* c, global const float* a, global const float* b, int n) {
  int i = get_group_id(0) * block_size_x + get_local_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
"""


def main() -> None:
    count = 1 << 18
    a, b = np.random.default_rng(0).standard_normal((2, count)).astype(np.float32)
    begin = time.perf_counter()
    results, _ = kernel_tuner.tune_kernel(
        "add", SOURCE, count, [np.zeros_like(a), a, b, np.int32(count)], {"block_size_x": [32, 64, 128]},
        answer=[a + b, None, None, None], lang="OpenCL", quiet=True,
    )  # fmt: skip
    print(f"seconds: {time.perf_counter() - begin}")
    print(*(result["block_size_x"] for result in results), all(result["time"] > 0 for result in results))


main()
