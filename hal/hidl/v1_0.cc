// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/v1_0.h"

namespace halyard::hal::hidl::nn::v1_0 {

driver::Operand decode(const Operand& wire) {
    return decodeOperand(wire);
}

void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire) {
    wire = encodeOperand<Operand>(writer, operand);
}

driver::Model decode(const Model& wire) {
    driver::Model model;
    model.main = decodeSubgraph(wire);
    decodeValues(wire, model);
    return model;
}

driver::RequestArgument decode(const RequestArgument& wire) {
    return {.hasNoValue = wire.hasNoValue,
            .location = decodeLocation(wire.location),
            .dimensions = decodeVector(wire.dimensions)};
}

void encode(ParcelWriter& writer, const driver::RequestArgument& argument, RequestArgument& wire) {
    wire.hasNoValue = argument.hasNoValue;
    wire.location = encodeLocation(argument.location);
    wire.dimensions = makeVec(writer, argument.dimensions);
}

driver::Request decode(const Request& wire) {
    driver::Request request;
    request.inputs = decodeEach(wire.inputs);
    request.outputs = decodeEach(wire.outputs);
    request.pools.reserve(wire.pools.count);
    for (const HidlMemory& pool : wire.pools.view()) {
        request.pools.emplace_back(decodeMemory(pool));
    }
    return request;
}

void encode(ParcelWriter& /*writer*/, const driver::PerformanceInfo& info, PerformanceInfo& wire) {
    wire.execTime = info.execTime;
    wire.powerUsage = info.powerUsage;
}

Result<driver::Request> readRequest(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const Request* wire, readValue<Request>(reader));
    return decode(*wire);
}

void writeRequest(ParcelWriter& writer, const driver::Request& request,
                  std::span<const HidlMemory> pools) {
    Request wire;
    wire.inputs = encodeEach<RequestArgument>(writer, request.inputs);
    wire.outputs = encodeEach<RequestArgument>(writer, request.outputs);
    wire.pools = makeVec(writer, pools);
    writeValue(writer, wire);
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
    writeValue(writer, wire);
}

void writeCapabilities(ParcelWriter& writer, const driver::Capabilities& capabilities) {
    Capabilities wire;
    encode(writer, performanceOf(capabilities, driver::OperandType::TENSOR_FLOAT32),
           wire.float32Performance);
    encode(writer, performanceOf(capabilities, driver::OperandType::TENSOR_QUANT8_ASYMM),
           wire.quantized8Performance);
    writeValue(writer, wire);
}

}  // namespace

const VersionDelta kDelta = {
        .readModel = readModel,
        .readRequest = readRequest,
        .writeModel = writeModel,
        .writeRequest = writeRequest,
        .writeCapabilities = writeCapabilities,
        .notifyPrepared = IPreparedModelCallback::notify,
        .notifyExecuted = IExecutionCallback::notify,
};

}  // namespace halyard::hal::hidl::nn::v1_0
