// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/request_layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "hal/memory/shared_memory.h"
#include "harness/device/cases/canonical_model.h"
#include "harness/device/vts/read_only_memory.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;

// Of the arguments that the runtime places itself: where one begins, and what it is filled up to.
constexpr uint64_t kCacheLine = 64;

uint64_t filledUp(uint64_t length) {
    return (length + kCacheLine - 1) / kCacheLine * kCacheLine;
}

// Their lengths stay as they are. Arguments of 4 GiB have been refused before.
void pad(std::vector<driver::RequestArgument>& arguments) {
    for (driver::RequestArgument& argument : arguments) {
        if (!argument.hasNoValue) {
            argument.location.padding =
                    filledUp(argument.location.length) - argument.location.length;
        }
    }
}

}  // namespace

Result<driver::Request> generatedRequest(const runner::pb::Example& example, HalVersion version) {
    HALYARD_ASSIGN_OR_RETURN(driver::Request request, runner::toCanonical(example));
    if (version < HalVersion::AIDL_V1) {
        return request;
    }
    pad(request.inputs);
    pad(request.outputs);
    for (size_t i = 0; i < request.pools.size(); ++i) {
        auto& pool = std::get<driver::SharedMemory>(request.pools[i]);
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> from, pool->map());
        // Each argument begins with a cache line, so that only the last one's padding is missing.
        const auto size = static_cast<size_t>(filledUp(pool->size()));
        driver::SharedMemory padded;
        if (i == runner::kOutputPool) {
            HALYARD_ASSIGN_OR_RETURN(hal::ExportedMemory shared, hal::createSharedMemory(size));
            padded = std::move(shared.memory);
        } else {
            HALYARD_ASSIGN_OR_RETURN(padded, createReadOnlyMemory(size));
        }
        HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> to, padded->map());
        std::ranges::copy(from, to.begin());
        pool = std::move(padded);
    }
    return request;
}

void makeShort(driver::RequestArgument& output, HalVersion version) {
    --output.location.length;
    if (version >= HalVersion::AIDL_V1) {
        ++output.location.padding;
    }
}

}  // namespace halyard::vts
