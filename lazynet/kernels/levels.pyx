"""The loops that are compiled once per level of vector units, by the addresses of their tables."""

from libc.stdint cimport uintptr_t

from importlib import import_module
from importlib.util import find_spec

from .lanes cimport best_level

cdef dict FOUND = {}


cdef const void* table_at(str module, int* level, str variant="") except NULL:
    """The table of a module at this level, or at the nearest that there is: ``level`` then tells.

    A debug build has the first level alone.
    """
    name = module + variant
    if name not in FOUND:
        names = [
            f"lazynet.kernels.{module}{suffix}{variant}"
            for suffix in ("", "_v3", "_v4")[:best_level() + 1]
        ]
        FOUND[name] = [import_module(each).address() for each in names if find_spec(each)]
    tables = FOUND[name]
    level[0] = max(0, min(level[0], <int> len(tables) - 1))
    return <const void*> <uintptr_t> tables[level[0]]


cdef const void* highest_table(str module) except NULL:
    cdef int level = HIGHEST_LEVEL
    return table_at(module, &level)
