// SPDX-License-Identifier: Apache-2.0

#include "nnapi/compilation_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "driver/prepare/sha256.h"
#include "engine/base/log.h"

namespace halyard::nnapi {
namespace {

// What is hashed: numbers as they lie in memory, texts with their length before them, so that no
// two of them look like one.
class Hash {
  public:
    template <typename T>
    void number(T value) {
        mHash.add({reinterpret_cast<const uint8_t*>(&value), sizeof value});
    }
    void bytes(std::span<const uint8_t> bytes) {
        number(uint64_t{bytes.size()});
        mHash.add(bytes);
    }
    void text(std::string_view text) {
        bytes({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
    }
    CompilationFiles::Token finish() { return mHash.finish(); }

  private:
    driver::Sha256 mHash;
};

// Two letters a byte, the low half of it first.
std::string lettersOf(const CompilationFiles::Token& name) {
    std::string letters;
    for (const uint8_t byte : name) {
        letters.push_back(static_cast<char>('A' + (byte & 0xF)));
        letters.push_back(static_cast<char>('A' + (byte >> 4)));
    }
    return letters;
}

Result<std::vector<FileDescriptor>> openFiles(const std::string& prefix, uint32_t count,
                                              bool isNew) {
    std::vector<FileDescriptor> files;
    for (uint32_t i = 0; i < count; ++i) {
        const std::string path = prefix + std::to_string(i);
        FileDescriptor file(open(
                path.c_str(), isNew ? O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC : O_RDWR | O_CLOEXEC,
                S_IRUSR | S_IWUSR));
        if (!file.valid()) {
            return internalError(path + ": " + std::strerror(errno));
        }
        files.push_back(std::move(file));
    }
    return files;
}

Result<std::vector<FileDescriptor>> again(std::span<const FileDescriptor> files) {
    std::vector<FileDescriptor> copies;
    for (const FileDescriptor& file : files) {
        FileDescriptor copy(fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
        if (!copy.valid()) {
            return internalError(std::string("a descriptor of the cache: ") + std::strerror(errno));
        }
        copies.push_back(std::move(copy));
    }
    return copies;
}

}  // namespace

CompilationFiles::CompilationFiles(std::vector<FileDescriptor> models,
                                   std::vector<FileDescriptor> data, const Token& token)
    : mToken(token), mModels(std::move(models)), mData(std::move(data)) {}

CompilationFiles::Token CompilationFiles::nameOf(const RuntimeDevice& device,
                                                 std::span<const uint32_t> operations,
                                                 const CompilationIdentity& identity) const {
    Hash hash;
    hash.bytes(mToken);
    hash.text(device.name());
    hash.text(device.versionString());
    hash.number(static_cast<int32_t>(identity.preference));
    hash.number(static_cast<int32_t>(identity.priority));
    for (const uint32_t operation : operations) {
        hash.number(operation);
    }
    std::vector<std::pair<std::string, const driver::ExtensionHints::TokenValuePair*>> hints;
    for (const auto& pair : identity.hints.pairs) {
        const auto named = std::ranges::find(identity.hints.extensionNameToPrefix,
                                             static_cast<uint16_t>(pair.token >> 16),
                                             &driver::ExtensionNameAndPrefix::prefix);
        hints.emplace_back(named->name, &pair);
    }
    std::ranges::sort(hints, {}, [](const auto& hint) {
        return std::pair(hint.first, hint.second->token & 0xFFFF);
    });
    for (const auto& [name, pair] : hints) {
        hash.text(name);
        hash.number(pair->token & 0xFFFF);
        hash.bytes(pair->value);
    }
    return hash.finish();
}

std::shared_ptr<const driver::CompilationCache> CompilationFiles::open(
        const RuntimeDevice& device, std::span<const uint32_t> operations,
        const CompilationIdentity& identity, bool isNew) const {
    const driver::NumberOfCacheFiles count = device.cacheFiles();
    if (count == driver::NumberOfCacheFiles{}) {
        return nullptr;
    }
    auto cache = std::make_shared<driver::CompilationCache>();
    cache->token = nameOf(device, operations, identity);
    const std::string prefix = mFolder + "/" + lettersOf(cache->token);
    Result<std::vector<FileDescriptor>> models =
            mFolder.empty() ? again(mModels) : openFiles(prefix + "1", count.model, isNew);
    Result<std::vector<FileDescriptor>> data =
            mFolder.empty() ? again(mData) : openFiles(prefix + "2", count.data, isNew);
    if (!models.ok() || !data.ok()) {
        if (isNew) {
            const Status& failure = models.ok() ? data.status() : models.status();
            log(LogLevel::WARNING, "the model is not kept: " + std::string(failure.message()));
        }
        return nullptr;
    }
    cache->modelFiles = *std::move(models);
    cache->dataFiles = *std::move(data);
    // A device of another process has a key of its own.
    if (device.isInProcess() && !mFolder.empty()) {
        Result<std::shared_ptr<const driver::CacheKey>> key = driver::CacheKey::open(mFolder);
        if (!key.ok()) {
            log(LogLevel::WARNING, "the model is not kept: " + std::string(key.status().message()));
            return nullptr;
        }
        cache->key = *std::move(key);
    }
    return cache;
}

}  // namespace halyard::nnapi
