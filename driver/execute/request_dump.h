// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halyard::driver {

// Writes one tensor of a request to <directory>/<request>_<tensor>.dump: its elements as they lie
// in memory. A failure is logged as a warning; it never fails the request.
void dumpTensor(const std::string& directory, uint64_t request, std::string_view tensor,
                std::span<const uint8_t> bytes);

}  // namespace halyard::driver
