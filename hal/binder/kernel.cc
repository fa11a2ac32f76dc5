// SPDX-License-Identifier: Apache-2.0

#include "hal/binder/kernel.h"

#include <algorithm>

namespace halyard::hal {

Status BinderKernel::write(std::span<const uint8_t> commands) {
    constexpr int kAttempts = 3;
    Status last;
    for (int attempt = 0; attempt < kAttempts && !commands.empty(); ++attempt) {
        const Exchange exchange = writeRead(commands, {});
        commands = commands.subspan(std::min(exchange.taken, commands.size()));
        last = exchange.status;
    }
    if (commands.empty()) {
        return {};
    }
    return last.ok() ? internalError("binder: the kernel does not take what it is given") : last;
}

}  // namespace halyard::hal
