// SPDX-License-Identifier: Apache-2.0

#include "driver/model/model.h"

namespace halyard::driver {

std::string labelOf(const Operation& operation, size_t index) {
    return "operation " + std::to_string(index) + " (" + describe(operation.type) + ")";
}

}  // namespace halyard::driver
