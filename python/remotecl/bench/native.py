"""The native device that a remote one is compared with."""

from __future__ import annotations

import pyopencl as cl

from .._observe.inspect import native_platform_of


def native_device(device: cl.Device) -> cl.Device | None:
    """The device of this machine that has the same name, or another one of the same platform; None if it has none."""
    wanted = native_platform_of(device)
    found = [native for platform in cl.get_platforms() if platform.name == wanted for native in platform.get_devices()]
    return next((native for native in found if native.name == device.name), found[0] if found else None)
