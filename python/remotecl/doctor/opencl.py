"""The part of OpenCL that the probes need, through any loader by ctypes, so that it works without PyOpenCL.

As a program, with a loader's path, a driver's name and a descriptor as arguments, it writes what that driver offers
to the descriptor, as JSON. It then imports nothing of remotecl, because that would change where a loader looks.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from typing import Any

SUCCESS = 0
DEVICE_TYPE_ALL = 0xFFFFFFFF
PLATFORM_NAME = 0x0902
DEVICE_NAME = 0x102B
PROGRAM_BUILD_LOG = 0x1183
MEM_WRITE_ONLY = 1 << 1
LOADER_VERSION, LOADER_NAME, LOADER_VENDOR = 2, 3, 4  # of clGetICDLoaderInfoOCLICD

SOURCE = b"kernel void remotecl_doctor(global int* out) { out[0] = 42; }"
Handle = ctypes.c_void_p


class OpenCLError(Exception):
    """A function failed; the text names it and its error code."""


class OpenCL:
    """A loader. Handles are integers. Nothing is released: a probe's process ends soon."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def loader(self) -> str:
        """Name and version of the loader, or an empty string if it does not report them."""
        name = self._loader_text(LOADER_NAME)
        if self._loader_text(LOADER_VENDOR).startswith("OCL Icd"):  # it calls itself just "OpenCL ICD Loader"
            name = "ocl-icd"
        return f"{name} {self._loader_text(LOADER_VERSION)}".strip()

    def platforms(self) -> list[int]:
        """All platforms, in the loader's order; none is no error."""
        count = ctypes.c_uint(0)
        if self._library.clGetPlatformIDs(0, None, ctypes.byref(count)) != SUCCESS or count.value == 0:
            return []
        handles = (Handle * count.value)()
        self._require("clGetPlatformIDs", self._library.clGetPlatformIDs(count, handles, None))
        return [handle or 0 for handle in handles]

    def devices(self, platform: int) -> list[int]:
        """All devices of a platform; none is no error."""
        count = ctypes.c_uint(0)
        kind = ctypes.c_uint64(DEVICE_TYPE_ALL)
        status = self._library.clGetDeviceIDs(Handle(platform), kind, 0, None, ctypes.byref(count))
        if status != SUCCESS or count.value == 0:
            return []
        handles = (Handle * count.value)()
        self._require("clGetDeviceIDs", self._library.clGetDeviceIDs(Handle(platform), kind, count, handles, None))
        return [handle or 0 for handle in handles]

    def platform_name(self, platform: int) -> str:
        """Its CL_PLATFORM_NAME."""
        return self._text(self._library.clGetPlatformInfo, Handle(platform), ctypes.c_uint(PLATFORM_NAME))

    def device_name(self, device: int) -> str:
        """Its CL_DEVICE_NAME."""
        return self._text(self._library.clGetDeviceInfo, Handle(device), ctypes.c_uint(DEVICE_NAME))

    def context(self, devices: list[int]) -> int:
        """A context over these devices."""
        handles = (Handle * len(devices))(*devices)
        return self._create("clCreateContext", None, ctypes.c_uint(len(devices)), handles, None, None)

    def run_kernel(self, device: int) -> None:
        """Builds a kernel, runs it and reads what it wrote. Raises OpenCLError with the build log."""
        cl = self._library
        context = Handle(self.context([device]))
        queue = Handle(self._create("clCreateCommandQueue", context, Handle(device), ctypes.c_uint64(0)))
        source = ctypes.c_char_p(SOURCE)
        program = Handle(
            self._create("clCreateProgramWithSource", context, ctypes.c_uint(1), ctypes.byref(source), None)
        )
        if status := cl.clBuildProgram(program, 0, None, None, None, None):
            log = self._text(cl.clGetProgramBuildInfo, program, Handle(device), ctypes.c_uint(PROGRAM_BUILD_LOG))
            raise OpenCLError(f"clBuildProgram failed with {status}: {' '.join(log.split())[:500]}")
        kernel = Handle(self._create("clCreateKernel", program, ctypes.c_char_p(b"remotecl_doctor")))
        buffer = Handle(
            self._create("clCreateBuffer", context, ctypes.c_uint64(MEM_WRITE_ONLY), ctypes.c_size_t(4), None)
        )
        size = ctypes.c_size_t(ctypes.sizeof(Handle))
        self._require("clSetKernelArg", cl.clSetKernelArg(kernel, 0, size, ctypes.byref(buffer)))
        one, out, yes = ctypes.c_size_t(1), ctypes.c_int(0), ctypes.c_uint(1)
        status = cl.clEnqueueNDRangeKernel(queue, kernel, 1, None, ctypes.byref(one), None, 0, None, None)
        self._require("clEnqueueNDRangeKernel", status)
        start, length = ctypes.c_size_t(0), ctypes.c_size_t(4)
        status = cl.clEnqueueReadBuffer(queue, buffer, yes, start, length, ctypes.byref(out), 0, None, None)
        self._require("clEnqueueReadBuffer", status)
        if out.value != 42:
            raise OpenCLError(f"a kernel ran and wrote {out.value} instead of 42")

    def _create(self, name: str, *arguments: Any) -> int:  # noqa: ANN401  whatever that function takes
        function = self._library[name]
        function.restype = Handle
        status = ctypes.c_int(0)
        handle: int | None = function(*arguments, ctypes.byref(status))
        self._require(name, status.value)
        return handle or 0

    @staticmethod
    def _require(name: str, status: int) -> None:
        if status != SUCCESS:
            raise OpenCLError(f"{name} failed with {status}")

    @staticmethod
    def _text(function: Any, *arguments: Any) -> str:  # noqa: ANN401  clGet...Info and what it takes
        size = ctypes.c_size_t(0)
        if function(*arguments, ctypes.c_size_t(0), None, ctypes.byref(size)) != SUCCESS or size.value == 0:
            return ""
        text = ctypes.create_string_buffer(size.value)
        function(*arguments, size, text, None)
        return text.value.decode(errors="replace").strip()

    def _loader_text(self, what: int) -> str:
        # Both loaders have this extension: ocl-icd as a plain function, Khronos' through the usual query for addresses.
        find = self._library.clGetExtensionFunctionAddress
        find.restype = Handle
        address = find(b"clGetICDLoaderInfoOCLICD")
        if not address:
            return ""
        function = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_int, ctypes.c_size_t, Handle, ctypes.POINTER(ctypes.c_size_t)
        )
        text = ctypes.create_string_buffer(256)
        function(address)(what, 256, ctypes.cast(text, Handle), None)
        return text.value.decode(errors="replace")


def device_report(cl: OpenCL, device: int) -> dict[str, str]:
    """Name of a device, and what happened to a kernel there: an empty text, or the error."""
    error = ""
    try:
        cl.run_kernel(device)
    except OpenCLError as failure:
        error = str(failure)
    return {"name": cl.device_name(device), "error": error}


def _driver_report(loader: str, driver: str) -> dict[str, Any]:
    try:
        ctypes.CDLL(driver)
    except OSError as error:
        return {"error": str(error)}
    cl = OpenCL(loader)
    platforms = [
        {"name": cl.platform_name(platform), "devices": [device_report(cl, device) for device in cl.devices(platform)]}
        for platform in cl.platforms()
    ]
    return {"platforms": platforms}


if __name__ == "__main__":
    report = _driver_report(sys.argv[1], sys.argv[2])
    with contextlib.suppress(OSError):
        os.write(int(sys.argv[3]), json.dumps(report).encode())
