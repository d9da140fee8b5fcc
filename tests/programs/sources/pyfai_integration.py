"""Azimuthal integration of a detector's picture by pyFAI with OpenCL."""

import time

import numpy as np
import pyFAI
import pyFAI.detectors


def main() -> None:
    detector = pyFAI.detectors.Detector(1e-4, 1e-4, max_shape=(512, 512))
    integrator = pyFAI.AzimuthalIntegrator(dist=0.1, poni1=0.025, poni2=0.025, wavelength=1e-10, detector=detector)
    picture = np.random.default_rng(0).poisson(1000, (512, 512)).astype(np.float32)
    for _ in range(3):
        begin = time.perf_counter()
        result = integrator.integrate1d(picture, 500, unit="q_nm^-1", method=("full", "csr", "opencl"))
        seconds = time.perf_counter() - begin
    print(result.method)
    print(*(f"{value:.6g}" for value in result.intensity[::25]))
    print(f"seconds: {seconds}")


main()
