// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operation.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "driver/ops/families.h"

namespace halyard::driver {
namespace {

std::vector<OperationDefinition> collect() {
    std::vector<OperationDefinition> table;
    const auto append = [&](std::vector<OperationDefinition> family) {
        std::ranges::move(family, std::back_inserter(table));
    };
#define HALYARD_OPERATION_FAMILY(name) append(name##Operations());
#include "driver/ops/families.inc"
#undef HALYARD_OPERATION_FAMILY
    std::ranges::sort(table, {}, &OperationDefinition::type);
    return table;
}

// Built by the first caller and never changed.
const std::vector<OperationDefinition>& operationTable() {
    static const std::vector<OperationDefinition> table = collect();
    return table;
}

std::vector<OperandView> viewsOf(const Subgraph& subgraph, const std::vector<uint32_t>& indexes,
                                 const std::string& role) {
    std::vector<OperandView> views;
    for (size_t i = 0; i < indexes.size(); ++i) {
        views.push_back({.operand = &subgraph.operands[indexes[i]],
                         .index = indexes[i],
                         .role = role + " " + std::to_string(i)});
    }
    return views;
}

bool sameTypes(std::span<const OperandView> views, std::span<const OperandType> types) {
    return std::ranges::equal(views, types, {},
                              [](const OperandView& view) { return view.operand->type; });
}

bool matches(const OperationView& view, const Signature& signature) {
    if (signature.since > view.version || !sameTypes(view.outputs, signature.outputs)) {
        return false;
    }
    std::span<const OperandView> inputs = view.inputs;
    if (signature.firstRepeats) {
        while (inputs.size() > signature.inputs.size() &&
               inputs.front().operand->type == signature.inputs.front()) {
            inputs = inputs.subspan(1);
        }
    }
    return sameTypes(inputs, signature.inputs);
}

std::string typesOf(const std::vector<OperandView>& views) {
    constexpr size_t kShown = 16;  // operations of any length come from outside
    std::string text;
    for (size_t i = 0; i < std::min(views.size(), kShown); ++i) {
        text.append(i == 0 ? "" : ", ").append(describe(views[i].operand->type));
    }
    return views.size() > kShown ? text + ", ..." : text;
}

Status validateOperation(const OperationDefinition& definition, const OperationView& view) {
    const bool known = std::ranges::any_of(definition.signatures, [&](const Signature& signature) {
        return matches(view, signature);
    });
    if (!known) {
        return invalidArgument("HAL " + std::string(toString(view.version)) +
                               " has no form of it that takes (" + typesOf(view.inputs) +
                               ") and gives (" + typesOf(view.outputs) + ")");
    }
    for (const OperandView& input : view.inputs) {
        if (input.operand->lifetime == OperandLifeTime::NO_VALUE) {
            return invalidArgument(input.name() + " can't be omitted");
        }
    }
    return definition.validate == nullptr ? Status() : definition.validate(view);
}

Status validateOperations(const Subgraph& subgraph, HalVersion version) {
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        const Operation& operation = subgraph.operations[i];
        const OperationDefinition* definition = findOperation(operation.type);
        if (definition == nullptr) {
            continue;  // valid as far as anyone here can tell, and unsupported
        }
        const OperationView view = {.inputs = viewsOf(subgraph, operation.inputs, "input"),
                                    .outputs = viewsOf(subgraph, operation.outputs, "output"),
                                    .version = version};
        HALYARD_RETURN_IF_ERROR(
                validateOperation(*definition, view).withContext(labelOf(operation, i)));
    }
    return {};
}

}  // namespace

std::string OperandView::name() const {
    return role + " (operand " + std::to_string(index) + ")";
}

std::vector<Signature> elementTypeSignatures(HalVersion since,
                                             const std::vector<OperandType>& further) {
    std::vector<Signature> signatures;
    signatures.reserve(kElementTypes.size());
    for (const ElementType& type : kElementTypes) {
        Signature signature;
        signature.since = std::max(type.since, since);
        signature.inputs = {type.tensor};
        signature.inputs.insert(signature.inputs.end(), further.begin(), further.end());
        signature.outputs = {type.tensor};
        signatures.push_back(std::move(signature));
    }
    return signatures;
}

const OperationDefinition* findOperation(OperationType type) {
    const std::vector<OperationDefinition>& table = operationTable();
    const auto found = std::ranges::lower_bound(table, type, {}, &OperationDefinition::type);
    return found != table.end() && found->type == type ? &*found : nullptr;
}

std::span<const OperationDefinition> allOperations() {
    return operationTable();
}

Status validateOperations(const Model& model, HalVersion version) {
    HALYARD_RETURN_IF_ERROR(validateOperations(model.main, version));
    for (size_t i = 0; i < model.referenced.size(); ++i) {
        HALYARD_RETURN_IF_ERROR(validateOperations(model.referenced[i], version)
                                        .withContext("subgraph " + std::to_string(i)));
    }
    return {};
}

}  // namespace halyard::driver
