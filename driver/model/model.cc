// SPDX-License-Identifier: Apache-2.0

#include "driver/model/model.h"

#include "engine/base/checked_math.h"

namespace halyard::driver {

bool fits(const DataLocation& location, uint64_t size) {
    return rangeFits<uint64_t>(location.offset, location.length, size) &&
           location.padding <= size - location.offset - location.length;
}

std::string labelOf(const Operation& operation, size_t index) {
    return "operation " + std::to_string(index) + " (" + describe(operation.type) + ")";
}

}  // namespace halyard::driver
