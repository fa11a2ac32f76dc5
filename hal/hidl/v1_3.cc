// SPDX-License-Identifier: Apache-2.0

#include "hal/hidl/v1_3.h"

#include <algorithm>
#include <chrono>

namespace halyard::hal::hidl::nn::v1_3 {

driver::Operand decode(const Operand& wire) {
    driver::Operand operand = decodeOperand(wire);
    operand.extraParams = decode(wire.extraParams);
    return operand;
}

void encode(ParcelWriter& writer, const driver::Operand& operand, Operand& wire) {
    wire = encodeOperand<Operand>(writer, operand);
    encode(writer, operand.extraParams, wire.extraParams);
}

driver::Subgraph decode(const Subgraph& wire) {
    return decodeSubgraph(wire);
}

void encode(ParcelWriter& writer, const driver::Subgraph& subgraph, Subgraph& wire) {
    encodeSubgraph(writer, subgraph, wire);
}

driver::Model decode(const Model& wire) {
    driver::Model model;
    model.main = decode(wire.main);
    model.referenced = decodeEach(wire.referenced);
    decodeValues(wire, model);
    model.relaxComputationFloat32toFloat16 = wire.relaxComputationFloat32toFloat16;
    model.extensionNameToPrefix = decodeEach(wire.extensionNameToPrefix);
    return model;
}

driver::Request decode(const Request& wire) {
    driver::Request request;
    request.inputs = decodeEach(wire.inputs);
    request.outputs = decodeEach(wire.outputs);
    request.pools.reserve(wire.pools.count);
    for (const Request::MemoryPool& pool : wire.pools.view()) {
        if (pool.member == Request::MemoryPool::Member::token) {
            request.pools.emplace_back(pool.token);
        } else {
            request.pools.emplace_back(decodeMemory(pool.hidlMemory));
        }
    }
    return request;
}

namespace {

// As many as a clock of this process can count, at most.
std::chrono::nanoseconds countable(uint64_t nanoseconds) {
    const auto most = static_cast<uint64_t>(std::chrono::nanoseconds::max().count());
    return std::chrono::nanoseconds(std::min(nanoseconds, most));
}

}  // namespace

Deadline decode(const OptionalTimePoint& wire) {
    if (wire.member == OptionalTimePoint::Member::none) {
        return std::nullopt;
    }
    return std::chrono::steady_clock::time_point(countable(wire.nanosecondsSinceEpoch));
}

std::optional<std::chrono::nanoseconds> decode(const OptionalTimeoutDuration& wire) {
    if (wire.member == OptionalTimeoutDuration::Member::none) {
        return std::nullopt;
    }
    return countable(wire.nanoseconds);
}

void encode(ParcelWriter& /*writer*/, const Deadline& time, OptionalTimePoint& wire) {
    if (time.has_value()) {
        wire.member = OptionalTimePoint::Member::nanosecondsSinceEpoch;
        wire.nanosecondsSinceEpoch =
                static_cast<uint64_t>(std::chrono::nanoseconds(time->time_since_epoch()).count());
    }
}

void encode(ParcelWriter& /*writer*/, std::chrono::nanoseconds duration,
            OptionalTimeoutDuration& wire) {
    wire.member = OptionalTimeoutDuration::Member::nanoseconds;
    wire.nanoseconds = static_cast<uint64_t>(std::max<int64_t>(duration.count(), 0));
}

namespace {

Result<driver::Model> readModel(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const Model* wire, readValue<Model>(reader));
    return decode(*wire);
}

Result<driver::Request> readRequest(ParcelReader& reader) {
    HALYARD_ASSIGN_OR_RETURN(const Request* wire, readValue<Request>(reader));
    return decode(*wire);
}

void writeModel(ParcelWriter& writer, const driver::Model& model,
                std::span<const HidlMemory> pools) {
    Model wire;
    encodeSubgraph(writer, model.main, wire.main);
    wire.referenced = encodeEach<Subgraph>(writer, model.referenced);
    encodeValues(writer, model, pools, wire);
    wire.relaxComputationFloat32toFloat16 = model.relaxComputationFloat32toFloat16;
    wire.extensionNameToPrefix =
            encodeEach<v1_2::Model::ExtensionNameAndPrefix>(writer, model.extensionNameToPrefix);
    writeValue(writer, wire);
}

void writeRequest(ParcelWriter& writer, const driver::Request& request,
                  std::span<const HidlMemory> pools) {
    std::vector<Request::MemoryPool> wirePools(request.pools.size());
    for (size_t i = 0; i < wirePools.size(); ++i) {
        if (const auto* token = std::get_if<uint32_t>(&request.pools[i])) {
            wirePools[i].member = Request::MemoryPool::Member::token;
            wirePools[i].token = *token;
        } else if (i < pools.size()) {
            wirePools[i].hidlMemory = pools[i];
        }
    }
    Request wire;
    wire.inputs = encodeEach<v1_0::RequestArgument>(writer, request.inputs);
    wire.outputs = encodeEach<v1_0::RequestArgument>(writer, request.outputs);
    wire.pools = makeVec(writer, wirePools);
    writeValue(writer, wire);
}

void writeCapabilities(ParcelWriter& writer, const driver::Capabilities& capabilities) {
    std::vector<Capabilities::OperandPerformance> performance;
    for (const driver::OperandPerformance& entry : capabilities.operandPerformance) {
        auto& wire = performance.emplace_back();
        wire.type = entry.type;
        encode(writer, entry.info, wire.info);
    }
    Capabilities wire;
    encode(writer, capabilities.relaxedFloat32toFloat16PerformanceScalar,
           wire.relaxedFloat32toFloat16PerformanceScalar);
    encode(writer, capabilities.relaxedFloat32toFloat16PerformanceTensor,
           wire.relaxedFloat32toFloat16PerformanceTensor);
    wire.operandPerformance = makeVec(writer, performance);
    encode(writer, capabilities.ifPerformance, wire.ifPerformance);
    encode(writer, capabilities.whilePerformance, wire.whilePerformance);
    writeValue(writer, wire);
}

}  // namespace

const VersionDelta kDelta = {
        .readModel = readModel,
        .readRequest = readRequest,
        .writeModel = writeModel,
        .writeRequest = writeRequest,
        .writeCapabilities = writeCapabilities,
        .notifyPrepared = IPreparedModelCallback::notify_1_3,
        .notifyExecuted = IExecutionCallback::notify_1_3,
};

}  // namespace halyard::hal::hidl::nn::v1_3
