// SPDX-License-Identifier: Apache-2.0
//
// Tensors with their mirror images around them. Axes behind the last one that is padded stay
// together: the output's rows lie along that axis, and consist of elements in reverse, a row of x,
// and elements in reverse.

#include "engine/backends/cpu/data_movement/mirroring.h"

#include <cstdint>
#include <cstring>

#include "engine/backends/cpu/kernels/reversed_row.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::cpu {
namespace {

// An axis of the output, and the one of x in it.
struct MirroredAxis {
    int64_t before = 0;
    int64_t extent = 0;  // of x
    int64_t edge = 0;    // 1: the elements at the edge are mirrored, too

    // Where element i of the output comes from. Paddings are no longer than x.
    int64_t source(int64_t i) const {
        i -= before;
        if (i < 0) {
            return -i - edge;
        }
        return i < extent ? i : 2 * extent - 2 + edge - i;
    }
};

}  // namespace

Status mirror(const Pad& node, KernelCall& call, InstructionSet set) {
    const Shape& x = call.input(0).shape();
    const Shape& output = call.output(0).shape();
    const size_t rank = output.rank();
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings, readPaddings(call.input(1), rank));
    const int64_t edge = node.mode == Pad::Mode::SYMMETRIC ? 1 : 0;
    std::array<MirroredAxis, kMaxRank> axes;
    size_t along = 0;  // the last axis that is padded
    for (size_t axis = 0; axis < rank; ++axis) {
        axes[axis] = {.before = paddings[axis].before, .extent = x[axis], .edge = edge};
        along = paddings[axis].before != 0 || paddings[axis].after != 0 ? axis : along;
    }
    const Strides strides = stridesOf(x);
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    if (rank == 0) {
        std::memcpy(call.output(0).data, call.input(0).data, static_cast<size_t>(size));
        return {};
    }
    const int64_t inner = strides[along];  // neighbouring elements that stay together
    const MirroredAxis& row = axes[along];
    const int64_t outputRow = output[along];
    const int64_t after = outputRow - row.before - row.extent;
    const ReverseRow reverse = reverseRow(static_cast<size_t>(size), set);
    const auto reversed = [&](const std::byte* last, std::byte* to, int64_t count) {
        if (inner == 1) {
            reverse(last, to, count);
            return;
        }
        const int64_t bytes = inner * size;
        for (int64_t i = 0; i < count; ++i) {
            std::memcpy(to + i * bytes, last - i * bytes, static_cast<size_t>(bytes));
        }
    };
    const auto* const from = call.input(0).as<std::byte>();
    auto* const to = call.output(0).as<std::byte>();
    const int64_t rowBytes = outputRow * inner * size;
    const int64_t rows = countOf(output) / (outputRow * inner);
    return call.inParallel(
            rows, 16 + rowBytes / 16, [&](int64_t begin, int64_t end, size_t /*worker*/) {
                for (int64_t i = begin; i < end; ++i) {
                    int64_t rest = i;
                    int64_t offset = 0;
                    for (size_t axis = along; axis-- > 0;) {
                        offset += axes[axis].source(rest % output[axis]) * strides[axis];
                        rest /= output[axis];
                    }
                    const std::byte* const source = from + offset * size;
                    const auto at = [&](int64_t element) {
                        return source + row.source(element) * inner * size;
                    };
                    std::byte* const target = to + i * rowBytes;
                    const int64_t middle = row.before + row.extent;
                    reversed(at(0), target, row.before);
                    std::memcpy(target + row.before * inner * size, source,
                                static_cast<size_t>(row.extent * inner * size));
                    if (after > 0) {
                        reversed(at(middle), target + middle * inner * size, after);
                    }
                }
            });
}

}  // namespace halyard::engine::cpu
