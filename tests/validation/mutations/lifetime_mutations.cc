// SPDX-License-Identifier: Apache-2.0
//
// Mutations of what an operand's lifetime promises: whether it crosses the model's boundary, and
// who writes and reads it.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/validation/mutations/constant_value.h"
#include "tests/validation/mutations/exemptions.h"
#include "tests/validation/mutations/mutant.h"

namespace halyard::validation {
namespace {

using driver::Operand;
using driver::OperandLifeTime;
using driver::Operation;
using driver::Subgraph;
using enum OperandLifeTime;

std::string nameOf(size_t operand) {
    return "operand " + std::to_string(operand);
}

// Lifetimes with a writer for one without, and the other way round.
std::vector<OperandLifeTime> lifetimesOfTheOtherKind(const Operand& operand) {
    switch (operand.lifetime) {
        case SUBGRAPH_OUTPUT:
        case TEMPORARY_VARIABLE:
            if (valueSize(operand).has_value()) {
                return {SUBGRAPH_INPUT, CONSTANT_COPY};
            }
            return {SUBGRAPH_INPUT};
        case CONSTANT_COPY:
        case CONSTANT_REFERENCE:
        case SUBGRAPH_INPUT:
            return {TEMPORARY_VARIABLE, SUBGRAPH_OUTPUT};
        default:
            return {};
    }
}

std::string changeOf(const Subject& subject, uint32_t operand, OperandLifeTime lifetime) {
    return nameOf(operand) + " has lifetime " + std::string(driver::nameOf(lifetime)) +
           " instead of " +
           std::string(driver::nameOf(subject.subgraph().operands[operand].lifetime));
}

void judgeLifetime(const Subject& subject, Mutation mutation, uint32_t operand,
                   OperandLifeTime lifetime, bool listed) {
    Mutant mutant = subject.begin(mutation, changeOf(subject, operand, lifetime));
    Subgraph& graph = subject.subgraphOf(mutant);
    if (listed) {
        std::erase(graph.inputIndexes, operand);
        std::erase(graph.outputIndexes, operand);
        if (lifetime == SUBGRAPH_INPUT) {
            graph.inputIndexes.push_back(operand);
        } else if (lifetime == SUBGRAPH_OUTPUT) {
            graph.outputIndexes.push_back(operand);
        }
    }
    Operand& changed = graph.operands[operand];
    changed.lifetime = lifetime;
    changed.location = {};
    if (lifetime == CONSTANT_COPY) {
        giveValue(mutant.model, changed);
    }
    subject.judge(mutant);
}

// What keeps a writer where there is one, but is listed elsewhere or not at all.
std::optional<OperandLifeTime> lifetimeOfTheSameKind(const Operand& operand) {
    switch (operand.lifetime) {
        case CONSTANT_COPY:
        case CONSTANT_REFERENCE:
            return SUBGRAPH_INPUT;
        case SUBGRAPH_INPUT:
            return valueSize(operand).has_value() ? std::optional(CONSTANT_COPY) : std::nullopt;
        case SUBGRAPH_OUTPUT:
            return TEMPORARY_VARIABLE;
        case TEMPORARY_VARIABLE:
            return SUBGRAPH_OUTPUT;
        default:
            return std::nullopt;
    }
}

void mutateConsumers(const Subject& subject, uint32_t operand) {
    const uint32_t consumers = subject.subgraph().operands[operand].numberOfConsumers;
    for (const uint32_t claimed : {consumers - 1, consumers + 1}) {
        if (consumers == 0 && claimed != 1) {
            continue;
        }
        subject.mutate(
                Mutation::OPERAND_NUMBER_OF_CONSUMERS,
                nameOf(operand) + " claims " + std::to_string(claimed) + " consumers",
                [&](Subgraph& graph) { graph.operands[operand].numberOfConsumers = claimed; });
    }
}

// An operand like that one, which an operation may write and nobody reads.
uint32_t addUnread(Subgraph& graph, uint32_t like) {
    Operand operand = graph.operands[like];
    operand.numberOfConsumers = 0;
    operand.lifetime = TEMPORARY_VARIABLE;
    graph.operands.push_back(operand);
    return static_cast<uint32_t>(graph.operands.size() - 1);
}

// A copy of the operation comes last, with outputs of its own but for one.
void addWriters(const Subject& subject, size_t operation) {
    const std::vector<uint32_t>& outputs = subject.subgraph().operations[operation].outputs;
    for (size_t shared = 0; shared < outputs.size(); ++shared) {
        subject.mutate(Mutation::OPERAND_ADD_WRITER,
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
void removeWrites(const Subject& subject, size_t operation) {
    const std::vector<uint32_t>& outputs = subject.subgraph().operations[operation].outputs;
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (subject.subgraph().operands[outputs[i]].numberOfConsumers == 0) {
            continue;
        }
        subject.mutate(
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

void removeOperand(const Subject& subject, uint32_t operand, bool renumbered, bool exempt) {
    subject.mutate(Mutation::REMOVE_OPERAND,
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
bool isOptionalInput(const Subject& subject, uint32_t operand) {
    return std::ranges::any_of(subject.subgraph().operations, [&](const Operation& operation) {
        for (size_t i = 0; i < operation.inputs.size(); ++i) {
            if (operation.inputs[i] == operand && mayLoseInput(operation, i, subject.version)) {
                return true;
            }
        }
        return false;
    });
}

// The official suite means to renumber the operands behind the removed one, and does not (its
// decrement is lost), which makes nearly every mutant refer past the end. Both ways are tried here.
void removeOperand(const Subject& subject, uint32_t operand) {
    const bool exempt = mayLoseOperand(subject.subgraph(), operand, subject.version);
    removeOperand(subject, operand, false, exempt);
    removeOperand(subject, operand, true, exempt || isOptionalInput(subject, operand));
}

}  // namespace

void mutateLifetimes(const Subject& subject) {
    for (uint32_t operand = 0; operand < subject.subgraph().operands.size(); ++operand) {
        const Operand& original = subject.subgraph().operands[operand];
        for (const OperandLifeTime lifetime : lifetimesOfTheOtherKind(original)) {
            judgeLifetime(subject, Mutation::OPERAND_LIFE_TIME, operand, lifetime, true);
        }
        if (const std::optional<OperandLifeTime> same = lifetimeOfTheSameKind(original)) {
            judgeLifetime(subject, Mutation::OPERAND_INPUT_OUTPUT, operand, *same, false);
        }
        mutateConsumers(subject, operand);
        removeOperand(subject, operand);
    }
    for (size_t operation = 0; operation < subject.subgraph().operations.size(); ++operation) {
        addWriters(subject, operation);
        removeWrites(subject, operation);
    }
}

}  // namespace halyard::validation
