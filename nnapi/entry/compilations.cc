// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "nnapi/burst.h"
#include "nnapi/compilation.h"
#include "nnapi/entry/entry.h"
#include "nnapi/model.h"
#include "nnapi/runtime.h"

using namespace halyard::nnapi;  // NOLINT: the C functions are outside of it

namespace {

// What the elements of inputs and outputs lie best at, and how many bytes may follow them: vectors
// of any processor. Devices before feature level 5 know no padding.
constexpr uint32_t kAlignment = 64;

Answer prefer(const ANeuralNetworksCompilation* compilation, bool isInput, uint32_t index,
              uint32_t* value, const char* name, bool isPadding) {
    HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
    HALYARD_RETURN_UNLESS_OK(present(value, name));
    HALYARD_RETURN_UNLESS_OK(compilation->checkBoundary(isInput, index));
    const bool mayPad = compilation->compiled()->plan.mayPad();
    *value = isPadding && !mayPad ? 1 : kAlignment;
    return {};
}

}  // namespace

int ANeuralNetworksCompilation_create(ANeuralNetworksModel* model,
                                      ANeuralNetworksCompilation** compilation) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        *compilation = nullptr;
        HALYARD_RETURN_UNLESS_OK(model->checkFinished());
        Runtime& runtime = Runtime::instance();
        if (runtime.devices().empty()) {
            return {ANEURALNETWORKS_OP_FAILED, std::string(runtime.status().message())};
        }
        std::vector<const RuntimeDevice*> devices;
        for (const auto& device : runtime.devices()) {
            devices.push_back(device.get());
        }
        *compilation = std::make_unique<ANeuralNetworksCompilation>(
                               model->finished(), runtime.prefixes(), std::move(devices), false)
                               .release();
        return {};
    });
}

int ANeuralNetworksCompilation_createForDevices(ANeuralNetworksModel* model,
                                                const ANeuralNetworksDevice* const* devices,
                                                uint32_t numDevices,
                                                ANeuralNetworksCompilation** compilation) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(model, "model"));
        HALYARD_RETURN_UNLESS_OK(present(devices, "devices"));
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        *compilation = nullptr;
        const std::span<const ANeuralNetworksDevice* const> listed(devices, numDevices);
        for (const ANeuralNetworksDevice* device : listed) {
            HALYARD_RETURN_UNLESS_OK(present(device, "a device"));
        }
        HALYARD_RETURN_UNLESS_OK(checkDifferent(listed));
        Runtime& runtime = Runtime::instance();
        if (!std::ranges::all_of(listed, [&](const auto* each) { return runtime.has(each); })) {
            return badData("a device is none of this library's");
        }
        HALYARD_RETURN_UNLESS_OK(model->checkFinished());
        *compilation =
                std::make_unique<ANeuralNetworksCompilation>(
                        model->finished(), runtime.prefixes(),
                        std::vector<const RuntimeDevice*>(listed.begin(), listed.end()), true)
                        .release();
        return {};
    });
}

void ANeuralNetworksCompilation_free(ANeuralNetworksCompilation* compilation) {
    delete compilation;
}

int ANeuralNetworksCompilation_setPreference(ANeuralNetworksCompilation* compilation,
                                             int32_t preference) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        return compilation->setPreference(preference);
    });
}

int ANeuralNetworksCompilation_setPriority(ANeuralNetworksCompilation* compilation, int priority) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        return compilation->setPriority(priority);
    });
}

int ANeuralNetworksCompilation_setTimeout(ANeuralNetworksCompilation* compilation,
                                          uint64_t duration) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        return compilation->setTimeout(duration);
    });
}

int ANeuralNetworksCompilation_setCaching(ANeuralNetworksCompilation* compilation,
                                          const char* cacheDir, const uint8_t* token) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        HALYARD_RETURN_UNLESS_OK(present(cacheDir, "cacheDir"));
        HALYARD_RETURN_UNLESS_OK(present(token, "token"));
        return compilation->setCaching(
                cacheDir, std::span<const uint8_t, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN>(
                                  token, ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN));
    });
}

int ANeuralNetworksCompilation_addExtensionAttribute(ANeuralNetworksCompilation* compilation,
                                                     const char* extensionName,
                                                     uint16_t attributeCodeWithinExtension,
                                                     const void* data, size_t length) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        HALYARD_RETURN_UNLESS_OK(present(extensionName, "extensionName"));
        if (data == nullptr && length > 0) {
            return unexpectedNull("data");
        }
        return compilation->addExtensionAttribute(extensionName, attributeCodeWithinExtension,
                                                  {static_cast<const uint8_t*>(data), length});
    });
}

int ANeuralNetworksCompilation_finish(ANeuralNetworksCompilation* compilation) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        return compilation->finish();
    });
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForInput(
        const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
    return enter(__func__,
                 [&] { return prefer(compilation, true, index, alignment, "alignment", false); });
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForInput(
        const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
    return enter(__func__,
                 [&] { return prefer(compilation, true, index, padding, "padding", true); });
}

int ANeuralNetworksCompilation_getPreferredMemoryAlignmentForOutput(
        const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* alignment) {
    return enter(__func__,
                 [&] { return prefer(compilation, false, index, alignment, "alignment", false); });
}

int ANeuralNetworksCompilation_getPreferredMemoryPaddingForOutput(
        const ANeuralNetworksCompilation* compilation, uint32_t index, uint32_t* padding) {
    return enter(__func__,
                 [&] { return prefer(compilation, false, index, padding, "padding", true); });
}

int ANeuralNetworksBurst_create(ANeuralNetworksCompilation* compilation,
                                ANeuralNetworksBurst** burst) {
    return enter(__func__, [&]() -> Answer {
        HALYARD_RETURN_UNLESS_OK(present(compilation, "compilation"));
        HALYARD_RETURN_UNLESS_OK(present(burst, "burst"));
        *burst = nullptr;
        HALYARD_RETURN_UNLESS_OK(compilation->checkFinished());
        *burst = std::make_unique<ANeuralNetworksBurst>(compilation->compiled()).release();
        return {};
    });
}

void ANeuralNetworksBurst_free(ANeuralNetworksBurst* burst) {
    delete burst;
}
