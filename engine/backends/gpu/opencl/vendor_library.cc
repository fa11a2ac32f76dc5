// SPDX-License-Identifier: Apache-2.0

#include "engine/backends/gpu/opencl/vendor_library.h"

#include <dlfcn.h>

#include <utility>

namespace halyard::engine::gpu {

VendorLibrary::VendorLibrary(std::string path, void* handle)
    : mPath(std::move(path)), mHandle(handle) {}

Result<VendorLibrary> VendorLibrary::open(const char* path) {
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* const reason = dlerror();
        return Status(StatusCode::UNAVAILABLE,
                      reason != nullptr ? reason : std::string(path) + " does not load");
    }
    return VendorLibrary(path, handle);
}

void* VendorLibrary::addressOf(const char* name) {
    void* const address = dlsym(mHandle, name);
    if (address == nullptr) {
        mMissing = name;
    }
    return address;
}

Status VendorLibrary::finish() {
    if (mMissing.empty()) {
        return {};
    }
    dlclose(mHandle);
    return {StatusCode::UNAVAILABLE, mPath + " has no " + mMissing + "()"};
}

}  // namespace halyard::engine::gpu
