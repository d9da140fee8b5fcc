"""A placeholder for PyOpenCL while it is not installed next to remotecl.

remotecl registers its driver in the folder ``pyopencl/.libs``, where the loader of PyOpenCL's wheel looks. Without
PyOpenCL, Python would take that folder for a package, and importing it would succeed. PyOpenCL's own package takes
precedence over this file; if it is installed elsewhere, this file finds it.
"""

import importlib.util
import sys
from importlib.machinery import PathFinder
from pathlib import Path

_here = Path(__file__).resolve().parent
_spec = PathFinder.find_spec(__name__, [entry for entry in sys.path if Path(entry).resolve() != _here])
if _spec is None or _spec.loader is None or _spec.origin is None:
    raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)
sys.modules[__name__] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules[__name__])
