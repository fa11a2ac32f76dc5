// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "engine/backends/ref/elements.h"
#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/index_walk.h"
#include "engine/backends/ref/mean.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/type_support.h"
#include "engine/graph/control_input.h"

namespace halyard::engine::ref {

Status supports(const Reduce& /*node*/, TypeList inputs, TypeList outputs) {
    HALYARD_RETURN_IF_ERROR(supportType(inputs, 0, isComputable, "input"));
    return supportTypes({}, outputs, isComputable);
}

Status run(const Reduce& /*node*/, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const ConstTensorView& x = inputs[0];
    const TensorView& output = outputs[0];
    HALYARD_ASSIGN_OR_RETURN(const std::bitset<kMaxRank> reduced,
                             readAxes(inputs[1], x.shape().rank()));
    // The input as two nested walks: over the extents that are kept, and over those that are not.
    Shape kept = x.shape();
    Shape folded = x.shape();
    for (size_t axis = 0; axis < x.shape().rank(); ++axis) {
        (reduced[axis] ? kept : folded)[axis] = 1;
    }
    if (countOf(kept) != countOf(output.shape())) {
        return invalidArgument("the axes changed while the node ran");
    }
    const std::array<Strides, 1> strides = {stridesOf(x.shape())};
    int64_t index = 0;
    if (isFloat(x.type->type)) {
        return withFloatElements(x.type->type, [&]<typename T>() -> Status {
            return walk(
                    kept, strides, progress, [&](const std::array<int64_t, 1>& start) -> Status {
                        FloatMean mean;
                        HALYARD_RETURN_IF_ERROR(walk(
                                folded, strides, progress, [&](const std::array<int64_t, 1>& at) {
                                    mean.add(toReal(x.as<T>()[start[0] + at[0]]));
                                }));
                        output.as<T>()[index++] = fromReal<T>(mean.value());
                        return {};
                    });
        });
    }
    const QuantizedRange range = rangeOf(output.type->type);
    return withQuantizedElements(x.type->type, [&]<typename T>() -> Status {
        return walk(kept, strides, progress, [&](const std::array<int64_t, 1>& start) -> Status {
            QuantizedMean mean(*x.type, *output.type);
            HALYARD_RETURN_IF_ERROR(
                    walk(folded, strides, progress, [&](const std::array<int64_t, 1>& at) {
                        mean.add(x.as<T>()[start[0] + at[0]]);
                    }));
            output.as<T>()[index++] = static_cast<T>(mean.value(range));
            return {};
        });
    });
}

}  // namespace halyard::engine::ref
