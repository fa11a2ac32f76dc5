// SPDX-License-Identifier: Apache-2.0

#include "tests/validation/invariants/support.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "driver/execute/prepared_model.h"
#include "tests/validation/invariants/cuts.h"

namespace halyard::validation {
namespace {

using driver::HalVersion;
using driver::Model;
using driver::Operand;
using driver::OperandLifeTime;
using driver::OperandType;
using driver::OperationType;

bool isInvalid(const Status& status) {
    return status.code() == StatusCode::INVALID_ARGUMENT;
}

bool allOf(const std::vector<bool>& flags) {
    return std::ranges::count(flags, false) == 0;
}

// Values of unsigned bytes 128 lower have the same bits but one.
void lower(std::vector<uint8_t>& bytes, const driver::DataLocation& location) {
    for (uint32_t i = 0; i < location.length; ++i) {
        bytes[location.offset + i] ^= 0x80;
    }
}

}  // namespace

SupportFindings examineSupport(const driver::Device& device, const Model& model,
                               HalVersion version) {
    const Result<std::vector<bool>> supported = device.supportedOperations(model, version);
    const Status prepared = device.prepare(model, version, {}).status();
    SupportFindings findings = {.wrong = {}, .prepares = prepared.ok(), .promised = {}};
    if (!supported.ok() || isInvalid(prepared)) {
        findings.wrong = "getSupportedOperations says " + supported.status().toString() +
                         ", prepareModel says " + prepared.toString();
    } else if (allOf(*supported) != prepared.ok()) {
        findings.wrong = std::string("getSupportedOperations says ") +
                         (prepared.ok() ? "no to something" : "yes to all") +
                         ", prepareModel says " + prepared.toString();
    } else if (!prepared.ok()) {
        if (const std::optional<Model> promised = cut(model, *supported)) {
            findings.promised = device.prepare(*promised, version, {}).status();
        }
    }
    return findings;
}

TwinFindings examineTwins(const driver::Device& device, const Model& model) {
    const Status plain = device.prepare(model, driver::kNewestVersion, {}).status();
    const Status twin = device.prepare(*signedTwin(model), driver::kNewestVersion, {}).status();
    TwinFindings findings = {.wrong = {}, .prepares = plain.ok()};
    if (plain.code() != twin.code()) {
        findings.wrong = "the model: " + plain.toString() + ", its signed twin: " + twin.toString();
    }
    return findings;
}

std::optional<Model> signedTwin(const Model& model) {
    constexpr std::array kWithout = {OperationType::CAST, OperationType::HASHTABLE_LOOKUP,
                                     OperationType::LSH_PROJECTION, OperationType::PAD_V2,
                                     OperationType::QUANTIZED_16BIT_LSTM};
    if (model.main.operations.size() != 1 || !model.referenced.empty() ||
        std::ranges::find(kWithout, model.main.operations[0].type) != kWithout.end()) {
        return std::nullopt;
    }
    Model twin = model;
    std::vector<uint8_t> values = *model.operandValues;
    bool found = false;
    for (Operand& operand : twin.main.operands) {
        if (operand.type != OperandType::TENSOR_QUANT8_ASYMM) {
            continue;
        }
        found = true;
        operand.type = OperandType::TENSOR_QUANT8_ASYMM_SIGNED;
        operand.zeroPoint -= 128;
        if (operand.lifetime == OperandLifeTime::CONSTANT_COPY) {
            lower(values, operand.location);
        }
        // The values in a pool make no difference to preparing.
    }
    twin.operandValues = std::make_shared<const std::vector<uint8_t>>(std::move(values));
    return found ? std::optional(std::move(twin)) : std::nullopt;
}

Model withInput(const Model& model, uint32_t constant) {
    Model changed = model;
    Operand& operand = changed.main.operands[constant];
    operand.lifetime = OperandLifeTime::SUBGRAPH_INPUT;
    operand.location = {};
    changed.main.inputIndexes.push_back(constant);
    return changed;
}

}  // namespace halyard::validation
