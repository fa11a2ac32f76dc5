// SPDX-License-Identifier: Apache-2.0

#include "tests/hal/connection_fixture.h"

#include <variant>

namespace halyard::hal::testing {

ParcelWriter& replyTo(IncomingCall& call) {
    Result<ParcelWriter*> reply = call.endArguments();
    EXPECT_TRUE(reply.ok()) << reply.status().toString();
    static ParcelWriter nowhere;
    return reply.ok() ? **reply : nowhere;
}

Serve serveWord(std::function<int32_t(int32_t)> answer) {
    return [answer = std::move(answer)](IncomingCall& call) {
        const Result<int32_t> word = call.arguments().readInt32();
        if (!word.ok()) {
            return WireStatus::NOT_ENOUGH_DATA;
        }
        ParcelWriter& reply = replyTo(call);
        reply.writeInt32(answer(*word));
        return WireStatus::OK;
    };
}

WireStatus ServedObject::onTransact(IncomingCall& call) {
    ++calls;
    if (mServe) {
        return mServe(call);
    }
    return call.arguments().readInt32().ok() ? WireStatus::OK : WireStatus::NOT_ENOUGH_DATA;
}

binder_ptr_cookie pairOf(const LocalObject* object) {
    const auto pointer = reinterpret_cast<uintptr_t>(object);
    return {.ptr = pointer, .cookie = pointer};
}

flat_binder_object flat(uint32_t type, uint64_t binderOrHandle) {
    flat_binder_object object = {};
    object.hdr.type = type;
    object.binder = binderOrHandle;
    object.cookie = type == BINDER_TYPE_BINDER ? binderOrHandle : 0;
    return object;
}

binder_transaction_data parcelWith(FakeKernel& kernel, const flat_binder_object& object) {
    const uint64_t offset = 0;
    return kernel.parcel({reinterpret_cast<const uint8_t*>(&object), sizeof(object)}, {&offset, 1});
}

ConnectionFixture::~ConnectionFixture() {
    mConnection.stop();
    EXPECT_FALSE(kernel->wrongFree());
}

void ConnectionFixture::send(const std::shared_ptr<LocalObject>& object) {
    kernel->onOneway = [object](const SentCommand&) {
        return Returns()
                .add(BR_INCREFS, pairOf(object.get()))
                .add(BR_ACQUIRE, pairOf(object.get()))
                .add(BR_TRANSACTION_COMPLETE);
    };
    ParcelWriter arguments;
    arguments.writeObject(object);
    ASSERT_TRUE(mConnection.transactOneway(mConnection.contextManager(), 1, arguments).ok());
    kernel->onOneway = nullptr;
}

Result<ObjectRef> ConnectionFixture::receive(const flat_binder_object& object) {
    kernel->onCall = [&](const SentCommand&) {
        return Returns().add(BR_REPLY, parcelWith(*kernel, object));
    };
    Result<std::unique_ptr<Reply>> reply =
            mConnection.transact(mConnection.contextManager(), 1, ParcelWriter());
    kernel->onCall = nullptr;
    return reply.ok() ? (*reply)->reader().readObject() : reply.status();
}

std::shared_ptr<RemoteObject> ConnectionFixture::receiveRemote(uint32_t handle) {
    Result<ObjectRef> object = receive(flat(BINDER_TYPE_HANDLE, handle));
    const auto* remote =
            object.ok() ? std::get_if<std::shared_ptr<RemoteObject>>(&*object) : nullptr;
    return remote == nullptr ? nullptr : *remote;
}

SentCommand ConnectionFixture::callObject(const LocalObject* object, uint32_t code, int32_t word) {
    const size_t before = kernel->sent(BC_REPLY_SG).size();
    kernel->deliver(Returns().add(BR_TRANSACTION, kernel->callTo(object, code, word)));
    EXPECT_TRUE(kernel->waitForSent(BC_REPLY_SG, before + 1));
    return kernel->sent(BC_REPLY_SG).back();
}

}  // namespace halyard::hal::testing
