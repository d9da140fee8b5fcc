"""The configurations: which stage runs where, and what travels between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyopencl as cl
from numpy.typing import NDArray

from remotecl import Connection, RemoteCLError, overview, server_of, set_content_size

from . import cloud
from .stages import Draw, Launch, Reconstruct, Shape, Sort, enqueue
from .video import Decoder

LOCAL, REMOTE_SORT, TWO_SERVERS, TWO_SERVERS_CONTENT, ONE_SERVER, COMPLETE = CONFIGURATIONS = (
    "local", "remote-sort", "two-servers", "two-servers-content", "one-server", "complete",
)  # fmt: skip
# The largest packet of a picture.
_PACKET_BYTES = 1 << 20
_FLAGS = cl.mem_flags.READ_WRITE
# A frame is expected to have up to so many times the points of the frame before.
_RESERVE = 1.05

Image = NDArray[np.uint16]
Pose = NDArray[np.float32]


class Pipeline(ABC):
    """Frames in flight: `begin` starts one, `end` waits for the oldest one and returns its image.

    Attributes:
        device: the one that sorts the points.
        decoder: the client's, if it has one.
    """

    device: cl.Device
    decoder: Decoder | None = None

    @abstractmethod
    def begin(self, pose: Pose) -> None:
        """Starts a frame that the viewer sees from `pose`."""

    @abstractmethod
    def end(self) -> Image:
        """Waits for the oldest frame and returns its image, which is valid until its slot is used again."""

    def close(self) -> None:
        """Ends the client's decoder."""
        if self.decoder is not None:
            self.decoder.close()


class _Slot:
    """The buffers of one frame, and what must stay alive until it has ended."""

    def __init__(self, context: cl.Context, shape: Shape) -> None:
        self.picture, self.points, self.content, self.pose, self.order, self.packed = (
            cl.Buffer(context, _FLAGS, size)
            for size in (
                cloud.picture_bytes(shape.patch), shape.points_bytes, 8, shape.pose_bytes, shape.order_bytes,
                shape.image_bytes,
            )
        )  # fmt: skip
        self.launches: dict[type, list[Launch]] = {}
        self.kept: list[object] = []
        self.done: cl.Event | None = None
        self.order_host = np.empty(1 + shape.capacity, np.uint32)
        self.image_host = np.empty((shape.pixels, shape.pixels), np.uint16)

    def write(self, queue: cl.CommandQueue, buffer: cl.Buffer, array: NDArray[np.generic]) -> cl.Event:
        """Enqueues the write, and keeps the array alive."""
        event = cl.enqueue_copy(queue, buffer, array, is_blocking=False)
        self.kept.append(event)
        return event

    def wait(self) -> None:
        """Waits until the last bytes of the frame have reached the client."""
        assert self.done is not None
        self.done.wait()


class Client:
    """What the client does itself, on a native device: all stages of some frames, in one in-order queue."""

    def __init__(self, device: cl.Device, shape: Shape, file: Path, slots: int) -> None:
        context = cl.Context([device])
        self.shape = shape
        self.queue = cl.CommandQueue(context, device)
        self.decoder = Decoder(file, cloud.picture_bytes(shape.patch))
        reconstruct, sort = Reconstruct(context, device, shape), Sort(context, device, shape)
        draw = Draw(context, device, shape)
        self.slots = [_Slot(context, shape) for _ in range(slots)]
        for slot in self.slots:
            slot.launches[Reconstruct] = reconstruct.prepare(slot.picture, slot.points, slot.content)
            slot.launches[Sort] = sort.prepare(slot.points, slot.content, slot.pose, slot.order)
            slot.launches[Draw] = draw.prepare(slot.points, slot.order, slot.pose, slot.packed)

    def decode(self, slot: _Slot, pose: Pose) -> None:
        """Decodes the next picture, and reconstructs its points."""
        slot.kept = []
        slot.write(self.queue, slot.pose, pose)
        slot.write(self.queue, slot.picture, np.frombuffer(self.decoder.picture(), np.uint8))
        enqueue(self.queue, slot.launches[Reconstruct])

    def draw(self, slot: _Slot) -> Image:
        """Draws the points in their order."""
        enqueue(self.queue, slot.launches[Draw])
        cl.enqueue_copy(self.queue, slot.image_host, slot.packed)
        return slot.image_host


class Local(Pipeline):
    """The client does everything."""

    def __init__(self, client: Client) -> None:
        self._client, self.decoder, self.device = client, client.decoder, client.queue.device
        self._free, self._begun = deque(client.slots), deque[_Slot]()

    def begin(self, pose: Pose) -> None:
        """As in `Pipeline`."""
        slot = self._free.popleft()
        self._client.decode(slot, pose)
        enqueue(self._client.queue, slot.launches[Sort])
        self._begun.append(slot)

    def end(self) -> Image:
        """As in `Pipeline`."""
        slot = self._begun.popleft()
        self._free.append(slot)
        return self._client.draw(slot)


class RemoteSort(Pipeline):
    """The client decodes and draws; its points, all that there may be, go to a server, and their order comes back."""

    def __init__(self, client: Client, connection: Connection) -> None:
        self._client, self.decoder, shape = client, client.decoder, client.shape
        self.device = _compiling(connection, connection.servers[0])
        context = cl.Context([self.device])
        self._queue = cl.CommandQueue(context, self.device)
        sort = Sort(context, self.device, shape)
        self._free, self._begun = deque[tuple[_Slot, _Slot]](), deque[tuple[_Slot, _Slot]]()
        for own in client.slots:
            slot = _Slot(context, shape)
            slot.launches[Sort] = sort.prepare(slot.points, slot.content, slot.pose, slot.order)
            self._free.append((own, slot))

    def begin(self, pose: Pose) -> None:
        """As in `Pipeline`."""
        own, slot = self._free.popleft()
        shape, queue = self._client.shape, self._client.queue
        self._client.decode(own, pose)
        points, content = np.empty(shape.points_bytes, np.uint8), np.empty(1, np.uint64)
        cl.enqueue_copy(queue, points, own.points, is_blocking=False)
        cl.enqueue_copy(queue, content, own.content)
        slot.kept = []
        for buffer, array in ((slot.pose, pose), (slot.points, points), (slot.content, content)):
            slot.write(self._queue, buffer, array)
        enqueue(self._queue, slot.launches[Sort])
        slot.done = cl.enqueue_copy(self._queue, slot.order_host, slot.order, is_blocking=False)
        self._begun.append((own, slot))

    def end(self) -> Image:
        """As in `Pipeline`."""
        own, slot = self._begun.popleft()
        self._free.append((own, slot))
        slot.wait()
        own.write(self._client.queue, own.order, slot.order_host)
        return self._client.draw(own)


class Remote:
    """What servers do: one reads, decodes and reconstructs, and one sorts and may draw; they may be the same.

    Args:
        connection: to the servers, in this order.
        shape: of the data.
        source: what `remotecl.read` gets packets from.
        codec: what `remotecl.decode` takes.
        slots: how many frames may be on their way.
        has_content_size: whether only the points that there are travel.
        draws: whether it draws.
    """

    def __init__(
        self,
        connection: Connection,
        shape: Shape,
        source: str,
        codec: str,
        slots: int,
        *,
        has_content_size: bool,
        draws: bool,
    ) -> None:
        first, last = connection.servers[0], connection.servers[-1]
        streams, video = _custom(first, "remotecl streams"), _custom(first, "remotecl FFmpeg")
        decoding, sorting = _compiling(connection, first), _compiling(connection, last)
        context = cl.Context(list(dict.fromkeys((streams, video, decoding, sorting))))
        self.shape, self.has_content_size, self._draws = shape, has_content_size, draws
        self._streams, self._video = cl.CommandQueue(context, streams), cl.CommandQueue(context, video)
        self._decoding, self.queue = cl.CommandQueue(context, decoding), cl.CommandQueue(context, sorting)
        read = cl.create_program_with_built_in_kernels(context, [streams], "remotecl.read")
        decode = cl.create_program_with_built_in_kernels(context, [video], "remotecl.decode")
        names = [_text(context, source), _text(context, codec)]
        reconstruct = Reconstruct(context, decoding, shape)
        sort, draw = Sort(context, sorting, shape), Draw(context, sorting, shape)
        self.slots = []
        for _ in range(slots):
            slot = _Slot(context, shape)
            packet, packet_size = cl.Buffer(context, _FLAGS, _PACKET_BYTES), cl.Buffer(context, _FLAGS, 8)
            set_content_size(packet, packet_size)
            if has_content_size:
                set_content_size(slot.points, slot.content)
            slot.launches = {
                Reconstruct: reconstruct.prepare(slot.picture, slot.points, slot.content),
                Sort: sort.prepare(slot.points, slot.content, slot.pose, slot.order),
                Draw: draw.prepare(slot.points, slot.order, slot.pose, slot.packed),
                _Read: [_built_in(read, "remotecl.read", names[0], packet, packet_size, None)],
                Decoder: [
                    _built_in(decode, "remotecl.decode", names[1], packet, packet_size, slot.picture, None, None)
                ],
            }
            self.slots.append(slot)

    def begin(self, slot: _Slot, pose: Pose) -> None:
        """Enqueues all of a frame, up to the order of its points or its image."""
        slot.kept = []
        slot.write(self.queue, slot.pose, pose)
        packet = enqueue(self._streams, slot.launches[_Read])
        picture = enqueue(self._video, slot.launches[Decoder], [packet])
        points = enqueue(self._decoding, slot.launches[Reconstruct], [picture])
        enqueue(self.queue, slot.launches[Sort], [points])
        if self._draws:
            enqueue(self.queue, slot.launches[Draw])
            slot.done = cl.enqueue_copy(self.queue, slot.image_host, slot.packed, is_blocking=False)


class _Read:
    """Stands for the launch that reads a packet."""


class RemoteOrder(Pipeline):
    """Servers decode and sort; the client decodes the same video, and draws the points in the order that comes."""

    def __init__(self, client: Client, remote: Remote) -> None:
        self._client, self._remote, self.decoder = client, remote, client.decoder
        self.device = remote.queue.device
        self._free = deque(zip(client.slots, remote.slots, strict=True))
        self._begun = deque[tuple[_Slot, _Slot]]()
        # How many entries of an order are fetched before their number is known.
        self._expected = 1 + client.shape.capacity

    def begin(self, pose: Pose) -> None:
        """As in `Pipeline`."""
        own, slot = self._free.popleft()
        self._remote.begin(slot, pose)
        expected = slot.order_host[: self._expected]
        slot.done = cl.enqueue_copy(self._remote.queue, expected, slot.order, is_blocking=False)
        slot.kept.append(expected)
        self._remote.queue.flush()
        self._client.decode(own, pose)
        self._client.queue.flush()
        self._begun.append((own, slot))

    def end(self) -> Image:
        """As in `Pipeline`."""
        own, slot = self._begun.popleft()
        self._free.append((own, slot))
        slot.wait()
        have, need = len(slot.kept.pop()), 1 + int(slot.order_host[0])  # type: ignore[arg-type]
        if need > have:
            cl.enqueue_copy(self._remote.queue, slot.order_host[have:need], slot.order, src_offset=4 * have)
        if self._remote.has_content_size:
            self._expected = min(int(_RESERVE * need), 1 + self._client.shape.capacity)
        own.write(self._client.queue, own.order, slot.order_host[:need])
        return self._client.draw(own)


class RemoteImage(Pipeline):
    """A server does everything; the client sends where its viewer is, and gets what that sees."""

    def __init__(self, remote: Remote) -> None:
        self._remote, self.device = remote, remote.queue.device
        self._free, self._begun = deque(remote.slots), deque[_Slot]()

    def begin(self, pose: Pose) -> None:
        """As in `Pipeline`."""
        slot = self._free.popleft()
        self._remote.begin(slot, pose)
        self._remote.queue.flush()
        self._begun.append(slot)

    def end(self) -> Image:
        """As in `Pipeline`."""
        slot = self._begun.popleft()
        self._free.append(slot)
        slot.wait()
        return slot.image_host


def _built_in(program: cl.Program, name: str, *arguments: cl.Buffer | None) -> Launch:
    kernel = cl.Kernel(program, name)
    kernel.set_args(*arguments)
    return Launch(kernel, 1, 1, arguments)


def _text(context: cl.Context, text: str) -> cl.Buffer:
    data = np.frombuffer(text.encode() + b"\0", np.uint8).copy()
    return cl.Buffer(context, cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR, hostbuf=data)


def _compiling(connection: Connection, server: str) -> cl.Device:
    devices = [device for device in connection.devices if server_of(device) == server]
    found = next((device for device in devices if not device.type & cl.device_type.CUSTOM), None)
    if found is None:
        raise RemoteCLError(f"{server} has no device that compiles kernels")
    return found


def _custom(server: str, name: str) -> cl.Device:
    found = next((one for one in overview().devices if one.name == name and server_of(one) == server), None)
    if found is None:
        raise RemoteCLError(f"{server} has no device {name!r}; start it with --streams")
    return found


def ordered(names: Sequence[str]) -> list[str]:
    """The names without repetitions, in the order of `CONFIGURATIONS`."""
    return [name for name in CONFIGURATIONS if name in names]
