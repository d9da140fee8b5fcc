"""`remotecl demo`: a real job through plain PyOpenCL on several servers at once, checked and explained.

`knn` and `matmul` are ordinary PyOpenCL programs: nothing in them knows about remotecl, and they run on any platform.
"""

from .run import main

__all__ = ["main"]
