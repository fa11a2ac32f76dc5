// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/buffer_freer.h"

#include <linux/android/binder.h>
#include <sched.h>
#include <sys/utsname.h>

#include <charconv>
#include <compare>
#include <string_view>

#include "hal/binder/commands.h"

namespace halyard::hal {

bool closesInTableOfCaller(std::string_view release) {
    int major = 0;
    int minor = 0;
    const char* const end = release.data() + release.size();
    const auto first = std::from_chars(release.data(), end, major);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.' ||
        std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) {
        return false;
    }
    return major > 4 || (major == 4 && minor >= 20);
}

std::unique_ptr<BufferFreer> BufferFreer::start(BinderKernel& kernel) {
    utsname name = {};
    if (uname(&name) != 0 || !closesInTableOfCaller(name.release)) {
        return nullptr;
    }
    std::unique_ptr<BufferFreer> freer(new BufferFreer(kernel));
    std::unique_lock lock(freer->mMutex);
    if (pthread_create(&freer->mThread, nullptr, &BufferFreer::run, freer.get()) != 0) {
        freer->mReady = true;
        freer->mThread = {};
        lock.unlock();
        return nullptr;
    }
    freer->mChanged.wait(lock, [&] { return freer->mReady; });
    const bool apart = freer->mApart;
    lock.unlock();
    return apart ? std::move(freer) : nullptr;
}

BufferFreer::~BufferFreer() {
    if (mThread == pthread_t{}) {
        return;
    }
    {
        const std::lock_guard lock(mMutex);
        mStopping = true;
        mChanged.notify_all();
    }
    pthread_join(mThread, nullptr);
}

void* BufferFreer::run(void* freer) {
    static_cast<BufferFreer*>(freer)->serve();
    return nullptr;
}

void BufferFreer::serve() {
    const bool apart = unshare(CLONE_FILES) == 0;
    std::unique_lock lock(mMutex);
    mReady = true;
    mApart = apart;
    mChanged.notify_all();
    while (apart) {
        mChanged.wait(lock, [this] { return mStopping || !mOrders.empty(); });
        if (mOrders.empty()) {
            break;
        }
        Order* const order = mOrders.front();
        mOrders.pop_front();
        lock.unlock();
        CommandBuffer commands;
        commands.add(BC_FREE_BUFFER, binder_uintptr_t{order->address});
        Status sent = mKernel.write(commands.bytes());
        lock.lock();
        order->status = std::move(sent);
        order->done = true;
        mChanged.notify_all();
    }
    lock.unlock();
    mKernel.exitThread();
}

Status BufferFreer::free(uint64_t address) {
    Order order;
    order.address = address;
    std::unique_lock lock(mMutex);
    mOrders.push_back(&order);
    mChanged.notify_all();
    mChanged.wait(lock, [&] { return order.done; });
    return order.status;
}

}  // namespace halyard::hal
