// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/backends/ref/evaluate.h"
#include "engine/backends/ref/progress.h"
#include "engine/backends/ref/weighted_sum.h"

namespace halyard::engine::ref {

Status supports(const FullyConnected& /*node*/, TypeList inputs, TypeList outputs) {
    return supportWeightedSum(inputs, outputs);
}

Status run(const FullyConnected& node, std::span<const ConstTensorView> inputs,
           std::span<const TensorView> outputs, Progress& progress) {
    const int64_t length = inputs[1].shape()[1];
    const int64_t batch = outputs[0].shape()[0];
    const int64_t units = outputs[0].shape()[1];
    if (batch == 0 || units == 0) {
        return {};
    }
    const auto compute = [&](const auto& arithmetic) -> Status {
        for (int64_t row = 0; row < batch; ++row) {
            HALYARD_RETURN_IF_ERROR(progress.forEach(units, 1 + length, [&](int64_t unit) {
                const auto sum =
                        arithmetic.add(arithmetic.start(unit), row * length, unit * length, length);
                arithmetic.store(row * units + unit, unit, sum);
            }));
        }
        return {};
    };
    return withWeightedSum(inputs, outputs[0], node.activation, compute);
}

}  // namespace halyard::engine::ref
