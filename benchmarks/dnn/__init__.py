"""`python -m benchmarks.dnn`: training networks as Caffe does, natively, through a server, and through one far away.

Ordinary PyOpenCL: nothing in the layers knows about remotecl. The three optimisations of OpenCL Caffe are `Options`.
"""
