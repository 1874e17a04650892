/* exp, expm1 and log1p without a branch, so that the compiler computes several at once.
 *
 * They give the same bits on every vector unit, unlike the functions of a vector library.
 */
#ifndef LAZYNET_ELEMENTARY_H
#define LAZYNET_ELEMENTARY_H

#include "rows.h"

/* expm1(r) and 2^k with k the integer next to x / log 2 and r = x - k log 2, for -1021 log 2 < x <= 0.
 * The first term left out of the series of expm1(r) is below the rounding of the others. */
LAZYNET_INLINE double lazynet_reduced_expm1(double x, double *power) {
    const double rounder = 0x1.8p52; /* a sum with it is an integer, in its lowest bits */
    const double sum = x * 0x1.71547652b82fep0 + rounder, k = sum - rounder;
    const double r = (x - k * 0x1.62e42fefa3800p-1) - k * 0x1.ef35793c76730p-45;
    const double r2 = r * r, r4 = r2 * r2;
    const double a = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
    const double b = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
    const double c = (1.0 / 3628800 + r * (1.0 / 39916800)) +
                     r2 * (1.0 / 479001600 + r * (1.0 / 6227020800.0));
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(power, &bits, sizeof bits);
    return r + r2 * (a + r4 * (b + r4 * c));
}

/* expm1(x) for x <= 0 */
LAZYNET_INLINE double lazynet_expm1_of_negative(double x) {
    double power;
    /* expm1(-40) is -1 to the last digit. */
    const double series = lazynet_reduced_expm1(x < -40.0 ? -40.0 : x, &power);
    return power * series + (power - 1.0);
}

/* exp(x) for x <= 0; below -700 it is exp(-700), less than 1e-304.  NaN stays NaN. */
LAZYNET_INLINE double lazynet_exp_of_negative(double x) {
    double power;
    const double series = lazynet_reduced_expm1(x < -700.0 ? -700.0 : x, &power);
    return power * series + power;
}

/* expm1(x) for -1/32 <= x <= 0, by its series: the first term left out is below the rounding of the
 * others. */
#define LAZYNET_SMALL_EXPONENT (1.0 / 32)
LAZYNET_INLINE double lazynet_small_expm1(double x) {
    /* x + x^2/2! + ... + x^8/8!, in pairs and pairs of pairs, for a short chain */
    const double x2 = x * x;
    const double low = (1.0 + x * (1.0 / 2)) + x2 * (1.0 / 6 + x * (1.0 / 24));
    const double high = (1.0 / 120 + x * (1.0 / 720)) + x2 * (1.0 / 5040 + x * (1.0 / 40320));
    return x * (low + x2 * x2 * high);
}

/* log1p(y) for y up to LAZYNET_SMALL_LOSS, in the same way. */
#define LAZYNET_SMALL_LOSS (1.0 / 4096)
LAZYNET_INLINE double lazynet_small_log1p(double y) {
    return y - y * y * (1.0 / 2 - y * (1.0 / 3 - y * (1.0 / 4 - y * (1.0 / 5))));
}

/* log1p(y) for y >= 0 without a branch.  With 1 + y = 2^k m, m next to 1, it is k log 2 + log m, and
 * what 1 + y has lost to rounding is added.  log m is the series in s = (m - 1) / (m + 1) of fdlibm
 * (Sun Microsystems, 1993). */
LAZYNET_INLINE double lazynet_log1p(double y) {
    const double u = 1.0 + y, beyond = 1.0 - (u - y), within = y - (u - 1.0);
    const double lost = (u > 2.0 ? beyond : within) / u;
    uint64_t bits, exponent;
    double m, k;
    memcpy(&bits, &u, sizeof bits);
    bits += 0x3ff0000000000000 - 0x3fe6a09e00000000; /* 1 - sqrt(1/2), as bits */
    exponent = (bits >> 52) | 0x4330000000000000;    /* 2^52 + 1023 + k, as a double */
    bits = (bits & 0x000fffffffffffff) + 0x3fe6a09e00000000;
    memcpy(&m, &bits, sizeof m);
    memcpy(&k, &exponent, sizeof k);
    k -= 4503599627371519.0; /* 2^52 + 1023 */
    const double f = m - 1.0, half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
    const double odd = z * (6.666666666666735130e-01 +
                            w * (2.857142874366239149e-01 +
                                 w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
    const double even = w * (3.999999999940941908e-01 +
                             w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
    const double low = k * 1.90821492927058770002e-10 + lost;
    return s * (half + (odd + even)) + low - half + f + k * 6.93147180369123816490e-01;
}

#endif
