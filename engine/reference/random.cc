// SPDX-License-Identifier: Apache-2.0
//
// Random sampling: RandomMultinomial.

#include <sys/random.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "engine/numerics/philox.h"
#include "engine/numerics/reals.h"
#include "engine/reference/kernels.h"

namespace halyard::engine::ref {
namespace {

// Read once: a client may change them. Two zeros ask for any.
Result<PhiloxKey> readKey(const ConstTensorView& seeds) {
    const auto* const given = seeds.as<int32_t>();
    PhiloxKey key = {static_cast<uint32_t>(given[0]), static_cast<uint32_t>(given[1])};
    if (key == PhiloxKey{0, 0} &&
        getrandom(key.data(), sizeof key, 0) != static_cast<ssize_t>(sizeof key)) {
        return internalError("the kernel has no random numbers for the seeds");
    }
    return key;
}

// Turns logits into how probable a class or one before it is, times a constant, which is returned.
// The largest logit stands for 1, so that no sum overflows.
Result<double> accumulate(KernelCall& call, std::span<double> logits) {
    double largest = -std::numeric_limits<double>::infinity();
    const auto count = static_cast<int64_t>(logits.size());
    HALYARD_RETURN_IF_ERROR(call.forEach(count, 1, [&](int64_t i) {
        const double logit = logits[static_cast<size_t>(i)];
        largest = std::isfinite(logit) ? std::max(largest, logit) : largest;
    }));
    double total = 0.0;
    HALYARD_RETURN_IF_ERROR(call.forEach(count, 16, [&](int64_t i) {
        double& logit = logits[static_cast<size_t>(i)];
        total += std::isfinite(logit) ? std::exp(logit - largest) : 0.0;
        logit = total;
    }));
    return total;
}

}  // namespace

Status run(const RandomMultinomial& /*node*/, KernelCall& call) {
    const int64_t batch = call.input(0).shape()[0];
    const int64_t classes = call.input(0).shape()[1];
    const int64_t samples = call.output(0).shape()[1];
    HALYARD_ASSIGN_OR_RETURN(const PhiloxKey key, readKey(call.input(1)));
    HALYARD_ASSIGN_OR_RETURN(const std::span<double> cumulative,
                             call.scratch<double>(static_cast<size_t>(classes)));
    const RealReader x(call.input(0));
    auto* const output = call.output(0).as<int32_t>();
    for (int64_t row = 0; row < batch; ++row) {
        HALYARD_RETURN_IF_ERROR(call.forEach(classes, 1, [&](int64_t i) {
            cumulative[static_cast<size_t>(i)] = static_cast<double>(x[row * classes + i]);
        }));
        HALYARD_ASSIGN_OR_RETURN(const double total, accumulate(call, cumulative));
        // Rounding must not reach the total, beyond which there is no class.
        const double most = std::nextafter(total, 0.0);
        HALYARD_RETURN_IF_ERROR(call.forEach(samples, 64, [&](int64_t i) {
            const PhiloxCounter bits =
                    philox({static_cast<uint32_t>(i), static_cast<uint32_t>(row), 0, 0}, key);
            const double target = std::min(uniform(bits[0], bits[1]) * total, most);
            const auto found = std::ranges::upper_bound(cumulative, target);
            output[row * samples + i] =
                    total > 0.0 ? static_cast<int32_t>(found - cumulative.begin()) : 0;
        }));
    }
    return {};
}

}  // namespace halyard::engine::ref
