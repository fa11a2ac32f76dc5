// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/v1_1.h"

namespace halyard::hal::hidl::nn::v1_1 {

driver::Model decode(const Model& wire) {
    driver::Model model;
    model.main = decodeSubgraph(wire);
    decodeValues(wire, model);
    model.relaxComputationFloat32toFloat16 = wire.relaxComputationFloat32toFloat16;
    return model;
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
    writeValue(writer, wire);
}

void writeCapabilities(ParcelWriter& writer, const driver::Capabilities& capabilities) {
    Capabilities wire;
    encode(writer, performanceOf(capabilities, driver::OperandType::TENSOR_FLOAT32),
           wire.float32Performance);
    encode(writer, performanceOf(capabilities, driver::OperandType::TENSOR_QUANT8_ASYMM),
           wire.quantized8Performance);
    encode(writer, capabilities.relaxedFloat32toFloat16PerformanceTensor,
           wire.relaxedFloat32toFloat16Performance);
    writeValue(writer, wire);
}

}  // namespace

const VersionDelta kDelta = {
        .readModel = readModel,
        .readRequest = v1_0::readRequest,
        .writeModel = writeModel,
        .writeRequest = v1_0::writeRequest,
        .writeCapabilities = writeCapabilities,
        .notifyPrepared = v1_0::IPreparedModelCallback::notify,
        .notifyExecuted = v1_0::IExecutionCallback::notify,
};

}  // namespace halyard::hal::hidl::nn::v1_1
