// SPDX-License-Identifier: Apache-2.0

#include "engine/base/write_all.h"

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>

namespace halyard {

bool writeAll(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(file, text.data(), text.size());
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

}  // namespace halyard
