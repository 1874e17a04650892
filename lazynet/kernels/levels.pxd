# Tables of loops for each level of vector units; see levels.pyx.

cdef enum:
    HIGHEST_LEVEL = 2

cdef const void* table_at(str module, int* level, str variant=*) except NULL
cdef const void* highest_table(str module) except NULL
