"""`python -m benchmarks.haocl`: the five applications of HaoCL's evaluation, on one device, on several, and natively.

`matmul`, `cfd`, `knn`, `bfs` and `spmv` are ordinary PyOpenCL programs with kernels of their own: nothing in them knows
about remotecl. Each makes its data from a seed, divides its work over the queues of a `Machine`, and has NumPy or SciPy
check the result.
"""
