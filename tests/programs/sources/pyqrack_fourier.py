"""A quantum Fourier transform of 12 qubits, simulated by Qrack."""

import time

from pyqrack import QrackSimulator

QUBITS = 12


def main() -> None:
    simulator = QrackSimulator(QUBITS)
    for qubit in range(0, QUBITS, 2):
        simulator.x(qubit)
    begin = time.perf_counter()
    for _ in range(5):
        simulator.qft(list(range(QUBITS)))
        simulator.iqft(list(range(QUBITS)))
    probabilities = [simulator.prob(qubit) for qubit in range(QUBITS)]
    print(f"seconds: {time.perf_counter() - begin}")
    print(*(f"{probability:.2f}" for probability in probabilities))
    simulator.qft(list(range(QUBITS)))
    print(*(f"{simulator.prob(qubit):.3f}" for qubit in range(QUBITS)))


main()
