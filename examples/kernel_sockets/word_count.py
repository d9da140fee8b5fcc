#!/usr/bin/env python3
"""Counts words on several devices as MapReduce: the words go from kernel to kernel over sockets.

Each server reads its part of the files by itself, if it may.

python word_count.py --devices 2 README.md
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import common
import inputs
import numpy as np
import pyopencl as cl

LETTERS, RECORD, STEP = 27, 32, 256  # as in word_count.cl
PADDING = LETTERS + 1  # Kernels look at a word's end, and at most so far.


def reference(text: bytes) -> Counter[bytes]:
    """What the kernels are to find: runs of ASCII letters, digits and bytes above 127; capitals count as small."""
    return Counter(word[:LETTERS] for word in re.findall(rb"[a-z0-9\x80-\xff]+", text.lower()))


def part(text: inputs.Input, site: common.Site, begin: int, end: int, size: int) -> tuple[cl.Buffer, int]:
    """A device's part of a text, in which the words from `begin` to `end` begin, and where `begin` is in the buffer.

    Whether a word begins there is seen from the byte before, and where the last word ends from those behind.
    """
    first = max(begin - 1, 0)
    return text.part(site, first, min(end + LETTERS, size), PADDING), begin - first


def results(site: common.Site, table: cl.Buffer, arena: cl.Buffer) -> Counter[bytes]:
    """What one device's reducing work-groups have added up."""
    entries = site.read(table, np.uint32).reshape(-1, 2)
    records = site.read(arena, np.uint8).reshape(-1, RECORD)
    used = entries[entries[:, 0] > 0]
    words = records[(used[:, 0] - 5) // RECORD, 4:]  # An entry has the place of the letters in the arena, plus 1.
    return Counter({bytes(word).rstrip(b"\0"): int(count) for word, count in zip(words, used[:, 1], strict=True)})


def count_words(
    devices: Sequence[cl.Device], text: inputs.Input, *, entries: int = 1 << 16, seconds: float = 300
) -> Counter[bytes]:
    """Counts the words of a text on all of these devices, which may be those of one server or of several."""
    mappers = [max(common.groups(device) // 2, 1) for device in devices]
    everyone = sum(mappers)
    context = cl.Context([*devices, *text.sources(devices)])
    with contextlib.ExitStack() as stack:
        sites = [
            stack.enter_context(
                common.Site(device, "word_count.cl", sockets=everyone + count * len(devices) + 1, context=context)
            )
            for device, count in zip(devices, mappers, strict=True)
        ]
        size = text.size(sites)
        ends = [size * k // len(sites) for k in range(len(sites) + 1)]
        arena_records = min(everyone * entries, size // 2 + everyone) + 2 * STEP
        listeners = listen(sites)
        targets = common.addresses(*(address for _, address in listeners))
        tables = [site.zeros(2 * entries, np.uint32) for site in sites]
        arenas = [site.zeros(RECORD * arena_records, np.uint8) for site in sites]
        statuses = [site.zeros(1) for site in sites]
        starts = []
        for me, site in enumerate(sites):
            reducers = max(site.groups - mappers[me], 1)
            own, first = part(text, site, ends[me], ends[me + 1], size)
            starts.append(site.prepare(
                "reduce_words", reducers, listeners[me][0], everyone, arenas[me], np.uint32(arena_records),
                site.zeros(1, np.uint32), tables[me], np.uint32(entries), site.zeros(everyone * reducers),
                site.buffer(np.ones(everyone, np.uint32)), site.zeros(everyone * reducers, np.uint32), statuses[me],
            ))  # fmt: skip
            starts.append(site.prepare(
                "map_words", mappers[me], site.buffer(targets), me, len(sites), own, np.uint32(first),
                np.uint32(ends[me + 1] - ends[me]), site.zeros(2 * entries * mappers[me], np.uint32),
                np.uint32(entries), site.zeros(RECORD * (2 * STEP + 1) * mappers[me], np.uint8),
                site.zeros(len(sites) * mappers[me]), statuses[me],
            ))  # fmt: skip
        common.wait([start() for start in starts], seconds)
        for site, status in zip(sites, statuses, strict=True):
            common.check(int(site.read(status)[0]), "word count")
        return sum((results(*place) for place in zip(sites, tables, arenas, strict=True)), Counter())


def listen(sites: Sequence[common.Site]) -> list[tuple[int, str]]:
    """A listener for each device, and the name that all devices' kernels connect to."""
    names = [f"rcl:reduce-{k}" for k in range(len(sites))]
    return [(site.listen(name)[0], name) for site, name in zip(sites, names, strict=True)]


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Counts the words of files in kernels that speak over sockets.")
    common.add_servers_option(parser)
    parser.add_argument("--devices", type=int, default=2, metavar="N", help="servers to use, 1 or more (default: 2)")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="count the text so many times over")
    parser.add_argument("--seconds", type=float, default=300, help="that the kernels may take (default: 300)")
    inputs.add_reader_option(parser)
    parser.add_argument("files", nargs="+", type=Path)
    options = parser.parse_args()
    files = options.files * options.repeat
    text = inputs.ServerFiles(files) if inputs.is_for_servers(options) else inputs.Upload(inputs.content(files))
    with common.devices(options.servers, options.devices, options.files) as devices:
        begin = time.perf_counter()
        counts = count_words(devices, text, seconds=options.seconds)
        took = time.perf_counter() - begin
    for word, count in counts.most_common(10):
        print(f"{count:8} {word.decode(errors='replace')}")
    print(f"{len(counts)} different words, {options.devices} devices, {took:.2f} s; read by {text.reader}")
    sys.exit(inputs.report(files, lambda content: counts == reference(content)))


if __name__ == "__main__":
    main()
