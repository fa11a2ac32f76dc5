// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/connection.h"

#include <cstring>
#include <string>
#include <utility>

#include "engine/base/log.h"
#include "engine/base/long_work.h"
#include "hal/binder/parcel_disposal.h"
#include "hal/descriptors/client_workers.h"

namespace halyard::hal {
namespace {

// A status_t that only arrives; the others are in WireStatus.
constexpr int32_t kDeadObject = -32;

// Calls within calls on one thread. Each level takes a call of ours to a process that calls back,
// so honest ones stay far below; the limit keeps a hostile one from overflowing the stack.
constexpr size_t kMaxDepth = 32;

// So often in a row the driver may fail a thread before it ends.
constexpr int kMostFailures = 3;

Status fromWire(int32_t status) {
    const std::string text = "binder: the target answered with status " + std::to_string(status);
    switch (status) {
        case static_cast<int32_t>(WireStatus::UNKNOWN_TRANSACTION):
            return unsupported(text);
        case static_cast<int32_t>(WireStatus::BAD_VALUE):
        case static_cast<int32_t>(WireStatus::BAD_TYPE):
        case static_cast<int32_t>(WireStatus::NOT_ENOUGH_DATA):
            return invalidArgument(text);
        case kDeadObject:
            return {StatusCode::UNAVAILABLE, text};
        default:
            return internalError(text);
    }
}

std::span<const uint8_t> dataOf(const binder_transaction_data& data) {
    return {reinterpret_cast<const uint8_t*>(static_cast<uintptr_t>(data.data.ptr.buffer)),
            static_cast<size_t>(data.data_size)};
}

std::span<const uint64_t> offsetsOf(const binder_transaction_data& data) {
    return {reinterpret_cast<const uint64_t*>(static_cast<uintptr_t>(data.data.ptr.offsets)),
            static_cast<size_t>(data.offsets_size / sizeof(uint64_t))};
}

binder_transaction_data_sg outgoing(const ParcelWriter& parcel, uint32_t flags) {
    binder_transaction_data_sg out = {};
    out.transaction_data.flags = flags;
    out.transaction_data.data_size = parcel.data().size();
    out.transaction_data.data.ptr.buffer = reinterpret_cast<uintptr_t>(parcel.data().data());
    out.transaction_data.offsets_size = parcel.offsets().size_bytes();
    out.transaction_data.data.ptr.offsets = reinterpret_cast<uintptr_t>(parcel.offsets().data());
    out.buffers_size = parcel.buffersSize();
    return out;
}

// Hands over what the thread owes the kernel, before it does anything else.
void settle(BinderThread& thread) {
    if (Status told = thread.flush(); !told.ok()) {
        log(LogLevel::WARNING, told.withContext("settling with the kernel").toString());
    }
}

void runDeferred(BinderThread& thread) {
    while (thread.depth == 0 && !thread.deferred.empty()) {
        settle(thread);
        std::vector<std::function<void()>> work;
        std::swap(work, thread.deferred);
        for (const std::function<void()>& step : work) {
            step();
        }
    }
}

}  // namespace

BinderConnection::BinderConnection(std::shared_ptr<BinderKernel> kernel,
                                   ReplyDescriptors descriptors)
    : mKernel(std::move(kernel)),
      mReplyDescriptors(descriptors),
      mObjects(std::make_shared<ObjectTables>(mKernel)),
      mThreads([this](ThreadRole role) { serveUntilStopped(role); },
               [this] { mKernel->wakeThreads(); }) {
    if (Result<std::shared_ptr<RemoteObject>> manager = mObjects->remote->get(0); manager.ok()) {
        mContextManager = *manager;
    }
}

BinderConnection::~BinderConnection() {
    BinderConnection::stop();
}

std::shared_ptr<RemoteObject> BinderConnection::contextManager() {
    return mContextManager;
}

Status BinderConnection::becomeContextManager(std::shared_ptr<LocalObject> object) {
    const uint64_t pointer = reinterpret_cast<uintptr_t>(object.get());
    mObjects->local.keepAs(pointer, object);
    // Kernels that don't take a pointer for the context manager call it 0.
    mObjects->local.keepAs(0, object);
    Status became = mKernel->becomeContextManager(pointer, object->flags());
    if (!became.ok()) {
        mObjects->local.stopKeepingAs(pointer);
        mObjects->local.stopKeepingAs(0);
    }
    return became;
}

Status BinderConnection::startThreads(size_t threads, size_t maxSpawned) {
    HALYARD_RETURN_IF_ERROR(mKernel->setMaxThreads(static_cast<uint32_t>(maxSpawned)));
    // Half of the threads are there for answers that come later.
    mPacing = std::make_unique<CallPacing>(maxSpawned / 2, threadsMayGiveWay(), niceOfThread());
    for (size_t i = 0; i < threads; ++i) {
        HALYARD_RETURN_IF_ERROR(mThreads.start(ThreadRole::ENTERED));
    }
    return {};
}

void BinderConnection::stop() {
    mThreads.stop();
    // Objects and links may refer to this connection; they are no longer called.
    mObjects->local.clear();
    mObjects->remote->clearLinks();
}

void BinderConnection::serveUntilStopped(ThreadRole role) {
    BinderThread& thread = BinderThread::current(mKernel);
    thread.commands().add(role == ThreadRole::ENTERED ? BC_ENTER_LOOPER : BC_REGISTER_LOOPER);
    thread.serves = true;
    // Calls that were received are served even when stopping: their callers wait.
    int failures = 0;  // in a row
    while (thread.hasReceived() || !mThreads.stopping()) {
        Result<std::optional<Return>> item = thread.next();
        if (!item.ok()) {
            beginAnew(thread);
            if (++failures == kMostFailures) {
                log(LogLevel::ERROR, item.status().withContext("a binder thread ends").toString());
                return;
            }
            log(LogLevel::WARNING, item.status().withContext("a binder thread").toString());
            continue;
        }
        failures = 0;
        if (const std::optional<Return>& received = *item; received.has_value()) {
            execute(thread, *received);
            runDeferred(thread);
            // Told of when it was asked for.
            static_cast<void>(mThreads.startOwed());
        }
    }
    thread.serves = false;
    thread.commands().add(BC_EXIT_LOOPER);
    if (Status left = thread.flush(); !left.ok()) {
        log(LogLevel::WARNING, left.withContext("leaving a binder thread").toString());
    }
}

void BinderConnection::execute(BinderThread& thread, const Return& item) {
    const auto pair = item.as<binder_ptr_cookie>();
    switch (item.command) {
        case BR_NOOP:
        case BR_OK:
        case BR_CLEAR_DEATH_NOTIFICATION_DONE:
            return;
        case BR_INCREFS:
            if (!mObjects->local.addWeak(pair.ptr)) {
                log(LogLevel::WARNING, "binder: BR_INCREFS for an object that does not exist");
            }
            thread.commands().add(BC_INCREFS_DONE, pair);
            return;
        case BR_ACQUIRE:
            if (!mObjects->local.addStrong(pair.ptr)) {
                log(LogLevel::WARNING, "binder: BR_ACQUIRE for an object that does not exist");
            }
            thread.commands().add(BC_ACQUIRE_DONE, pair);
            return;
        case BR_RELEASE:
            if (auto object = mObjects->local.dropStrong(pair.ptr)) {
                thread.deferred.emplace_back([object] { object->onLastRelease(); });
            }
            return;
        case BR_DECREFS: {
            if (auto object = mObjects->local.dropWeak(pair.ptr)) {
                // Destroyed where no call is in progress.
                thread.deferred.emplace_back([object] {});
            }
            return;
        }
        case BR_TRANSACTION:
        case BR_TRANSACTION_SEC_CTX:
            serve(thread, item.as<binder_transaction_data>());
            return;
        case BR_DEAD_BINDER: {
            const auto cookie = item.as<binder_uintptr_t>();
            for (std::function<void()>& onDeath : mObjects->remote->died(cookie)) {
                thread.deferred.push_back(std::move(onDeath));
            }
            thread.commands().add(BC_DEAD_BINDER_DONE, cookie);
            return;
        }
        case BR_SPAWN_LOOPER:
            if (Status started = mThreads.startRequested(); !started.ok()) {
                log(LogLevel::ERROR, started.toString());
            }
            return;
        case BR_REPLY:
            log(LogLevel::WARNING, "binder: a reply to no call");
            receiveReply(item.as<binder_transaction_data>()).parcel->release();
            return;
        default:
            log(LogLevel::WARNING, "binder: unexpected " + returnName(item.command));
            return;
    }
}

void BinderConnection::beginAnew(BinderThread& thread) {
    ++thread.generation;
    mKernel->exitThread();
    for (const Return& item : thread.takeReceived()) {
        if (item.command == BR_TRANSACTION || item.command == BR_TRANSACTION_SEC_CTX ||
            item.command == BR_REPLY) {
            receiveReply(item.as<binder_transaction_data>()).parcel->release();
        } else {
            execute(thread, item);
        }
    }
    if (thread.serves && !thread.commands().holds(BC_ENTER_LOOPER) &&
        !thread.commands().holds(BC_REGISTER_LOOPER)) {
        // Never as one that the kernel asked for: it was told of that one already.
        thread.commands().add(BC_ENTER_LOOPER);
    }
}

Result<BinderConnection::Answer> BinderConnection::waitFor(BinderThread& thread, WaitFor what) {
    const size_t generation = thread.generation;
    for (;;) {
        Result<std::optional<Return>> next = thread.next();
        if (!next.ok()) {
            beginAnew(thread);
            return next.status();
        }
        const std::optional<Return>& item = *next;
        if (!item.has_value()) {
            continue;  // woken to stop, but the call in progress comes first
        }
        switch (item->command) {
            case BR_TRANSACTION_COMPLETE:
            case BR_ONEWAY_SPAM_SUSPECT:
            case kTransactionPendingFrozen:
                if (what == WaitFor::COMPLETION) {
                    return Answer{.command = item->command};
                }
                break;
            case BR_REPLY:
                return Answer{.command = item->command,
                              .received = receiveReply(item->as<binder_transaction_data>())};
            case BR_DEAD_REPLY:
            case BR_FAILED_REPLY:
            case BR_FROZEN_REPLY:
                return Answer{.command = item->command};
            default:
                if (what == WaitFor::COMPLETION && !isKnownReturn(item->command) &&
                    _IOC_SIZE(item->command) == 0) {
                    // A newer kernel's way to say what became of it. Whatever it is, nothing else
                    // will come.
                    if (!mToldOfUnknown.exchange(true)) {
                        log(LogLevel::WARNING,
                            "binder: " + returnName(item->command) + ", which is taken for sent");
                    }
                    return Answer{.command = item->command};
                }
                execute(thread, *item);
                break;
        }
        if (thread.generation != generation) {
            return Status(StatusCode::UNAVAILABLE,
                          "binder: the kernel has forgotten the call, after one inside it failed");
        }
    }
}

// ---- Calls to others ---------------------------------------------------------------------------

Result<BinderConnection::Answer> BinderConnection::call(BinderThread& thread,
                                                        const RemoteObject& target, uint32_t code,
                                                        uint32_t flags,
                                                        const ParcelWriter& arguments) {
    binder_transaction_data_sg out = outgoing(arguments, flags);
    out.transaction_data.target.handle = target.handle();
    out.transaction_data.code = code;
    thread.commands().add(BC_TRANSACTION_SG, out);

    mObjects->local.hold(arguments.objects());
    ++thread.depth;
    const bool oneway = (flags & TF_ONE_WAY) != 0;
    Result<Answer> answer = waitFor(thread, oneway ? WaitFor::COMPLETION : WaitFor::REPLY);
    --thread.depth;
    mObjects->local.letGo(arguments.objects());
    runDeferred(thread);

    if (!answer.ok()) {
        return answer;
    }
    // This thread may not come back for long, and until the kernel hears that its references have
    // been taken it can't let go of the objects that were sent.
    settle(thread);
    switch (answer->command) {
        case BR_DEAD_REPLY:
            return Status(StatusCode::UNAVAILABLE, "binder: the target is dead");
        case BR_FROZEN_REPLY:
            return Status(StatusCode::UNAVAILABLE, "binder: the target is frozen");
        case BR_FAILED_REPLY:
            return internalError("binder: the kernel refused the call with code " +
                                 std::to_string(code) + " or its reply");
        default:
            return answer;
    }
}

Result<std::unique_ptr<Reply>> BinderConnection::transact(
        const std::shared_ptr<RemoteObject>& target, uint32_t code, const ParcelWriter& arguments) {
    if (target == nullptr) {
        return invalidArgument("binder: a call to a null object");
    }
    const uint32_t flags =
            mReplyDescriptors == ReplyDescriptors::TAKEN ? uint32_t{TF_ACCEPT_FDS} : 0;
    HALYARD_ASSIGN_OR_RETURN(Answer answer,
                             call(BinderThread::current(mKernel), *target, code, flags, arguments));
    HALYARD_RETURN_IF_ERROR(answer.received.status);
    std::unique_ptr<Reply> reply = std::move(answer.received.parcel);
    if ((answer.received.flags & TF_STATUS_CODE) != 0) {
        HALYARD_ASSIGN_OR_RETURN(int32_t status, reply->reader().readInt32());
        if (status != 0) {
            return fromWire(status);
        }
    }
    return reply;
}

Status BinderConnection::transactOneway(const std::shared_ptr<RemoteObject>& target, uint32_t code,
                                        const ParcelWriter& arguments) {
    if (target == nullptr) {
        return invalidArgument("binder: a call to a null object");
    }
    return call(BinderThread::current(mKernel), *target, code, TF_ONE_WAY, arguments).status();
}

// ---- Calls from others -------------------------------------------------------------------------

Status BinderConnection::checkDelivered(const binder_transaction_data& data) const {
    if (!mKernel->inReceiveBuffer(data.data.ptr.buffer, data.data_size) ||
        !mKernel->inReceiveBuffer(data.data.ptr.offsets, data.offsets_size) ||
        data.data.ptr.offsets % sizeof(uint64_t) != 0 ||
        data.offsets_size % sizeof(uint64_t) != 0) {
        return internalError("binder: data delivered outside the receive buffer");
    }
    return {};
}

BinderConnection::Received BinderConnection::receive(
        const binder_transaction_data& data, std::function<void()> freeBuffer,
        std::unique_ptr<DescriptorDisposal> disposal) const {
    Received received{.parcel = nullptr, .status = checkDelivered(data), .flags = data.flags};
    const bool delivered = received.status.ok();
    received.parcel = std::make_unique<ReceivedParcel>(
            delivered ? dataOf(data) : std::span<const uint8_t>(),
            delivered ? offsetsOf(data) : std::span<const uint64_t>(), mObjects.get(),
            std::move(freeBuffer), std::move(disposal));
    if (delivered) {
        received.status = received.parcel->check();
    }
    return received;
}

BinderConnection::Received BinderConnection::receiveReply(
        const binder_transaction_data& data) const {
    return receive(
            data,
            [kernel = mKernel, objects = mObjects, address = data.data.ptr.buffer] {
                ParcelDisposal::freeNow(*kernel, address);
            },
            std::make_unique<ParcelDisposal>(mKernel, data, nullptr));
}

WireStatus BinderConnection::dispatch(const binder_transaction_data& data, const Status& received,
                                      IncomingCall& call) {
    if (!received.ok()) {
        log(LogLevel::WARNING, received.toString());
        return received.code() == StatusCode::INVALID_ARGUMENT ? WireStatus::BAD_VALUE
                                                               : WireStatus::UNKNOWN_ERROR;
    }
    // A reference of its own: the last remote one may go while the call runs.
    std::shared_ptr<LocalObject> target = mObjects->local.find(data.target.ptr);
    if (target == nullptr) {
        log(LogLevel::WARNING, "binder: a call to an object that does not exist");
        return WireStatus::UNKNOWN_ERROR;
    }
    const WireStatus status = target->onTransact(call);
    if (status != WireStatus::OK) {
        return status;
    }
    if (Status ended = call.endArguments().status(); !ended.ok()) {
        log(LogLevel::WARNING, ended.withContext("code " + std::to_string(call.code())).toString());
        return WireStatus::BAD_VALUE;
    }
    return WireStatus::OK;
}

void BinderConnection::serve(BinderThread& thread, const binder_transaction_data& data) {
    if (mPacing == nullptr || thread.depth > 0) {
        serveCall(thread, data, nullptr);
        return;
    }
    CallPacing::ServedCall served(*mPacing, data.sender_euid);
    serveCall(thread, data, &served);
}

void BinderConnection::serveCall(BinderThread& thread, const binder_transaction_data& data,
                                 CallPacing::ServedCall* served) {
    // Not with the reply: the call may take long, and the caller's next one may need the room.
    Received received = receive(
            data,
            [&thread, address = data.data.ptr.buffer] {
                thread.commands().add(BC_FREE_BUFFER, address);
                settle(thread);
            },
            std::make_unique<ParcelDisposal>(mKernel, data, [&thread] { settle(thread); }));
    if (received.status.ok() && !received.parcel->closesAtOnce() &&
        ClientWorkers::here().isStuck(ParcelDisposal::ownerOf(data))) {
        received.status = invalidArgument(
                "descriptors from pid " + std::to_string(data.sender_pid) +
                ", of which one that came before can't be closed until its owner lets it");
    }
    IncomingCall call(data.code, (data.flags & TF_ONE_WAY) != 0,
                      {.pid = data.sender_pid, .euid = data.sender_euid}, *received.parcel);
    WireStatus status = WireStatus::UNKNOWN_ERROR;
    const size_t generation = thread.generation;
    if (call.oneway()) {
        // The others settle when they end their arguments.
        settle(thread);
    }
    ++thread.depth;
    if (thread.depth <= kMaxDepth) {
        status = dispatch(data, received.status, call);
    } else {
        log(LogLevel::WARNING, "binder: calls nested too deeply");
    }
    received.parcel->release();
    if (thread.generation != generation) {
        log(LogLevel::WARNING, "binder: the kernel has forgotten a call before it was answered");
    } else if (!call.oneway()) {
        if (served != nullptr && !thread.hasReceived()) {
            settle(thread);
            served->pause();
        }
        sendReply(thread, data, status, call.reply());
    }
    --thread.depth;
}

void BinderConnection::sendReply(BinderThread& thread, const binder_transaction_data& call,
                                 WireStatus status, const ParcelWriter& reply) {
    const uint32_t flags = call.flags & TF_CLEAR_BUF;
    const bool served = status == WireStatus::OK;
    ParcelWriter bareStatus;
    bareStatus.writeInt32(static_cast<int32_t>(status));
    const ParcelWriter& parcel = served ? reply : bareStatus;

    thread.commands().add(BC_REPLY_SG, outgoing(parcel, served ? flags : flags | TF_STATUS_CODE));
    mObjects->local.hold(parcel.objects());
    Result<Answer> answer = waitFor(thread, WaitFor::COMPLETION);
    mObjects->local.letGo(parcel.objects());

    // There is nothing to send in place of a reply that failed: the kernel has taken the call off
    // this thread and told the caller, and another reply would answer the call around this one.
    if (!answer.ok()) {
        log(LogLevel::ERROR, answer.status().withContext("binder: sending a reply").toString());
    } else if (answer->command == BR_DEAD_REPLY || answer->command == BR_FAILED_REPLY ||
               answer->command == BR_FROZEN_REPLY) {
        log(LogLevel::WARNING, "binder: " + returnName(answer->command) + " to the reply to code " +
                                       std::to_string(call.code));
    }
}

}  // namespace halyard::hal
