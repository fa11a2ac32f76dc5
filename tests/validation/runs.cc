// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/runs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

#include "engine/base/half.h"
#include "engine/numerics/elements.h"

namespace halyard::validation {
namespace {

using driver::OperandLifeTime;

constexpr uint8_t kPattern = 0xA5;

driver::RequestArgument addPool(driver::Request& request, driver::SharedMemory pool,
                                std::vector<uint32_t> dimensions) {
    driver::RequestArgument argument;
    argument.location = {.poolIndex = static_cast<uint32_t>(request.pools.size()),
                         .offset = 0,
                         .length = static_cast<uint32_t>(pool->size())};
    argument.dimensions = std::move(dimensions);
    request.pools.emplace_back(std::move(pool));
    return argument;
}

driver::Request makeRequest(const runner::pb::Example& example, const Allocate& allocate,
                            std::vector<std::span<uint8_t>>& outputs) {
    driver::Request request;
    for (const runner::pb::InputValue& input : example.inputs()) {
        if (input.has_no_value()) {
            request.inputs.emplace_back().hasNoValue = true;
            continue;
        }
        driver::SharedMemory pool = allocate(input.data().size());
        std::ranges::copy(input.data(), pool->map()->begin());
        request.inputs.push_back(addPool(request, std::move(pool),
                                         {input.dimensions().begin(), input.dimensions().end()}));
    }
    for (const runner::pb::OutputBuffer& output : example.outputs()) {
        driver::SharedMemory pool = allocate(output.byte_size());
        outputs.push_back(*pool->map());
        std::ranges::fill(outputs.back(), kPattern);
        request.outputs.push_back(
                addPool(request, std::move(pool),
                        {output.dimensions().begin(), output.dimensions().end()}));
    }
    return request;
}

}  // namespace

Outcome run(const driver::PreparedModel& model, const runner::pb::Example& example,
            driver::HalVersion version, const Allocate& allocate) {
    std::vector<std::span<uint8_t>> outputs;
    const driver::Request request = makeRequest(example, allocate, outputs);
    driver::ExecutionResult result = model.execute(request, version, {});
    Outcome outcome = {.status = result.status.code(),
                       .shapes = std::move(result.outputShapes),
                       .outputs = {}};
    if (result.status.ok()) {  // what a failure leaves is undefined
        for (const std::span<uint8_t> output : outputs) {
            outcome.outputs.emplace_back(output.begin(), output.end());
        }
    }
    return outcome;
}

std::optional<std::string> difference(const Outcome& expected, const Outcome& actual) {
    if (expected == actual) {
        return std::nullopt;
    }
    if (expected.status != actual.status) {
        return "status " + std::to_string(static_cast<int>(actual.status)) + " instead of " +
               std::to_string(static_cast<int>(expected.status));
    }
    if (expected.shapes != actual.shapes) {
        return "other shapes";
    }
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
        const auto [first, second] = std::ranges::mismatch(expected.outputs[i], actual.outputs[i]);
        if (first != expected.outputs[i].end()) {
            return "output " + std::to_string(i) + " byte " +
                   std::to_string(first - expected.outputs[i].begin()) + " is " +
                   std::to_string(*second) + " instead of " + std::to_string(*first);
        }
    }
    return "another number of outputs";
}

namespace {

// Whether all elements agree to within a part of the largest finite one.
template <typename T>
bool almostEqual(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b, float tolerance) {
    std::vector<float> x;
    std::vector<float> y;
    float largest = 1.0F;
    for (size_t at = 0; at + sizeof(T) <= a.size(); at += sizeof(T)) {
        T element;
        std::memcpy(&element, a.data() + at, sizeof element);
        x.push_back(engine::toReal(element));
        std::memcpy(&element, b.data() + at, sizeof element);
        y.push_back(engine::toReal(element));
        if (std::isfinite(x.back())) {
            largest = std::max(largest, std::abs(x.back()));
        }
    }
    for (size_t i = 0; i < x.size(); ++i) {
        const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
        if (!same && !(std::abs(x[i] - y[i]) <= tolerance * largest)) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::optional<std::string> differenceBeyondRounding(const driver::Model& model,
                                                    const Outcome& expected,
                                                    const Outcome& actual) {
    Outcome rounded = actual;
    for (size_t i = 0; i < std::min(expected.outputs.size(), actual.outputs.size()); ++i) {
        const std::vector<uint8_t>& a = expected.outputs[i];
        const std::vector<uint8_t>& b = actual.outputs[i];
        const driver::OperandType type = model.main.operands[model.main.outputIndexes[i]].type;
        if (a.size() == b.size() &&
            ((type == driver::OperandType::TENSOR_FLOAT32 && almostEqual<float>(a, b, 1e-5F)) ||
             (type == driver::OperandType::TENSOR_FLOAT16 && almostEqual<Half>(a, b, 1e-3F)))) {
            rounded.outputs[i] = a;
        }
    }
    return difference(expected, rounded);
}

driver::Model withConstantsIn(const driver::Model& model, const Allocate& allocate) {
    driver::Model moved = model;
    moved.pools.clear();
    const auto move = [&](driver::Subgraph& subgraph) {
        for (driver::Operand& operand : subgraph.operands) {
            std::span<const uint8_t> bytes;
            if (operand.lifetime == OperandLifeTime::CONSTANT_COPY) {
                bytes = *model.operandValues;
            } else if (operand.lifetime == OperandLifeTime::CONSTANT_REFERENCE) {
                bytes = *model.pools[operand.location.poolIndex]->map();
            } else {
                continue;
            }
            driver::SharedMemory pool = allocate(operand.location.length);
            std::ranges::copy(bytes.subspan(operand.location.offset, operand.location.length),
                              pool->map()->begin());
            operand.lifetime = OperandLifeTime::CONSTANT_REFERENCE;
            operand.location.poolIndex = static_cast<uint32_t>(moved.pools.size());
            operand.location.offset = 0;
            moved.pools.push_back(std::move(pool));
        }
    };
    move(moved.main);
    std::ranges::for_each(moved.referenced, move);
    return moved;
}

}  // namespace halyard::validation
