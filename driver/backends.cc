// SPDX-License-Identifier: Apache-2.0

#include "driver/backends.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compile/backend_choice.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kFeaturesOf = "CpuAcc";
constexpr std::string_view kFeatures = "features";

Status addFeatures(const std::string& features, engine::BackendChoice& choice) {
    const auto given = std::ranges::find(choice.options, kFeatures, &engine::BackendOption::name);
    if (given == choice.options.end()) {
        choice.options.push_back({.name = std::string(kFeatures), .value = features});
        return {};
    }
    return given->value == features
                   ? Status()
                   : invalidArgument("--cpu-features says " + features + ", and -c " + choice.name +
                                     ":" + given->name + "=" + given->value);
}

}  // namespace

Result<engine::OwnedBackends> makeBackends(const Options& options) {
    std::vector<engine::BackendChoice> choices;
    for (const std::string& text : options.backends) {
        HALYARD_ASSIGN_OR_RETURN(engine::BackendChoice choice, engine::parseBackendChoice(text));
        if (choice.name == kFeaturesOf && !options.cpuFeatures.empty()) {
            HALYARD_RETURN_IF_ERROR(addFeatures(options.cpuFeatures, choice));
        }
        choices.push_back(std::move(choice));
    }
    return engine::openBackends(choices, options.backendDirectory);
}

}  // namespace halyard::driver
