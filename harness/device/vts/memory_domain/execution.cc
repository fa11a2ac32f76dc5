// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/memory_domain/execution.h"

#include <algorithm>
#include <vector>

namespace halyard::vts {

using driver::HalVersion;

std::span<const DomainExecutor> domainExecutors() {
    static const std::vector<DomainExecutor> kExecutors = [] {
        std::vector<DomainExecutor> found;
        for (const std::span<const Executor> all : {executors(), fencedExecutors()}) {
            for (const Executor& executor : all) {
                const HalVersion first =
                        executor.name == "BURST" ? HalVersion::AIDL_V1 : HalVersion::V1_3;
                found.push_back({executor, std::max(executor.since, first)});
            }
        }
        return found;
    }();
    return kExecutors;
}

}  // namespace halyard::vts
