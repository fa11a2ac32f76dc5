// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/buffer_object.h"

#include <string>
#include <utility>
#include <vector>

#include "driver/model/validate.h"
#include "hal/hidl/callbacks.h"
#include "hal/hidl/conversion.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

using driver::HalVersion;
using nn::v1_3::IBuffer;

namespace {

Result<driver::SharedMemory> readMemory(ParcelReader& arguments) {
    HALYARD_ASSIGN_OR_RETURN(const auto* memory, readValue<HidlMemory>(arguments));
    return decodeMemory(*memory);
}

}  // namespace

BufferObject::BufferObject(std::shared_ptr<driver::ManagedBuffer> buffer)
    : HidlObject(IBuffer::layout()), mBuffer(std::move(buffer)) {}

Status BufferObject::serve(uint32_t code, Call& call) {
    using Self = BufferObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IBuffer::copyTo, &Self::copyTo, HalVersion::V1_3},
            {IBuffer::copyFrom, &Self::copyFrom, HalVersion::V1_3},
    };
    return dispatch(*this, kHandlers, code, call);
}

Status BufferObject::copyTo(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const driver::SharedMemory memory, readMemory(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    Status copied = driver::validatePoolName(memory, call.version, 0);
    if (copied.ok()) {
        copied = mBuffer->copyTo(*memory);
    }
    writeEnum(*reply, reportStatus(copied, call.version, "copyTo"));
    return {};
}

Status BufferObject::copyFrom(Call& call) {
    HALYARD_ASSIGN_OR_RETURN(const driver::SharedMemory memory, readMemory(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(const auto* wire, readValue<HidlVec<uint32_t>>(call.arguments));
    const std::vector<uint32_t> dimensions(wire->view().begin(), wire->view().end());
    HALYARD_ASSIGN_OR_RETURN(auto* reply, call.endArguments());
    Status copied = driver::validatePoolName(memory, call.version, 0);
    if (copied.ok()) {
        copied = mBuffer->copyFrom(*memory, dimensions);
    }
    writeEnum(*reply, reportStatus(copied, call.version, "copyFrom"));
    return {};
}

}  // namespace halyard::hal::hidl
