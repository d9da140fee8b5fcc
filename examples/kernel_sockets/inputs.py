"""Where the bytes of an example come from: from this program, or from files on the servers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import common
import numpy as np
import pyopencl as cl

import remotecl

PIECE = 16 << 20  # bytes that are read at a time
NAMES_MAX = 60  # A program has at most 64 streams.
GAP = b"\n"


class Input(Protocol):
    """Bytes of which each device gets a part."""

    reader: str

    def sources(self, devices: Sequence[cl.Device]) -> list[cl.Device]:
        """The devices that read them, which the devices' context must have, too."""

    def size(self, sites: Sequence[common.Site]) -> int:
        """How many there are."""

    def part(self, site: common.Site, begin: int, end: int, padding: int = 0) -> cl.Buffer:
        """Those from `begin` to `end` in a buffer there, and so many more that begin no word."""


class Upload:
    """Bytes that this program has and sends."""

    reader = "the client"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def sources(self, devices: Sequence[cl.Device]) -> list[cl.Device]:
        """None: no server reads."""
        return []

    def size(self, sites: Sequence[common.Site]) -> int:
        """How many bytes there are."""
        return len(self.content)

    def part(self, site: common.Site, begin: int, end: int, padding: int = 0) -> cl.Buffer:
        """Sends them."""
        return site.buffer(self.content[begin:end] + GAP * max(padding, 1))


class ServerFiles:
    """Files that every server has under the same paths, with a line end between them.

    Each server reads its part by itself: nothing of it passes this program.
    """

    reader = "the servers"

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths = [str(path.absolute()) for path in paths]
        self.sizes: list[int] = []

    def sources(self, devices: Sequence[cl.Device]) -> list[cl.Device]:
        """One for each server."""
        found = {remotecl.server_of(one): one for one in remotecl.overview().devices if one.name == "remotecl streams"}
        servers = dict.fromkeys(remotecl.server_of(device) for device in devices)
        if not found.keys() >= servers.keys():
            raise SystemExit("a server has no device that reads files: it needs --streams --plugin-allow read:PATH")
        return [found[server] for server in servers]

    def size(self, sites: Sequence[common.Site]) -> int:
        """How many bytes the files have, with those between them."""
        known = [[reader.size(path) for path in self.paths] for reader in map(self._reader, sites)]
        if any(sizes != known[0] for sizes in known):
            raise SystemExit("the servers have different files under the same path")
        self.sizes = known[0]
        return sum(self.sizes) + len(GAP) * (len(self.sizes) - 1)

    def part(self, site: common.Site, begin: int, end: int, padding: int = 0) -> cl.Buffer:
        """Has the server read them."""
        room = end - begin + max(padding, 1)
        buffer = cl.Buffer(site.context, cl.mem_flags.READ_WRITE, room)
        cl.enqueue_fill_buffer(site.queue, buffer, GAP, 0, room)
        reader, at = self._reader(site), 0
        for path, size in zip(self.paths, self.sizes, strict=True):
            first, last = max(begin, at), min(end, at + size)
            if first < last:
                reader.read(path, first - at, last - at, buffer, first - begin)
            at += size + len(GAP)
        reader.finish()
        site.queue.finish()
        return buffer

    def _reader(self, site: common.Site) -> Reader:
        return Reader(site, self.sources([site.device])[0])


class Reader:
    """The device of one server that reads files, and a queue of it."""

    def __init__(self, site: common.Site, source: cl.Device) -> None:
        self.site, self.source = site, source
        self.queue = cl.CommandQueue(site.context, source)
        self.program: cl.Program | None = None
        self.names: set[str] = set()
        self.calls: list[cl.Event] = []
        self.sizes: list[tuple[cl.Buffer, int]] = []  # what came and what should have

    def size(self, path: str) -> int:
        """The bytes of a file."""
        size = self.site.zeros(1, np.uint64)
        self._call("remotecl.size", f"file:{path}", size)
        self.finish()
        return int(self.site.read(size, np.uint64)[0])

    def read(self, path: str, begin: int, end: int, target: cl.Buffer, at: int) -> None:
        """Begins to put this part of a file into a buffer, at `at`."""
        name = f"file:{path}?offset={begin}&bytes={end - begin}&records={PIECE}"
        if name in self.names or len(self.names) >= NAMES_MAX:  # A stream that has ended stays so in its program.
            self.finish()
        self.names.add(name)
        piece = cl.Buffer(self.site.context, cl.mem_flags.READ_WRITE, min(PIECE, end - begin))
        for done in range(0, end - begin, PIECE):
            count, size = min(PIECE, end - begin - done), self.site.zeros(1, np.uint64)
            came = self._call("remotecl.read", name, piece, size, None)
            copied = cl.enqueue_copy(
                self.site.queue, target, piece, byte_count=count, dst_offset=at + done, wait_for=[came]
            )
            cl.enqueue_barrier(self.queue, wait_for=[copied])  # before the next piece
            self.sizes.append((size, count))

    def finish(self) -> None:
        """Waits for all that has begun, and closes the streams."""
        if not self.calls:
            return
        try:
            cl.wait_for_events(self.calls)
        except cl.Error:
            raise SystemExit(f"{remotecl.server_of(self.source)} could not read a file: {self._why()}") from None
        if any(int(self.site.read(size, np.uint64)[0]) != wanted for size, wanted in self.sizes):
            raise SystemExit(f"{remotecl.server_of(self.source)}: a file has become shorter")
        self.program, self.names, self.calls, self.sizes = None, set(), [], []

    def _call(self, kernel: str, name: str, *arguments: cl.Buffer | None) -> cl.Event:
        if self.program is None:
            self.program = cl.create_program_with_built_in_kernels(
                self.site.context, [self.source], "remotecl.read;remotecl.size;remotecl.error"
            )
        one, text = cl.Kernel(self.program, kernel), self.site.buffer(name.encode() + b"\0")
        one.set_args(text, *arguments)
        self.calls.append(cl.enqueue_nd_range_kernel(self.queue, one, (1,), None))
        return self.calls[-1]

    def _why(self) -> str:
        text = self.site.zeros(600, np.uint8)
        one = cl.Kernel(self.program, "remotecl.error")
        one.set_args(text)
        cl.enqueue_nd_range_kernel(self.queue, one, (1,), None).wait()
        return bytes(self.site.read(text, np.uint8)).split(b"\0")[0].decode()


def add_reader_option(parser: argparse.ArgumentParser) -> None:
    """Adds --read-by."""
    parser.add_argument(
        "--read-by",
        choices=["server", "client"],
        help="who reads the files: the servers, where each has them under the same path, or this program, which sends "
        "the bytes (default: servers that are started here, and this program for those of --servers)",
    )


def is_for_servers(options: argparse.Namespace) -> bool:
    """Whether servers are to read the files."""
    return (options.read_by or ("client" if options.servers else "server")) == "server"


def content(paths: Sequence[Path]) -> bytes:
    """What servers find in such files, read here."""
    return GAP.join(path.read_bytes() for path in paths)


def report(paths: Sequence[Path], is_right: Callable[[bytes], bool]) -> int:
    """Compares with the reference, which this program computes from its own files, and returns the exit code."""
    if not all(path.exists() for path in paths):
        print("not compared with the reference: the files are not on this machine")
        return 0
    is_equal = is_right(content(paths))
    print("equal to the reference" if is_equal else "NOT equal to the reference")
    return not is_equal
