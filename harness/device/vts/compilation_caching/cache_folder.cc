// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/compilation_caching/cache_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
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

// Of devices, for what a shell puts there.
constexpr const char* kTemporary = "/data/local/tmp";

Status openAll(const std::vector<std::string>& paths, std::vector<FileDescriptor>& files) {
    for (const std::string& path : paths) {
        HALYARD_ASSIGN_OR_RETURN(FileDescriptor file, CacheFolder::openFile(path, O_RDWR));
        files.push_back(std::move(file));
    }
    return {};
}

}  // namespace

Result<std::unique_ptr<CacheFolder>> CacheFolder::create(const driver::NumberOfCacheFiles& wanted) {
    std::string path;
    if (access(kTemporary, W_OK) == 0) {
        path = std::string(kTemporary) + "/halyard-cache-XXXXXX";
        if (mkdtemp(path.data()) == nullptr) {
            return internalError(path + ": " + std::strerror(errno));
        }
    }
    std::unique_ptr<CacheFolder> folder(new CacheFolder(std::move(path)));
    HALYARD_RETURN_IF_ERROR(folder->makeFiles(wanted));
    return folder;
}

Result<std::string> CacheFolder::makeFile(const std::string& name) {
    if (!mPath.empty()) {
        return mPath + "/" + name;
    }
    FileDescriptor file(memfd_create(name.c_str(), MFD_CLOEXEC));
    if (!file.valid()) {
        return internalError(name + ": " + std::strerror(errno));
    }
    mInMemory.push_back(std::move(file));
    return "/proc/self/fd/" + std::to_string(mInMemory.back().get());
}

Status CacheFolder::makeFiles(const driver::NumberOfCacheFiles& wanted) {
    const auto make = [this](const std::string& name, uint32_t count,
                             std::vector<std::string>& paths) -> Status {
        for (uint32_t i = 0; i < count; ++i) {
            HALYARD_ASSIGN_OR_RETURN(std::string path, makeFile(name + std::to_string(i)));
            paths.push_back(std::move(path));
        }
        return {};
    };
    HALYARD_RETURN_IF_ERROR(make("model", wanted.model, mModelFiles));
    HALYARD_RETURN_IF_ERROR(make("other", wanted.model, mOtherModelFiles));
    HALYARD_RETURN_IF_ERROR(make("data", wanted.data, mDataFiles));
    HALYARD_ASSIGN_OR_RETURN(mFurtherFile, makeFile("further"));
    return {};
}

CacheFolder::~CacheFolder() {
    if (!mPath.empty()) {
        std::error_code ignored;
        std::filesystem::remove_all(mPath, ignored);
    }
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
