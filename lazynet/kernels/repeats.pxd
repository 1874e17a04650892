# Numbers that a row names twice, found by a table of places: the table has a place, counted from 1,
# or 0 where it is free.
from libc.math cimport isfinite
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset


# Empty the table for n numbers; returns its size minus 1.
cdef inline size_t emptied(int64_t* table, Py_ssize_t n) noexcept nogil:
    cdef size_t size = 8
    while size < 2 * <size_t> n:
        size *= 2
    memset(table, 0, size * sizeof(int64_t))
    return size - 1


# The place of the first of the numbers up to i that equals numbers[i]; the table gets it.
cdef inline Py_ssize_t first_place(
    int64_t* table, size_t last, const int64_t* numbers, Py_ssize_t i
) noexcept nogil:
    cdef uint64_t bits = <uint64_t> numbers[i]
    cdef size_t slot = (bits ^ bits >> 32) * <uint64_t> 0x9e3779b97f4a7c15 >> 20 & last
    while table[slot] and numbers[table[slot] - 1] != numbers[i]:
        slot = (slot + 1) & last
    if table[slot] == 0:
        table[slot] = i + 1
    return table[slot] - 1


# Add up the values of each column that the n entries of a row name twice; returns how many entries
# remain, or -1 where a sum is infinite.
cdef inline Py_ssize_t with_sums(
    int64_t* table, int64_t* columns, double* values, Py_ssize_t n
) noexcept nogil:
    cdef size_t last = emptied(table, n)
    cdef Py_ssize_t i, place, n_left = 0
    for i in range(n):
        columns[n_left] = columns[i]
        place = first_place(table, last, columns, n_left)
        if place == n_left:
            values[n_left] = values[i]
            n_left += 1
        else:
            values[place] += values[i]
            if not isfinite(values[place]):
                return -1
    return n_left


# Whether all n labels of a row differ.
cdef inline bint differ(int64_t* table, const int64_t* labels, Py_ssize_t n) noexcept nogil:
    cdef size_t last = emptied(table, n)
    cdef Py_ssize_t i
    for i in range(n):
        if first_place(table, last, labels, i) != i:
            return False
    return True
