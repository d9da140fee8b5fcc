"""An elliptical drop of particles, by PySPH on OpenCL."""

import sys
import time

import numpy as np
from pysph.examples.elliptical_drop import EllipticalDrop


def main() -> None:
    sys.argv = [
        "drop",
        "--opencl",
        "--nx",
        "12",
        "--tf",
        "0.0005",
        "--fname",
        "drop",
        "-d",
        "out",
        "--no-adaptive-timestep",
    ]
    begin = time.perf_counter()
    drop = EllipticalDrop()
    drop.run()
    print(f"seconds: {time.perf_counter() - begin}")
    particles = drop.solver.particles[0]
    particles.gpu.pull("x", "y", "u", "v")
    print(len(particles.x), f"{np.abs(particles.x).sum():.4g} {np.abs(particles.v).sum():.3g}")


main()
