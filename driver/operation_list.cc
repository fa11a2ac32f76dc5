// SPDX-License-Identifier: Apache-2.0

#include "driver/operation_list.h"

#include <span>
#include <string_view>

#include "driver/ops/operation.h"

namespace halyard::driver {
namespace {

// Every string here is the name of a code or a version: nothing needs escaping.
std::string quoted(std::string_view text) {
    return "\"" + std::string(text) + "\"";
}

std::string typeList(std::span<const OperandType> types) {
    std::string text = "[";
    for (const OperandType type : types) {
        text.append(text.size() > 1 ? ", " : "").append(quoted(describe(type)));
    }
    return text + "]";
}

std::string toJson(const Signature& signature) {
    return "{\"since\": " + quoted(toString(signature.since)) +
           ", \"inputs\": " + typeList(signature.inputs) +
           ", \"first_repeats\": " + (signature.firstRepeats ? "true" : "false") +
           ", \"outputs\": " + typeList(signature.outputs) + "}";
}

std::string toJson(const OperationDefinition& definition) {
    const HalVersion since = introducedIn(definition.type).value_or(HalVersion::V1_0);
    std::string text = "    {\"name\": " + quoted(describe(definition.type)) +
                       ", \"code\": " + std::to_string(static_cast<int32_t>(definition.type)) +
                       ", \"since\": " + quoted(toString(since)) + ", \"signatures\": [\n";
    for (size_t i = 0; i < definition.signatures.size(); ++i) {
        text += i == 0 ? "        " : ",\n        ";
        text += toJson(definition.signatures[i]);
    }
    return text + "]}";
}

}  // namespace

std::string listOperations() {
    std::string text = "{\"operations\": [\n";
    bool first = true;
    for (const OperationDefinition& definition : allOperations()) {
        text += first ? "" : ",\n";
        text += toJson(definition);
        first = false;
    }
    return text + "\n]}\n";
}

}  // namespace halyard::driver
