// SPDX-License-Identifier: Apache-2.0

#include "tests/device/binder_selftest/hub.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <variant>

#include "hal/binder/incoming_call.h"
#include "hal/hidl/hidl_memory.h"
#include "hal/hidl/hidl_parcel.h"
#include "tests/device/binder_selftest/claims.h"
#include "tests/hal/open_descriptors.h"

namespace halyard::hal::selftest {

namespace {

// How long HOLD takes.
constexpr std::chrono::seconds kHolding{2};

class MadeObject : public LocalObject {
  public:
    MadeObject(std::atomic<int>& released, std::atomic<int>& unused)
        : mReleased(released), mUnused(unused) {}
    ~MadeObject() override { ++mReleased; }
    void onLastRelease() override { ++mUnused; }
    WireStatus onTransact(IncomingCall& call) override {
        Result<ParcelWriter*> reply = call.endArguments();
        if (!reply.ok()) {
            return WireStatus::BAD_VALUE;
        }
        (*reply)->writeInt32(static_cast<int32_t>(call.code()));
        return WireStatus::OK;
    }

  private:
    std::atomic<int>& mReleased;
    std::atomic<int>& mUnused;
};

class Hub : public LocalObject {
  public:
    explicit Hub(BinderProcess& process) : mProcess(process) {}

    WireStatus onTransact(IncomingCall& call) override {
        if (!call.oneway() && call.caller().pid <= 0) {
            return WireStatus::UNKNOWN_ERROR;
        }
        switch (call.code()) {
            case SUM_BYTES:
                return sumBytes(call);
            case HOLD:
                return hold(call);
            case TAKE:
                return take(call);
            case CALL_BACK:
            case RECURSE:
            case IS_OWN:
                return useObject(call);
            case INCREMENT:
            case MEET:
            case NOTE:
            case BIG:
                return useNumber(call);
            default:
                return giveSomething(call);
        }
    }

  private:
    // Calls without arguments that matter.
    WireStatus giveSomething(IncomingCall& call) {
        if (call.code() != DIE && call.code() != QUIT) {
            while (call.arguments().readInt32().ok()) {
            }
            Result<ParcelWriter*> reply = call.endArguments();
            return reply.ok() ? give(call.code(), **reply) : WireStatus::BAD_VALUE;
        }
        if (call.code() == DIE) {
            _exit(0);
        }
        kill(getpid(), SIGTERM);
        return WireStatus::OK;
    }

    WireStatus give(uint32_t code, ParcelWriter& reply) {
        switch (code) {
            case GET_DESCRIPTOR:
                return getDescriptor(reply);
            case MAKE_OBJECT:
                reply.writeObject(std::make_shared<MadeObject>(mReleased, mUnused));
                return WireStatus::OK;
            case COUNT_RELEASED:
                reply.writeInt32(mReleased);
                return WireStatus::OK;
            case COUNT_UNUSED:
                reply.writeInt32(mUnused);
                return WireStatus::OK;
            case OPEN_FILES:
                reply.writeInt32(static_cast<int32_t>(testing::openDescriptors()));
                return WireStatus::OK;
            case NOTED:
                reply.writeInt32(mNoted);
                return WireStatus::OK;
            case BAD_REPLY: {
                NativeHandle handle{.fds = {-1}, .ints = {}};
                hidl::writeNativeHandle(reply, &handle);
                return WireStatus::OK;
            }
            default:
                return WireStatus::UNKNOWN_TRANSACTION;
        }
    }

    WireStatus useNumber(IncomingCall& call) {
        Result<int32_t> number = call.arguments().readInt32();
        Result<ParcelWriter*> ended = call.endArguments();
        if (!number.ok() || !ended.ok()) {
            return WireStatus::NOT_ENOUGH_DATA;
        }
        ParcelWriter& reply = **ended;
        if (call.code() == INCREMENT) {
            reply.writeInt32(*number + 1);
        } else if (call.code() == NOTE) {
            mNoted += *number;
        } else if (call.code() == BIG) {
            reply.writeBuffer(reply.keepZeroed(static_cast<size_t>(*number)));
        } else {
            std::unique_lock lock(mMutex);
            ++mInside;
            mArrived.notify_all();
            bool met = mArrived.wait_for(lock, kPatience, [&] { return mInside >= *number; });
            reply.writeInt32(met ? 1 : 0);
        }
        return WireStatus::OK;
    }

    WireStatus useObject(IncomingCall& call) {
        Result<ObjectRef> object = call.arguments().readObject();
        Result<int32_t> number =
                call.code() == CALL_BACK ? call.arguments().readInt32() : Result<int32_t>(0);
        Result<ParcelWriter*> ended = call.endArguments();
        if (!object.ok() || !number.ok() || !ended.ok()) {
            return WireStatus::BAD_VALUE;
        }
        ParcelWriter& reply = **ended;
        if (call.code() == IS_OWN) {
            reply.writeInt32(std::holds_alternative<std::shared_ptr<LocalObject>>(*object) ? 1 : 0);
            return WireStatus::OK;
        }
        if (call.code() == RECURSE) {
            ParcelWriter own;
            own.writeObject(shared_from_this());
            return mProcess.transact(asRemote(object), RECURSE, own).ok()
                           ? WireStatus::OK
                           : WireStatus::UNKNOWN_ERROR;
        }
        ParcelWriter forward;
        forward.writeInt32(*number);
        Result<int32_t> answer = callForNumber(mProcess, asRemote(object), INCREMENT, forward);
        reply.writeInt32(answer.ok() ? *answer : -1);
        return WireStatus::OK;
    }

    static WireStatus sumBytes(IncomingCall& call) {
        Result<ReceivedHandle> handle = hidl::readNativeHandle(call.arguments());
        Result<int32_t> size = call.arguments().readInt32();
        if (!handle.ok() || !size.ok()) {
            return WireStatus::BAD_VALUE;
        }
        driver::SharedMemory memory =
                hidl::importMemory("ashmem", *handle, static_cast<uint64_t>(*size));
        Result<ParcelWriter*> reply = call.endArguments();
        if (!reply.ok()) {
            return WireStatus::BAD_VALUE;
        }
        Result<std::span<uint8_t>> bytes = memory->map();
        int32_t sum = 0;
        if (bytes.ok()) {
            for (uint8_t byte : *bytes) {
                sum += byte;
            }
        }
        (*reply)->writeInt32(bytes.ok() ? sum : -1);
        return WireStatus::OK;
    }

    static WireStatus hold(IncomingCall& call) {
        const bool read = call.arguments().readBuffer(kLargeArgument).ok();
        if (!read || !call.endArguments().ok()) {
            return WireStatus::BAD_VALUE;
        }
        std::this_thread::sleep_for(kHolding);
        return WireStatus::OK;
    }

    static WireStatus take(IncomingCall& call) {
        Result<FileDescriptor> file = call.arguments().readDescriptor();
        Result<ParcelWriter*> reply = call.endArguments();
        std::array<uint8_t, 3> bytes = {};
        if (!file.ok() || !reply.ok() || pread(file->get(), bytes.data(), bytes.size(), 0) != 3) {
            return WireStatus::BAD_VALUE;
        }
        (*reply)->writeInt32(bytes[0] + bytes[1] + bytes[2]);
        return WireStatus::OK;
    }

    WireStatus getDescriptor(ParcelWriter& reply) {
        std::lock_guard lock(mMutex);
        if (mDescriptor < 0) {
            mDescriptor = memfd_create("three bytes", MFD_CLOEXEC);
            if (write(mDescriptor, "abc", 3) != 3) {
                return WireStatus::UNKNOWN_ERROR;
            }
        }
        NativeHandle handle{.fds = {mDescriptor}, .ints = {42}};
        hidl::writeNativeHandle(reply, &handle);
        return WireStatus::OK;
    }

    BinderProcess& mProcess;
    std::atomic<int> mReleased = 0;
    std::atomic<int> mUnused = 0;
    std::atomic<int> mNoted = 0;
    std::mutex mMutex;
    std::condition_variable mArrived;
    int mInside = 0;
    int mDescriptor = -1;
};

[[noreturn]] void serve(const std::string& device) {
    alarm(kTimeLimitSeconds);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, nullptr);
    Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
    if (!process.ok()) {
        std::fprintf(stderr, "%s\n", process.status().toString().c_str());
        _exit(2);
    }
    auto hub = std::make_shared<Hub>(**process);
    Status ready = (*process)->becomeContextManager(hub);
    if (ready.ok()) {
        ready = (*process)->startThreads(1, kSpawnedThreads);
    }
    if (!ready.ok()) {
        std::fprintf(stderr, "%s\n", ready.toString().c_str());
        _exit(2);
    }
    int signal = 0;
    sigwait(&end, &signal);
    (*process)->stop();
    _exit(0);
}

}  // namespace

pid_t startServer(const std::string& device) {
    pid_t child = fork();
    if (child == 0) {
        serve(device);
    }
    return child;
}

std::shared_ptr<RemoteObject> asRemote(const Result<ObjectRef>& object) {
    if (object.ok()) {
        if (const auto* remote = std::get_if<std::shared_ptr<RemoteObject>>(&*object)) {
            return *remote;
        }
    }
    return nullptr;
}

Result<int32_t> callForNumber(BinderProcess& process, const std::shared_ptr<RemoteObject>& target,
                              uint32_t code, const ParcelWriter& arguments) {
    HALYARD_ASSIGN_OR_RETURN(std::unique_ptr<Reply> reply,
                             process.transact(target, code, arguments));
    return reply->reader().readInt32();
}

}  // namespace halyard::hal::selftest
