"""The native part of this folder, which a build may lack."""

from typing import Any

from .._connect.connection import native
from ..errors import RemoteCLError


def scheduling() -> Any:  # noqa: ANN401  the extension module
    """The extension module, if it has the functions of this folder.

    Raises:
        RemoteCLError: remotecl was built without them.
    """
    module = native()
    if not hasattr(module, "automatic_device"):
        raise RemoteCLError(
            "this build of remotecl has no automatic device and divides no kernels: build it with "
            "REMOTECL_SCHEDULING=ON"
        )
    return module
