// SPDX-License-Identifier: Apache-2.0

#include "litert/program/program_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/base/build_identity.h"
#include "engine/base/checksum.h"
#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "engine/base/section_file.h"
#include "engine/base/trusted_path.h"
#include "engine/base/version.h"
#include "engine/base/write_all.h"
#include "engine/graph/serialization.h"

namespace halyard::litert {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".program";

std::span<const uint8_t> bytesOf(std::string_view text) {
    return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Two sums over the same bytes that have nothing in common: the second is of the first bytes' sum
// and of the bytes with a mark between.
class Key {
  public:
    Key() { mSecond.add(bytesOf("second")); }
    void add(std::span<const uint8_t> bytes) {
        mFirst.add(bytes);
        mSecond.add(bytes);
    }
    // With its length before it, so that no two lists of texts look alike.
    void addText(std::string_view text) {
        const auto size = static_cast<uint64_t>(text.size());
        add({reinterpret_cast<const uint8_t*>(&size), sizeof size});
        add(bytesOf(text));
    }
    std::string digits() const {
        std::array<char, 33> text = {};
        std::snprintf(text.data(), text.size(), "%016" PRIx64 "%016" PRIx64, mFirst.value(),
                      mSecond.value());
        return text.data();
    }

  private:
    Checksum mFirst;
    Checksum mSecond;
};

class KeySink : public ByteSink {
  public:
    explicit KeySink(Key& key) : mKey(key) {}
    Status write(std::span<const uint8_t> bytes) override {
        mKey.add(bytes);
        return {};
    }

  private:
    Key& mKey;
};

class FileSink : public ByteSink {
  public:
    explicit FileSink(int file) : mFile(file) {}
    Status write(std::span<const uint8_t> bytes) override {
        if (!writeAll(mFile, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) {
            return internalError(std::string("it can't be written: ") + std::strerror(errno));
        }
        return {};
    }

  private:
    const int mFile;
};

struct Mapping {
    Mapping(void* theData, size_t theSize) : data(theData), size(theSize) {}
    ~Mapping() { munmap(data, size); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    void* const data;
    const size_t size;
};

Status failed(const std::string& what) {
    return internalError(what + ": " + std::strerror(errno));
}

Result<std::shared_ptr<const Mapping>> mapped(int file) {
    struct stat info = {};
    if (fstat(file, &info) != 0) {
        return failed("it can't be looked at");
    }
    if (!S_ISREG(info.st_mode) || (info.st_uid != geteuid() && info.st_uid != 0) ||
        (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return invalidArgument("it is no file that its owner alone may write");
    }
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0) {
        return invalidArgument("it is empty");
    }
    void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (data == MAP_FAILED) {
        return failed("it can't be mapped");
    }
    return std::shared_ptr<const Mapping>(std::make_shared<Mapping>(data, size));
}

Result<std::shared_ptr<const engine::Program>> loadFrom(int file,
                                                        const engine::BackendList& backends,
                                                        const engine::BuildOptions& options) {
    HALYARD_ASSIGN_OR_RETURN(const std::shared_ptr<const Mapping> mapping, mapped(file));
    HALYARD_ASSIGN_OR_RETURN(
            const SectionFile sections,
            SectionFile::open(mapping, {static_cast<const uint8_t*>(mapping->data), mapping->size},
                              options.memory, nullptr, options.checkpoint));
    // The folder is this user's alone, and so is what save() has written there.
    return engine::Program::load(sections, engine::SavedBytes::AUTHENTIC, backends, options);
}

}  // namespace

std::string programKey(const engine::Graph& graph, const engine::BackendList& backends,
                       const engine::CompileOptions& options) {
    Key key;
    key.addText(HALYARD_VERSION);
    const std::span<const uint8_t> build = buildIdentity();
    key.addText({reinterpret_cast<const char*>(build.data()), build.size()});
    for (const engine::Backend* const backend : backends) {
        key.addText(backend->name());
        key.addText(backend->identity());
    }
    key.addText(options.fastMath ? "fast" : "exact");
    KeySink sink(key);
    static_cast<void>(engine::serializedParts(graph).writeTo(sink));  // it takes all
    return key.digits();
}

Result<std::unique_ptr<const ProgramCache>> ProgramCache::open(const std::string& folder) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
        return invalidArgument(folder + ": it can't be made: " + std::strerror(errno));
    }
    HALYARD_ASSIGN_OR_RETURN(std::string path, trustedPath(folder));
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        return invalidArgument(path + " is no folder");
    }
    return std::unique_ptr<const ProgramCache>(new ProgramCache(std::move(path)));
}

std::string ProgramCache::fileOf(const std::string& key) const {
    return mFolder + "/" + key + std::string(kSuffix);
}

std::shared_ptr<const engine::Program> ProgramCache::load(
        const std::string& key, const engine::BackendList& backends,
        const engine::BuildOptions& options) const {
    const std::string path = fileOf(key);
    const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) {
        return nullptr;
    }
    Result<std::shared_ptr<const engine::Program>> program =
            file.valid() ? loadFrom(file.get(), backends, options) : failed("it can't be opened");
    if (!program.ok()) {
        log(LogLevel::WARNING, "a kept program is built anew: " + path + ": " +
                                       std::string(program.status().message()));
        return nullptr;
    }
    log(LogLevel::VERBOSE, "a kept program is used: " + path);
    return *std::move(program);
}

void ProgramCache::store(const std::string& key, const engine::Program& program) const {
    const Status written = write(fileOf(key), program);
    if (!written.ok()) {
        log(LogLevel::WARNING,
            "a program is not kept: " + fileOf(key) + ": " + std::string(written.message()));
        return;
    }
    removeOldest();
}

Status ProgramCache::write(const std::string& path, const engine::Program& program) const {
    // For this user alone, whatever the umask is.
    std::string own = path + ".XXXXXX";
    const FileDescriptor file(mkostemp(own.data(), O_CLOEXEC));
    if (!file.valid()) {
        return failed("it can't be made");
    }
    SectionWriter sections;
    program.save(sections, engine::SavedBlobs::ALL);
    FileSink sink(file.get());
    Status status = sections.writeTo(sink);
    if (status.ok() && rename(own.c_str(), path.c_str()) != 0) {
        status = failed("it can't be put in its place");
    }
    if (!status.ok()) {
        static_cast<void>(unlink(own.c_str()));
    }
    return status;
}

void ProgramCache::removeOldest() const {
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    std::error_code error;
    for (fs::directory_iterator each(mFolder, error), end; !error && each != end;
         each.increment(error)) {
        // Parts of files that a process left are older than what is written now.
        if (each->path().filename().string().find(kSuffix) != std::string::npos) {
            const fs::file_time_type time = fs::last_write_time(each->path(), error);
            if (!error) {
                files.emplace_back(time, each->path());
            }
            error.clear();
        }
    }
    if (files.size() <= kMostPrograms) {
        return;
    }
    std::ranges::sort(files);
    files.resize(files.size() - kMostPrograms);
    for (const auto& [time, path] : files) {
        fs::remove(path, error);
    }
}

}  // namespace halyard::litert
