// SPDX-License-Identifier: Apache-2.0
//
// Tensors with something around them: a constant, or their mirror images. Axes behind the last one
// that is padded stay together: the output's rows lie along that axis, and each consists of what is
// around x, a row of x, and what is around it again. Every element is written once.

#include "engine/backends/cpu/data_movement/padding.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "engine/backends/cpu/data_movement/filling.h"
#include "engine/backends/cpu/kernels/reversed_row.h"
#include "engine/graph/control_input.h"
#include "engine/numerics/index_walk.h"

namespace halyard::engine::cpu {
namespace {

// An axis of the output, and the one of x in it.
struct PaddedAxis {
    int64_t before = 0;
    int64_t extent = 0;  // of x
    int64_t after = 0;
    int64_t stride = 0;  // of x, in elements

    int64_t outputExtent() const { return before + extent + after; }
    bool isPadded() const { return before != 0 || after != 0; }
    // Where element i of the output comes from, where it is x's own.
    std::optional<int64_t> source(int64_t i) const {
        return i >= before && i < before + extent ? std::optional(i - before) : std::nullopt;
    }
    // The same where x is mirrored: with its edge, where that is 1. Paddings are no longer than x.
    int64_t mirrored(int64_t i, int64_t edge) const {
        i -= before;
        if (i < 0) {
            return -i - edge;
        }
        return i < extent ? i : 2 * extent - 2 + edge - i;
    }
};

// The output as rows.
struct PaddedRows {
    std::array<PaddedAxis, kMaxRank + 1> axes;  // the rows lie along the last one
    size_t count = 0;
    int64_t inner = 1;  // neighbouring elements that stay together

    const PaddedAxis& along() const { return axes[count - 1]; }
    int64_t elements() const { return along().outputExtent() * inner; }
    int64_t rows() const {
        int64_t rows = 1;
        for (size_t axis = 0; axis + 1 < count; ++axis) {
            rows *= axes[axis].outputExtent();
        }
        return rows;
    }
    // Where a row begins in x, by sourceOf(axis, index), which says it of one of its axes; nothing
    // where that has none.
    template <typename SourceOf>
    std::optional<int64_t> sourceOf(int64_t row, SourceOf sourceOf) const {
        int64_t offset = 0;
        for (size_t axis = count - 1; axis-- > 0;) {
            const int64_t extent = axes[axis].outputExtent();
            const std::optional<int64_t> source = sourceOf(axes[axis], row % extent);
            if (!source.has_value()) {
                return std::nullopt;
            }
            offset += *source * axes[axis].stride;
            row /= extent;
        }
        return offset;
    }
};

PaddedRows rowsOf(const Shape& x, const Paddings& paddings, int64_t elementBytes) {
    // Of so many bytes, what stays together is a row of its own: threads share out rows.
    constexpr int64_t kLong = 1 << 10;
    const Strides strides = stridesOf(x);
    PaddedRows rows;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
        rows.axes[axis] = {.before = paddings[axis].before,
                           .extent = x[axis],
                           .after = paddings[axis].after,
                           .stride = strides[axis]};
        if (rows.axes[axis].isPadded()) {
            rows.count = axis + 1;
        }
    }
    const int64_t together = rows.count == 0 ? countOf(x) : strides[rows.count - 1];
    if (rows.count == 0 || together * elementBytes >= kLong) {
        rows.axes[rows.count++] = {.extent = together, .stride = 1};
    } else {
        rows.inner = together;
    }
    return rows;
}

// Calls row(number, target) for all rows.
template <typename Row>
Status forEachRow(KernelCall& call, const PaddedRows& rows, int64_t elementBytes, Row row) {
    auto* const to = call.output(0).as<std::byte>();
    const int64_t bytes = rows.elements() * elementBytes;
    return call.inParallel(rows.rows(), 16 + bytes / 16,
                           [&](int64_t begin, int64_t end, size_t /*worker*/) {
                               for (int64_t i = begin; i < end; ++i) {
                                   row(i, to + i * bytes);
                               }
                           });
}

template <typename T>
Status surround(KernelCall& call, const PaddedRows& rows, T value) {
    const PaddedAxis& along = rows.along();
    const int64_t before = along.before * rows.inner;
    const int64_t own = along.extent * rows.inner;
    const T* const from = call.input(0).as<T>();
    return forEachRow(call, rows, sizeof(T), [&](int64_t i, std::byte* target) {
        T* const to = reinterpret_cast<T*>(target);
        const std::optional<int64_t> source = rows.sourceOf(
                i, [](const PaddedAxis& axis, int64_t index) { return axis.source(index); });
        if (!source.has_value() || own == 0) {
            std::fill_n(to, rows.elements(), value);
            return;
        }
        std::fill_n(to, before, value);
        std::memcpy(to + before, from + *source, static_cast<size_t>(own) * sizeof(T));
        std::fill_n(to + before + own, along.after * rows.inner, value);
    });
}

Status mirror(KernelCall& call, const PaddedRows& rows, int64_t edge, InstructionSet set) {
    const auto size = static_cast<int64_t>(elementSize(call.output(0).type->type));
    const PaddedAxis& along = rows.along();
    const int64_t bytes = rows.inner * size;
    const ReverseRow reverse = reverseRow(static_cast<size_t>(size), set);
    const auto reversed = [&](const std::byte* last, std::byte* to, int64_t count) {
        if (rows.inner == 1) {
            reverse(last, to, count);
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            std::memcpy(to + i * bytes, last - i * bytes, static_cast<size_t>(bytes));
        }
    };
    const auto* const from = call.input(0).as<std::byte>();
    return forEachRow(call, rows, size, [&](int64_t i, std::byte* target) {
        const auto source = rows.sourceOf(i, [&](const PaddedAxis& axis, int64_t index) {
                                    return std::optional(axis.mirrored(index, edge));
                                }).value_or(0);
        const auto at = [&](int64_t element) {
            return from + source * size + along.mirrored(element, edge) * bytes;
        };
        const int64_t end = along.before + along.extent;
        if (along.before > 0) {
            reversed(at(0), target, along.before);
        }
        std::memcpy(target + along.before * bytes, at(along.before),
                    static_cast<size_t>(along.extent * bytes));
        if (along.after > 0) {
            reversed(at(end), target + end * bytes, along.after);
        }
    });
}

}  // namespace

Status padRows(const Pad& node, KernelCall& call, InstructionSet set) {
    const ConstTensorView& x = call.input(0);
    const TensorType& output = *call.output(0).type;
    HALYARD_ASSIGN_OR_RETURN(const Paddings paddings,
                             readPaddings(call.input(1), output.shape.rank()));
    const auto size = static_cast<int64_t>(elementSize(output.type));
    const PaddedRows rows = rowsOf(x.shape(), paddings, size);
    if (node.mode != Pad::Mode::CONSTANT) {
        return mirror(call, rows, node.mode == Pad::Mode::SYMMETRIC ? 1 : 0, set);
    }
    const ConstTensorView& value = call.input(2);
    return withMovedElements(output.type, [&]<typename T>() -> Status {
        return surround(call, rows, value.present() ? *value.as<T>() : zeroElement<T>(output));
    });
}

}  // namespace halyard::engine::cpu
