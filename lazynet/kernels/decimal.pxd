# Decimal numbers to doubles, correctly rounded: the double nearest to the number that the digits
# say, and the one with an even last bit where two are equally near.
#
#   1. An integer up to 2^53 times or divided by a power of ten up to 10^22: both are doubles, and
#      one multiplication or division is rounded once (Clinger 1990).
#   2. At most 19 digits and 27 decimal places: a division of integers.
#   3. All other numbers: strtod of the C library.
#
# Property: the bits are those of Python's float() (tests/exact/test_parser.py).
from libc.math cimport NAN, ldexp
from libc.stdint cimport int64_t, uint64_t

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
