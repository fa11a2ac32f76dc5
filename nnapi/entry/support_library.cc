// SPDX-License-Identifier: Apache-2.0
//
// The functions that stand in a support library's table alone.

#include "support_library_functions.h"

#include <algorithm>
#include <span>

#include "nnapi/compilation.h"
#include "nnapi/diagnostics.h"
#include "nnapi/entry/entry.h"
#include "nnapi/runtime.h"
#include "nnapi/timeouts.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

namespace {

SL_ANeuralNetworksPerformanceInfo told(const halyard::driver::PerformanceInfo& info) {
    return {.execTime = info.execTime, .powerUsage = info.powerUsage};
}

Answer extensionOf(const ANeuralNetworksDevice* device, uint32_t index,
                   const halyard::driver::Extension*& extension) {
    HALYARD_RETURN_UNLESS_OK(present(device, "device"));
    if (index >= device->extensions().size()) {
        return badData("there is no extension " + std::to_string(index) + " of " +
                       std::to_string(device->extensions().size()));
    }
    extension = &device->extensions()[index];
    return {};
}

int64_t featureLevel() {
    return ANeuralNetworks_getRuntimeFeatureLevel();
}

// Any number: processes are told apart by it.
int32_t sessionId() {
    static const auto id = static_cast<int32_t>(
            std::chrono::steady_clock::now().time_since_epoch().count() & INT32_MAX);
    return id;
}

}  // namespace

int SL_ANeuralNetworksCompilation_setCachingFromFds(ANeuralNetworksCompilation* compilation,
                                                    const int* modelCacheFds,
                                                    const uint32_t numModelCacheFiles,
                                                    const int* dataCacheFds,
                                                    const uint32_t numDataCacheFiles,
                                                    const uint8_t* token) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        HALYARD_RETURN_UNLESS_OK(present(token, "token"));
        if (numModelCacheFiles > 0) {
            HALYARD_RETURN_UNLESS_OK(present(modelCacheFds, "modelCacheFds"));
        }
        if (numDataCacheFiles > 0) {
            HALYARD_RETURN_UNLESS_OK(present(dataCacheFds, "dataCacheFds"));
        }
        return compilation->setCachingFromDescriptors(
                {modelCacheFds, numModelCacheFiles}, {dataCacheFds, numDataCacheFiles},
                std::span<const uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN>(
                        token, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN));
    });
}

int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(const ANeuralNetworksDevice* device,
                                                         uint32_t* numModelCacheFiles,
                                                         uint32_t* numDataCacheFiles) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(numModelCacheFiles, "numModelCacheFiles"));
        HALYARD_RETURN_UNLESS_OK(present(numDataCacheFiles, "numDataCacheFiles"));
        *numModelCacheFiles = device->cacheFiles().model;
        *numDataCacheFiles = device->cacheFiles().data;
        return {};
    });
}

int SL_ANeuralNetworksDevice_getPerformanceInfo(
        const ANeuralNetworksDevice* device, int32_t performanceInfoKind,
        SL_ANeuralNetworksPerformanceInfo* performanceInfo) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(performanceInfo, "performanceInfo"));
        const halyard::driver::Capabilities& of = device->capabilities();
        switch (performanceInfoKind) {
            case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR:
                *performanceInfo = told(of.relaxedFloat32toFloat16PerformanceScalar);
                return {};
            case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR:
                *performanceInfo = told(of.relaxedFloat32toFloat16PerformanceTensor);
                return {};
            case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF:
                *performanceInfo = told(of.ifPerformance);
                return {};
            case SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE:
                *performanceInfo = told(of.whilePerformance);
                return {};
            default:
                return badData("there is no performance of kind " +
                               std::to_string(performanceInfoKind));
        }
    });
}

int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(
        const ANeuralNetworksDevice* device, void* context,
        void (*callback)(SL_ANeuralNetworksOperandPerformanceInfo, void*)) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(context, "context"));
        if (callback == nullptr) {
            return unexpectedNull("callback");
        }
        for (const halyard::driver::OperandPerformance& each :
             device->capabilities().operandPerformance) {
            callback({.operandType = static_cast<int32_t>(each.type),
                      .performanceInfo = told(each.info)},
                     context);
        }
        return {};
    });
}

int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* device,
                                                     uint32_t* vendorExtensionCount) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(device, "device"));
        HALYARD_RETURN_UNLESS_OK(present(vendorExtensionCount, "vendorExtensionCount"));
        *vendorExtensionCount = static_cast<uint32_t>(device->extensions().size());
        return {};
    });
}

int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice* device,
                                                    uint32_t vendorExtensionIndex,
                                                    const char** extensionName) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        const halyard::driver::Extension* extension = nullptr;
        HALYARD_RETURN_UNLESS_OK(extensionOf(device, vendorExtensionIndex, extension));
        *extensionName = extension->name.c_str();
        return {};
    });
}

int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(
        const ANeuralNetworksDevice* device, uint32_t vendorExtensionIndex, void* context,
        void (*callback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void*)) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(context, "context"));
        if (callback == nullptr) {
            return unexpectedNull("callback");
        }
        const halyard::driver::Extension* extension = nullptr;
        HALYARD_RETURN_UNLESS_OK(extensionOf(device, vendorExtensionIndex, extension));
        for (const auto& each : extension->operandTypes) {
            callback({.byteSize = each.byteSize, .type = each.type, .isTensor = each.isTensor},
                     context);
        }
        return {};
    });
}

void SL_ANeuralNetworksDiagnostic_registerCallbacks(
        ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback,
        ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback,
        void* callbackContext) {
    Diagnostics::instance().registerCallbacks(compilationCallback, executionCallback,
                                              callbackContext);
}

// ---- What callbacks ask -------------------------------------------------------------------------

#define HALYARD_COMMON(Info, name)                                                              \
    int32_t SL_ANeuralNetworksDiagnostic##Info##_getSessionId(                                  \
            const ANeuralNetworksDiagnostic##Info*) {                                           \
        return sessionId();                                                                     \
    }                                                                                           \
    int64_t SL_ANeuralNetworksDiagnostic##Info##_getNnApiVersion(                               \
            const ANeuralNetworksDiagnostic##Info*) {                                           \
        return featureLevel();                                                                  \
    }                                                                                           \
    const uint8_t* SL_ANeuralNetworksDiagnostic##Info##_getModelArchHash(                       \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.modelHash.data();                                                   \
    }                                                                                           \
    const char* SL_ANeuralNetworksDiagnostic##Info##_getDeviceIds(                              \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.deviceIds.c_str();                                                  \
    }                                                                                           \
    ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnostic##Info##_getInputDataClass(  \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.inputs;                                                             \
    }                                                                                           \
    ANeuralNetworksDiagnosticDataClass SL_ANeuralNetworksDiagnostic##Info##_getOutputDataClass( \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.outputs;                                                            \
    }                                                                                           \
    bool SL_ANeuralNetworksDiagnostic##Info##_isCachingEnabled(                                 \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.isCached;                                                           \
    }                                                                                           \
    bool SL_ANeuralNetworksDiagnostic##Info##_isControlFlowUsed(                                \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.hasControlFlow;                                                     \
    }                                                                                           \
    bool SL_ANeuralNetworksDiagnostic##Info##_areDynamicTensorsUsed(                            \
            const ANeuralNetworksDiagnostic##Info* name) {                                      \
        return name->common.hasDynamicTensors;                                                  \
    }

HALYARD_COMMON(CompilationInfo, compilation)
HALYARD_COMMON(ExecutionInfo, execution)

int32_t SL_ANeuralNetworksDiagnosticCompilationInfo_getErrorCode(
        const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
    return diagnosticCompilationInfo->common.errorCode;
}

uint64_t SL_ANeuralNetworksDiagnosticCompilationInfo_getCompilationTimeNanos(
        const ANeuralNetworksDiagnosticCompilationInfo* diagnosticCompilationInfo) {
    return static_cast<uint64_t>(diagnosticCompilationInfo->took.count());
}

ANeuralNetworksDiagnosticExecutionMode SL_ANeuralNetworksDiagnosticExecutionInfo_getExecutionMode(
        const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
    return diagnosticExecutionInfo->mode;
}

uint32_t SL_ANeuralNetworksDiagnosticExecutionInfo_getErrorCode(
        const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
    return static_cast<uint32_t>(diagnosticExecutionInfo->common.errorCode);
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getRuntimeExecutionTimeNanos(
        const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
    return static_cast<uint64_t>(diagnosticExecutionInfo->took.count());
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getDriverExecutionTimeNanos(
        const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
    return nanosecondsOf(diagnosticExecutionInfo->timing.timeInDriver);
}

uint64_t SL_ANeuralNetworksDiagnosticExecutionInfo_getHardwareExecutionTimeNanos(
        const ANeuralNetworksDiagnosticExecutionInfo* diagnosticExecutionInfo) {
    return nanosecondsOf(diagnosticExecutionInfo->timing.timeOnDevice);
}
