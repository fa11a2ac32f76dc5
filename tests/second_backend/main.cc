// SPDX-License-Identifier: Apache-2.0
//
// halyard-runner with the alternating backend in front of CpuRef. The folder that it is started
// from (failing-compile, failing-specialize, failing-run, failing-death, failing-close) tells the
// backend where to fail.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/device.h"
#include "engine/backends/ref/cpu_ref.h"
#include "harness/device/runner/program.h"
#include "tests/second_backend/alternating_backend.h"

namespace {

using halyard::engine::FailingStage;

FailingStage failingStage = FailingStage::NONE;

FailingStage stageNamedBy(std::string_view program) {
    if (program.ends_with("/failing-compile/halyard-runner")) {
        return FailingStage::COMPILE;
    }
    if (program.ends_with("/failing-specialize/halyard-runner")) {
        return FailingStage::SPECIALIZE;
    }
    if (program.ends_with("/failing-death/halyard-runner")) {
        return FailingStage::DEATH;
    }
    if (program.ends_with("/failing-close/halyard-runner")) {
        return FailingStage::CLOSE;
    }
    return program.ends_with("/failing-run/halyard-runner") ? FailingStage::RUN
                                                            : FailingStage::NONE;
}

halyard::Result<std::unique_ptr<halyard::driver::Device>> makeDevice(
        const halyard::driver::Options& options) {
    std::vector<std::unique_ptr<const halyard::engine::Backend>> backends;
    backends.push_back(std::make_unique<halyard::engine::AlternatingBackend>(failingStage));
    backends.push_back(halyard::engine::makeCpuRef());
    return halyard::driver::Device::create(options, std::move(backends));
}

}  // namespace

int main(int argc, char** argv) {
    failingStage = stageNamedBy(argc > 0 ? argv[0] : "");
    return halyard::runner::runProgram(argc, argv, makeDevice);
}
