// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/matching.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "driver/model/extensions.h"
#include "driver/model/verdicts.h"
#include "driver/ops/operand_view.h"

namespace halyard::driver {
namespace {

std::string nameOf(HalVersion version) {
    return "HAL " + std::string(toString(version));
}

// How operands differ from a form and a row.
struct Difference {
    size_t count = 0;
    // The first one that differs.
    const OperandForm* form = nullptr;
    bool isOutput = false;
    size_t position = 0;
};

void compare(const OperandForms& forms, const TypeRow& row, const std::vector<OperandType>& types,
             bool isOutput, Difference& difference) {
    for (size_t i = 0; i < types.size(); ++i) {
        const OperandForm& form = formAt(forms, i, types.size());
        if (takesType(form, row, types[i])) {
            continue;
        }
        if (difference.count++ == 0) {
            difference.form = &form;
            difference.isOutput = isOutput;
            difference.position = i;
        }
    }
}

bool takesCounts(const Form& form, const OperandTypes& types) {
    return takesCount(form.inputs, types.inputs.size()) &&
           takesCount(form.outputs, types.outputs.size());
}

// Nothing if another number of operands is wanted.
std::optional<Difference> difference(const Form& form, const TypeRow& row,
                                     const OperandTypes& types) {
    if (!takesCounts(form, types)) {
        return std::nullopt;
    }
    Difference found;
    compare(form.inputs, row, types.inputs, false, found);
    compare(form.outputs, row, types.outputs, true, found);
    return found;
}

// "1, 2 or 3".
std::string alternatives(const std::vector<std::string>& words) {
    std::string text;
    for (size_t i = 0; i < words.size(); ++i) {
        text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
        text += words[i];
    }
    return text;
}

// "7, 8 or at least 10".
std::string countsOf(const OperationDefinition& definition, HalVersion version,
                     OperandForms Form::*list) {
    std::set<std::pair<size_t, bool>> counts;
    for (const Form& form : definition.forms) {
        if (form.since > version) {
            continue;
        }
        const auto repeating = std::ranges::find((form.*list), true, &OperandForm::repeats);
        const bool repeats = repeating != (form.*list).end();
        counts.emplace((form.*list).size() - (repeats ? 1 - repeating->least : 0), repeats);
    }
    std::vector<std::string> words;
    for (const auto& [count, repeats] : counts) {
        words.push_back((repeats ? "at least " : "") + std::to_string(count));
    }
    return alternatives(words);
}

std::string counted(size_t count, const std::string& what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

Status explainCounts(const OperationDefinition& definition, const OperandTypes& types,
                     HalVersion version) {
    return breaking(
            Rule::OPERAND_COUNT,
            invalidArgument("it has " + counted(types.inputs.size(), "input") + " and " +
                            counted(types.outputs.size(), "output") + "; " + nameOf(version) +
                            " takes " + countsOf(definition, version, &Form::inputs) +
                            " and gives " + countsOf(definition, version, &Form::outputs)));
}

// The forms and rows of the version that differ in the fewest operands, and among them those that
// differ from the same operand on as the first one does.
struct Closest {
    Difference difference = {.count = std::numeric_limits<size_t>::max()};
    std::vector<std::string> expected;  // what they take in place of that operand

    void consider(const Difference& other, const TypeRow& row) {
        if (other.count < difference.count) {
            difference = other;
            expected.clear();
        }
        if (other.count == difference.count && other.isOutput == difference.isOutput &&
            other.position == difference.position) {
            const auto* column = std::get_if<Column>(&other.form->type);
            const std::string type =
                    describeTabled(column != nullptr ? row.types[column->index]
                                                     : std::get<OperandType>(other.form->type));
            if (std::ranges::find(expected, type) == expected.end()) {
                expected.push_back(type);
            }
        }
    }
};

Status explainTypes(const Closest& closest, const Operation& operation, const OperandTypes& types,
                    HalVersion version) {
    const Difference& wrong = closest.difference;
    const uint32_t index = (wrong.isOutput ? operation.outputs : operation.inputs)[wrong.position];
    const OperandView operand = {.operand = nullptr,
                                 .index = index,
                                 .form = wrong.form,
                                 .isOutput = wrong.isOutput,
                                 .position = wrong.position};
    const OperandType type = (wrong.isOutput ? types.outputs : types.inputs)[wrong.position];
    return breaking(Rule::OPERAND_TYPE,
                    invalidArgument(operand.name() + " is " + describeTabled(type) + "; " +
                                    nameOf(version) + (wrong.isOutput ? " gives " : " takes ") +
                                    alternatives(closest.expected) + " there"));
}

}  // namespace

const Form* findForm(const OperationDefinition& definition, const OperandTypes& types,
                     HalVersion version) {
    for (const Form& form : definition.forms) {
        if (form.since > version || !takesCounts(form, types)) {
            continue;
        }
        for (const TypeRow& row : definition.rows) {
            if (row.since <= version && difference(form, row, types)->count == 0) {
                return &form;
            }
        }
    }
    return nullptr;
}

Status explainMismatch(const OperationDefinition& definition, const Operation& operation,
                       const OperandTypes& types, HalVersion version) {
    for (const HalVersion later : allVersions()) {
        if (later > version && findForm(definition, types, later) != nullptr) {
            return breaking(Rule::LATER_VERSION,
                            invalidArgument("it takes such operands from " + nameOf(later) +
                                            " on, and this is " + nameOf(version)));
        }
    }
    Closest closest;
    bool exists = false;
    for (const Form& form : definition.forms) {
        for (const TypeRow& row : definition.rows) {
            if (form.since > version || row.since > version) {
                continue;
            }
            exists = true;
            if (const std::optional<Difference> found = difference(form, row, types)) {
                closest.consider(*found, row);
            }
        }
    }
    if (!exists) {
        return breaking(Rule::UNKNOWN_OPERATION,
                        invalidArgument(nameOf(version) + " does not have the operation"));
    }
    return closest.difference.form == nullptr ? explainCounts(definition, types, version)
                                              : explainTypes(closest, operation, types, version);
}

}  // namespace halyard::driver
