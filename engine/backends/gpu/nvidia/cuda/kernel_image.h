// SPDX-License-Identifier: Apache-2.0
//
// KernelImage: a program as GpuAcc keeps it for CUDA's driver: machine code, and each kernel's
// parameters, as the code says of a parameter only how large it is. The kernels come from NVIDIA's
// OpenCL compiler as PTX, which differs from CUDA's in what it has of a launch: where the
// work-items of a part of a range begin. They get that as a last parameter.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

struct KernelParameter {
    uint32_t bytes = 0;
    bool isMemory = false;  // an address on the device, for which OpenCL has a cl_mem

    bool operator==(const KernelParameter&) const = default;
};

struct KernelSignature {
    std::string name;
    std::vector<KernelParameter> parameters;  // without the last

    bool operator==(const KernelSignature&) const = default;
};

// Of the last parameter: where the work-items begin, along each axis.
struct RangeBegin {
    uint32_t at[3] = {0, 0, 0};
};

// A program's text as CUDA takes it.
struct PortedPtx {
    std::string text;
    std::vector<KernelSignature> kernels;
};

// UNSUPPORTED where the text has what CUDA has no word for.
Result<PortedPtx> portPtx(std::string_view openClPtx);

struct KernelImage {
    std::vector<KernelSignature> kernels;
    std::vector<uint8_t> code;

    std::vector<uint8_t> toBytes() const;
    // INVALID_ARGUMENT where they are none that toBytes() has made, or say of a parameter what none
    // can be. That the code takes such parameters can't be checked: bytes that may be a client's
    // are not to come here.
    static Result<KernelImage> fromBytes(std::span<const uint8_t> bytes);
};

}  // namespace halyard::engine::gpu
