/* The row operations of one level, for each pair of types; rows.h includes this file per level. */

#define LAZYNET_REAL float
#define LAZYNET_REAL_NAME f32
#define LAZYNET_INDEX int32_t
#define LAZYNET_UNSIGNED uint32_t
#define LAZYNET_INDEX_NAME i32
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#define LAZYNET_REAL double
#define LAZYNET_REAL_NAME f64
#include "rows_typed.h"
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME

#define LAZYNET_INDEX int64_t
#define LAZYNET_UNSIGNED uint64_t
#define LAZYNET_INDEX_NAME i64
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#define LAZYNET_REAL float
#define LAZYNET_REAL_NAME f32
#include "rows_typed.h"
#undef LAZYNET_REAL
#undef LAZYNET_REAL_NAME
#undef LAZYNET_INDEX
#undef LAZYNET_UNSIGNED
#undef LAZYNET_INDEX_NAME
