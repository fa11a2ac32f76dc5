// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/tried_device.h"

#include <string>
#include <utility>
#include <vector>

#include "tests/driver/sample_models.h"
#include "tests/fuzz/finding.h"

namespace halyard::fuzz {

std::shared_ptr<driver::Device> makeDevice(size_t threads, std::vector<std::string> backends) {
    driver::Options options;
    options.backends = std::move(backends);
    options.threads = threads;
    options.maxMemoryMib = 16;
    return driver::Device::create(options).value();
}

bool isIdle(const driver::Device& device) {
    const std::string report = device.report();
    return report.find("live_models\t0\n") != std::string::npos &&
           report.find("\nmemory\t0\t") != std::string::npos;
}

driver::Model openReluModel() {
    driver::Model model = driver::reluModel();
    for (driver::Operand& operand : model.main.operands) {
        operand.dimensions = {0, 2};
    }
    return model;
}

void requireSame(const Attempt& first, const Attempt& second) {
    const Status& status = first.result.status;
    require(status.code() == second.result.status.code(), "the same request ends in the same way",
            status.toString() + " / " + second.result.status.toString());
    require(first.result.outputShapes == second.result.outputShapes,
            "the same request gives the same shapes");
    require(!status.ok() || first.memory == second.memory,
            "the same request gives the same results");
}

}  // namespace halyard::fuzz
