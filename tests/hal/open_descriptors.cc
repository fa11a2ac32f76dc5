// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/open_descriptors.h"

#include <dirent.h>

#include <chrono>
#include <thread>

#include "hal/descriptors/client_workers.h"
#include "hal/descriptors/descriptor_kind.h"

namespace halyard::hal::testing {
namespace {

size_t count() {
    DIR* folder = opendir("/proc/self/fd");
    size_t entries = 0;
    while (folder != nullptr && readdir(folder) != nullptr) {
        ++entries;
    }
    closedir(folder);
    return entries;
}

}  // namespace

size_t openDescriptors() {
    // Descriptors that an earlier test left to be closed on other threads are not counted in this
    // one. Where a thread is stuck with one, it stays.
    for (int i = 0; i < 200 && ClientWorkers::here().pending() > 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    // It keeps one for good from its first use on, whichever test that is in.
    prepareDescriptorKinds();
    size_t before = count();
    for (int i = 0; i < 200; ++i) {
        // One that is just being closed is none that waits.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const size_t now = count();
        if (now == before) {
            break;
        }
        before = now;
    }
    return before;
}

}  // namespace halyard::hal::testing
