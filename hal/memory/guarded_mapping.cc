// SPDX-License-Identifier: Apache-2.0

#include "hal/memory/guarded_mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace halyard::hal {

// The part of a mapping that the signal handler reads. `version` is odd while the range changes; a
// handler that meets such a record passes on, since the mapping it looks for is being touched, not
// changed.
struct GuardedMapping::Record {
    std::atomic<uint32_t> version = 0;
    std::atomic<uintptr_t> begin = 0;
    std::atomic<uintptr_t> end = 0;
    std::atomic<bool> writable = false;
    std::atomic<bool> lost = false;
    bool canShrink = true;
    Record* nextFree = nullptr;  // of MappingRecords

    void set(uintptr_t newBegin, uintptr_t newEnd) {
        version.fetch_add(1);
        begin.store(newBegin);
        end.store(newEnd);
        version.fetch_add(1);
    }

    // False, too, while another thread is changing the range.
    bool holds(uintptr_t address) const {
        const uint32_t before = version.load();
        const bool inside = address >= begin.load() && address < end.load();
        return before % 2 == 0 && inside && version.load() == before;
    }
};

// All records, in blocks that are linked once and never freed, so that a handler can walk them
// without a lock. A signal handler has no other way to its data than a global.
struct MappingRecords {
    using Record = GuardedMapping::Record;

    struct Block {
        std::array<Record, 64> records;
        std::atomic<Block*> next = nullptr;
    };

    // The handler is there before the first page can be touched.
    Record* take(uintptr_t begin, uintptr_t end, bool writable, bool canShrink) {
        const std::lock_guard lock(mutex);
        if (canShrink && shrinking++ == 0) {
            updateOnDemand();
        }
        if (free == nullptr) {
            auto* const block = new Block;
            addFree(*block);
            last->next.store(block);
            last = block;
        }
        Record* const record = std::exchange(free, free->nextFree);
        record->lost.store(false);
        record->canShrink = canShrink;
        record->writable.store(writable);
        record->set(begin, end);
        return record;
    }

    void giveBack(Record* record) {
        const std::lock_guard lock(mutex);
        record->set(0, 0);
        record->nextFree = std::exchange(free, record);
        if (record->canShrink && --shrinking == 0) {
            updateOnDemand();
        }
    }

    Status guard(GuardTime newTime) {
        const std::lock_guard lock(mutex);
        time = newTime;
        return updateHandler();
    }

    // With the mutex held, as the next one.
    Status updateHandler();
    // It can't fail where it did not when the guard was asked for.
    void updateOnDemand() {
        if (time == GuardTime::WHILE_MAPPED) {
            (void)updateHandler();
        }
    }

    // Async-signal-safe.
    Record* find(uintptr_t address) {
        for (Block* block = &first; block != nullptr; block = block->next.load()) {
            for (Record& record : block->records) {
                if (record.holds(address)) {
                    return &record;
                }
            }
        }
        return nullptr;
    }

    // Puts zeros in the place of all pages from the missing one on. Async-signal-safe.
    bool replace(uintptr_t address) {
        Record* const record = find(address);
        if (record == nullptr) {
            return false;
        }
        const uintptr_t start = address & ~(pageSize - 1);
        const int protection = record->writable.load() ? PROT_READ | PROT_WRITE : PROT_READ;
        if (mmap(reinterpret_cast<void*>(start), record->end.load() - start, protection,
                 MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
            return false;
        }
        record->lost.store(true);
        return true;
    }

    // Taking one takes no longer where others have taken many. The first of a block comes first.
    void addFree(Block& block) {
        for (auto record = block.records.rbegin(); record != block.records.rend(); ++record) {
            record->nextFree = std::exchange(free, &*record);
        }
    }

    MappingRecords() { addFree(first); }

    std::mutex mutex;  // guards the free ones, the linking of blocks, and when there is a handler
    Block first;
    Block* last = &first;
    Record* free = nullptr;
    size_t shrinking = 0;  // mappings whose files can be cut short
    std::optional<GuardTime> time;
    const uintptr_t pageSize = static_cast<uintptr_t>(sysconf(_SC_PAGE_SIZE));
    struct sigaction previous = {};
};

namespace {

MappingRecords& records() {
    // Never destroyed: mappings may outlive main().
    static auto* const all = new MappingRecords;
    return *all;
}

// Set before the handler is; a handler must not run the initialisation of a local static.
MappingRecords* gRecords = nullptr;

void onBusError(int /*signal*/, siginfo_t* info, void* /*context*/) {
    const int before = errno;
    if (info->si_code != BUS_ADRERR ||
        !gRecords->replace(reinterpret_cast<uintptr_t>(info->si_addr))) {
        // The access is repeated and raises the signal again, for whom it concerns.
        sigaction(SIGBUS, &gRecords->previous, nullptr);
    }
    errno = before;
}

Status setAction(const struct sigaction& action, struct sigaction* before) {
    return sigaction(SIGBUS, &action, before) == 0
                   ? Status()
                   : internalError(std::string("sigaction: ") + std::strerror(errno));
}

}  // namespace

Status MappingRecords::updateHandler() {
    if (!time.has_value()) {
        return {};
    }
    struct sigaction current = {};
    sigaction(SIGBUS, nullptr, &current);
    // As its own predecessor, the handler would hand others' errors to itself, for ever.
    const bool isThere = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == onBusError;
    const bool isWanted = *time == GuardTime::ALWAYS || shrinking != 0;
    if (isThere == isWanted) {
        return {};
    }
    if (isThere) {
        return setAction(previous, nullptr);
    }
    gRecords = this;
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    // SA_NODEFER: a second bus error inside the handler is fatal instead of a hang.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return setAction(action, &previous);
}

Status guardMappings(GuardTime time) {
    return records().guard(time);
}

GuardedMapping::GuardedMapping(void* address, size_t length, bool writable, bool canShrink)
    : mAddress(address),
      mLength(length),
      mRecord(records().take(reinterpret_cast<uintptr_t>(address),
                             reinterpret_cast<uintptr_t>(address) + length, writable, canShrink)) {}

GuardedMapping::~GuardedMapping() {
    records().giveBack(mRecord);
    munmap(mAddress, mLength);
}

bool GuardedMapping::intact() const {
    return !mRecord->lost.load();
}

}  // namespace halyard::hal
