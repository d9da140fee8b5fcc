"""Spiking neurons that follow a sine, simulated by nengo-ocl."""

import time

import nengo
import nengo_ocl
import numpy as np


def main() -> None:
    with nengo.Network(seed=1) as network:
        wave = nengo.Node(lambda t: np.sin(8 * t))
        first, second = (nengo.Ensemble(60, 1, seed=seed) for seed in (2, 3))
        nengo.Connection(wave, first)
        nengo.Connection(first, second, function=lambda x: x**2)
        probe = nengo.Probe(second, synapse=0.03)
    with nengo_ocl.Simulator(network, progress_bar=False) as simulator:
        simulator.run_steps(100)
        begin = time.perf_counter()
        simulator.run_steps(200)
        print(f"seconds: {time.perf_counter() - begin}")
        print(*(f"{value:.4f}" for value in simulator.data[probe][::50, 0]))


main()
