// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/device/candidates.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "engine/backends/gpu/device/device_family_of.h"
#include "engine/backends/gpu/device/vendors.h"
#include "engine/backends/gpu/opencl/device_query.h"

namespace halyard::engine::gpu {
namespace {

// More than any machine has.
constexpr cl_uint kMostPlatforms = 16;
constexpr cl_uint kMostDevices = 64;
// Every kernel runs in work-groups of so many work-items at most.
constexpr size_t kFewestWorkItems = 128;
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

std::string refusalOf(DeviceQuery& ask, const DeviceFacts& facts) {
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
    if (facts.maxWorkGroupSize < kFewestWorkItems) {
        return "its groups have " + std::to_string(facts.maxWorkGroupSize) +
               " items at most, and " + std::to_string(kFewestWorkItems) + " are needed";
    }
    return "";
}

Candidate examine(const std::shared_ptr<const OpenCl>& cl, const std::string& library,
                  cl_platform_id platformId, const std::string& platform, cl_device_id id) {
    DeviceQuery ask(*cl, id);
    Candidate candidate = {.cl = cl,
                           .library = library,
                           .id = id,
                           .platform = platformId,
                           .facts = {},
                           .refusal = {}};
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
    facts.maxWorkGroupSize = ask.number<size_t>(CL_DEVICE_MAX_WORK_GROUP_SIZE);
    facts.localBytes = ask.number<cl_ulong>(CL_DEVICE_LOCAL_MEM_SIZE);
    facts.hasDoubles = ask.text(CL_DEVICE_EXTENSIONS).find("cl_khr_fp64") != std::string::npos;
    facts.vendor = vendorOf(platform);
    facts.matrixUnit = facts.vendor == nullptr ? nullptr : facts.vendor->matrixUnit;
    facts.family = familyOf(facts);
    facts.sharesMemory = ask.number<cl_bool>(CL_DEVICE_HOST_UNIFIED_MEMORY) != CL_FALSE;
    facts.dividesExactly = (ask.number<cl_device_fp_config>(CL_DEVICE_SINGLE_FP_CONFIG) &
                            CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    candidate.refusal = refusalOf(ask, facts);
    return candidate;
}

// GPUs before other accelerators before processors.
std::pair<int, uint64_t> rankOf(const Candidate& candidate) {
    const cl_device_type type = candidate.facts.type;
    const int kind = (type & CL_DEVICE_TYPE_GPU) != 0           ? 2
                     : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1
                                                                : 0;
    return {kind, candidate.facts.speed};
}

// The loader's words without the name that stands before them.
std::string reasonOf(const Status& failure, const std::string& library) {
    std::string_view reason = failure.message();
    if (reason.starts_with(library + ": ")) {
        reason.remove_prefix(library.size() + 2);
    }
    return std::string(reason);
}

}  // namespace

bool isProcessor(const Candidate& candidate) {
    return (candidate.facts.type & CL_DEVICE_TYPE_CPU) != 0;
}

Status Candidates::list(const std::shared_ptr<const OpenCl>& cl, const std::string& library) {
    std::array<cl_platform_id, kMostPlatforms> platforms = {};
    cl_uint platformCount = 0;
    if (const Status listed =
                check(cl->clGetPlatformIDs(kMostPlatforms, platforms.data(), &platformCount),
                      "clGetPlatformIDs");
        !listed.ok()) {
        return {StatusCode::UNAVAILABLE, std::string(listed.message())};
    }
    for (cl_uint i = 0; i < std::min(platformCount, kMostPlatforms); ++i) {
        const std::string platform = platformText(*cl, platforms[i], CL_PLATFORM_NAME) + " " +
                                     platformText(*cl, platforms[i], CL_PLATFORM_VERSION);
        std::array<cl_device_id, kMostDevices> ids = {};
        cl_uint count = 0;
        // A platform without a device says so by failing.
        if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, kMostDevices, ids.data(),
                               &count) != CL_SUCCESS) {
            continue;
        }
        for (cl_uint j = 0; j < std::min(count, kMostDevices); ++j) {
            mAll.push_back(examine(cl, library, platforms[i], platform, ids[j]));
        }
    }
    return {};
}

Status Candidates::addFirst(const std::vector<std::string>& libraries) {
    std::string tried;
    for (const std::string& library : libraries) {
        const Result<std::shared_ptr<const OpenCl>> loaded = OpenCl::load(library);
        if (loaded.ok()) {
            mLoader = library;
            return list(*loaded, library);
        }
        if (libraries.size() == 1 || !OpenCl::canLoad()) {
            return loaded.status();
        }
        tried.append(tried.empty() ? "" : ", ").append(library);
    }
    return {StatusCode::UNAVAILABLE, "there is no OpenCL: none of " + tried + " loads"};
}

void Candidates::add(const std::string& library) {
    if (library == mLoader) {
        return;
    }
    const Result<std::shared_ptr<const OpenCl>> loaded = OpenCl::load(library);
    const size_t before = mAll.size();
    const Status listed = loaded.ok() ? list(*loaded, library) : loaded.status();
    if (!listed.ok()) {
        note(library, reasonOf(listed, library));
    } else if (mAll.size() == before) {
        note(library, "it lists no device");
    } else if (std::none_of(mAll.begin() + static_cast<std::ptrdiff_t>(before), mAll.end(),
                            [](const Candidate& each) {
                                return each.refusal.empty() && !isProcessor(each);
                            })) {
        note(library, "none of its devices is a GPU that could be used");
    }
}

void Candidates::note(const std::string& library, const std::string& reason) {
    mTried.append(mTried.empty() ? "" : ", ").append(library).append(" (");
    mTried.append(reason).append(")");
}

std::string Candidates::listed() const {
    std::string list;
    for (size_t i = 0; i < mAll.size(); ++i) {
        const Candidate& each = mAll[i];
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

const Candidate* Candidates::choose(const std::string& wanted) const {
    size_t number = 0;
    const char* const end = wanted.data() + wanted.size();
    if (const auto [stopped, error] = std::from_chars(wanted.data(), end, number);
        !wanted.empty() && error == std::errc() && stopped == end) {
        return number < mAll.size() && mAll[number].refusal.empty() ? &mAll[number] : nullptr;
    }
    const Candidate* best = nullptr;
    for (const Candidate& each : mAll) {
        // OpenCL on the processor is taken only if asked for: CpuAcc makes better use of it.
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

}  // namespace halyard::engine::gpu
