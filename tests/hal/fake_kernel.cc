// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/fake_kernel.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "hal/binder/address.h"
#include "hal/binder/commands.h"

namespace halyard::hal::testing {
namespace {

constexpr std::chrono::seconds kPatience{30};

bool carriesParcel(uint32_t code) {
    return code == BC_TRANSACTION_SG || code == BC_REPLY_SG;
}

}  // namespace

Returns& Returns::addBytes(uint32_t command, std::span<const uint8_t> payload) {
    const auto* code = reinterpret_cast<const uint8_t*>(&command);
    mBytes.insert(mBytes.end(), code, code + sizeof(command));
    mBytes.insert(mBytes.end(), payload.begin(), payload.end());
    return *this;
}

int32_t SentCommand::word() const {
    int32_t value = 0;
    std::memcpy(&value, data.data(), std::min(sizeof(value), data.size()));
    return value;
}

void FakeKernel::deliver(const Returns& returns) {
    std::lock_guard lock(mMutex);
    mWork.push_back(returns.bytes());
    mChanged.notify_all();
}

binder_transaction_data FakeKernel::parcel(std::span<const uint8_t> data,
                                           std::span<const uint64_t> offsets) {
    const size_t words = (data.size() + 7) / 8;
    std::vector<uint64_t> buffer(words + offsets.size() + 1);
    if (!data.empty()) {
        std::memcpy(buffer.data(), data.data(), data.size());
    }
    std::copy(offsets.begin(), offsets.end(), buffer.begin() + static_cast<ptrdiff_t>(words));
    binder_transaction_data delivered = {};
    delivered.data_size = data.size();
    delivered.offsets_size = offsets.size_bytes();
    delivered.data.ptr.buffer = reinterpret_cast<uintptr_t>(buffer.data());
    delivered.data.ptr.offsets = delivered.data.ptr.buffer + words * 8;
    std::lock_guard lock(mMutex);
    mBuffers.emplace(delivered.data.ptr.buffer, std::move(buffer));
    return delivered;
}

binder_transaction_data FakeKernel::parcelOfWord(int32_t word) {
    return parcel({reinterpret_cast<const uint8_t*>(&word), sizeof(word)});
}

binder_transaction_data FakeKernel::parcelOfDescriptors(int32_t word, size_t count) {
    std::vector<uint8_t> data(sizeof(word) + count * sizeof(binder_fd_object));
    std::memcpy(data.data(), &word, sizeof(word));
    std::vector<uint64_t> offsets;
    for (size_t i = 0; i < count; ++i) {
        offsets.push_back(sizeof(word) + i * sizeof(binder_fd_object));
        binder_fd_object object = {};
        object.hdr.type = BINDER_TYPE_FD;
        object.fd = static_cast<uint32_t>(memfd_create("sent", MFD_CLOEXEC));
        std::memcpy(data.data() + offsets.back(), &object, sizeof(object));
    }
    return parcel(data, offsets);
}

binder_transaction_data FakeKernel::parcelOfArray(std::vector<int> descriptors) {
    // As the kernel lays them out: the array lies behind the objects.
    constexpr size_t kObjects = sizeof(binder_buffer_object) + sizeof(binder_fd_array_object);
    const size_t bytes = descriptors.size() * sizeof(int);
    std::vector<uint8_t> data(kObjects + bytes);
    const std::vector<uint64_t> offsets = {0, sizeof(binder_buffer_object)};
    const binder_transaction_data made = parcel(data, offsets);
    binder_buffer_object buffer = {};
    buffer.hdr.type = BINDER_TYPE_PTR;
    buffer.buffer = made.data.ptr.buffer + kObjects;
    buffer.length = bytes;
    binder_fd_array_object array = {};
    array.hdr.type = BINDER_TYPE_FDA;
    array.num_fds = descriptors.size();
    auto* const at = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(made.data.ptr.buffer));
    std::memcpy(at, &buffer, sizeof(buffer));
    std::memcpy(at + sizeof(buffer), &array, sizeof(array));
    std::memcpy(at + kObjects, descriptors.data(), bytes);
    const std::lock_guard lock(mMutex);
    mArrays[made.data.ptr.buffer] = std::move(descriptors);
    return made;
}

binder_transaction_data FakeKernel::callTo(const void* pointer, uint32_t code, int32_t word,
                                           uint32_t flags) {
    binder_transaction_data call = parcelOfWord(word);
    call.target.ptr = reinterpret_cast<uintptr_t>(pointer);
    call.cookie = call.target.ptr;
    call.code = code;
    call.flags = flags;
    call.sender_pid = (flags & TF_ONE_WAY) != 0 ? 0 : 4711;
    call.sender_euid = 1000;
    return call;
}

void FakeKernel::fail(Status failure) {
    std::lock_guard lock(mMutex);
    mFailure = std::move(failure);
    mChanged.notify_all();
}

std::vector<SentCommand> FakeKernel::sent(uint32_t code) const {
    std::lock_guard lock(mMutex);
    std::vector<SentCommand> found;
    std::copy_if(mSent.begin(), mSent.end(), std::back_inserter(found),
                 [code](const SentCommand& command) { return command.code == code; });
    return found;
}

std::vector<uint32_t> FakeKernel::sentCodes() const {
    std::lock_guard lock(mMutex);
    std::vector<uint32_t> codes;
    for (const SentCommand& command : mSent) {
        if (command.code != BC_FREE_BUFFER) {
            codes.push_back(command.code);
        }
    }
    return codes;
}

bool FakeKernel::waitForSent(uint32_t code, size_t count) const {
    Lock lock(mMutex);
    return mChanged.wait_for(lock, kPatience, [&] {
        return static_cast<size_t>(std::count_if(mSent.begin(), mSent.end(),
                                                 [code](const SentCommand& command) {
                                                     return command.code == code;
                                                 })) >= count;
    });
}

bool FakeKernel::waitUntilIdle() const {
    Lock lock(mMutex);
    return mChanged.wait_for(lock, kPatience, [&] {
        return mWork.empty() && mComingBack.empty() &&
               std::all_of(mThreads.begin(), mThreads.end(), [](const auto& item) {
                   return !item.second.serves || (item.second.waits && item.second.own.empty());
               });
    });
}

size_t FakeKernel::buffersInUse() const {
    std::lock_guard lock(mMutex);
    return mBuffers.size();
}

bool FakeKernel::wrongFree() const {
    std::lock_guard lock(mMutex);
    return mWrongFree;
}

size_t FakeKernel::exitedThreads() const {
    std::lock_guard lock(mMutex);
    return mExited;
}

void FakeKernel::answer(Lock& lock, Thread& thread, const SentCommand& sent) {
    const bool reply = sent.code == BC_REPLY_SG;
    const bool oneway = (sent.as<binder_transaction_data>().flags & TF_ONE_WAY) != 0;
    const auto& choose = reply ? onReply : oneway ? onOneway : onCall;
    Returns returns;
    lock.unlock();
    if (choose) {
        returns = choose(sent);
    } else if (reply || oneway) {
        returns.add(BR_TRANSACTION_COMPLETE);
    } else {
        returns.add(BR_TRANSACTION_COMPLETE).add(BR_REPLY, parcelOfWord(0));
    }
    lock.lock();
    thread.own.push_back(returns.bytes());
}

Status FakeKernel::take(Lock& lock, Thread& thread, std::span<const uint8_t> commands) {
    while (!commands.empty()) {
        SentCommand command;
        command.thread = std::this_thread::get_id();
        if (commands.size() < sizeof(command.code)) {
            return invalidArgument("fake kernel: a command is cut short");
        }
        std::memcpy(&command.code, commands.data(), sizeof(command.code));
        commands = commands.subspan(sizeof(command.code));
        const size_t size = _IOC_SIZE(command.code);
        if (commands.size() < size) {
            return invalidArgument("fake kernel: a payload is cut short");
        }
        command.payload.assign(commands.begin(), commands.begin() + static_cast<ptrdiff_t>(size));
        commands = commands.subspan(size);
        if (carriesParcel(command.code)) {
            const auto parcel = command.as<binder_transaction_data>();
            const auto* data = reinterpret_cast<const uint8_t*>(parcel.data.ptr.buffer);
            const auto* offsets = reinterpret_cast<const uint64_t*>(parcel.data.ptr.offsets);
            command.data.assign(data, data + parcel.data_size);
            command.offsets.assign(offsets, offsets + parcel.offsets_size / sizeof(uint64_t));
        }
        mSent.push_back(command);
        mChanged.notify_all();
        if (carriesParcel(command.code)) {
            answer(lock, thread, command);
        } else if (command.code == BC_ENTER_LOOPER || command.code == BC_REGISTER_LOOPER) {
            thread.serves = true;
            mComingBack.erase(command.thread);
        } else if (command.code == BC_EXIT_LOOPER) {
            thread.serves = false;
        } else if (command.code == BC_FREE_BUFFER) {
            mWrongFree = mBuffers.erase(command.as<uint64_t>()) == 0 || mWrongFree;
            if (const auto found = mArrays.find(command.as<uint64_t>()); found != mArrays.end()) {
                std::ranges::for_each(found->second, ::close);
                mArrays.erase(found);
            }
        }
    }
    return {};
}

void FakeKernel::failExchange(size_t others, Fault fault) {
    std::lock_guard lock(mMutex);
    mFaultyExchange = mExchanges + others;
    mFault = fault;
}

size_t FakeKernel::exchanges() const {
    std::lock_guard lock(mMutex);
    return mExchanges;
}

BinderKernel::Exchange FakeKernel::writeRead(std::span<const uint8_t> commands,
                                             std::span<uint8_t> returns) {
    Lock lock(mMutex);
    if (!mFailure.ok()) {
        return {.status = mFailure};
    }
    const bool faulty = mExchanges++ == mFaultyExchange;
    const Status fault(StatusCode::UNAVAILABLE, "fake kernel: a fault");
    if (faulty && mFault == Fault::NOT_TAKEN) {
        return {.status = fault};
    }
    // Not a reference: the answer to a command may take the thread out.
    const std::thread::id self = std::this_thread::get_id();
    if (Status taken = take(lock, mThreads[self], commands); !taken.ok()) {
        return {.status = taken};
    }
    Exchange exchange{.status = {}, .taken = commands.size()};
    if (faulty && (mFault == Fault::TAKEN || returns.empty())) {
        exchange.status = fault;
        return exchange;
    }
    if (returns.empty()) {
        return exchange;
    }
    Thread& thread = mThreads[self];
    thread.waits = true;
    mChanged.notify_all();
    mChanged.wait(lock, [&] {
        return !mFailure.ok() || thread.needsReturn || !thread.own.empty() ||
               (thread.serves && !mWork.empty());
    });
    thread.waits = false;
    if (!mFailure.ok()) {
        exchange.status = mFailure;
        return exchange;
    }
    std::deque<std::vector<uint8_t>>& source = thread.own.empty() ? mWork : thread.own;
    std::vector<uint8_t> chunk = Returns().add(BR_NOOP).bytes();
    if (!source.empty() && (&source == &thread.own || thread.serves)) {
        chunk = std::move(source.front());
        source.pop_front();
    }
    thread.needsReturn = false;
    if (faulty) {
        discard(chunk);
        if (mFault == Fault::CUT_SHORT) {
            chunk.resize(chunk.size() / 2);
        } else {
            std::fill(chunk.begin(), chunk.end(), uint8_t{0x9d});
        }
    }
    exchange.received = std::min(chunk.size(), returns.size());
    std::copy_n(chunk.begin(), exchange.received, returns.begin());
    return exchange;
}

void FakeKernel::discard(const std::vector<uint8_t>& returns) {
    std::deque<Return> items;
    static_cast<void>(parseReturns(returns, items));
    for (const Return& item : items) {
        if (item.command != BR_TRANSACTION && item.command != BR_REPLY) {
            continue;
        }
        const auto data = item.as<binder_transaction_data>();
        const auto* offsets = pointerTo<uint64_t>(data.data.ptr.offsets);
        for (size_t i = 0; i < data.offsets_size / sizeof(uint64_t); ++i) {
            binder_fd_object object = {};
            std::memcpy(&object, pointerTo<uint8_t>(data.data.ptr.buffer) + offsets[i],
                        sizeof(object));
            if (object.hdr.type == BINDER_TYPE_FD) {
                ::close(static_cast<int>(object.fd));
            }
        }
        mBuffers.erase(data.data.ptr.buffer);
    }
}

Status FakeKernel::setMaxThreads(uint32_t threads) {
    mMaxThreads = threads;
    return maxThreadsFailure;
}

Status FakeKernel::becomeContextManager(uint64_t pointer, const ObjectFlags& flags) {
    contextManager = pointer;
    contextManagerFlags = flags;
    return contextManagerFailure;
}

void FakeKernel::wakeThreads() {
    std::lock_guard lock(mMutex);
    for (auto& [id, thread] : mThreads) {
        thread.needsReturn = true;
    }
    mChanged.notify_all();
}

void FakeKernel::exitThread() {
    std::lock_guard lock(mMutex);
    const std::thread::id self = std::this_thread::get_id();
    for (const std::vector<uint8_t>& chunk : mThreads[self].own) {
        discard(chunk);
    }
    if (mThreads[self].serves) {
        mComingBack.insert(self);
    } else {
        mComingBack.erase(self);
    }
    mThreads.erase(self);
    ++mExited;
    mChanged.notify_all();
}

Status FakeKernel::freeBufferOnly(uint64_t address) {
    if (closesForAll) {
        return unsupported("an old kernel");
    }
    const std::lock_guard lock(mMutex);
    mWrongFree = mBuffers.erase(address) == 0 || mWrongFree;
    mArrays.erase(address);
    mChanged.notify_all();
    return {};
}

bool FakeKernel::inReceiveBuffer(uint64_t address, uint64_t size) const {
    std::lock_guard lock(mMutex);
    auto after = mBuffers.upper_bound(address);
    if (after == mBuffers.begin()) {
        return false;
    }
    const auto& [start, buffer] = *std::prev(after);
    return address - start <= buffer.size() * 8 && size <= buffer.size() * 8 - (address - start);
}

}  // namespace halyard::hal::testing
