// SPDX-License-Identifier: Apache-2.0

#include "engine/base/core_capacities.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>

#include "engine/base/file_descriptor.h"

namespace halyard {
namespace {

constexpr int kMostCores = 1024;

std::optional<uint32_t> capacityIn(const std::string& file) {
    const FileDescriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    char text[16];
    const ssize_t length = descriptor.get() < 0 ? -1 : ::read(descriptor.get(), text, sizeof text);
    uint32_t value = 0;
    if (length <= 0) {
        return std::nullopt;
    }
    const auto [end, error] = std::from_chars(text, text + length, value);
    const bool isWhole = end == text + length || *end == '\n';
    return error == std::errc() && isWhole && value >= 1 && value <= CoreCapacities::kFull
                   ? std::optional(value)
                   : std::nullopt;
}

}  // namespace

CoreCapacities CoreCapacities::read(const std::string& root) {
    std::vector<uint32_t> ofCores;
    for (int core = 0; core < kMostCores; ++core) {
        const std::string folder = root + "/cpu" + std::to_string(core);
        if (!FileDescriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)).valid()) {
            break;
        }
        ofCores.push_back(capacityIn(folder + "/cpu_capacity").value_or(kFull));
    }
    return CoreCapacities(std::move(ofCores));
}

bool CoreCapacities::areAlike() const {
    return std::ranges::all_of(mOfCores,
                               [this](uint32_t each) { return each == mOfCores.front(); });
}

}  // namespace halyard
