// SPDX-License-Identifier: Apache-2.0
//
// The two files of a compilation cache, for tests that look at them and change them.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/call_options.h"
#include "driver/prepare/kept_data.h"
#include "driver/prepare/sha256.h"
#include "engine/base/byte_parts.h"
#include "engine/base/file_descriptor.h"

namespace halyard::driver {

// A file without a name.
class TestFile {
  public:
    TestFile() : mFile(memfd_create("cache", MFD_CLOEXEC)) {}

    std::vector<uint8_t> bytes() const {
        struct stat status = {};
        fstat(mFile.get(), &status);
        std::vector<uint8_t> read(static_cast<size_t>(status.st_size));
        if (pread(mFile.get(), read.data(), read.size(), 0) != static_cast<ssize_t>(read.size())) {
            std::abort();
        }
        return read;
    }
    void set(std::span<const uint8_t> bytes) {
        if (ftruncate(mFile.get(), 0) != 0 || pwrite(mFile.get(), bytes.data(), bytes.size(), 0) !=
                                                      static_cast<ssize_t>(bytes.size())) {
            std::abort();
        }
    }
    void flip(size_t at, uint8_t bits) {
        uint8_t byte = 0;
        if (pread(mFile.get(), &byte, 1, static_cast<off_t>(at)) != 1) {
            std::abort();
        }
        byte ^= bits;
        if (pwrite(mFile.get(), &byte, 1, static_cast<off_t>(at)) != 1) {
            std::abort();
        }
    }
    // Another look at the file, which stands at its own offset.
    FileDescriptor open(int mode) const {
        return FileDescriptor(
                ::open(("/proc/self/fd/" + std::to_string(mFile.get())).c_str(), mode | O_CLOEXEC));
    }

  private:
    const FileDescriptor mFile;
};

struct TestCacheFiles {
    TestFile model;
    TestFile data;
    std::array<uint8_t, 32> token = {1, 2, 3};

    std::shared_ptr<CompilationCache> cache(int modelMode = O_RDWR, int dataMode = O_RDWR) const {
        auto cache = std::make_shared<CompilationCache>();
        cache->modelFiles.push_back(model.open(modelMode));
        cache->dataFiles.push_back(data.open(dataMode));
        cache->token = token;
        return cache;
    }
    PrepareOptions options() const {
        PrepareOptions options;
        options.cache = cache();
        return options;
    }
    using Content = std::pair<std::vector<uint8_t>, std::vector<uint8_t>>;
    Content content() const { return {model.bytes(), data.bytes()}; }
    void set(const Content& content) {
        model.set(content.first);
        data.set(content.second);
    }
};

// A forgery that can be made with the files but without the key: a model file of a device without
// one that vouches for other data, of which so many bytes come before the constants.
inline std::vector<uint8_t> forgedModelFile(std::vector<uint8_t> model,
                                            const std::array<uint8_t, 32>& token,
                                            std::span<const uint8_t> data, size_t control) {
    class NoSink final : public ByteSink {
        Status write(std::span<const uint8_t> /*bytes*/) override { return {}; }
    };
    // Where a model file has the data file's size and how much of it steers; the digest and the
    // seal come last.
    constexpr size_t kSizes = 12;
    constexpr ptrdiff_t kDigest = sizeof(Sha256::Digest);
    NoSink none;
    KeptDataSink summing(none, control);
    if (!summing.write(data).ok()) {
        std::abort();
    }
    const std::array<uint64_t, 2> sizes = {data.size(), control};
    std::memcpy(model.data() + kSizes, sizes.data(), sizeof sizes);
    std::ranges::copy(summing.finish(), model.end() - 2 * kDigest);
    Sha256 sealing;
    sealing.add(token);
    sealing.add(std::span(model).first(model.size() - sizeof(Sha256::Digest)));
    std::ranges::copy(sealing.finish(), model.end() - kDigest);
    return model;
}

// How much of a data file steers, as its model file says.
inline size_t controlBytes(std::span<const uint8_t> modelFile) {
    uint64_t control = 0;
    std::memcpy(&control, modelFile.data() + 20, sizeof control);
    return static_cast<size_t>(control);
}

}  // namespace halyard::driver
