// SPDX-License-Identifier: Apache-2.0

#include "engine/base/checkpoint.h"

#include <string>

namespace halyard {

Status Checkpoint::check(std::string_view when) const {
    if (!expired()) {
        return {};
    }
    if (mCancelled != nullptr && mCancelled->load(std::memory_order_relaxed)) {
        return {StatusCode::UNAVAILABLE, "cancelled " + std::string(when)};
    }
    return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed " + std::string(when)};
}

}  // namespace halyard
