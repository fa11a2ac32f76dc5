// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/buffer.h"

#include <string_view>
#include <utility>
#include <vector>

#include "hal/client/answers.h"
#include "hal/client/sendable.h"
#include "hal/hidl/client/prepared_model.h"
#include "hal/hidl/client/remote_interface.h"
#include "hal/hidl/client/wire_pools.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {
namespace {

using driver::ErrorStatus;
using nn::v1_3::BufferRole;
using nn::v1_3::IBuffer;

Status answerOf(std::string_view method, const Result<std::unique_ptr<Reply>>& reply) {
    if (!reply.ok()) {
        return callFailed(method, reply.status());
    }
    const Result<ErrorStatus> status = readEnum<ErrorStatus>((*reply)->reader());
    return status.ok() ? answered(method, *status) : callFailed(method, status.status());
}

class ClientBuffer : public driver::IBuffer {
  public:
    ClientBuffer(RemoteInterface buffer, uint32_t token)
        : mBuffer(std::move(buffer)), mToken(token) {}

    uint32_t token() const override { return mToken; }

    Status copyTo(const driver::SharedMemory& destination) override {
        HALYARD_RETURN_IF_ERROR(checkSendable(destination));
        return answerOf("copyTo",
                        mBuffer.call(nn::v1_3::IBuffer::copyTo, [&](ParcelWriter& writer) {
                            writeValue(writer, wireMemory(writer, *destination));
                        }));
    }

    Status copyFrom(const driver::SharedMemory& source,
                    std::span<const uint32_t> dimensions) override {
        HALYARD_RETURN_IF_ERROR(checkSendable(source));
        return answerOf("copyFrom",
                        mBuffer.call(nn::v1_3::IBuffer::copyFrom, [&](ParcelWriter& writer) {
                            writeValue(writer, wireMemory(writer, *source));
                            writeValue(writer, makeVec(writer, dimensions));
                        }));
    }

  private:
    const RemoteInterface mBuffer;
    const uint32_t mToken;
};

// Models that are not behind this wire are sent as none.
class RoleWriter {
  public:
    std::vector<BufferRole> add(const std::vector<driver::BufferDescription::Role>& roles) {
        std::vector<BufferRole> wire;
        for (const driver::BufferDescription::Role& role : roles) {
            const std::shared_ptr<RemoteObject> remote =
                    role.model == nullptr ? nullptr : remoteObjectOf(*role.model);
            wire.push_back({.modelIndex = static_cast<uint32_t>(mModels.size()),
                            .ioIndex = role.index,
                            .frequency = role.frequency});
            mModels.push_back(remote == nullptr ? ObjectRef() : ObjectRef(remote));
        }
        return wire;
    }
    const std::vector<ObjectRef>& models() const { return mModels; }

  private:
    std::vector<ObjectRef> mModels;
};

}  // namespace

Result<std::shared_ptr<driver::IBuffer>> allocateBuffer(
        const ServiceConnection& connection, const driver::BufferDescription& description) {
    constexpr std::string_view kMethod = "allocate";
    RoleWriter roles;
    const std::vector<BufferRole> inputs = roles.add(description.inputs);
    const std::vector<BufferRole> outputs = roles.add(description.outputs);
    const Result<std::unique_ptr<Reply>> reply =
            connection.device.call(nn::v1_3::IDevice::allocate, [&](ParcelWriter& writer) {
                nn::v1_3::BufferDesc wire;
                wire.dimensions = makeVec(writer, description.dimensions);
                writeValue(writer, wire);
                writeObjects(writer, roles.models());
                writeValue(writer, makeVec(writer, inputs));
                writeValue(writer, makeVec(writer, outputs));
            });
    HALYARD_RETURN_IF_ERROR(answerOf(kMethod, reply));
    const Result<ObjectRef> object = (*reply)->reader().readObject();
    const Result<uint32_t> token =
            object.ok() ? (*reply)->reader().readUint32() : Result<uint32_t>(object.status());
    auto buffer = token.ok() ? RemoteInterface::cast(connection.device.process(), *object,
                                                     IBuffer::layout())
                             : token.status();
    if (!buffer.ok()) {
        return callFailed(kMethod, buffer.status());
    }
    return std::shared_ptr<driver::IBuffer>(
            std::make_shared<ClientBuffer>(std::move(*buffer), *token));
}

}  // namespace halyard::hal::hidl
