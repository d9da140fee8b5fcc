"""Simulates a box of water with OpenMM's OpenCL platform: a particle mesh, constraints, reproducible forces."""

import sys
import time

import openmm
from openmm import app, unit

DEVICES, SIZE_NM, STEPS = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])


def main() -> None:
    field = app.ForceField("tip3p.xml")
    model = app.Modeller(app.Topology(), [] * unit.nanometer)
    model.addSolvent(field, boxSize=openmm.Vec3(SIZE_NM, SIZE_NM, SIZE_NM) * unit.nanometer)
    system = field.createSystem(model.topology, nonbondedMethod=app.PME, nonbondedCutoff=0.9 * unit.nanometer)
    integrator = openmm.VerletIntegrator(0.001 * unit.picosecond)
    platform = openmm.Platform.getPlatformByName("OpenCL")
    choice = {"DeviceIndex": DEVICES, "Precision": "single"}
    context = openmm.Context(system, integrator, platform, choice)
    context.setPositions(model.positions)
    context.setVelocitiesToTemperature(300 * unit.kelvin, 1)
    energy = context.getState(getEnergy=True).getPotentialEnergy()
    print(f"{system.getNumParticles()} atoms, {energy.value_in_unit(unit.kilojoule_per_mole):.4g} kJ/mol")
    integrator.step(2 * STEPS)
    state = context.getState(getEnergy=True)
    energy = state.getPotentialEnergy() + state.getKineticEnergy()
    print(f"{energy.value_in_unit(unit.kilojoule_per_mole):.3g} kJ/mol after {2 * STEPS} steps")
    begin, rounds = time.perf_counter(), 0
    while time.perf_counter() - begin < 0.5:  # a GPU needs milliseconds for a round
        integrator.step(STEPS)
        context.getState(getEnergy=True)
        rounds += 1
    print(f"seconds: {(time.perf_counter() - begin) / rounds}")


main()
