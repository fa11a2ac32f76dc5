// SPDX-License-Identifier: Apache-2.0
//
// The two files of a compilation cache, for tests that look at them and change them.

#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/call_options.h"
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

}  // namespace halyard::driver
