// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/cache_directory.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/prepare/cache_key.h"
#include "driver/prepare/sha256.h"
#include "engine/base/log.h"

namespace halyard::runner {
namespace {

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string hex(std::span<const uint8_t> bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const uint8_t byte : bytes) {
        text += kDigits[byte >> 4U];
        text += kDigits[byte & 15U];
    }
    return text;
}

Status openFiles(const std::string& prefix, uint32_t count, std::vector<FileDescriptor>& files) {
    for (uint32_t i = 0; i < count; ++i) {
        const std::string path = prefix + std::to_string(i);
        FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        if (!file.valid()) {
            return internalError(path + ": " + std::strerror(errno));
        }
        files.push_back(std::move(file));
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const driver::CompilationCache>> openCache(
        const std::string& folder, const pb::Model& model, driver::ExecutionPreference preference,
        const Target& target) {
    const Result<driver::NumberOfCacheFiles> wanted = target.device->numberOfCacheFiles();
    if (!wanted.ok() && wanted.status().code() != StatusCode::UNSUPPORTED) {
        return wanted.status();
    }
    if (!wanted.ok() || *wanted == driver::NumberOfCacheFiles()) {
        return std::shared_ptr<const driver::CompilationCache>();
    }
    driver::Sha256 hash;
    hash.add(bytesOf(std::to_string(static_cast<int>(preference)) + " "));
    hash.add(bytesOf(model.SerializeAsString()));
    auto cache = std::make_shared<driver::CompilationCache>();
    std::ranges::copy(hash.finish(), cache->token.begin());
    static_cast<void>(mkdir(folder.c_str(), 0700));
    const std::string prefix = folder + "/" + hex(cache->token);
    HALYARD_RETURN_IF_ERROR(openFiles(prefix + ".model", wanted->model, cache->modelFiles));
    HALYARD_RETURN_IF_ERROR(openFiles(prefix + ".data", wanted->data, cache->dataFiles));
    if (target.driver != nullptr) {
        Result<std::shared_ptr<const driver::CacheKey>> key = driver::CacheKey::open(folder);
        if (key.ok()) {
            cache->key = std::move(*key);
        } else {
            log(LogLevel::WARNING,
                "no program for a GPU is kept: " + std::string(key.status().message()));
        }
    }
    return std::shared_ptr<const driver::CompilationCache>(std::move(cache));
}

}  // namespace halyard::runner
