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
#include "hal/hidl/hidl_object.h"
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

// Stands for a model of another service: an object that computes nothing.
class StrangeModel final : public HidlObject {
  public:
    StrangeModel() : HidlObject(nn::v1_3::IPreparedModel::layout()) {}

  protected:
    Status serve(uint32_t /*code*/, Call& /*call*/) override {
        return unsupported("a model that another device prepared");
    }
};

ObjectRef objectOf(const std::shared_ptr<driver::IPreparedModel>& model) {
    if (model == nullptr) {
        return {};
    }
    if (const std::shared_ptr<RemoteObject> remote = remoteObjectOf(*model)) {
        return remote;
    }
    return std::shared_ptr<LocalObject>(std::make_shared<StrangeModel>());
}

std::vector<BufferRole> wireRoles(const std::vector<driver::BufferRole>& roles) {
    std::vector<BufferRole> wire;
    for (const driver::BufferRole& role : roles) {
        wire.push_back({.modelIndex = role.modelIndex,
                        .ioIndex = role.ioIndex,
                        .frequency = role.frequency});
    }
    return wire;
}

}  // namespace

Result<std::shared_ptr<driver::IBuffer>> allocateBuffer(
        const ServiceConnection& connection, const driver::BufferDescription& description) {
    constexpr std::string_view kMethod = "allocate";
    std::vector<ObjectRef> models;
    for (const std::shared_ptr<driver::IPreparedModel>& model : description.models) {
        models.push_back(objectOf(model));
    }
    const std::vector<BufferRole> inputs = wireRoles(description.inputs);
    const std::vector<BufferRole> outputs = wireRoles(description.outputs);
    const Result<std::unique_ptr<Reply>> reply =
            connection.device.call(nn::v1_3::IDevice::allocate, [&](ParcelWriter& writer) {
                nn::v1_3::BufferDesc wire;
                wire.dimensions = makeVec(writer, description.dimensions);
                writeValue(writer, wire);
                writeObjects(writer, models);
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
