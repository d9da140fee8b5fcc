"""A circuit that entangles 16 qubits, simulated by Qrack."""

import time

from pyqrack import QrackSimulator

QUBITS = 16


def main() -> None:
    simulator = QrackSimulator(QUBITS)
    begin = time.perf_counter()
    for layer in range(4):
        for qubit in range(QUBITS):
            simulator.u(qubit, 0.3 + 0.1 * qubit, 0.2 * layer, 0.7)
        for qubit in range(layer % 2, QUBITS - 1, 2):
            simulator.mcx([qubit], qubit + 1)
    probabilities = [simulator.prob(qubit) for qubit in range(QUBITS)]
    print(f"seconds: {time.perf_counter() - begin}")
    print(*(f"{probability:.4f}" for probability in probabilities))


main()
