// SPDX-License-Identifier: Apache-2.0
//
// A canonical model, told to a library call by call.

#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "driver/model/model.h"
#include "harness/device/ndk/library.h"

namespace halyard::ndk {

// OK, or the code as a status. `call`: what it is an answer to.
Status statusOf(int code, std::string_view call);

// A finished model, with those it refers to.
struct BuiltModel {
    BuiltModel(std::shared_ptr<const Library> of, driver::Model model)
        : library(std::move(of)), source(std::move(model)) {}
    ~BuiltModel();
    BuiltModel(const BuiltModel&) = delete;
    BuiltModel& operator=(const BuiltModel&) = delete;

    ANeuralNetworksModel* whole() const { return models.back(); }

    const std::shared_ptr<const Library> library;
    const driver::Model source;  // whose constants the library may point into
    std::vector<ANeuralNetworksModel*> models;
};

// What the library says of a call is a failure. Constants are given by pointer, wherever they lie.
Result<std::shared_ptr<const BuiltModel>> build(std::shared_ptr<const Library> library,
                                                driver::Model model);

}  // namespace halyard::ndk
