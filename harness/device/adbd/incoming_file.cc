// SPDX-License-Identifier: Apache-2.0

#include "harness/device/adbd/incoming_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace halyard::adbd {

namespace {

constexpr size_t kLongestTarget = 4096;

Status failure(std::string_view what) {
    return unsupported(std::string(what) + ": " + strerror(errno));
}

Status makeParents(const std::string& path) {
    for (size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        const std::string parent = path.substr(0, slash);
        if (mkdir(parent.c_str(), 0775) != 0 && errno != EEXIST && errno != EROFS &&
            errno != EACCES) {
            return failure("secure_mkdirs failed");
        }
    }
    return {};
}

}  // namespace

Status IncomingFile::begin(std::string path, uint32_t mode) {
    discard();
    mPath = std::move(path);
    // As adbd has it: what the owner may do, everybody may.
    const uint32_t owner = mode & 0700;
    mMode = (mode & S_IFMT) | (mode & 0777) | owner >> 3 | owner >> 6;
    HALYARD_RETURN_IF_ERROR(makeParents(mPath));

    struct stat existing;
    if (lstat(mPath.c_str(), &existing) == 0 &&
        (S_ISREG(existing.st_mode) || S_ISLNK(existing.st_mode)) && unlink(mPath.c_str()) != 0) {
        return failure("couldn't replace file");
    }
    mTarget.clear();
    mRegular = false;
    if (!S_ISLNK(mMode)) {
        // Non-blocking for the sake of named pipes, which would stop the daemon.
        mFile.reset(open(mPath.c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW,
                         mMode & 0777));
        if (!mFile.valid()) {
            return failure("couldn't create file");
        }
        struct stat opened;
        mRegular = fstat(mFile.get(), &opened) == 0 && S_ISREG(opened.st_mode);
    }
    mOpen = true;
    return {};
}

Status IncomingFile::append(std::span<const uint8_t> bytes) {
    if (S_ISLNK(mMode)) {
        if (mTarget.size() + bytes.size() > kLongestTarget) {
            return unsupported("the target of the symbolic link is too long");
        }
        mTarget.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        return {};
    }
    while (!bytes.empty()) {
        const ssize_t size = write(mFile.get(), bytes.data(), bytes.size());
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return failure("write failed");
        }
        bytes = bytes.subspan(static_cast<size_t>(size));
    }
    return {};
}

Status IncomingFile::finish(uint32_t modified) {
    if (S_ISLNK(mMode)) {
        // Some clients send the target with its terminating NUL.
        if (symlink(mTarget.c_str(), mPath.c_str()) != 0) {
            return failure("symlink failed");
        }
    } else if (fchmod(mFile.get(), mMode & 0777) != 0) {
        return failure("fchmod failed");
    }
    const timespec time = {.tv_sec = modified, .tv_nsec = 0};
    const std::array<timespec, 2> times = {time, time};
    if (utimensat(AT_FDCWD, mPath.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) {
        return failure("utimensat failed");
    }
    // Some file systems say only now that they had no room.
    if (mFile.valid() && close(mFile.release()) != 0) {
        return failure("close failed");
    }
    mOpen = false;
    return {};
}

void IncomingFile::discard() {
    if (std::exchange(mOpen, false)) {
        if (mRegular) {
            unlink(mPath.c_str());
        }
        mFile.reset();
    }
}

}  // namespace halyard::adbd
