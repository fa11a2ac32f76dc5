// SPDX-License-Identifier: Apache-2.0
//
// Mutations of one operation: its type, its place in the order, its inputs and outputs.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/validation/mutations/exemptions.h"
#include "tests/validation/mutations/mutant.h"

namespace halyard::validation {
namespace {

using driver::HalVersion;
using driver::Operand;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::Operation;
using driver::OperationType;
using driver::Subgraph;

std::string nameOf(size_t operation) {
    return "operation " + std::to_string(operation);
}

bool readsComputed(const Subgraph& main, const Operation& operation) {
    return std::ranges::any_of(operation.inputs, [&](uint32_t input) {
        const OperandLifeTime lifetime = main.operands[input].lifetime;
        return lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
               lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
    });
}

bool writesWhatIsRead(const Subgraph& main, const Operation& operation) {
    return std::ranges::any_of(operation.outputs, [&](uint32_t output) {
        return main.operands[output].numberOfConsumers > 0;
    });
}

void mutateOrder(const Subject& subject, size_t operation) {
    const auto place = static_cast<std::ptrdiff_t>(operation);
    if (readsComputed(subject.main(), subject.main().operations[operation])) {
        subject.mutate(Mutation::EXECUTION_ORDER, nameOf(operation) + " comes first",
                       [&](Subgraph& main) {
                           const auto first = main.operations.begin();
                           std::rotate(first, first + place, first + place + 1);
                       });
    }
    if (writesWhatIsRead(subject.main(), subject.main().operations[operation])) {
        subject.mutate(Mutation::EXECUTION_ORDER, nameOf(operation) + " comes last",
                       [&](Subgraph& main) {
                           const auto first = main.operations.begin();
                           std::rotate(first + place, first + place + 1, main.operations.end());
                       });
    }
}

// Beside the version's operations and beside the OEM operation.
std::vector<int32_t> codesOfNoType(HalVersion version) {
    int32_t last = 0;
    while (driver::introducedIn(static_cast<OperationType>(last + 1)).value_or(HalVersion::V1_3) <=
                   version &&
           driver::introducedIn(static_cast<OperationType>(last + 1)).has_value()) {
        ++last;
    }
    const auto oem = static_cast<int32_t>(OperationType::OEM_OPERATION);
    return {-1, last + 1, oem - 1, oem + 1};
}

void mutateType(const Subject& subject, size_t operation) {
    for (const int32_t code : codesOfNoType(subject.version)) {
        subject.mutate(Mutation::OPERATION_TYPE,
                       nameOf(operation) + " has type " + std::to_string(code),
                       [&](Subgraph& main) {
                           main.operations[operation].type = static_cast<OperationType>(code);
                       });
    }
}

void mutateIndexes(const Subject& subject, size_t operation) {
    const auto pastEnd = static_cast<uint32_t>(subject.main().operands.size());
    const Operation& original = subject.main().operations[operation];
    for (size_t i = 0; i < original.inputs.size(); ++i) {
        subject.mutate(Mutation::OPERATION_INPUT_OPERAND_INDEX,
                       nameOf(operation) + " input " + std::to_string(i) + " is past the end",
                       [&](Subgraph& main) { main.operations[operation].inputs[i] = pastEnd; });
    }
    for (size_t i = 0; i < original.outputs.size(); ++i) {
        subject.mutate(Mutation::OPERATION_OUTPUT_OPERAND_INDEX,
                       nameOf(operation) + " output " + std::to_string(i) + " is past the end",
                       [&](Subgraph& main) { main.operations[operation].outputs[i] = pastEnd; });
    }
}

void removeOperation(const Subject& subject, size_t operation) {
    subject.mutate(Mutation::REMOVE_OPERATION, nameOf(operation) + " is removed",
                   [&](Subgraph& main) {
                       for (const uint32_t input : main.operations[operation].inputs) {
                           --main.operands[input].numberOfConsumers;
                       }
                       main.operations.erase(main.operations.begin() +
                                             static_cast<std::ptrdiff_t>(operation));
                   });
}

void removeInputsAndOutputs(const Subject& subject, size_t operation) {
    const Operation& original = subject.main().operations[operation];
    for (size_t i = 0; i < original.inputs.size(); ++i) {
        subject.mutate(Mutation::REMOVE_OPERATION_INPUT,
                       nameOf(operation) + " loses input " + std::to_string(i),
                       mayLoseInput(original, i, subject.version), [&](Subgraph& main) {
                           std::vector<uint32_t>& inputs = main.operations[operation].inputs;
                           --main.operands[inputs[i]].numberOfConsumers;
                           inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
                       });
    }
    for (size_t i = 0; i < original.outputs.size(); ++i) {
        subject.mutate(Mutation::REMOVE_OPERATION_OUTPUT,
                       nameOf(operation) + " loses output " + std::to_string(i),
                       [&](Subgraph& main) {
                           std::vector<uint32_t>& outputs = main.operations[operation].outputs;
                           outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
                       });
    }
}

// An INT32 that crosses the model's boundary.
uint32_t addScalar(Subgraph& main, OperandLifeTime lifetime) {
    Operand operand;
    operand.type = OperandType::INT32;
    operand.numberOfConsumers = 1;
    operand.lifetime = lifetime;
    main.operands.push_back(operand);
    const auto index = static_cast<uint32_t>(main.operands.size() - 1);
    (lifetime == OperandLifeTime::SUBGRAPH_INPUT ? main.inputIndexes : main.outputIndexes)
            .push_back(index);
    return index;
}

void addInputAndOutput(const Subject& subject, size_t operation) {
    subject.mutate(Mutation::ADD_OPERATION_INPUT, nameOf(operation) + " gains an input",
                   mayGainInput(subject.main().operations[operation], subject.version),
                   [&](Subgraph& main) {
                       main.operations[operation].inputs.push_back(
                               addScalar(main, OperandLifeTime::SUBGRAPH_INPUT));
                   });
    // The official suite has the output claim a consumer, which is wrong by itself.
    for (const uint32_t consumers : {1U, 0U}) {
        subject.mutate(Mutation::ADD_OPERATION_OUTPUT,
                       nameOf(operation) + " gains an output that claims " +
                               std::to_string(consumers) + " consumers",
                       [&](Subgraph& main) {
                           const uint32_t added = addScalar(main, OperandLifeTime::SUBGRAPH_OUTPUT);
                           main.operands[added].numberOfConsumers = consumers;
                           main.operations[operation].outputs.push_back(added);
                       });
    }
}

}  // namespace

void mutateOperations(const Subject& subject) {
    for (size_t operation = 0; operation < subject.main().operations.size(); ++operation) {
        mutateOrder(subject, operation);
        mutateType(subject, operation);
        mutateIndexes(subject, operation);
        removeOperation(subject, operation);
        removeInputsAndOutputs(subject, operation);
        addInputAndOutput(subject, operation);
    }
}

}  // namespace halyard::validation
