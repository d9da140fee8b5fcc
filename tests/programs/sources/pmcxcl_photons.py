"""Photons in a cube of tissue, by Monte Carlo eXtreme."""

import sys
import time

import numpy as np
import pmcxcl


def main() -> None:
    volume = np.ones((30, 30, 30), np.uint8)
    settings = {
        "nphoton": 100000, "vol": volume, "tstart": 0, "tend": 5e-9, "tstep": 5e-9, "srcpos": [15, 15, 0],
        "srcdir": [0, 0, 1], "prop": [[0, 0, 1, 1], [0.005, 1, 0.01, 1.37]], "seed": 1, "autopilot": 1,
        "gpuid": sys.argv[1], "issavedet": 0,
    }  # fmt: skip
    begin = time.perf_counter()
    result = pmcxcl.run(settings)
    print(f"seconds: {time.perf_counter() - begin}")
    print(f"absorbed {result['stat']['energyabs'] / result['stat']['energytot']:.3g}")


main()
