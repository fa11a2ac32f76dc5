// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/cache_key.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <tuple>
#include <utility>

#include "engine/base/file_descriptor.h"
#include "engine/base/log.h"
#include "engine/base/trusted_path.h"

namespace halyard::driver {
namespace {

constexpr const char* kName = "compilation_cache.key";
constexpr size_t kBlock = 64;  // of SHA-256

#ifdef RENAME_NOREPLACE
constexpr unsigned kNoReplace = RENAME_NOREPLACE;
#else
constexpr unsigned kNoReplace = 1;  // not in every libc
#endif

Status failed(const std::string& what) {
    return internalError(what + ": " + std::strerror(errno));
}

// bionic has no explicit_bzero(). The compiler has to take what is written for read, and keeps it.
void erase(std::span<uint8_t> secret) {
    std::ranges::fill(secret, uint8_t{0});
    asm volatile("" : : "r"(secret.data()) : "memory");
}

Status fillAtRandom(std::span<uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t count = getrandom(bytes.data(), bytes.size(), 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return failed("getrandom");
        }
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

// The whole key under a name of its own first, so that a part of one is never found.
Status make(int folder) {
    CacheKey::Bytes bytes = {};
    HALYARD_RETURN_IF_ERROR(fillAtRandom(bytes));
    const std::string temporary = std::string(kName) + "." + std::to_string(getpid());
    static_cast<void>(unlinkat(folder, temporary.c_str(), 0));  // of one that ended here
    const FileDescriptor file(
            openat(folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) {
        return failed("it can't be made");
    }
    Status made;
    // Whatever the umask is, and on disks as well before others see it.
    if (fchmod(file.get(), 0600) != 0 ||
        write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
        fsync(file.get()) != 0) {
        made = failed("it can't be written");
    } else if (syscall(SYS_renameat2, folder, temporary.c_str(), folder, kName, kNoReplace) != 0 &&
               errno != EEXIST) {
        // Some file systems know no such flag. Two processes that start there at the same time may
        // each have a key of their own until the next start.
        made = renameat(folder, temporary.c_str(), folder, kName) == 0
                       ? Status()
                       : failed("it can't be put in its place");
    }
    erase(bytes);
    static_cast<void>(unlinkat(folder, temporary.c_str(), 0));  // where another was first
    static_cast<void>(fsync(folder));
    return made;
}

Status readFrom(int file, CacheKey::Bytes& bytes) {
    struct stat info = {};
    if (fstat(file, &info) != 0) {
        return failed("it can't be looked at");
    }
    if (!S_ISREG(info.st_mode) || (info.st_uid != geteuid() && info.st_uid != 0) ||
        (info.st_mode & 0077) != 0) {
        return invalidArgument("it is no file that its owner alone may read and write");
    }
    if (info.st_size != static_cast<off_t>(bytes.size()) ||
        pread(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
        return invalidArgument("it has not " + std::to_string(bytes.size()) + " bytes");
    }
    return {};
}

Result<FileDescriptor> openKey(int folder) {
    FileDescriptor file(openat(folder, kName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file.valid() && errno == ENOENT) {
        HALYARD_RETURN_IF_ERROR(make(folder));
        file = FileDescriptor(openat(folder, kName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    }
    return file.valid() ? Result<FileDescriptor>(std::move(file))
                        : Result<FileDescriptor>(failed("it can't be opened"));
}

Result<std::shared_ptr<const CacheKey>> keyIn(const std::string& path) {
    const FileDescriptor folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid()) {
        return failed("its folder can't be opened");
    }
    HALYARD_ASSIGN_OR_RETURN(const FileDescriptor file, openKey(folder.get()));
    CacheKey::Bytes bytes = {};
    HALYARD_RETURN_IF_ERROR(readFrom(file.get(), bytes));
    auto key = std::make_shared<const CacheKey>(bytes);
    erase(bytes);
    return key;
}

}  // namespace

Result<std::shared_ptr<const CacheKey>> CacheKey::open(const std::string& folder) {
    HALYARD_ASSIGN_OR_RETURN(const std::string path, trustedPath(folder));
    Result<std::shared_ptr<const CacheKey>> key = keyIn(path);
    return key.ok() ? key : key.status().withContext(path + "/" + kName);
}

CacheKey::~CacheKey() {
    erase(mBytes);
}

Sha256::Digest CacheKey::authenticate(std::initializer_list<std::span<const uint8_t>> parts) const {
    static_assert(std::tuple_size_v<Bytes> <= kBlock);
    std::array<uint8_t, kBlock> inner = {};
    std::array<uint8_t, kBlock> outer = {};
    inner.fill(0x36);
    outer.fill(0x5c);
    for (size_t i = 0; i < mBytes.size(); ++i) {
        inner[i] ^= mBytes[i];
        outer[i] ^= mBytes[i];
    }
    Sha256 message;
    message.add(inner);
    for (const std::span<const uint8_t> part : parts) {
        message.add(part);
    }
    const Sha256::Digest digest = message.finish();
    Sha256 whole;
    whole.add(outer);
    whole.add(digest);
    erase(inner);
    erase(outer);
    return whole.finish();
}

std::shared_ptr<const CacheKey> openCacheKey(const Options& options) {
    if (options.cacheKeyDirectory.empty()) {
        return nullptr;
    }
    Result<std::shared_ptr<const CacheKey>> key = CacheKey::open(options.cacheKeyDirectory);
    if (!key.ok()) {
        log(LogLevel::WARNING,
            "--cache-key-dir: there is no key, so that no program for the GPU is kept in clients' "
            "compilation caches: " +
                    std::string(key.status().message()));
        return nullptr;
    }
    return std::move(*key);
}

bool equalDigests(std::span<const uint8_t> left, std::span<const uint8_t> right) {
    if (left.size() != right.size()) {
        return false;
    }
    uint8_t differing = 0;
    for (size_t i = 0; i < left.size(); ++i) {
        differing = static_cast<uint8_t>(differing | (left[i] ^ right[i]));
    }
    return differing == 0;
}

}  // namespace halyard::driver
