/* The row operations of the kernels with a loop of their own, for each type of values and each
 * vector level.  rows.h says why and declares the table of the operations.
 *
 * The loops are written once, in rows_typed.inc.  This file includes rows_level.inc per vector level, which includes rows_typed.inc per type of values.
 * setup.py links it into the extension module `examples` alone.
 *
 * Property: every level gives the same bits (tests/exact/test_lazy_equals_dense.py).
 */
#include "rows.h"

/* Vectors whose parts can be exchanged by name. */
#if (defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12))
#define LAZYNET_SHUFFLES 1
typedef double lazynet_two __attribute__((vector_size(16)));
typedef double lazynet_four __attribute__((vector_size(32)));

/* {low, high} <- eight in two loads: a loop that has just written eight numbers as two vectors of
 * four is not waited for, as it would be by one load of both. */
LAZYNET_INLINE void lazynet_part(const double *eight, lazynet_four *low, lazynet_four *high) {
    memcpy(low, eight, sizeof *low);
    memcpy(high, eight + 4, sizeof *high);
}

#else
#define LAZYNET_SHUFFLES 0
#endif

/* A sum for every lane of a dot product.  The sums are vectors where the compiler has these, because
 * it would leave an array in memory, and every addition would wait for the memory. */
#if LAZYNET_SHUFFLES
typedef struct {
    lazynet_four low, high;
} lazynet_lanes;

LAZYNET_INLINE lazynet_lanes lazynet_no_lanes(void) {
    const lazynet_lanes none = {{0.0, 0.0, 0.0, 0.0}, {0.0, 0.0, 0.0, 0.0}};
    return none;
}

LAZYNET_INLINE void lazynet_add_lanes(lazynet_lanes *sums, const double *numbers) {
    lazynet_four low, high;
    lazynet_part(numbers, &low, &high);
    sums->low += low;
    sums->high += high;
}

LAZYNET_INLINE double lazynet_sum_of_lanes(const lazynet_lanes *sums) {
    const lazynet_four four = sums->low + sums->high;
    return (four[0] + four[2]) + (four[1] + four[3]);
}
#else
typedef struct {
    double each[LAZYNET_LANES];
} lazynet_lanes;

LAZYNET_INLINE lazynet_lanes lazynet_no_lanes(void) {
    const lazynet_lanes none = {{0}};
    return none;
}

LAZYNET_INLINE void lazynet_add_lanes(lazynet_lanes *sums, const double *numbers) {
    for (int lane = 0; lane < LAZYNET_LANES; lane++) sums->each[lane] += numbers[lane];
}

LAZYNET_INLINE double lazynet_sum_of_lanes(const lazynet_lanes *sums) {
    const double *each = sums->each;
    return ((each[0] + each[4]) + (each[2] + each[6])) + ((each[1] + each[5]) + (each[3] + each[7]));
}
#endif

/* Four numbers to four places. */
LAZYNET_INLINE void lazynet_store_four(const double *numbers, double *to, ptrdiff_t a, ptrdiff_t b,
                                       ptrdiff_t c, ptrdiff_t d) {
#if LAZYNET_SHUFFLES
    /* Taken from a vector: from an array, compilers make a scatter instruction all the same. */
    lazynet_four four;
    memcpy(&four, numbers, sizeof four);
    to[a] = four[0], to[b] = four[1], to[c] = four[2], to[d] = four[3];
#else
    to[a] = numbers[0], to[b] = numbers[1], to[c] = numbers[2], to[d] = numbers[3];
#endif
}

enum { LAZYNET_CELLS = 4 }; /* weights that are stored from one vector */

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9 && defined(__x86_64__) && \
    defined(__gnu_linux__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_LEVELS 4
#else
#define LAZYNET_LEVELS 1
#endif

#define LAZYNET_PASTE_(a, b, c) a##_##b##_##c
#define LAZYNET_PASTE(a, b, c) LAZYNET_PASTE_(a, b, c)
#define LAZYNET_TYPED(name) LAZYNET_PASTE(lazynet_##name, LAZYNET_REAL_NAME, LAZYNET_LEVEL_NAME)

#define LAZYNET_LEVELLED_(name, level) lazynet_##name##_##level
#define LAZYNET_LEVELLED__(name, level) LAZYNET_LEVELLED_(name, level)
#define LAZYNET_LEVELLED(name) LAZYNET_LEVELLED__(name, LAZYNET_LEVEL_NAME)

enum { LAZYNET_CHECKED = 4096 }; /* columns that are copied and checked as one block */

/* Where a row begins and how long it is; false if that lies outside the arrays. */
LAZYNET_INLINE int lazynet_place_of(const lazynet_csr *X, ptrdiff_t row, ptrdiff_t *start,
                                    ptrdiff_t *length) {
    if (row < 0 || row >= X->n_rows) return 0;
    const int64_t begin = lazynet_start(X, row), end = lazynet_start(X, row + 1);
    if (begin < 0 || end < begin || end > (int64_t)X->n_values) return 0;
    *start = (ptrdiff_t)begin;
    *length = (ptrdiff_t)(end - begin);
    return 1;
}

#define LAZYNET_LEVEL_NAME generic
#include "rows_level.inc"
#undef LAZYNET_LEVEL_NAME

#if LAZYNET_LEVELS > 1
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#define LAZYNET_LEVEL_NAME v3
#include "rows_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl")
#define LAZYNET_LEVEL_NAME v4
#include "rows_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options

/* Level v4 with gather instructions.  Gathers are slower than single loads on many processors
 * (AMD's, and Intel's since the mitigation of 2023).  On processors with 16-bit floats, which are
 * newer than the flaw, gathers make the loops a tenth faster. */
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,tune=icelake-server")
#define LAZYNET_LEVEL_NAME gather
#include "rows_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options
#endif

#define LAZYNET_BY_TYPE(level) \
    (wide_values ? &lazynet_row_ops_f64_##level : &lazynet_row_ops_f32_##level)

/* The highest level that this machine can run. */
int lazynet_best_level(void) {
#if LAZYNET_LEVELS > 1
    /* Every extension that the levels above are compiled for, and popcnt, which they imply. */
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
          __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
          __builtin_cpu_supports("popcnt")))
        return 0;
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl")))
        return 1;
#if __GNUC__ >= 12 /* the first to know this one */
    if (__builtin_cpu_supports("avx512fp16")) return 3;
#endif
    return 2;
#else
    return 0;
#endif
}

const lazynet_row_ops *lazynet_row_ops_for(int wide_values, int level) {
#if LAZYNET_LEVELS > 1
    if (level == 3) return LAZYNET_BY_TYPE(gather);
    if (level == 2) return LAZYNET_BY_TYPE(v4);
    if (level == 1) return LAZYNET_BY_TYPE(v3);
#endif
    (void)level;
    return LAZYNET_BY_TYPE(generic);
}
