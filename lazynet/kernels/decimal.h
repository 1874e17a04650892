/* Decimal numbers to doubles, correctly rounded: the double nearest to the number that the digits
 * say, and the one with an even last bit where two are equally near.
 *
 *   1. An integer up to 2^53 times or divided by a power of ten up to 10^22: both are doubles, and
 *      one multiplication or division is rounded once (Clinger 1990).
 *   2. At most 19 digits and up to 27 decimal places: a division of integers, whose quotient has
 *      more bits than a double and is rounded once.
 *   3. Everything else: strtod in the locale "C".
 *
 * A line ends with '\n', which is no part of a number: neither this file nor strtod reads behind it.
 *
 * Property: the bits are those of Python's float() (tests/exact/test_parser.py).
 */
#ifndef LAZYNET_DECIMAL_H
#define LAZYNET_DECIMAL_H

#include <locale.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__) || defined(__FreeBSD__)
#include <xlocale.h>
#endif

/* strtod reads a point as the user's locale writes it; strtod_l reads it as the locale "C" does. */
#ifdef _WIN32
typedef _locale_t lazynet_locale;
#define LAZYNET_NEW_LOCALE() _create_locale(LC_NUMERIC, "C")
#define lazynet_strtod _strtod_l
#else
typedef locale_t lazynet_locale;
#define LAZYNET_NEW_LOCALE() newlocale(LC_NUMERIC_MASK, "C", (locale_t)0)
#define lazynet_strtod strtod_l
#endif

/* The locale "C".  lazynet_begin makes it when the module is imported. */
static lazynet_locale lazynet_plain_locale;

enum lazynet_number { LAZYNET_NUMBER, LAZYNET_NO_DIGITS, LAZYNET_NO_EXPONENT, LAZYNET_TOO_LARGE };

static const double lazynet_small_powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if defined(__SIZEOF_INT128__) && (defined(__GNUC__) || defined(__clang__))
#define LAZYNET_MOST_PLACES 27
static const uint64_t lazynet_powers_of_five[] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u,
    244140625u, 1220703125u, 6103515625ull, 30517578125ull, 152587890625ull, 762939453125ull,
    3814697265625ull, 19073486328125ull, 95367431640625ull, 476837158203125ull,
    2384185791015625ull, 11920928955078125ull, 59604644775390625ull, 298023223876953125ull,
    1490116119384765625ull, 7450580596923828125ull};

/* digits / 10^places, for digits that are not 0. */
static inline double lazynet_quotient(uint64_t digits, int places) {
    __extension__ typedef unsigned __int128 uint128;
    const uint64_t five = lazynet_powers_of_five[places];
    const int zeros = __builtin_clzll(digits), zeros_of_five = __builtin_clzll(five);
    /* With the highest bits of both set, the quotient has 62 or 63 bits. */
    const uint64_t divisor = five << zeros_of_five;
    const uint128 dividend = (uint128)(digits << zeros) << 62;
    /* The last bit says whether anything is left: it decides between two doubles alone. */
    const uint64_t quotient = (uint64_t)(dividend / divisor) | (dividend % divisor != 0);
    return ldexp((double)quotient, zeros_of_five - zeros - 62 - places);
}
#else
#define LAZYNET_MOST_PLACES -1
static inline double lazynet_quotient(uint64_t digits, int places) {
    (void)digits, (void)places;
    return 0.0;
}
#endif

/* Read [+-] digits [. digits] [e [+-] digits], with a digit before or after the point.  `text` then
 * stands behind the number, or at the byte that cannot be part of one, or for a number that is too
 * large where it was. */
static inline enum lazynet_number lazynet_number(const char **text, double *number) {
    const char *p = *text, *start, *behind;
    uint64_t digits = 0;
    int64_t exponent = 0, after_point = 0;
    ptrdiff_t n;
    const int negative = *p == '-';
    p += negative || *p == '+';
    for (start = p; (unsigned char)(*p - '0') < 10; p++)
        digits = 10 * digits + (unsigned char)(*p - '0');
    n = p - start;
    if (*p == '.') {
        const char *point = ++p;
        for (; (unsigned char)(*p - '0') < 10; p++)
            digits = 10 * digits + (unsigned char)(*p - '0');
        after_point = p - point;
        n += p - point;
    }
    if (n == 0) {
        *text = p;
        return LAZYNET_NO_DIGITS;
    }
    if (*p == 'e' || *p == 'E') {
        p++;
        const int down = *p == '-';
        p += down || *p == '+';
        if ((unsigned char)(*p - '0') >= 10) {
            *text = p;
            return LAZYNET_NO_EXPONENT;
        }
        for (; (unsigned char)(*p - '0') < 10; p++)
            /* Larger than any line is long: more digits change nothing any more. */
            if (exponent < (int64_t)1 << 58) exponent = 10 * exponent + (*p - '0');
        if (down) exponent = -exponent;
    }
    behind = p;
    const int64_t power = exponent - after_point;
    double found;
    if (n > 19)
        for (p = start; *p == '0' || *p == '.'; p++) n -= *p == '0';
    if (n <= 19 && digits == 0)
        found = 0.0;
    else if (n <= 19 && digits <= (uint64_t)1 << 53 && power >= -22 && power <= 22)
        found = power < 0 ? (double)digits / lazynet_small_powers[-power]
                          : (double)digits * lazynet_small_powers[power];
    else if (n <= 19 && power <= 0 && power >= -LAZYNET_MOST_PLACES)
        found = lazynet_quotient(digits, (int)-power);
    else
        found = lazynet_strtod(start, NULL, lazynet_plain_locale);
    if (!isfinite(found)) return LAZYNET_TOO_LARGE;
    *number = negative ? -found : found;
    *text = behind;
    return LAZYNET_NUMBER;
}

#endif
