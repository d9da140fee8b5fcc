"""Stands before a server and delays every byte, as a long way would.

Usage: delay_relay.py HOST:PORT MILLISECONDS, the delay each way. Prints the address that it listens on, and ends with
its standard input. It is a program of its own because PyOpenCL does not let other Python threads run while it waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys


async def pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, delay: float) -> None:
    """Passes on what comes, each piece `delay` seconds after it came."""
    loop = asyncio.get_running_loop()
    while data := await source.read(1 << 16):
        # Calls of the same delay are made in their order.
        loop.call_later(delay, target.write, data)
    loop.call_later(delay, target.close)


async def relay(server: str, delay: float) -> None:
    """Listens until the end of the standard input."""
    host, _, port = server.rpartition(":")

    async def accept(near: asyncio.StreamReader, to_near: asyncio.StreamWriter) -> None:
        far, to_far = await asyncio.open_connection(host, int(port))
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(pump(near, to_far, delay), pump(far, to_near, delay))

    listener = await asyncio.start_server(accept, "127.0.0.1", 0)
    print(f"127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(relay(sys.argv[1], float(sys.argv[2]) / 1e3))
