// SPDX-License-Identifier: Apache-2.0
//
// Marks: the event that OpenCL gives for a command, as CUDA has it.

#pragma once

#include <memory>

#include "engine/backends/gpu/nvidia/cuda/handles.h"
#include "engine/backends/gpu/nvidia/cuda/objects.h"

namespace halyard::engine::gpu::cuda {

// Marks the queue's place where somebody wants to know of it, or of the time since `begin`.
class Marks {
  public:
    Marks(Queue& queue, cl_event* wanted) : mQueue(queue), mWanted(wanted) {
        if (mWanted != nullptr && mQueue.tellsTimes) {
            mEvent = std::make_unique<Event>(mQueue.context);
            mResult = mark(mEvent->begin);
        }
    }
    // After what is between the marks, and what came of it.
    cl_int end(cl_int code) {
        if (code != CL_SUCCESS || mWanted == nullptr) {
            return code;
        }
        if (mEvent == nullptr) {
            mEvent = std::make_unique<Event>(mQueue.context);
        }
        if (mResult == kCudaSuccess) {
            mResult = mark(mEvent->end);
        }
        if (mResult == kCudaSuccess) {
            *mWanted = asHandle<cl_event>(std::move(mEvent));
        }
        return codeOf(mResult);
    }

  private:
    CUresult mark(CUevent& event) const {
        const CudaDriver& driver = mQueue.context->driver();
        const CUresult made =
                driver.cuEventCreate(&event, mQueue.tellsTimes ? 0 : kCudaEventWithoutTime);
        return made == kCudaSuccess ? driver.cuEventRecord(event, mQueue.stream) : made;
    }

    Queue& mQueue;
    cl_event* const mWanted;
    std::unique_ptr<Event> mEvent;
    CUresult mResult = kCudaSuccess;
};

}  // namespace halyard::engine::gpu::cuda
