// SPDX-License-Identifier: Apache-2.0

#include "driver/prepare/cache_file.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace halyard::driver {
namespace {

// Bytes that are read or written between two looks at the checkpoint.
constexpr size_t kChunk = size_t{1} << 20;

Status writeFailed(std::string_view what) {
    const StatusCode code = errno == ENOSPC || errno == EDQUOT || errno == EFBIG
                                    ? StatusCode::RESOURCE_EXHAUSTED
                                    : StatusCode::INTERNAL;
    return {code, std::string(what) + ": " + std::strerror(errno)};
}

// So many bytes at most; fewer where the file ends.
Result<size_t> readAt(int fd, uint64_t offset, std::span<uint8_t> bytes) {
    if (offset > static_cast<uint64_t>(std::numeric_limits<off_t>::max())) {
        return internalError("no file is so long");
    }
    ssize_t count = 0;
    do {
        count = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        return internalError(std::string("it can't be read: ") + std::strerror(errno));
    }
    return static_cast<size_t>(count);
}

}  // namespace

Status FileWork::perform(const std::shared_ptr<FileWork>& work, const CompilationCache& cache) {
    const auto all = [work] { work->mResult = work->run(); };
    if (cache.access == nullptr) {
        all();
    } else if (!cache.access(all)) {
        work->mAbandoned = true;
        return internalError("it takes too long to answer");
    }
    return work->mResult;
}

Status FileSink::reserve(size_t bytes) {
    if (bytes > mRoom) {
        const size_t more = std::max(bytes - mRoom, kChunk);
        HALYARD_ASSIGN_OR_RETURN(Reservation reserved, Reservation::create(mMemory, more));
        mReserved.push_back(std::move(reserved));
        mRoom += more;
    }
    mRoom -= bytes;
    return {};
}

Status FileSink::write(std::span<const uint8_t> bytes) {
    HALYARD_RETURN_IF_ERROR(reserve(bytes.size()));
    while (!bytes.empty()) {
        HALYARD_RETURN_IF_ERROR(mCheckpoint.check("while a model was kept"));
        const ssize_t count = pwrite(mFd, bytes.data(), std::min(bytes.size(), kChunk),
                                     static_cast<off_t>(mOffset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return writeFailed("it can't be written");
        }
        mOffset += static_cast<uint64_t>(count);
        bytes = bytes.subspan(static_cast<size_t>(count));
    }
    return {};
}

Status emptyFile(int fd) {
    int result = 0;
    do {
        result = ftruncate(fd, 0);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? Status() : writeFailed("it can't be emptied");
}

Status checkEnd(int fd, uint64_t size) {
    // Neither stat nor lseek, which take locks of the file's on some kernels.
    uint8_t beyond = 0;
    HALYARD_ASSIGN_OR_RETURN(const size_t more, readAt(fd, size, {&beyond, 1}));
    return more == 0 ? Status()
                     : internalError("it has more than " + std::to_string(size) + " bytes");
}

Status readAll(int fd, uint64_t offset, std::span<uint8_t> bytes, const Checkpoint& checkpoint) {
    while (!bytes.empty()) {
        HALYARD_RETURN_IF_ERROR(checkpoint.check("while a kept model was read"));
        HALYARD_ASSIGN_OR_RETURN(const size_t count,
                                 readAt(fd, offset, bytes.first(std::min(kChunk, bytes.size()))));
        if (count == 0) {
            return internalError("it ends after " + std::to_string(offset) + " bytes");
        }
        offset += count;
        bytes = bytes.subspan(count);
    }
    return {};
}

Status readWhole(int fd, std::span<uint8_t> bytes, const Checkpoint& checkpoint) {
    HALYARD_RETURN_IF_ERROR(checkEnd(fd, bytes.size()));
    return readAll(fd, 0, bytes, checkpoint);
}

}  // namespace halyard::driver
