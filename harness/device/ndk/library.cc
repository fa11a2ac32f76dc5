// SPDX-License-Identifier: Apache-2.0

#include "harness/device/ndk/library.h"

#include <dlfcn.h>

#include <utility>

namespace halyard::ndk {
namespace {

Status unavailable(std::string message) {
    return {StatusCode::UNAVAILABLE, std::move(message)};
}

template <typename Function>
void look(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
}

Status takeTable(void* handle, const std::string& path, Library& library) {
    decltype(&::ANeuralNetworks_getSLDriverImpl) get = nullptr;
    look(handle, "ANeuralNetworks_getSLDriverImpl", get);
    const NnApiSLDriverImpl* const table = get == nullptr ? nullptr : get();
    if (table == nullptr) {
        return unavailable(path + " is no support library");
    }
    if (table->implFeatureLevel < ANEURALNETWORKS_FEATURE_LEVEL_5 ||
        table->implFeatureLevel > ANEURALNETWORKS_FEATURE_LEVEL_8) {
        return unavailable(path + " is of feature level " +
                           std::to_string(table->implFeatureLevel));
    }
    const auto& level5 = *reinterpret_cast<const NnApiSLDriverImplFL5*>(table);
    const auto& level8 = *reinterpret_cast<const NnApiSLDriverImplFL8*>(table);
    const bool isOfLevel8 = table->implFeatureLevel == ANEURALNETWORKS_FEATURE_LEVEL_8;
#define HALYARD_SLOT_5(name) library.name = level5.name;
#define HALYARD_SLOT_8(name) library.name = isOfLevel8 ? level8.name : nullptr;
#include "support_library_slots.inc"
#undef HALYARD_SLOT_5
#undef HALYARD_SLOT_8
    return {};
}

}  // namespace

Library::~Library() {
    if (handle != nullptr) {
        dlclose(handle);
    }
}

Result<std::shared_ptr<const Library>> load(const std::string& path, bool isSupportLibrary) {
    auto library = std::make_shared<Library>();
    library->handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library->handle == nullptr) {
        const char* const reason = dlerror();
        return unavailable(reason == nullptr ? path + " can't be loaded" : reason);
    }
    if (isSupportLibrary) {
        HALYARD_RETURN_IF_ERROR(takeTable(library->handle, path, *library));
    } else {
#define HALYARD_FUNCTION(name) look(library->handle, #name, library->name);
#include "functions.inc"
#undef HALYARD_FUNCTION
    }
    if (library->ANeuralNetworks_getDeviceCount == nullptr ||
        library->ANeuralNetworksModel_create == nullptr ||
        library->ANeuralNetworksCompilation_createForDevices == nullptr ||
        library->ANeuralNetworksExecution_compute == nullptr) {
        return unavailable(path + " lacks functions of feature level 3");
    }
    return std::shared_ptr<const Library>(std::move(library));
}

}  // namespace halyard::ndk
