"""Whole programs as benchmarks, run in the checkout: `python -m benchmarks.haocl`, `.dnn` or `.ar`."""
