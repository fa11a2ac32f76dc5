// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "nnapi/plan.h"

namespace halyard::nnapi {
namespace {

using driver::OperandLifeTime;

bool isValue(const driver::Operand& operand) {
    return operand.lifetime == OperandLifeTime::TEMPORARY_VARIABLE ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_INPUT ||
           operand.lifetime == OperandLifeTime::SUBGRAPH_OUTPUT;
}

// How often each operand is read by operations of the part, and by others.
struct Readers {
    uint32_t inside = 0;
    uint32_t outside = 0;
};

std::vector<Readers> readersOf(const driver::Subgraph& whole, const std::vector<bool>& isInside) {
    std::vector<Readers> readers(whole.operands.size());
    for (size_t i = 0; i < whole.operations.size(); ++i) {
        for (const uint32_t input : whole.operations[i].inputs) {
            ++(isInside[i] ? readers[input].inside : readers[input].outside);
        }
    }
    return readers;
}

}  // namespace

ModelPart partOf(const driver::Model& whole, std::span<const uint32_t> operations) {
    const driver::Subgraph& from = whole.main;
    std::vector<bool> isInside(from.operations.size());
    std::vector<bool> isWritten(from.operands.size());
    for (const uint32_t operation : operations) {
        isInside[operation] = true;
        for (const uint32_t output : from.operations[operation].outputs) {
            isWritten[output] = true;
        }
    }
    const std::vector<Readers> readers = readersOf(from, isInside);
    auto model = std::make_shared<driver::Model>();
    driver::Subgraph& to = model->main;
    ModelPart part;
    std::map<uint32_t, uint32_t> moved;
    const auto move = [&](uint32_t operand) {
        const auto [place, isNew] =
                moved.try_emplace(operand, static_cast<uint32_t>(to.operands.size()));
        if (!isNew) {
            return place->second;
        }
        driver::Operand copy = from.operands[operand];
        copy.numberOfConsumers = readers[operand].inside;
        if (isValue(copy)) {
            const bool isOutput = copy.lifetime == OperandLifeTime::SUBGRAPH_OUTPUT ||
                                  readers[operand].outside > 0;
            copy.lifetime = !isWritten[operand] ? OperandLifeTime::SUBGRAPH_INPUT
                            : isOutput          ? OperandLifeTime::SUBGRAPH_OUTPUT
                                                : OperandLifeTime::TEMPORARY_VARIABLE;
            if (copy.lifetime == OperandLifeTime::SUBGRAPH_INPUT) {
                part.inputs.push_back(operand);
                to.inputIndexes.push_back(place->second);
            } else if (isOutput) {
                part.outputs.push_back(operand);
                to.outputIndexes.push_back(place->second);
            }
        }
        to.operands.push_back(std::move(copy));
        return place->second;
    };
    for (const uint32_t index : operations) {
        driver::Operation operation = from.operations[index];
        std::ranges::transform(operation.inputs, operation.inputs.begin(), move);
        std::ranges::transform(operation.outputs, operation.outputs.begin(), move);
        to.operations.push_back(std::move(operation));
    }
    model->referenced = whole.referenced;
    model->operandValues = whole.operandValues;
    model->pools = whole.pools;
    model->relaxComputationFloat32toFloat16 = whole.relaxComputationFloat32toFloat16;
    model->extensionNameToPrefix = whole.extensionNameToPrefix;
    part.model = std::move(model);
    return part;
}

}  // namespace halyard::nnapi
