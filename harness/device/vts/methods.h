// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>

#include "driver/model/versions.h"

namespace halyard::vts {

// AIDL 4 has two methods for one thing: those of the versions before it, and others that take a
// config: executeSynchronously() and executeSynchronouslyWithConfig(). A device has to know both.
enum class Methods : uint8_t { PLAIN, WITH_CONFIG };

// Those of a version. Before AIDL 4 the plain ones are all.
inline std::span<const Methods> methodsOf(driver::HalVersion version) {
    static constexpr Methods kBoth[] = {Methods::PLAIN, Methods::WITH_CONFIG};
    return std::span(kBoth).first(version >= driver::HalVersion::AIDL_V4 ? 2 : 1);
}

}  // namespace halyard::vts
