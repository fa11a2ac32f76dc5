// SPDX-License-Identifier: Apache-2.0
//
// Anybody's libneuralnetworks.so, or support library, loaded by its path.

#pragma once

#include <android/SupportLibrary.h>

#include <memory>
#include <string>

#include "engine/base/status.h"

namespace halyard::ndk {

// NNAPI's functions by their names; null: the library lacks it. Stays loaded as long as this lives.
struct Library {
    Library() = default;
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

#define HALYARD_FUNCTION(name) decltype(&::name) name = nullptr;
#include "functions.inc"
#undef HALYARD_FUNCTION

    void* handle = nullptr;
};

// UNAVAILABLE: it can't be loaded, or lacks functions of feature level 3, without which no device
// can be chosen. `isSupportLibrary`: its functions stand in a table.
Result<std::shared_ptr<const Library>> load(const std::string& path, bool isSupportLibrary);

}  // namespace halyard::ndk
