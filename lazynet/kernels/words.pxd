# What the parser makes of the words of a line: decimal numbers, the hashes of names, and numbers that a
# row names twice.
#
# Property: numbers and columns are those of tests/support/parser.py (tests/exact/test_parser.py).
from libc.math cimport NAN, isfinite, ldexp
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

# --- decimal numbers to doubles, correctly rounded ------------------------------------------------
#
# The double nearest to the number that the digits say, and the one with an even last bit where two are
# equally near: the bits of Python's float().
#
#   1. An integer up to 2^53 times or divided by a power of ten up to 10^22: both are doubles, and
#      one multiplication or division is rounded once (Clinger 1990).
#   2. At most 19 digits and 27 decimal places: a division of integers.
#   3. All other numbers: strtod of the C library.

cdef extern from *:
    """
    #include <locale.h>
    #include <stdint.h>
    #if defined(__APPLE__) || defined(__FreeBSD__)
    #include <xlocale.h>
    #endif
    static const double lazynet_tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
        1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const uint64_t lazynet_fives[] = {1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u,
        390625u, 1953125u, 9765625u, 48828125u, 244140625u, 1220703125u, 6103515625ull,
        30517578125ull, 152587890625ull, 762939453125ull, 3814697265625ull, 19073486328125ull,
        95367431640625ull, 476837158203125ull, 2384185791015625ull, 11920928955078125ull,
        59604644775390625ull, 298023223876953125ull, 1490116119384765625ull,
        7450580596923828125ull};
    """
    const double* powers_of_ten "lazynet_tens"
    const uint64_t* powers_of_five "lazynet_fives"
    ctypedef unsigned long long uint128 "unsigned __int128"
    ctypedef void* locale_t
    int LC_NUMERIC_MASK
    locale_t newlocale(int mask, const char* name, locale_t base)
    double strtod_l(const char* text, char** end, locale_t locale) nogil
    int leading_zeros "__builtin_clzll"(uint64_t number) nogil


cdef inline bint is_digit(char byte) noexcept nogil:
    return b"0" <= byte <= b"9"


# Digits behind those of number; more than 19 of them overflow.
cdef inline const char* read_digits(const char* p, uint64_t* number) noexcept nogil:
    while is_digit(p[0]):
        number[0] = 10 * number[0] + <uint64_t> (p[0] - c"0")
        p += 1
    return p


# digits / 10^places for at most 27 places, rounded once: the quotient has more bits than a double.
cdef inline double quotient(uint64_t digits, int places) noexcept nogil:
    cdef uint64_t five = powers_of_five[places], bits
    cdef int zeros = leading_zeros(digits), zeros_of_five = leading_zeros(five)
    # With the highest bits of both set, the quotient has 62 or 63 bits.
    cdef uint128 divisor = five << zeros_of_five
    cdef uint128 dividend = <uint128> (digits << zeros) << 62
    # The last bit says whether anything is left: it decides between two doubles alone.
    bits = <uint64_t> (dividend // divisor) | (dividend % divisor != 0)
    return ldexp(<double> bits, zeros_of_five - zeros - 62 - places)


# Read [+-] digits [. digits] [e [+-] digits], with a digit before or after the point; a byte that is
# no part of a number follows.  Returns where the number ends, or where a digit is missing, for which
# the number is NaN.
cdef inline const char* read_decimal(
    const char* p, double* number, locale_t plain_locale
) noexcept nogil:
    cdef uint64_t digits = 0, exponent = 0
    cdef int64_t power = 0
    cdef Py_ssize_t n_digits
    cdef bint is_negative = p[0] == b"-", is_small
    p += p[0] == b"-" or p[0] == b"+"
    cdef const char* start = p
    cdef const char* mark
    p = read_digits(p, &digits)
    n_digits = p - start
    if p[0] == b".":
        mark = p + 1
        p = read_digits(mark, &digits)
        power = mark - p
        n_digits -= power
    number[0] = NAN
    if n_digits == 0:
        return p
    if p[0] == b"e" or p[0] == b"E":
        is_small = p[1] == b"-"
        p += 2 if p[1] == b"-" or p[1] == b"+" else 1
        mark = p
        p = read_digits(mark, &exponent)
        if p == mark:
            return p
        if p - mark > 18:
            exponent = <uint64_t> 1 << 58  # no line is as long as this number
        power += -<int64_t> exponent if is_small else <int64_t> exponent
    if n_digits <= 19 and digits <= <uint64_t> 1 << 53 and -22 <= power <= 22:
        number[0] = (<double> digits / powers_of_ten[-power] if power < 0
                     else <double> digits * powers_of_ten[power])
    elif n_digits <= 19 and digits and -27 <= power <= 0:
        number[0] = quotient(digits, <int> -power)
    else:
        number[0] = strtod_l(start, NULL, plain_locale)
    if is_negative:
        number[0] = -number[0]
    return p

# --- the hashes of Vowpal Wabbit's names (`--hash strings`) ---------------------------------------


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

# --- numbers that a row names twice ---------------------------------------------------------------
#
# They are found by a table of places: the table has a place, counted from 1, or 0 where it is free.


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
