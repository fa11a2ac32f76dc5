// SPDX-License-Identifier: Apache-2.0

#include "driver/options/backends.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/compile/backend_choice.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kGpu = "GpuAcc";
constexpr std::string_view kTuningFile = "tuning-file";
constexpr std::string_view kUpdate = "UpdateTunedParameters";

// An option of the driver that stands for one of a backend.
struct Shorthand {
    std::string_view option;
    std::string_view backend;
    std::string_view name;
    std::string value;  // empty: it was not given
};

std::vector<Shorthand> shorthandsOf(const Options& options) {
    const std::string& mode = options.clTunedParametersMode;
    return {{"--cpu-features", "CpuAcc", "features", options.cpuFeatures},
            {"--cl-tuned-parameters-file", kGpu, kTuningFile, options.clTunedParametersFile},
            {"--cl-tuned-parameters-mode", kGpu, "tuning-mode",
             mode == kUpdate ? "update"
             : mode.empty()  ? ""
                             : "use"},
            {"--cl-tuning-level", kGpu, "tuning-level", options.clTuningLevel},
            {"--gpu-profiling", kGpu, "profiling", options.gpuProfiling ? "on" : ""}};
}

Status addShorthand(const Shorthand& shorthand, engine::BackendChoice& choice) {
    const auto given =
            std::ranges::find(choice.options, shorthand.name, &engine::BackendOption::name);
    if (given == choice.options.end()) {
        choice.options.push_back({.name = std::string(shorthand.name), .value = shorthand.value});
        return {};
    }
    return given->value == shorthand.value
                   ? Status()
                   : invalidArgument(std::string(shorthand.option) + " says " + shorthand.value +
                                     ", and -c " + choice.name + ":" + given->name + "=" +
                                     given->value);
}

}  // namespace

Result<engine::OwnedBackends> makeBackends(const Options& options) {
    const std::vector<Shorthand> shorthands = shorthandsOf(options);
    std::vector<engine::BackendChoice> choices;
    for (const std::string& text : options.backends) {
        HALYARD_ASSIGN_OR_RETURN(engine::BackendChoice choice, engine::parseBackendChoice(text));
        for (const Shorthand& shorthand : shorthands) {
            if (choice.name == shorthand.backend && !shorthand.value.empty()) {
                HALYARD_RETURN_IF_ERROR(addShorthand(shorthand, choice));
            }
        }
        if (choice.name == kGpu && options.clTunedParametersMode == kUpdate &&
            std::ranges::find(choice.options, kTuningFile, &engine::BackendOption::name) ==
                    choice.options.end()) {
            return invalidArgument("--cl-tuned-parameters-mode " + std::string(kUpdate) +
                                   " needs --cl-tuned-parameters-file");
        }
        choices.push_back(std::move(choice));
    }
    return engine::openBackends(choices, options.backendDirectory);
}

}  // namespace halyard::driver
