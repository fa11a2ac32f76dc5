// SPDX-License-Identifier: Apache-2.0

#include "driver/execute/request_trace.h"

#include <string_view>

#include "driver/device_state.h"

namespace halyard::driver {
namespace {

constexpr std::string_view kFile = ".json";

}  // namespace

std::optional<RequestTrace> RequestTrace::begin(DeviceState& state) {
    std::optional<NumberedDump> file =
            NumberedDump::begin(state.options.traceDirectory, "execution", kFile, state.traces);
    if (!file.has_value()) {
        return std::nullopt;
    }
    return RequestTrace(*std::move(file));
}

void RequestTrace::write() const {
    mFile.write(kFile, mTraces.text());
}

}  // namespace halyard::driver
