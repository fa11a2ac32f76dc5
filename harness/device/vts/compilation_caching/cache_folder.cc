// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/compilation_caching/cache_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/base/file_descriptor.h"

namespace halyard::vts {
namespace {

using driver::CompilationCache;
using Files = std::vector<FileDescriptor> CompilationCache::*;

std::string temporaryFolder() {
    constexpr const char* kOfDevices = "/data/local/tmp";
    if (access(kOfDevices, W_OK) == 0) {
        return kOfDevices;
    }
    const char* const said = std::getenv("TMPDIR");
    return said == nullptr ? "/tmp" : said;
}

Status openAll(const std::vector<std::string>& paths, std::vector<FileDescriptor>& files) {
    for (const std::string& path : paths) {
        HALYARD_ASSIGN_OR_RETURN(FileDescriptor file, CacheFolder::openFile(path, O_RDWR));
        files.push_back(std::move(file));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<CacheFolder>> CacheFolder::create(const driver::NumberOfCacheFiles& wanted) {
    std::string path = temporaryFolder() + "/halyard-cache-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
        return internalError(path + ": " + std::strerror(errno));
    }
    return std::unique_ptr<CacheFolder>(new CacheFolder(std::move(path), wanted));
}

CacheFolder::CacheFolder(std::string path, const driver::NumberOfCacheFiles& wanted)
    : mPath(std::move(path)), mFurtherFile(mPath + "/further") {
    for (uint32_t i = 0; i < wanted.model; ++i) {
        mModelFiles.push_back(mPath + "/model" + std::to_string(i));
    }
    for (uint32_t i = 0; i < wanted.data; ++i) {
        mDataFiles.push_back(mPath + "/data" + std::to_string(i));
    }
}

CacheFolder::~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(mPath, ignored);
}

std::vector<std::string> CacheFolder::otherModelFiles() const {
    std::vector<std::string> paths = mModelFiles;
    for (std::string& path : paths) {
        path += "_other";
    }
    return paths;
}

Result<std::shared_ptr<CompilationCache>> CacheFolder::open(
        const std::vector<std::string>& modelFiles, const CacheToken& token) const {
    auto cache = std::make_shared<CompilationCache>();
    HALYARD_RETURN_IF_ERROR(openAll(modelFiles, cache->modelFiles));
    HALYARD_RETURN_IF_ERROR(openAll(mDataFiles, cache->dataFiles));
    cache->token = token;
    return cache;
}

Result<FileDescriptor> CacheFolder::openFile(const std::string& path, int mode) {
    // There has to be one to be read.
    constexpr mode_t kOwner = 0600;
    FileDescriptor file(::open(path.c_str(), mode | O_CREAT | O_CLOEXEC, kOwner));
    return file.valid() ? Result<FileDescriptor>(std::move(file))
                        : internalError(path + ": " + std::strerror(errno));
}

Status CacheFolder::copy(const std::vector<std::string>& from, const std::vector<std::string>& to) {
    constexpr size_t kBlock = 1 << 16;
    std::vector<char> block(kBlock);
    for (size_t i = 0; i < from.size(); ++i) {
        HALYARD_ASSIGN_OR_RETURN(const FileDescriptor source, openFile(from[i], O_RDONLY));
        HALYARD_ASSIGN_OR_RETURN(const FileDescriptor target, openFile(to[i], O_WRONLY));
        for (;;) {
            const ssize_t count = read(source.get(), block.data(), block.size());
            if (count <= 0) {
                break;
            }
            if (write(target.get(), block.data(), static_cast<size_t>(count)) != count) {
                return internalError(to[i] + ": " + std::strerror(errno));
            }
        }
    }
    return {};
}

std::vector<CacheAlteration> wrongNumbersOfFiles(const CacheFolder& folder) {
    const auto oneMore = [path = folder.furtherFile()](Files files) {
        return [path, files](CompilationCache& cache) -> Status {
            HALYARD_ASSIGN_OR_RETURN(FileDescriptor file, CacheFolder::openFile(path, O_RDWR));
            (cache.*files).push_back(std::move(file));
            return {};
        };
    };
    const auto oneLess = [](Files files) {
        return [files](CompilationCache& cache) -> Status {
            (cache.*files).pop_back();
            return {};
        };
    };
    std::vector<CacheAlteration> wrong = {
            {"one model file too many", oneMore(&CompilationCache::modelFiles)},
            {"one data file too many", oneMore(&CompilationCache::dataFiles)}};
    if (!folder.modelFiles().empty()) {
        wrong.push_back({"one model file too few", oneLess(&CompilationCache::modelFiles)});
    }
    if (!folder.dataFiles().empty()) {
        wrong.push_back({"one data file too few", oneLess(&CompilationCache::dataFiles)});
    }
    return wrong;
}

std::vector<CacheAlteration> wrongNumbersOfDescriptors() {
    const auto each = [](uint32_t descriptors) {
        return [descriptors](CompilationCache& cache) -> Status {
            cache.descriptorsPerFile = descriptors;
            return {};
        };
    };
    return {{"two descriptors for each file", each(2)}, {"no descriptor for any file", each(0)}};
}

std::vector<CacheAlteration> wrongAccessModes(const CacheFolder& folder, int mode) {
    std::vector<CacheAlteration> wrong;
    const auto add = [&](const std::vector<std::string>& paths, Files files,
                         const std::string& kind) {
        for (size_t i = 0; i < paths.size(); ++i) {
            wrong.push_back({kind + " file " + std::to_string(i) + " open for " +
                                     (mode == O_RDONLY ? "reading" : "writing") + " alone",
                             [path = paths[i], files, i, mode](CompilationCache& cache) -> Status {
                                 HALYARD_ASSIGN_OR_RETURN((cache.*files)[i],
                                                          CacheFolder::openFile(path, mode));
                                 return {};
                             }});
        }
    };
    add(folder.modelFiles(), &CompilationCache::modelFiles, "model");
    add(folder.dataFiles(), &CompilationCache::dataFiles, "data");
    return wrong;
}

}  // namespace halyard::vts
