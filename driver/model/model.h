// SPDX-License-Identifier: Apache-2.0
//
// The canonical model: what every HAL version is decoded into at the edge. Field names, codes and
// meanings are those of the newest version of the stable AIDL interface, and of
// android.hardware.neuralnetworks@1.3 where AIDL has left something out; nothing here is validated
// yet (validate.h does that).
//
// Glossary. operand: a value of the model. operation: a computation from operands to operands.
// pool: a block of shared memory. lifetime: where an operand's value comes from.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "driver/model/codes.h"
#include "driver/model/memory.h"
#include "driver/model/versions.h"

namespace halyard::driver {

struct DataLocation {
    uint32_t poolIndex = 0;
    uint64_t offset = 0;   // bytes
    uint64_t length = 0;   // bytes
    uint64_t padding = 0;  // bytes behind the data that may be touched and mean nothing

    bool operator==(const DataLocation&) const = default;
};

// Whether it lies within `size` bytes, with its padding.
bool fits(const DataLocation& location, uint64_t size);

struct SymmPerChannelQuantParams {
    std::vector<float> scales;
    uint32_t channelDim = 0;
};

// monostate: none. vector<uint8_t>: an extension's own bytes.
using ExtraParams = std::variant<std::monostate, SymmPerChannelQuantParams, std::vector<uint8_t>>;

struct Operand {
    OperandType type = OperandType::FLOAT32;
    std::vector<uint32_t> dimensions;  // 0: unspecified
    uint32_t numberOfConsumers = 0;
    float scale = 0.0F;
    int32_t zeroPoint = 0;
    OperandLifeTime lifetime = OperandLifeTime::TEMPORARY_VARIABLE;
    DataLocation location;
    ExtraParams extraParams;
};

struct Operation {
    OperationType type = OperationType::ADD;
    std::vector<uint32_t> inputs;
    std::vector<uint32_t> outputs;
};

struct Subgraph {
    std::vector<Operand> operands;
    std::vector<Operation> operations;
    std::vector<uint32_t> inputIndexes;
    std::vector<uint32_t> outputIndexes;
};

struct ExtensionNameAndPrefix {
    std::string name;
    uint16_t prefix = 0;
};

struct Model {
    Subgraph main;
    std::vector<Subgraph> referenced;
    // Values of CONSTANT_COPY operands. Shared, so that constants can point into it; never null.
    std::shared_ptr<const std::vector<uint8_t>> operandValues =
            std::make_shared<const std::vector<uint8_t>>();
    std::vector<SharedMemory> pools;
    bool relaxComputationFloat32toFloat16 = false;
    std::vector<ExtensionNameAndPrefix> extensionNameToPrefix;
};

// "operation 3 (CONV_2D)": what messages and placement call an operation of the main subgraph.
std::string labelOf(const Operation& operation, size_t index);

}  // namespace halyard::driver
