/* Several numbers side by side, for the rules in rules/.  Cython takes Lanes for a double, and the
 * C that it writes for `a * b + c` computes all of them; what a double has no operator for is here.
 *
 * The loops are compiled once per level of vector units, and none of their sums depends on the
 * level: contraction to fused multiply-adds is off, and every level gives the same bits.
 *
 * In one_output_loop.pyx the lanes are nonzeros of a row: four doubles where a register holds four, two
 * elsewhere, and eight sums whatever WIDTH is.  In many_outputs_loop.pyx (LAZYNET_REAL is defined)
 * they are outputs: as many doubles or floats as the widest register holds.
 */
#ifndef LAZYNET_LANES_H
#define LAZYNET_LANES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#define LAZYNET_INLINE static inline __attribute__((always_inline, unused))
#define LAZYNET_LANES 8

#if defined(LAZYNET_REAL) && defined(__AVX512F__)
#define LAZYNET_BYTES 64
#define LAZYNET_REGISTER_OP(name, type) _mm512_##name##_##type
#elif defined(__AVX2__)
#define LAZYNET_BYTES 32
#define LAZYNET_REGISTER_OP(name, type) _mm256_##name##_##type
#else
#define LAZYNET_BYTES 16
#define LAZYNET_REGISTER_OP(name, type) _mm_##name##_##type
#endif
#if defined(LAZYNET_REAL) && LAZYNET_REAL == 32
typedef float Real;
typedef int32_t Bits;
#define LAZYNET_ALL_BUT_SIGN INT32_MAX
#define LAZYNET_OP(name) LAZYNET_REGISTER_OP(name, ps)
#define WIDTH (LAZYNET_BYTES / 4)
#else
typedef double Real;
typedef int64_t Bits;
#define LAZYNET_ALL_BUT_SIGN INT64_MAX
#define LAZYNET_OP(name) LAZYNET_REGISTER_OP(name, pd)
#define WIDTH (LAZYNET_BYTES / 8)
#endif

typedef Real Lanes __attribute__((vector_size(LAZYNET_BYTES)));
typedef Real LooseLanes __attribute__((vector_size(LAZYNET_BYTES), aligned(4), may_alias));
typedef Bits Mask __attribute__((vector_size(LAZYNET_BYTES)));

/* The highest level of vector units that this machine can run: 1 for v3, 2 for v4 (setup.py); both
 * need every extension that they are compiled for, and popcnt, which these imply. */
LAZYNET_INLINE int lazynet_best_level(void) {
#if defined(__x86_64__)
#define HAS(extension) __builtin_cpu_supports(#extension)
    const int v3 = HAS(avx2) && HAS(bmi) && HAS(bmi2) && HAS(fma) && HAS(popcnt);
    const int v4 = HAS(avx512f) && HAS(avx512bw) && HAS(avx512cd) && HAS(avx512dq) && HAS(avx512vl);
#undef HAS
    return !v3 ? 0 : !v4 ? 1 : 2;
#else
    return 0;
#endif
}

/* --- exp, expm1 and log1p of one number, without a branch, so that the compiler computes several at
 * once; the functions of a vector library have other bits on other vector units. */

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

/* log(u) + lost for u > 0, without a branch.  With u = 2^k m, m next to 1, it is k log 2 + log m.  log m
 * is the series in s = (m - 1) / (m + 1) of fdlibm (Sun Microsystems, 1993). */
LAZYNET_INLINE double lazynet_log_and(double u, double lost) {
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

/* log1p(y) for y >= 0: what 1 + y has lost to rounding is added. */
LAZYNET_INLINE double lazynet_log1p(double y) {
    const double u = 1.0 + y, beyond = 1.0 - (u - y), within = y - (u - 1.0);
    return lazynet_log_and(u, (u > 2.0 ? beyond : within) / u);
}

/* --- lanes: the same number in every lane; Lanes stay what they are */
LAZYNET_INLINE Lanes lazynet_broadcast(Real a) { return a - (Lanes){0}; }
LAZYNET_INLINE Lanes lazynet_same(Lanes a) { return a; }
#define broadcast(a) _Generic((a), Lanes: lazynet_same, default: lazynet_broadcast)(a)
LAZYNET_INLINE Lanes lanes_at(const Real *from) { return *(const LooseLanes *)from; }
LAZYNET_INLINE void put_lanes(Real *to, Lanes a) { *(LooseLanes *)to = a; }
LAZYNET_INLINE void set_lane(Lanes *a, int lane, double number) { (*a)[lane] = (Real)number; }
LAZYNET_INLINE double lane_of(Lanes a, int lane) { return a[lane]; }

/* --- masks: a lane is all ones or all zeros.  To Cython a mask is a Lanes, too. */
LAZYNET_INLINE Lanes nonzero(Lanes a) { return (Lanes)(a != 0.0); }
LAZYNET_INLINE Lanes is_zero(Lanes a) { return (Lanes)(a == 0.0); }
LAZYNET_INLINE Lanes exceeds(Lanes a, Real limit) { return (Lanes)(a > limit); }
LAZYNET_INLINE Lanes at_most(Lanes a, Real limit) { return (Lanes)(a <= limit); }
LAZYNET_INLINE Lanes both(Lanes a, Lanes b) { return (Lanes)((Mask)a & (Mask)b); }
LAZYNET_INLINE Lanes without(Lanes a, Lanes b) { return (Lanes)((Mask)a & ~(Mask)b); }
LAZYNET_INLINE Lanes where(Lanes mask, Lanes yes, Lanes no) {
#if LAZYNET_BYTES == 64
    return (Lanes)_mm512_ternarylogic_epi64((__m512i)mask, (__m512i)yes, (__m512i)no, 0xCA);
#endif
    return (Lanes)(((Mask)mask & (Mask)yes) | (~(Mask)mask & (Mask)no));
}
LAZYNET_INLINE int any_lane(Lanes mask) {
#if LAZYNET_BYTES == 64
    return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__SSE2__)
    return LAZYNET_OP(movemask)(mask) != 0;
#else
    Bits found = 0;
    for (int k = 0; k < WIDTH; k++) found |= ((Mask)mask)[k];
    return found != 0;
#endif
}
LAZYNET_INLINE int any_above(Lanes a, Real limit) { return any_lane((Lanes)(a > limit)); }
LAZYNET_INLINE int lazynet_any_nonzero(Lanes a) { return any_lane(nonzero(a)); }
LAZYNET_INLINE int lazynet_is_nonzero(double a) { return a != 0.0; }
/* Of Lanes or of one number. */
#define any_nonzero(a) _Generic((a), Lanes: lazynet_any_nonzero, default: lazynet_is_nonzero)(a)

/* --- arithmetic */
LAZYNET_INLINE Lanes absolute(Lanes a) { return (Lanes)((Mask)a & LAZYNET_ALL_BUT_SIGN); }
LAZYNET_INLINE Lanes with_sign(Lanes magnitude, Lanes of) {
    return where((Lanes)((Mask){0} | LAZYNET_ALL_BUT_SIGN), magnitude, of);
}
/* a < b ? a : b and a > b ? a : b: of two operands one of which is NaN, the second. */
#if defined(__SSE2__)
LAZYNET_INLINE Lanes lower(Lanes a, Lanes b) { return LAZYNET_OP(min)(a, b); }
LAZYNET_INLINE Lanes higher(Lanes a, Lanes b) { return LAZYNET_OP(max)(a, b); }
LAZYNET_INLINE Lanes root(Lanes a) { return LAZYNET_OP(sqrt)(a); }
#else
LAZYNET_INLINE Lanes lower(Lanes a, Lanes b) { return where((Lanes)(a < b), a, b); }
LAZYNET_INLINE Lanes higher(Lanes a, Lanes b) { return where((Lanes)(a > b), a, b); }
LAZYNET_INLINE Lanes root(Lanes a) {
    for (int k = 0; k < WIDTH; k++) a[k] = (Real)sqrt(a[k]);
    return a;
}
#endif
/* a, or 0 where a is not above 0; NaN stays NaN. */
LAZYNET_INLINE Lanes at_least_zero(Lanes a) { return (Lanes)((Mask)a & ~(a <= 0.0)); }
/* sgn(z) [|z| - shift]+ without a branch; NaN and infinities are kept. */
LAZYNET_INLINE Lanes soft(Lanes z, Lanes shift) { return z - higher(lower(z, shift), -shift); }
/* The inverse on what survives: v -> sgn(v) (|v| + shift). */
LAZYNET_INLINE Lanes unsoft(Lanes v, Lanes shift) { return v + with_sign(shift, v); }

/* expm1(x) for -1/32 <= x <= 0, in pairs and pairs of pairs, for a short chain. */
LAZYNET_INLINE Lanes small_expm1(Lanes x) {
    const Real c2 = 1.0 / 2, c3 = 1.0 / 6, c4 = 1.0 / 24, c5 = 1.0 / 120, c6 = 1.0 / 720;
    const Real c7 = 1.0 / 5040, c8 = 1.0 / 40320;
    const Lanes x2 = x * x;
    const Lanes low = (1.0 + x * c2) + x2 * (c3 + x * c4);
    const Lanes high = (c5 + x * c6) + x2 * (c7 + x * c8);
    return x * (low + x2 * x2 * high);
}
/* log1p(y) for y up to 1/4096. */
LAZYNET_INLINE Lanes small_log1p(Lanes y) {
    const Real c2 = 1.0 / 2, c3 = 1.0 / 3, c4 = 1.0 / 4, c5 = 1.0 / 5;
    return y - y * y * (c2 - y * (c3 - y * (c4 - y * c5)));
}
/* The same for any x <= 0 and any y >= 0.  Out of line they leave the registers of a loop alone.  GCC
 * would not vectorise a cold function, nor Clang a loop over the lanes of a vector. */
#define LAZYNET_OF_EACH_LANE(name, function)                                     \
    __attribute__((noinline, const, unused)) static Lanes name(Lanes x) {        \
        Real each[WIDTH];                                                        \
        put_lanes(each, x);                                                      \
        for (int k = 0; k < WIDTH; k++) each[k] = (Real)function(each[k]);       \
        return lanes_at(each);                                                   \
    }
LAZYNET_OF_EACH_LANE(any_expm1, lazynet_expm1_of_negative)
LAZYNET_OF_EACH_LANE(any_log1p, lazynet_log1p)

#if defined(LAZYNET_REAL)
/* --- outputs side by side.  What exists once per output is double. */
enum { LANES_OF_LINE = 64 / LAZYNET_BYTES, LINE = LANES_OF_LINE * WIDTH }; /* of a cache line */
/* The sum of one output waits for each of its terms: two sums use each other's time. */
enum { LANES_AT_ONCE = LANES_OF_LINE > 2 ? LANES_OF_LINE : 2 };
typedef double Doubles __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef float Floats __attribute__((vector_size(4 * WIDTH), aligned(4), may_alias));
LAZYNET_INLINE Lanes lanes_of_doubles(const double *from) {
    return __builtin_convertvector(*(const Doubles *)from, Lanes);
}
LAZYNET_INLINE void put_doubles(double *to, Lanes a) {
    *(Doubles *)to = __builtin_convertvector(a, Doubles);
}
LAZYNET_INLINE Lanes lanes_of_floats(const float *from) {
    return __builtin_convertvector(*(const Floats *)from, Lanes);
}
LAZYNET_INLINE void put_floats(float *to, Lanes a) {
    *(Floats *)to = __builtin_convertvector(a, Floats);
}
#else
/* --- nonzeros side by side */
enum { PARTS = LAZYNET_LANES / WIDTH }; /* of eight nonzeros */
typedef double Two __attribute__((vector_size(16)));
typedef double LooseTwo __attribute__((vector_size(16), aligned(8), may_alias));

/* 0 in the lanes before the n-th. */
LAZYNET_INLINE Lanes without_first(Lanes a, int64_t n) {
#if WIDTH == 4
    const Mask lane = {0, 1, 2, 3};
#else
    const Mask lane = {0, 1};
#endif
    return (Lanes)((Mask)a & (lane >= n));
}

/* --- products of floats: sums[q][z] += sum_k left[k][q] right[k][z] over n rows of 16 floats, for q < 4
 * and z < 16; a row of the sums has ``width`` floats.  Each number of the sums has its own lane: every
 * vector unit gives the same bits.  A vector that is longer than a register would be kept in memory. */
#if defined(__AVX512F__)
#define TILE_BYTES 64
#define TILE_PARTS 1
#else
#define TILE_BYTES (LAZYNET_BYTES)
#define TILE_PARTS 2
#endif
#define TILE_FLOATS (TILE_BYTES / 4)
typedef float Tile __attribute__((vector_size(TILE_BYTES), aligned(4), may_alias));
LAZYNET_INLINE void add_tile(const float *left, const float *right, ptrdiff_t n, float *sums,
                             ptrdiff_t width) {
    for (int z = 0; z < 16; z += TILE_PARTS * TILE_FLOATS) {
        Tile products[4][TILE_PARTS] = {{{0}}};
        const float *x = left, *row = right + z;
        for (ptrdiff_t k = 0; k < n; k++, x += 16, row += 16)
            for (int part = 0; part < TILE_PARTS; part++) {
                const Tile y = *(const Tile *)(row + part * TILE_FLOATS);
                for (int q = 0; q < 4; q++) products[q][part] += x[q] * y;
            }
        for (int q = 0; q < 4; q++)
            for (int part = 0; part < TILE_PARTS; part++)
                *(Tile *)(sums + q * width + z + part * TILE_FLOATS) += products[q][part];
    }
}

/* --- eight sums, as PARTS Lanes */
typedef struct {
    Lanes parts[PARTS];
} Eight;
LAZYNET_INLINE Eight eight_zeros(void) { return (Eight){{{0.0}}}; }
LAZYNET_INLINE void add_to_part(Eight *sums, int part, Lanes a) { sums->parts[part] += a; }
LAZYNET_INLINE double sum_of_eight(const Eight *sums) {
#if WIDTH == 4
    const Lanes four = sums->parts[0] + sums->parts[1];
    return (four[0] + four[2]) + (four[1] + four[3]);
#else
    const Lanes two = (sums->parts[0] + sums->parts[2]) + (sums->parts[1] + sums->parts[3]);
    return two[0] + two[1];
#endif
}

/* --- cells of one to four numbers, taken apart and put together; n: the numbers of a cell */
LAZYNET_INLINE Lanes gather_one(const double *cells, const uint32_t *j, ptrdiff_t n) {
#if WIDTH == 4
    return (Lanes){cells[n * j[0]], cells[n * j[1]], cells[n * j[2]], cells[n * j[3]]};
#else
    return (Lanes){cells[n * j[0]], cells[n * j[1]]};
#endif
}
LAZYNET_INLINE void scatter_one(double *cells, const uint32_t *j, ptrdiff_t n, Lanes a) {
    for (int k = 0; k < WIDTH; k++) cells[n * j[k]] = a[k];
}
#if WIDTH == 4
LAZYNET_INLINE Two cell2(const double *cells, uint32_t j) {
    return *(const LooseTwo *)(cells + 2 * (ptrdiff_t)j);
}
LAZYNET_INLINE void gather2(const double *cells, const uint32_t *j, Lanes *a, Lanes *b) {
    const Two c0 = cell2(cells, j[0]), c1 = cell2(cells, j[1]);
    const Two c2 = cell2(cells, j[2]), c3 = cell2(cells, j[3]);
    const Lanes even = __builtin_shufflevector(c0, c2, 0, 1, 2, 3);
    const Lanes odd = __builtin_shufflevector(c1, c3, 0, 1, 2, 3);
    *a = __builtin_shufflevector(even, odd, 0, 4, 2, 6);
    *b = __builtin_shufflevector(even, odd, 1, 5, 3, 7);
}
LAZYNET_INLINE void scatter2(double *cells, const uint32_t *j, Lanes a, Lanes b) {
    const Lanes even = __builtin_shufflevector(a, b, 0, 4, 2, 6);
    const Lanes odd = __builtin_shufflevector(a, b, 1, 5, 3, 7);
    *(LooseTwo *)(cells + 2 * (ptrdiff_t)j[0]) = __builtin_shufflevector(even, even, 0, 1);
    *(LooseTwo *)(cells + 2 * (ptrdiff_t)j[1]) = __builtin_shufflevector(odd, odd, 0, 1);
    *(LooseTwo *)(cells + 2 * (ptrdiff_t)j[2]) = __builtin_shufflevector(even, even, 2, 3);
    *(LooseTwo *)(cells + 2 * (ptrdiff_t)j[3]) = __builtin_shufflevector(odd, odd, 2, 3);
}
LAZYNET_INLINE void transpose(Lanes rows[4]) {
    const Lanes even_low = __builtin_shufflevector(rows[0], rows[1], 0, 4, 2, 6);
    const Lanes odd_low = __builtin_shufflevector(rows[0], rows[1], 1, 5, 3, 7);
    const Lanes even_high = __builtin_shufflevector(rows[2], rows[3], 0, 4, 2, 6);
    const Lanes odd_high = __builtin_shufflevector(rows[2], rows[3], 1, 5, 3, 7);
    rows[0] = __builtin_shufflevector(even_low, even_high, 0, 1, 4, 5);
    rows[1] = __builtin_shufflevector(odd_low, odd_high, 0, 1, 4, 5);
    rows[2] = __builtin_shufflevector(even_low, even_high, 2, 3, 6, 7);
    rows[3] = __builtin_shufflevector(odd_low, odd_high, 2, 3, 6, 7);
}
LAZYNET_INLINE void gather4(const double *cells, const uint32_t *j, Lanes *a, Lanes *b, Lanes *c,
                            Lanes *d) {
    Lanes rows[4] = {
        lanes_at(cells + 4 * (ptrdiff_t)j[0]), lanes_at(cells + 4 * (ptrdiff_t)j[1]),
        lanes_at(cells + 4 * (ptrdiff_t)j[2]), lanes_at(cells + 4 * (ptrdiff_t)j[3])};
    transpose(rows);
    *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
}
LAZYNET_INLINE void scatter4(double *cells, const uint32_t *j, Lanes a, Lanes b, Lanes c, Lanes d) {
    Lanes rows[4] = {a, b, c, d};
    transpose(rows);
    for (int k = 0; k < 4; k++) put_lanes(cells + 4 * (ptrdiff_t)j[k], rows[k]);
}
#else
/* Two numbers of a cell of two or four; a cell is read and written 16 bytes at a time. */
LAZYNET_INLINE void gather_pair(const double *cells, ptrdiff_t j, ptrdiff_t k, Lanes *a, Lanes *b) {
    const Two one = *(const LooseTwo *)(cells + j), other = *(const LooseTwo *)(cells + k);
    *a = (Lanes){one[0], other[0]}, *b = (Lanes){one[1], other[1]};
}
LAZYNET_INLINE void scatter_pair(double *cells, ptrdiff_t j, ptrdiff_t k, Lanes a, Lanes b) {
    *(LooseTwo *)(cells + j) = (Two){a[0], b[0]}, *(LooseTwo *)(cells + k) = (Two){a[1], b[1]};
}
LAZYNET_INLINE void gather2(const double *cells, const uint32_t *j, Lanes *a, Lanes *b) {
    gather_pair(cells, 2 * (ptrdiff_t)j[0], 2 * (ptrdiff_t)j[1], a, b);
}
LAZYNET_INLINE void scatter2(double *cells, const uint32_t *j, Lanes a, Lanes b) {
    scatter_pair(cells, 2 * (ptrdiff_t)j[0], 2 * (ptrdiff_t)j[1], a, b);
}
LAZYNET_INLINE void gather4(const double *cells, const uint32_t *j, Lanes *a, Lanes *b, Lanes *c,
                            Lanes *d) {
    gather_pair(cells, 4 * (ptrdiff_t)j[0], 4 * (ptrdiff_t)j[1], a, b);
    gather_pair(cells, 4 * (ptrdiff_t)j[0] + 2, 4 * (ptrdiff_t)j[1] + 2, c, d);
}
LAZYNET_INLINE void scatter4(double *cells, const uint32_t *j, Lanes a, Lanes b, Lanes c, Lanes d) {
    scatter_pair(cells, 4 * (ptrdiff_t)j[0], 4 * (ptrdiff_t)j[1], a, b);
    scatter_pair(cells, 4 * (ptrdiff_t)j[0] + 2, 4 * (ptrdiff_t)j[1] + 2, c, d);
}
#endif
#endif
#endif
