// SPDX-License-Identifier: Apache-2.0
//
// Conversions that the versions have in common: most structs kept their field names from one HAL
// version to the next. decode() and encode() of the parts that differ are found next to the wire
// struct, in its version's file.

#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "driver/model/model.h"
#include "driver/model/request.h"
#include "hal/hidl/codec.h"
#include "hal/hidl/hidl_memory.h"
#include "hal/hidl/types.h"

namespace halyard::hal::hidl {

template <typename T>
std::vector<T> decodeVector(const HidlVec<T>& wire) {
    return {wire.view().begin(), wire.view().end()};
}

// A vec whose elements have a decode() of their own.
template <typename T>
auto decodeEach(const HidlVec<T>& wire) {
    std::vector<decltype(decode(wire.view()[0]))> elements;
    elements.reserve(wire.count);
    for (const T& element : wire.view()) {
        elements.push_back(decode(element));
    }
    return elements;
}

// Elements that have an encode() of their own, which is found by the type of the wire struct.
template <typename WireElement, typename Range>
HidlVec<WireElement> encodeEach(ParcelWriter& writer, const Range& elements) {
    std::vector<WireElement> wire;
    wire.reserve(elements.size());
    for (const auto& element : elements) {
        encode(writer, element, wire.emplace_back());
    }
    return makeVec(writer, wire);
}

inline driver::DataLocation decodeLocation(const nn::v1_0::DataLocation& wire) {
    return {.poolIndex = wire.poolIndex,
            .offset = wire.offset,
            .length = wire.length,
            .padding = 0};
}

// Numbers that 32 bits can't hold become the largest, which no pool reaches: so the receiver
// refuses what HIDL can't say.
inline nn::v1_0::DataLocation encodeLocation(const driver::DataLocation& location) {
    constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
    nn::v1_0::DataLocation wire;
    wire.poolIndex = location.poolIndex;
    wire.offset = static_cast<uint32_t>(std::min(location.offset, kMost));
    wire.length = static_cast<uint32_t>(std::min(location.length, kMost));
    return wire;
}

inline driver::SharedMemory decodeMemory(const HidlMemory& wire) {
    return importMemory(wire.name.view(), nativeHandle(wire.handle), wire.size);
}

// All but extraParams, which came with 1.2.
template <typename WireOperand>
driver::Operand decodeOperand(const WireOperand& wire) {
    return {.type = wire.type,
            .dimensions = decodeVector(wire.dimensions),
            .numberOfConsumers = wire.numberOfConsumers,
            .scale = wire.scale,
            .zeroPoint = wire.zeroPoint,
            .lifetime = wire.lifetime,
            .location = decodeLocation(wire.location),
            .extraParams = {}};
}

template <typename WireOperand>
WireOperand encodeOperand(ParcelWriter& writer, const driver::Operand& operand) {
    WireOperand wire;
    wire.type = operand.type;
    wire.dimensions = makeVec(writer, operand.dimensions);
    wire.numberOfConsumers = operand.numberOfConsumers;
    wire.scale = operand.scale;
    wire.zeroPoint = operand.zeroPoint;
    wire.lifetime = operand.lifetime;
    wire.location = encodeLocation(operand.location);
    return wire;
}

// `wire` is a Model before 1.3 and a Subgraph since. Its operands have a decode() of their own.
template <typename WireSubgraph>
driver::Subgraph decodeSubgraph(const WireSubgraph& wire) {
    driver::Subgraph subgraph;
    subgraph.operands = decodeEach(wire.operands);
    subgraph.operations.reserve(wire.operations.count);
    for (const auto& operation : wire.operations.view()) {
        subgraph.operations.push_back({.type = operation.type,
                                       .inputs = decodeVector(operation.inputs),
                                       .outputs = decodeVector(operation.outputs)});
    }
    subgraph.inputIndexes = decodeVector(wire.inputIndexes);
    subgraph.outputIndexes = decodeVector(wire.outputIndexes);
    return subgraph;
}

// The elements of a vec<T>, for a T that the caller can't name.
template <typename T>
T elementOf(const HidlVec<T>& /*vec*/);

template <typename WireSubgraph>
void encodeSubgraph(ParcelWriter& writer, const driver::Subgraph& subgraph, WireSubgraph& wire) {
    std::vector<decltype(elementOf(wire.operands))> operands;
    operands.reserve(subgraph.operands.size());
    for (const driver::Operand& operand : subgraph.operands) {
        encode(writer, operand, operands.emplace_back());
    }
    std::vector<decltype(elementOf(wire.operations))> operations;
    operations.reserve(subgraph.operations.size());
    for (const driver::Operation& operation : subgraph.operations) {
        auto& encoded = operations.emplace_back();
        encoded.type = operation.type;
        encoded.inputs = makeVec(writer, operation.inputs);
        encoded.outputs = makeVec(writer, operation.outputs);
    }
    wire.operands = makeVec(writer, operands);
    wire.operations = makeVec(writer, operations);
    wire.inputIndexes = makeVec(writer, subgraph.inputIndexes);
    wire.outputIndexes = makeVec(writer, subgraph.outputIndexes);
}

// The constants. The parcel's copy of operandValues ends with the transaction, so it is copied;
// pools are mapped when they are needed.
template <typename WireModel>
void decodeValues(const WireModel& wire, driver::Model& model) {
    model.operandValues =
            std::make_shared<const std::vector<uint8_t>>(decodeVector(wire.operandValues));
    model.pools.reserve(wire.pools.count);
    for (const HidlMemory& pool : wire.pools.view()) {
        model.pools.push_back(decodeMemory(pool));
    }
}

template <typename WireModel>
void encodeValues(ParcelWriter& writer, const driver::Model& model,
                  std::span<const HidlMemory> pools, WireModel& wire) {
    wire.operandValues = makeVec(writer, *model.operandValues);
    wire.pools = makeVec(writer, pools);
}

}  // namespace halyard::hal::hidl
