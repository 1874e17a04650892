/* The loops over rows of weights, for both types of weights and each vector level (wide.h).
 * setup.py links this file into the extension module `outputs` alone.
 *
 * Property: every level gives the same bits (tests/exact/test_outputs.py).
 */
#include "wide.h"

#include <float.h>

#include "elementary.h"

/* GCC would unroll the loop over nonzeros around the loop over a line of outputs and then find no
 * vectors in it, which makes the loops over floats three times as slow. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-loop-unroll-and-jam")
#endif

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9 && defined(__x86_64__) && \
    defined(__gnu_linux__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_OUTPUT_LEVELS 3
#else
#define LAZYNET_OUTPUT_LEVELS 1
#endif

#define LAZYNET_OUTPUT_PASTE_(name, level) lazynet_output_##name##_##level
#define LAZYNET_OUTPUT_PASTE(name, level) LAZYNET_OUTPUT_PASTE_(name, level)
#define LAZYNET_OUTPUT(name) LAZYNET_OUTPUT_PASTE(name, LAZYNET_LEVEL_NAME)
#define LAZYNET_WIDE_PASTE_(name, real, level) lazynet_wide_##name##_##real##_##level
#define LAZYNET_WIDE_PASTE(name, real, level) LAZYNET_WIDE_PASTE_(name, real, level)
#define LAZYNET_WIDE(name) LAZYNET_WIDE_PASTE(name, LAZYNET_REAL_NAME, LAZYNET_LEVEL_NAME)

#define LAZYNET_LINES_AT_ONCE 1
#define LAZYNET_LEVEL_NAME generic
#include "wide_level.inc"
#undef LAZYNET_LEVEL_NAME

#if LAZYNET_OUTPUT_LEVELS > 1
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#define LAZYNET_LEVEL_NAME v3
#include "wide_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,prefer-vector-width=512")
#undef LAZYNET_LINES_AT_ONCE
#define LAZYNET_LINES_AT_ONCE 2
#define LAZYNET_LEVEL_NAME v4
#include "wide_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options
#endif

const lazynet_wide_ops *lazynet_wide_ops_for(int wide, int level, int kind) {
#if LAZYNET_OUTPUT_LEVELS > 1
    if (level >= 2)
        return wide ? &lazynet_wide_ops_f64_v4[kind] : &lazynet_wide_ops_f32_v4[kind];
    if (level == 1)
        return wide ? &lazynet_wide_ops_f64_v3[kind] : &lazynet_wide_ops_f32_v3[kind];
#endif
    (void)level;
    return wide ? &lazynet_wide_ops_f64_generic[kind] : &lazynet_wide_ops_f32_generic[kind];
}

const lazynet_output_ops *lazynet_output_ops_for(int level) {
#if LAZYNET_OUTPUT_LEVELS > 1
    if (level >= 2) return &lazynet_output_ops_v4;
    if (level == 1) return &lazynet_output_ops_v3;
#endif
    (void)level;
    return &lazynet_output_ops_generic;
}
