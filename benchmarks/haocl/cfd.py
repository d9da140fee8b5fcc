"""CFD: an Euler solver on an unstructured mesh, its elements divided between devices that exchange their borders."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from . import euler
from .application import Application, Plan
from .machine import Clock, Machine, even
from .mesh import Mesh, make_mesh

STEPS = 10
STAGES = 3
VARIABLES = 5
# Three states, a step, and four faces with a neighbour and a normal each.
_ELEMENT_BYTES = 4 * (3 * VARIABLES + 1 + 4 * (1 + 3))

# Neighbours on another device have numbers after this one's elements; `border` has their values, five each.
# Fluxes through faces are Rusanov's. Each element has a time step of its own, and a step has several stages.
SOURCE = """
typedef struct { float density, energy; float3 momentum; } State;

float pressure_of(const State s) {
  return (GAMMA - 1) * (s.energy - dot(s.momentum, s.momentum) / (2 * s.density));
}

// How fast something crosses a face, times its area.
float speed_through(const State s, const float3 normal) {
  const float sound = sqrt(GAMMA * pressure_of(s) / s.density);
  return fabs(dot(s.momentum, normal)) / s.density + sound * length(normal);
}

State flux_through(const State s, const float3 normal) {
  const float volume = dot(s.momentum, normal) / s.density, pressure = pressure_of(s);
  State flux;
  flux.density = s.density * volume;
  flux.momentum = s.momentum * volume + pressure * normal;
  flux.energy = (s.energy + pressure) * volume;
  return flux;
}

State own_state(__global const float* states, const size_t element, const size_t count) {
  State s;
  s.density = states[element];
  s.momentum = (float3)(states[count + element], states[2 * count + element], states[3 * count + element]);
  s.energy = states[4 * count + element];
  return s;
}

State border_state(__global const float* border, const size_t place) {
  State s;
  s.density = border[5 * place];
  s.momentum = (float3)(border[5 * place + 1], border[5 * place + 2], border[5 * place + 3]);
  s.energy = border[5 * place + 4];
  return s;
}

State far_state() {
  State s;
  s.density = FAR_DENSITY;
  s.momentum = (float3)(FAR_MOMENTUM, 0, 0);
  s.energy = FAR_ENERGY;
  return s;
}

float3 normal_of(__global const float* normals, const int face, const size_t element, const size_t count) {
  __global const float* x = normals + 3 * face * count + element;
  return (float3)(x[0], x[count], x[2 * count]);
}

// Work-item element: the longest stable step, divided by the element's volume.
__kernel void measure(const int count, __global const float* restrict states,
                      __global const float* restrict normals, __global float* restrict steps) {
  const size_t element = get_global_id(0);
  if (element >= count) return;
  const State s = own_state(states, element, count);
  float speed = 0;
  for (int face = 0; face < 4; ++face) speed += speed_through(s, normal_of(normals, face, element, count));
  steps[element] = COURANT / speed;
}

// Work-item element: one stage of a step, from the states before the step and those of the last stage.
__kernel void advance(const int count, __global const float* restrict before, __global const float* restrict now,
                      __global const float* restrict border, __global const int* restrict neighbours,
                      __global const float* restrict normals, __global const float* restrict steps,
                      const float share_of_step, __global float* restrict next) {
  const size_t element = get_global_id(0);
  if (element >= count) return;
  const State own = own_state(now, element, count);
  State change = {0, 0, (float3)(0, 0, 0)};
  for (int face = 0; face < 4; ++face) {
    const float3 normal = normal_of(normals, face, element, count);
    const int neighbour = neighbours[(size_t)face * count + element];
    if (neighbour == WALL) {
      change.momentum -= pressure_of(own) * normal;
      continue;
    }
    const State other = neighbour < 0 ? far_state()
                        : neighbour < count ? own_state(now, neighbour, count)
                                                 : border_state(border, neighbour - count);
    const State out = flux_through(own, normal), in = flux_through(other, normal);
    const float speed = fmax(speed_through(own, normal), speed_through(other, normal));
    change.density -= (out.density + in.density - speed * (other.density - own.density)) / 2;
    change.momentum -= (out.momentum + in.momentum - speed * (other.momentum - own.momentum)) / 2;
    change.energy -= (out.energy + in.energy - speed * (other.energy - own.energy)) / 2;
  }
  const State old = own_state(before, element, count);
  const float step = share_of_step * steps[element];
  next[element] = old.density + step * change.density;
  next[(size_t)count + element] = old.momentum.x + step * change.momentum.x;
  next[2 * (size_t)count + element] = old.momentum.y + step * change.momentum.y;
  next[3 * (size_t)count + element] = old.momentum.z + step * change.momentum.z;
  next[4 * (size_t)count + element] = old.energy + step * change.energy;
}

// Work-item place: a state that another device needs.
__kernel void pack(const int places, __global const float* restrict states, const int count,
                   __global const int* restrict elements, __global float* restrict packed) {
  const size_t place = get_global_id(0);
  if (place >= places) return;
  const size_t element = elements[place];
  for (int variable = 0; variable < 5; ++variable)
    packed[5 * place + variable] = states[variable * (size_t)count + element];
}
"""


class EulerSolver(Application):
    """A gas that flows past a dense blob in a cube of tetrahedra."""

    NAME = "cfd"
    PAPER_BYTES = 800_000_000

    def __init__(self, scale: float, seed: int) -> None:
        side = max(3, round((scale * self.PAPER_BYTES / (6 * _ELEMENT_BYTES)) ** (1 / 3)))
        self.mesh = make_mesh(side, seed)
        self.states = euler.first_states(len(self.mesh), side)
        self.size = {"elements": len(self.mesh), "steps": STEPS}
        self.bytes = _ELEMENT_BYTES * len(self.mesh)

    def prepare(self, machine: Machine) -> Plan:
        """See `Application`."""
        return _Plan(self, machine)

    @cached_property
    def _expected(self) -> NDArray[np.float64]:
        return euler.solve(self.mesh, self.states, STEPS, STAGES)

    def problem(self, result: NDArray[Any]) -> str:
        """See `Application`."""
        # Each stage adds a few roundings of numbers of about the largest one's size.
        allowed = 20 * STEPS * STAGES * np.finfo(np.float32).eps / 2
        errors = np.abs(result - self._expected).max(axis=1) / np.abs(self._expected).max()
        worst = errors.max() / allowed
        return "" if worst <= 1 else f"the largest error is {worst:.3g} times what rounding explains"


class _Plan(Plan):
    def __init__(self, solver: EulerSolver, machine: Machine) -> None:
        self._solver = solver
        self._machine = machine
        program = machine.build(euler.constants() + SOURCE)
        self._measure, self._advance = cl.Kernel(program, "measure"), cl.Kernel(program, "advance")
        self._pack = cl.Kernel(program, "pack")
        self._elements = even(len(solver.mesh), machine)
        self.shares = [part.stop - part.start for part in self._elements]
        self._borders = [_Border.of(solver.mesh, self._elements, share) for share in machine.all_shares]

    def run(self, clock: Clock) -> NDArray[Any]:
        solver, machine = self._solver, self._machine
        with clock.transfer():
            parts = [
                _Part(machine, share, solver, elements, self._borders[share])
                for share, elements in enumerate(self._elements)
            ]
            outboxes = [
                _Outbox(machine, owner, share, elements - self._elements[owner].start, place)
                for share, border in enumerate(self._borders)
                for owner, elements, place in border.owners
            ]
        with clock.compute():
            for _ in range(STEPS):
                self._step(parts, outboxes)
        result = np.empty_like(solver.states)
        with clock.transfer():
            pieces = [np.empty((VARIABLES, part.count), np.float32) for part in parts]
            for part, piece in zip(parts, pieces, strict=True):
                machine.read(part.share, piece, part.states)
        for elements, piece in zip(self._elements, pieces, strict=True):
            result[:, elements] = piece
        return result

    def _step(self, parts: list[_Part], outboxes: list[_Outbox]) -> None:
        machine = self._machine
        for part in parts:
            machine.launch(part.share, self._measure, part.count, part.states, part.normals, part.steps)
        now = [part.states for part in parts]
        for stage in range(STAGES):
            arrived = self._exchange(parts, outboxes, now)
            for part in parts:
                following = part.stages[stage % 2]
                machine.launch(
                    part.share, self._advance, part.count,
                    part.states, now[part.share], part.border, part.neighbours, part.normals, part.steps,
                    np.float32(1 / (STAGES - stage)), following, wait_for=arrived[part.share],
                )  # fmt: skip
                now[part.share] = following
        for part in parts:
            part.keep(now[part.share])

    def _exchange(self, parts: list[_Part], outboxes: list[_Outbox], states: list[cl.Buffer]) -> list[list[cl.Event]]:
        """Brings each device its border; returns the events to wait for, by share."""
        for box in outboxes:
            # The last content must have arrived before it is overwritten.
            box.packed = self._machine.launch(
                box.owner, self._pack, box.count,
                states[box.owner], np.int32(parts[box.owner].count), box.elements, box.states, wait_for=box.fetched,
            )  # fmt: skip
        arrived: list[list[cl.Event]] = [[] for _ in parts]
        for box in outboxes:
            state_bytes = 4 * VARIABLES
            fetched = cl.enqueue_copy(
                self._machine.queues[box.share], parts[box.share].border, box.states,
                dst_offset=box.place * state_bytes, byte_count=box.count * state_bytes, wait_for=[box.packed],
            )  # fmt: skip
            box.fetched = [fetched]
            arrived[box.share].append(fetched)
        return arrived


@dataclass(frozen=True)
class _Border:
    """The elements of other shares that a share needs, ascending; by owner: owner, elements, place of the first."""

    elements: NDArray[np.int32]
    owners: list[tuple[int, NDArray[np.int32], int]]

    @classmethod
    def of(cls, mesh: Mesh, shares: list[slice], share: int) -> _Border:
        needed = mesh.neighbours[:, shares[share]]
        outside = (needed >= 0) & ((needed < shares[share].start) | (needed >= shares[share].stop))
        elements = np.unique(needed[outside])
        owners = []
        for owner, part in enumerate(shares):
            first, last = np.searchsorted(elements, (part.start, part.stop))
            if first < last:
                owners.append((owner, elements[first:last], int(first)))
        return cls(elements, owners)


class _Part:
    """One device's elements."""

    def __init__(self, machine: Machine, share: int, solver: EulerSolver, elements: slice, border: _Border) -> None:
        self.share = share
        self.count = elements.stop - elements.start
        neighbours = solver.mesh.neighbours[:, elements]
        local = neighbours - elements.start
        outside = (neighbours >= 0) & ((local < 0) | (local >= self.count))
        local[outside] = self.count + np.searchsorted(border.elements, neighbours[outside])
        local[neighbours < 0] = neighbours[neighbours < 0]
        self.neighbours = machine.write(share, local)
        self.normals = machine.write(share, np.ascontiguousarray(solver.mesh.normals[:, :, elements]))
        self.states = machine.write(share, np.ascontiguousarray(solver.states[:, elements]))
        state_bytes = 4 * VARIABLES
        self.stages = [machine.buffer(state_bytes * self.count) for _ in range(2)]
        self.border = machine.buffer(state_bytes * len(border.elements))
        self.steps = machine.buffer(4 * self.count)

    def keep(self, states: cl.Buffer) -> None:
        """Begins the next step with these states, which are in the buffer of a stage."""
        place = next(place for place, stage in enumerate(self.stages) if stage is states)
        self.stages[place], self.states = self.states, states


class _Outbox:
    """States that the owner's device packs for that of another share, and their place in the border of that share."""

    def __init__(self, machine: Machine, owner: int, share: int, elements: NDArray[np.int32], place: int) -> None:
        self.owner = owner
        self.share = share
        self.place = place
        self.count = len(elements)
        self.elements = machine.write(owner, elements)
        self.states = machine.buffer(4 * VARIABLES * self.count)
        self.packed: cl.Event | None = None
        self.fetched: list[cl.Event] = []
