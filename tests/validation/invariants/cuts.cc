// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/invariants/cuts.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

namespace halyard::validation {
namespace {

using driver::Model;
using driver::Operand;
using driver::OperandLifeTime;
using driver::Operation;
using enum OperandLifeTime;

constexpr size_t kMostOfAll = 15;
constexpr size_t kRandomOnes = 16;

// Who uses each operand of the model, among the operations that are taken and among the others.
struct Uses {
    explicit Uses(size_t operands)
        : readInside(operands), writtenInside(operands), readOutside(operands) {}
    std::vector<uint32_t> readInside;
    std::vector<bool> writtenInside;
    std::vector<bool> readOutside;
};

Uses usesOf(const Model& model, const std::vector<bool>& taken) {
    Uses uses(model.main.operands.size());
    for (size_t i = 0; i < taken.size(); ++i) {
        for (const uint32_t input : model.main.operations[i].inputs) {
            if (taken[i]) {
                ++uses.readInside[input];
            } else {
                uses.readOutside[input] = true;
            }
        }
        for (const uint32_t output : model.main.operations[i].outputs) {
            uses.writtenInside[output] = uses.writtenInside[output] || taken[i];
        }
    }
    return uses;
}

OperandLifeTime lifetimeInside(const Operand& operand, bool written, bool readOutside) {
    const bool computed = operand.lifetime == TEMPORARY_VARIABLE ||
                          operand.lifetime == SUBGRAPH_OUTPUT || operand.lifetime == SUBGRAPH_INPUT;
    if (!computed) {
        return operand.lifetime;
    }
    if (!written) {
        return SUBGRAPH_INPUT;
    }
    return readOutside ? SUBGRAPH_OUTPUT : operand.lifetime;
}

}  // namespace

std::optional<Model> cut(const Model& model, const std::vector<bool>& taken) {
    const Uses uses = usesOf(model, taken);
    Model part = model;
    part.main = {};
    std::vector<uint32_t> newIndex(model.main.operands.size(),
                                   std::numeric_limits<uint32_t>::max());
    for (size_t i = 0; i < model.main.operands.size(); ++i) {
        if (uses.readInside[i] == 0 && !uses.writtenInside[i]) {
            continue;
        }
        newIndex[i] = static_cast<uint32_t>(part.main.operands.size());
        Operand operand = model.main.operands[i];
        operand.numberOfConsumers = uses.readInside[i];
        operand.lifetime = lifetimeInside(operand, uses.writtenInside[i], uses.readOutside[i]);
        if (operand.lifetime == SUBGRAPH_INPUT) {
            part.main.inputIndexes.push_back(newIndex[i]);
        } else if (operand.lifetime == SUBGRAPH_OUTPUT) {
            part.main.outputIndexes.push_back(newIndex[i]);
        }
        part.main.operands.push_back(std::move(operand));
    }
    for (size_t i = 0; i < taken.size(); ++i) {
        if (!taken[i]) {
            continue;
        }
        Operation operation = model.main.operations[i];
        for (std::vector<uint32_t>* indexes : {&operation.inputs, &operation.outputs}) {
            for (uint32_t& index : *indexes) {
                index = newIndex[index];
            }
        }
        part.main.operations.push_back(std::move(operation));
    }
    if (part.main.outputIndexes.empty()) {
        return std::nullopt;
    }
    return part;
}

std::vector<std::vector<bool>> choices(size_t operations, std::mt19937_64& random) {
    std::vector<std::vector<bool>> found;
    const auto add = [&](uint64_t bits) {
        std::vector<bool>& taken = found.emplace_back(operations);
        for (size_t i = 0; i < operations; ++i) {
            taken[i] = (bits >> (i % 64) & 1) != 0;
        }
    };
    if (operations < 64 && (uint64_t{1} << operations) - 1 <= kMostOfAll) {
        for (uint64_t bits = 1; bits < uint64_t{1} << operations; ++bits) {
            add(bits);
        }
        return found;
    }
    add(~uint64_t{0});
    while (found.size() < kRandomOnes) {
        add(random());
    }
    return found;
}

}  // namespace halyard::validation
