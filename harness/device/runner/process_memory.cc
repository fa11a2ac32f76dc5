// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/process_memory.h"

#include <cinttypes>
#include <cstdio>
#include <string>

namespace halyard::runner {

uint64_t peakRssBytes(pid_t pid) {
    FILE* file = fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "re");
    if (file == nullptr) {
        return 0;
    }
    uint64_t kibibytes = 0;
    char line[256];
    while (fgets(line, sizeof(line), file) != nullptr &&
           sscanf(line, "VmHWM: %" SCNu64 " kB", &kibibytes) != 1) {
    }
    fclose(file);
    return kibibytes * 1024;
}

}  // namespace halyard::runner
