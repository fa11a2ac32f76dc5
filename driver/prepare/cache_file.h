// SPDX-License-Identifier: Apache-2.0
//
// Cache files of a client, which other processes may have open as well: one that holds a file's
// lock, in the middle of a write() that never ends, blocks every other writer.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "driver/clients/client.h"
#include "driver/model/call_options.h"
#include "engine/base/budget.h"
#include "engine/base/byte_parts.h"
#include "engine/base/checkpoint.h"
#include "engine/base/status.h"

namespace halyard::driver {

// Work on a cache's files, on the thread that the cache gives it. It owns what it needs: where it
// does not end in time, its caller stops waiting and it goes on.
class FileWork : private StopCondition {
  public:
    // The status of run(); INTERNAL where it has not ended in time.
    static Status perform(const std::shared_ptr<FileWork>& work, const CompilationCache& cache);
    virtual ~FileWork() = default;
    FileWork(const FileWork&) = delete;
    FileWork& operator=(const FileWork&) = delete;

  protected:
    FileWork(std::shared_ptr<const Client> client, const Deadline& deadline)
        : mClient(std::move(client)), mDeadline(deadline) {}

    virtual Status run() = 0;

    const Client& client() const { return *mClient; }
    // Stops the work at the deadline, when the client dies, and when its caller waits no more.
    Checkpoint checkpoint() const { return Checkpoint(mDeadline, &mClient->ended()).unless(this); }

  private:
    bool holds() const override { return mAbandoned; }

    const std::shared_ptr<const Client> mClient;
    const Deadline mDeadline;
    std::atomic<bool> mAbandoned = false;
    Status mResult;
};

// Writes a file from its beginning, wherever the descriptor stands.
class FileSink final : public ByteSink {
  public:
    // Written bytes may become memory of the service's: they are reserved from `memory` while the
    // sink lives; null: not limited.
    FileSink(int fd, const Checkpoint& checkpoint, std::shared_ptr<Budget> memory)
        : mFd(fd), mCheckpoint(checkpoint), mMemory(std::move(memory)) {}

    // RESOURCE_EXHAUSTED where there is no room, on the disk or in the budget; what the checkpoint
    // says; INTERNAL where the file can't be written.
    Status write(std::span<const uint8_t> bytes) override;

  private:
    Status reserve(size_t bytes);

    const int mFd;
    const Checkpoint mCheckpoint;
    const std::shared_ptr<Budget> mMemory;
    std::vector<Reservation> mReserved;
    size_t mRoom = 0;  // of what is reserved
    uint64_t mOffset = 0;
};

// INTERNAL where it can't be emptied.
Status emptyFile(int fd);

// INTERNAL where the file has more bytes.
Status checkEnd(int fd, uint64_t size);

// Reads all of the bytes from the offset on; INTERNAL where the file ends before, or can't be read;
// what the checkpoint says.
Status readAll(int fd, uint64_t offset, std::span<uint8_t> bytes, const Checkpoint& checkpoint);

// Reads a file of as many bytes, from its beginning; INTERNAL where it has more or fewer, or can't
// be read; what the checkpoint says.
Status readWhole(int fd, std::span<uint8_t> bytes, const Checkpoint& checkpoint);

}  // namespace halyard::driver
