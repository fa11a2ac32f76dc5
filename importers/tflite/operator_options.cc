// SPDX-License-Identifier: Apache-2.0

#include "importers/tflite/operator_options.h"

#include <algorithm>
#include <iterator>

#include "importers/tflite/operators.h"

namespace halyard::tflite {

const OperatorEntry* findOperator(int32_t code) {
    const auto* const found = std::ranges::find(kOperators, code, &OperatorEntry::code);
    return found == std::end(kOperators) ? nullptr : found;
}

std::string nameOfOperator(int32_t code) {
    const OperatorEntry* const entry = findOperator(code);
    return entry == nullptr ? "operator " + std::to_string(code) : std::string(entry->name);
}

OptionValue defaultOf(const OptionField& field) {
    OptionValue value;
    if (field.kind == OptionKind::FLOAT) {
        value.real = static_cast<float>(field.defaultValue);
    } else {
        value.integer = static_cast<int64_t>(field.defaultValue);
    }
    return value;
}

}  // namespace halyard::tflite
