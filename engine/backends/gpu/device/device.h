// SPDX-License-Identifier: Apache-2.0
//
// The device that GpuAcc computes on: chosen among all that OpenCL lists, and what it can do.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "engine/backends/gpu/device/device_facts.h"
#include "engine/backends/gpu/opencl/handles.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

struct DeviceChoice {
    std::string library;  // a path or name; empty: wherever it is looked for
    std::string device;   // a number in the order of the list, or part of a name; empty: the best
    // The native driver of the device's vendor in place of OpenCL's functions: "on", "off", or a
    // path or name of its library; empty: where there is one.
    std::string nativeDriver = {};
    // CommandBuffer of launches are kept where the device says that it can (cl_khr_command_buffer,
    // which is provisional). By a native driver they always are.
    bool keepsCommandBuffer = false;
    // Tiles where they fit, on processors as well: for tests.
    bool tilesAnywhere = false;
    // A processor is gone about as a GPU, with memory of its own: for tests.
    bool asGpu = false;
    // The same with a matrix unit, which is emulated.
    bool emulatesMatrixUnit = false;
    // Where no library is named.
    OpenClPaths searched = OpenClPaths::usual();

    OpenClPaths paths() const {
        return library.empty() ? searched : OpenClPaths{.loaders = {library}, .vendors = {}};
    }
};

// A device and a context on it. Immutable but for its loss, thread-safe; shared by all that lives
// on it.
class Device {
  public:
    // UNAVAILABLE where there is no OpenCL, or no device that GpuAcc can use, with the reason;
    // INVALID_ARGUMENT where the choice names none of those there are, which the message lists.
    static Result<std::shared_ptr<const Device>> open(const DeviceChoice& choice);

    Device(std::shared_ptr<const OpenCl> cl, cl_device_id id, DeviceFacts facts,
           ContextHandle context)
        : mCl(std::move(cl)), mId(id), mFacts(std::move(facts)), mContext(std::move(context)) {}

    const OpenCl& cl() const { return *mCl; }
    const std::shared_ptr<const OpenCl>& library() const { return mCl; }
    cl_device_id id() const { return mId; }
    cl_context context() const { return mContext.get(); }
    const DeviceFacts& facts() const { return mFacts; }

    // INTERNAL once the device is lost, which it stays: a context whose device has gone is of no
    // use any more.
    Status usable() const;
    // The device has failed where nothing was asked of it but to come to an end. Has it do
    // something small to find out whether it is lost.
    void suspect(const Status& failure) const;

    // In order; `profiled`: its events tell times.
    Result<QueueHandle> makeQueue(bool profiled = false) const;

  private:
    const std::shared_ptr<const OpenCl> mCl;
    const cl_device_id mId;
    const DeviceFacts mFacts;
    const ContextHandle mContext;
    mutable std::atomic<bool> mIsLost = false;
    mutable std::mutex mMutex;
    mutable Status mLoss;  // written once, before the flag
};

}  // namespace halyard::engine::gpu
