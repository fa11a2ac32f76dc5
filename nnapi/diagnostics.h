// SPDX-License-Identifier: Apache-2.0
//
// What a support library's host is told of compilations and computations, where it has asked for
// it: numbers for its statistics, no content of a model.

#pragma once

#include <android/SupportLibrary.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "driver/device/device_interface.h"
#include "nnapi/device.h"
#include "nnapi/model.h"

namespace halyard::nnapi {

// What both have in common. Nothing of it is ever null.
struct Diagnosed {
    std::array<uint8_t, 32> modelHash = {};  // of its operations and the types of its operands
    std::string deviceIds;                   // "name=version", sorted, with commas between
    ANeuralNetworksDiagnosticDataClass inputs = ANNDIAG_DATA_CLASS_UNKNOWN;
    ANeuralNetworksDiagnosticDataClass outputs = ANNDIAG_DATA_CLASS_UNKNOWN;
    int32_t errorCode = 0;
    bool isCached = false;
    bool hasControlFlow = false;
    bool hasDynamicTensors = false;
};

// Of a model on those devices.
Diagnosed diagnose(const FinishedModel& model, std::span<const RuntimeDevice* const> devices);

// The callbacks of the process. Thread-safe.
class Diagnostics {
  public:
    static Diagnostics& instance();

    // Null: none.
    void registerCallbacks(ANeuralNetworksDiagnosticCompilationFinishedCallback compilation,
                           ANeuralNetworksDiagnosticExecutionFinishedCallback execution,
                           void* context);
    bool wants() const;
    void compilationFinished(const Diagnosed& diagnosed, std::chrono::nanoseconds took) const;
    void executionFinished(const Diagnosed& diagnosed, ANeuralNetworksDiagnosticExecutionMode mode,
                           std::chrono::nanoseconds took, const driver::Timing& timing) const;

  private:
    mutable std::mutex mMutex;
    ANeuralNetworksDiagnosticCompilationFinishedCallback mCompilation = nullptr;
    ANeuralNetworksDiagnosticExecutionFinishedCallback mExecution = nullptr;
    void* mContext = nullptr;
};

}  // namespace halyard::nnapi

struct ANeuralNetworksDiagnosticCompilationInfo {
    const halyard::nnapi::Diagnosed& common;
    std::chrono::nanoseconds took;
};

struct ANeuralNetworksDiagnosticExecutionInfo {
    const halyard::nnapi::Diagnosed& common;
    ANeuralNetworksDiagnosticExecutionMode mode;
    std::chrono::nanoseconds took;
    halyard::driver::Timing timing;
};
