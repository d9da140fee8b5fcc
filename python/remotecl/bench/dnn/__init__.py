"""`remotecl bench dnn`: training networks as Caffe does, natively, through a server, and through one far away.

Ordinary PyOpenCL: nothing in the layers knows about remotecl. The three optimisations of OpenCL Caffe are `Options`.
"""

from .machine import KERNELS, Options
from .places import PLACES
from .run import NAMES, ladder, main

__all__ = ["KERNELS", "NAMES", "PLACES", "Options", "ladder", "main"]
