/* Decimal numbers to doubles, correctly rounded: the double nearest to the number that the digits
 * say, and the one with an even last bit where two are equally near.
 *
 *   1. At most 19 digits that make an integer below 2^53, and a power of ten up to 10^22 that is a
 *      double: one multiplication or division, rounded once (Clinger 1990).
 *   2. At most 19 digits and a normal result: a product of 64 by 128 bits, where its bits tell how
 *      to round (Lemire, "Number parsing at a gigabyte per second", 2021).
 *   3. Everything else: integers of many digits compare the number with the middle of two doubles.
 *
 * A line ends with '\n', which is no part of a number.  Digits are read eight bytes at a time, which
 * takes fewer than LAZYNET_BEHIND bytes behind the '\n'; they may hold anything.
 *
 * Property: the bits are those of Python's float() (tests/exact/test_parser.py).
 */
#ifndef LAZYNET_DECIMAL_H
#define LAZYNET_DECIMAL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Powers of five from 5^LEAST to 5^MOST: their first 128 bits, as {high, low}. */
#define LAZYNET_LEAST_POWER (-342)
#define LAZYNET_MOST_POWER 308
#define LAZYNET_N_POWERS (LAZYNET_MOST_POWER - LAZYNET_LEAST_POWER + 1)

/* Filled when the module is imported. */
extern uint64_t lazynet_powers[LAZYNET_N_POWERS][2];

/* Digits that count: the middle of two doubles has at most 767, and one more says what follows. */
#define LAZYNET_MOST_DIGITS 800
/* Both sides of a comparison stay below 2^2720, and a shift adds less than a limb. */
#define LAZYNET_MOST_LIMBS 128

/* How many bytes behind the end of a line can be read. */
#define LAZYNET_BEHIND 16

enum lazynet_number { LAZYNET_NUMBER, LAZYNET_NO_DIGITS, LAZYNET_NO_EXPONENT, LAZYNET_TOO_LARGE };

/* --- integers of many digits --------------------------------------------------------------- */

typedef struct {
    uint32_t limbs[LAZYNET_MOST_LIMBS]; /* the lowest first */
    int n;
} lazynet_large;

static void lazynet_multiply_add(lazynet_large *number, uint32_t factor, uint32_t term) {
    uint64_t carry = term;
    for (int i = 0; i < number->n; i++) {
        carry += (uint64_t)number->limbs[i] * factor;
        number->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && number->n < LAZYNET_MOST_LIMBS) number->limbs[number->n++] = (uint32_t)carry;
}

static void lazynet_times_power_of_five(lazynet_large *number, int power) {
    for (; power >= 13; power -= 13) lazynet_multiply_add(number, 1220703125u, 0);
    for (; power > 0; power--) lazynet_multiply_add(number, 5u, 0);
}

static void lazynet_shift_left(lazynet_large *number, int bits) {
    int whole = bits / 32;
    if (whole > LAZYNET_MOST_LIMBS - number->n) whole = LAZYNET_MOST_LIMBS - number->n;
    memmove(number->limbs + whole, number->limbs, (size_t)number->n * sizeof(uint32_t));
    memset(number->limbs, 0, (size_t)whole * sizeof(uint32_t));
    number->n += whole;
    lazynet_multiply_add(number, (uint32_t)1 << bits % 32, 0);
}

static int lazynet_compare(const lazynet_large *left, const lazynet_large *right) {
    if (left->n != right->n) return left->n > right->n ? 1 : -1;
    for (int i = left->n - 1; i >= 0; i--)
        if (left->limbs[i] != right->limbs[i]) return left->limbs[i] > right->limbs[i] ? 1 : -1;
    return 0;
}

/* The sign of digits * 10^exponent minus the middle between the double of these bits and the next. */
static int lazynet_against_middle(const lazynet_large *digits, int exponent, uint64_t bits) {
    lazynet_large left = *digits, right;
    const int field = (int)(bits >> 52);
    const uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    const uint64_t middle = 2 * (field ? fraction | (uint64_t)1 << 52 : fraction) + 1;
    const int power = (field ? field - 1075 : -1074) - 1;
    right.limbs[0] = (uint32_t)middle;
    right.limbs[1] = (uint32_t)(middle >> 32);
    right.n = right.limbs[1] ? 2 : 1;
    if (exponent >= 0)
        lazynet_times_power_of_five(&left, exponent);
    else
        lazynet_times_power_of_five(&right, -exponent);
    if (exponent > power)
        lazynet_shift_left(&left, exponent - power);
    else
        lazynet_shift_left(&right, power - exponent);
    return lazynet_compare(&left, &right);
}

/* --- products of 64 bits ------------------------------------------------------------------- */

static inline uint64_t lazynet_product(uint64_t a, uint64_t b, uint64_t *low) {
#if defined(__SIZEOF_INT128__) && (defined(__GNUC__) || defined(__clang__))
    __extension__ typedef unsigned __int128 uint128;
    const uint128 product = (uint128)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    const uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    const uint64_t first = a_low * b_low, cross = a_high * b_low + (first >> 32);
    const uint64_t other = a_low * b_high + (uint32_t)cross;
    *low = other << 32 | (uint32_t)first;
    return a_high * b_high + (cross >> 32) + (other >> 32);
#endif
}

static inline int lazynet_leading_zeros(uint64_t number) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_clzll(number);
#else
    int zeros = 0;
    for (; !(number >> 63); number <<= 1) zeros++;
    return zeros;
#endif
}

/* The first bits of digits * 10^power, which must not be 0: about bits * 2^exponent.
 * Returns whether the bits are sure to round right. */
static inline int lazynet_approximate(uint64_t digits, int power, uint64_t *bits, int *exponent,
                                      uint64_t *rest) {
    const uint64_t *five = lazynet_powers[power - LAZYNET_LEAST_POWER];
    const int zeros = lazynet_leading_zeros(digits);
    uint64_t low, low_of_second, high = lazynet_product(digits << zeros, five[0], &low);
    if ((high & 0x1ff) == 0x1ff) {
        const uint64_t second = lazynet_product(digits << zeros, five[1], &low_of_second);
        low += second;
        if (low < second) high++;
    }
    *bits = high;
    *rest = low;
    /* 217706 / 2^16 is just below the binary logarithm of ten. */
    const int scaled = 217706 * power;
    const int floor_log = scaled >= 0 ? scaled >> 16 : -((-scaled + 65535) >> 16);
    *exponent = floor_log + 1 - zeros;
    return low != UINT64_MAX || (power >= -27 && power <= 55);
}

/* The double of digits * 10^power, or less than 0 where the bits cannot tell. */
static inline double lazynet_from_product(uint64_t digits, int power) {
    uint64_t high, low, bits;
    int exponent;
    double number;
    if (!lazynet_approximate(digits, power, &high, &exponent, &low)) return -1.0;
    const int upper = (int)(high >> 63);
    uint64_t mantissa = high >> (upper + 9);
    const int field = exponent + upper + 62 + 1023;
    if (field <= 0 || field >= 2046) return -1.0; /* subnormal, or near the end */
    /* Exactly between two doubles, or so near that the bits cannot tell. */
    if (low <= 1 && (mantissa & 3) == 1 && mantissa << (upper + 9) == high) return -1.0;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    bits = ((uint64_t)field << 52) + (mantissa - ((uint64_t)1 << 52));
    memcpy(&number, &bits, sizeof(number));
    return number;
}

/* --- the exact way ------------------------------------------------------------------------- */

/* The number from its text: digits with perhaps a point between them, and then its exponent. */
static double lazynet_exactly(const char *text, const char *end, int64_t exponent) {
    lazynet_large digits = {{0}, 0};
    uint64_t first = 0, bits;
    int n = 0, n_first = 0, after_point = 0, more = 0;
    double number;
    for (; text < end; text++) {
        if (*text == '.') {
            after_point = 1;
            continue;
        }
        const uint32_t digit = (uint32_t)(*text - '0');
        if (n < LAZYNET_MOST_DIGITS) {
            exponent -= after_point;
            if (n == 0 && digit == 0) continue;
            n++;
            lazynet_multiply_add(&digits, 10u, digit);
            if (n_first < 19) {
                first = 10 * first + digit;
                n_first++;
            }
        } else {
            more |= digit != 0;
            exponent += !after_point;
        }
    }
    if (n == 0) return 0.0;
    if (n + exponent > 310) return INFINITY;
    if (n + exponent < -330) return 0.0;
    const int power = (int)exponent + n - n_first;
    if (power < LAZYNET_LEAST_POWER) return 0.0;
    if (power > LAZYNET_MOST_POWER) return INFINITY;
    if (more) {
        lazynet_multiply_add(&digits, 10u, 1u);
        exponent--;
    }
    /* Begin near the number, and go to the nearest double. */
    uint64_t high, low;
    int two;
    (void)lazynet_approximate(first, power, &high, &two, &low);
    number = ldexp((double)(high >> 11), two + 11);
    memcpy(&bits, &number, sizeof(bits));
    const uint64_t infinite = (uint64_t)0x7ff << 52;
    if (bits >= infinite) bits = infinite - 1;
    for (; bits < infinite; bits++) {
        const int sign = lazynet_against_middle(&digits, (int)exponent, bits);
        if (sign < 0 || (sign == 0 && bits % 2 == 0)) break;
    }
    for (; bits > 0; bits--) {
        const int sign = lazynet_against_middle(&digits, (int)exponent, bits - 1);
        if (sign > 0 || (sign == 0 && bits % 2 == 0)) break;
    }
    memcpy(&number, &bits, sizeof(number));
    return number;
}

static const double lazynet_small_powers[] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* --- eight bytes at a time ----------------------------------------------------------------- */

#if (defined(__GNUC__) || defined(__clang__)) && defined(__BYTE_ORDER__) && \
    __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LAZYNET_EIGHT_AT_ONCE 1

/* Eight bytes, the first one lowest, of which a digit has its number from 0 to 9. */
static inline uint64_t lazynet_eight(const char *text) {
    uint64_t eight;
    memcpy(&eight, text, sizeof(eight));
    return eight ^ 0x3030303030303030u;
}

/* The highest bit of each of the eight bytes that is no digit.  Only bytes behind one that is
 * neither a digit nor a point may be marked wrongly, by a carry. */
static inline uint64_t lazynet_no_digits(uint64_t eight) {
    return ((eight + 0x7676767676767676u) | eight) & 0x8080808080808080u;
}

/* The number that the first n of eight digits say, n from 1 to 8. */
static inline uint64_t lazynet_of_digits(uint64_t eight, int n) {
    eight <<= 64 - 8 * n; /* zeros in front */
    eight = (eight * 10 + (eight >> 8)) & 0x00ff00ff00ff00ffu;
    eight = (eight * 100 + (eight >> 16)) & 0x0000ffff0000ffffu;
    return (eight * 10000 + (eight >> 32)) & 0xffffffffu;
}
#else
#define LAZYNET_EIGHT_AT_ONCE 0
#endif

/* Read up to seven digits, and move on behind them; 0 where there is none.  More digits may follow. */
static inline uint64_t lazynet_few_digits(const char **text) {
#if LAZYNET_EIGHT_AT_ONCE
    const uint64_t eight = lazynet_eight(*text), others = lazynet_no_digits(eight);
    const int n = others ? __builtin_ctzll(others) / 8 : 7;
    if (n == 0) return 0;
    *text += n;
    return lazynet_of_digits(eight, n);
#else
    (void)text;
    return 0;
#endif
}

/* Read a number without a sign and an exponent that takes less than eight bytes, and move on behind
 * it; returns whether there was one. */
static inline int lazynet_short_number(const char **text, double *number) {
#if LAZYNET_EIGHT_AT_ONCE
    const uint64_t eight = lazynet_eight(*text), others = lazynet_no_digits(eight);
    if (!others) return 0;
    const int place = __builtin_ctzll(others) / 8; /* of the first byte that is no digit */
    const int point = (*text)[place] == '.';
    const uint64_t ends = point ? others & (others - 1) : others;
    if (!ends) return 0;
    const int size = __builtin_ctzll(ends) / 8, n = size - point;
    const char end = (*text)[size];
    if (n == 0 || end == 'e' || end == 'E') return 0;
    const uint64_t before = ((uint64_t)1 << 8 * place) - 1;
    const uint64_t digits = (eight & before) | (eight >> 8 * point & ~before);
    *number = (double)lazynet_of_digits(digits, n) / lazynet_small_powers[n - place];
    *text += size;
    return 1;
#else
    (void)text, (void)number;
    return 0;
#endif
}

/* --- the number ---------------------------------------------------------------------------- */

/* Read [+-] digits [. digits] [e [+-] digits], with a digit before or after the point.  `text` then
 * stands behind the number, or at the byte that cannot be part of one, or for a number that is too
 * large where it was. */
static inline enum lazynet_number lazynet_number(const char **text, double *number) {
    const char *p = *text, *start, *end, *behind;
    uint64_t digits = 0;
    int64_t exponent = 0, after_point = 0;
    ptrdiff_t n;
    const int negative = *p == '-';
    p += negative || *p == '+';
    if (lazynet_short_number(&p, number)) {
        if (negative) *number = -*number;
        *text = p;
        return LAZYNET_NUMBER;
    }
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
    end = p;
    if (*p == 'e' || *p == 'E') {
        p++;
        const int down = *p == '-';
        p += down || *p == '+';
        if ((unsigned char)(*p - '0') >= 10) {
            *text = p;
            return LAZYNET_NO_EXPONENT;
        }
        for (; (unsigned char)(*p - '0') < 10; p++)
            /* As large as no line is long: more digits change nothing any more. */
            if (exponent < (int64_t)1 << 58) exponent = 10 * exponent + (*p - '0');
        if (down) exponent = -exponent;
    }
    behind = p;
    const int64_t power = exponent - after_point;
    double found = -1.0;
    if (n > 19)
        for (p = start; *p == '0' || *p == '.'; p++) n -= *p == '0';
    if (n <= 19) {
        if (digits == 0)
            found = 0.0;
        else if (digits <= (uint64_t)1 << 53 && power >= -22 && power <= 22)
            found = power < 0 ? (double)digits / lazynet_small_powers[-power]
                              : (double)digits * lazynet_small_powers[power];
        else if (power >= LAZYNET_LEAST_POWER && power <= LAZYNET_MOST_POWER)
            found = lazynet_from_product(digits, (int)power);
    }
    if (found < 0.0) found = lazynet_exactly(start, end, exponent);
    if (!isfinite(found)) return LAZYNET_TOO_LARGE;
    *number = negative ? -found : found;
    *text = behind;
    return LAZYNET_NUMBER;
}

#endif
