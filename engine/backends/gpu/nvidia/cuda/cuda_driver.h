// SPDX-License-Identifier: Apache-2.0
//
// CUDA's driver, found when it is wanted. Its types and numbers are those of NVIDIA's public
// description of the driver API, as no header of it is there to build with.

#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUlinkState = struct CUlinkState_st*;

// Of CUresult.
inline constexpr CUresult kCudaSuccess = 0;
inline constexpr CUresult kCudaInvalidValue = 1;
inline constexpr CUresult kCudaOutOfMemory = 2;
inline constexpr CUresult kCudaInvalidImage = 200;
inline constexpr CUresult kCudaNoBinaryForGpu = 209;
inline constexpr CUresult kCudaInvalidPtx = 218;
inline constexpr CUresult kCudaUnsupportedPtxVersion = 222;
inline constexpr CUresult kCudaNotFound = 500;

// Of the attributes of devices.
inline constexpr int kCudaPciBus = 33;
inline constexpr int kCudaPciSlot = 34;
inline constexpr int kCudaPciDomain = 50;

// Of options for the linker, its inputs, streams, and captures.
inline constexpr int kCudaErrorLog = 5;
inline constexpr int kCudaErrorLogBytes = 6;
inline constexpr int kCudaInputPtx = 1;
inline constexpr unsigned kCudaStreamNonBlocking = 1;
inline constexpr unsigned kCudaEventWithoutTime = 2;
inline constexpr int kCudaCaptureRelaxed = 2;

// One library, which stays loaded once it is. Immutable.
struct CudaDriver {
#define HALYARD_CUDA_FUNCTION(name, parameters) CUresult(*name) parameters = nullptr;
#include "engine/backends/gpu/nvidia/cuda/functions.inc"
#undef HALYARD_CUDA_FUNCTION

    // `path` empty: the usual names. UNAVAILABLE where none loads, lacks a function, or finds no
    // device.
    static Result<std::shared_ptr<const CudaDriver>> load(const std::string& path);

    // "CUDA_ERROR_ILLEGAL_ADDRESS (700)".
    std::string nameOf(CUresult result) const;
};

}  // namespace halyard::engine::gpu
