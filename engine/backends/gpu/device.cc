// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/backends/gpu/cuda/cuda_driver.h"
#include "engine/backends/gpu/cuda/opencl_on_cuda.h"
#include "engine/backends/gpu/opencl/failure.h"
#include "engine/base/log.h"

namespace halyard::engine::gpu {
namespace {

// More than any machine has.
constexpr cl_uint kMostPlatforms = 16;
constexpr cl_uint kMostDevices = 64;
// Every kernel runs in groups of so many items at most.
constexpr size_t kFewestItems = 128;
// What tiles take.
constexpr size_t kTileItems = 256;
constexpr size_t kTileBytes = size_t{32} << 10;

// NVIDIA's, of where a device is.
constexpr cl_device_info kPciBus = 0x4008;
constexpr cl_device_info kPciSlot = 0x4009;
constexpr cl_device_info kPciDomain = 0x400A;

// As data centres have them.
constexpr uint32_t kUnitsOfLargeDevices = 128;

struct Candidate {
    cl_device_id id = nullptr;
    cl_platform_id platform = nullptr;
    DeviceFacts facts;
    std::string refusal;  // why GpuAcc can't use it; empty: it can
};

Status unavailable(std::string why) {
    return {StatusCode::UNAVAILABLE, std::move(why)};
}

class Asker {
  public:
    Asker(const OpenCl& cl, cl_device_id id) : mCl(cl), mId(id) {}

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

std::string platformText(const OpenCl& cl, cl_platform_id platform, cl_platform_info what) {
    std::array<char, 256> text = {};
    const cl_int code = cl.clGetPlatformInfo(platform, what, text.size() - 1, text.data(), nullptr);
    return code == CL_SUCCESS ? std::string(text.data()) : "?";
}

// "OpenCL C 1.2 ..." or "OpenCL 3.0 ...".
bool isAtLeast12(std::string_view version) {
    const size_t digit = version.find_first_of("0123456789");
    int major = 0;
    int minor = 0;
    if (digit == std::string_view::npos) {
        return false;
    }
    const char* const end = version.data() + version.size();
    const auto [dot, error] = std::from_chars(version.data() + digit, end, major);
    if (error != std::errc() || dot == end || *dot != '.') {
        return false;
    }
    std::from_chars(dot + 1, end, minor);
    return major > 1 || (major == 1 && minor >= 2);
}

std::string refusalOf(Asker& ask, const DeviceFacts& facts) {
    const bool isAvailable = ask.number<cl_bool>(CL_DEVICE_AVAILABLE) != CL_FALSE;
    const bool compiles = ask.number<cl_bool>(CL_DEVICE_COMPILER_AVAILABLE) != CL_FALSE;
    const bool isLittle = ask.number<cl_bool>(CL_DEVICE_ENDIAN_LITTLE) != CL_FALSE;
    const std::string version = ask.text(CL_DEVICE_OPENCL_C_VERSION);
    if (!ask.status().ok()) {
        return ask.status().toString();
    }
    if (!isAvailable) {
        return "it is not available";
    }
    if (!compiles) {
        return "it has no compiler";
    }
    if (!isLittle) {
        return "its bytes are in another order than the host's";
    }
    if (!isAtLeast12(version)) {
        return "it speaks " + version + ", and 1.2 is needed";
    }
    if (facts.groupSize < kFewestItems) {
        return "its groups have " + std::to_string(facts.groupSize) + " items at most, and " +
               std::to_string(kFewestItems) + " are needed";
    }
    return "";
}

Candidate examine(const OpenCl& cl, cl_platform_id platformId, const std::string& platform,
                  cl_device_id id) {
    Asker ask(cl, id);
    Candidate candidate = {.id = id, .platform = platformId, .facts = {}, .refusal = {}};
    DeviceFacts& facts = candidate.facts;
    facts.platform = platform;
    facts.name = ask.text(CL_DEVICE_NAME);
    facts.driver = ask.text(CL_DRIVER_VERSION);
    facts.type = ask.number<cl_device_type>(CL_DEVICE_TYPE);
    facts.computeUnits = std::max<cl_uint>(ask.number<cl_uint>(CL_DEVICE_MAX_COMPUTE_UNITS), 1);
    facts.speed = uint64_t{facts.computeUnits} *
                  std::max<cl_uint>(ask.number<cl_uint>(CL_DEVICE_MAX_CLOCK_FREQUENCY), 1);
    facts.memoryBytes = ask.number<cl_ulong>(CL_DEVICE_GLOBAL_MEM_SIZE);
    facts.largestBuffer = ask.number<cl_ulong>(CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    facts.alignment = std::max<size_t>(ask.number<cl_uint>(CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8, 64);
    facts.groupSize = ask.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
    facts.localBytes = ask.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
    facts.hasDoubles = ask.text(CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
    facts.mayHavePtx = platform.find("NVIDIA") != std::string::npos;
    facts.sharesMemory = ask.number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
    facts.dividesExactly = (ask.number<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG) &
                            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    candidate.refusal = refusalOf(ask, facts);
    return candidate;
}

Result<std::vector<Candidate>> listAll(const OpenCl& cl) {
    std::array<cl_platform_id, kMostPlatforms> platforms = {};
    cl_uint platformCount = 0;
    if (const Status listed =
                check(cl.clGetPlatformIDs(kMostPlatforms, platforms.data(), &platformCount),
                      "clGetPlatformIDs");
        !listed.ok()) {
        return unavailable(std::string(listed.message()));
    }
    std::vector<Candidate> candidates;
    for (cl_uint i = 0; i < std::min(platformCount, kMostPlatforms); ++i) {
        const std::string platform = platformText(cl, platforms[i], CL_PLATFORM_NAME) + " " +
                                     platformText(cl, platforms[i], CL_PLATFORM_VERSION);
        std::array<cl_device_id, kMostDevices> ids = {};
        cl_uint count = 0;
        // A platform without a device says so by failing.
        if (cl.clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, kMostDevices, ids.data(), &count) !=
            CL_SUCCESS) {
            continue;
        }
        for (cl_uint j = 0; j < std::min(count, kMostDevices); ++j) {
            candidates.push_back(examine(cl, platforms[i], platform, ids[j]));
        }
    }
    return candidates;
}

bool isProcessor(const Candidate& candidate) {
    return (candidate.facts.type & CL_DEVICE_TYPE_CPU) != 0;
}

// GPUs before other accelerators before processors.
std::pair<int, uint64_t> rankOf(const Candidate& candidate) {
    const cl_device_type type = candidate.facts.type;
    const int kind = (type & CL_DEVICE_TYPE_GPU) != 0           ? 2
                     : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1
                                                                : 0;
    return {kind, candidate.facts.speed};
}

std::string listed(const std::vector<Candidate>& candidates) {
    std::string list;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const Candidate& each = candidates[i];
        list.append(i == 0 ? "" : ", ").append(std::to_string(i)).append(": ");
        list += each.facts.name;
        if (!each.refusal.empty()) {
            list += " (" + each.refusal + ")";
        } else if (isProcessor(each)) {
            list += " (a processor, which is taken where it is named)";
        }
    }
    return list.empty() ? "none" : list;
}

const Candidate* choose(const std::vector<Candidate>& candidates, const std::string& wanted) {
    size_t number = 0;
    const char* const end = wanted.data() + wanted.size();
    if (const auto [stopped, error] = std::from_chars(wanted.data(), end, number);
        !wanted.empty() && error == std::errc() && stopped == end) {
        return number < candidates.size() && candidates[number].refusal.empty()
                       ? &candidates[number]
                       : nullptr;
    }
    const Candidate* best = nullptr;
    for (const Candidate& each : candidates) {
        // Unasked, nobody wants OpenCL on the processor that CpuAcc makes better use of.
        if (wanted.empty() && isProcessor(each)) {
            continue;
        }
        if (each.refusal.empty() && each.facts.name.find(wanted) != std::string::npos &&
            (best == nullptr || rankOf(*best) < rankOf(each))) {
            best = &each;
        }
    }
    return best;
}

// The chosen device by way of CUDA's driver.
Result<OpenClOnCuda> findOnCuda(const std::shared_ptr<const OpenCl>& cl, cl_device_id id,
                                const std::string& cuda) {
    Asker ask(*cl, id);
    const PciAddress address = {.domain = static_cast<int>(ask.number<cl_uint>(kPciDomain)),
                                .bus = static_cast<int>(ask.number<cl_uint>(kPciBus)),
                                .slot = static_cast<int>(ask.number<cl_uint>(kPciSlot))};
    HALYARD_RETURN_IF_ERROR(ask.status().withContext("OpenCL does not tell where the device is"));
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const CudaDriver> driver,
                             CudaDriver::load(cuda == "on" ? "" : cuda));
    return openClOnCuda(std::move(driver), cl, id, address);
}

// Functions that do more for the chosen device, or do it faster, take the place of OpenCL's.
Status extend(const DeviceChoice& choice, const Candidate& chosen,
              std::shared_ptr<const OpenCl>& cl, cl_device_id& id, DeviceFacts& facts) {
    if (choice.cuda != "off" && (!choice.cuda.empty() || facts.mayHavePtx)) {
        Result<OpenClOnCuda> found = findOnCuda(cl, id, choice.cuda);
        if (found.ok()) {
            cl = std::move(found->cl);
            id = found->id;
            facts.through = std::move(found->version);
            return {};
        }
        const std::string why(found.status().message());
        if (!choice.cuda.empty()) {
            return unavailable("CUDA was asked for: " + why);
        }
        log(LogLevel::INFO, "GpuAcc goes without CUDA: " + why);
    }
    if (choice.keepsSeries) {
        HALYARD_ASSIGN_OR_RETURN(cl, OpenCl::withCommandBuffers(*cl, chosen.platform));
        facts.through = "command buffers";
    }
    return {};
}

}  // namespace

Result<std::shared_ptr<const Device>> Device::open(const DeviceChoice& choice) {
    HALYARD_ASSIGN_OR_RETURN(std::shared_ptr<const OpenCl> cl, OpenCl::load(choice.library));
    HALYARD_ASSIGN_OR_RETURN(const std::vector<Candidate> candidates, listAll(*cl));
    const Candidate* const chosen = choose(candidates, choice.device);
    if (chosen == nullptr) {
        const std::string there = "; those there are: " + listed(candidates);
        return choice.device.empty()
                       ? unavailable("there is no OpenCL device that could be used" + there)
                       : invalidArgument("there is no OpenCL device \"" + choice.device + "\"" +
                                         there);
    }
    DeviceFacts facts = chosen->facts;
    cl_device_id id = chosen->id;
    HALYARD_RETURN_IF_ERROR(extend(choice, *chosen, cl, id, facts));
    cl_int code = CL_SUCCESS;
    const cl_context context = cl->clCreateContext(nullptr, 1, &id, nullptr, nullptr, &code);
    if (code != CL_SUCCESS || context == nullptr) {
        return unavailable("clCreateContext() failed on " + chosen->facts.name + ": " +
                           nameOf(code));
    }
    ContextHandle owned(cl, context);
    facts.emulatesMatrices = choice.emulatesMatrices;
    if (choice.emulatesMatrices) {
        // So many that groups share tiles.
        facts.computeUnits = std::max(facts.computeUnits, kUnitsOfLargeDevices);
    }
    facts.prefersTiles = (choice.tilesAnywhere || !isProcessor(*chosen)) &&
                         facts.groupSize >= kTileItems && facts.localBytes >= kTileBytes;
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
