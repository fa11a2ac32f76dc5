// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/open_descriptors.h"

#include <dirent.h>

namespace halyard::hal::testing {

size_t openDescriptors() {
    DIR* folder = opendir("/proc/self/fd");
    size_t count = 0;
    while (folder != nullptr && readdir(folder) != nullptr) {
        ++count;
    }
    closedir(folder);
    return count;
}

}  // namespace halyard::hal::testing
