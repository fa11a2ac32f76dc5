// SPDX-License-Identifier: Apache-2.0
//
// The transport over a real binder driver: a serving process and clients of it, on a binder device
// whose context manager nobody is (usually /dev/binder; hwservicemanager has /dev/hwbinder).
//
// Usage: binder_selftest [DEVICE]. Prints "ok <claim>" or "FAILED <claim>" per claim; exit 0 if
// all hold.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hal/binder/incoming_call.h"
#include "hal/binder/process.h"
#include "hal/binder/shared_memory.h"
#include "hal/hidl/hidl_parcel.h"

namespace halyard::hal {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr unsigned kTimeLimitSeconds = 120;
constexpr size_t kSpawnedThreads = 4;
// Two of them leave no room for a third in the receive buffer.
constexpr size_t kLargeArgument = size_t{450} * 1024;
constexpr std::chrono::seconds kHolding{2};

// What the serving process understands; arguments and results are bare int32 unless said.
enum Code : uint32_t {
    INCREMENT = 1,   // number -> number + 1
    CALL_BACK,       // object, number -> what its INCREMENT gives
    RECURSE,         // object: calls its RECURSE with an object of ours, which does the same, ...
    SUM_BYTES,       // handle of a descriptor, size -> sum of its bytes
    GET_DESCRIPTOR,  // -> handle of a descriptor with 3 bytes in it
    MAKE_OBJECT,     // -> object
    COUNT_RELEASED,  // -> how many such objects are gone
    COUNT_UNUSED,    // -> how many of them lost their last user
    MEET,            // number -> returns when so many calls are inside at once
    IS_OWN,          // object -> whether it is one of the server's
    BAD_REPLY,       // -> a reply that the kernel refuses
    NOTE,            // oneway, number: adds it to a sum
    NOTED,           // -> the sum
    BIG,             // size -> a buffer of so many bytes
    HOLD,            // buffer of kLargeArgument bytes: lets go of it, then returns after a while
    TAKE,            // descriptor -> sum of its first 3 bytes, read once the arguments are ended
    OPEN_FILES,      // -> how many descriptors the server has open
    DIE,             // oneway: ends the process at once
    QUIT,            // oneway: stops serving, then ends the process
};

bool gAllHold = true;

bool claim(bool holds, const char* text) {
    std::printf("%s %s\n", holds ? "ok" : "FAILED", text);
    std::fflush(stdout);
    gAllHold = gAllHold && holds;
    return holds;
}

// True as soon as `condition` is, false if it takes too long.
bool eventually(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= deadline) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

int32_t openFiles() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return static_cast<int32_t>(std::distance(begin(files), end(files)));
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

class Incrementer : public LocalObject {
  public:
    explicit Incrementer(BinderProcess& process) : mProcess(process) {}

    WireStatus onTransact(IncomingCall& call) override {
        if (call.code() == INCREMENT) {
            Result<int32_t> number = call.arguments().readInt32();
            Result<ParcelWriter*> reply = call.endArguments();
            if (!number.ok() || !reply.ok()) {
                return WireStatus::NOT_ENOUGH_DATA;
            }
            servedOn = gettid();
            (*reply)->writeInt32(*number + 1);
            return WireStatus::OK;
        }
        if (call.code() == RECURSE) {
            auto other = asRemote(call.arguments().readObject());
            ParcelWriter again;
            again.writeObject(shared_from_this());
            Result<std::unique_ptr<Reply>> deeper = mProcess.transact(other, RECURSE, again);
            return deeper.ok() ? WireStatus::OK : WireStatus::UNKNOWN_ERROR;
        }
        return WireStatus::UNKNOWN_TRANSACTION;
    }
    void onLastRelease() override { ++lastReleases; }

    std::atomic<int> servedOn = 0;
    std::atomic<int> lastReleases = 0;

  private:
    BinderProcess& mProcess;
};

// ---- The serving process -----------------------------------------------------------------------

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
                reply.writeInt32(openFiles());
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
        driver::SharedMemory memory = importMemory("ashmem", *handle, static_cast<uint64_t>(*size));
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

pid_t startServer(const std::string& device) {
    pid_t child = fork();
    if (child == 0) {
        serve(device);
    }
    return child;
}

// ---- The client --------------------------------------------------------------------------------

class Client {
  public:
    explicit Client(std::shared_ptr<BinderProcess> connection)
        : process(std::move(connection)), hub(process->contextManager()) {}

    Result<int32_t> number(uint32_t code, const ParcelWriter& arguments) {
        return callForNumber(*process, hub, code, arguments);
    }
    Result<int32_t> number(uint32_t code, int32_t argument = 0) {
        ParcelWriter arguments;
        arguments.writeInt32(argument);
        return number(code, arguments);
    }
    bool numberIs(int32_t expected, uint32_t code, int32_t argument = 0) {
        Result<int32_t> answer = number(code, argument);
        return answer.ok() && *answer == expected;
    }
    std::shared_ptr<RemoteObject> makeObject() {
        Result<std::unique_ptr<Reply>> reply = process->transact(hub, MAKE_OBJECT, ParcelWriter());
        return reply.ok() ? asRemote((*reply)->reader().readObject()) : nullptr;
    }
    Status send(uint32_t code, int32_t argument = 0) {
        ParcelWriter arguments;
        arguments.writeInt32(argument);
        return process->transactOneway(hub, code, arguments);
    }

    std::shared_ptr<BinderProcess> process;
    std::shared_ptr<RemoteObject> hub;
};

void checkCalls(Client& client) {
    claim(eventually([&] { return client.numberIs(8, INCREMENT, 7); }), "a call gets its answer");
    claim(client.number(999).status().code() == StatusCode::UNSUPPORTED,
          "an unknown code is told as such");
    claim(client.number(INCREMENT, ParcelWriter()).status().code() == StatusCode::INVALID_ARGUMENT,
          "a parcel without arguments is refused");
    claim(client.number(BAD_REPLY).status().code() == StatusCode::INTERNAL,
          "a reply that the kernel refuses reaches the caller as a failure");
    claim(client.numberIs(2, INCREMENT, 1), "the thread that gave it lives on");

    Result<std::unique_ptr<Reply>> big = [&] {
        ParcelWriter size;
        size.writeInt32(900 * 1024);
        return client.process->transact(client.hub, BIG, size);
    }();
    claim(big.ok() && (*big)->reader().readBuffer(900 * 1024).ok(), "900 KiB come back in a reply");
    big = internalError("freed");
    claim(client.number(BIG, 2 * 1024 * 1024).status().code() == StatusCode::INTERNAL,
          "a reply larger than the receive buffer is a failure");
    bool many = true;
    for (int i = 0; i < 20 && many; ++i) {
        ParcelWriter size;
        size.writeInt32(700 * 1024);
        many = client.process->transact(client.hub, BIG, size).ok();
    }
    claim(many, "buffers are given back, one large reply after the other");

    bool sent = true;
    for (int i = 1; i <= 10; ++i) {
        sent = sent && client.send(NOTE, i).ok();
    }
    claim(sent && eventually([&] { return client.numberIs(55, NOTED); }),
          "oneway calls all arrive");
}

void checkObjects(Client& client) {
    auto local = std::make_shared<Incrementer>(*client.process);
    ParcelWriter arguments;
    arguments.writeObject(local);
    arguments.writeInt32(41);
    Result<int32_t> answer = client.number(CALL_BACK, arguments);
    claim(answer.ok() && *answer == 42, "a nested call comes back to the caller");
    claim(local->servedOn == gettid(), "and is served by the thread that waits");
    // Two owners are left: this function and the parcel.
    claim(eventually([&] { return local->lastReleases == 1 && local.use_count() == 2; }),
          "the object is let go once the other side has");

    ParcelWriter own;
    own.writeObject(local);
    claim(client.number(IS_OWN, own).ok() && *client.number(IS_OWN, own) == 0,
          "an object of ours is remote over there");
    ParcelWriter recursion;
    recursion.writeObject(local);
    claim(!client.number(RECURSE, recursion).ok() && client.numberIs(6, INCREMENT, 5),
          "endless recursion between two processes ends, and both live on");

    std::shared_ptr<RemoteObject> made = client.makeObject();
    if (!claim(made != nullptr, "an object comes in a reply")) {
        return;
    }
    ParcelWriter home;
    home.writeObject(made);
    Result<int32_t> isOwn = client.number(IS_OWN, home);
    claim(isOwn.ok() && *isOwn == 1, "and comes home as itself");
    Result<int32_t> called = callForNumber(*client.process, made, 77, ParcelWriter());
    claim(called.ok() && *called == 77, "and can be called");
    claim(client.numberIs(0, COUNT_RELEASED), "it lives as long as its handle");
    made = nullptr;
}

void checkRelease(Client& client) {
    claim(eventually([&] {
              // The parcel that carried the handle is gone too.
              return client.numberIs(1, COUNT_RELEASED);
          }),
          "an object is destroyed after its last remote user");
}

void checkDescriptors(Client& client) {
    Result<ExportedMemory> memory = createSharedMemory(10000);
    if (!memory.ok()) {
        claim(false, "shared memory is made");
        return;
    }
    std::memset(memory->memory->map()->data(), 3, 10000);
    ParcelWriter arguments;
    hidl::writeNativeHandle(arguments, &memory->handle);
    arguments.writeInt32(10000);
    Result<int32_t> sum = client.number(SUM_BYTES, arguments);
    claim(sum.ok() && *sum == 30000, "the other side sees what was written to shared memory");
    ParcelWriter tooLong;
    hidl::writeNativeHandle(tooLong, &memory->handle);
    tooLong.writeInt32(10001);
    sum = client.number(SUM_BYTES, tooLong);
    claim(sum.ok() && *sum == -1, "memory shorter than it is said to be is not mapped");

    int received = -1;
    {
        Result<std::unique_ptr<Reply>> reply =
                client.process->transact(client.hub, GET_DESCRIPTOR, ParcelWriter());
        Result<ReceivedHandle> handle =
                reply.ok() ? hidl::readNativeHandle((*reply)->reader()) : reply.status();
        if (claim(handle.ok() && handle->valid && handle->handle.fds.size() == 1 &&
                          handle->handle.ints == std::vector<int32_t>{42},
                  "a handle comes in a reply")) {
            received = handle->handle.fds[0];
            std::array<char, 4> text = {};
            claim(pread(received, text.data(), 3, 0) == 3 && std::strcmp(text.data(), "abc") == 0,
                  "its descriptor is open");
        }
    }
    claim(eventually([&] { return fcntl(received, F_GETFD) < 0; }), "and is closed with the reply");
}

void checkOwnedDescriptors(Client& client) {
    const int file = memfd_create("three bytes", MFD_CLOEXEC);
    if (write(file, "\1\2\3", 3) != 3) {
        claim(false, "a file is made");
        return;
    }
    const int32_t ownBefore = openFiles();
    const Result<int32_t> before = client.number(OPEN_FILES);
    ParcelWriter one;
    one.writeDescriptor(file);
    const Result<int32_t> sum = client.number(TAKE, one);
    claim(sum.ok() && *sum == 6, "a single descriptor can be taken and outlives its buffer");
    ParcelWriter two;
    two.writeDescriptor(file);
    two.writeDescriptor(file);
    claim(client.number(TAKE, two).status().code() == StatusCode::INVALID_ARGUMENT,
          "what follows the last argument is refused");
    ParcelWriter many;
    for (int i = 0; i < 254; ++i) {
        many.writeDescriptor(file);
    }
    for (int i = 0; i < 5; ++i) {
        static_cast<void>(client.number(999, many));
        static_cast<void>(client.number(INCREMENT, many));
        static_cast<void>(client.process->transactOneway(client.hub, NOTE, many));
    }
    claim(before.ok() && eventually([&] { return client.numberIs(*before, OPEN_FILES); }),
          "the receiver closes the descriptors that nobody took");
    claim(openFiles() == ownBefore, "and the sender keeps its own");
    close(file);
}

void checkReceiveBuffer(Client& client) {
    std::atomic<int> held = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i) {
        callers.emplace_back([&] {
            ParcelWriter large;
            large.writeBuffer(large.keepZeroed(kLargeArgument));
            held += client.process->transact(client.hub, HOLD, large).ok() ? 1 : 0;
        });
        // One after the other arrives, while all before it are at work.
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    claim(held == 3, "calls at work hold no part of the receive buffer");
}

void checkThreads(Client& client) {
    // One thread was started; the kernel asks for the others as calls pile up.
    std::atomic<int> met = 0;
    std::vector<std::thread> callers;
    constexpr int kCallers = 1 + static_cast<int>(kSpawnedThreads);
    for (int i = 0; i < kCallers; ++i) {
        callers.emplace_back([&] { met += client.numberIs(1, MEET, kCallers) ? 1 : 0; });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    claim(met == kCallers, "4 threads are spawned and serve at once");
}

void checkDyingClients(Client& client, const std::string& device) {
    Result<int32_t> before = client.number(COUNT_RELEASED);
    pid_t holder = fork();
    if (holder == 0) {
        Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
        Client other(*process);
        auto held = other.makeObject();
        auto alsoHeld = other.makeObject();
        _exit(held != nullptr && alsoHeld != nullptr ? 0 : 1);
    }
    int status = -1;
    waitpid(holder, &status, 0);
    claim(status == 0 && before.ok() &&
                  eventually([&] { return client.numberIs(*before + 2, COUNT_RELEASED); }),
          "a client's death lets go of all it held");

    pid_t caller = fork();
    if (caller == 0) {
        Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
        Client other(*process);
        // Nobody joins it: it would stay inside until the server's patience ends.
        static_cast<void>(other.number(MEET, 1000));
        _exit(1);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(caller, SIGKILL);
    waitpid(caller, &status, 0);
    claim(client.numberIs(3, INCREMENT, 2),
          "a client killed inside a call leaves the server serving");
}

void checkDeath(Client& client, const std::string& device, pid_t server) {
    std::atomic<int> deaths = 0;
    std::shared_ptr<RemoteObject> made = client.makeObject();
    std::shared_ptr<RemoteObject> unlinked = client.makeObject();
    if (made == nullptr || unlinked == nullptr) {
        claim(false, "objects to link to");
        return;
    }
    std::atomic<int> ownerDeaths = 0;
    const Result<int32_t> unused = client.number(COUNT_UNUSED);
    std::shared_ptr<RemoteObject> watched = client.makeObject();
    Result<std::unique_ptr<OwnerWatch>> watch =
            watched == nullptr ? internalError("no object")
                               : watched->watchOwner([&] { ++ownerDeaths; });
    claim(watch.ok(), "an object's owner can be watched");
    // A server that hears of the reference and of its end at once hears of neither.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    watched = nullptr;
    claim(unused.ok() && eventually([&] { return client.numberIs(*unused + 1, COUNT_UNUSED); }),
          "an object whose owner is watched loses its last user");
    bool linked = client.hub->linkToDeath([&] { ++deaths; }).ok() &&
                  made->linkToDeath([&] { ++deaths; }).ok() &&
                  made->linkToDeath([&] { ++deaths; }).ok();
    Result<uint64_t> link = unlinked->linkToDeath([&] { deaths += 100; });
    if (link.ok()) {
        unlinked->unlinkToDeath(*link);
    }
    claim(linked && link.ok(), "deaths can be linked to");
    claim(client.send(DIE).ok(), "the server is told to die");
    int status = -1;
    waitpid(server, &status, 0);
    claim(eventually([&] { return deaths >= 3; }), "every link hears of the death");
    claim(eventually([&] { return ownerDeaths == 1; }), "and so does who watches the owner");
    claim(made->linkToDeath([] {}).status().code() == StatusCode::UNAVAILABLE,
          "nobody links to the dead");
    claim(callForNumber(*client.process, made, 1, ParcelWriter()).status().code() ==
                  StatusCode::UNAVAILABLE,
          "calls to the dead fail at once");
    made = nullptr;
    unlinked = nullptr;
    claim(deaths == 3, "each exactly once, and not those that unlinked");

    server = startServer(device);
    claim(eventually([&] { return client.numberIs(1, INCREMENT, 0); }),
          "a new server takes the place of the dead one");
    std::atomic<int> newDeaths = 0;
    claim(client.hub->linkToDeath([&] { ++newDeaths; }).ok(), "the new one can be linked to");
    claim(client.send(QUIT).ok(), "the new server is asked to stop");
    status = -1;
    bool ended = eventually([&] { return waitpid(server, &status, WNOHANG) == server; });
    claim(ended && WIFEXITED(status) && WEXITSTATUS(status) == 0,
          "stop() brings back threads that wait in the kernel");
    claim(eventually([&] { return newDeaths == 1; }) && deaths == 3,
          "the end of the new one is heard of too");
}

int run(const std::string& device) {
    alarm(kTimeLimitSeconds);
    pid_t server = startServer(device);
    Result<std::shared_ptr<BinderProcess>> process = BinderProcess::open(device);
    if (!claim(process.ok(), "the device opens")) {
        std::fprintf(stderr, "%s\n", process.status().toString().c_str());
        return 1;
    }
    Client client(*process);
    if (!claim((*process)->startThreads(1, 2).ok(), "the client's own threads start")) {
        return 1;
    }
    checkCalls(client);
    checkObjects(client);
    checkRelease(client);
    checkDescriptors(client);
    checkThreads(client);
    checkOwnedDescriptors(client);
    checkReceiveBuffer(client);
    checkDyingClients(client, device);
    checkDeath(client, device, server);
    (*process)->stop();
    claim(true, "the client stops");
    return gAllHold ? 0 : 1;
}

}  // namespace
}  // namespace halyard::hal

int main(int argc, char** argv) {
    return halyard::hal::run(argc > 1 ? argv[1] : "/dev/binder");
}
