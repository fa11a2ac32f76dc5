// SPDX-License-Identifier: Apache-2.0
//
// Mutations of what an operand's lifetime promises: whether it crosses the model's boundary, and
// who writes and reads it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/vts/validation/constant_value.h"
#include "harness/device/vts/validation/exemptions.h"
#include "harness/device/vts/validation/mutant.h"

namespace halyard::vts {
namespace {

using driver::Operand;
using driver::OperandLifeTime;
using driver::Operation;
using driver::Subgraph;

std::string nameOf(size_t operand) {
    return "operand " + std::to_string(operand);
}

// Lifetimes with a writer for one without, and the other way round.
std::vector<OperandLifeTime> lifetimesOfTheOtherKind(const Operand& operand) {
    switch (operand.lifetime) {
        case OperandLifeTime::SUBGRAPH_OUTPUT:
        case OperandLifeTime::TEMPORARY_VARIABLE:
            if (valueSize(operand).has_value()) {
                return {OperandLifeTime::SUBGRAPH_INPUT, OperandLifeTime::CONSTANT_COPY};
            }
            return {OperandLifeTime::SUBGRAPH_INPUT};
        case OperandLifeTime::CONSTANT_COPY:
        case OperandLifeTime::CONSTANT_REFERENCE:
        case OperandLifeTime::SUBGRAPH_INPUT:
            return {OperandLifeTime::TEMPORARY_VARIABLE, OperandLifeTime::SUBGRAPH_OUTPUT};
        default:
            return {};
    }
}

std::string changeOf(const MutantSource& source, uint32_t operand, OperandLifeTime lifetime) {
    return nameOf(operand) + " has lifetime " + std::string(driver::nameOf(lifetime)) +
           " instead of " +
           std::string(driver::nameOf(source.subgraph().operands[operand].lifetime));
}

void judgeLifetime(const MutantSource& source, Mutation mutation, uint32_t operand,
                   OperandLifeTime lifetime, bool listed) {
    if (!source.wants(mutation)) {
        return;
    }
    Mutant mutant = source.begin(mutation, changeOf(source, operand, lifetime));
    Subgraph& graph = source.subgraphOf(mutant);
    if (listed) {
        std::erase(graph.inputIndexes, operand);
        std::erase(graph.outputIndexes, operand);
        if (lifetime == OperandLifeTime::SUBGRAPH_INPUT) {
            graph.inputIndexes.push_back(operand);
        } else if (lifetime == OperandLifeTime::SUBGRAPH_OUTPUT) {
            graph.outputIndexes.push_back(operand);
        }
    }
    Operand& changed = graph.operands[operand];
    changed.lifetime = lifetime;
    changed.location = {};
    if (lifetime == OperandLifeTime::CONSTANT_COPY) {
        giveValue(mutant.model, changed);
    }
    source.judge(mutant);
}

// A lifetime that keeps a writer where there is one, but is listed elsewhere or not at all.
std::optional<OperandLifeTime> lifetimeOfTheSameKind(const Operand& operand) {
    switch (operand.lifetime) {
        case OperandLifeTime::CONSTANT_COPY:
        case OperandLifeTime::CONSTANT_REFERENCE:
            return OperandLifeTime::SUBGRAPH_INPUT;
        case OperandLifeTime::SUBGRAPH_INPUT:
            return valueSize(operand).has_value() ? std::optional(OperandLifeTime::CONSTANT_COPY)
                                                  : std::nullopt;
        case OperandLifeTime::SUBGRAPH_OUTPUT:
            return OperandLifeTime::TEMPORARY_VARIABLE;
        case OperandLifeTime::TEMPORARY_VARIABLE:
            return OperandLifeTime::SUBGRAPH_OUTPUT;
        default:
            return std::nullopt;
    }
}

// AIDL has no such field.
void mutateConsumers(const MutantSource& source, uint32_t operand) {
    if (source.version >= driver::HalVersion::AIDL_V1) {
        return;
    }
    const uint32_t consumers = source.subgraph().operands[operand].numberOfConsumers;
    for (const uint32_t claimed : {consumers - 1, consumers + 1}) {
        if (consumers == 0 && claimed != 1) {
            continue;
        }
        source.mutate(
                Mutation::OPERAND_NUMBER_OF_CONSUMERS,
                nameOf(operand) + " claims " + std::to_string(claimed) + " consumers",
                [&](Subgraph& graph) { graph.operands[operand].numberOfConsumers = claimed; });
    }
}

// An operand like that one, which an operation may write and none reads.
uint32_t addUnread(Subgraph& graph, uint32_t like) {
    Operand operand = graph.operands[like];
    operand.numberOfConsumers = 0;
    operand.lifetime = OperandLifeTime::TEMPORARY_VARIABLE;
    graph.operands.push_back(operand);
    return static_cast<uint32_t>(graph.operands.size() - 1);
}

// A copy of the operation comes last, with outputs of its own but for one.
void addWriters(const MutantSource& source, size_t operation) {
    const std::vector<uint32_t>& outputs = source.subgraph().operations[operation].outputs;
    for (size_t shared = 0; shared < outputs.size(); ++shared) {
        source.mutate(Mutation::OPERAND_ADD_WRITER,
                      "a copy of operation " + std::to_string(operation) + " writes " +
                              nameOf(outputs[shared]) + ", too",
                      [&](Subgraph& graph) {
                          Operation copy = graph.operations[operation];
                          for (const uint32_t input : copy.inputs) {
                              ++graph.operands[input].numberOfConsumers;
                          }
                          for (size_t i = 0; i < copy.outputs.size(); ++i) {
                              if (i != shared) {
                                  copy.outputs[i] = addUnread(graph, copy.outputs[i]);
                              }
                          }
                          graph.operations.push_back(copy);
                      });
    }
}

// The operation writes a new operand instead of one that is read.
void removeWrites(const MutantSource& source, size_t operation) {
    const std::vector<uint32_t>& outputs = source.subgraph().operations[operation].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (source.subgraph().operands[outputs[i]].numberOfConsumers == 0) {
            continue;
        }
        source.mutate(
                Mutation::OPERATION_REMOVE_WRITE,
                "operation " + std::to_string(operation) + " does not write " + nameOf(outputs[i]),
                [&](Subgraph& graph) {
                    graph.operations[operation].outputs[i] = addUnread(graph, outputs[i]);
                });
    }
}

// `renumbered`: later operands are called by their new indexes.
void removeFrom(std::vector<uint32_t>& indexes, uint32_t operand, bool renumbered) {
    std::erase(indexes, operand);
    for (uint32_t& index : indexes) {
        index -= renumbered && index > operand ? 1 : 0;
    }
}

void removeOperand(const MutantSource& source, uint32_t operand, bool renumbered, bool exempt) {
    source.mutate(Mutation::REMOVE_OPERAND,
                  nameOf(operand) + " is removed" + (renumbered ? ", the others renumbered" : ""),
                  exempt, [&](Subgraph& graph) {
                      graph.operands.erase(graph.operands.begin() + operand);
                      for (Operation& operation : graph.operations) {
                          removeFrom(operation.inputs, operand, renumbered);
                          removeFrom(operation.outputs, operand, renumbered);
                      }
                      removeFrom(graph.inputIndexes, operand, renumbered);
                      removeFrom(graph.outputIndexes, operand, renumbered);
                  });
}

// Whether an operation that reads it can do without.
bool isOptionalInput(const MutantSource& source, uint32_t operand) {
    return std::ranges::any_of(source.subgraph().operations, [&](const Operation& operation) {
        for (size_t i = 0; i < operation.inputs.size(); ++i) {
            if (operation.inputs[i] == operand && mayLoseInput(operation, i, source.version)) {
                return true;
            }
        }
        return false;
    });
}

// The official suite means to renumber the operands behind the removed one, and does not (its
// decrement is lost), which makes nearly every mutant refer past the end. Both ways are tried here.
void removeOperand(const MutantSource& source, uint32_t operand) {
    const bool exempt = mayLoseOperand(source.subgraph(), operand, source.version);
    removeOperand(source, operand, false, exempt);
    removeOperand(source.further(), operand, true, exempt || isOptionalInput(source, operand));
}

}  // namespace

void mutateLifetimes(const MutantSource& source) {
    for (uint32_t operand = 0; operand < source.subgraph().operands.size(); ++operand) {
        const Operand& original = source.subgraph().operands[operand];
        for (const OperandLifeTime lifetime : lifetimesOfTheOtherKind(original)) {
            judgeLifetime(source, Mutation::OPERAND_LIFE_TIME, operand, lifetime, true);
        }
        if (const std::optional<OperandLifeTime> same = lifetimeOfTheSameKind(original)) {
            judgeLifetime(source, Mutation::OPERAND_INPUT_OUTPUT, operand, *same, false);
        }
        mutateConsumers(source, operand);
        removeOperand(source, operand);
    }
    for (size_t operation = 0; operation < source.subgraph().operations.size(); ++operation) {
        addWriters(source, operation);
        removeWrites(source, operation);
    }
}

}  // namespace halyard::vts
