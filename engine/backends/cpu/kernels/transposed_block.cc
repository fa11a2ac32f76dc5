// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/kernels/transposed_block.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/kernels/transposed_block.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Bytes of a 128-bit block of a vector, inside of which elements are interleaved, and of the widest
// vector here.
constexpr int kBlockBytes = 16;
constexpr int kMostBytes = HWY_TARGET == HWY_AVX3 ? 64 : HWY_TARGET == HWY_AVX2 ? 32 : 16;
constexpr int64_t kLineBytes = 64;

// A vector whose blocks are those at `from`, and `apart` elements from each to the next.
template <class D, typename T>
HWY_INLINE hn::Vec<D> loadBlocks(D d, const T* from, int64_t apart) {
    if constexpr (sizeof(T) * hn::MaxLanes(d) == kBlockBytes) {
        return hn::LoadU(d, from);
    } else {
        constexpr hn::Half<D> kHalf = {};
        constexpr auto kBlocks =
                static_cast<int64_t>(sizeof(T) * hn::MaxLanes(kHalf)) / kBlockBytes;
        return hn::Combine(d, loadBlocks(kHalf, from + kBlocks * apart, apart),
                           loadBlocks(kHalf, from, apart));
    }
}

// A tile: rows of kBytes, columns of one 128-bit block, that is kN x kN elements for each block of
// a vector. Interleaving the first half of the vectors with the second one, as often as kN has
// bits, leaves the columns, whole vectors of the output.
template <int kBytes, typename T>
HWY_INLINE void transposeTile(const T* from, int64_t fromStride, T* to, int64_t toStride) {
    constexpr int kN = kBlockBytes / static_cast<int>(sizeof(T));
    const hn::FixedTag<T, kBytes / sizeof(T)> tag;
    hn::Vec<decltype(tag)> rows[kN];
    hn::Vec<decltype(tag)> mixed[kN];
    HALYARD_UNROLL
    for (int i = 0; i < kN; ++i) {
        rows[i] = loadBlocks(tag, from + i * fromStride, kN * fromStride);
    }
    HALYARD_UNROLL
    for (int length = kN; length > 1; length /= 2) {
        HALYARD_UNROLL
        for (int i = 0; i < kN / 2; ++i) {
            mixed[2 * i] = hn::InterleaveLower(tag, rows[i], rows[i + kN / 2]);
            mixed[2 * i + 1] = hn::InterleaveUpper(tag, rows[i], rows[i + kN / 2]);
        }
        HALYARD_UNROLL
        for (int i = 0; i < kN; ++i) {
            rows[i] = mixed[i];
        }
    }
    HALYARD_UNROLL
    for (int i = 0; i < kN; ++i) {
        hn::StoreU(rows[i], tag, to + i * toStride);
    }
}

// `rows` rows, a multiple of kStep or at least that many, in tiles of kBytes. What is written to a
// cache line is written in one go: with strides of a power of 2 few lines stay in the L1.
template <int kBytes, typename T>
void transposeRows(const TransposedBlock<T>& block) {
    constexpr int64_t kN = kBlockBytes / sizeof(T);
    constexpr int64_t kRows = kBytes / sizeof(T);
    constexpr int64_t kLine = std::max(kRows, kLineBytes / static_cast<int64_t>(sizeof(T)));
    // The last tile of a row or a column begins where it ends with the block.
    for (int64_t line = 0; line < block.rows; line += kLine) {
        const int64_t end = std::min(line + kLine, block.rows);
        for (int64_t column = 0; column < block.columns; column += kN) {
            const int64_t left = std::min(column, block.columns - kN);
            for (int64_t row = line; row < end; row += kRows) {
                const int64_t top = std::min(row, block.rows - kRows);
                transposeTile<kBytes>(block.from + top * block.fromStride + left, block.fromStride,
                                      block.to + left * block.toStride + top, block.toStride);
            }
        }
    }
}

// Element by element.
template <typename T>
void transposeElements(const TransposedBlock<T>& block) {
    const auto move = [&](int64_t row, int64_t column) {
        block.to[column * block.toStride + row] = block.from[row * block.fromStride + column];
    };
    if (block.rows < block.columns) {
        for (int64_t column = 0; column < block.columns; ++column) {
            for (int64_t row = 0; row < block.rows; ++row) {
                move(row, column);
            }
        }
        return;
    }
    for (int64_t row = 0; row < block.rows; ++row) {
        for (int64_t column = 0; column < block.columns; ++column) {
            move(row, column);
        }
    }
}

// So many rows, one after the other in each column of the output: a vector of each at a time.
template <int kRows, class D, typename T>
HWY_INLINE void interleave(D d, const TransposedBlock<T>& block, int64_t column) {
    const auto row = [&](int64_t i) HWY_ATTR {
        return hn::LoadU(d, block.from + i * block.fromStride + column);
    };
    T* const to = block.to + column * kRows;
    if constexpr (kRows == 2) {
        hn::StoreInterleaved2(row(0), row(1), d, to);
    } else if constexpr (kRows == 3) {
        hn::StoreInterleaved3(row(0), row(1), row(2), d, to);
    } else {
        hn::StoreInterleaved4(row(0), row(1), row(2), row(3), d, to);
    }
}

// So many columns, one after the other in each row of the input.
template <int kColumns, class D, typename T>
HWY_INLINE void separate(D d, const TransposedBlock<T>& block, int64_t row) {
    const T* const from = block.from + row * kColumns;
    hn::Vec<D> columns[4];
    if constexpr (kColumns == 2) {
        hn::LoadInterleaved2(d, from, columns[0], columns[1]);
    } else if constexpr (kColumns == 3) {
        hn::LoadInterleaved3(d, from, columns[0], columns[1], columns[2]);
    } else {
        hn::LoadInterleaved4(d, from, columns[0], columns[1], columns[2], columns[3]);
    }
    HALYARD_UNROLL
    for (int i = 0; i < kColumns; ++i) {
        hn::StoreU(columns[i], d, block.to + i * block.toStride + row);
    }
}

// Calls step(tag, first) for vectors that cover [0, count), and says whether there were enough
// elements for one. The last of them overlaps the one before.
template <typename T, typename Step>
HWY_INLINE bool inVectors(int64_t count, Step step) {
    const auto cover = [&](auto tag) HWY_ATTR {
        const auto lanes = static_cast<int64_t>(hn::MaxLanes(tag));
        if (count < lanes) {
            return false;
        }
        for (int64_t i = 0; i < count; i += lanes) {
            step(tag, std::min(i, count - lanes));
        }
        return true;
    };
    return cover(hn::FixedTag<T, kMostBytes / sizeof(T)>()) ||
           cover(hn::FixedTag<T, kBlockBytes / sizeof(T)>());
}

template <int kExtent, typename T>
bool transposeDense(const TransposedBlock<T>& block) {
    if (block.rows == kExtent && block.toStride == kExtent) {
        return inVectors<T>(block.columns, [&](auto tag, int64_t column) HWY_ATTR {
            interleave<kExtent>(tag, block, column);
        });
    }
    if (block.columns == kExtent && block.fromStride == kExtent) {
        return inVectors<T>(block.rows, [&](auto tag, int64_t row)
                                                HWY_ATTR { separate<kExtent>(tag, block, row); });
    }
    return false;
}

template <typename T>
void transpose(const TransposedBlock<T>& block) {
    constexpr int64_t kN = kBlockBytes / sizeof(T);
    if (transposeDense<2>(block) || transposeDense<3>(block) || transposeDense<4>(block)) {
        return;
    }
    if (block.rows < kN || block.columns < kN) {
        transposeElements(block);
    } else if (block.rows >= static_cast<int64_t>(kMostBytes / sizeof(T))) {
        transposeRows<kMostBytes>(block);
    } else {
        transposeRows<kBlockBytes>(block);
    }
}

}  // namespace

const TransposeForms* formsOfTarget() {
    static const TransposeForms kForms = {.bytes = transpose<uint8_t>,
                                          .halfWords = transpose<uint16_t>,
                                          .words = transpose<uint32_t>,
                                          .doubleWords = transpose<uint64_t>};
    return &kForms;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {

const TransposeForms& transposeForms(InstructionSet set) {
    return *HALYARD_CPU_CHOOSE(set, formsOfTarget)();
}

}  // namespace halyard::engine::cpu
#endif
