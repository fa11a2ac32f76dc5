// SPDX-License-Identifier: Apache-2.0
//
// Mutations of one operation: its type, its place in the order, its inputs and outputs.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/device/vts/validation/exemptions.h"
#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {
namespace {

using driver::HalVersion;
using driver::Operand;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::Operation;
using driver::OperationType;
using driver::Subgraph;

std::string operationName(size_t operation) {
    return "operation " + std::to_string(operation);
}

bool readsComputed(const Subgraph& graph, const Operation& operation) {
    return std::ranges::any_of(operation.inputs, [&](uint32_t input) {
        const OperandLifeTime lifetime = graph.operands[input].lifetime;
        return lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
               lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
    });
}

bool writesWhatIsRead(const Subgraph& graph, const Operation& operation) {
    return std::ranges::any_of(operation.outputs, [&](uint32_t output) {
        return graph.operands[output].numberOfConsumers > 0;
    });
}

void mutateOrder(const MutantSource& source, size_t operation) {
    const auto place = static_cast<std::ptrdiff_t>(operation);
    if (readsComputed(source.subgraph(), source.subgraph().operations[operation])) {
        source.mutate(Mutation::EXECUTION_ORDER, operationName(operation) + " comes first",
                      [&](Subgraph& graph) {
                          const auto first = graph.operations.begin();
                          std::rotate(first, first + place, first + place + 1);
                      });
    }
    if (writesWhatIsRead(source.subgraph(), source.subgraph().operations[operation])) {
        source.mutate(Mutation::EXECUTION_ORDER, operationName(operation) + " comes last",
                      [&](Subgraph& graph) {
                          const auto first = graph.operations.begin();
                          std::rotate(first + place, first + place + 1, graph.operations.end());
                      });
    }
}

// Beside the version's operations and beside the OEM operation.
std::vector<int32_t> codesOfNoOperation(HalVersion version) {
    int32_t last = 0;
    while (driver::introducedIn(static_cast<OperationType>(last + 1)).value_or(HalVersion::V1_3) <=
                   version &&
           driver::introducedIn(static_cast<OperationType>(last + 1)).has_value()) {
        ++last;
    }
    const auto oem = static_cast<int32_t>(OperationType::OEM_OPERATION);
    return {-1, last + 1, oem - 1, oem + 1};
}

void mutateOperationType(const MutantSource& source, size_t operation) {
    for (const int32_t code : codesOfNoOperation(source.version)) {
        source.mutate(Mutation::OPERATION_TYPE,
                      operationName(operation) + " has type " + std::to_string(code),
                      [&](Subgraph& graph) {
                          graph.operations[operation].type = static_cast<OperationType>(code);
                      });
    }
}

void mutateIndexes(const MutantSource& source, size_t operation) {
    const auto pastEnd = static_cast<uint32_t>(source.subgraph().operands.size());
    const Operation& original = source.subgraph().operations[operation];
    for (size_t i = 0; i < original.inputs.size(); ++i) {
        source.mutate(Mutation::OPERATION_INPUT_OPERAND_INDEX,
                      operationName(operation) + " input " + std::to_string(i) + " is past the end",
                      [&](Subgraph& graph) { graph.operations[operation].inputs[i] = pastEnd; });
    }
    for (size_t i = 0; i < original.outputs.size(); ++i) {
        source.mutate(
                Mutation::OPERATION_OUTPUT_OPERAND_INDEX,
                operationName(operation) + " output " + std::to_string(i) + " is past the end",
                [&](Subgraph& graph) { graph.operations[operation].outputs[i] = pastEnd; });
    }
}

void removeOperation(const MutantSource& source, size_t operation) {
    source.mutate(Mutation::REMOVE_OPERATION, operationName(operation) + " is removed",
                  [&](Subgraph& graph) {
                      for (const uint32_t input : graph.operations[operation].inputs) {
                          --graph.operands[input].numberOfConsumers;
                      }
                      graph.operations.erase(graph.operations.begin() +
                                             static_cast<std::ptrdiff_t>(operation));
                  });
}

void removeInputsAndOutputs(const MutantSource& source, size_t operation) {
    const Operation& original = source.subgraph().operations[operation];
    for (size_t i = 0; i < original.inputs.size(); ++i) {
        source.mutate(Mutation::REMOVE_OPERATION_INPUT,
                      operationName(operation) + " loses input " + std::to_string(i),
                      mayLoseInput(original, i, source.version), [&](Subgraph& graph) {
                          std::vector<uint32_t>& inputs = graph.operations[operation].inputs;
                          --graph.operands[inputs[i]].numberOfConsumers;
                          inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(i));
                      });
    }
    for (size_t i = 0; i < original.outputs.size(); ++i) {
        source.mutate(Mutation::REMOVE_OPERATION_OUTPUT,
                      operationName(operation) + " loses output " + std::to_string(i),
                      [&](Subgraph& graph) {
                          std::vector<uint32_t>& outputs = graph.operations[operation].outputs;
                          outputs.erase(outputs.begin() + static_cast<std::ptrdiff_t>(i));
                      });
    }
}

// An INT32 that crosses the model's boundary.
uint32_t addScalar(Subgraph& graph, OperandLifeTime lifetime) {
    Operand operand;
    operand.type = OperandType::INT32;
    operand.numberOfConsumers = 1;
    operand.lifetime = lifetime;
    graph.operands.push_back(operand);
    const auto index = static_cast<uint32_t>(graph.operands.size() - 1);
    (lifetime == OperandLifeTime::SUBGRAPH_INPUT ? graph.inputIndexes : graph.outputIndexes)
            .push_back(index);
    return index;
}

void addInputAndOutput(const MutantSource& source, size_t operation) {
    source.mutate(Mutation::ADD_OPERATION_INPUT, operationName(operation) + " gains an input",
                  mayGainInput(source.subgraph().operations[operation], source.version),
                  [&](Subgraph& graph) {
                      graph.operations[operation].inputs.push_back(
                              addScalar(graph, OperandLifeTime::SUBGRAPH_INPUT));
                  });
    // The official suite has the output claim a consumer, which is wrong by itself.
    for (const uint32_t consumers : {1U, 0U}) {
        const MutantSource& from = consumers == 1 ? source : source.further();
        from.mutate(Mutation::ADD_OPERATION_OUTPUT,
                    operationName(operation) + " gains an output that claims " +
                            std::to_string(consumers) + " consumers",
                    [&](Subgraph& graph) {
                        const uint32_t added = addScalar(graph, OperandLifeTime::SUBGRAPH_OUTPUT);
                        graph.operands[added].numberOfConsumers = consumers;
                        graph.operations[operation].outputs.push_back(added);
                    });
    }
}

}  // namespace

void mutateOperations(const MutantSource& source) {
    for (size_t operation = 0; operation < source.subgraph().operations.size(); ++operation) {
        mutateOrder(source, operation);
        mutateOperationType(source, operation);
        mutateIndexes(source, operation);
        removeOperation(source, operation);
        removeInputsAndOutputs(source, operation);
        addInputAndOutput(source, operation);
    }
}

}  // namespace halyard::vts
