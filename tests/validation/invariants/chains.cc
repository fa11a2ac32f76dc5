// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/invariants/chains.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace halyard::validation {
namespace {

using driver::Model;
using driver::Operand;
using driver::OperandLifeTime;
using driver::Operation;
using enum OperandLifeTime;

bool oneIn(std::mt19937_64& random, uint64_t count) {
    return random() % count == 0;
}

// Whether the value may stand where the input was, but for its shape.
bool isLike(const Operand& value, const Operand& input) {
    return value.type == input.type && value.scale == input.scale &&
           value.zeroPoint == input.zeroPoint &&
           std::holds_alternative<std::monostate>(value.extraParams) &&
           std::holds_alternative<std::monostate>(input.extraParams);
}

// A value that some operation of the chain writes; one of another shape now and then.
std::optional<uint32_t> findValue(const Model& chain, const Operand& input,
                                  std::mt19937_64& random) {
    const bool anyShape = oneIn(random, 3);
    std::vector<uint32_t> found;
    for (const Operation& operation : chain.main.operations) {
        for (const uint32_t output : operation.outputs) {
            const Operand& value = chain.main.operands[output];
            if (isLike(value, input) && (anyShape || value.dimensions == input.dimensions)) {
                found.push_back(output);
            }
        }
    }
    if (found.empty()) {
        return std::nullopt;
    }
    return found[random() % found.size()];
}

// Makes an output of the model one that stays inside, perhaps of unspecified extents.
void hide(Model& chain, uint32_t value, std::mt19937_64& random) {
    Operand& operand = chain.main.operands[value];
    if (operand.lifetime == SUBGRAPH_OUTPUT && oneIn(random, 2)) {
        operand.lifetime = TEMPORARY_VARIABLE;
        std::erase(chain.main.outputIndexes, value);
    }
    if (oneIn(random, 4)) {
        std::ranges::fill(operand.dimensions, 0U);
    }
}

// Where the constants of the appended model come to lie.
struct Bases {
    uint32_t values = 0;
    uint32_t pools = 0;
};

Bases appendConstants(Model& chain, const Model& next) {
    constexpr size_t kAlignment = 16;
    std::vector<uint8_t> values = *chain.operandValues;
    values.resize((values.size() + kAlignment - 1) / kAlignment * kAlignment);
    const Bases bases = {.values = static_cast<uint32_t>(values.size()),
                         .pools = static_cast<uint32_t>(chain.pools.size())};
    values.insert(values.end(), next.operandValues->begin(), next.operandValues->end());
    chain.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(values));
    chain.pools.insert(chain.pools.end(), next.pools.begin(), next.pools.end());
    return bases;
}

uint32_t addOperand(Model& chain, Operand operand, const Bases& bases) {
    if (operand.lifetime == CONSTANT_COPY) {
        operand.location.offset += bases.values;
    } else if (operand.lifetime == CONSTANT_REFERENCE) {
        operand.location.poolIndex += bases.pools;
    }
    chain.main.operands.push_back(std::move(operand));
    return static_cast<uint32_t>(chain.main.operands.size() - 1);
}

}  // namespace

void append(Model& chain, const Model& next, std::mt19937_64& random) {
    const Bases bases = appendConstants(chain, next);
    std::vector<uint32_t> newIndex;
    for (const Operand& operand : next.main.operands) {
        const std::optional<uint32_t> value =
                operand.lifetime == SUBGRAPH_INPUT && !oneIn(random, 4)
                        ? findValue(chain, operand, random)
                        : std::nullopt;
        if (value.has_value()) {
            hide(chain, *value, random);
            chain.main.operands[*value].numberOfConsumers += operand.numberOfConsumers;
            newIndex.push_back(*value);
            continue;
        }
        newIndex.push_back(addOperand(chain, operand, bases));
        if (operand.lifetime == SUBGRAPH_INPUT) {
            chain.main.inputIndexes.push_back(newIndex.back());
        }
    }
    for (const uint32_t output : next.main.outputIndexes) {
        chain.main.outputIndexes.push_back(newIndex[output]);
    }
    for (Operation operation : next.main.operations) {
        for (std::vector<uint32_t>* indexes : {&operation.inputs, &operation.outputs}) {
            for (uint32_t& index : *indexes) {
                index = newIndex[index];
            }
        }
        chain.main.operations.push_back(std::move(operation));
    }
    if (chain.referenced.empty()) {
        chain.referenced = next.referenced;
    }
}

}  // namespace halyard::validation
