"""Hot loops: module-level Numba functions over arrays and scalars, nothing else.

Kernels that call each other share a file (Numba's cache does not notice a change in another file).
"""
