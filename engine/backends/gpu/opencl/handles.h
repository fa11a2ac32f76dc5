// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's objects, each released by its owner. Each keeps alive what it is of no use without.

#pragma once

#include <memory>
#include <utility>

#include "engine/backends/gpu/opencl/open_cl.h"

namespace halyard::engine::gpu {

// Movable. `Release` is the function of OpenCl that lets go of such an object.
template <typename Object, auto Release>
class Handle {
  public:
    Handle() = default;  // none
    Handle(std::shared_ptr<const OpenCl> cl, Object object) : mCl(std::move(cl)), mObject(object) {}
    Handle(Handle&& other) noexcept
        : mCl(std::move(other.mCl)), mObject(std::exchange(other.mObject, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(mCl, other.mCl);
        std::swap(mObject, other.mObject);
        return *this;
    }
    ~Handle() {
        // Nothing could be done about its failure.
        if (mObject != nullptr) {
            static_cast<void>(((*mCl).*Release)(mObject));
        }
    }

    Object get() const { return mObject; }

  private:
    std::shared_ptr<const OpenCl> mCl;
    Object mObject = nullptr;
};

using ContextHandle = Handle<cl_context, &OpenCl::clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &OpenCl::clReleaseCommandQueue>;
using MemoryHandle = Handle<cl_mem, &OpenCl::clReleaseMemObject>;
using ProgramHandle = Handle<cl_program, &OpenCl::clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &OpenCl::clReleaseKernel>;
using RecordingHandle = Handle<cl_command_buffer_khr, &OpenCl::clReleaseCommandBufferKHR>;
using EventHandle = Handle<cl_event, &OpenCl::clReleaseEvent>;

}  // namespace halyard::engine::gpu
