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
                static_cast<void>(entry.state->flush());
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
    constexpr int kAttempts = 3;
    Status sent;
    for (int attempt = 0; attempt < kAttempts && !mCommands.bytes().empty(); ++attempt) {
        const BinderKernel::Exchange exchange = mKernel.writeRead(mCommands.bytes(), {});
        mCommands.dropTaken(exchange.taken);
        sent = exchange.status;
    }
    return mCommands.bytes().empty() ? Status() : sent;
}

Result<std::optional<Return>> BinderThread::next() {
    if (mReturns.empty()) {
        std::array<uint8_t, kReturnBytes> buffer;
        BinderKernel::Exchange exchange = mKernel.writeRead(mCommands.bytes(), buffer);
        mCommands.dropTaken(exchange.taken);
        if (exchange.status.ok()) {
            exchange.status = parseReturns(
                    {buffer.data(), std::min(exchange.received, buffer.size())}, mReturns);
        }
        if (!exchange.status.ok()) {
            mCommands.dropParcels();
            return exchange.status;
        }
    }
    if (mReturns.empty()) {
        return std::optional<Return>();
    }
    std::optional<Return> item = mReturns.front();
    mReturns.pop_front();
    return item;
}

}  // namespace halyard::hal
