// SPDX-License-Identifier: Apache-2.0
//
// The mean of each channel of a tile that holds a feature map.

#pragma once

#include <string_view>

namespace halyard::engine::gpu {

// Behind kMeanText and kTileAccumulateText. With POOLED STORE_MEANS(values) stores for each channel
// the mean of a work-item's values and of those that others of the work-group have of it: of what
// they would be if they were stored, always in the same order. All work-items of the work-group
// have to be at it together; what `local_memory` held is read no more.
inline constexpr std::string_view kTileMeanText = R"(
#ifdef POOLED
#define POOL_PARAMETERS , const MeanNumbers mean
#define EPILOGUE_OF_GEMM(v, at) INNER_EPILOGUE(v, at)

#ifdef QUANTIZED
#define TOTAL int
#else
#define TOTAL float
#endif

// A value as LOAD reads it after STORE.
float stored_half(const float value) {
    ushort bits;
    vstore_half_rte(value, 0, (__private half*)&bits);
    return vload_half(0, (const __private half*)&bits);
}
#define STORED_F32(v) (v)
#define STORED_F16(v) stored_half(v)
#define STORED_U8(v) (v)
#define STORED_S8(v) (v)
#define STORED(T, v) PASTE(STORED_, T)(v)

#define STORE_MEANS(values)                                            \
    TOTAL total = 0;                                                   \
    UNROLL for (int i = 0; i < TM * TN / WORK_ITEMS; ++i) {            \
        if (POSITION(lane / TN + i * (WORK_ITEMS / TN)) >= 0) {        \
            total += STORED(R, values[i]);                             \
        }                                                              \
    }                                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                      \
    __local TOTAL* const totals = (__local TOTAL*)local_memory;        \
    totals[lane] = total;                                              \
    barrier(CLK_LOCAL_MEM_FENCE);                                      \
    if (lane < TN && has_channel) {                                    \
        UNROLL for (int other = 1; other < WORK_ITEMS / TN; ++other) { \
            total += totals[other * TN + lane];                        \
        }                                                              \
        VALUE(R) value = MEAN(total, mean);                            \
        const int at = tile * g.channels + channel;                    \
        EPILOGUE(value, at)                                            \
        STORE(R, output, at, value);                                   \
    }
#else
#define POOL_PARAMETERS
#define EPILOGUE_OF_GEMM(v, at) EPILOGUE(v, at)
#endif
)";

}  // namespace halyard::engine::gpu
