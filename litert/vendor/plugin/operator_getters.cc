// SPDX-License-Identifier: Apache-2.0

#include "litert/vendor/plugin/operator_getters.h"

#include <algorithm>
#include <iterator>

#include "litert/option_getters.h"

namespace halyard::vendor {

const OperatorGetters* findGetters(int32_t code) {
    const auto* const found = std::ranges::find(kOperatorGetters, code, &OperatorGetters::code);
    return found == std::end(kOperatorGetters) ? nullptr : found;
}

}  // namespace halyard::vendor
