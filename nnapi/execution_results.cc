// SPDX-License-Identifier: Apache-2.0
//
// What came of an execution, as programs ask for it.

#include <algorithm>
#include <string>

#include "nnapi/execution.h"
#include "nnapi/operand_size.h"
#include "nnapi/timeouts.h"

namespace halyard::nnapi {

Answer ExecutionBuilder::duration(int32_t code, uint64_t& nanoseconds) const {
    nanoseconds = UINT64_MAX;
    if (code < ANEURALNETWORKS_DURATION_ON_HARDWARE ||
        code > ANEURALNETWORKS_FENCED_DURATION_IN_DRIVER) {
        return badData("there is no duration " + std::to_string(code));
    }
    const std::lock_guard lock(mMutex);
    if (mState != State::COMPLETED || !mAnswer.ok()) {
        return badState("the execution has not succeeded");
    }
    if (!mMeasures) {
        return badState("no time has been measured");
    }
    switch (code) {
        case ANEURALNETWORKS_DURATION_ON_HARDWARE:
            nanoseconds = nanosecondsOf(mResult.timing.timeOnDevice);
            break;
        case ANEURALNETWORKS_DURATION_IN_DRIVER:
            nanoseconds = nanosecondsOf(mResult.timing.timeInDriver);
            break;
        case ANEURALNETWORKS_FENCED_DURATION_ON_HARDWARE:
            nanoseconds = nanosecondsOf(mResult.timingFenced.timeOnDevice);
            break;
        default:
            nanoseconds = nanosecondsOf(mResult.timingFenced.timeInDriver);
            break;
    }
    return {};
}

Answer ExecutionBuilder::checkOutputs(int32_t index) const {
    const std::lock_guard lock(mMutex);
    if (mState != State::COMPLETED) {
        return badState("the execution is not over");
    }
    if (!mAnswer.ok() && mAnswer.code() != ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE) {
        return badState("the execution has failed");
    }
    return index >= 0 && static_cast<size_t>(index) < mOutputs.size()
                   ? Answer()
                   : badData("there is no " + nameOf(false, index) + " of " +
                             std::to_string(mOutputs.size()));
}

Answer ExecutionBuilder::outputRank(int32_t index, uint32_t& rank) const {
    HALYARD_RETURN_UNLESS_OK(checkOutputs(index));
    const Place& place = mOutputs[static_cast<size_t>(index)].place;
    rank = static_cast<uint32_t>(place.dimensions.size());
    return place.isSufficient ? Answer()
                              : Answer(ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                                       nameOf(false, index) + " is too small");
}

Answer ExecutionBuilder::outputDimensions(int32_t index, uint32_t* dimensions) const {
    HALYARD_RETURN_UNLESS_OK(checkOutputs(index));
    if (!isTensor(operand(false, index), *mCompiled->prefixes)) {
        return badData(nameOf(false, index) + " is a scalar");
    }
    const Place& place = mOutputs[static_cast<size_t>(index)].place;
    std::ranges::copy(place.dimensions, dimensions);
    return place.isSufficient ? Answer()
                              : Answer(ANEURALNETWORKS_OUTPUT_INSUFFICIENT_SIZE,
                                       nameOf(false, index) + " is too small");
}

}  // namespace halyard::nnapi
