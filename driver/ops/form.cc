// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/form.h"

#include <algorithm>

namespace halyard::driver {
namespace {

// The position of the form that repeats; the number of forms if none does.
size_t repeatingForm(const OperandForms& forms) {
    const auto found = std::ranges::find(forms, true, &OperandForm::repeats);
    return static_cast<size_t>(found - forms.begin());
}

}  // namespace

OperandForms join(std::initializer_list<OperandForms> lists) {
    OperandForms all;
    for (const OperandForms& list : lists) {
        all.insert(all.end(), list.begin(), list.end());
    }
    return all;
}

bool takesCount(const OperandForms& forms, size_t count) {
    const size_t repeating = repeatingForm(forms);
    if (repeating == forms.size()) {
        return count == forms.size();
    }
    return count >= forms.size() - 1 + forms[repeating].least;
}

const OperandForm& formAt(const OperandForms& forms, size_t position, size_t count) {
    const size_t repeating = repeatingForm(forms);
    if (position < repeating) {
        return forms[position];
    }
    const size_t behind = forms.size() - repeating - 1;
    return position + behind < count ? forms[repeating] : forms[position + forms.size() - count];
}

bool takesType(const OperandForm& form, const TypeRow& row, OperandType type) {
    if (const auto* fixed = std::get_if<OperandType>(&form.type)) {
        return *fixed == type;
    }
    const auto* column = std::get_if<Column>(&form.type);
    return column == nullptr || row.types[column->index] == type;
}

std::optional<OperandRange> findRange(const OperandForms& forms, std::string_view name,
                                      size_t count) {
    const auto found = std::ranges::find(forms, name, &OperandForm::name);
    if (found == forms.end()) {
        return std::nullopt;
    }
    const auto place = static_cast<size_t>(found - forms.begin());
    const size_t repeating = repeatingForm(forms);
    if (place < repeating) {
        return OperandRange{.first = place, .count = 1};
    }
    if (place == repeating) {
        return OperandRange{.first = place, .count = count - (forms.size() - 1)};
    }
    return OperandRange{.first = place + count - forms.size(), .count = 1};
}

}  // namespace halyard::driver
