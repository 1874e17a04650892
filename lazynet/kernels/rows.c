#include "rows.h"

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 9 && defined(__x86_64__) && \
    defined(__gnu_linux__) && !defined(LAZYNET_DEBUG)
#define LAZYNET_LEVELS 4
#else
#define LAZYNET_LEVELS 1
#endif

#define LAZYNET_PASTE_(a, b, c, d) a##_##b##_##c##_##d
#define LAZYNET_PASTE(a, b, c, d) LAZYNET_PASTE_(a, b, c, d)
#define LAZYNET_TYPED(name) \
    LAZYNET_PASTE(lazynet_##name, LAZYNET_REAL_NAME, LAZYNET_INDEX_NAME, LAZYNET_LEVEL_NAME)

#define LAZYNET_LEVELLED_(name, level) lazynet_##name##_##level
#define LAZYNET_LEVELLED__(name, level) LAZYNET_LEVELLED_(name, level)
#define LAZYNET_LEVELLED(name) LAZYNET_LEVELLED__(name, LAZYNET_LEVEL_NAME)

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

/* The same with gather instructions.  They are slower than single loads on many processors (AMD's,
 * and Intel's since the mitigation of 2023) and a tenth faster overall on those that have 16-bit
 * floats, which are newer than the flaw. */
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,fma")
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,tune=icelake-server")
#define LAZYNET_LEVEL_NAME gather
#include "rows_level.inc"
#undef LAZYNET_LEVEL_NAME
#pragma GCC pop_options
#endif

#define LAZYNET_BY_TYPE(level)                                                   \
    (wide_values ? wide_indices ? &lazynet_row_ops_f64_i64_##level               \
                                : &lazynet_row_ops_f64_i32_##level               \
     : wide_indices ? &lazynet_row_ops_f32_i64_##level                           \
                    : &lazynet_row_ops_f32_i32_##level)

/* The highest level that this machine can run. */
int lazynet_best_level(void) {
#if LAZYNET_LEVELS > 1
    /* Every extension that the levels above are compiled for, and what these imply. */
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

const lazynet_row_ops *lazynet_row_ops_for(int wide_values, int wide_indices, int level) {
#if LAZYNET_LEVELS > 1
    if (level == 3) return LAZYNET_BY_TYPE(gather);
    if (level == 2) return LAZYNET_BY_TYPE(v4);
    if (level == 1) return LAZYNET_BY_TYPE(v3);
#endif
    (void)level;
    return LAZYNET_BY_TYPE(generic);
}
