// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/process_memory.h"

#include <malloc.h>

#include <cinttypes>
#include <cstdio>
#include <string>

namespace halyard::runner {

namespace {

// A line of /proc/PID/status, whose format takes the number of kibibytes.
uint64_t readStatus(pid_t pid, const char* format) {
    FILE* file = fopen(("/proc/" + std::to_string(pid) + "/status").c_str(), "re");
    if (file == nullptr) {
        return 0;
    }
    uint64_t kibibytes = 0;
    char line[256];
    while (fgets(line, sizeof(line), file) != nullptr && sscanf(line, format, &kibibytes) != 1) {
    }
    fclose(file);
    return kibibytes * 1024;
}

}  // namespace

uint64_t peakRssBytes(pid_t pid) {
    return readStatus(pid, "VmHWM: %" SCNu64 " kB");
}

uint64_t rssBytes(pid_t pid) {
    return readStatus(pid, "VmRSS: %" SCNu64 " kB");
}

void forgetPeakRss() {
#ifdef __GLIBC__
    // Else what was freed would still be resident.
    malloc_trim(0);
#endif
    if (FILE* file = fopen("/proc/self/clear_refs", "we"); file != nullptr) {
        fputs("5", file);
        fclose(file);
    }
}

}  // namespace halyard::runner
