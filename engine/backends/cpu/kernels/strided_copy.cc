// SPDX-License-Identifier: Apache-2.0

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/backends/cpu/kernels/strided_copy.cc"
#include "engine/backends/cpu/vectors/targets.h"

#include "engine/backends/cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>

#ifndef HALYARD_ENGINE_BACKENDS_CPU_STRIDED_COPY_CC_
#define HALYARD_ENGINE_BACKENDS_CPU_STRIDED_COPY_CC_
namespace halyard::engine::cpu {

// to[column * toStride + row] = from[row * fromStride + column].
template <typename T>
struct TransposedBlock {
    const T* from = nullptr;
    int64_t fromStride = 0;
    T* to = nullptr;
    int64_t toStride = 0;
    int64_t rows = 0;
    int64_t columns = 0;
};

struct Transposes {
    void (*bytes)(const TransposedBlock<uint8_t>& block);
    void (*halfWords)(const TransposedBlock<uint16_t>& block);
    void (*words)(const TransposedBlock<uint32_t>& block);
};

}  // namespace halyard::engine::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace halyard::engine::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Interleaving the first half of the rows with the second one, as often as a row's length has bits,
// leaves the columns.
template <typename T>
HWY_INLINE void transposeSquare(const TransposedBlock<T>& block, int64_t row, int64_t column) {
    constexpr int kN = 16 / sizeof(T);
    const hn::FixedTag<T, kN> tag;
    hn::Vec<decltype(tag)> rows[kN];
    for (int i = 0; i < kN; ++i) {
        rows[i] = hn::LoadU(tag, block.from + (row + i) * block.fromStride + column);
    }
    for (int length = kN; length > 1; length /= 2) {
        hn::Vec<decltype(tag)> mixed[kN];
        for (int i = 0; i < kN / 2; ++i) {
            mixed[2 * i] = hn::InterleaveLower(tag, rows[i], rows[i + kN / 2]);
            mixed[2 * i + 1] = hn::InterleaveUpper(tag, rows[i], rows[i + kN / 2]);
        }
        std::copy(mixed, mixed + kN, rows);
    }
    for (int i = 0; i < kN; ++i) {
        hn::StoreU(rows[i], tag, block.to + (column + i) * block.toStride + row);
    }
}

template <typename T>
void transpose(const TransposedBlock<T>& block) {
    constexpr int64_t kN = 16 / sizeof(T);
    const int64_t rows = block.rows / kN * kN;
    const int64_t columns = block.columns / kN * kN;
    const auto move = [&](int64_t row, int64_t column) {
        block.to[column * block.toStride + row] = block.from[row * block.fromStride + column];
    };
    for (int64_t column = 0; column < columns; column += kN) {
        for (int64_t row = 0; row < rows; row += kN) {
            transposeSquare(block, row, column);
        }
    }
    for (int64_t column = columns; column < block.columns; ++column) {
        for (int64_t row = 0; row < rows; ++row) {
            move(row, column);
        }
    }
    for (int64_t column = 0; column < block.columns; ++column) {
        for (int64_t row = rows; row < block.rows; ++row) {
            move(row, column);
        }
    }
}

}  // namespace

const Transposes* transposes() {
    static const Transposes kForm = {.bytes = transpose<uint8_t>,
                                     .halfWords = transpose<uint16_t>,
                                     .words = transpose<uint32_t>};
    return &kForm;
}

}  // namespace HWY_NAMESPACE
}  // namespace halyard::engine::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halyard::engine::cpu {
namespace {

void apply(const Transposes& form, const TransposedBlock<uint8_t>& block) {
    form.bytes(block);
}
void apply(const Transposes& form, const TransposedBlock<uint16_t>& block) {
    form.halfWords(block);
}
void apply(const Transposes& form, const TransposedBlock<uint32_t>& block) {
    form.words(block);
}

}  // namespace

void StridedCopy::addAxis(int64_t extent, int64_t fromStride, int64_t toStride) {
    mEmpty = mEmpty || extent == 0;
    if (extent <= 1) {
        return;
    }
    if (mRank > 0) {
        Axis& outer = mAxes[mRank - 1];
        if (outer.from == extent * fromStride && outer.to == extent * toStride) {
            outer = {.extent = outer.extent * extent, .from = fromStride, .to = toStride};
            return;
        }
    }
    mAxes[mRank++] = {.extent = extent, .from = fromStride, .to = toStride};
}

// The indices of some axes, one after the other.
class StridedCopy::Walk {
  public:
    // Of the axes but those at `last` and `along`, from index `first` on.
    Walk(const StridedCopy& copy, size_t last, size_t along, int64_t first) {
        for (size_t axis = 0; axis < copy.mRank; ++axis) {
            if (axis != last && axis != along) {
                mAxes[mRank++] = copy.mAxes[axis];
            }
        }
        for (size_t axis = mRank; axis-- > 0;) {
            mIndex[axis] = first % mAxes[axis].extent;
            first /= mAxes[axis].extent;
            mOffsets.from += mIndex[axis] * mAxes[axis].from;
            mOffsets.to += mIndex[axis] * mAxes[axis].to;
        }
    }
    const Offsets& offsets() const { return mOffsets; }
    void step() {
        for (size_t axis = mRank; axis-- > 0;) {
            mOffsets.from += mAxes[axis].from;
            mOffsets.to += mAxes[axis].to;
            if (++mIndex[axis] < mAxes[axis].extent) {
                return;
            }
            mOffsets.from -= mIndex[axis] * mAxes[axis].from;
            mOffsets.to -= mIndex[axis] * mAxes[axis].to;
            mIndex[axis] = 0;
        }
    }
    int64_t count() const {
        int64_t count = 1;
        for (size_t axis = 0; axis < mRank; ++axis) {
            count *= mAxes[axis].extent;
        }
        return count;
    }

  private:
    std::array<Axis, 2 * kMaxRank> mAxes;
    std::array<int64_t, 2 * kMaxRank> mIndex{};
    size_t mRank = 0;
    Offsets mOffsets;
};

// Rows that lie dense on both sides, in chunks that threads can share.
Status StridedCopy::copyRows(KernelCall& call, size_t elementBytes, const std::byte* from,
                             std::byte* to) const {
    constexpr int64_t kChunk = 1 << 15;
    const bool dense = mRank > 0 && mAxes[mRank - 1].from == 1 && mAxes[mRank - 1].to == 1;
    const size_t last = dense ? mRank - 1 : mRank;
    const auto size = static_cast<int64_t>(elementBytes);
    const int64_t rowBytes = (dense ? mAxes[last].extent : 1) * size;
    const int64_t chunks = (rowBytes + kChunk - 1) / kChunk;
    const int64_t rows = Walk(*this, last, last, 0).count();
    // Memory gives some 16 bytes for each instruction.
    const int64_t operations = 8 + std::min(rowBytes, kChunk) / 16;
    return call.inParallel(
            rows * chunks, operations, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                Walk walk(*this, last, last, begin / chunks);
                int64_t chunk = begin % chunks;
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t first = chunk * kChunk;
                    std::memcpy(to + walk.offsets().to * size + first,
                                from + walk.offsets().from * size + first,
                                static_cast<size_t>(std::min(kChunk, rowBytes - first)));
                    if (++chunk == chunks) {
                        chunk = 0;
                        walk.step();
                    }
                }
            });
}

// The last axis is dense in what is written, the one at `along` in what is read.
template <typename T>
Status StridedCopy::transpose(KernelCall& call, size_t along, const T* from, T* to,
                              InstructionSet set) const {
    constexpr int64_t kSide = 64;
    const Transposes& form = *HALYARD_CPU_CHOOSE(set, transposes)();
    const Axis& rows = mAxes[mRank - 1];
    const Axis& columns = mAxes[along];
    const int64_t across = (columns.extent + kSide - 1) / kSide;
    const int64_t down = (rows.extent + kSide - 1) / kSide;
    const int64_t matrices = Walk(*this, mRank - 1, along, 0).count();
    const int64_t operations = std::min(rows.extent, kSide) * std::min(columns.extent, kSide) / 2;
    return call.inParallel(
            matrices * across * down, operations,
            [&](int64_t begin, int64_t end, size_t /*worker*/) {
                Walk walk(*this, mRank - 1, along, begin / (across * down));
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t row = i % down * kSide;
                    const int64_t column = i / down % across * kSide;
                    apply(form, {.from = from + walk.offsets().from + row * rows.from + column,
                                 .fromStride = rows.from,
                                 .to = to + walk.offsets().to + column * columns.to + row,
                                 .toStride = columns.to,
                                 .rows = std::min(kSide, rows.extent - row),
                                 .columns = std::min(kSide, columns.extent - column)});
                    if ((i + 1) % (across * down) == 0) {
                        walk.step();
                    }
                }
            });
}

template <typename T>
Status StridedCopy::copyElements(KernelCall& call, const T* from, T* to) const {
    constexpr int64_t kChunk = 1 << 12;
    const Axis& row = mAxes[mRank - 1];
    const int64_t chunks = (row.extent + kChunk - 1) / kChunk;
    const int64_t rows = Walk(*this, mRank - 1, mRank - 1, 0).count();
    return call.inParallel(rows * chunks, 8 + 2 * std::min(row.extent, kChunk),
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               Walk walk(*this, mRank - 1, mRank - 1, begin / chunks);
                               int64_t chunk = begin % chunks;
                               for (int64_t i = begin; i < end; ++i) {
                                   const int64_t first = chunk * kChunk;
                                   const int64_t stop = std::min(first + kChunk, row.extent);
                                   const T* x = from + walk.offsets().from;
                                   T* y = to + walk.offsets().to;
                                   for (int64_t j = first; j < stop; ++j) {
                                       y[j * row.to] = x[j * row.from];
                                   }
                                   if (++chunk == chunks) {
                                       chunk = 0;
                                       walk.step();
                                   }
                               }
                           });
}

template <typename T>
Status StridedCopy::copyOf(KernelCall& call, const void* from, void* to, InstructionSet set) const {
    const auto* x = static_cast<const T*>(from);
    auto* y = static_cast<T*>(to);
    // Below these extents blocks are mostly edges.
    constexpr int64_t kLeast = 4;
    if (mAxes[mRank - 1].to == 1 && mAxes[mRank - 1].extent >= kLeast) {
        for (size_t axis = 0; axis + 1 < mRank; ++axis) {
            if (mAxes[axis].from == 1 && mAxes[axis].extent >= kLeast) {
                return transpose(call, axis, x, y, set);
            }
        }
    }
    return copyElements(call, x, y);
}

Status StridedCopy::run(KernelCall& call, size_t elementBytes, const void* from, void* to,
                        InstructionSet set) const {
    if (mEmpty) {
        return {};
    }
    if (mRank == 0 || (mAxes[mRank - 1].from == 1 && mAxes[mRank - 1].to == 1)) {
        return copyRows(call, elementBytes, static_cast<const std::byte*>(from),
                        static_cast<std::byte*>(to));
    }
    switch (elementBytes) {
        case 1:
            return copyOf<uint8_t>(call, from, to, set);
        case 2:
            return copyOf<uint16_t>(call, from, to, set);
        default:
            return copyOf<uint32_t>(call, from, to, set);
    }
}

}  // namespace halyard::engine::cpu
#endif
