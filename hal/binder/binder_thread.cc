// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/binder_thread.h"

#include <algorithm>
#include <array>

namespace halyard::hal {
namespace {

// Room for a transaction and the reference counts that come with it; the rest follows in the next
// exchange.
constexpr size_t kReturnBytes = 512;

// A thread's states, one per connection that it has used and that is still open.
class ThreadStates {
  public:
    ~ThreadStates() {
        for (Entry& entry : mEntries) {
            if (auto kernel = entry.kernel.lock()) {
                kernel->exitThread();
            }
        }
    }

    BinderThread& of(const std::shared_ptr<BinderKernel>& kernel) {
        for (Entry& entry : mEntries) {
            if (entry.kernel.lock() == kernel) {
                return *entry.state;
            }
        }
        std::erase_if(mEntries, [](const Entry& entry) { return entry.kernel.expired(); });
        mEntries.push_back({kernel, std::make_unique<BinderThread>(*kernel)});
        return *mEntries.back().state;
    }

  private:
    struct Entry {
        std::weak_ptr<BinderKernel> kernel;
        std::unique_ptr<BinderThread> state;
    };
    std::vector<Entry> mEntries;
};

}  // namespace

BinderThread& BinderThread::current(const std::shared_ptr<BinderKernel>& kernel) {
    // Per thread because the driver itself tells threads apart by who calls it.
    static thread_local ThreadStates states;
    return states.of(kernel);
}

Status BinderThread::flush() {
    if (mCommands.bytes().empty()) {
        return {};
    }
    Status sent = mKernel.writeRead(mCommands.bytes(), {}).status();
    mCommands.clear();
    return sent;
}

Result<std::optional<Return>> BinderThread::next() {
    if (mReturns.empty()) {
        std::array<uint8_t, kReturnBytes> buffer;
        Result<size_t> received = mKernel.writeRead(mCommands.bytes(), buffer);
        mCommands.clear();
        if (!received.ok()) {
            return received.status();
        }
        HALYARD_RETURN_IF_ERROR(
                parseReturns({buffer.data(), std::min(*received, buffer.size())}, mReturns));
    }
    if (mReturns.empty()) {
        return std::optional<Return>();
    }
    std::optional<Return> item = mReturns.front();
    mReturns.pop_front();
    return item;
}

}  // namespace halyard::hal
