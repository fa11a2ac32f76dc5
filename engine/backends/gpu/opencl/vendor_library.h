// SPDX-License-Identifier: Apache-2.0
//
// A vendor's library, opened for the functions that it has.

#pragma once

#include <string>
#include <type_traits>

#include "engine/base/status.h"

namespace halyard::engine::gpu {

// It is never closed once all functions were there: libraries of vendors have threads of their
// own, which none of them ends.
class VendorLibrary {
  public:
    // UNAVAILABLE with the loader's words.
    static Result<VendorLibrary> open(const char* path);

    template <typename Function>
    void find(Function& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<Function>>(addressOf(name));
    }
    // Whether all were there; UNAVAILABLE names one that was not, and the library is closed.
    Status finish();
    bool isComplete() const { return mMissing.empty(); }

  private:
    VendorLibrary(std::string path, void* handle);
    void* addressOf(const char* name);

    std::string mPath;
    void* mHandle;
    std::string mMissing;  // one that is not there
};

}  // namespace halyard::engine::gpu
