"""A pulse of ground-penetrating radar in a small domain, by gprMax's OpenCL solver."""

import subprocess
import sys
import time
from pathlib import Path

import h5py

MODEL = """#title: pulse
#domain: 0.06 0.06 0.06
#dx_dy_dz: 0.002 0.002 0.002
#time_window: 6e-10
#material: 6 0.01 1 0 soil
#box: 0 0 0 0.06 0.06 0.03 soil
#waveform: ricker 1 2.5e9 pulse
#hertzian_dipole: z 0.03 0.03 0.045 pulse
#rx: 0.04 0.03 0.045
"""


def main() -> None:
    Path("pulse.in").write_text(MODEL)
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-m", "gprMax", "pulse.in", "-opencl"], check=True, stdout=subprocess.DEVNULL)
    print(f"seconds: {time.perf_counter() - begin}")
    with h5py.File("pulse.h5") as file:
        field = file["rxs/rx1/Ez"][:]
    print(len(field), *(f"{value:.4g}" for value in field[:: len(field) // 6]))


main()
