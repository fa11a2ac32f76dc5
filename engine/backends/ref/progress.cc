// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/ref/progress.h"

namespace halyard::engine::ref {

Status Progress::ask() {
    if (mExpired()) {
        return {StatusCode::DEADLINE_EXCEEDED, "the deadline passed while it ran"};
    }
    mUntilAsked = kInterval;
    return {};
}

}  // namespace halyard::engine::ref
