// SPDX-License-Identifier: Apache-2.0

#include "driver/trace/numbered_dump.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "engine/base/write_all.h"

namespace halyard::driver {
namespace {

std::string prefixOf(const std::string& folder, std::string_view name, uint32_t number) {
    std::array<char, 16> digits = {};
    std::snprintf(digits.data(), digits.size(), "-%03u", number);
    return folder + "/" + std::string(name) + digits.data();
}

void warn(const std::string& path) {
    log(LogLevel::WARNING, "can't write " + path + ": " + std::strerror(errno));
}

}  // namespace

std::optional<NumberedDump> NumberedDump::begin(const std::string& folder, std::string_view name,
                                                std::string_view firstFile,
                                                std::atomic<uint32_t>& taken) {
    while (!folder.empty() && taken < kMost) {
        const uint32_t number = ++taken;
        if (number > kMost) {
            break;
        }
        std::string prefix = prefixOf(folder, name, number);
        const std::string path = prefix + std::string(firstFile);
        const FileDescriptor file(
                ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
        if (file.valid()) {
            return NumberedDump(std::move(prefix));
        }
        if (errno != EEXIST) {
            warn(path);
            return std::nullopt;
        }
    }
    return std::nullopt;
}

void NumberedDump::write(std::string_view file, std::string_view text) const {
    const std::string path = mPrefix + std::string(file);
    const FileDescriptor opened(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!opened.valid() || !writeAll(opened.get(), text.substr(0, kMostFileBytes))) {
        warn(path);
    }
}

}  // namespace halyard::driver
