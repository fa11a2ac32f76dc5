// SPDX-License-Identifier: Apache-2.0
//
// halyard-runner with the distant backend. The folder that it is started from tells which nodes the
// backend takes (alone, foreseen, alternating), or at which station it fails, taking every second
// node (failing-compile, failing-finish, ...). CpuRef takes the rest, but for what runs alone.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device/device.h"
#include "engine/backends/ref/cpu_ref.h"
#include "harness/device/runner/program.h"
#include "tests/second_backend/distant_backend.h"

namespace {

using halyard::engine::FailingStage;
using halyard::engine::Takes;

struct Part {
    std::string_view folder;
    Takes takes = Takes::EVERY_SECOND;
    FailingStage failing = FailingStage::NONE;
};

constexpr Part kParts[] = {
        {"alone", Takes::ALL},
        {"foreseen", Takes::FORESEEN},
        {"alternating", Takes::EVERY_SECOND},
        {"failing-compile", Takes::EVERY_SECOND, FailingStage::COMPILE},
        {"failing-pack", Takes::EVERY_SECOND, FailingStage::PACK},
        {"failing-finish", Takes::EVERY_SECOND, FailingStage::FINISH},
        {"failing-specialize", Takes::EVERY_SECOND, FailingStage::SPECIALIZE},
        {"failing-state", Takes::EVERY_SECOND, FailingStage::MAKE_STATE},
        {"failing-run", Takes::EVERY_SECOND, FailingStage::RUN},
        {"failing-death", Takes::EVERY_SECOND, FailingStage::DEATH},
        {"failing-close", Takes::EVERY_SECOND, FailingStage::CLOSE},
};

Part part;

Part partNamedBy(std::string_view program) {
    for (const Part& each : kParts) {
        if (program.ends_with("/" + std::string(each.folder) + "/halyard-runner")) {
            return each;
        }
    }
    return {};
}

halyard::Result<std::unique_ptr<halyard::driver::Device>> makeDevice(
        const halyard::driver::Options& options) {
    auto distant = std::make_unique<halyard::engine::DistantBackend>(part.takes);
    distant->failing = part.failing;
    std::vector<std::unique_ptr<const halyard::engine::Backend>> backends;
    backends.push_back(std::move(distant));
    if (part.takes != Takes::ALL) {
        backends.push_back(halyard::engine::makeCpuRef());
    }
    return halyard::driver::Device::create(options, std::move(backends));
}

}  // namespace

int main(int argc, char** argv) {
    part = partNamedBy(argc > 0 ? argv[0] : "");
    return halyard::runner::runProgram(argc, argv, makeDevice);
}
