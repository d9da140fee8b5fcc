"""Finds the OpenCL objects behind PyOpenCL's objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connection import import_pyopencl

if TYPE_CHECKING:
    import pyopencl


def memory_object(value: Any, name: str) -> pyopencl.MemoryObject:  # noqa: ANN401  anything a user may pass
    """The memory object that `value` is, or that an array lies in; `name` is the argument's for the error."""
    cl = import_pyopencl()
    if isinstance(value, cl.MemoryObjectHolder):
        return value
    if _is_array(value):
        if isinstance(value.base_data, cl.MemoryObjectHolder):
            return value.base_data
        raise TypeError(
            f"{name} is an array in shared virtual memory, which has no buffer; make it with an allocator of "
            "buffers (pyopencl.tools.ImmediateAllocator), or without one"
        )
    raise TypeError(f"{name} must be a pyopencl.Buffer or a pyopencl.array.Array, not {type(value).__name__}")


def whole_buffer(value: Any, name: str) -> pyopencl.MemoryObject:  # noqa: ANN401
    """Like `memory_object`, but refuses arrays that do not begin where their buffer does."""
    memory = memory_object(value, name)
    if _is_array(value) and value.offset:
        raise ValueError(
            f"{name} is an array that begins {value.offset} bytes into its buffer, which concerns the whole buffer; "
            "pass the array that it was sliced from, or its .base_data to mean the buffer"
        )
    return memory


def require_remote(value: Any, name: str) -> Any:  # noqa: ANN401
    """`value`, if it is remotecl's: a handle of another driver must not be passed to ours. It has a context."""
    platform = value.context.devices[0].platform.name
    if platform != "remotecl":
        raise ValueError(f"{name} is on the platform {platform!r}; this works on devices of remotecl only")
    return value


def require_remote_device(device: Any, name: str) -> None:  # noqa: ANN401
    """Raises TypeError if `device` is no device, and ValueError if it is not remotecl's."""
    if not isinstance(device, import_pyopencl().Device):
        raise TypeError(f"{name} must be a pyopencl.Device, not {type(device).__name__}")
    if device.platform.name != "remotecl":
        raise ValueError(f"{name} is on the platform {device.platform.name!r}; this works on devices of remotecl only")


def _is_array(value: object) -> bool:
    from pyopencl.array import Array  # needs NumPy, and is slow to import

    return isinstance(value, Array)
