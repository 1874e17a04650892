# The hashes of Vowpal Wabbit's names (`--hash strings`).
#
# Property: the columns are those of tests/support/parser.py (tests/exact/test_parser.py).
from libc.stdint cimport uint32_t, uint64_t

from lazynet.kernels.decimal cimport read_digits


cdef inline uint32_t rotated(uint32_t word, int bits) noexcept nogil:
    return word << bits | word >> (32 - bits)

cdef inline uint32_t mixed(uint32_t word) noexcept nogil:
    return rotated(word * <uint32_t> 0xcc9e2d51, 15) * <uint32_t> 0x1b873593


# MurmurHash3 of Austin Appleby (public domain), x86, 32 bits.
cdef inline uint32_t murmur(const char* text, size_t size, uint32_t seed) noexcept nogil:
    cdef const unsigned char* data = <const unsigned char*> text
    cdef uint32_t state = seed, word = 0
    cdef size_t i, n_words = size // 4
    for i in range(n_words):
        word = (<uint32_t> data[0] | <uint32_t> data[1] << 8 | <uint32_t> data[2] << 16
                | <uint32_t> data[3] << 24)
        state = rotated(state ^ mixed(word), 13) * 5 + <uint32_t> 0xe6546b64
        data += 4
    word = 0
    for i in range(size - 4 * n_words):
        word |= <uint32_t> data[i] << 8 * i
    state ^= mixed(word) ^ <uint32_t> size
    state = (state ^ state >> 16) * <uint32_t> 0x85ebca6b
    state = (state ^ state >> 13) * <uint32_t> 0xc2b2ae35
    return state ^ state >> 16


# The hash of a name: digits alone are their number plus the seed.
cdef inline uint64_t hash_of_name(const char* name, const char* end, uint64_t seed) noexcept nogil:
    cdef uint64_t number = 0
    while name < end and <unsigned char> name[0] <= b" ":
        name += 1
    while name < end and <unsigned char> (end - 1)[0] <= b" ":
        end -= 1
    if read_digits(name, &number) >= end:
        return number + seed
    return murmur(name, end - name, <uint32_t> seed)
