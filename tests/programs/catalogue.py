"""The programs, and those that cannot be had."""

from debian_programs import DEBIAN
from entry import Program
from pypi_programs import PYPI

MISSING = [
    Program("arrayfire", "a library of arrays", missing="neither Debian 12 nor PyPI has its library"),
    Program("vexcl", "expressions of vectors", missing="neither Debian 12 nor PyPI has it"),
    Program("clode", "differential equations", missing="its source package on PyPI does not compile"),
    Program("pyclblast", "CLBlast from Python", missing="its source package on PyPI does not compile"),
    Program("clij2-fft", "deconvolution", missing="its package on PyPI lacks the library for Linux"),
    Program("litenn", "small networks", missing="it needs a Python older than 3.10"),
    Program("pyrqa", "recurrence of time series", missing="its results on PoCL 3.1 are not numbers"),
    Program("vapoursynth-knlmeanscl", "denoising of video", missing="it needs Python 3.12; Debian 12 has 3.11"),
    Program("leela-zero", "plays Go", missing="its network's weights are not in Debian"),
    Program("blender", "draws scenes", missing="version 3.4 in Debian 12 has no OpenCL any more"),
    Program("imagemagick", "edits pictures", missing="Debian builds it without OpenCL"),
]

PROGRAMS = [*DEBIAN, *PYPI, *MISSING]
