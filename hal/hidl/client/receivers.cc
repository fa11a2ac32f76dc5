// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/client/receivers.h"

#include <utility>

#include "engine/base/log.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/types.h"
#include "hal/hidl/v1_2.h"

namespace halyard::hal::hidl {

using nn::v1_3::IExecutionCallback;

// All its methods take the status and the model.
Status PreparedModelReceiver::serve(uint32_t /*code*/, Call& call) {
    PreparedReply reply;
    HALYARD_ASSIGN_OR_RETURN(reply.status, readEnum<driver::ErrorStatus>(call.arguments));
    HALYARD_ASSIGN_OR_RETURN(reply.model, call.arguments.readObject());
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    if (mNotified.exchange(true)) {
        log(LogLevel::ERROR, "the service notified about one prepared model twice");
        return {};
    }
    mPending->complete(std::move(reply));
    return {};
}

Status ExecutionReceiver::serve(uint32_t code, Call& call) {
    ExecutedReply reply;
    HALYARD_ASSIGN_OR_RETURN(reply.status, readEnum<driver::ErrorStatus>(call.arguments));
    if (code != IExecutionCallback::notify) {
        HALYARD_ASSIGN_OR_RETURN(nn::v1_2::ShapesAndTiming results,
                                 nn::v1_2::readShapesAndTiming(call.arguments));
        reply.outputShapes = std::move(results.shapes);
        reply.timing = results.timing;
    }
    HALYARD_RETURN_IF_ERROR(call.endArguments().status());
    if (mNotified.exchange(true)) {
        log(LogLevel::ERROR, "the service notified about one execution twice");
        return {};
    }
    mPending->complete(std::move(reply));
    return {};
}

}  // namespace halyard::hal::hidl
