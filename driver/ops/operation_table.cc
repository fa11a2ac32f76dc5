// SPDX-License-Identifier: Apache-2.0

#include "driver/ops/operation_table.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "driver/model/extensions.h"
#include "driver/ops/extension_operations.h"
#include "driver/ops/families.h"
#include "driver/ops/operation_view.h"

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

// Built by the first caller and never changed, nor destroyed: threads that prepare models may
// outlive main().
const std::vector<OperationDefinition>& operationTable() {
    static const auto* const table = new std::vector<OperationDefinition>(collect());
    return *table;
}

Status validateOperation(const Model& model, const Subgraph& subgraph, const Operation& operation,
                         const OperationDefinition& definition, HalVersion version) {
    HALYARD_ASSIGN_OR_RETURN(const OperationView view,
                             OperationView::make(model, subgraph, operation, definition, version));
    for (const OperandView& input : view.allInputs()) {
        if (input.omitted() && !input.form->omittable) {
            return breaking(Rule::OMITTED_OPERAND,
                            invalidArgument(input.name() + " can't be omitted"));
        }
    }
    if (definition.validate == nullptr) {
        return {};
    }
    const Status valid = definition.validate(view);
    HALYARD_RETURN_IF_ERROR(view.checkNames());
    return breaking(Rule::OPERAND_VALUE, valid);
}

Status validateOperations(const Model& model, const Subgraph& subgraph, HalVersion version,
                          Verdicts* verdicts) {
    Status first;
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        const Operation& operation = subgraph.operations[i];
        const OperationDefinition* definition = findOperation(model, operation.type);
        // Unknown operations are valid as far as can be told here, and unsupported.
        if (definition == nullptr || (verdicts != nullptr && verdicts->has(i))) {
            continue;
        }
        const Status valid = validateOperation(model, subgraph, operation, *definition, version);
        if (valid.ok()) {
            continue;
        }
        const Status failure = valid.withContext(labelOf(model, operation, i))
                                       .atOperation(static_cast<uint32_t>(i));
        if (verdicts == nullptr) {
            return failure;
        }
        verdicts->add(i, failure);
        first = first.ok() ? failure : first;
    }
    return first;
}

}  // namespace

const OperationDefinition* findOperation(OperationType type) {
    const std::vector<OperationDefinition>& table = operationTable();
    const auto found = std::ranges::lower_bound(table, type, {}, &OperationDefinition::type);
    return found != table.end() && found->type == type ? &*found : nullptr;
}

const OperationDefinition* findOperation(const Model& model, OperationType type) {
    const std::optional<OperationType> code = tabled(model, type);
    if (!code.has_value()) {
        return nullptr;
    }
    const auto own = std::ranges::find(extensionOperations(), *code, &OperationDefinition::type);
    return own != extensionOperations().end() ? &*own : findOperation(*code);
}

std::span<const OperationDefinition> allOperations() {
    return operationTable();
}

Status validateMainOperations(const Model& model, HalVersion version, Verdicts& verdicts) {
    return validateOperations(model, model.main, version, &verdicts);
}

Status validateOperations(const Model& model, HalVersion version, Verdicts* verdicts) {
    Status first = validateOperations(model, model.main, version, verdicts);
    if (!first.ok() && verdicts == nullptr) {
        return first;
    }
    std::vector<Status> failures(model.referenced.size());
    for (size_t i = 0; i < model.referenced.size(); ++i) {
        failures[i] = validateOperations(model, model.referenced[i], version, nullptr)
                              .withContext("subgraph " + std::to_string(i));
        if (failures[i].ok()) {
            continue;
        }
        if (verdicts == nullptr) {
            return failures[i];
        }
        first = first.ok() ? failures[i] : first;
    }
    if (verdicts != nullptr) {
        verdicts->addToReferrers(failures);
    }
    return first;
}

}  // namespace halyard::driver
