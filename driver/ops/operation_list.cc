// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operation_list.h"

#include <string_view>
#include <vector>

#include "driver/model/extensions.h"
#include "driver/ops/operation_table.h"

namespace halyard::driver {
namespace {

// Every string here is the name of a code, a version or an operand: nothing needs escaping.
std::string jsonString(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

template <typename T>
std::string listOf(const std::vector<T>& items, std::string (*toJson)(const T& item),
                   std::string_view separator = ", ") {
    std::string text;
    for (const T& item : items) {
        text.append(text.empty() ? "" : separator).append(toJson(item));
    }
    return "[" + text + "]";
}

std::string typeName(const OperandType& type) {
    return jsonString(describe(type));
}

std::string operandForm(const OperandForm& form) {
    std::string text = "{\"name\": " + jsonString(form.name);
    if (const auto* type = std::get_if<OperandType>(&form.type)) {
        text += ", \"type\": " + typeName(*type);
    } else if (const auto* column = std::get_if<Column>(&form.type)) {
        text += ", \"column\": " + std::to_string(column->index);
    }
    text += form.omittable ? ", \"omittable\": true" : "";
    text += form.repeats ? ", \"at_least\": " + std::to_string(form.least) : "";
    return text + "}";
}

std::string operationForm(const Form& form) {
    return "{\"since\": " + jsonString(toString(form.since)) +
           ", \"inputs\": " + listOf(form.inputs, operandForm) +
           ", \"outputs\": " + listOf(form.outputs, operandForm) + "}";
}

std::string typeRow(const TypeRow& row) {
    return "{\"since\": " + jsonString(toString(row.since)) +
           ", \"types\": " + listOf(row.types, typeName) + "}";
}

std::string toJson(const OperationDefinition& definition) {
    constexpr std::string_view kNextRow = ",\n        ";
    const HalVersion since = introducedIn(definition.type).value_or(HalVersion::V1_0);
    return "    {\"name\": " + jsonString(describe(definition.type)) +
           ", \"code\": " + std::to_string(static_cast<int32_t>(definition.type)) +
           ", \"since\": " + jsonString(toString(since)) +
           ",\n     \"forms\": " + listOf(definition.forms, operationForm, kNextRow) +
           ",\n     \"rows\": " + listOf(definition.rows, typeRow, kNextRow) + "}";
}

// Without their forms and rows, which docs/extensions.md has in words.
std::string toJson(const Extension& extension) {
    const auto operandType = [](const Extension::OperandTypeInformation& type) {
        return "{\"number\": " + std::to_string(type.type) +
               ", \"is_tensor\": " + (type.isTensor ? "true" : "false") +
               ", \"byte_size\": " + std::to_string(type.byteSize) + "}";
    };
    std::string operations;
    for (const std::string_view name : *operationsOf(extension.name)) {
        operations.append(operations.empty() ? "" : ", ").append(jsonString(name));
    }
    return "    {\"name\": " + jsonString(extension.name) + ",\n     \"operations\": [" +
           operations + "],\n     \"operand_types\": " +
           listOf<Extension::OperandTypeInformation>(extension.operandTypes, operandType) + "}";
}

}  // namespace

std::string listOperations() {
    std::string text = "{\"operations\": [\n";
    bool first = true;
    for (const OperationDefinition& definition : allOperations()) {
        if (definition.lower == nullptr) {
            continue;
        }
        text += first ? "" : ",\n";
        text += toJson(definition);
        first = false;
    }
    return text + "\n],\n\"extensions\": " + listOf<Extension>(knownExtensions(), toJson, ",\n") +
           "}\n";
}

}  // namespace halyard::driver
