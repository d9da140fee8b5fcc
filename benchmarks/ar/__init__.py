"""`python -m benchmarks.ar`: an animated point cloud from a video, decoded, sorted and drawn here and there.

Ordinary PyOpenCL with kernels of its own, and the built-in kernels of servers' stream devices (docs/streams.md). It is
the case study of PoCL-R's authors: a weak client sees more frames if servers do what it cannot.
"""
