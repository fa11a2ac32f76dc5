// SPDX-License-Identifier: Apache-2.0
//
// DeviceQuery: what OpenCL tells of a device.

#pragma once

#include <string>

#include "engine/backends/gpu/opencl/failure.h"
#include "engine/backends/gpu/opencl/open_cl.h"
#include "engine/base/status.h"

namespace halyard::engine::gpu {

// Asks a device, and keeps what went wrong.
class DeviceQuery {
  public:
    DeviceQuery(const OpenCl& cl, cl_device_id id) : mCl(cl), mId(id) {}

    template <typename T>
    T number(cl_device_info what) {
        T value{};
        note(mCl.clGetDeviceInfo(mId, what, sizeof value, &value, nullptr));
        return value;
    }
    std::string text(cl_device_info what) {
        size_t size = 0;
        note(mCl.clGetDeviceInfo(mId, what, 0, nullptr, &size));
        std::string value(mStatus.ok() ? size : 0, '\0');
        if (!value.empty()) {
            note(mCl.clGetDeviceInfo(mId, what, value.size(), value.data(), nullptr));
        }
        return value.substr(0, value.find('\0'));
    }
    // Of the first call that failed.
    const Status& status() const { return mStatus; }

  private:
    void note(cl_int code) {
        if (mStatus.ok()) {
            mStatus = check(code, "clGetDeviceInfo");
        }
    }

    const OpenCl& mCl;
    const cl_device_id mId;
    Status mStatus;
};

}  // namespace halyard::engine::gpu
