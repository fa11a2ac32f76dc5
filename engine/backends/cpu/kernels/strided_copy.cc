// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/cpu/kernels/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "engine/backends/cpu/kernels/reversed_row.h"
#include "engine/backends/cpu/kernels/transposed_block.h"

namespace halyard::engine::cpu {
namespace {

// Elements of a block of a transpose, and those of its side where no axis is shorter.
constexpr int64_t kSide = 64;
constexpr int64_t kBlockElements = kSide * kSide;

// How an axis is cut: blocks of one length, but for the last, which may be shorter.
struct Cut {
    // `other`: the extent of the block's other axis.
    Cut(int64_t extent, int64_t other, size_t elementBytes) {
        const int64_t line = 64 / static_cast<int64_t>(elementBytes);
        const int64_t wanted = kBlockElements / std::min(other, kSide);
        const int64_t about = std::max<int64_t>(extent / wanted, 1);
        length = ((extent + about - 1) / about + line - 1) / line * line;
        blocks = (extent + length - 1) / length;
    }

    int64_t length = 0;
    int64_t blocks = 0;
};

// Without the call of a function for each row, where rows are short.
void copyShortRow(const std::byte* from, std::byte* to, int64_t bytes) {
    constexpr int64_t kVector = 16;
    if (bytes < kVector) {
        for (int64_t i = 0; i < bytes; ++i) {
            to[i] = from[i];
        }
        return;
    }
    // The last vector overlaps the one before.
    for (int64_t i = 0; i < bytes; i += kVector) {
        const int64_t first = std::min(i, bytes - kVector);
        std::memcpy(to + first, from + first, kVector);
    }
}

bool isAligned(const void* place, size_t bytes) {
    return reinterpret_cast<uintptr_t>(place) % bytes == 0;
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
    constexpr int64_t kShort = 64;
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
                for (int64_t i = begin; i < end && rowBytes <= kShort; ++i) {
                    copyShortRow(from + walk.offsets().from * size, to + walk.offsets().to * size,
                                 rowBytes);
                    walk.step();
                }
                for (int64_t i = begin; i < end && rowBytes > kShort; ++i) {
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
    const TransposeForms& forms = transposeForms(set);
    const Axis& rows = mAxes[mRank - 1];
    const Axis& columns = mAxes[along];
    const Cut down(rows.extent, columns.extent, sizeof(T));
    const Cut across(columns.extent, rows.extent, sizeof(T));
    const int64_t blocks = down.blocks * across.blocks;
    const int64_t matrices = Walk(*this, mRank - 1, along, 0).count();
    const int64_t bytes = std::min(down.length, rows.extent) *
                          std::min(across.length, columns.extent) * static_cast<int64_t>(sizeof(T));
    return call.inParallel(
            matrices * blocks, 16 + bytes / 8, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                Walk walk(*this, mRank - 1, along, begin / blocks);
                int64_t block = begin % blocks;
                for (int64_t i = begin; i < end; ++i) {
                    const int64_t row = block % down.blocks * down.length;
                    const int64_t column = block / down.blocks * across.length;
                    cpu::transpose(
                            forms,
                            TransposedBlock<T>{
                                    .from = from + walk.offsets().from + row * rows.from + column,
                                    .fromStride = rows.from,
                                    .to = to + walk.offsets().to + column * columns.to + row,
                                    .toStride = columns.to,
                                    .rows = std::min(down.length, rows.extent - row),
                                    .columns = std::min(across.length, columns.extent - column)});
                    if (++block == blocks) {
                        block = 0;
                        walk.step();
                    }
                }
            });
}

template <typename T>
Status StridedCopy::copyElements(KernelCall& call, const T* from, T* to, InstructionSet set) const {
    constexpr int64_t kChunk = 1 << 12;
    const Axis& row = mAxes[mRank - 1];
    const bool isReversed = row.from == -1 && row.to == 1;
    const bool isRepeated = row.from == 0 && row.to == 1;
    const bool isStrided = !isReversed && !isRepeated;
    const ReverseRow reverse = reverseRow(sizeof(T), set);
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
                                   if (isReversed) {
                                       reverse(reinterpret_cast<const std::byte*>(x - first),
                                               reinterpret_cast<std::byte*>(y + first),
                                               stop - first);
                                   }
                                   if (isRepeated) {
                                       std::fill(y + first, y + stop, *x);
                                   }
                                   for (int64_t j = first; j < stop && isStrided; ++j) {
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
    if (mAxes[mRank - 1].to == 1) {
        for (size_t axis = 0; axis + 1 < mRank; ++axis) {
            if (mAxes[axis].from == 1) {
                return transpose(call, axis, x, y, set);
            }
        }
    }
    return copyElements(call, x, y, set);
}

std::optional<StridedCopy> StridedCopy::ofRows(size_t rowBytes, const void* from, void* to) const {
    if (mRank < 2 || (rowBytes != 2 && rowBytes != 4 && rowBytes != 8) ||
        !isAligned(from, rowBytes) || !isAligned(to, rowBytes)) {
        return std::nullopt;
    }
    const int64_t extent = mAxes[mRank - 1].extent;
    StridedCopy rows;
    for (size_t axis = 0; axis + 1 < mRank; ++axis) {
        const Axis& each = mAxes[axis];
        if (each.from % extent != 0 || each.to % extent != 0) {
            return std::nullopt;
        }
        rows.addAxis(each.extent, each.from / extent, each.to / extent);
    }
    return rows;
}

Status StridedCopy::run(KernelCall& call, size_t elementBytes, const void* from, void* to,
                        InstructionSet set) const {
    if (mEmpty) {
        return {};
    }
    if (mRank == 0 || (mAxes[mRank - 1].from == 1 && mAxes[mRank - 1].to == 1)) {
        const size_t rowBytes =
                mRank == 0 ? 0 : static_cast<size_t>(mAxes[mRank - 1].extent) * elementBytes;
        if (const std::optional<StridedCopy> rows = ofRows(rowBytes, from, to)) {
            return rows->run(call, rowBytes, from, to, set);
        }
        return copyRows(call, elementBytes, static_cast<const std::byte*>(from),
                        static_cast<std::byte*>(to));
    }
    switch (elementBytes) {
        case 1:
            return copyOf<uint8_t>(call, from, to, set);
        case 2:
            return copyOf<uint16_t>(call, from, to, set);
        case 4:
            return copyOf<uint32_t>(call, from, to, set);
        default:
            return copyOf<uint64_t>(call, from, to, set);
    }
}

}  // namespace halyard::engine::cpu
