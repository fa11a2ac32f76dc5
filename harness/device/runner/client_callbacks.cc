// SPDX-License-Identifier: Apache-2.0

#include "harness/device/runner/client_callbacks.h"

#include <utility>

#include "engine/base/log.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"

namespace halyard::runner {

using hal::hidl::nn::v1_3::IExecutionCallback;

// All its methods take the status and the model.
Status PreparedModelReceiver::serve(uint32_t /*code*/, Call& call) {
    PreparedReply reply;
    HALYARD_ASSIGN_OR_RETURN(reply.status,
                             hal::hidl::readEnum<driver::ErrorStatus>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(reply.model, call.arguments.readObject());
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    if (!mReply.set(std::move(reply))) {
        log(LogLevel::ERROR, "the service notified about one prepared model twice");
    }
    return {};
}

Status ExecutionReceiver::serve(uint32_t code, Call& call) {
    ExecutedReply reply;
    HALYARD_ASSIGN_OR_RETURN(reply.status,
                             hal::hidl::readEnum<driver::ErrorStatus>(call.arguments));
    if (code != IExecutionCallback::notify) {
        HALYARD_ASSIGN_OR_RETURN(hal::hidl::nn::v1_2::ShapesAndTiming results,
                                 hal::hidl::nn::v1_2::readShapesAndTiming(call.arguments));
        reply.execution = {.outputShapes = std::move(results.shapes), .timing = results.timing};
    }
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    if (!mReply.set(std::move(reply))) {
        log(LogLevel::ERROR, "the service notified about one execution twice");
    }
    return {};
}

}  // namespace halyard::runner
