// SPDX-License-Identifier: Apache-2.0
//
// The files that a device keeps a model in, for one check.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "driver/model/call_options.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/status.h"

namespace halyard::vts {

using CacheToken = std::array<uint8_t, 32>;

class CacheFolder {
  public:
    // In a folder below /data/local/tmp, removed with all files at the end. Where there is no such,
    // on no device of Android's, in memory: where temporary files go may be a file system that a
    // service does not take files of, such as a container's overlay.
    static Result<std::unique_ptr<CacheFolder>> create(const driver::NumberOfCacheFiles& wanted);
    ~CacheFolder();
    CacheFolder(const CacheFolder&) = delete;
    CacheFolder& operator=(const CacheFolder&) = delete;

    const std::vector<std::string>& modelFiles() const { return mModelFiles; }
    const std::vector<std::string>& dataFiles() const { return mDataFiles; }
    const std::string& furtherFile() const { return mFurtherFile; }
    // Other files to stand for the model files.
    const std::vector<std::string>& otherModelFiles() const { return mOtherModelFiles; }

    // All of them, open for reading and writing.
    Result<std::shared_ptr<driver::CompilationCache>> open(const CacheToken& token) const {
        return open(mModelFiles, token);
    }
    Result<std::shared_ptr<driver::CompilationCache>> open(
            const std::vector<std::string>& modelFiles, const CacheToken& token) const;
    // `mode`: O_RDWR and so on.
    static Result<FileDescriptor> openFile(const std::string& path, int mode);

    // Byte by byte over what is there, without cutting it.
    static Status copy(const std::vector<std::string>& from, const std::vector<std::string>& to);

  private:
    explicit CacheFolder(std::string path) : mPath(std::move(path)) {}

    // Its path.
    Result<std::string> makeFile(const std::string& name);
    Status makeFiles(const driver::NumberOfCacheFiles& wanted);

    const std::string mPath;  // empty: there is none
    std::vector<FileDescriptor> mInMemory;
    std::vector<std::string> mModelFiles;
    std::vector<std::string> mOtherModelFiles;
    std::vector<std::string> mDataFiles;
    std::string mFurtherFile;
};

// Cache files that are not what the device wants.
struct CacheAlteration {
    std::string what;
    std::function<Status(driver::CompilationCache& cache)> apply;
};
std::vector<CacheAlteration> wrongNumbersOfFiles(const CacheFolder& folder);
std::vector<CacheAlteration> wrongNumbersOfDescriptors();
// Each file in turn, open for something else.
std::vector<CacheAlteration> wrongAccessModes(const CacheFolder& folder, int mode);

}  // namespace halyard::vts
