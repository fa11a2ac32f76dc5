// SPDX-License-Identifier: Apache-2.0
//
// CUDA's driver for tests: one device whose memory is the host's, which knows one kernel,
//
//     scale(y, at, factor): y[at + i] *= factor for each item i
//
// and fails when it is told to. Beside it an OpenCL compiler that makes that kernel of any text.
// One at a time, as the drivers' functions know of no other.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/backends/gpu/nvidia/cuda/cuda_driver.h"
#include "engine/backends/gpu/opencl/open_cl.h"

namespace halyard::engine::gpu_test {

class FakeCuda {
  public:
    FakeCuda();
    ~FakeCuda();
    FakeCuda(const FakeCuda&) = delete;
    FakeCuda& operator=(const FakeCuda&) = delete;

    std::shared_ptr<const gpu::CudaDriver> driver() const { return mDriver; }
    std::shared_ptr<const gpu::OpenCl> compiler() const { return mCompiler; }

    // From now on calls of the function with this name fail with the result; 0: none.
    void fail(const std::string& function, gpu::CUresult result);
    // Objects that have not been released.
    size_t alive() const { return mAlive.size(); }
    size_t launches() const { return mLaunches; }
    size_t replays() const { return mReplays; }

    // For the drivers' functions, which find it where the process has its only one.
    struct Calls;

  private:
    using Work = std::function<void()>;
    struct Stream {
        bool isCapturing = false;
        std::vector<Work> captured;
    };

    const std::shared_ptr<gpu::CudaDriver> mDriver;
    const std::shared_ptr<gpu::OpenCl> mCompiler;
    std::set<void*> mAlive;
    std::string mFailing;
    gpu::CUresult mFailure = 0;
    size_t mLaunches = 0;
    size_t mReplays = 0;
    std::string mImage;  // that the linker made last
};

}  // namespace halyard::engine::gpu_test
