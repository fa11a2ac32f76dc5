// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <optional>
#include <span>

#include "driver/model/extensions.h"
#include "driver/model/validate.h"

namespace halyard::driver {
namespace {

std::string operandName(uint32_t index) {
    return "operand " + std::to_string(index);
}

// `indexes` are exactly the operands of that lifetime, each once.
Status validateBoundary(const Subgraph& subgraph, std::span<const uint32_t> indexes,
                        OperandLifeTime lifetime, const std::string& what) {
    std::vector<bool> listed(subgraph.operands.size());
    for (const uint32_t index : indexes) {
        if (index >= subgraph.operands.size()) {
            return invalidArgument(what + " name " + operandName(index) + ", which does not exist");
        }
        if (listed[index]) {
            return invalidArgument(what + " name " + operandName(index) + " twice");
        }
        if (subgraph.operands[index].lifetime != lifetime) {
            return invalidArgument(what + " name " + operandName(index) + ", whose lifetime is " +
                                   std::string(nameOf(subgraph.operands[index].lifetime)));
        }
        listed[index] = true;
    }
    for (uint32_t i = 0; i < subgraph.operands.size(); ++i) {
        if (subgraph.operands[i].lifetime == lifetime && !listed[i]) {
            return invalidArgument(what + " leave out " + operandName(i) + ", whose lifetime is " +
                                   std::string(nameOf(lifetime)));
        }
    }
    return {};
}

Status validateType(const Model& model, OperationType type, HalVersion version) {
    if (const std::optional<uint16_t> prefix = extensionPrefix(type)) {
        const bool declared = std::ranges::any_of(
                model.extensionNameToPrefix,
                [&](const ExtensionNameAndPrefix& entry) { return entry.prefix == *prefix; });
        if (!declared) {
            return invalidArgument("extension prefix " + std::to_string(*prefix) +
                                   " is not declared by the model");
        }
        return {};
    }
    if (!knows(version, type)) {
        return invalidArgument("the operation is unknown to HAL " + std::string(toString(version)));
    }
    return {};
}

bool writtenByOperations(OperandLifeTime lifetime) {
    return lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
           lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
}

// State while the operations are walked in their order.
struct Walk {
    std::vector<bool> known;
    std::vector<uint32_t> consumers;
};

Status readOperands(const Subgraph& subgraph, const Operation& operation, Walk& walk) {
    if (operation.outputs.empty()) {
        return invalidArgument("the operation writes nothing");
    }
    for (const uint32_t index : operation.inputs) {
        if (index >= subgraph.operands.size()) {
            return invalidArgument("it reads " + operandName(index) + ", which does not exist");
        }
        if (!walk.known[index]) {
            return invalidArgument("it reads " + operandName(index) +
                                   " before any operation has written it");
        }
        ++walk.consumers[index];
    }
    return {};
}

Status writeOperands(const Subgraph& subgraph, const Operation& operation, Walk& walk) {
    for (const uint32_t index : operation.outputs) {
        if (index >= subgraph.operands.size()) {
            return invalidArgument("it writes " + operandName(index) + ", which does not exist");
        }
        const OperandLifeTime lifetime = subgraph.operands[index].lifetime;
        if (!writtenByOperations(lifetime)) {
            return invalidArgument("it writes " + operandName(index) + ", whose lifetime is " +
                                   std::string(nameOf(lifetime)));
        }
        if (walk.known[index]) {
            return invalidArgument("it writes " + operandName(index) + " a second time");
        }
        walk.known[index] = true;
    }
    return {};
}

// Also where it can't be read: what it writes is there for the operations behind it, which are not
// to blame.
Status walkOperation(const Subgraph& subgraph, const Operation& operation, Walk& walk) {
    const Status read = readOperands(subgraph, operation, walk);
    const Status written = writeOperands(subgraph, operation, walk);
    return breaking(Rule::OPERAND_USE, read.ok() ? written : read);
}

Status validateUse(const Subgraph& subgraph, const Walk& walk) {
    for (uint32_t i = 0; i < subgraph.operands.size(); ++i) {
        if (!walk.known[i]) {
            return invalidArgument("no operation writes " + operandName(i));
        }
        if (subgraph.operands[i].numberOfConsumers != walk.consumers[i]) {
            return invalidArgument(operandName(i) + " claims " +
                                   std::to_string(subgraph.operands[i].numberOfConsumers) +
                                   " consumers and has " + std::to_string(walk.consumers[i]));
        }
    }
    return {};
}

}  // namespace

Status validateGraph(const Model& model, const Subgraph& subgraph, HalVersion version,
                     Verdicts* verdicts) {
    Status first = validateBoundary(subgraph, subgraph.inputIndexes,
                                    OperandLifeTime::SUBGRAPH_INPUT, "the inputs");
    if (first.ok()) {
        first = validateBoundary(subgraph, subgraph.outputIndexes, OperandLifeTime::SUBGRAPH_OUTPUT,
                                 "the outputs");
    }
    if (!first.ok() && verdicts == nullptr) {
        return first;
    }
    Walk walk;
    walk.consumers.resize(subgraph.operands.size());
    for (const Operand& operand : subgraph.operands) {
        walk.known.push_back(!writtenByOperations(operand.lifetime));
    }
    for (size_t i = 0; i < subgraph.operations.size(); ++i) {
        const Operation& operation = subgraph.operations[i];
        const Status type =
                breaking(Rule::UNKNOWN_OPERATION, validateType(model, operation.type, version));
        const Status walked = walkOperation(subgraph, operation, walk);
        if (type.ok() && walked.ok()) {
            continue;
        }
        const Status failure = (type.ok() ? walked : type)
                                       .withContext(labelOf(model, operation, i))
                                       .atOperation(static_cast<uint32_t>(i));
        if (verdicts == nullptr) {
            return failure;
        }
        verdicts->add(i, failure);
        first = first.ok() ? failure : first;
    }
    HALYARD_RETURN_IF_ERROR(first);
    return validateUse(subgraph, walk);
}

}  // namespace halyard::driver
