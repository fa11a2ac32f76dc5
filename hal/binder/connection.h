// SPDX-License-Identifier: Apache-2.0
//
// BinderConnection: the calls that go out of and come into this process over one binder device.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "hal/binder/binder_thread.h"
#include "hal/binder/call_pacing.h"
#include "hal/binder/commands.h"
#include "hal/binder/incoming_call.h"
#include "hal/binder/kernel.h"
#include "hal/binder/object_tables.h"
#include "hal/binder/process.h"
#include "hal/binder/received_parcel.h"
#include "hal/binder/thread_pool.h"

namespace halyard::hal {

// Over any BinderKernel; BinderProcess::open() gives one over a device.
class BinderConnection final : public BinderProcess {
  public:
    explicit BinderConnection(std::shared_ptr<BinderKernel> kernel,
                              ReplyDescriptors descriptors = ReplyDescriptors::TAKEN);
    ~BinderConnection() override;

    std::shared_ptr<RemoteObject> contextManager() override;
    Status becomeContextManager(std::shared_ptr<LocalObject> object) override;
    Result<std::unique_ptr<Reply>> transact(const std::shared_ptr<RemoteObject>& target,
                                            uint32_t code, const ParcelWriter& arguments) override;
    Status transactOneway(const std::shared_ptr<RemoteObject>& target, uint32_t code,
                          const ParcelWriter& arguments) override;
    Status startThreads(size_t threads, size_t maxSpawned) override;
    void stop() override;

  private:
    // A parcel that has come. It is owned whatever `status` says, which is whether it may be read.
    struct Received {
        std::unique_ptr<ReceivedParcel> parcel;
        Status status;
        uint32_t flags = 0;
    };
    // The end of a wait. REPLY comes with its data; the others say how the call failed, or that a
    // oneway call or a reply is on its way.
    struct Answer {
        uint32_t command = 0;
        Received received = {};
    };
    enum class WaitFor : uint8_t { REPLY, COMPLETION };

    void serveUntilStopped(ThreadRole role);
    // Does what `item` says; nothing that a client sends makes it fail.
    void execute(BinderThread& thread, const Return& item);
    // After a failed exchange: what this thread was in the midst of is over, on both sides. What
    // was received and not looked at yet is let go of.
    void beginAnew(BinderThread& thread);
    // Serves what comes in until the driver answers this thread's last transaction or reply.
    Result<Answer> waitFor(BinderThread& thread, WaitFor what);
    // Sends a call and waits for its reply or, if it is oneway, until the kernel has it.
    Result<Answer> call(BinderThread& thread, const RemoteObject& target, uint32_t code,
                        uint32_t flags, const ParcelWriter& arguments);

    void serve(BinderThread& thread, const binder_transaction_data& call);
    // `served` is of a call that is not inside another one; null: it is.
    void serveCall(BinderThread& thread, const binder_transaction_data& call,
                   CallPacing::ServedCall* served);
    WireStatus dispatch(const binder_transaction_data& data, const Status& received,
                        IncomingCall& call);
    void sendReply(BinderThread& thread, const binder_transaction_data& call, WireStatus status,
                   const ParcelWriter& reply);
    // Takes over what the kernel delivered; `freeBuffer` frees the buffer, or `disposal` where that
    // may take long.
    Received receive(const binder_transaction_data& data, std::function<void()> freeBuffer,
                     std::unique_ptr<DescriptorDisposal> disposal) const;
    // A reply outlives the call, and maybe this connection.
    Received receiveReply(const binder_transaction_data& data) const;
    Status checkDelivered(const binder_transaction_data& data) const;

    const std::shared_ptr<BinderKernel> mKernel;
    const ReplyDescriptors mReplyDescriptors;
    const std::shared_ptr<ObjectTables> mObjects;
    std::shared_ptr<RemoteObject> mContextManager;  // everyone's handle 0
    std::atomic<bool> mToldOfUnknown = false;
    std::unique_ptr<CallPacing> mPacing;  // null: calls from outside are not served yet
    BinderThreadPool mThreads;
};

}  // namespace halyard::hal
