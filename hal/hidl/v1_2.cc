// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/v1_2.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include "driver/model/versions.h"

namespace halyard::hal::hidl::nn::v1_2 {

driver::ExtraParams decode(const Operand::ExtraParams& wire) {
    switch (wire.member) {
        case Operand::ExtraParams::Member::none:
            break;
        case Operand::ExtraParams::Member::channelQuant:
            return driver::SymmPerChannelQuantParams{
                    .scales = decodeVector(wire.channelQuant.scales),
                    .channelDim = wire.channelQuant.channelDim};
        case Operand::ExtraParams::Member::extension:
            return decodeVector(wire.extension);
    }
    return {};
}

void encode(ParcelWriter& writer, const driver::ExtraParams& params, Operand::ExtraParams& wire) {
    if (const auto* quantisation = std::get_if<driver::SymmPerChannelQuantParams>(&params)) {
        wire.member = Operand::ExtraParams::Member::channelQuant;
        wire.channelQuant = {};
        wire.channelQuant.scales = makeVec(writer, quantisation->scales);
        wire.channelQuant.channelDim = quantisation->channelDim;
    } else if (const auto* extension = std::get_if<std::vector<uint8_t>>(&params)) {
        wire.member = Operand::ExtraParams::Member::extension;
        wire.extension = makeVec(writer, *extension);
    }
}

driver::Operand decode(const Operand& wire) {
    driver::Operand operand = decodeOperand(wire);
    operand.extraParams = decode(wire.extraParams);
    return operand;
}

void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire) {
    wire = encodeOperand<Operand>(writer, operand);
    encode(writer, operand.extraParams, wire.extraParams);
}

driver::ExtensionNameAndPrefix decode(const Model::ExtensionNameAndPrefix& wire) {
    return {.name = std::string(wire.name.view()), .prefix = wire.prefix};
}

void encode(ParcelWriter& writer, const driver::ExtensionNameAndPrefix& extension,
            Model::ExtensionNameAndPrefix& wire) {
    wire.name = makeString(writer, extension.name);
    wire.prefix = extension.prefix;
}

driver::Extension decode(const Extension& wire) {
    driver::Extension extension{.name = std::string(wire.name.view()), .operandTypes = {}};
    for (const Extension::OperandTypeInformation& type : wire.operandTypes.view()) {
        extension.operandTypes.push_back(
                {.type = type.type, .isTensor = type.isTensor, .byteSize = type.byteSize});
    }
    return extension;
}

void encode(ParcelWriter& writer, const driver::Extension& extension, Extension& wire) {
    std::vector<Extension::OperandTypeInformation> types;
    for (const driver::Extension::OperandTypeInformation& type : extension.operandTypes) {
        auto& entry = types.emplace_back();
        entry.type = type.type;
        entry.isTensor = type.isTensor;
        entry.byteSize = type.byteSize;
    }
    wire.name = makeString(writer, extension.name);
    wire.operandTypes = makeVec(writer, types);
}

driver::Model decode(const Model& wire) {
    driver::Model model;
    model.main = decodeSubgraph(wire);
    decodeValues(wire, model);
    model.relaxComputationFloat32toFloat16 = wire.relaxComputationFloat32toFloat16;
    model.extensionNameToPrefix = decodeEach(wire.extensionNameToPrefix);
    return model;
}

driver::OutputShape decode(const OutputShape& wire) {
    return {.dimensions = decodeVector(wire.dimensions), .isSufficient = wire.isSufficient};
}

void encode(ParcelWriter& writer, const driver::OutputShape& shape, OutputShape& wire) {
    wire.dimensions = makeVec(writer, shape.dimensions);
    wire.isSufficient = shape.isSufficient;
}

namespace {

constexpr uint64_t kUnknownTime = std::numeric_limits<uint64_t>::max();

// A time that a clock of this process can't count is its longest one.
driver::Duration fromMicroseconds(uint64_t microseconds) {
    constexpr auto kMost =
            std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::nanoseconds::max());
    if (microseconds == kUnknownTime) {
        return std::nullopt;
    }
    return std::chrono::microseconds(std::min(microseconds, static_cast<uint64_t>(kMost.count())));
}

uint64_t toMicroseconds(const driver::Duration& time) {
    return time.has_value()
                   ? static_cast<uint64_t>(
                             std::chrono::duration_cast<std::chrono::microseconds>(*time).count())
                   : kUnknownTime;
}

}  // namespace

driver::Timing decode(const Timing& wire) {
    return {.timeOnDevice = fromMicroseconds(wire.timeOnDevice),
            .timeInDriver = fromMicroseconds(wire.timeInDriver)};
}

Timing encode(const driver::Timing& timing) {
    Timing wire;
    wire.timeOnDevice = toMicroseconds(timing.timeOnDevice);
    wire.timeInDriver = toMicroseconds(timing.timeInDriver);
    return wire;
}

void writeShapesAndTiming(ParcelWriter& writer, std::span<const driver::OutputShape> shapes,
                          const driver::Timing& timing) {
    writeValue(writer, encodeEach<OutputShape>(writer, shapes));
    writeValue(writer, encode(timing));
}

Result<ShapesAndTiming> readShapesAndTiming(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const auto* shapes, readValue<HidlVec<OutputShape>>(reader));
    HALYARD_ASSIGN_OR_RETURN(const Timing* timing, readValue<Timing>(reader));
    return ShapesAndTiming{.shapes = decodeEach(*shapes), .timing = decode(*timing)};
}

namespace {

Result<driver::Model> readModel(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const Model* wire, readValue<Model>(reader));
    return decode(*wire);
}

void writeModel(ParcelWriter& writer, const driver::Model& model,
                std::span<const HidlMemory> pools) {
    Model wire;
    encodeSubgraph(writer, model.main, wire);
    encodeValues(writer, model, pools, wire);
    wire.relaxComputationFloat32toFloat16 = model.relaxComputationFloat32toFloat16;
    wire.extensionNameToPrefix =
            encodeEach<Model::ExtensionNameAndPrefix>(writer, model.extensionNameToPrefix);
    writeValue(writer, wire);
}

void writeCapabilities(ParcelWriter& writer, const driver::Capabilities& capabilities) {
    std::vector<Capabilities::OperandPerformance> performance;
    for (const driver::OperandPerformance& entry : capabilities.operandPerformance) {
        const driver::OperandTypeInfo* type = driver::findOperandType(entry.type);
        if (type != nullptr && type->since <= driver::HalVersion::V1_2) {
            auto& wire = performance.emplace_back();
            wire.type = entry.type;
            encode(writer, entry.info, wire.info);
        }
    }
    Capabilities wire;
    encode(writer, capabilities.relaxedFloat32toFloat16PerformanceScalar,
           wire.relaxedFloat32toFloat16PerformanceScalar);
    encode(writer, capabilities.relaxedFloat32toFloat16PerformanceTensor,
           wire.relaxedFloat32toFloat16PerformanceTensor);
    wire.operandPerformance = makeVec(writer, performance);
    writeValue(writer, wire);
}

}  // namespace

const VersionDelta kDelta = {
        .readModel = readModel,
        .readRequest = v1_0::readRequest,
        .writeModel = writeModel,
        .writeRequest = v1_0::writeRequest,
        .writeCapabilities = writeCapabilities,
        .notifyPrepared = IPreparedModelCallback::notify_1_2,
        .notifyExecuted = IExecutionCallback::notify_1_2,
};

}  // namespace halyard::hal::hidl::nn::v1_2
