// SPDX-License-Identifier: Apache-2.0

#include "engine/plan/kernel_call.h"

#include <optional>
#include <string>

#include "engine/base/checked_math.h"

namespace halyard::engine {

Result<std::byte*> ScratchStack::take(size_t bytes, const std::shared_ptr<Budget>& memory) {
    if (mTaken == mBuffers.size()) {
        mBuffers.emplace_back();
    }
    HALYARD_ASSIGN_OR_RETURN(std::byte* const data,
                             mBuffers[mTaken].get(std::max<size_t>(bytes, 1), kTensorAlignment,
                                                  memory, "the scratch memory of a kernel"));
    ++mTaken;
    return data;
}

Result<TensorView> KernelCall::allocate(size_t index, const Shape& shape) {
    if (mEnvironment.allocator == nullptr || index >= mEnvironment.outputs.size()) {
        return internalError("a kernel finds a shape that was known before");
    }
    HALYARD_ASSIGN_OR_RETURN(mEnvironment.outputs[index],
                             mEnvironment.allocator->allocate(index, shape));
    return mEnvironment.outputs[index];
}

Status KernelCall::ask() {
    mUntilAsked = kInterval;
    return mEnvironment.checkpoint.check("while it ran");
}

Result<std::byte*> KernelCall::scratchBytes(size_t count, size_t elementSize) {
    const std::optional<size_t> bytes = checkedMultiply(count, elementSize);
    if (!bytes.has_value()) {
        return outOfReach("scratch memory of " + std::to_string(count) +
                          " elements is out of reach");
    }
    ScratchStack& scratch = mEnvironment.scratch != nullptr ? *mEnvironment.scratch : mOwnScratch;
    return scratch.take(*bytes, mEnvironment.memory);
}

}  // namespace halyard::engine
