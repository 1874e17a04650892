"""Compiled kernels: one file an algorithm, shared inline functions in ``.pxd`` and ``lanes.h``."""
