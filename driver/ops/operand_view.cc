// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operand_view.h"

#include <algorithm>

namespace halyard::driver {

std::string OperandView::name() const {
    if (form == nullptr) {
        return "an omitted operand";
    }
    std::string text = (form->repeats ? "one of the " : "the ") + std::string(form->name);
    std::ranges::replace(text, '_', ' ');
    return text + " (" + (isOutput ? "output " : "input ") + std::to_string(position) +
           ", operand " + std::to_string(index) + ")";
}

}  // namespace halyard::driver
