// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <span>

#include "engine/reference/kernels.h"
#include "engine/reference/multiply_accumulate.h"

namespace halyard::engine::ref {

Status run(const FullyConnected& node, KernelCall& call) {
    const int64_t length = call.input(1).shape()[1];
    const int64_t batch = call.output(0).shape()[0];
    const int64_t units = call.output(0).shape()[1];
    if (batch == 0 || units == 0) {
        return {};
    }
    const auto compute = [&](const auto& arithmetic) -> Status {
        for (int64_t row = 0; row < batch; ++row) {
            const auto computeUnit = [&](int64_t unit) -> Status {
                auto sum = arithmetic.start(unit);
                HALYARD_RETURN_IF_ERROR(inParts(call, length, [&](int64_t begin, int64_t end) {
                    sum = arithmetic.add(sum, row * length + begin, unit * length + begin,
                                         end - begin);
                }));
                arithmetic.store(row * units + unit, unit, sum);
                return {};
            };
            HALYARD_RETURN_IF_ERROR(call.forEach(units, 1, computeUnit));
        }
        return {};
    };
    return withMultiplyAccumulate(call, node.activation, compute);
}

}  // namespace halyard::engine::ref
