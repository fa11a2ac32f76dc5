// SPDX-License-Identifier: Apache-2.0

#include "harness/device/vts/compilation_caching/cached_models.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "hal/memory/shared_memory.h"
#include "harness/device/vts/fixture/model_builder.h"

namespace halyard::vts {
namespace {

using driver::Operand;
using driver::OperandType;
using driver::OperationType;

constexpr uint32_t kBatches = 2;
constexpr uint32_t kInputs = 64;
constexpr uint32_t kUnits = 16;
// Of quantized values, such that a sum of products of values is four steps of the result.
constexpr float kInputScale = 0.5F;
constexpr float kWeightScale = 0.25F;
constexpr float kOutputScale = 0.5F;
constexpr int kStepsOfSum = 4;
constexpr int kZeroPoint = 128;

Operand tensor(OperandType type, std::vector<uint32_t> dimensions, float scale, int32_t zeroPoint) {
    Operand operand;
    operand.type = type;
    operand.dimensions = std::move(dimensions);
    if (type != OperandType::TENSOR_FLOAT32) {
        operand.scale = scale;
        operand.zeroPoint = zeroPoint;
    }
    return operand;
}

// Whole numbers as elements of the type.
std::vector<uint8_t> elements(OperandType type, const std::vector<int>& numbers, int zeroPoint) {
    std::vector<uint8_t> bytes;
    for (const int number : numbers) {
        if (type == OperandType::TENSOR_QUANT8_ASYMM) {
            bytes.push_back(static_cast<uint8_t>(std::clamp(number + zeroPoint, 0, 255)));
            continue;
        }
        const auto real = static_cast<float>(number);
        const auto whole = static_cast<int32_t>(number);
        const void* const value =
                type == OperandType::TENSOR_FLOAT32 ? static_cast<const void*>(&real) : &whole;
        const auto* const first = static_cast<const uint8_t*>(value);
        bytes.insert(bytes.end(), first, first + sizeof(real));
    }
    return bytes;
}

bool isAsExpected(const Operand& operand, std::span<const uint8_t> found,
                  std::span<const uint8_t> expected) {
    if (operand.type == OperandType::TENSOR_QUANT8_ASYMM) {
        return std::ranges::equal(found, expected,
                                  [](int one, int other) { return std::abs(one - other) <= 1; });
    }
    std::vector<float> ones(found.size() / sizeof(float));
    std::vector<float> others(expected.size() / sizeof(float));
    std::memcpy(ones.data(), found.data(), ones.size() * sizeof(float));
    std::memcpy(others.data(), expected.data(), others.size() * sizeof(float));
    return std::ranges::equal(ones, others, [](float one, float other) {
        return std::abs(one - other) <= 1e-5F * std::max(1.0F, std::abs(other));
    });
}

}  // namespace

CachedModel fullyConnected(OperandType type) {
    const bool isReal = type == OperandType::TENSOR_FLOAT32;
    std::vector<int> inputs;
    std::vector<int> weights;
    std::vector<int> bias;
    for (uint32_t i = 0; i < kBatches * kInputs; ++i) {
        inputs.push_back(static_cast<int>(i % 5) - 2);
    }
    for (uint32_t i = 0; i < kUnits * kInputs; ++i) {
        weights.push_back(static_cast<int>(i % 7) - 3);
    }
    for (uint32_t unit = 0; unit < kUnits; ++unit) {
        bias.push_back(static_cast<int>(unit));
    }
    std::vector<int> sums;
    for (uint32_t batch = 0; batch < kBatches; ++batch) {
        for (uint32_t unit = 0; unit < kUnits; ++unit) {
            int sum = bias[unit];
            for (uint32_t i = 0; i < kInputs; ++i) {
                sum += inputs[batch * kInputs + i] * weights[unit * kInputs + i];
            }
            sums.push_back(
                    isReal ? sum
                           : static_cast<int>(std::lround(static_cast<float>(sum) / kStepsOfSum)));
        }
    }
    const OperandType biasType = isReal ? type : OperandType::TENSOR_INT32;
    ModelBuilder builder;
    const std::vector<uint32_t> arguments = {
            builder.input(tensor(type, {kBatches, kInputs}, kInputScale, kZeroPoint)),
            builder.constant(tensor(type, {kUnits, kInputs}, kWeightScale, kZeroPoint),
                             elements(type, weights, kZeroPoint)),
            builder.constant(tensor(biasType, {kUnits}, kInputScale * kWeightScale, 0),
                             elements(biasType, bias, 0)),
            builder.scalar(0)};
    builder.operation(OperationType::FULLY_CONNECTED, arguments,
                      {builder.output(tensor(type, {kBatches, kUnits}, kOutputScale, kZeroPoint))});
    return {.model = builder.build(),
            .input = elements(type, inputs, kZeroPoint),
            .expected = elements(type, sums, kZeroPoint)};
}

CachedModel chain(OperandType type, OperationType operation, uint32_t length) {
    const bool isReal = type == OperandType::TENSOR_FLOAT32;
    const bool isSum = operation == OperationType::ADD;
    const Operand value = tensor(type, {1}, 1.0F, 0);
    // A product has to have a larger scale than its factors' together.
    const Operand one = tensor(type, {1}, isSum ? 1.0F : 0.5F, 0);
    const int unit = isReal || isSum ? 1 : 2;
    ModelBuilder builder;
    uint32_t last = builder.input(value);
    const uint32_t activation = builder.scalar(0);
    for (uint32_t i = 0; i < length; ++i) {
        const uint32_t constant = builder.constant(one, elements(type, {unit}, 0));
        const uint32_t next = i + 1 == length ? builder.output(value) : builder.temporary(value);
        builder.operation(operation, {last, constant, activation}, {next});
        last = next;
    }
    return {.model = builder.build(),
            .input = elements(type, {1}, 0),
            .expected = elements(type, {isSum ? static_cast<int>(length) + 1 : 1}, 0)};
}

Verdict checkResult(driver::IPreparedModel& prepared, const CachedModel& expected,
                    driver::HalVersion version) {
    const Result<hal::ExportedMemory> input = hal::createSharedMemory(expected.input.size());
    const Result<hal::ExportedMemory> output = hal::createSharedMemory(expected.expected.size());
    if (!input.ok() || !output.ok()) {
        return failed("there is no memory for a request");
    }
    const Result<std::span<uint8_t>> in = input->memory->map();
    const Result<std::span<uint8_t>> out = output->memory->map();
    if (!in.ok() || !out.ok()) {
        return failed("there is no memory for a request");
    }
    std::ranges::copy(expected.input, in->begin());
    driver::Request request;
    request.pools = {input->memory, output->memory};
    request.inputs.emplace_back().location = {
            .poolIndex = 0, .offset = 0, .length = expected.input.size()};
    request.outputs.emplace_back().location = {
            .poolIndex = 1, .offset = 0, .length = expected.expected.size()};
    Verdict verdict =
            expectStatus(prepared.execute(request, {}).status, version, {driver::ErrorStatus::NONE},
                         "an execution of the prepared model");
    if (!verdict.hasPassed()) {
        return verdict;
    }
    const driver::Subgraph& graph = expected.model.main;
    return isAsExpected(graph.operands[graph.outputIndexes.front()], *out, expected.expected)
                   ? passed()
                   : failed("the prepared model computes something else than its operations say");
}

}  // namespace halyard::vts
