// SPDX-License-Identifier: Apache-2.0

#include "hal/aidl/buffer_object.h"

#include <utility>
#include <vector>

#include "driver/model/validate.h"
#include "hal/aidl/conversion.h"
#include "hal/aidl/memory.h"
#include "hal/aidl/types.h"

namespace halyard::hal::aidl {

using nn::IBuffer;

BufferObject::BufferObject(std::shared_ptr<driver::ManagedBuffer> buffer, const Dialect& dialect)
    : AidlObject(IBuffer::info(), dialect.release, dialect.number()),
      mBuffer(std::move(buffer)),
      mDialect(dialect) {}

Status BufferObject::serve(uint32_t code, Call& call) {
    using Self = BufferObject;
    static constexpr Handler<Self> kHandlers[] = {
            {IBuffer::CopyFrom::kCode, &Self::copyFrom},
            {IBuffer::CopyTo::kCode, &Self::copyTo},
    };
    return dispatch(*this, kHandlers, code, call);
}

Status BufferObject::copyFrom(Call& call) {
    using Method = IBuffer::CopyFrom;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const Result<driver::SharedMemory> memory = importMemory(arguments.src);
    const Result<std::vector<uint32_t>> dimensions =
            decodeNumbers(arguments.dimensions, "a dimension");
    HALYARD_RETURN_IF_ERROR(call.end());
    Status copied = memory.ok() ? dimensions.status() : memory.status();
    if (copied.ok()) {
        copied = driver::validatePoolName(*memory, mDialect.version, 0);
    }
    if (copied.ok()) {
        copied = mBuffer->copyFrom(**memory, *dimensions);
    }
    return copied.ok() ? call.answer() : refuse(call, copied, Method::kName);
}

Status BufferObject::copyTo(Call& call) {
    using Method = IBuffer::CopyTo;
    HALYARD_ASSIGN_OR_RETURN(const auto arguments, call.read<Method>());
    const Result<driver::SharedMemory> memory = importMemory(arguments.dst);
    HALYARD_RETURN_IF_ERROR(call.end());
    Status copied = memory.status();
    if (copied.ok()) {
        copied = driver::validatePoolName(*memory, mDialect.version, 0);
    }
    if (copied.ok()) {
        copied = mBuffer->copyTo(**memory);
    }
    return copied.ok() ? call.answer() : refuse(call, copied, Method::kName);
}

}  // namespace halyard::hal::aidl
