// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/device.h"

#include <algorithm>
#include <utility>

#include "engine/backends/gpu/device/candidates.h"
#include "engine/backends/gpu/device/vendors.h"
#include "engine/backends/gpu/opencl/failure.h"
#include "engine/backends/gpu/vendor/emulated_matrix_unit.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

// A tiled kernel's needs.
constexpr size_t kTileWorkItems = 256;
constexpr size_t kTileBytes = size_t{32} << 10;

// As data centres have them.
constexpr uint32_t kUnitsOfLargeDevices = 128;

Status unavailable(std::string why) {
    return {StatusCode::UNAVAILABLE, std::move(why)};
}

std::string alsoTried(const Candidates& candidates) {
    return candidates.tried().empty() ? "" : "; also tried: " + candidates.tried();
}

// Functions that do more for the chosen device, or do it faster, take the place of OpenCL's.
Status extend(const DeviceChoice& choice, const Candidate& chosen,
              std::shared_ptr<const OpenCl>& cl, cl_device_id& id, DeviceFacts& facts) {
    // A driver that is asked for by name is one for devices of any platform: of tests.
    const Vendor* const vendor =
            facts.vendor != nullptr || choice.nativeDriver.empty() || vendors().empty()
                    ? facts.vendor
                    : vendors().front();
    if (choice.nativeDriver != "off" && vendor != nullptr) {
        const std::string library = choice.nativeDriver == "on" ? "" : choice.nativeDriver;
        Result<NativeDriver> found = vendor->openDriver(cl, id, library);
        if (found.ok()) {
            cl = std::move(found->cl);
            id = found->id;
            facts.through = std::move(found->version);
            return {};
        }
        const std::string why(found.status().message());
        const std::string driver(vendor->driverName);
        if (!choice.nativeDriver.empty()) {
            return unavailable(driver + " was asked for: " + why);
        }
        log(LogLevel::INFO, "GpuAcc goes without " + driver + ": " + why);
    } else if (choice.nativeDriver != "off" && !choice.nativeDriver.empty()) {
        return unavailable("a native driver was asked for, and this build has none");
    }
    if (choice.keepsCommandBuffer) {
        HALYARD_ASSIGN_OR_RETURN(cl, OpenCl::withCommandBuffers(*cl, chosen.platform));
        facts.through = "command buffers";
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const Device>> Device::open(const DeviceChoice& choice) {
    const OpenClPaths paths = choice.paths();
    Candidates candidates;
    const Status loader = candidates.addFirst(paths.loaders);
    const Candidate* chosen = candidates.choose(choice.device);
    for (size_t i = 0; chosen == nullptr && OpenCl::canLoad() && i < paths.vendors.size(); ++i) {
        candidates.add(paths.vendors[i]);
        chosen = candidates.choose(choice.device);
        if (chosen != nullptr) {
            log(LogLevel::INFO,
                "GpuAcc takes " + chosen->facts.name + " from " + chosen->library +
                        ", as OpenCL's loader has no such device" +
                        (loader.ok() ? "" : " (" + std::string(loader.message()) + ")") +
                        alsoTried(candidates));
        }
    }
    if (chosen == nullptr) {
        if (!loader.ok()) {
            return unavailable(std::string(loader.message()) + alsoTried(candidates));
        }
        const std::string there =
                "; those there are: " + candidates.listed() + alsoTried(candidates);
        return choice.device.empty()
                       ? unavailable("there is no OpenCL device that could be used" + there)
                       : invalidArgument("there is no OpenCL device \"" + choice.device + "\"" +
                                         there);
    }
    DeviceFacts facts = chosen->facts;
    cl_device_id id = chosen->id;
    std::shared_ptr<const OpenCl> cl = chosen->cl;
    HALYARD_RETURN_IF_ERROR(extend(choice, *chosen, cl, id, facts));
    cl_int code = CL_SUCCESS;
    const cl_context context = cl->clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    if (code != CL_SUCCESS || context == nullptr) {
        return unavailable("clCreateContext() failed on " + chosen->facts.name + ": " +
                           nameOf(code));
    }
    ContextHandle owned(cl, context);
    if (choice.emulatesMatrixUnit) {
        facts.matrixUnit = &emulatedMatrixUnit();
        // So many that split-K is used.
        facts.computeUnits = std::max(facts.computeUnits, kUnitsOfLargeDevices);
    }
    if (choice.asGpu) {
        facts.type = CL_DEVICE_TYPE_GPU;
        facts.sharesMemory = false;
        // Other nodes are fused then.
        facts.through += facts.through.empty() ? "as a GPU" : ", as a GPU";
    }
    facts.prefersTiles = (choice.tilesAnywhere || choice.asGpu || !isProcessor(*chosen)) &&
                         facts.maxWorkGroupSize >= kTileWorkItems && facts.localBytes >= kTileBytes;
    return std::make_shared<const Device>(std::move(cl), id, std::move(facts), std::move(owned));
}

Status Device::usable() const {
    return mIsLost.load(std::memory_order_acquire) ? mLoss : Status();
}

void Device::suspect(const Status& failure) const {
    const auto works = [this]() -> Status {
        HALYARD_ASSIGN_OR_RETURN(const QueueHandle queue, makeQueue());
        const cl_uint number = 0;
        cl_int code = CL_SUCCESS;
        const MemoryHandle memory(mCl, mCl->clCreateBuffer(mContext.get(), CL_MEM_READ_WRITE,
                                                           sizeof number, nullptr, &code));
        HALYARD_RETURN_IF_ERROR(check(code, "clCreateBuffer"));
        HALYARD_RETURN_IF_ERROR(
                check(mCl->clEnqueueWriteBuffer(queue.get(), memory.get(), CL_TRUE, 0,
                                                sizeof number, &number, 0, nullptr, nullptr),
                      "clEnqueueWriteBuffer"));
        return check(mCl->clFinish(queue.get()), "clFinish");
    };
    const std::lock_guard lock(mMutex);
    if (mIsLost.load(std::memory_order_relaxed) || works().ok()) {
        return;
    }
    mLoss = failure.withContext("the device is lost");
    mIsLost.store(true, std::memory_order_release);
    log(LogLevel::ERROR, "GpuAcc has lost " + mFacts.name +
                                 ", until the next start: " + std::string(failure.message()));
}

Result<QueueHandle> Device::makeQueue(bool profiled) const {
    cl_int code = CL_SUCCESS;
    const cl_command_queue queue = mCl->clCreateCommandQueue(
            mContext.get(), mId, profiled ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    HALYARD_RETURN_IF_ERROR(check(code, "clCreateCommandQueue"));
    return QueueHandle(mCl, queue);
}

}  // namespace halyard::engine::gpu
