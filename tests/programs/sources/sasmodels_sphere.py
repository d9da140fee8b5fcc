"""Scattering of spheres and cylinders by sasmodels with OpenCL."""

import time

import numpy as np
from sasmodels import core, direct_model
from sasmodels.data import empty_data1D


def main() -> None:
    data = empty_data1D(np.logspace(-3, 0, 200))
    for name, values in (("sphere", {"radius": 120}), ("cylinder", {"radius": 40, "length": 400, "radius_pd": 0.1})):
        model = core.load_model(name, dtype="single", platform="ocl")
        call = direct_model.DirectModel(data, model)
        call(**values)
        begin = time.perf_counter()
        for _ in range(20):
            intensity = call(**values)
        seconds = time.perf_counter() - begin
        print(type(model).__name__, name, *(f"{value:.4g}" for value in intensity[::40]))
    print(f"seconds: {seconds}")


main()
